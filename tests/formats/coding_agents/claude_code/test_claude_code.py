"""Claude Code sessions: what its lines mean, where reading them word for word goes wrong."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.errors import Unreadable
from hansard.formats.coding_agents.claude_code.session import SESSION
from hansard.formats.coding_agents.compact_ids import IdList, IdNumbers
from hansard.formats.coding_agents.session_file import evidence, with_evidence, without_evidence
from hansard.model import Conversation, Message, TextPart, ToolCallPart, ToolResultPart, native
from hansard.model.machinery import as_seen, typed_text
from hansard.model.tree import active_path, parents
from tests.conftest import GOLDEN
from tests.corpus_files import corpus_documents
from tests.strategies import conversations, plain_conversations

NAME = "claude-code"
FILES = sorted((GOLDEN / NAME).glob("*.jsonl"))
DECODER = json.JSONDecoder()


def golden(name: str) -> Conversation:
    return formats.read((GOLDEN / NAME / f"{name}.jsonl").read_bytes(), NAME)


def reports(conversation: Conversation) -> list[Any]:
    extra = conversation.extra if conversation.extra is not UNSET else {}
    return extra.get(NAME, {}).get("$", {}).get("reports", [])


def said(message: Message) -> str:
    return " ".join(part.text for part in message.parts if isinstance(part, TextPart))


def forks(conversation: Conversation) -> list[str]:
    """What was said where more than one message follows that is no side chain."""
    messages = conversation.messages
    count = Counter(parent for i, parent in enumerate(parents(messages)) if messages[i].sidechain is not True)
    return [said(messages[i]) for i, n in count.items() if i is not None and n > 1]


def records(raw: bytes) -> Iterator[dict[str, Any]]:
    for line in raw.decode().split("\n"):
        at = 0
        while at < len(line.rstrip()):
            value, at = DECODER.raw_decode(line, at)
            yield value


def streamed(raw: bytes, size: int) -> tuple[list[Message], Conversation]:
    reading = SESSION.open()
    messages: list[Message] = []
    for at in range(0, len(raw), size):
        messages += reading.feed(raw[at : at + size])
    messages += reading.finish()
    return messages, reading.conversation(messages)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_file_read_in_pieces_gives_the_same_as_the_whole(path: Path, size: int) -> None:
    raw = path.read_bytes()
    whole = formats.read(raw, NAME)
    assert native.encode(streamed(raw, size)[1]) == native.encode(without_evidence(whole, NAME))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_parents_come_before_their_children_and_no_message_is_out_of_reach(path: Path) -> None:
    messages = formats.read(path.read_bytes(), NAME).messages
    known: set[Any] = {None, UNSET}
    for message in messages:
        assert message.parent_message_id in known
        known.add(message.id)
    assert len(known) == len({message.id for message in messages} | {None, UNSET})


def test_lines_of_one_answer_are_one_message_though_others_stand_between() -> None:
    conversation = golden("answer_over_lines")
    roles = [message.role for message in conversation.messages]
    assert roles == ["user", "assistant", "event", "tool", "assistant"]
    answer = conversation.messages[1]
    assert [type(part).__name__ for part in answer.parts] == ["ReasoningPart", "TextPart", "ToolCallPart"]
    assert answer.usage is not UNSET
    assert answer.usage.output_tokens == 40
    assert answer.usage.input_tokens == 123
    assert answer.finish_reason == "tool_call"


def test_results_of_parallel_calls_follow_one_another() -> None:
    conversation = golden("parallel_calls")
    assert [message.role for message in conversation.messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "tool",
        "assistant",
    ]
    assert len(active_path(conversation)) == 6
    assert forks(conversation) == []


def test_a_turn_asked_twice_is_a_fork_and_the_later_one_is_followed() -> None:
    conversation = golden("asked_twice")
    assert forks(conversation) == ["One."]
    path = [said(conversation.messages[i]) for i in active_path(conversation)]
    assert path == ["First.", "One.", "Second, again?", "Two, again."]


def test_a_marker_of_an_interrupt_is_no_fork() -> None:
    conversation = golden("interrupted_and_resumed")
    assert forks(conversation) == []
    assert len(active_path(conversation)) == len(conversation.messages) == 7


def test_a_compaction_joins_what_was_before_it() -> None:
    conversation = golden("compaction")
    assert len(active_path(conversation)) == 6
    boundary = conversation.messages[2]
    assert boundary.role == "event"
    assert boundary.parent_message_id == conversation.messages[1].id


def test_a_summary_is_not_what_a_person_typed() -> None:
    for name in ("compaction", "compaction_that_preserves"):
        (summary,) = [
            one for one in golden(name).messages if any(getattr(p, "name", "") == "summary" for p in one.parts)
        ]
        assert summary.role == "event"
        assert typed_text(summary) is None
        assert as_seen(summary).role == "user"


def test_a_prompt_that_claude_code_itself_made_is_not_typed() -> None:
    """As 2.1.197 writes when a session is resumed that was interrupted."""
    told = {"role": "user", "content": "Continue from where you left off."}
    record = {"type": "user", "uuid": "1", "parentUuid": None, "sessionId": "s", "isMeta": True, "message": told}
    (message,) = formats.read(json.dumps(record) + "\n", "claude-code").messages
    assert (message.role, [getattr(part, "name", "") for part in message.parts]) == ("event", ["reminder"])
    assert as_seen(message).parts == [TextPart(text="Continue from where you left off.")]


def test_what_follows_messages_that_a_compaction_preserved_follows_its_summary() -> None:
    conversation = golden("compaction_that_preserves")
    assert forks(conversation) == []
    assert [said(message) for message in conversation.messages][-2:] == ["After the compaction.", "Here."]
    assert len(active_path(conversation)) == len(conversation.messages) == 8


def test_a_forked_session_names_where_it_came_from() -> None:
    conversation = golden("forked_session")
    assert conversation.parent_thread_id == "5e551000-0000-4000-8000-000000000000"
    assert len(active_path(conversation)) == 3


def test_a_sidechain_hangs_on_the_message_that_called_for_it() -> None:
    conversation = golden("sidechain_inside")
    messages = conversation.messages
    started = [message for message in messages if message.sidechain is True]
    assert len(started) == 4
    assert started[0].parent_message_id == messages[1].id
    assert [said(messages[i]) for i in active_path(conversation)][-1] == "Found."
    assert len(active_path(conversation)) == 4


def test_growing_copies_of_an_answer_are_one_answer() -> None:
    answer = golden("cumulative_snapshots").messages[1]
    assert said(answer) == "Hello there."
    assert len(answer.parts) == 2


def test_titles_snapshots_and_notes_are_kept() -> None:
    conversation = golden("titles_notes_snapshots")
    assert conversation.title == "Rename x to y"
    assert conversation.snapshots is not UNSET
    assert [snapshot.update for snapshot in conversation.snapshots] == [False, True]
    assert [message.role for message in conversation.messages] == [
        "user",
        "assistant",
        "tool",
        "event",
        "event",
        "event",
        "event",
    ]


def test_bad_records_are_listed_with_line_and_byte() -> None:
    conversation = golden("torn_and_blank")
    assert [said(message) for message in conversation.messages] == ["hi", "hello", "still here"]
    raw = (GOLDEN / NAME / "torn_and_blank.jsonl").read_bytes()
    found = [(one["line"], one["byte"], one["kind"]) for one in reports(conversation)]
    starts = [
        raw.index(b'{"type":"assistant","message":{"role":"assis\r'),
        raw.index(b'{"type":"user","uuid":"x'),
        raw.index(b"[1,2]"),
    ]
    assert found == [(3, starts[0], "bad"), (6, starts[1], "bad"), (7, starts[2], "bad")]


def test_broken_links_are_mended_and_reported() -> None:
    conversation = golden("orphan_parent")
    assert len(active_path(conversation)) == len(conversation.messages) == 4
    assert [one["line"] for one in reports(conversation)] == [1, 3, 5]
    assert {one["kind"] for one in reports(conversation)} == {"repair"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_new_turns_follow_the_old_bytes(path: Path) -> None:
    raw = path.read_bytes()
    conversation = formats.read(raw, NAME)
    new = [
        Message(role="user", parts=[TextPart(text="One more.")], id="0e000000-0000-4000-8000-000000000001"),
        Message(role="assistant", parts=[TextPart(text="Done."), TextPart(text="Really.")]),
    ]
    longer = formats.write(replace(conversation, messages=[*conversation.messages, *new]), NAME).json
    assert longer.startswith(raw)
    again = formats.read(longer, NAME)
    assert [said(message) for message in again.messages[-2:]] == ["One more.", "Done. Really."]
    before = [native.encode(message) for message in conversation.messages]
    assert [native.encode(message) for message in again.messages[:-2]] == before
    assert active_path(again)[-3:-1] == [len(again.messages) - 3, len(again.messages) - 2] or len(again.messages) == 2


def test_a_message_that_was_changed_is_not_hidden_by_the_old_bytes() -> None:
    conversation = golden("prompt_and_answer")
    changed = replace(conversation.messages[0], parts=[TextPart(text="Who are you?")])
    written = formats.write(replace(conversation, messages=[changed, conversation.messages[1]]), NAME)
    assert "Who are you?" in written.json.decode()
    assert "Wie" not in written.json.decode()


@given(conversation=plain_conversations)
def test_a_plain_conversation_is_written_without_loss(conversation: Conversation) -> None:
    said_by_people = [message for message in conversation.messages if message.role != "system"]
    assert formats.write(replace(conversation, messages=said_by_people), NAME).losses == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_messages_say_all_without_their_file(path: Path) -> None:
    """A branch written to a new file: only what stands outside messages is left behind."""
    conversation = without_evidence(formats.read(path.read_bytes(), NAME), NAME)
    written = formats.write(conversation, NAME)
    again = without_evidence(formats.read(written.json, NAME), NAME)
    assert [native.encode(message) for message in again.messages] == [
        native.encode(one) for one in conversation.messages
    ]
    assert again.title == conversation.title


@settings(max_examples=60)
@given(path=st.sampled_from(FILES), at=st.floats(0, 1), junk=st.binary(max_size=30))
def test_a_damaged_file_is_read_and_given_back(path: Path, at: float, junk: bytes) -> None:
    raw = path.read_bytes()
    cut = int(at * len(raw))
    for damaged in (raw[:cut], raw[:cut] + junk + raw[cut:], raw[:cut] + b"\n" + junk + b"\n" + raw[cut:]):
        try:
            conversation = formats.read(damaged, NAME)
        except Unreadable:
            continue
        assert formats.write(conversation, NAME).json == damaged


def test_tokens_are_those_of_the_last_line_of_every_answer(corpus: Path) -> None:
    for raw in corpus_documents(corpus, NAME):
        last = {
            record["message"].get("id"): record["message"].get("usage", {})
            for record in records(raw)
            if record.get("type") == "assistant"
        }
        expected = sum(usage.get("output_tokens", 0) for usage in last.values())
        usages = [message.usage for message in formats.read(raw, NAME).messages if message.usage is not UNSET]
        assert sum(usage.output_tokens or 0 for usage in usages) == expected


def test_real_sessions_have_no_false_forks_and_nothing_out_of_reach(corpus: Path) -> None:
    for raw in corpus_documents(corpus, NAME):
        conversation = formats.read(raw, NAME)
        assert forks(conversation) == []
        assert sum(parent is None for parent in parents(conversation.messages)) <= 1
        ids = [message.id for message in conversation.messages]
        assert len(set(ids)) == len(ids)


def test_a_longer_state_of_a_session_begins_with_the_messages_of_the_shorter(corpus: Path) -> None:
    folder = corpus / "sessions" / "claude-code"
    early, late = ((folder / f"e-resume-{state}-2.1.37.jsonl").read_bytes() for state in "AB")
    first, second = formats.read(early, NAME).messages, formats.read(late, NAME).messages
    reading = SESSION.open()
    reading.feed(early)
    reading.finish()
    for one, other in zip(first, second, strict=False):
        assert native.encode(one) == native.encode(other) or one.id in reading.unsettled
    assert len(second) > len(first)


def test_the_bytes_can_be_kept_elsewhere(corpus: Path) -> None:
    for raw in corpus_documents(corpus, NAME):
        conversation = formats.read(raw, NAME)
        if (kept := evidence(conversation, NAME)) is not None:
            stripped = without_evidence(conversation, NAME)
            assert evidence(stripped, NAME) is None
            assert native.encode(with_evidence(stripped, NAME, kept)) == native.encode(conversation)


def test_messages_are_given_before_the_end_of_a_long_file() -> None:
    raw = (GOLDEN / NAME / "prompt_and_answer.jsonl").read_bytes()
    filler = "x" * 500_000
    reading = SESSION.open()
    given = reading.feed(raw)
    for n in range(20):
        line = {"type": "progress", "uuid": f"p{n}", "parentUuid": None, "data": {"output": filler}}
        given += reading.feed(json.dumps(line).encode() + b"\n")
    assert [message.role for message in given] == ["user", "assistant"]
    assert reading.finish() == []


def test_an_id_used_for_every_answer_does_not_make_them_one() -> None:
    lines = []
    for n in range(3):
        said_by = {"sessionId": "s", "userType": "external", "timestamp": f"2026-03-01T10:00:0{n}.000Z"}
        parent = f"a{n - 1}" if n else None
        lines.append(
            {"type": "user", "uuid": f"u{n}", "parentUuid": parent, "message": {"role": "user", "content": "?"}}
            | said_by
        )
        body = {"id": "msg", "model": "m", "role": "assistant", "content": [{"type": "text", "text": f"answer {n}"}]}
        lines.append({"type": "assistant", "uuid": f"a{n}", "parentUuid": f"u{n}", "message": body} | said_by)
    conversation = formats.read("\n".join(map(json.dumps, lines)), NAME)
    assert [said(message) for message in conversation.messages if message.role == "assistant"] == [
        "answer 0",
        "answer 1",
        "answer 2",
    ]


@given(names=st.lists(st.one_of(st.uuids().map(str), st.text(max_size=4), st.none())))
def test_very_many_names_are_kept_small_and_found_again(names: list[str | None]) -> None:
    kept, numbers = IdList(recent=3), IdNumbers(recent=3)
    for i, name in enumerate(names):
        kept.append(name)
        if name is not None:
            numbers[name] = i
    assert [kept[i] for i in range(len(names))] == names
    for name in filter(None, names):
        assert numbers.get(name) == len(names) - 1 - names[::-1].index(name)


UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
LINE = {"type", "uuid", "parentUuid", "sessionId", "timestamp", "version", "cwd", "isSidechain", "userType"}
ANSWER = {"model", "id", "type", "role", "content", "stop_reason", "stop_sequence", "usage"}


@given(conversation=conversations)
def test_what_is_written_has_all_that_claude_code_asks_of_a_session(conversation: Conversation) -> None:
    """So that it can be resumed: whole envelopes, UUIDs, and parents that are there."""
    known: set[Any] = {None}
    for record in records(formats.write(conversation, NAME).json):
        assert UUID.fullmatch(record["sessionId"])
        if record["type"] in ("custom-title", "last-prompt"):
            continue
        assert record.keys() >= LINE
        assert UUID.fullmatch(record["uuid"])
        assert re.fullmatch(r"\d+\.\d+\.\d+", record["version"])
        assert type(record["isSidechain"]) is bool
        assert record["parentUuid"] in known
        known.add(record["uuid"])
        if record["type"] == "assistant":
            assert record["message"].keys() >= ANSWER
            assert all(type(block) is dict for block in record["message"]["content"])
            assert record["message"]["usage"]["input_tokens"] >= 0


def line(number: int, kind: str, content: Any, parent: int | None = None, **more: Any) -> dict[str, Any]:
    def key(n: int) -> str:
        return f"00000000-0000-4000-8000-00000000000{n}"

    about = {"sessionId": "5e551000-0000-4000-8000-000000000001", "cwd": "/x", "isSidechain": False}
    up = {"uuid": key(number), "parentUuid": None if parent is None else key(parent)}
    return {"type": kind, **up, **about, "message": {"role": kind, "content": content}, **more}


def test_only_a_sub_agent_hangs_on_the_call_with_its_first_words() -> None:
    """Where the user says the words that a sub-agent was given, a new beginning of theirs is no answer to the call."""
    side = {"isSidechain": True, "agentId": "a"}
    task = {"type": "tool_use", "id": "t", "name": "Task", "input": {"prompt": "Find it."}}
    lines = [
        line(1, "user", "Look."),
        line(2, "assistant", [task], 1),
        line(3, "user", "Find it.", None, **side),
        line(4, "assistant", [{"type": "text", "text": "Which?"}], 3, **side),
        line(5, "user", "Find it.", 4, **side),
        line(6, "user", "Find it."),
        line(7, "user", "Find another.", None, **side),
    ]
    read = formats.read(b"".join(json.dumps(one).encode() + b"\n" for one in lines), NAME)
    assert parents(read.messages) == [None, 0, 1, 2, 3, None, None]


def test_a_result_inside_an_answer_is_the_users_record_after_it() -> None:
    """Claude Code has results in records of the user only; without one it would run the tool again."""
    call = ToolCallPart(tool_call_id="toolu_1", tool_name="Bash", input={"command": "ls"})
    result = ToolResultPart(tool_call_id="toolu_1", tool_name="Bash", output="a.py", is_error=False)
    messages = [
        Message(role="user", parts=[TextPart(text="go")]),
        Message(role="assistant", parts=[TextPart(text="I look."), call, result]),
    ]
    text = formats.write(Conversation(messages=messages), "claude-code").json
    last = [record for record in records(text) if record["type"] in ("user", "assistant")][-1]
    assert (last["type"], last["message"]["role"]) == ("user", "user")
    (block,) = last["message"]["content"]
    assert (block["type"], block["tool_use_id"]) == ("tool_result", "toolu_1")
    assert "a.py" in json.dumps(block["content"])
    found = [part for message in formats.read(text, "claude-code").messages for part in message.parts]
    assert [part.output for part in found if isinstance(part, ToolResultPart)] == ["a.py"]
