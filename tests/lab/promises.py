"""The promises, each checked by what `hansard` prints and writes: compared with the manifest and with the provider.

A check returns what is wrong, one text for each fault; an empty list is a kept promise. Checks that change files or
sessions put them back, or come last.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import hansard
from hansard.model.tree import active_path
from tests.lab import processes
from tests.lab.agents import Agent
from tests.lab.install import Release
from tests.lab.scenario import ONWARD, PROMPTS, Prompt
from tests.lab.session import KINDS, Played, lay_out, state, usage

Faults = list[str]
_NAMES = {"input": "inputTokens", "cacheRead": "cacheReadTokens", "cacheWrite": "cacheWriteTokens"}
_NAMES |= {"output": "outputTokens", "reasoning": "reasoningTokens"}


class Bench(NamedTuple):
    """What the checks of one agent look at: its HOME and workspace after the scenario, the manifest, a ledger."""

    agent: type[Agent]
    home: Path
    workspace: Path
    manifest: dict[str, Any]
    ledger: Path
    run: Callable[[list[str], Path, Path], processes.Done]  # `hansard` with arguments, a HOME and a folder
    played: Played | None = None  # where agents can be run
    others: tuple[Release, ...] = ()

    def hansard(self, *arguments: str, home: Path | None = None, ledger: Path | None = None) -> processes.Done:
        """Run `hansard` in the HOME and the workspace of the agent."""
        return self.run([*arguments, "--db", str(ledger or self.ledger)], home or self.home, self.workspace)

    def json(self, *arguments: str, **more: Any) -> Any:
        done = self.hansard(*arguments, "--json", **more)
        try:
            return json.loads(done.output)
        except ValueError:
            raise AssertionError(f"hansard {' '.join(arguments)}: exit {done.code}: {done.output[-400:]}") from None

    def thread(self, key: str, **more: Any) -> dict[str, Any]:
        """A thread in the native format, every branch of it."""
        done = self.hansard("export", key, "--to", "hansard", **more)
        if done.code:
            raise AssertionError(f"hansard export {key}: exit {done.code}: {done.output[-400:]}")
        return json.loads(done.output)  # type: ignore[no-any-return]


def run_hansard(arguments: list[str], home: Path, folder: Path) -> processes.Done:
    """Run `hansard` as a user does."""
    here = str(Path(hansard.__file__).parent.parent)  # this checkout, whatever is installed
    env = processes.environment(HOME=str(home), COLUMNS="200", PYTHONPATH=here)
    command = [sys.executable, "-m", "hansard", *arguments]
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, timeout=180, stdin=subprocess.DEVNULL)
    text = done.stdout + (done.stderr if done.returncode else b"")
    return processes.Done(done.returncode, text.decode("utf-8", "replace"))


def path_of(thread: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages from the first to the head of a thread in the native format."""
    messages = thread["messages"]
    return [messages[i] for i in active_path(hansard.read(thread, "hansard"))]


def text_of(message: dict[str, Any]) -> str:
    return "\n".join(part["text"] for part in message["parts"] if part.get("type") == "text")


def import_(bench: Bench) -> Faults:
    """Every session is found and read without a report."""
    rows = bench.json("import")
    faults = [f"{row['path']}: {row.get('error') or row['bad']}" for row in rows if row.get("error") or row.get("bad")]
    faults += [f"{row['path']}: {row['repairs']} links repaired" for row in rows if row.get("repairs")]
    known = {row.get("threadId") for row in rows}
    for wanted in (*sessions_of(bench), bench.manifest.get("fork", {}).get("session")):
        if wanted and wanted not in known:
            faults.append(f"no thread {wanted}")
    again = [row for row in bench.json("import") if row.get("added")]
    return faults + [f"{row['path']}: {row['added']} new messages in an unchanged file" for row in again]


def transcript(bench: Bench) -> Faults:
    """Role user is what was typed, in order; every answer is on the path, once; titles are what was asked."""
    faults = [
        fault for key, turns in sessions_of(bench).items() for fault in check_path(path_of(bench.thread(key)), turns)
    ]
    rows = bench.json("threads")["items"]
    row = next((one for one in rows if one["id"] == bench.manifest["session"]), {})
    if not row.get("title"):
        faults.append("the thread has no title")
    if str(row.get("createdAt", "1970")).startswith("1970"):
        faults.append("the thread has no time")
    return faults


def sessions_of(bench: Bench) -> dict[str, list[dict[str, Any]]]:
    """The turns of each session: of the only one, unless the agent cannot resume."""
    found: dict[str, list[dict[str, Any]]] = {}
    for turn in bench.manifest["turns"]:
        found.setdefault(turn.get("session", bench.manifest["session"]), []).append(turn)
    return found


