"""The UI message stream of the AI SDK: what its chunks become. `tests/judges/test_ai_sdk.py` asks the real clients."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard import formats, streams
from hansard.formats.ai_sdk.ui.stream import AiSdkUiDecoder
from hansard.model import Conversation, Message, exact_json, native
from hansard.model.parts import ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from hansard.streams.accumulator import fold
from hansard.streams.deltas import Delta, End, Failure, MessageDelta, MessageEnd, Other, PartDelta, PartEnd, PartStart
from tests.conftest import GOLDEN

Chunk = dict[str, Any]
START: list[Chunk] = [{"type": "start", "messageId": "m1"}, {"type": "start-step"}]
FINISH: list[Chunk] = [{"type": "finish-step"}, {"type": "finish", "finishReason": "stop"}]


def sse(chunks: list[Any], done: bool = True) -> bytes:
    events = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
    return b"".join([*events, b"data: [DONE]\n\n" if done else b""])


def decode(raw: bytes, name: str = "ai-sdk-ui") -> list[Delta]:
    decoder = streams.decoder(name)
    return decoder.feed(raw) + decoder.finish()


def messages(chunks: list[Any]) -> list[Message]:
    return fold(decode(sse(chunks)))


def shown(deltas: list[Delta]) -> list[Any]:
    """The UIMessages that the format writes of what was read; errors stand in ours as data."""
    written = formats.write(Conversation(messages=fold(deltas)), "ai-sdk-ui").data
    for record in written:
        record["parts"] = [part for part in record["parts"] if part["type"] != "data-error"]
    return written  # type: ignore[no-any-return]


def visible(found: list[Message]) -> Any:
    """Texts, reasoning, calls and results by kind, in order."""
    parts = [part for message in found for part in message.parts]
    texts = [part.text for part in parts if type(part) is TextPart]
    thoughts = [part.text for part in parts if type(part) is ReasoningPart]
    calls = [(part.tool_call_id, part.tool_name) for part in parts if type(part) is ToolCallPart]
    results = sorted(
        (str(part.tool_call_id), repr(part.output), part.is_error is True)
        for part in parts
        if type(part) is ToolResultPart
    )
    return texts, thoughts, calls, results


def without_end(deltas: list[Delta]) -> list[Delta]:
    return [delta for delta in deltas if type(delta) is not MessageEnd]


# -- what the real clients made of recorded streams ----------------------------------------------------------------


def test_the_deltas_alone_show_the_same_as_the_whole_message(corpus: Path) -> None:
    for path in sorted((corpus / "ai-sdk" / "stream").iterdir()):
        if path.suffix in (".sse", ".jsonl"):
            deltas = decode(path.read_bytes(), "ai-sdk-full" if "fullstream" in path.name else "ai-sdk-ui")
            assert visible(fold(without_end(deltas))) == visible(fold(deltas)), path.name


# -- the real client, asked ----------------------------------------------------------------------------------------


def chunk(kind: str, /, **fields: Any) -> st.SearchStrategy[Chunk]:
    return st.fixed_dictionaries({"type": st.just(kind), **fields}).map(
        lambda made: {
            key: value for key, value in made.items() if value is not None or key in ("data", "output", "input")
        }
    )


# -- whole messages as streams -------------------------------------------------------------------------------------


def as_chunks(record: dict[str, Any], pieces: Any) -> list[Chunk] | None:
    """A UIMessage as a server would stream it; None for what no stream says."""
    if record.get("role") != "assistant" or not set(record) <= {"id", "role", "parts", "metadata"}:
        return None
    out: list[Chunk] = [{"type": "start", "messageId": record["id"]}]
    if "metadata" in record:
        if record["metadata"] is None:
            return None
        out[0]["messageMetadata"] = record["metadata"]
    for number, part in enumerate(record["parts"]):
        made = part_chunks(part, f"b{number}", pieces)
        if made is None:
            return None
        out += made
    return [*out, {"type": "finish"}]


def part_chunks(part: Any, name: str, pieces: Any) -> list[Chunk] | None:
    kind = part.get("type") if type(part) is dict else None
    rest = {key: value for key, value in part.items() if key not in ("type", "text", "state")} if kind else {}
    if kind in ("text", "reasoning") and part.get("state") == "done" and ("id" in part) == (kind == "reasoning"):
        name = rest.pop("id", name)
        grown = [{"type": f"{kind}-delta", "id": name, "delta": piece} for piece in pieces(part["text"])]
        return [{"type": f"{kind}-start", "id": name}, *grown, {"type": f"{kind}-end", "id": name, **rest}]
    if kind == "step-start":
        return [{"type": "start-step"}]
    if type(kind) is str and (kind.startswith(("source-", "data-")) or kind in ("file", "custom", "reasoning-file")):
        transient = part.get("transient")
        return [part] if not transient and None not in part.values() and "data" not in part.get("id", "") else None
    if type(kind) is str and kind.startswith("tool-"):
        return tool_chunks(part, kind[5:], pieces)
    return None


def tool_chunks(part: Any, name: str, pieces: Any) -> list[Chunk] | None:
    said = {"toolCallId", "type", "state", "input", "output", "errorText", "callProviderMetadata", "preliminary"}
    if not set(part) <= said or "input" not in part or type(part.get("toolCallId")) is not str:
        return None
    call = {"toolCallId": part["toolCallId"], "toolName": name}
    metadata = {"providerMetadata": part["callProviderMetadata"]} if "callProviderMetadata" in part else {}
    out: list[Chunk] = [{"type": "tool-input-start", **call}]
    for piece in pieces(exact_json.encode(part["input"]).decode()):
        out.append({"type": "tool-input-delta", "toolCallId": call["toolCallId"], "inputTextDelta": piece})
    out.append({"type": "tool-input-available", **call, "input": part["input"], **metadata})
    answer = {key: part[key] for key in ("toolCallId", "output", "errorText", "preliminary") if key in part}
    if part.get("state") == "output-available" and "output" in part:
        return [*out, {"type": "tool-output-available", **answer}]
    if part.get("state") == "output-error" and "errorText" in part:
        return [*out, {"type": "tool-output-error", **answer}]
    return out if part.get("state") == "input-available" else None


def whole_messages() -> list[dict[str, Any]]:
    found = []
    for path in sorted((GOLDEN / "ai-sdk-ui").glob("*.json")):
        document = exact_json.decode(path.read_bytes())
        records = document.get("messages", [document]) if type(document) is dict else document
        found += [record for record in records if type(record) is dict and as_chunks(record, lambda text: [text])]
    return found


@given(data=st.data())
def test_a_streamed_answer_is_read_as_the_whole_one(data: st.DataObject) -> None:
    record = data.draw(st.sampled_from(whole_messages()))

    def pieces(text: str) -> list[str]:
        cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=3)))
        return [text[i:j] for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    chunks = as_chunks(record, pieces)
    assert chunks is not None
    raw = b"".join(b"data: " + exact_json.encode(made) + b"\n\n" for made in chunks)
    read = formats.read(exact_json.encode([record]), "ai-sdk-ui").messages
    streamed = fold(decode(raw))
    assert native.plain(streamed) == native.plain(read)


# -- single things -------------------------------------------------------------------------------------------------


def test_steps_and_tools_become_an_assistant_message_a_tool_message_and_another_assistant_message() -> None:
    call = {"type": "tool-input-available", "toolCallId": "c", "toolName": "w", "input": {"a": 1}}
    output = {"type": "tool-output-available", "toolCallId": "c", "output": 2}
    words = [{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "x"}]
    found = messages([*START, call, output, {"type": "start-step"}, *words, {"type": "text-end", "id": "t"}, *FINISH])
    assert [message.role for message in found] == ["assistant", "tool", "assistant"]
    assert (found[0].id, found[2].finish_reason) == ("m1", "stop")


def test_a_surrogate_pair_in_two_pieces_is_one_character() -> None:
    raw = b"".join(
        b"data: " + text + b"\n\n"
        for text in (
            b'{"type":"text-start","id":"t"}',
            b'{"type":"text-delta","id":"t","delta":"\\ud83d"}',
            b'{"type":"text-delta","id":"t","delta":"\\ude00"}',
            b'{"type":"text-end","id":"t"}',
        )
    )
    assert visible(fold(decode(raw)))[0] == ["\U0001f600"]


def test_a_piece_for_a_text_that_never_began_is_kept_and_named() -> None:
    deltas = decode(sse([*START, {"type": "text-delta", "id": "t", "delta": "kept"}, *FINISH]))
    found = fold(deltas)
    assert visible(found)[0] == ["kept"]
    assert found[-1].state == "partial"
    assert [delta.text for delta in deltas if type(delta) is Failure]


def test_preliminary_results_replace_one_another() -> None:
    call = {"type": "tool-input-available", "toolCallId": "c", "toolName": "w", "input": {}}
    outputs = [
        {"type": "tool-output-available", "toolCallId": "c", "output": i, "preliminary": True} for i in (0, False)
    ]
    last = {"type": "tool-output-available", "toolCallId": "c", "output": 1}
    deltas = decode(sse([*START, call, *outputs, last, *FINISH]))
    told = [delta.part for delta in deltas if type(delta) is PartEnd and type(delta.part) is ToolResultPart]
    assert [(part.output, part.preliminary is True) for part in told] == [(0, True), (False, True), (1, False)]
    (result,) = fold(without_end(deltas))[1].parts
    assert result == fold(deltas)[1].parts[0]


def test_an_approval_changes_the_call() -> None:
    call = {"type": "tool-input-available", "toolCallId": "c", "toolName": "w", "input": {}}
    asks = {"type": "tool-approval-request", "toolCallId": "c", "approvalId": "p"}
    deltas = decode(sse([*START, call, asks, *FINISH]))
    for found in (fold(deltas), fold(without_end(deltas))):
        (part,) = found[0].parts
        assert type(part) is ToolCallPart
        assert part.approval == {"id": "p"}


def test_an_answer_to_an_approval_reaches_the_call_that_asked() -> None:
    """By the approval's id, whatever calls are there: else one tool runs on the yes to another."""
    calls = [{"type": "tool-input-available", "toolCallId": name, "toolName": "w", "input": {}} for name in ("c", "d")]
    asks = [{"type": "tool-approval-request", "toolCallId": n, "approvalId": f"p-{n}"} for n in ("c", "d")]
    said_no = {"type": "tool-approval-response", "approvalId": "p-d", "approved": False, "reason": "too dear"}
    said_yes = {"type": "tool-approval-response", "approvalId": "p-c", "approved": True, "reason": None}
    wanted = [{"id": "p-c", "approved": True}, {"id": "p-d", "approved": False, "reason": "too dear"}]
    deltas = decode(sse([*START, *calls, *asks, said_no, said_yes, *FINISH]))
    for found in (fold(deltas), fold(without_end(deltas))):
        assert [part.approval for part in found[0].parts if type(part) is ToolCallPart] == wanted
    assert not [delta for delta in deltas if type(delta) is Failure]
    assert [part["state"] for part in shown(deltas)[0]["parts"][1:]] == ["approval-responded"] * 2
    lost = decode(sse([*START, *calls, *asks, {**said_no, "approvalId": "c"}, *FINISH]))
    assert [delta.text for delta in lost if type(delta) is Failure] == ["response to unknown approval 'c'"]


