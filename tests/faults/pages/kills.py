"""kill -9 of a chat back end in mid-stream, under the real `useChat` page in Chromium, judged from its DOM.

Each try is a chat of its own: the page asks, the server is killed at a random word and started again, and the user, in
turn, reloads the page (which resumes the answer until its end, and then regenerates it), regenerates at once, or sends
another message.
"""

from __future__ import annotations

import asyncio
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, async_playwright

import hansard
from tests.examples.chat_server import ANSWER, ChatServer, ServedPage
from tests.faults.harness import Outcome, Place, proof

LANES = 3  # servers that are killed at the same time, each with a page
ASKED, MORE = "Tea, please.", "And milk?"
WAYS = ("reload", "regenerate", "send")
BUSY, ENDED = "output[data-status=streaming]", "output[data-status=ready], output[data-status=error]"
INTERRUPTED = "interrupted, try again"
SHOWN = """all => all.map(a => [
    a.dataset.role, [...a.querySelectorAll('p')].map(p => p.textContent).join(''), !!a.querySelector('small')])"""
LAST = "[...document.querySelectorAll('article[data-role=assistant] p')].at(-1)?.textContent ?? ''"
HOLDS = "no page stays streaming, no word that it showed is lost, no answer is there twice"
Server = ChatServer | ServedPage


class Broken(Exception):
    """The promise did not hold."""


