"""The AI SDK judges: its real npm packages, run in Node, and what they made of recorded streams."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats, streams
from hansard.model import Conversation, DataPart, Message, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from hansard.streams.accumulator import fold
from hansard.streams.deltas import Delta, Failure
from tests.conftest import GOLDEN
from tests.corpus_files import corpus_documents
from tests.formats.ai_sdk.ui.test_stream import START, Chunk, chunk, decode, shown, sse
from tests.judges.emitted import answers, emit, live
from tests.laws.test_streams import FOLDERS, as_sse, recorded
from tests.laws.test_streams import decode as decode_stream
from tests.node_judge import Judge
from tests.strategies import conversations, json_values, parts, texts

VERSIONS = (5, 6, 7)
NAMES = [name for name in formats.names() if not formats.get(name).write_only]
OURS = ("ai-sdk-ui", "ai-sdk-model")
GOLDENS = [
    pytest.param(name, path, id=f"{name}/{path.name}")
    for name in NAMES
    for path in sorted((GOLDEN / name).glob("*"))
    if path.is_file()
]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    if reason := Judge.available():
        pytest.skip(reason)
    with Judge() as asked:
        yield asked


def records(conversation: Conversation, name: str, version: int | None) -> list[Any]:
    """The messages of the written document, whatever its shape."""
    written = formats.write(conversation, name, target=f"v{version}" if version else None)
    document = json.loads(written.json)
    if isinstance(document, list):
        return document
    if "messages" in document:
        return list(document["messages"])
    return [document.get("message", document)]


def assert_accepted(judge: Judge, conversation: Conversation, version: int, profile: int | None) -> None:
    messages = records(conversation, "ai-sdk-ui", profile)
    if messages:
        verdict = judge.ask("validate", v=version, messages=messages)
        assert verdict["ok"], verdict["error"]
        # The types of version 6 have `title`, its validation does not.
        assert [place for place in verdict["lost"] if version != 6 or not place.endswith(".title")] == []
        assert verdict["changed"] == []
        model = judge.ask("to-model", v=version, messages=messages)
        assert model["ok"], model["error"]
    verdict = judge.ask("check-model", v=version, messages=records(conversation, "ai-sdk-model", profile))
    assert verdict["ok"], verdict["error"]


@pytest.mark.parametrize(("name", "path"), GOLDENS)
def test_every_golden_file_of_every_format_is_accepted(judge: Judge, name: str, path: Path) -> None:
    for conversation in formats.read_all(path.read_bytes(), name):
        for version in VERSIONS:
            assert_accepted(judge, conversation, version, version)


@pytest.mark.parametrize(("name", "path"), [one for one in GOLDENS if one.values[0] not in OURS])
def test_other_formats_need_no_profile(judge: Judge, name: str, path: Path) -> None:
    for conversation in formats.read_all(path.read_bytes(), name):
        messages = records(conversation, "ai-sdk-ui", None)
        for version in (6, 7) if messages else ():
            verdict = judge.ask("validate", v=version, messages=messages)
            assert verdict["ok"], verdict["error"]
            assert verdict["lost"] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_corpus_of_every_format_is_accepted(judge: Judge, corpus: Path, name: str) -> None:
    for raw in corpus_documents(corpus, name):
        conversation = formats.read(raw, name)
        for version in VERSIONS:
            assert_accepted(judge, conversation, version, version)


@pytest.mark.parametrize("version", VERSIONS)
@given(conversation=conversations)
def test_any_conversation_is_accepted(judge: Judge, version: int, conversation: Conversation) -> None:
    assert_accepted(judge, conversation, version, version)


# -- the SDK's own way from UIMessages to ModelMessages ---------------------------------------------------------------

# Of a failed call the SDK forgets an input that is null.
inputs = json_values.filter(lambda value: value is not None)
outputs = st.one_of(texts, json_values)


@st.composite
def talks(draw: Any) -> Conversation:
    """Questions, answers in steps, tools that answer or fail: the main cases."""
    messages: list[Message] = []
    calls = 0
    for _ in range(draw(st.integers(1, 3))):
        messages.append(Message(role="user", parts=[TextPart(text=draw(texts))]))
        for _ in range(draw(st.integers(0, 3))):
            parts: list[Any] = []
            if draw(st.booleans()):
                parts.append(ReasoningPart(text=draw(texts.filter(bool))))
            if draw(st.booleans()):
                parts.append(TextPart(text=draw(texts)))
            results: list[Any] = []
            for _ in range(draw(st.integers(0, 2))):
                calls += 1
                call_id = f"c{calls}"
                parts.append(ToolCallPart(tool_call_id=call_id, tool_name="look-up", input=draw(inputs)))
                failed = draw(st.booleans())
                output = draw(texts) if failed else draw(outputs)
                results.append(
                    ToolResultPart(tool_call_id=call_id, tool_name="look-up", output=output, is_error=failed)
                )
            if parts:
                messages.append(Message(role="assistant", parts=parts))
            if results:
                messages.append(Message(role="tool", parts=results))
    return Conversation(messages=messages)


def as_javascript(value: Any) -> Any:
    """Numbers as JavaScript keeps them."""
    if isinstance(value, list):
        return [as_javascript(item) for item in value]
    if isinstance(value, dict):
        return {key: as_javascript(item) for key, item in value.items()}
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.parametrize("version", VERSIONS)
@given(conversation=talks())
def test_the_sdk_converts_ours_as_we_do(judge: Judge, version: int, conversation: Conversation) -> None:
    theirs = judge.ask("to-model", v=version, messages=records(conversation, "ai-sdk-ui", version))
    ours = records(conversation, "ai-sdk-model", version)
    assert theirs["ok"], theirs["error"]
    assert as_javascript(theirs["messages"]) == as_javascript(ours)


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


IDS = st.sampled_from(["a", "b"])


META: Any = st.none() | st.sampled_from([{"x": {"k": 1}}, {"openai": {"itemId": "i"}}])


TOOL_NAMES = st.sampled_from(["one", "two"])


PIECES = st.sampled_from(['{"city', '": "To', 'kyo", ', '"n": [1, 2', "]}", "x", ""])


FLAG: Any = st.none() | st.booleans()


DATA: Any = st.none() | st.integers(0, 3) | st.just({"deep": [1]})


CHUNKS = st.one_of(
    chunk("start-step"),
    chunk("finish-step"),
    chunk("reset-step"),
    *(chunk(f"{kind}-start", id=IDS, providerMetadata=META) for kind in ("text", "reasoning")),
    *(chunk(f"{kind}-delta", id=IDS, delta=PIECES, providerMetadata=META) for kind in ("text", "reasoning")),
    *(chunk(f"{kind}-end", id=IDS, providerMetadata=META) for kind in ("text", "reasoning")),
    chunk("tool-input-start", toolCallId=IDS, toolName=TOOL_NAMES, dynamic=FLAG, providerExecuted=FLAG),
    chunk("tool-input-start", toolCallId=IDS, toolName=TOOL_NAMES, inputEncoding=st.sampled_from(["text", "json"])),
    chunk("tool-input-delta", toolCallId=IDS, inputTextDelta=PIECES),
    chunk("tool-input-delta", toolCallId=IDS, inputTextDelta=PIECES),
    chunk("tool-input-available", toolCallId=IDS, toolName=TOOL_NAMES, input=DATA, dynamic=FLAG, providerMetadata=META),
    chunk("tool-input-error", toolCallId=IDS, toolName=TOOL_NAMES, input=DATA, errorText=st.just("bad"), dynamic=FLAG),
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


TARGETS = ("v5", "v6", "v7", "oldest")


def client_message(judge: Judge, deltas: list[Delta], version: int) -> tuple[Any, list[str]]:
    """What the client of this version has at the end, and what it complained of."""
    sse = emit(deltas, "ai-sdk-ui", target=f"v{version}", message_id="m1")
    answer = judge.ask("read-sse", v=version, sse=sse.decode())
    return comparable(answer["message"]), answer["errors"]


def written_message(messages: list[Message], version: int) -> Any:
    """What the format writes; whether metadata is a client's the deltas do not say."""
    first = [replace(messages[0], id="m1", metadata=UNSET), *messages[1:]]
    return comparable(
        json.loads(formats.write(Conversation(messages=first), "ai-sdk-ui", target=f"v{version}").json)[0]
    )