@pytest.mark.parametrize(
    ("more", "approval"),
    [
        ({"reason": None, "isAutomatic": False}, {}),  # what stands for nothing
        ({"isAutomatic": True}, {"isAutomatic": True}),
        ({"reason": "why"}, {"requestReason": "why"}),
        ({"approvalDescriptor": {"k": 1}}, {"descriptor": {"k": 1}}),
        ({"inputSchemaInput": None}, {"inputSchemaInput": None}),  # an input may be null
        ({"inputSchemaInput": {"a": 1}, "new": 0}, {"inputSchemaInput": {"a": 1}, "new": 0}),
    ],
)
def test_what_an_approval_was_asked_with_is_kept(more: Chunk, approval: Chunk) -> None:
    call = {"type": "tool-input-available", "toolCallId": "c", "toolName": "w", "input": {}}
    asks = {"type": "tool-approval-request", "toolCallId": "c", "approvalId": "p", **more}
    assert shown(decode(sse([*START, call, asks, *FINISH])))[0]["parts"][1]["approval"] == {"id": "p", **approval}


def test_a_step_that_is_said_again_is_said_once() -> None:
    words = [{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "x"}]
    deltas = decode(sse([*START, *words, {"type": "reset-step"}, *words, {"type": "text-end", "id": "t"}, *FINISH]))
    assert visible(fold(deltas))[0] == visible(fold(without_end(deltas)))[0] == ["x"]


