"""The demo: everything it shows is true, its agents work on real files, and it leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import hansard
from hansard import formats
from hansard.demo import agents as teahouse
from hansard.demo import sample_threads as shelf
from hansard.model import ToolResultPart, exact_json
from hansard.workspace import Workspace
from tests.waiting import wait_until
from tests.workspace.trees import tree

SAMPLES = sorted((Path(hansard.__file__).parent / "demo" / "samples").iterdir())


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_is_of_its_format_and_written_back_as_it_came(path: Path) -> None:
    raw, name = path.read_bytes(), path.name.split(".")[1]
    assert formats.detect(raw) == name
    again = formats.write_all(formats.read_all(raw, name), name).json
    assert again == raw or exact_json.same(exact_json.decode(again), exact_json.decode(raw))
    assert len(raw) < 50_000


def test_all_samples_are_on_the_shelf_and_whole() -> None:
    with hansard.open(":memory:") as ledger:
        listed = shelf.fill(ledger)
        assert len(listed) == len(SAMPLES)
        assert all(one.same for one in listed)
        assert ledger.verify() == []
        told = {(fact.kind, fact.value) for fact in ledger.facts()}
        assert len({value for kind, value in told if kind == "format"}) >= 12
        assert len({value for kind, value in told if kind == "model"}) >= 5
        assert len({value for kind, value in told if kind == "project"}) >= 3


def test_the_agents_work_on_real_files_that_can_be_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "teahouse"
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    with hansard.open(":memory:") as ledger:
        teahouse.build(ledger, project)
        words = [
            str(part.output)
            for message in ledger.transcript(teahouse.THREAD)
            for part in message.parts
            if isinstance(part, ToolResultPart)
        ]
        assert [line for text in words for line in text.splitlines() if line.startswith(("OK", "FAILED"))] == [
            "FAILED (failures=1)",
            "OK",
            "OK",
        ]
        assert [call.kind for call in ledger.pending(teahouse.WINDOW)] == ["approval"]
        teahouse._project.append(project)
        (agent,) = teahouse.agents(ledger)
        before = tree(project)
        asyncio.run(agent.run("new", "Add a matcha latte for 4.80"))
        assert '    "matcha latte": 480,\n' in (project / "menu.py").read_text()
        with Workspace(ledger, project) as files:
            files.undo("new")
            assert tree(project) == before
            files.undo(teahouse.THREAD, 2)
            assert not (project / "errors.py").exists()
            assert (project / "prices_2024.txt").exists()
            assert files.redo(teahouse.THREAD).conflicts == []
            assert tree(project) == before


@pytest.fixture
def homes(tmp_path: Path) -> dict[str, str]:
    """An environment whose home and temporary folder are empty."""
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir()
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "HANSARD_"))}
    return {**kept, "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "tmp"), "PYTHONUNBUFFERED": "1"}


def started(env: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "hansard.demo", *arguments]
    return subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def _bound(taken: socket.socket, port: int) -> bool:
    """False when another process has the port, which may let it go at any time."""
    try:
        taken.bind(("127.0.0.1", port))
        taken.listen()
    except OSError:
        return False
    return True


class Killed:
    """Ends a process when a check before its end failed, so that nothing waits for it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.close = process.kill


def nothing_is_left(env: dict[str, str]) -> None:
    """No file, and no process; the agents' own process is told to end and may take a moment."""
    wait_until(
        lambda: not [line for line in _commands() if env["TMPDIR"] in line], "the processes of the demo are gone"
    )
    assert [path for name in ("HOME", "TMPDIR") for path in Path(env[name]).rglob("*")] == []


def _commands() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue


def test_it_is_shown_once_and_leaves_nothing(homes: dict[str, str]) -> None:
    with started(homes, "--once") as process:
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert f"{len(SAMPLES)} of them written back identical" in out
    assert "two scripted agents worked on real files" in out
    nothing_is_left(homes)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda how: how.name)
def test_it_serves_beside_a_taken_port_until_it_is_told_to_end(homes: dict[str, str], how: signal.Signals) -> None:
    with closing(socket.socket()) as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held = _bound(taken, 8484)
        with started(homes) as process, closing(Killed(process)):
            assert process.stdout is not None
            lines: list[str] = []
            for line in process.stdout:
                lines.append(line)
                if line.startswith("hansard serves"):
                    break
            port = re.search(r"http://127\.0\.0\.1:(\d+)/", lines[-1])
            assert port is not None
            assert port[1] != "8484" or not held
            undo = next(line.split()[1:] for line in lines if " undo --db " in line)
            done = subprocess.run([sys.executable, "-m", "hansard", *undo], env=homes, capture_output=True, text=True)
            assert "write   prices_2024.txt" in done.stdout
            os.killpg(process.pid, how) if how == signal.SIGINT else process.send_signal(how)
            rest = process.communicate(timeout=60)[0]
    assert process.returncode == 0
    assert "Traceback" not in rest
    nothing_is_left(homes)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--prot", "1", "unrecognized arguments: --prot 1"),
        ("--port", "x", "invalid int value: 'x'"),
        ("--port", "65536", "65536 is not in the range"),
        ("--port", "", " is in use on 127.0.0.1"),
    ],
)
def test_what_it_cannot_do_is_said_in_a_line(homes: dict[str, str], option: str, value: str, said: str) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [sys.executable, "-m", "hansard.demo", option, value or str(taken.getsockname()[1])]
        done = subprocess.run(command, env=homes, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    nothing_is_left(homes)


@pytest.mark.parametrize(
    "stage", ["sample_threads.fill", "terminal.shelf", "agents.get_ready", "terminal.work", "agents.serve"]
)
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
def test_ended_at_a_stage_it_leaves_nothing(homes: dict[str, str], how: signal.Signals, stage: str) -> None:
    """The signal comes when a stage begins, however fast the machine is."""
    module, _, name = stage.partition(".")
    script = f"""
import os, sys
from hansard import demo
from hansard.demo import {module}
def {name}(*_):
    os.kill(os.getpid(), {int(how)})
    while True:
        pass
{module}.{name} = {name}
sys.exit(demo.main([]))
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, env=homes, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "Traceback" not in done.stdout
    nothing_is_left(homes)


@pytest.mark.prove
@pytest.mark.parametrize("seconds", [0.2, 0.4, 0.8, 1.2, 1.6, 2.2, 3.0])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
def test_ended_at_any_moment_it_leaves_nothing(homes: dict[str, str], how: signal.Signals, seconds: float) -> None:
    with started(homes) as process:
        time.sleep(seconds)
        os.killpg(process.pid, how) if how == signal.SIGINT else process.send_signal(how)
        try:
            process.communicate(timeout=60)
        finally:
            process.kill()
    nothing_is_left(homes)


def test_a_signal_that_python_forgets_is_said_again(homes: dict[str, str]) -> None:
    script = """
import os, signal
from hansard import demo
class Gone:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):  # the signal is handled here, where an exception is only printed
            pass
def show(place, wanted):
    Gone()
    print("it went on", flush=True)
    signal.pause()
demo._show, demo._PATIENCE = show, 0.2
try:
    demo.main([])
except SystemExit:
    print("it is over", signal.getitimer(signal.ITIMER_REAL)[0], flush=True)  # and nobody is told a third time
    raise
"""
    done = subprocess.run([sys.executable, "-c", script], env=homes, capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout) == (0, "it went on\nit is over 0.0\n")
    nothing_is_left(homes)