def comparable(message: Any) -> Any:
    """Without what a stream cannot say: names of files; with what only a stream has: ids of blocks.

    The client does not show a step that is empty.
    """
    for part in message["parts"]:
        if part["type"] == "reasoning":
            part.pop("id", None)
        if part["type"] == "file":
            part.pop("filename", None)
    while message["parts"] and message["parts"][-1]["type"] == "step-start":
        message["parts"].pop()
    return as_javascript(message)


def whole_calls(message: Any) -> Any:
    """Without the calls that were cut off: the stream leaves them open, so that nobody runs half a call."""
    kept = [part for part in message["parts"] if part.get("state") != "input-streaming"]
    return {**message, "parts": [part for part in kept if not cut_off(part)]}


def cut_off(part: Any) -> bool:
    return part.get("state") == "input-available" and isinstance(part["input"], str)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_client_has_the_message_that_the_format_writes(judge: Judge, corpus: Path, version: int) -> None:
    for name, path in recorded(corpus):
        deltas = decode_stream(name, [as_sse(path)])
        messages = fold(deltas)
        read, errors = client_message(judge, deltas, version)
        assert whole_calls(read) == whole_calls(written_message(messages, version)), path.name
        failed = any(type(part) is DataPart and part.name == "error" for one in messages for part in one.parts)
        assert bool(errors) == (failed or messages[-1].state == "partial"), (path.name, errors)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_oldest_clients_take_every_chunk(judge: Judge, corpus: Path, version: int) -> None:
    for name, path in recorded(corpus):
        sse = emit(decode_stream(name, [as_sse(path)]), "ai-sdk-ui", target="oldest", message_id="m1")
        answer = judge.ask("read-sse", v=version, oldest=True, sse=sse.decode())
        chunks = [event for event in sse.split(b"\n\n") if event and b"[DONE]" not in event]
        assert len(answer["chunks"]) == len(chunks), (path.name, answer["errors"])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_cut_stream_shows_every_word_that_came(judge: Judge, corpus: Path, version: int) -> None:
    for name, path in recorded(corpus):
        lines = as_sse(path).split(b"\n\n")
        deltas = decode_stream(name, [b"\n\n".join(lines[: len(lines) // 2])])
        messages = fold(deltas)
        read, errors = client_message(judge, deltas, version)
        assert errors, path.name
        if messages:
            assert words(read) == words(written_message(messages, version)), path.name


def words(message: Any) -> list[Any]:
    return [part["text"] for part in message["parts"] if part["type"] in ("text", "reasoning") and part["text"]]


@pytest.mark.parametrize("version", VERSIONS)
@given(answer=answers())
def test_any_answer_is_read_as_it_is_written(judge: Judge, version: int, answer: Any) -> None:
    messages, deltas = answer
    read, errors = client_message(judge, deltas, version)
    assert errors == []
    # A reasoning without words is written, but no chunk says it before there is a word.
    assert read == written_message(messages, version)


@pytest.mark.parametrize("target", TARGETS)
@given(data=st.data())
def test_whatever_the_parts_are_no_client_refuses_them(judge: Judge, target: str, data: st.DataObject) -> None:
    said = data.draw(st.lists(st.lists(parts, max_size=3), min_size=1, max_size=3))
    known: set[Any] = set()
    for step in said:
        for place, part in enumerate(step):
            if type(part) is ToolCallPart:
                known.add(part.tool_call_id)
            elif getattr(part, "tool_call_id", UNSET) is not UNSET and part.tool_call_id not in known:
                step[place] = TextPart(text="answers a call that nobody made")
    deltas = data.draw(live(said))
    sse = emit(deltas, "ai-sdk-ui", target=target, message_id="m1").decode()
    for version in VERSIONS if target == "oldest" else (int(target[1]),):
        answer = judge.ask("read-sse", v=version, oldest=target == "oldest", sse=sse)
        assert answer["ok"], (version, answer["errors"])


def own_streams(corpus: Path) -> list[tuple[str, int, bytes]]:
    """Recorded streams of the AI SDK, each with the version that is to read it."""
    found = []
    for path in sorted((corpus / "ai-sdk" / "stream").glob("*.uichunks.jsonl")):
        lines = path.read_bytes().splitlines()
        sse = b"".join(b"data: " + line + b"\n\n" for line in lines)
        found.append((path.name, int(path.name.split(".")[1][1]), sse))
    for path in sorted((corpus / "ai-sdk" / "read").glob("*.json")):
        sse = json.loads(path.read_bytes())["sse"].encode()
        found += [(path.name, version, sse) for version in VERSIONS]
    return found


def told(chunks: list[Any]) -> list[str]:
    """The types of chunks that make the message; where metadata stands in a step, and how a stream ends, is all one."""
    frame = ("start", "finish-step", "finish", "message-metadata", "steering-message", "error")
    return [one["type"] for one in chunks if one["type"] not in frame and one.get("delta") != ""]


def test_what_comes_from_the_ai_sdk_goes_out_the_same(judge: Judge, corpus: Path) -> None:
    seen = 0
    for name, version, raw in own_streams(corpus):
        before = judge.ask("read-sse", v=version, sse=raw.decode())
        if before["message"] is None or not (before["ok"] or name.startswith(("error", "streamError"))):
            continue  # a stream that this client refuses
        deltas = decode_stream("ai-sdk-ui", [raw])
        after = judge.ask("read-sse", v=version, sse=emit(deltas, "ai-sdk-ui", target=f"v{version}", own=True).decode())
        assert after["errors"] == before["errors"], (name, version)
        assert comparable(after["message"]) == comparable(before["message"]), (name, version)
        assert told(after["chunks"]) == told(before["chunks"]), (name, version)
        seen += 1
    assert seen > 40


# What differs on purpose, each explained in docs/streams.md: by the stream's name, the kinds of things that differ.
DIFFERENT_ON_PURPOSE = {
    "anthropic-code-execution-20250825.1": {"calls"},
    "anthropic-programmatic-tool-calling.1": {"calls"},
    "anthropic-web-fetch-tool-20260209.1": {"calls"},
    "anthropic-web-search-tool.1": {"sources"},
    "deepseek-tool-call": {"texts", "reasoning"},
    "github-copilot-id-rotation.1.v6": {"texts", "reasoning"},
    "google-reasoning-gemini3": {"texts"},
    "google-text": {"texts"},
    "openai-image-generation-tool.1": {"calls"},
    "openai-mcp-tool-approval.1": {"calls"},
    "openai-phase.1": {"texts"},
    "openai-web-search-tool.1": {"calls", "sources"},
    "spliced-message-start": {"reasoning", "calls"},
}


def things_said(message: Any) -> dict[str, list[Any]]:
    found = message["parts"] if message else []
    tools = [part for part in found if part["type"].startswith("tool-") or part["type"] == "dynamic-tool"]
    return {
        "texts": [part["text"] for part in found if part["type"] == "text"],
        "reasoning": [part["text"] for part in found if part["type"] == "reasoning"],
        "calls": [[part.get("toolName", part["type"][5:]), given_id(part), part.get("input")] for part in tools],
        "sources": [part.get("url", part.get("title")) for part in found if part["type"].startswith("source-")],
        "files": [[part["mediaType"], part["url"]] for part in found if part["type"] == "file"],
    }


def given_id(part: Any) -> str | None:
    """The id of a call; Gemini's have none, and everybody makes another."""
    call_id: str = part["toolCallId"]
    return None if re.fullmatch(r"(call|gen)-\d+", call_id) else call_id


def test_recorded_streams_say_what_the_ai_sdks_own_packages_say(judge: Judge, corpus: Path) -> None:
    seen = 0
    for path in sorted((corpus / "ai-sdk" / "provider").glob("*.json")):
        folder, _, rest = path.name.partition(".")
        stem, _, version = rest.removesuffix(".json").rpartition(".v")
        if FOLDERS[folder] not in streams.decoders():
            continue
        given = corpus / "provider-streams" / folder / f"{stem}.chunks.txt"
        given = given if given.exists() else given.with_name(f"{stem}.sse")
        theirs = json.loads(path.read_bytes())
        ours, _ = client_message(judge, decode_stream(FOLDERS[folder], [as_sse(given)]), int(version))
        mine, other = things_said(ours), as_javascript(things_said(theirs.get("uiMessage")))
        expected = DIFFERENT_ON_PURPOSE.get(f"{stem}.v{version}", DIFFERENT_ON_PURPOSE.get(stem, set()))
        assert {kind for kind in mine if mine[kind] != other[kind]} == expected, path.name
        seen += 1
    assert seen