def check_path(path: list[dict[str, Any]], turns: list[dict[str, Any]]) -> Faults:
    """What is wrong with a path that should have exactly these turns."""
    faults: Faults = []
    typed = [text_of(message).strip() for message in path if message["role"] == "user"]
    wanted = [turn["prompt"] for turn in turns]
    if typed != wanted:
        faults.append(f"prompts are {[text[:60] for text in typed]}, typed was {wanted}")
    said = "\n".join(text_of(message) for message in path if message["role"] == "assistant")
    for turn in turns:
        for text in turn["said"]:
            if "porcelain cups" not in text and said.count(text) != 1:
                faults.append(f"{text!r} is said {said.count(text)} times")
    ids = [part.get("toolCallId") for message in path for part in message["parts"] if part.get("type") == "tool-result"]
    twice = {one for one in ids if ids.count(one) > 1}
    return faults + [f"the result of {one} is there {ids.count(one)} times" for one in twice]


def usage_(bench: Bench) -> Faults:
    """The tokens of all threads are those that the provider gave, each answer once."""
    return check_usage(bench, recorded_usage(bench), bench.ledger)


def recorded_usage(bench: Bench) -> dict[str, dict[str, int]]:
    """The tokens that the provider gave, as far as the agent keeps them."""
    return _as_kept(bench.agent, bench.manifest["usage"])


