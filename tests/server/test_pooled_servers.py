"""Four servers and two tenants on one PostgreSQL through a real PgBouncer in transaction mode: answers and resumes."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.pgbouncer import pgbouncer
from tests.server.live import LiveServer

SERVERS, ANSWERS, AT_ONCE, WORDS = 4, 200, 24, 25
TENANTS = ("acme", "bolt")


def bearer(tenant: str) -> dict[str, str]:
    return {"authorization": f"Bearer the token of {tenant}"}


def chunks(lines: list[str]) -> list[dict[str, str]]:
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


async def answer(client: httpx.AsyncClient, urls: list[str], n: int) -> str:
    """One answer, cut on one server after n chunks and resumed on the next: the text that the client has."""
    tenant, own, next_one = TENANTS[n % 2], urls[n % SERVERS], urls[(n + 1) % SERVERS]
    message = {"id": f"u{n}", "role": "user", "parts": [{"type": "text", "text": f"slow {WORDS}"}]}
    body = {"id": f"{tenant}-{n}", "messages": [message]}
    before: list[str] = []
    async with client.stream("POST", f"{own}/api/chat", json=body, headers=bearer(tenant)) as first:
        assert first.status_code == 200, await first.aread()
        run = first.headers["x-workflow-run-id"]
        async for line in first.aiter_lines():
            before += [line] if line.startswith("data: {") else []
            if len(before) == n % WORDS:
                break
    rest = await client.get(
        f"{next_one}/api/chat/{run}/stream", params={"startIndex": len(before)}, headers=bearer(tenant)
    )
    assert rest.status_code == 200, rest.text
    other = TENANTS[(n + 1) % 2]
    for path, wanted in ((f"threads/{tenant}-{n}", 404), (f"chat/{run}/stream?startIndex=0", 204)):
        foreign = await client.get(f"{next_one}/api/{path}", headers=bearer(other))
        assert foreign.status_code == wanted, foreign.text
    return "".join(one.get("delta", "") for one in chunks([*before, *rest.text.split("\n")]))


@pytest.mark.prove
@pytest.mark.timeout(600)
def test_four_servers_two_tenants_no_error_no_foreign_row(database: str, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    tokens.write_text(
        json.dumps([{"token": f"the token of {name}", "tenant": name, "role": "write"} for name in TENANTS])
    )
    tokens.chmod(0o600)

    async def all_answers(urls: list[str]) -> list[str]:
        gate = asyncio.Semaphore(AT_ONCE)
        async with httpx.AsyncClient(timeout=120, limits=httpx.Limits(max_connections=None)) as client:

            async def one(n: int) -> str:
                async with gate:
                    return await answer(client, urls, n)

            return await asyncio.gather(*(one(n) for n in range(ANSWERS)))

    with ExitStack() as stack:
        pooled = stack.enter_context(pgbouncer(database, size=8))
        servers = [
            stack.enter_context(
                LiveServer(tmp_path / f"s{i}", "--tokens", str(tokens), ledger=pooled, environment={"NO": "token"})
            )
            for i in range(SERVERS)
        ]
        texts = asyncio.run(all_answers([server.url for server in servers]))
        assert texts == ["".join(f"w{i} " for i in range(WORDS))] * ANSWERS
        for tenant in TENANTS:
            found = httpx.get(f"{servers[0].url}/api/threads?limit=500", headers=bearer(tenant), timeout=60).json()
            assert {item["id"].partition("-")[0] for item in found["items"]} == {tenant}
            assert len(found["items"]) == ANSWERS // 2
