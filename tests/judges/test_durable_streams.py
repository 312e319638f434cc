"""Durable Streams, judged by its owners: the conformance tests for servers, and the client for Python."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.waiting import wait_until

FOLDER = Path(__file__).parent.parent / "durable_streams"
OPTIONAL = 6  # tests of subscriptions, which are off


@pytest.fixture
def server(request: pytest.FixtureRequest, url: str) -> Iterator[str]:
    """The address below which streams are."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.durable_streams.server", url, str(port)], cwd=FOLDER.parent.parent
    )
    try:
        wait_until(lambda: answers(f"http://127.0.0.1:{port}/api/formats", process), "the server")
        yield f"http://127.0.0.1:{port}/streams"
    finally:
        process.terminate()
        process.wait()


def answers(address: str, process: subprocess.Popen[bytes]) -> bool:
    if process.poll() is not None:
        raise RuntimeError("the server did not start; its output says why")
    try:
        return httpx.get(address).status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.prove
@pytest.mark.timeout(900)
@pytest.mark.opened_twice
def test_the_conformance_suite_for_servers(server: str, tmp_path: Path) -> None:
    if shutil.which("npx") is None or not (FOLDER / "node_modules").is_dir():
        pytest.skip("the suite is not installed: run `make prove`, which needs npm")
    report = tmp_path / "report.json"
    command = ["npx", "vitest", "run", "suite.test.mjs", "--testTimeout=60000", "--reporter=json"]
    subprocess.run(
        [*command, f"--outputFile={report}"],
        cwd=FOLDER,
        env={**os.environ, "STREAMS_URL": server},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    told: dict[str, Any] = json.loads(report.read_text())
    tests = [test for file in told["testResults"] for test in file["assertionResults"]]
    failed = {test["fullName"]: test["failureMessages"] for test in tests if test["status"] == "failed"}
    assert failed == {}
    assert (told["numPassedTests"], told["numPendingTests"]) == (332, OPTIONAL)


@pytest.mark.opened_twice
def test_the_client_for_python(server: str) -> None:
    client = pytest.importorskip("durable_streams", reason="durable-streams is not installed: run `make setup`")
    with client.DurableStream.create(f"{server}/py", content_type="application/json") as stream:
        for n in range(5):
            stream.append({"n": n})
        stream.append([5, 6])  # one message
    with client.stream(f"{server}/py", offset="-1", live=False) as found:
        assert list(found.iter_json()) == [*({"n": n} for n in range(5)), [5, 6]]
