"""Sage sessions: what a record means, and that a session file is given back byte for byte."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.errors import Unreadable
from hansard.formats.coding_agents.sage import session as sage
from hansard.model import (
    Context,
    Conversation,
    FilePart,
    Message,
    RawPart,
    ReasoningPart,
    TextPart,
    Thinking,
    Todo,
    ToolCallPart,
    ToolResultPart,
    Usage,
    exact_json,
    native,
)
from hansard.model.conversation import Snapshot
from hansard.model.tree import active_path
from tests.conftest import GOLDEN

NAME = "sage"
FILES = {path.name: path.read_bytes() for path in sorted((GOLDEN / NAME).glob("*"))}


def record(uuid: str = "u1", kind: str = "user", content: Any = "hi", **more: Any) -> dict[str, Any]:
    role = more.pop("role", kind)
    message = {"role": role, "content": content, **more.pop("message", {})}
    return {"type": kind, "uuid": uuid, "parentUuid": None, "message": message, **more}


def lines(*records: Any) -> bytes:
    return b"".join(exact_json.encode(one) + b"\n" for one in records)


def first(raw: bytes) -> Message:
    return formats.read(raw, NAME).messages[0]


def marks(raw: bytes) -> list[Any]:
    """The marks of a file; none means that everything in it stood in the usual spelling."""
    conversation = formats.read(raw, NAME)
    nodes: list[Any] = [conversation, *conversation.messages, *(conversation.snapshots or [])]
    return [node.extra[NAME]["$"] for node in nodes if node.extra is not UNSET and "$" in node.extra.get(NAME, {})]


# -- meaning -------------------------------------------------------------------------------------------------------


def test_a_whole_session_is_read_as_what_it_says() -> None:
    conversation = formats.read(FILES["whole_session.jsonl"])
    user, assistant, tool, last = conversation.messages
    assert conversation.id == "session-7"
    assert (user.role, user.parts, user.parent_message_id) == ("user", [TextPart(text="Create a weather page")], None)
    assert user.context == Context(cwd="/home/ada/weather", git_branch="main", platform="linux", user_type="external")
    assert user.thinking == Thinking(level="high", disabled=False, triggers=["ultrathink"])
    assert (user.todos, user.sidechain, user.created_at) == ([], False, "2026-01-05T09:30:01.000Z")
    assert user.extra == {NAME: {"version": "0.1.0"}}
    assert assistant.parent_message_id == user.id
    assert assistant.usage == Usage(input_tokens=1500, output_tokens=20, cache_read_tokens=500, cache_write_tokens=0)
    assert assistant.todos == [Todo(content="Write the page", status="in_progress", active_form="Writing the page")]
    assert assistant.parts == [
        TextPart(text="I'll write it."),
        ToolCallPart(tool_call_id="call_1", tool_name="write", input={"path": "index.html", "text": "<h1>Sun</h1>"}),
    ]
    assert (tool.role, tool.parent_message_id) == ("tool", assistant.id)
    assert tool.parts == [ToolResultPart(tool_call_id="call_1", tool_name="write", output="written", is_error=False)]
    assert conversation.snapshots == [
        Snapshot(
            message_id=assistant.id,
            created_at="2026-01-05T09:30:02.500Z",
            update=False,
            files={"index.html": {"originalContent": None, "contentHash": "abc", "size": 0, "state": "created"}},
            backups={"style.css": {"backupPath": ".sage/backups/style.css.backup", "originalHash": "def"}},
        )
    ]
    assert last.parts == [TextPart(text="Done.")]


CONTENTS = [
    ("hi", [TextPart(text="hi")]),
    ("", [TextPart(text="")]),
    ([], []),
    ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], [TextPart(text="a"), TextPart(text="b")]),
    ([{"type": "thinking", "thinking": "hm", "signature": "s"}], [ReasoningPart(text="hm", signature="s")]),
    ([{"type": "redacted_thinking", "data": "x"}], [ReasoningPart(text="", encrypted="x")]),
    (
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}],
        [FilePart(media_type="image/png", data="aGk=")],
    ),
    ([{"type": "odd"}], [RawPart(format=NAME, value={"type": "odd"})]),
    ([5], [RawPart(format=NAME, value=5)]),
]


@pytest.mark.parametrize(("content", "parts"), CONTENTS)
def test_content_is_a_string_or_a_list_of_blocks(content: Any, parts: list[Any]) -> None:
    raw = lines(record(content=content))
    assert first(raw).parts == parts
    assert marks(raw) == []


RESULTS = [
    ({"content": "ok", "success": True, "error": None}, "ok", False),
    ({"content": "", "success": False, "error": "boom"}, "boom", True),
    ({"content": "half", "success": False, "error": "boom"}, "half", True),
    ({"content": {"n": 1}, "success": True, "error": None}, {"n": 1}, False),
]


@pytest.mark.parametrize(("fields", "output", "failed"), RESULTS)
def test_a_failure_says_its_words(fields: dict[str, Any], output: Any, failed: bool) -> None:
    raw = lines(
        {"type": "tool_result", "uuid": "u1", "parentUuid": None, "toolResults": [{"toolCallId": "c", **fields}]}
    )
    part = first(raw).parts[0]
    assert isinstance(part, ToolResultPart)
    assert (part.output, part.is_error) == (output, failed)
    assert marks(raw) == []


def test_results_beside_and_inside_the_message_are_the_same() -> None:
    result = {"toolCallId": "c", "toolName": "bash", "content": "ok", "success": True}
    outer = lines({"type": "tool_result", "uuid": "u1", "parentUuid": None, "toolResults": [{**result, "error": None}]})
    inner = lines(record(kind="tool_result", role="tool", content="", message={"toolResults": [result]}))
    assert first(outer).parts == first(inner).parts
    assert marks(outer) == []
    assert marks(inner) == [{"results": "message"}]


def test_the_older_messages_are_read_and_written_in_their_shape() -> None:
    raw = FILES["older_messages.jsonl"]
    conversation = formats.read(raw)
    roles = [message.role for message in conversation.messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    call, result = conversation.messages[2].parts[0], conversation.messages[3].parts[0]
    assert isinstance(call, ToolCallPart)
    assert isinstance(result, ToolResultPart)
    assert (call.input, result.output, result.tool_name) == ({"command": "ls"}, "a.txt", "bash")
    assert conversation.messages[4].metadata == {"step": 2}
    assert all("line" not in mark for mark in marks(raw))


def test_sidechains_are_branches_and_the_active_path_leaves_them_out() -> None:
    conversation = formats.read(FILES["sidechains.jsonl"])
    assert active_path(conversation) == [0, 1, 4]
    assert b"Another way" not in formats.write(conversation, "anthropic").json


def test_a_record_of_an_unknown_type_is_an_event_at_its_place_in_the_tree() -> None:
    raw = lines(
        record("u1"),
        {"type": "checkpoint", "uuid": "u2", "parentUuid": "u1", "n": 1},
        record("u3", parentUuid="u2"),
    )
    conversation = formats.read(raw)
    event = conversation.messages[1]
    assert (event.role, event.id, event.parent_message_id) == ("event", "u2", "u1")
    assert event.parts == [RawPart(format=NAME, value={"type": "checkpoint", "n": 1})]
    assert active_path(conversation) == [0, 1, 2]
    assert marks(raw) == []


def test_the_usual_spelling_keeps_no_evidence() -> None:
    for name in ("whole_session.jsonl", "sidechains.jsonl", "snapshots_alone.jsonl", "older_messages.jsonl"):
        assert all("line" not in mark for mark in marks(FILES[name])), name


# -- evidence ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_found_and_given_back_byte_for_byte(name: str) -> None:
    conversation = formats.read(FILES[name])
    assert formats.write(conversation, NAME).json == FILES[name]
    stored = formats.write(conversation, "hansard").json
    assert formats.write(formats.read(stored, "hansard"), NAME).json == FILES[name]


ODD = [
    b"",
    b"\n",
    b"\n\n \r\n",
    b"[]",
    b" [ ] \n",
    lines(record())[:-1],
    lines(record()).replace(b"\n", b"\r\n"),
    b"\xef\xbb\xbf" + lines(record()),
    lines(record()).replace(b":", b" : "),
    lines(record()) + b"\n\nnot json\n" + lines(record()),
    lines(record())[:-1] + lines(record("u2")),
    lines(record())[:-1] + b"   " + lines(record("u2")) + b"x",
    lines(record())[:30] + lines(record("u2")),
    lines(record()) + b"\xff\xfe\x80\xed\xa0\x80",
    lines(record(content="\ud800")),
    lines(record()).replace(b"hi", b"\xed\xa0\x80"),
    lines(record()).replace(b'"hi"', b'"h\\u0069"'),
    lines(record()).replace(b'"type"', b'"type":"user","type"') + lines(record()),
    lines(record()) + lines(record()).replace(b'"hi"', b"NaN"),
    b"[" + lines(record())[:-1] + b" , 1,\n" + lines(record("u2")) + b"] ",
    lines(record()) + exact_json.pretty(record("u2")) + b"\n" + lines(record("u3")),
    exact_json.pretty(record()) + b"\n\n" + exact_json.pretty(record("u2"))[:40] + b"\n" + lines(record("u3")),
]


@pytest.mark.parametrize("raw", ODD)
def test_odd_files_are_given_back_byte_for_byte(raw: bytes) -> None:
    conversation = formats.read(raw, NAME)
    written = formats.write(conversation, NAME)
    assert written.json == raw
    assert written.losses == []


def test_records_glued_on_one_line_are_both_read() -> None:
    conversation = formats.read(FILES["odd_lines.jsonl"])
    said = [message.parts[0].text for message in conversation.messages if type(message.parts[0]) is TextPart]
    assert said == ["Create a weather page", "I'll write it.", "Done.", "again"]


KEYS = ["type", "uuid", "parentUuid", "timestamp", "sessionId", "message", "toolResults", "todos", "role", "content"]
WORDS = ["user", "assistant", "system", "tool_result", "file_history_snapshot", "tool", "text", "u1", "s", ""]
values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.sampled_from(WORDS), st.text(max_size=3)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from([*KEYS, "toolCalls", "id", "name", "arguments", "snapshot", "messageId", "usage", "$"]),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=12,
)
records = st.builds(
    lambda kind, rest: {**rest, "type": kind} if kind else rest,
    st.sampled_from([*WORDS[:5], "odd", ""]),
    st.dictionaries(st.sampled_from([*KEYS, "toolCalls", "messageId", "snapshot", "context", "metadata"]), values),
)
texts = st.one_of(
    records.map(exact_json.encode),
    records.map(exact_json.pretty),
    records.map(lambda value: exact_json.encode(value).replace(b",", b" , ")),
    st.tuples(records.map(exact_json.encode), st.integers(0, 60)).map(lambda cut: cut[0][: cut[1]]),
    values.map(exact_json.encode),
    st.lists(records, max_size=3).map(exact_json.encode),
    st.sampled_from([b"", b"{", b"}", b"[", b"]", b"\xff", b"\xef\xbb\xbf", b'"', b"null"]),
    st.binary(max_size=6),
)
documents = st.lists(st.tuples(texts, st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"", b" ", b"\n\n"])), max_size=6)


@given(documents.map(lambda pieces: b"".join(text + end for text, end in pieces)))
@example(b'{"type":"user","uuid":"u","message":{"role":"user","content":"x"}}\n{"type":"user"')
def test_whatever_is_read_is_written_back_byte_for_byte(raw: bytes) -> None:
    try:
        conversation = formats.read(raw, NAME)
    except Unreadable:
        assume(False)
    written = formats.write(conversation, NAME)
    assert written.json == raw
    assert written.losses == []
    stored = native.decode(Conversation, native.encode(conversation))
    assert formats.write(stored, NAME).json == raw


@given(st.one_of(st.binary(), documents.map(lambda pieces: b"".join(text + end for text, end in pieces)), values))
def test_telling_the_format_never_fails(document: Any) -> None:
    assert formats.get(NAME).sniff(document) in (0, 1, 2, 3)


# -- edits ---------------------------------------------------------------------------------------------------------


def test_an_edited_message_is_written_anew_and_the_others_as_they_stood() -> None:
    raw = b'{"type": "user", "uuid": "u1", "message": {"role": "user", "content": "a"}}\n' * 2
    conversation = formats.read(raw, NAME)
    edited = replace(conversation.messages[1], parts=[TextPart(text="b")])
    written = formats.write(replace(conversation, messages=[conversation.messages[0], edited]), NAME)
    kept, new = written.json.splitlines()
    assert kept + b"\n" == raw[: len(raw) // 2]
    assert exact_json.decode(new)["message"]["content"] == "b"
    assert first(new).parts == [TextPart(text="b")]


def test_edits_of_snapshots_and_of_the_session_are_not_lost() -> None:
    conversation = formats.read(FILES["one_record_over_lines.json"])
    moved = formats.write(replace(conversation, id="session-8"), NAME)
    assert formats.read(moved.json).id == "session-8"
    taken = formats.read(exact_json.pretty({"type": "file_history_snapshot", "messageId": "a"}), NAME)
    assert isinstance(taken.snapshots, list)
    written = formats.write(replace(taken, snapshots=[replace(taken.snapshots[0], message_id="b")]), NAME)
    assert exact_json.decode(written.json)["messageId"] == "b"


def test_messages_added_to_an_array_stay_in_it() -> None:
    conversation = formats.read(FILES["array.json"])
    more = Message(role="user", parts=[TextPart(text="more")], id="u9")
    written = formats.write(replace(conversation, messages=[*conversation.messages, more]), NAME)
    assert [one["uuid"] for one in exact_json.decode(written.json)][-1] == "u9"
    assert written.json.startswith(FILES["array.json"].rstrip(b"\n]"))


def test_what_is_left_when_all_messages_go_is_still_a_session() -> None:
    conversation = formats.read(FILES["odd_lines.jsonl"])
    written = formats.write(replace(conversation, messages=[], snapshots=UNSET), NAME)
    assert formats.read(written.json, NAME).messages == []


# -- other formats -------------------------------------------------------------------------------------------------


def test_a_foreign_conversation_is_written_as_records_in_the_order_of_the_seed() -> None:
    request = {
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Looking."},
                    {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": 1}},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x", "is_error": True}],
            },
        ]
    }
    written = formats.convert(request, NAME, "anthropic")
    assert written.losses == []
    user, assistant, tool = map(exact_json.decode, written.json.splitlines())
    assert list(assistant) == ["type", "uuid", "parentUuid", "message"]
    assert (user["parentUuid"], assistant["parentUuid"]) == (None, user["uuid"])
    assert assistant["message"]["content"] == "Looking."
    assert tool["type"] == "tool_result"
    assert tool["toolResults"] == [
        {"toolCallId": "t1", "toolName": "look", "content": "", "success": False, "error": "x"}
    ]
    assert len({user["uuid"], assistant["uuid"], tool["uuid"]}) == 3


def test_every_detail_of_a_coding_agent_is_carried() -> None:
    message = Message(
        role="assistant",
        parts=[ReasoningPart(text="hm"), TextPart(text="a"), TextPart(text="b")],
        id="m1",
        parent_message_id=None,
        created_at="2026-01-02T03:04:05Z",
        context=Context(cwd="/x"),
        thinking=Thinking(level="low"),
        todos=[Todo(content="t", status="pending")],
        usage=Usage(input_tokens=1),
        sidechain=True,
        metadata={"a": 1},
    )
    snapshots = [Snapshot(message_id="m1", files={"a": {}}), Snapshot(message_id="gone")]
    conversation = Conversation(messages=[message], id="s", snapshots=snapshots)
    assert formats.write(conversation, NAME).losses == []


def test_events_and_developers_keep_their_roles() -> None:
    messages = [Message(role=role, parts=[TextPart(text="x")]) for role in ("developer", "event", "system", "tool")]
    written = formats.write(Conversation(messages=messages), NAME)
    assert written.losses == []
    kinds = [exact_json.decode(line)["type"] for line in written.json.splitlines()]
    assert kinds == ["system", "system", "system", "tool_result"]


# -- telling formats apart -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw", [b"hello", b"17", b"null", b'"x"', b"{}", b'{"messages":[]}', b"[1,2]", b"{} {}", bytes(range(256))]
)
def test_what_holds_no_record_is_refused(raw: bytes) -> None:
    with pytest.raises(Unreadable):
        formats.read(raw, NAME)


def test_other_lines_are_not_taken_for_sage() -> None:
    sniff = formats.get(NAME).sniff
    claude = {**record(sessionId="s"), "cwd": "/x", "userType": "external"}
    message = {"role": "user", "parts": [{"type": "text", "text": "hi"}], "metadata": {"schemaVersion": 1}}
    assert sniff(lines(claude, claude)) == sniff(claude) == 0
    assert sniff(lines({"title": "x"}, message)) == sniff(message) == 0
    assert sniff({"role": "user", "content": "hi"}) == sniff([{"role": "user", "content": "hi"}]) == 0
    assert formats.get("hansard").sniff(FILES["whole_session.jsonl"]) == 0


def test_reading_is_pure() -> None:
    assert sage.read(FILES["odd_lines.jsonl"]) == sage.read(FILES["odd_lines.jsonl"])


def test_a_message_with_an_id_follows_one_without() -> None:
    said = [TextPart(text="a")]
    conversation = Conversation(messages=[Message(role="user", parts=said), Message(role="user", parts=said, id="m2")])
    written = formats.write(conversation, "sage")
    assert written.losses == []
    assert active_path(formats.read(written.json, "sage")) == [0, 1]
