"""File tools: what an agent does to files is tied to its calls and can be undone; what it may not do, it is told."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai import Agent as PydanticAgent

import hansard
from hansard import Ledger
from hansard.agent import Agent, FileTools, Recorder, ScriptedModel, shell
from hansard.errors import HansardError
from hansard.model import Message, ToolCallPart, ToolResultPart
from tests.waiting import wait_until, wait_until_async
from tests.workspace.trees import tree

Call = dict[str, Any]


def call(tool: str, **given: Any) -> Call:
    return {"tool": tool, "input": given}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def memory() -> Iterator[Ledger]:
    with hansard.open(":memory:") as ledger:
        yield ledger


def scripted(ledger: Ledger, files: FileTools, *turns: list[list[Call]], name: str = "coder") -> Agent:
    """An agent that in each turn does these steps, each a list of calls, and then says that it is done."""
    script: list[Any] = []
    for steps in turns:
        script += [*steps, "Done."]
    return Agent(ScriptedModel(script), ledger=ledger, name=name, toolsets=[files])


def results(messages: list[Message]) -> list[Any]:
    return [part.output for message in messages for part in message.parts if isinstance(part, ToolResultPart)]


def told(ledger: Ledger, root: Path, *calls: Call, **how: Any) -> list[Any]:
    """What the tools answer to some calls, one after the other."""
    files = FileTools(ledger, root, **how)
    try:
        asyncio.run(scripted(ledger, files, [[one] for one in calls]).run("t", "go"))
    finally:
        files.close()
    return results(ledger.transcript("t"))


# -- undo ------------------------------------------------------------------------------------------------------------

_NAMES = st.sampled_from(["a.txt", "src/b.py", "src/deep/c", "two words", "café", "-rf"])
_TEXTS = st.sampled_from(["", "one\n", "one\ntwo\nthree\n", "one\r\ntwo\r\n", "x" * 3000, "\x00\x01", "ünï\n"])
_CALLS = st.one_of(
    st.builds(lambda path, content: call("write", path=path, content=content), _NAMES, _TEXTS),
    st.builds(lambda path, new: call("edit", path=path, old_string="one", new_string=new), _NAMES, _TEXTS),
    st.builds(lambda path: call("shell", command=f"rm -rf './{path}'"), _NAMES),
    st.builds(lambda path: call("shell", command=f"chmod 755 './{path}'; ln -s '{path}' link"), _NAMES),
    st.builds(lambda path: call("shell", command=f"mv './{path}' moved; printf 'a\\0b' > bin"), _NAMES),
)
_TURNS = st.lists(st.lists(st.lists(_CALLS, min_size=1, max_size=3), max_size=3), min_size=1, max_size=3)


@settings(max_examples=20)
@given(turns=_TURNS)
def test_whatever_an_agent_did_undo_and_redo_are_exact(turns: list[list[list[Call]]]) -> None:
    with tempfile.TemporaryDirectory() as folder, hansard.open(":memory:") as ledger:
        Path(folder, "a.txt").write_bytes(b"one\ntwo\n")
        files = FileTools(ledger, folder)
        agent = scripted(ledger, files, *turns)
        states = [(tree(folder), None)]

        async def talk() -> None:
            for _ in turns:
                await agent.run("t", "go on")
                states.append((tree(folder), ledger.thread("t").head))

        asyncio.run(talk())
        for i in reversed(range(len(turns))):
            assert files.workspace.undo("t").conflicts == []
            assert (tree(folder), ledger.thread("t").head) == states[i]
        for i in range(len(turns)):
            assert files.workspace.redo("t").conflicts == []
            assert (tree(folder), ledger.thread("t").head) == states[i + 1]
        assert files.workspace.snapshot().changes == []
        assert ledger.verify() == []
        files.close()


def test_every_change_is_tied_to_the_message_that_called_the_tool(ledger: Ledger, root: Path) -> None:
    (root / "a").write_text("one\n")
    steps = [
        [call("write", path="b", content="x")],
        [call("edit", path="a", old_string="one", new_string="two")],
        [call("shell", command="rm a")],
    ]
    files = FileTools(ledger, root)
    done = asyncio.run(scripted(ledger, files, steps).run("t", "go"))
    made = [one for one in files.workspace.snapshots("t") if one.source in ("tool", "scan")]
    assert [one.changes[0].path for one in made] == [b"b", b"a", b"a"]
    for one, name in zip(made, ("write", "edit", "shell"), strict=True):
        message = ledger.get("t", one.author.message_id or "")
        assert [part.tool_name for part in message.parts if isinstance(part, ToolCallPart)] == [name]
        assert (one.author.run_id, one.author.agent_id) == (done.run.id, "coder")
    files.close()


def test_a_recorded_pydantic_agent_has_the_tools_too(memory: Ledger, root: Path) -> None:
    files = FileTools(memory, root)
    model = ScriptedModel([[call("write", path="a", content="x")], "Done."])
    recorded: PydanticAgent[Any, str] = PydanticAgent(model, toolsets=[files], capabilities=[Recorder(memory, "t")])
    asyncio.run(recorded.run("go"))
    assert (root / "a").read_text() == "x"
    files.workspace.undo("t")
    assert tree(root) == {}
    nobody: PydanticAgent[Any, str] = PydanticAgent(model, toolsets=[files])
    with pytest.raises(HansardError, match="this run is not recorded"):
        asyncio.run(nobody.run("go"))
    files.close()


def test_two_agents_in_one_tree_do_not_undo_each_other(ledger: Ledger, root: Path) -> None:
    (root / "shared").write_text("1\n2\n3\n4\n5\n")
    files, busy = FileTools(ledger, root), root.parent / "busy"
    one = scripted(
        ledger,
        files,
        [
            [call("shell", command=f"touch '{busy}'; while [ ! -e twos ]; do sleep 0.01; done; echo one > ones")],
            [call("edit", path="shared", old_string="1\n", new_string="ONE\n")],
        ],
        name="one",
    )
    two = scripted(
        ledger,
        files,
        [
            [call("write", path="twos", content="two\n")],  # while the other's shell is at work
            [call("edit", path="shared", old_string="5\n", new_string="TWO\n")],
        ],
        name="two",
    )

    async def both() -> None:
        first = asyncio.create_task(one.run("1", "go"))
        await wait_until_async(busy.exists, "the shell of the first")
        await asyncio.gather(first, two.run("2", "go"))

    asyncio.run(both())
    assert (root / "shared").read_text() == "ONE\n2\n3\n4\nTWO\n"
    files.workspace.undo("1")
    assert (sorted(tree(root)), (root / "shared").read_text()) == ([b"shared", b"twos"], "1\n2\n3\n4\nTWO\n")
    files.workspace.redo("1")
    files.workspace.undo("2")
    assert (sorted(tree(root)), (root / "shared").read_text()) == ([b"ones", b"shared"], "ONE\n2\n3\n4\n5\n")
    files.close()


def test_a_turn_that_was_stopped_in_a_shell_is_undone(ledger: Ledger, root: Path) -> None:
    files = FileTools(ledger, root)
    agent = scripted(
        ledger, files, [[call("write", path="a", content="x")], [call("shell", command="touch b; sleep 60")]]
    )

    async def stop() -> None:
        _, task = await agent.start("t", "go")
        await wait_until_async((root / "b").exists, "the shell")
        await agent.stop("t")
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(stop())
    assert sorted(tree(root)) == [b"a", b"b"]
    assert {one.author.thread_id for one in files.workspace.snapshots() if one.source != "base"} == {"t"}
    files.workspace.undo("t")
    assert (tree(root), ledger.thread("t").head) == ({}, None)
    files.workspace.redo("t")
    assert sorted(tree(root)) == [b"a", b"b"]
    files.close()


def test_a_turn_that_failed_is_undone(ledger: Ledger, root: Path) -> None:
    files = FileTools(ledger, root)
    model = ScriptedModel([[call("write", path="a", content="x")], [{"error": "no more"}]])
    agent = Agent(model, ledger=ledger, name="coder", toolsets=[files])
    with pytest.raises(Exception, match="no more"):
        asyncio.run(agent.run("t", "go"))
    assert sorted(tree(root)) == [b"a"]
    files.workspace.undo("t")
    assert (tree(root), ledger.thread("t").head) == ({}, None)
    files.close()


def test_what_a_failed_run_did_belongs_to_the_turn_that_asked_for_it(memory: Ledger, root: Path) -> None:
    files = FileTools(memory, root)

    def agent(last: Any, name: str) -> Agent:
        return Agent(ScriptedModel([[call("write", path=name, content="x")], [last]]), ledger=memory, toolsets=[files])

    with pytest.raises(Exception, match="no more"):
        asyncio.run(agent({"error": "no more"}, "first").run("t", "go"))
    asyncio.run(agent("Done.", "second").run("t", "go on"))
    assert sorted(tree(root)) == [b"first", b"second"]
    files.workspace.undo("t")
    assert sorted(tree(root)) == [b"first"]
    files.workspace.undo("t")
    assert sorted(tree(root)) == []
    files.close()


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("../outside", "not below the root"),
        ("a/../../outside", "not below the root"),
        ("/etc/hostname", "begins with /"),
        (".git/config", "inside a .git folder"),
        ("link", "is a link to"),
        ("out/file", "a parent of"),
        ("fifo", "FIFO"),
        ("nul\x00", "not below the root"),
    ],
)
def test_a_path_that_is_not_below_the_root_is_refused_and_the_model_is_told(
    memory: Ledger, root: Path, path: str, why: str
) -> None:
    outside = root.parent / "outside"
    outside.write_text("secret")
    os.symlink(outside, root / "link")
    os.symlink(root.parent, root / "out")
    os.mkfifo(root / "fifo")
    before = tree(root)
    answers = told(
        memory,
        root,
        call("read", path=path),
        call("write", path=path, content="mine"),
        call("edit", path=path, old_string="secret", new_string="mine"),
    )
    assert len(answers) == 3
    assert all(why in answer for answer in answers)
    assert (tree(root), outside.read_text()) == (before, "secret")
    assert [one for one in memory.runs("t") if one.status == "committed"]


def test_a_path_given_from_the_root_on_is_told_in_the_way_it_is_wanted(memory: Ledger, root: Path) -> None:
    (answer,) = told(memory, root, call("read", path=f"{root}/src/a.py"))
    assert answer.endswith("relative to the project's folder: 'src/a.py'")


@pytest.mark.prove
def test_a_swap_of_a_folder_for_a_link_writes_nothing_outside(memory: Ledger, root: Path) -> None:
    outside = root.parent / "elsewhere"
    outside.mkdir()
    (root / "sub").mkdir()
    files = FileTools(memory, root)
    agent = scripted(memory, files, [[call("write", path="sub/a", content=f"{i}")] for i in range(40)])

    async def race() -> None:
        running = asyncio.create_task(agent.run("t", "go"))
        while not running.done():
            try:
                os.rename(root / "sub", root / "aside")
                os.symlink(outside, root / "sub")
                await asyncio.sleep(0.003)
                os.unlink(root / "sub")
                os.rename(root / "aside", root / "sub")
            except OSError:  # a write made the folder anew just then
                shutil.rmtree(root / "aside", ignore_errors=True)
            await asyncio.sleep(0.003)
        await running

    asyncio.run(race())
    assert list(outside.iterdir()) == []
    files.close()


# -- each tool -------------------------------------------------------------------------------------------------------


def test_reading_shows_lines_and_says_what_is_left(memory: Ledger, root: Path) -> None:
    (root / "long").write_text("".join(f"line {i}\n" for i in range(1, 5001)))
    (root / "cup.png").write_bytes(b"\x89PNG\r\n\0")
    (root / "latin").write_bytes(b"caf\xe9\n")
    (root / "empty").touch()
    (root / "src").mkdir()
    answers = told(
        memory,
        root,
        call("read", path="long", offset=11, limit=2),
        call("read", path="long", offset=4999),
        call("read", path="long", offset=5001),
        call("read", path="long"),
        call("read", path="cup.png"),
        call("read", path="latin"),
        call("read", path="empty"),
        call("read", path="."),
        call("read", path="src"),
        call("read", path="nothing"),
    )
    assert answers[0] == "line 11\nline 12\n[lines 11 to 12 of 5000; offset=13 continues]"
    assert answers[1] == "line 4999\nline 5000"
    assert answers[2] == "long has 5,000 lines; there is none at 5001"
    assert answers[3].endswith("[lines 1 to 2000 of 5000; offset=2001 continues]")
    assert answers[4] == "cup.png is a binary file (image/png, 7 bytes); it is not shown."
    assert answers[5].startswith("latin is a binary file")
    assert answers[6] == "empty is an empty file."
    assert answers[7] == ". is a folder with 5 names:\ncup.png\nempty\nlatin\nlong\nsrc/"
    assert answers[8] == "src is an empty folder."
    assert answers[9].startswith("nothing does not exist;")


def test_what_is_read_in_pieces_is_the_whole_file(memory: Ledger, root: Path) -> None:
    lines = [f"{i}: " + "word " * (i % 90) for i in range(300)]
    (root / "a").write_text("\n".join(lines) + "\n")
    files = FileTools(memory, root, most=4000)
    seen: list[str] = []
    while len(seen) < len(lines):
        words, _, _ = files.read("a", offset=len(seen) + 1).partition("\n[lines ")
        seen += words.split("\n")
    assert seen == lines
    files.close()


def test_an_edit_wants_a_text_that_is_there_once(memory: Ledger, root: Path) -> None:
    (root / "a").write_text("aaa\nb\nb\n")
    (root / "dos").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    answers = told(
        memory,
        root,
        call("edit", path="a", old_string="b\n", new_string="c\n"),
        call("edit", path="a", old_string="aa", new_string="x"),
        call("edit", path="a", old_string="B", new_string="c"),
        call("edit", path="a", old_string="b", new_string="b"),
        call("edit", path="a", old_string="", new_string="b"),
        call("edit", path="a", old_string="b", new_string="c", replace_all=True),
        call("edit", path="dos", old_string="one\ntwo", new_string="1\n2"),
    )
    assert "2 times in a, at lines 2, 3" in answers[0]
    assert "2 times in a" in answers[1]
    assert "not in a" in answers[2]
    assert "the same" in answers[3]
    assert "empty" in answers[4]
    assert answers[5:] == ["edited a at line 2, 3", "edited dos at line 1"]
    assert (root / "a").read_text() == "aaa\nc\nc\n"
    assert (root / "dos").read_bytes() == b"1\r\n2\r\nthree\r\n"


def test_writing_keeps_the_mode_and_makes_folders(memory: Ledger, root: Path) -> None:
    (root / "run.sh").write_text("old")
    (root / "run.sh").chmod(0o750)
    answers = told(
        memory,
        root,
        call("write", path="run.sh", content="new\n"),
        call("write", path="./a//b/c", content="two\nlines"),
        call("write", path="a", content="x"),
    )
    assert answers[:2] == ["wrote run.sh: 1 line", "created ./a//b/c: 2 lines"]
    assert "is a folder" in answers[2]
    assert (root / "run.sh").stat().st_mode & 0o7777 == 0o750
    assert sorted(tree(root)) == [b"a", b"a/b", b"a/b/c", b"run.sh"]


def gone(pid: int) -> bool:
    """Wait until a process has ended."""

    def ended() -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
        except (FileNotFoundError, ProcessLookupError):
            return True

    return wait_until(ended, f"process {pid}")


def test_a_shell_is_told_apart_by_its_end_and_leaves_nothing_running(
    monkeypatch: pytest.MonkeyPatch, memory: Ledger, root: Path
) -> None:
    def late() -> float:
        """The time is over once the command has said what it started."""
        pid = root / "pid"
        return 1e9 if pid.exists() and pid.stat().st_size else 0.0

    monkeypatch.setattr(shell, "time", SimpleNamespace(monotonic=late))
    (root / "here").touch()
    answers = told(
        memory,
        root,
        call("shell", command="ls; echo wrong >&2; exit 3"),
        call("shell", command="true"),
        call("shell", command="cat"),
        call("shell", command="(sleep 600; touch late) & echo $! > pid; sleep 600", timeout=0.5),
        call("shell", command="sleep 600 & echo $! > pid2; echo started"),
        call("shell", command="head -c 100000 /dev/zero | tr '\\0' x; printf end"),
        most=1000,
    )
    assert answers[0] == "here\nwrong\n[exit code 3]"
    assert answers[1:3] == ["(no output)", "(no output)"]
    assert answers[3].endswith("[killed: it took longer than 0.5 s]")
    assert answers[4] == "started"
    assert "[... 99,003 bytes omitted ...]" in answers[5]
    assert (answers[5][:500], answers[5][-3:]) == ("x" * 500, "end")
    assert gone(int((root / "pid").read_text()))
    assert gone(int((root / "pid2").read_text()))


def test_a_shell_that_needs_a_yes_waits_for_it(memory: Ledger, root: Path) -> None:
    files = FileTools(memory, root, approve=["shell"], only=["shell"])
    done = asyncio.run(scripted(memory, files, [[call("shell", command="touch a")]]).run("t", "go"))
    assert [one.kind for one in done.pending] == ["approval"]
    assert tree(root) == {}
    files.close()
    with pytest.raises(HansardError, match="unknown file tool 'sh'; choose from read, write, edit, shell"):
        FileTools(memory, root, only=["sh"])


def test_what_somebody_else_writes_just_then_is_kept(memory: Ledger, root: Path) -> None:
    (root / "a").write_text("one\n")
    files = FileTools(memory, root)

    def step(name: str) -> None:
        if name == "staged":
            (root / "a").write_text("theirs\n")

    files.workspace.step = step
    asyncio.run(scripted(memory, files, [[call("edit", path="a", old_string="one", new_string="two")]]).run("t", "go"))
    assert "was changed by another process just now" in results(memory.transcript("t"))[0]
    assert sorted(tree(root)) == [b"a"]
    assert (root / "a").read_text() == "theirs\n"
    files.close()
