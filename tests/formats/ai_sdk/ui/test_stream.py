"""The AI SDK's UI message stream: our UIMessage is the one that the real clients make of the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard import formats, streams
from hansard.formats.ai_sdk.ui.stream import AiSdkUiDecoder
from hansard.model import Conversation, Message, exact_json, native
from hansard.model.parts import ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from hansard.streams.accumulator import fold
from hansard.streams.deltas import Delta, End, Failure, MessageDelta, MessageEnd, Other, PartDelta, PartEnd, PartStart
from tests.conftest import GOLDEN
from tests.node_judge import Judge

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

# (file, version): why ours is not theirs, of those streams that the version takes
DIFFERENT = {
    ("no-final-blank", "v5"): "an event that the stream ends in is not lost here",
    ("no-final-blank", "v6"): "an event that the stream ends in is not lost here",
    ("no-final-blank", "v7"): "an event that the stream ends in is not lost here",
    ("text-encoding-v6", "v5"): "version 5 has no encodings, titles and metadata of tools",
    ("tool-rename", "v5"): "version 5 does not rename a tool",
}


def test_the_message_is_the_one_that_each_version_read(corpus: Path) -> None:
    found = 0
    for path in [*(corpus / "ai-sdk" / "read").iterdir(), *(corpus / "ai-sdk" / "framing").iterdir()]:
        case = json.loads(path.read_text())
        deltas = decode(case["sse"].encode())
        for version in ("v5", "v6", "v7"):
            wanted = case[version]["message"]
            if case[version]["ok"] and (path.stem, version) not in DIFFERENT:
                if wanted["id"] == "":  # a message without an id gets one when it is written
                    wanted["id"] = "hansard-1"
                assert shown(deltas) == [wanted], (path.name, version)
                found += 1
            elif not case[version]["ok"] and wanted is not None:
                ours = shown(deltas)[0]["parts"]
                assert len(ours) >= len(wanted["parts"]), (path.name, version, "what came before the error stays")
    assert found >= 50


def test_recorded_runs_give_the_message_that_the_server_stored(corpus: Path) -> None:
    found = 0
    for path in sorted((corpus / "ai-sdk" / "stream").glob("*.result.json")):
        wanted = json.loads(path.read_text())["onFinish"]["responseMessage"]
        for suffix in (".uichunks.jsonl", ".sse"):
            raw = path.with_name(path.name.replace(".result.json", suffix))
            if raw.exists():
                assert shown(decode(raw.read_bytes())) == [wanted], raw.name
                found += 1
    assert found > 30


def test_recorded_answers_of_providers_give_the_message_that_the_client_made(corpus: Path) -> None:
    found = 0
    for path in sorted((corpus / "ai-sdk" / "provider").iterdir()):
        case = json.loads(path.read_text())
        if case.get("uiMessage"):
            ours = shown(decode(sse(case["uiChunks"])))
            if case["uiMessage"]["parts"]:  # the client's last snapshot may lack a step-start at the end
                assert ours == [case["uiMessage"]], path.name
                found += 1
    assert found > 40


def test_the_deltas_alone_show_the_same_as_the_whole_message(corpus: Path) -> None:
    for path in sorted((corpus / "ai-sdk" / "stream").iterdir()):
        if path.suffix in (".sse", ".jsonl"):
            deltas = decode(path.read_bytes(), "ai-sdk-full" if "fullstream" in path.name else "ai-sdk-ui")
            assert visible(fold(without_end(deltas))) == visible(fold(deltas)), path.name


# -- the real client, asked ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    if reason := Judge.available():
        pytest.skip(reason)
    with Judge() as asked:
        yield asked


IDS = st.sampled_from(["a", "b"])
META: Any = st.none() | st.sampled_from([{"x": {"k": 1}}, {"openai": {"itemId": "i"}}])
NAMES = st.sampled_from(["one", "two"])
PIECES = st.sampled_from(['{"city', '": "To', 'kyo", ', '"n": [1, 2', "]}", "x", ""])


def chunk(kind: str, /, **fields: Any) -> st.SearchStrategy[Chunk]:
    return st.fixed_dictionaries({"type": st.just(kind), **fields}).map(
        lambda made: {
            key: value for key, value in made.items() if value is not None or key in ("data", "output", "input")
        }
    )


FLAG: Any = st.none() | st.booleans()
DATA: Any = st.none() | st.integers(0, 3) | st.just({"deep": [1]})
CHUNKS = st.one_of(
    chunk("start-step"),
    chunk("finish-step"),
    chunk("reset-step"),
    *(chunk(f"{kind}-start", id=IDS, providerMetadata=META) for kind in ("text", "reasoning")),
    *(chunk(f"{kind}-delta", id=IDS, delta=PIECES, providerMetadata=META) for kind in ("text", "reasoning")),
    *(chunk(f"{kind}-end", id=IDS, providerMetadata=META) for kind in ("text", "reasoning")),
    chunk("tool-input-start", toolCallId=IDS, toolName=NAMES, dynamic=FLAG, providerExecuted=FLAG),
    chunk("tool-input-start", toolCallId=IDS, toolName=NAMES, inputEncoding=st.sampled_from(["text", "json"])),
    chunk("tool-input-delta", toolCallId=IDS, inputTextDelta=PIECES),
    chunk("tool-input-delta", toolCallId=IDS, inputTextDelta=PIECES),
    chunk("tool-input-available", toolCallId=IDS, toolName=NAMES, input=DATA, dynamic=FLAG, providerMetadata=META),
    chunk("tool-input-error", toolCallId=IDS, toolName=NAMES, input=DATA, errorText=st.just("bad"), dynamic=FLAG),
    chunk("tool-output-available", toolCallId=IDS, output=DATA, preliminary=FLAG, providerMetadata=META),
    chunk("tool-output-error", toolCallId=IDS, errorText=st.just("broke"), providerExecuted=FLAG),
    chunk("tool-output-denied", toolCallId=IDS),
    chunk("tool-approval-request", toolCallId=IDS, approvalId=IDS, reason=st.none() | st.just("why"), isAutomatic=FLAG),
    chunk("tool-approval-response", approvalId=IDS, approved=st.booleans(), reason=st.none() | st.just("so")),
    chunk("data-x", id=st.none() | IDS, data=DATA, transient=FLAG),
    chunk("source-url", sourceId=IDS, url=st.just("https://e.x"), title=st.none() | st.just("t")),
    chunk("source-document", sourceId=IDS, mediaType=st.just("a/b"), title=st.just("t")),
    chunk("file", url=st.just("data:a/b;base64,eA=="), mediaType=st.just("a/b"), providerMetadata=META),
    chunk("reasoning-file", url=st.just("data:a/b;base64,eA=="), mediaType=st.just("a/b")),
    chunk("custom", kind=st.just("p.k"), providerMetadata=META),
    chunk("steering-message", id=IDS, parts=st.just([{"type": "text", "text": "stop"}])),
    chunk("message-metadata", messageMetadata=st.sampled_from([{"a": {"b": 1}}, {"a": {"c": [2]}}, {"a": 3}])),
)


def legal(chunks: list[Chunk]) -> list[Chunk]:
    """Those chunks that belong to something."""
    out: list[Chunk] = []
    known: dict[str, set[Any]] = {"text": set(), "reasoning": set(), "input": set(), "tool": set(), "approval": set()}
    for made in chunks:
        family, _, action = made["type"].partition("-")
        call_id = made.get("toolCallId")
        if family in ("text", "reasoning") and action in ("delta", "end"):
            belongs = made["id"] in known[family]
        elif made["type"] == "tool-approval-response":
            belongs = made["approvalId"] in known["approval"]
        else:
            belongs = call_id is None or action in ("input-start", "input-available", "input-error")
            belongs = belongs or call_id in known["input" if action == "input-delta" else "tool"]
        if not belongs:
            continue
        out.append(made)
        if made["type"] == "reset-step":
            known = {name: set() for name in known}
        elif action == "start" and "id" in made:
            known[family].add(made["id"])
        elif action == "end":
            known[family].discard(made["id"])
        elif call_id is not None:
            known["tool"].add(call_id)
            known["input"] |= {call_id} if action == "input-start" else set()
            known["approval"] |= {made["approvalId"]} if "approvalId" in made else set()
    return out


@given(middle=st.lists(CHUNKS, max_size=30) | st.lists(CHUNKS, max_size=40).map(legal))
@settings(max_examples=200)
def test_any_stream_is_read_as_the_newest_client_reads_it(judge: Judge, middle: list[Chunk]) -> None:
    chunks = START + middle + [{"type": "data-last", "data": 0}]  # a last write, so that the client shows it all
    raw = sse(chunks)
    answer = judge.ask("read-sse", v=7, sse=raw.decode())
    deltas = decode(raw)
    if answer["ok"]:
        assert not [delta for delta in deltas if type(delta) is Failure]
        ours, theirs = shown(deltas)[0], answer["message"]
        for part in [*ours["parts"], *theirs["parts"]]:
            if part["type"] == "dynamic-tool" and part["state"] == "input-streaming":
                part.pop("rawInput", None)  # theirs lacks it when the input goes on in another step
        assert ours == theirs
    else:  # the client stops where a piece belongs to nothing; we say so and go on
        assert [delta for delta in deltas if type(delta) is Failure]


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
    monkeypatch.setattr(AiSdkUiDecoder, "quick", lambda self, data: False)
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