class Try:
    """One kill: a page with a chat of its own."""

    def __init__(self, page: Page, server: Server, number: int, dice: random.Random, seen: Counter[str]) -> None:
        self.page, self.server, self.dice, self.seen = page, server, dice, seen
        self.chat, self.way = f"chat-{number}", WAYS[(number + number // LANES) % len(WAYS)]

    async def run(self) -> None:
        await self.page.goto(f"{self.server.url}/#{self.chat}")
        await self.send(ASKED)
        at = self.dice.randrange(1, len(ANSWER.split()) - 6)
        await self.page.wait_for_function(f"({LAST}).split(' ').length > {at}")
        await asyncio.to_thread(self.server.kill)
        await self.page.wait_for_selector(ENDED, state="attached")
        before = (await self.shown())[-1][1]
        if not ANSWER.startswith(before) or before == ANSWER:
            raise Broken(f"after the kill the page showed {before!r}")
        self.seen["words shown at the kill"] += len(before.split())
        await asyncio.to_thread(self.server.start)
        way = self.way
        self.seen[way] += 1
        if way == "reload":
            await self.reload(before)
        if way == "send":
            await self.send(MORE)
        else:
            await self.page.get_by_role("button", name="Regenerate").click()
        await self.page.wait_for_function(f"({LAST}) === {ANSWER!r}")
        await self.page.wait_for_selector("output[data-status=ready]", state="attached")
        await self.check(await self.shown(), before, way)
        await self.page.reload()
        await self.page.wait_for_function(f"({LAST}) === {ANSWER!r}")
        found = await self.shown()
        await self.check(found, before, way)
        if way == "send" and not found[1][2]:
            raise Broken("the cut answer is not marked as interrupted")
        await asyncio.to_thread(self.check_ledger, before, way)

    async def reload(self, before: str) -> None:
        """The page resumes what was said, and ends when the lease of the dead run does."""
        await self.page.reload()
        await self.page.wait_for_function(f"({LAST}).startsWith({before!r})")
        if self.dice.random() < 0.1:
            self.seen["waited for the lease"] += 1
        else:
            await asyncio.to_thread(self.server.expire_leases)
        await self.page.wait_for_selector(ENDED, state="attached")
        if INTERRUPTED not in await self.page.inner_text("#root"):
            raise Broken("the page does not say that the answer was interrupted")
        await self.check_prefix(await self.shown(), before)
        await self.page.reload()
        await self.page.wait_for_selector("article[data-role=assistant] small")
        await self.check_prefix(await self.shown(), before)

    async def check_prefix(self, found: list[tuple[str, str, bool]], before: str) -> None:
        (asked, answer) = found
        if asked[1] != ASKED or not answer[1].startswith(before) or not ANSWER.startswith(answer[1]):
            raise Broken(f"the page showed {before!r}, and then {found!r}")

    async def check(self, found: list[tuple[str, str, bool]], before: str, way: str) -> None:
        """The whole answer once, and with another message the cut one before it."""
        said = [(role, text) for role, text, _ in found]
        if way != "send":
            if said != [("user", ASKED), ("assistant", ANSWER)] or found[1][2]:
                raise Broken(f"{way}: the page shows {found!r}")
            return
        cut = said.pop(1)
        if said != [("user", ASKED), ("user", MORE), ("assistant", ANSWER)]:
            raise Broken(f"send: the page shows {said!r}")
        if not (cut[0] == "assistant" and cut[1].startswith(before) and ANSWER.startswith(cut[1])):
            raise Broken(f"send: {before!r} became {cut!r}")

    def check_ledger(self, before: str, way: str) -> None:
        with hansard.open(self.server.db) as ledger:
            cut, whole = ledger.runs(self.chat)
            if (cut.status, whole.status) not in (("failed", "committed"), ("aborted", "committed")):
                raise Broken(f"the runs are {cut.status} and {whole.status}")
            self.seen[cut.status] += 1
            kept = "".join(message.text for message in ledger.run_messages(self.chat, cut.id))
            if not kept.startswith(before):
                raise Broken(f"the ledger has {kept!r} of {before!r}")
            if len(ledger.branches(self.chat)) != (1 if way == "send" else 2):
                raise Broken(f"{way}: {len(ledger.branches(self.chat))} branches")

    async def send(self, text: str) -> None:
        await self.page.get_by_placeholder("Say something").fill(text)
        await self.page.get_by_role("button", name="Send").click()

    async def shown(self) -> list[tuple[str, str, bool]]:
        """Role, text and mark of each message on the page."""
        return [tuple(each) for each in await self.page.eval_on_selector_all("article", SHOWN)]


async def lane(
    server: Server, browser: Browser, numbers: list[int], seed: int, failures: list[str], seen: Counter[str]
) -> None:
    await asyncio.to_thread(server.__enter__)
    try:
        for number in numbers:
            page = await browser.new_page()
            page.set_default_timeout(60_000)
            try:
                await Try(page, server, number, random.Random(f"{seed} {number}"), seen).run()
            except Exception as error:
                shown: Any = await page.inner_text("#root") if not page.is_closed() else ""
                failures.append(f"seed {seed}, try {number}: {error}; the page: {shown!r}"[:600])
                await asyncio.to_thread(restart, server)
            finally:
                await page.close()
            seen["kills"] += 1
    finally:
        await asyncio.to_thread(server.__exit__, None, None, None)


def restart(server: Server) -> None:
    server.kill()
    server.start()


async def kills(tries: int, make: Callable[[Path], Server], folder: Path) -> Outcome:
    seed = random.SystemRandom().randrange(1 << 32)
    print("seed", seed)
    failures: list[str] = []
    seen: Counter[str] = Counter()
    chromium = next(path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name)))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        lanes = [list(range(tries))[i::LANES] for i in range(LANES)]
        servers = [make(folder / f"{i}.db") for i in range(LANES)]
        await asyncio.gather(
            *(
                lane(server, browser, numbers, seed, failures, seen)
                for server, numbers in zip(servers, lanes, strict=True)
            )
        )
        await browser.close()
    return Outcome(tries=seen["kills"], failures=failures, seen={**seen, "seed": str(seed)})


@proof(
    "kill -9 of the FastAPI example under a page",
    holds=HOLDS,
    tries=100,
    sample=3,
    defects=("half answers vanish",),
)
def example_kills(tries: int, place: Place, defect: str | None) -> Outcome:
    app = "fastapi_chat:app" if defect is None else "tests.faults.pages.forgetful_server:app"
    return asyncio.run(kills(tries, lambda db: ChatServer(db, app), place.folder))


@proof(
    "kill -9 of `hansard serve` under a page",
    holds=HOLDS,
    tries=100,
    sample=3,
    defects=("half answers vanish",),
)
def served_kills(tries: int, place: Place, defect: str | None) -> Outcome:
    agent = "tests.examples.chat_server:waiter" if defect is None else "tests.faults.pages.forgetful_server:make"
    return asyncio.run(kills(tries, lambda db: ServedPage(db, agent), place.folder))
