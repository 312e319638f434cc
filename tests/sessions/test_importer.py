"""Session files go into the ledger whole, and only once; what is damaged is listed and stops nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
import tracemalloc
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET

import hansard
from hansard import Ledger
from hansard.formats import get
from hansard.sessions import importer
from hansard.sessions.discovery import Session, in_folder
from hansard.sessions.exporter import session_files
from hansard.sessions.importer import Imported, import_session
from tests.ledger.said import said, words

AGENTS = ("claude-code", "codex", "gemini-cli", "pi", "copilot-cli")
GOLDEN = Path(__file__).parent.parent / "golden"


def goldens() -> list[Path]:
    return [path for name in AGENTS for path in sorted((GOLDEN / name).iterdir()) if path.is_file()]


def imported(ledger: Ledger, path: Path) -> Imported:
    return import_session(ledger, Session(path, ""))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("path", goldens(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_golden_session_comes_back_byte_for_byte(path: Path) -> None:
    with hansard.open(":memory:") as ledger:
        done = import_session(ledger, Session(path, path.parent.name))
        files = session_files(ledger, done.thread_id, done.format)
        assert files is not None
        assert files[path.name] == path.read_bytes()
        again = import_session(ledger, Session(path, path.parent.name))
        assert (again.changed, again.added) == (False, 0)
        assert ledger.verify() == []


@pytest.mark.parametrize("name", ["aaaa0000-0000-4000-8000-00000000000b", "a copy"])
def test_a_file_that_tells_late_whose_it_is_comes_back_whole(name: str, tmp_path: Path, ledger: Ledger) -> None:
    lines = (GOLDEN / "claude-code" / "prompt_and_answer.jsonl").read_bytes()
    first = b'{"type":"summary","summary":"An older one","leafUuid":"x"}\n'
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(first)
    early = imported(ledger, path)
    path.write_bytes(first + lines.replace(msgspec.json.decode(lines.splitlines()[0])["sessionId"].encode(), _SESSION))
    late = imported(ledger, path)
    assert (early.added, late.thread_id) == (0, _SESSION.decode())
    assert (early.thread_id == late.thread_id) is (name != "a copy")
    files = session_files(ledger, late.thread_id, "claude-code")
    assert files == {path.name: path.read_bytes()}
    assert imported(ledger, path).changed is False


def test_a_file_that_does_not_tell_whose_it_is_stays_in_its_thread(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = b'{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user","content":"Hi."}}\n'
    second = b'{"type":"user","uuid":"b","parentUuid":"a","message":{"role":"user","content":"Ho."}}\n'
    path = tmp_path / f"{_SESSION.decode()}.jsonl"
    path.write_bytes(first)
    with monkeypatch.context() as before:
        before.setattr(importer, "is_uuid", lambda name: False)  # a release that named threads otherwise
        early = import_session(ledger, Session(path, "claude-code"))
    path.write_bytes(first + second)
    late = import_session(ledger, Session(path, "claude-code"))
    assert (late.thread_id, late.added, late.known) == (early.thread_id, 1, 1)


_SESSION = b"aaaa0000-0000-4000-8000-00000000000b"


def test_every_recorded_session_comes_back_byte_for_byte(corpus: Path, ledger: Ledger) -> None:
    folder = corpus / "sessions"
    count = 0
    for name in AGENTS:
        for path in sorted((folder / name).rglob("*")):
            if path.is_file():
                done = imported(ledger, path)
                files = session_files(ledger, done.thread_id, done.format)
                assert files is not None
                if done.known == 0:
                    assert digest(files[path.name]) == digest(path.read_bytes()), path.name
                count += 1
    for project in sorted((folder / "claude-code-projects").iterdir()):
        for session in in_folder(project):
            if session.format:
                done = import_session(ledger, session)
                files = session_files(ledger, done.thread_id, done.format) or {}
                for path in (session.path, *session.parts):
                    name = os.path.relpath(path, session.path.parent)
                    assert files[name] == path.read_bytes(), path
                count += 1
    assert count > 25
    assert ledger.verify() == []


def test_the_later_state_of_a_session_adds_only_what_is_new(corpus: Path, ledger: Ledger) -> None:
    folder = corpus / "sessions" / "claude-code"
    first = imported(ledger, folder / "e-resume-A-2.1.37.jsonl")
    second = imported(ledger, folder / "e-resume-B-2.1.37.jsonl")
    assert first.thread_id == second.thread_id
    assert (second.known, second.added) == (first.added, ledger.thread(first.thread_id).messages - first.added)
    assert imported(ledger, folder / "e-resume-B-2.1.37.jsonl").added == 0
    files = session_files(ledger, first.thread_id, "claude-code")
    assert files is not None
    assert (folder / "e-resume-B-2.1.37.jsonl").read_bytes() in files.values()


def test_a_file_that_grows_line_by_line_ends_as_if_it_had_been_read_at_once(corpus: Path, tmp_path: Path) -> None:
    source = corpus / "sessions" / "claude-code" / "e-fork-2.1.37.jsonl"
    lines = source.read_bytes().splitlines(keepends=True)
    path = tmp_path / source.name
    with hansard.open(":memory:") as grown, hansard.open(":memory:") as whole:
        for end in [*range(5, len(lines), 37), len(lines)]:
            path.write_bytes(b"".join(lines[:end]))
            done = imported(grown, path)
        at_once = imported(whole, path)
        assert words(grown.transcript(done.thread_id)) == words(whole.transcript(at_once.thread_id))
        files = session_files(grown, done.thread_id, "claude-code")
        assert files == {path.name: source.read_bytes()}
        assert grown.verify() == []


def test_new_turns_are_records_behind_the_old_bytes(corpus: Path, ledger: Ledger) -> None:
    for name, file in (("claude-code", "a-1.jsonl"), ("codex", "c-10.jsonl"), ("pi", "large-session.jsonl")):
        path = corpus / "sessions" / name / file
        done = imported(ledger, path)
        ledger.append(done.thread_id, said("and now?"))
        files = session_files(ledger, done.thread_id, name)
        assert files is not None
        assert files[path.name].startswith(path.read_bytes())
        assert "and now?" in words(get(name).read(files[path.name]).messages)


def test_a_rewritten_file_is_kept_beside_what_it_was(tmp_path: Path, ledger: Ledger) -> None:
    first = sorted((GOLDEN / "claude-code").iterdir())[0].read_bytes()
    path = tmp_path / "s.jsonl"
    path.write_bytes(first)
    imported(ledger, path)
    lines = first.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[1:] + lines[:1]))
    done = imported(ledger, path)
    files = session_files(ledger, done.thread_id, "claude-code")
    assert files is not None
    assert files["s.jsonl"] == path.read_bytes()


def test_tokens_are_those_of_the_last_line_of_each_answer(corpus: Path, ledger: Ledger) -> None:
    for path in sorted((corpus / "sessions" / "claude-code").glob("*.jsonl")):
        last: dict[str, int] = {}
        for line in path.read_bytes().splitlines():
            try:
                record = msgspec.json.decode(line)
            except msgspec.DecodeError:
                continue
            answer = record.get("message") if record.get("type") == "assistant" else None
            if isinstance(answer, dict) and isinstance(answer.get("usage"), dict):
                last[answer["id"]] = answer["usage"].get("output_tokens", 0)
        done = import_session(hansard.open(":memory:") if "resume" in path.name else ledger, Session(path, ""))
        if "resume" not in path.name and "glued" not in path.name:
            told = ledger.thread(done.thread_id).usage.output_tokens
            assert (0 if told is UNSET else told) == sum(last.values()), path.name


DAMAGE = {
    "truncated": lambda data: data[: len(data) * 2 // 3],
    "binary in the middle": lambda data: data[: len(data) // 2] + bytes(range(256)) * 20 + data[len(data) // 2 :],
    "utf-16 line": lambda data: data + "{}".encode("utf-16") + b"\n",
    "glued": lambda data: data.replace(b"\n", b"", 1),
    "crlf": lambda data: data.replace(b"\n", b"\r\n"),
    "blank lines": lambda data: data.replace(b"\n", b"\n\n"),
    "no last newline": lambda data: data.rstrip(b"\n"),
    "unknown records": lambda data: data + b'{"type":"never-seen","x":[1]}\n[1]\n"text"\n17\n',
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", AGENTS)
def test_a_damaged_file_imports_what_is_readable(name: str, damage: str, tmp_path: Path) -> None:
    path = next(one for one in sorted((GOLDEN / name).iterdir()) if one.suffix == ".jsonl")
    broken = tmp_path / path.name
    broken.write_bytes(DAMAGE[damage](path.read_bytes()))
    with hansard.open(":memory:") as ledger:
        done = import_session(ledger, Session(broken, name))
        assert all(bad["line"] >= 1 and bad["byte"] >= 0 for bad in done.bad)
        files = session_files(ledger, done.thread_id, name)
        assert files == {broken.name: broken.read_bytes()}
        if damage == "binary in the middle":
            assert done.bad


def test_memory_does_not_grow_with_the_file(corpus: Path, tmp_path: Path) -> None:
    lines = (corpus / "sessions" / "claude-code" / "e-prlink-2.1.39.jsonl").read_bytes()
    path = tmp_path / "long.jsonl"
    with open(path, "wb") as file:
        for i in range(40):
            file.write(
                lines.replace(b'"uuid":"', b'"uuid":"%04d' % i).replace(b'"parentUuid":"', b'"parentUuid":"%04d' % i)
            )
        file.write(b'{"type":"user","x":"' + b"y" * 100_000_000 + b'"}\n')
    with hansard.open(str(tmp_path / "ledger.db")) as ledger:
        tracemalloc.start()
        done = imported(ledger, path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert done.bytes > 100_000_000
        assert peak < 120_000_000


def test_links_that_go_in_circles_are_not_followed(tmp_path: Path, ledger: Ledger) -> None:
    os.symlink(tmp_path, tmp_path / "loop")
    shutil.copy(sorted((GOLDEN / "claude-code").iterdir())[0], tmp_path / "s.jsonl")
    sessions = in_folder(tmp_path)
    assert [session.path.name for session in sessions] == ["s.jsonl"]


def test_messages_that_share_an_id_and_say_other_things_are_both_kept(ledger: Ledger) -> None:
    from hansard.ledger.sources import Piece, SourceWriter

    ledger.create_thread("t")
    messages = [said("a", id="1", parent_message_id=None), said("b", id="1"), said("c", id="2"), said("d", id="2")]
    for _ in range(2):
        filing = ledger._write(lambda tx: SourceWriter("t").add(tx, [Piece(messages)], None, 0))
    assert (filing.added, filing.known) == (0, 4)
    assert sorted(words(ledger.export_conversation("t").messages)) == ["a", "b", "c", "d"]
    assert ledger.verify() == []


def test_a_head_that_no_message_of_the_file_has_is_passed_over(tmp_path: Path, ledger: Ledger) -> None:
    """A file may name a line as its end that is no message of its own: what was said stays readable."""

    def line(key: str, parent: str | None, kind: str, content: object, **more: object) -> bytes:
        about = {"uuid": key, "parentUuid": parent, "sessionId": _SESSION.decode(), "cwd": "/x", "type": kind}
        return msgspec.json.encode({**about, "message": {"role": kind, "content": content, **more}}) + b"\n"

    path = tmp_path / "s.jsonl"
    lines = [line("a", None, "user", "Hi."), line("b", "a", "assistant", [{"type": "text", "text": "Ho."}], id="m")]
    lines += [line("c", "b", "assistant", [{"type": "text", "text": "Hum."}], id="m")]
    last = {"type": "last-prompt", "lastPrompt": "", "leafUuid": "c", "sessionId": _SESSION.decode()}
    path.write_bytes(b"".join(lines) + msgspec.json.encode(last) + b"\n")
    assert get("claude-code").read(path.read_bytes()).head == "c"
    done = import_session(ledger, Session(path, "claude-code"))
    assert [message.role for message in ledger.transcript(done.thread_id)] == ["user", "assistant"]
    assert ledger.thread(done.thread_id).messages == 2
