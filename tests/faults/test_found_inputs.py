"""Inputs that once broke something, the smallest that did."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import zstandard

import hansard
from hansard import formats
from hansard.errors import HansardError
from hansard.formats.coding_agents.codex.edits import apply_diff
from hansard.formats.coding_agents.scanner import Bad, Record, Scanner, Search
from hansard.formats.coding_agents.session_file import without_evidence
from hansard.formats.coding_agents.zstd import Decompressor
from hansard.model import Conversation, Message, ReasoningPart, TextPart, ToolCallPart, exact_json
from hansard.model.exact_json import decode_record
from hansard.model.times import epoch_seconds
from hansard.sessions.discovery import Session
from hansard.sessions.exporter import session_files
from hansard.sessions.importer import import_session
from hansard.streams import json_array
from hansard.streams.deltas import Failure
from hansard.streams.json_array import ArrayReader
from hansard.streams.jsonl import LineReader
from hansard.streams.sse import SSEReader
from hansard.workspace.imported_edits import path_in_root
from hansard.workspace.rooted_fs import Refused, relative
from tests.faults.fuzz.http import asking
from tests.laws.test_streams import decode


def export(**node: Any) -> dict[str, Any]:
    said = {"id": "u", "author": {"role": "user"}, "content": {"content_type": "text", "parts": ["hi"]}}
    told = {"id": "u", "message": said, "parent": None, "children": [], **node}
    return {"mapping": {"u": {key: value for key, value in told.items() if value is not ...}}, "current_node": "u"}


@pytest.mark.parametrize("odd", [None, [], {}, 7, {"a": []}, ["u"], "x", ...])
@pytest.mark.parametrize("key", ["parent", "id", "children"])
def test_a_node_of_a_chatgpt_export_may_say_anything_or_nothing(key: str, odd: Any) -> None:
    raw = exact_json.encode(export(**{key: odd}))
    written = formats.write(formats.read(raw, "chatgpt-export"), "chatgpt-export")
    assert written.losses == []
    assert exact_json.same(exact_json.decode(written.json), exact_json.decode(raw))


@pytest.mark.parametrize("torn", [b'{"a"{}' * 300_000, b'{"a":[' * 300_000, b'{"a":{}{"a":1}' * 100_000])
def test_a_torn_line_is_not_looked_at_for_ever(torn: bytes) -> None:
    looked = 0

    def decode(raw: bytes) -> Any:
        nonlocal looked
        looked += len(raw)
        assert looked < 150_000_000  # here, because what is looked at for ever does not end
        return decode_record(raw)

    scanner = Scanner(decode)
    assert [*scanner.feed(torn), *scanner.finish()]


@pytest.mark.parametrize("text", ['["' + "a" * 1_000_000 + '"', '"' + "a" * 1_000_000 + '"', "[" * 100_000])
def test_looking_for_a_value_costs_what_was_looked_at(text: str) -> None:
    search = Search(text)
    before = search.budget
    search.value_at(0)
    assert search.budget <= before - 10_000
    search.budget = -1
    assert search.value_at(0) is None


def test_the_records_on_a_torn_line_stand_where_they_say() -> None:
    line = '{"ü": 1}{"torn": {"é": 2} {"b": 3}'.encode()
    scanner = Scanner()
    found = [*scanner.feed(line), *scanner.finish()]
    assert [type(one) for one in found] == [Record, Bad, Record, Record]
    assert [line[one.byte : one.byte + 4] for one in found] == ['{"ü'.encode(), b'{"to', '{"é'.encode(), b'{"b"']


def test_few_compressed_bytes_do_not_become_many() -> None:
    bomb = zstandard.compress(b"\n" * (400 << 20))
    inflater = Decompressor()
    assert sum(map(len, inflater.feed(bomb))) < 20 << 20
    assert "more than 100 times as many" in inflater.problem
    with pytest.raises(HansardError):
        formats.read(bomb, "codex")


def test_a_message_with_an_odd_id_that_changed_is_kept_beside_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with hansard.open(":memory:") as ledger:
        for word in ("one", "two and more"):
            said = {"role": "user", "content": [{"type": "text", "text": word}]}
            records = (
                {"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-18T10:00:00.000Z", "cwd": "/w"},
                {
                    "type": "message",
                    "id": "m\0",
                    "parentId": None,
                    "timestamp": "2026-11-18T10:00:01Z",
                    "message": said,
                },
            )
            path.write_bytes(b"".join(exact_json.encode(record) + b"\n" for record in records))
            done = import_session(ledger, Session(path, "pi"))
        assert [node.id[:3] for node in ledger.tree(done.thread_id)] == ["m\0", "m\0~"]
        assert list(ledger.verify()) == []


def test_a_ledger_with_an_imported_sage_session_has_no_problems() -> None:
    path = Path(__file__).parent.parent / "golden" / "sage" / "whole_session.jsonl"
    with hansard.open(":memory:") as ledger:
        import_session(ledger, Session(path, "sage"))
        assert list(ledger.verify()) == []


def test_half_a_pair_where_an_object_belongs_is_set_aside() -> None:
    raw = b'{"messages":[{"role":"user","parts":[],"metadata":"\\udc00"}]}'
    written = formats.write(formats.read(raw, "hansard"), "hansard")
    assert written.losses == []
    assert exact_json.same(exact_json.decode(written.json), exact_json.decode(raw))


def test_one_id_behind_many_words_is_kept_behind_each_of_them() -> None:
    with hansard.open(":memory:") as ledger:
        for word in ("one", "two", "three", "four"):
            before = Message(id=word, role="user", parts=[TextPart(text=word)])
            same = Message(id="same\0", role="assistant", parts=[TextPart(text="yes")])
            synced = ledger.sync("t", Conversation(messages=[before, same]))
            assert synced.added == 2
        assert ledger.sync("t", Conversation(messages=[before, same])).added == 0
        assert len(ledger.tree("t")) == 8
        assert list(ledger.verify()) == []


@pytest.mark.parametrize("first", [None, "first"])
def test_a_session_says_one_thing_behind_many_others(tmp_path: Path, first: str | None) -> None:
    path = tmp_path / "s.jsonl"
    head = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-18T10:00:00Z", "cwd": "/w"}
    with hansard.open(":memory:") as ledger:
        for word in ("one", "two", "three", "four"):
            records = [head]
            for key, parent, text in ((first or word, None, word), ("same", first or word, "yes")):
                said = {"role": "user", "content": [{"type": "text", "text": text}]}
                record = {"type": "message", "id": key, "parentId": parent, "timestamp": "2026-11-18T10:00:01Z"}
                records.append({**record, "message": said})
            path.write_bytes(b"".join(exact_json.encode(one) + b"\n" for one in records))
            done = import_session(ledger, Session(path, "pi"))
        tree = ledger.tree(done.thread_id)
        roots = [node.id for node in tree if node.parent_id is None]
        assert len(roots) == len(set(roots)) == 4
        assert sorted(node.parent_id for node in tree if node.parent_id) == sorted(roots)
        assert first or sorted(roots) == ["four", "one", "three", "two"]
        assert list(ledger.verify()) == []


def test_a_result_of_gemini_cli_without_words_may_have_parts() -> None:
    response = {"functionResponse": {"id": "c", "name": "f", "response": None}}
    call = {"id": "c", "name": "f", "args": {}, "status": "success", "result": [response, {"text": "more"}]}
    said = {"id": "m", "timestamp": "2026-11-18T10:00:00Z", "type": "gemini", "content": "", "toolCalls": [call]}
    raw = exact_json.encode({"sessionId": "s", "startTime": "", "lastUpdated": "", "messages": [said]})
    assert formats.write(formats.read(raw, "gemini-cli"), "gemini-cli").json == raw


def test_an_array_in_pieces_may_be_nested_deeply() -> None:
    reader = ArrayReader()
    assert reader.feed(b'[{},\n{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"},\n{}]")
    reader.finish()


def test_a_query_that_is_no_text_is_refused() -> None:
    assert asking()(b"GET /api/threads?limit=\xb5\nhost: 127.0.0.1\n\n", random.Random(1)) is False


def test_a_kept_answer_without_words_is_written_for_codex() -> None:
    answer = {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "hologram"}, {"type": "refusal"}]}
    said = formats.read({"model": "gpt-9", "input": [{"role": "user", "content": "hi"}, answer]}, "openai-responses")
    assert b"hologram" in formats.write(said, "codex").json


def test_a_patch_may_name_a_line_of_ten_thousand_digits() -> None:
    assert apply_diff(b"a\n", f"@@ -{'1' * 10_000} +1 @@\n-a\n+b\n") == b"a\n"


@pytest.mark.parametrize("digits", ["²", "--1", "٣", "9" * 5000])
def test_numbers_that_are_texts_are_odd_at_times(digits: str) -> None:
    def spelled(values: dict[str, Any]) -> list[Any]:
        return [{"key": key, "value": value} for key, value in values.items()]

    words = '[{%s"role":"%s","parts":[{"type":"text","content":"tea"}]}]'
    told = {
        "gen_ai.usage.input_tokens": {"intValue": digits},
        "gen_ai.input.messages": {"stringValue": words % ("", "user")},
        "gen_ai.output.messages": {"stringValue": words % ('"finish_reason":"stop",', "assistant")},
    }
    times = {"startTimeUnixNano": digits, "endTimeUnixNano": digits}
    said = {"role": {"stringValue": "user"}, "parts": {"arrayValue": {}}, "odd": {"intValue": digits}}
    other = {"gen_ai.input.messages": {"arrayValue": {"values": [{"kvlistValue": {"values": spelled(said)}}]}}}
    spans = [{"name": "chat", **times, "attributes": spelled(values)} for values in (told, other)]
    raw = exact_json.encode({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
    assert formats.write(formats.read(raw, "otel-genai"), "otel-genai").json == raw
    at = f"2026-11-18T10:00:00.{digits}Z"
    late = Message(role="assistant", parts=[TextPart(text="tea")], finish_reason="stop", created_at=at)
    written = formats.write(Conversation(messages=[late]), "otel-genai")
    assert [loss.path for loss in written.losses] == ["$.messages[0].createdAt"]
    assert epoch_seconds(at) is None or digits.isascii()
    assert list(SSEReader().feed(f"retry: {digits}\ndata: x\n\n".encode()))
    for cursor in (digits, f"1.{digits}"):
        with hansard.open(":memory:") as ledger, pytest.raises(HansardError):
            ledger.threads(after=cursor)


def test_a_number_with_an_exponent_does_not_become_an_integer() -> None:
    said = {"role": "user", "parts": [{"type": "data-n", "data": 0}]}
    raw = exact_json.encode([said]).replace(b":0}", b":1.2345678901201234567e19}")
    written = formats.write(formats.read(raw, "ai-sdk-ui"), "ai-sdk-ui").json
    assert exact_json.same(exact_json.decode(written), exact_json.decode(raw))


@pytest.mark.parametrize("name", ["sharegpt", "openai-finetune"])
@pytest.mark.parametrize("edge", [b"\xef\xbb", b"\xbf", b"\xef\xbf\xbf"])
def test_a_part_of_a_byte_order_mark_is_no_blank(name: str, edge: bytes) -> None:
    for raw in (edge + b'{"messages":[],"conversations":[]}', b'[{"messages":[],"conversations":[]}]' + edge):
        with pytest.raises(HansardError):
            formats.read(raw, name)


def test_no_conversations_lose_nothing() -> None:
    for name in formats.names():
        if formats.get(name).split is not None:
            assert formats.write_all([], name).losses == []


def test_items_of_an_array_that_end_in_odd_ways_take_the_time_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    whole = json_array._is_value

    def counted(data: bytes) -> bool:
        nonlocal looked
        looked += len(data)
        assert looked < 1_000_000
        return whole(data)

    monkeypatch.setattr(json_array, "_is_value", counted)
    odd = b"[" + b'{"type":"finish-step"},\n,\n' * 20_000 + b'{"a":1},\n{}]'
    assert len(ArrayReader().feed(odd)) == 20_002


def test_what_is_no_event_keeps_its_place_in_any_cut() -> None:
    begin = b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
    said = b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}\n\n'
    raw = begin + said * 16 + b"da\n\nta: x\n\n" + said
    whole = decode("anthropic", [raw])
    assert [type(delta) for delta in whole].index(Failure) == 17
    assert all(decode("anthropic", [raw[:at], raw[at:]]) == whole for at in range(len(raw)))


def test_true_is_not_one() -> None:
    path = ["langchain", "schema", "messages", "AIMessage"]
    said = {"lc": 1, "type": "constructor", "id": path, "kwargs": {"content": "hi", "type": "ai"}}
    raw = exact_json.encode([said, {**said, "lc": True}])
    assert formats.write(formats.read(raw, "langchain"), "langchain").json == raw
    answer = {"role": "assistant", "content": "hi", "refusal": None}
    raw = exact_json.encode(
        {"choices": [{"index": False, "logprobs": None, "message": answer, "finish_reason": "stop"}]}
    )
    written = formats.write(formats.read(raw, "openai-chat"), "openai-chat").json
    assert exact_json.same(exact_json.decode(written), exact_json.decode(raw))
    start = {"type": "session.start", "id": "e", "parentId": None, "data": {"sessionId": "s", "version": True}}
    told = without_evidence(formats.read(exact_json.encode(start), "copilot-cli"), "copilot-cli")
    assert b'"version":true' in formats.write(told, "copilot-cli").json


def test_a_string_that_does_not_end_is_looked_at_once() -> None:
    reader = LineReader()
    broken = b'{"a":"}' + b'\\"}' * 30_000 + b"x"
    assert reader.feed(broken + b"\n") == []  # what is in the string opens and closes nothing
    assert [event.data for event in reader.feed(b'{"b":1}\n')] == [broken, b'{"b":1}']


@pytest.mark.parametrize("without", [{}, {"timestamp": None}])
def test_an_answer_of_gemini_cli_without_a_time_is_read(without: dict[str, Any]) -> None:
    said = {"thoughts": [{"subject": "Tea", "description": "Which?"}], "toolCalls": [{"name": "brew", "args": {}}]}
    answer = {"id": "g", "type": "gemini", "content": "", **said, **without}
    raw = exact_json.encode({"sessionId": "s", "messages": [answer]})
    assert [type(part) for part in formats.read(raw, "gemini-cli").messages[0].parts] == [ReasoningPart, ToolCallPart]
    assert formats.write(formats.read(raw, "gemini-cli"), "gemini-cli").json == raw


@pytest.mark.parametrize(
    "counts", [{"request_tokens": 3, "output_tokens": 4}, {"input_tokens": 3, "response_tokens": 4}]
)
def test_old_and_new_names_of_counts_may_stand_together(counts: dict[str, int]) -> None:
    answer = {"kind": "response", "parts": [{"part_kind": "text", "content": "x"}], "usage": {"requests": 1, **counts}}
    raw = exact_json.encode([answer])
    written = formats.write(formats.read(raw, "pydantic-ai"), "pydantic-ai").json
    assert exact_json.same(exact_json.decode(written), exact_json.decode(raw))


@pytest.mark.parametrize("ran", [True, 1, 1.0, "true"])
def test_one_is_not_true(ran: Any) -> None:
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "brew", "input": {}, "providerExecuted": True}
    asked = {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "c"}
    said = {"type": "tool-approval-response", "approvalId": "a", "approved": True, "providerExecuted": ran}
    raw = exact_json.encode([{"role": "assistant", "content": [call, asked]}, {"role": "tool", "content": [said]}])
    written = formats.write(formats.read(raw, "ai-sdk-model"), "ai-sdk-model").json
    assert exact_json.same(exact_json.decode(written), exact_json.decode(raw))


def test_a_file_that_turns_out_to_be_of_another_agent_comes_back_whole(tmp_path: Path) -> None:
    path = tmp_path / "messages.jsonl"
    first = b'{"type":"user","uuid":"1","sessionId":"s","message":{"role":"user","content":"hi"}}\n'
    path.write_bytes(first)
    with hansard.open(":memory:") as ledger:
        import_session(ledger, Session(path, "sage"))
        path.write_bytes(first + first.replace(b'"1"', b'"2"'))
        done = import_session(ledger, Session(path, "claude-code"))
        assert ledger.verify() == []
        assert session_files(ledger, done.thread_id, "claude-code") == {path.name: path.read_bytes()}


@pytest.mark.parametrize("name", ["/p/half\ud83d", "half\ud83d", "/elsewhere/\udfff"])
def test_half_a_surrogate_pair_is_no_name_of_a_file(name: str) -> None:
    with pytest.raises(Refused):
        relative("/p", name)
    assert path_in_root("/p", "/p", name) is None