def _as_kept(agent: type[Agent], given: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    more = {} if agent.keeps_reasoning_count else {"reasoning": 0}
    return {model: {**row, **more} for model, row in given.items()}


def check_usage(bench: Bench, wanted: dict[str, dict[str, int]], ledger: Path) -> Faults:
    found = {row["name"]: row for row in bench.json("stats", "--by", "model", ledger=ledger)}
    faults = [f"no tokens of {model}" for model in wanted if model not in found]
    for model, row in found.items():
        truth = wanted.get(model, dict.fromkeys(KINDS, 0))
        for kind in KINDS:
            name = _NAMES[kind]
            given = row.get(name, 0)
            if truth[kind] != given:
                faults.append(f"{model}: {name} {given}, the provider gave {truth[kind]}")
    return faults


def export(bench: Bench) -> Faults:
    """Every session file comes back byte for byte."""
    out = bench.ledger.parent / "out"
    shutil.rmtree(out, ignore_errors=True)
    done = bench.hansard("export", "--all", "-o", str(out))
    faults = [] if done.code == 0 else [f"export --all: exit {done.code}: {done.output[-300:]}"]
    written = {path.read_bytes() for path in out.rglob("*") if path.is_file()}
    files = [path for path in session_files(bench) if path.read_bytes() not in written]
    if bench.agent.tables:
        faults += _rows_differ(bench, out)
    return faults + [f"{path.relative_to(bench.home)} did not come back" for path in files]


def _rows_differ(bench: Bench, out: Path) -> Faults:
    """The tables of a database that did not come back row for row, from every session and from one."""
    given = next(bench.home.glob(bench.agent.sessions))
    came = next(out.rglob(given.name), None)
    if came is None:
        return [f"no {given.name} came back"]
    faults = [
        f"table {table}: {len(rows_of(came, table))} rows came back of {len(rows_of(given, table))}"
        for table in bench.agent.tables
        if rows_of(came, table) != rows_of(given, table)
    ]
    key, one = bench.manifest["session"], out / "one.db"
    done = bench.hansard("export", key, "--to", bench.agent.format, "-o", str(one))
    if done.code:
        return [*faults, f"export {key}: exit {done.code}: {done.output[-300:]}"]
    table = bench.agent.rows_of_messages
    own = {row for row in rows_of(given, table) if key in row}
    return faults + ([] if own and own <= set(rows_of(one, table)) else ["a session alone has not its messages"])


def rows_of(database: Path, table: str) -> list[tuple[Any, ...]]:
    """The rows of a table, sorted."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        return sorted(db.execute(f"select * from {table}").fetchall(), key=repr)


def session_files(bench: Bench) -> list[Path]:
    """Every file of an agent's sessions that holds messages."""
    lines = {path for one in bench.agent.kept for path in bench.home.glob(one) if path.suffix == ".jsonl"}
    return sorted(lines.union(bench.home.glob(bench.agent.sessions) if not bench.agent.tables else ()))


def watched(bench: Bench) -> Faults:
    """What a watcher followed while the agent worked is what an import of the finished files gives."""
    followed = bench.ledger.parent / "watched.db"
    bench.hansard("import", ledger=followed)
    faults: Faults = []
    for row in bench.json("threads")["items"]:
        whole, live = (bench.thread(row["id"], ledger=one) for one in (bench.ledger, followed))
        counts = len(whole["messages"]), len(live["messages"])
        if counts[0] != counts[1]:
            faults.append(f"{row['id']}: {counts[1]} messages instead of {counts[0]}")
        elif [one["id"] for one in path_of(whole)] != [one["id"] for one in path_of(live)]:
            faults.append(f"{row['id']}: another path")
    return faults + check_usage(bench, recorded_usage(bench), followed)


def undo(bench: Bench) -> Faults:
    """Undoing prompt after prompt gives the files of each earlier state; what stays is named, with exit 1."""
    manifest = bench.manifest
    workspace, faults = bench.workspace, []
    steps = [(key, turn) for key, turns in sessions_of(bench).items() for turn in turns]
    if "fork" in manifest:
        steps.append((manifest["fork"]["session"], manifest["fork"]))
    states = [manifest["before"], *(turn["files"] for _, turn in steps)]
    left: set[str] = set()
    for i in reversed(range(len(steps))):
        thread, turn = steps[i]
        done = bench.hansard("undo", "--yes", "--thread", thread, "--root", str(workspace))
        now = state(workspace, {})
        differing = {name for name in {*now, *states[i]} if now.get(name) != states[i].get(name)}
        left |= set(turn["shellChanges"]) if differing & set(turn["shellChanges"]) else set()
        unexpected = differing - left
        if unexpected:
            faults.append(
                f"undo of {turn['prompt']!r} leaves {sorted(unexpected)}: exit {done.code}: {done.output[-500:]}"
            )
        new = {name for name in differing & set(turn["shellChanges"]) if _is_recorded(bench, name)}
        if new and (done.code != 1 or not all(name in done.output for name in new)):
            faults.append(
                f"undo of {turn['prompt']!r} does not name {sorted(new)}: exit {done.code}: {done.output[-500:]}"
            )
        if not new and done.code not in (0, 1):
            faults.append(f"undo of {turn['prompt']!r}: exit {done.code}: {done.output[-500:]}")
    return faults


def _is_recorded(bench: Bench, name: str) -> bool:
    """Whether a session has the command that changes a path; Gemini CLI has none that was interrupted."""
    steps = [step for prompt in PROMPTS for reply in prompt.replies for step in reply if step[0] == "shell"]
    commands = [step[1].split(";")[0].split("'")[0] for step in steps if name in step[1]]
    files = [path for one in bench.agent.kept for path in bench.home.glob(one) if path.is_file()]
    files += [wal for path in files if (wal := path.with_name(f"{path.name}-wal")).exists()]
    texts = [path.read_text("utf-8", "replace") for path in files]
    return not commands or any(command in text for command in commands for text in texts)


def redo(bench: Bench) -> Faults:
    """Redoing everything gives the files of the last state."""
    manifest = bench.manifest
    last = manifest.get("fork", manifest["turns"][-1])["files"]
    keys = [key for key, turns in sessions_of(bench).items() for _ in turns] + (
        [manifest["fork"]["session"]] if "fork" in manifest else []
    )
    faults = []
    for key in keys:
        done = bench.hansard("redo", "--yes", "--thread", key, "--root", str(bench.workspace))
        if done.code not in (0, 1):
            faults.append(f"redo: exit {done.code}: {done.output[-400:]}")
    now = state(bench.workspace, {})
    differing = sorted(name for name in {*now, *last} if now.get(name) != last.get(name))
    return faults + ([f"redo leaves {differing}"] if differing else [])


def fork(bench: Bench) -> Faults:
    """A fork is a thread of its own that shows the whole history and knows where it comes from."""
    manifest = bench.manifest
    if "fork" not in manifest:
        return []
    thread = bench.thread(manifest["fork"]["session"])
    faults = check_path(path_of(thread), [*manifest["turns"], manifest["fork"]])
    if thread.get("parentThreadId") != manifest["session"]:
        faults.append(f"parentThreadId is {thread.get('parentThreadId')!r}")
    if not thread.get("forkedFromMessageId"):
        faults.append("no forkedFromMessageId")
    return faults


def handover(bench: Bench) -> Faults:
    """Every other agent continues the session, with all earlier turns, calls and results in its request; and back."""
    return [fault for release in bench.others for fault in _hand_to(bench, release)]


def _hand_to(bench: Bench, release: Release) -> Faults:
    assert bench.played is not None
    folder = bench.played.folder.parent / f"{bench.played.release.name}-to-{release.name}"
    shutil.rmtree(folder, ignore_errors=True)
    target = Played(release, folder, bench.played.tell)
    ledger = folder / "ledger.db"
    shutil.copy(bench.ledger, ledger)
    try:
        lay_out(target.workspace)
        key, name = bench.manifest["session"], release.name
        given = ("handover", key, "--to", target.agent.format, "--cwd", str(target.workspace))
        done = bench.hansard(*given, "--json", home=target.home, ledger=ledger)
        if done.code:
            return [f"to {name}: exit {done.code}: {done.output[-300:]}"]
        before = bench.thread(key, ledger=ledger)
        session = target.agent.session_id(Path(json.loads(done.output)["path"]))
        output, answers = target.ask(ONWARD, session)
        faults = [f"to {name}: {fault}" for fault in target.provider.faults]
        first = next((one for one in answers if not one.aside), None)
        if first is None:
            return [*faults, f"to {name}: no request: {output[-300:]}"]
        request = json.dumps(first.request, ensure_ascii=False)
        faults += [f"to {name}: {text!r} is not in the request" for text in needles(bench) if not _has(request, text)]
        return faults + [f"back from {name}: {one}" for one in _back(bench, target, ledger, before, usage(answers))]
    finally:
        target.close()


def _has(request: str, text: str) -> bool:
    return text in request or json.dumps(text, ensure_ascii=False)[1:-1] in request


_CALLED = {  # texts in calls and results of a prompt
    0: ("limescale: much", "lid: tightened", "cat no-such-file.txt", "No such file", "Boils water."),
    1: ("von heute früh", "zweieinhalb", "so this must fail", "echo boiling", "ganz neu"),
    2: ("old list.txt", "logo.bin"),
}


def needles(bench: Bench) -> list[str]:
    """Texts of every earlier turn, call and result of the session that is handed over."""
    typed = {turn["prompt"] for turn in sessions_of(bench)[bench.manifest["session"]]}
    asked = [(i, prompt) for i, prompt in enumerate(PROMPTS) if prompt.text in typed]
    said = [
        step[1]
        for i, prompt in asked
        for reply in (prompt.replies if i < len(PROMPTS) - 1 else [])
        for step in reply
        if step[0] == "say" and step[1] != "It never boils."
    ]
    return [*(prompt.text for _, prompt in asked), *said, *(text for i, _ in asked for text in _CALLED.get(i, ()))]


def _back(
    bench: Bench, target: Played, ledger: Path, before: dict[str, Any], more: dict[str, dict[str, int]]
) -> Faults:
    """The session comes back: only the new turn is added, after what was handed over, and is on the path."""
    bench.json("import", home=target.home, ledger=ledger)
    key = bench.manifest["session"]
    after = bench.thread(key, ledger=ledger)
    turn = {"prompt": ONWARD.text, "said": [step[1] for step in ONWARD.replies[-1]]}
    faults = check_path(path_of(after), [*sessions_of(bench)[key], turn])
    old, new = path_of(before), path_of(after)
    if [one["id"] for one in new[: len(old)]] != [one["id"] for one in old]:
        faults.append("the path does not begin with the handed-over messages")
    if len(bench.json("threads", ledger=ledger)["items"]) != len(bench.json("threads")["items"]):
        faults.append("it came back as another thread")
    wanted = recorded_usage(bench)
    for model, row in _as_kept(type(target.agent), more).items():
        sums = wanted.setdefault(model, dict.fromkeys(row, 0))
        for kind, count in row.items():
            sums[kind] += count
    return faults + check_usage(bench, wanted, ledger)


def compaction(bench: Bench) -> Faults:
    """After a compaction, the next prompt follows the whole history; the summary is not a prompt, and undo is right."""
    assert bench.played is not None
    key, played = bench.manifest["session"], bench.played
    before = {one["id"] for one in bench.thread(key)["messages"]}
    played.ask(Prompt(bench.agent.compact, []), key)
    played.ask(ONWARD, key)
    bench.json("import")
    after = bench.thread(key)
    turn = {"prompt": ONWARD.text, "said": [step[1] for step in ONWARD.replies[-1]]}
    faults = check_path(path_of(after), [*bench.manifest["turns"], turn])
    if lost := before - {one["id"] for one in after["messages"]}:
        faults.append(f"{len(lost)} messages are no longer in the thread")
    (file,) = [path for path in session_files(bench) if path.stem == key]
    if bench.hansard("export", key, "--to", bench.agent.format).output.encode() != file.read_bytes():
        faults.append("the file does not come back byte for byte")
    done = bench.hansard("undo", "--yes", "--thread", key, "--root", str(bench.workspace))
    if done.code or (bench.workspace / "onward.txt").exists():
        faults.append(f"undo leaves onward.txt: exit {done.code}: {done.output[-300:]}")
    return faults


PROMISES: dict[str, Callable[[Bench], Faults]] = {
    "import": import_,
    "transcript": transcript,
    "usage": usage_,
    "export": export,
    "watch": watched,
    "fork": fork,
    "handover": handover,
    "undo": undo,
    "redo": redo,
    "compaction": compaction,  # last: it changes the session
}