def test_an_abort_is_an_interruption_and_its_reason_is_told() -> None:
    words = [{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "x"}]
    deltas = decode(sse([*START, *words, {"type": "abort", "reason": "stop"}]))
    assert fold(deltas)[-1].state == "interrupted"
    assert Other(format="ai-sdk-ui", value={"type": "abort", "reason": "stop"}) in deltas
    assert deltas[-1] == End(how="done")


def test_transient_data_is_told_and_not_kept() -> None:
    deltas = decode(sse([*START, {"type": "data-x", "data": 1, "transient": True}, *FINISH]))
    assert fold(deltas)[0].parts == []
    assert [delta.value["data"] for delta in deltas if type(delta) is Other and "data" in delta.value] == [1]


def test_metadata_is_merged_deeply() -> None:
    more = [{"type": "message-metadata", "messageMetadata": {"a": {"c": 2}, "b": [1]}}, {"type": "finish"}]
    deltas = decode(sse([{"type": "start", "messageId": "m", "messageMetadata": {"a": {"b": 1}, "b": [0, 0]}}, *more]))
    assert fold(deltas)[0].metadata == {"a": {"b": 1, "c": 2}, "b": [1]}
    assert MessageDelta(metadata={"a": {"b": 1, "c": 2}, "b": [1]}) in deltas


def test_another_id_begins_another_answer_and_the_first_stays() -> None:
    words = [{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "x"}]
    end = {"type": "text-end", "id": "t"}
    found = messages([*START, *words, end, {"type": "start", "messageId": "m2"}, *words, end, {"type": "finish"}])
    assert [message.id for message in found] == ["m1", "m2"]
    assert visible(found)[0] == ["x", "x"]


def test_fields_that_no_version_knows_stay_with_their_part() -> None:
    found = messages([*START, {"type": "file", "url": "https://e.x/a", "mediaType": "a/b", "filename": "f", "own": 1}])
    written = formats.write(Conversation(messages=found), "ai-sdk-ui").data[0]["parts"][1]
    assert written == {"type": "file", "url": "https://e.x/a", "mediaType": "a/b", "filename": "f", "own": 1}


def test_the_quick_way_and_the_long_way_are_one(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raws = [path.read_bytes() for path in sorted((corpus / "ai-sdk" / "stream").glob("*.sse"))]
    quick = [decode(raw) for raw in raws]
    monkeypatch.setattr(AiSdkUiDecoder, "grew", lambda *_: None)
    assert [decode(raw) for raw in raws] == quick


def test_a_stream_cut_at_any_byte_is_partial_and_keeps_what_came(corpus: Path) -> None:
    raw = (corpus / "ai-sdk" / "stream" / "tools.v7.sse").read_bytes()
    for cut in range(1, len(raw)):
        deltas = decode(raw[:cut])
        found = fold(deltas)
        if type(deltas[-1]) is End and deltas[-1].how == "cut" and found:
            assert found[-1].state == "partial"
        grown = "".join(delta.text for delta in deltas if type(delta) is PartDelta)
        said = exact_json.encode(native.plain(found)).decode()
        assert len(said) >= len(grown)
        assert [delta for delta in deltas if type(delta) is PartStart] or cut < 200


def test_a_part_ends_with_the_chunk_that_makes_it_whole() -> None:
    """Whoever shows or runs it need not wait for the next part, or for the end of the answer."""
    decoder = streams.decoder("ai-sdk-ui")
    for chunk, wanted in (
        ({"type": "start"}, []),
        ({"type": "file", "url": "https://a.b/c.png", "mediaType": "image/png"}, ["PartStart", "PartEnd"]),
        ({"type": "source-url", "sourceId": "s", "url": "https://a.b"}, ["PartStart", "PartEnd"]),
        ({"type": "text-start", "id": "1"}, ["PartStart"]),
        ({"type": "text-delta", "id": "1", "delta": "hi"}, ["PartDelta"]),
        ({"type": "text-end", "id": "1"}, ["PartEnd"]),
        ({"type": "tool-input-start", "toolCallId": "c", "toolName": "f"}, ["PartStart"]),
        ({"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": '{"a":1}'}, ["PartDelta"]),
        ({"type": "tool-input-available", "toolCallId": "c", "toolName": "f", "input": {"a": 1}}, ["PartEnd"]),
        ({"type": "tool-output-available", "toolCallId": "c", "output": 5}, ["PartStart", "PartEnd"]),
        ({"type": "data-x", "id": "1", "data": 1}, ["PartStart", "PartEnd"]),
        ({"type": "data-x", "id": "1", "data": 2}, ["PartEnd"]),
    ):
        found = decoder.feed(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        assert [type(delta).__name__ for delta in found if type(delta) in (PartStart, PartDelta, PartEnd)] == wanted
