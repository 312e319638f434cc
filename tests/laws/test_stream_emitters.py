"""The laws of emitters: what a client makes of our stream, judged by the clients themselves.

The AI SDK's stream is read by the real npm packages, chat completion chunks by the official accumulator, AG-UI by the
types of its own package.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats, streams
from hansard.model import (
    Conversation,
    DataPart,
    FilePart,
    Message,
    ReasoningPart,
    RefusalPart,
    SourcePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    exact_json,
)
from hansard.streams.accumulator import fold
from hansard.streams.deltas import Delta, End, MessageStart, PartDelta, PartEnd, PartStart, StepStart
from tests.judges.test_ai_sdk import as_javascript
from tests.laws.test_streams import FOLDERS, as_sse, decode, recorded
from tests.node_judge import Judge
from tests.strategies import json_values, objects, parts, texts

VERSIONS = (5, 6, 7)
TARGETS = ("v5", "v6", "v7", "oldest")


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    if reason := Judge.available():
        pytest.skip(reason)
    with Judge() as asked:
        yield asked


def emit(deltas: list[Delta], name: str, **options: Any) -> bytes:
    emitter = streams.emitter(name, **options)
    return b"".join([emitter.emit(delta) for delta in deltas]) + emitter.finish()


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


# -- the AI SDK ------------------------------------------------------------------------------------------------------


def whole_calls(message: Any) -> Any:
    """Without the calls that were cut off: the stream leaves them open, so that nobody runs half a call."""
    kept = [part for part in message["parts"] if part.get("state") != "input-streaming"]
    return {**message, "parts": [part for part in kept if not cut_off(part)]}


def cut_off(part: Any) -> bool:
    return part.get("state") == "input-available" and isinstance(part["input"], str)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_client_has_the_message_that_the_format_writes(judge: Judge, corpus: Path, version: int) -> None:
    for name, path in recorded(corpus):
        deltas = decode(name, [as_sse(path)])
        messages = fold(deltas)
        read, errors = client_message(judge, deltas, version)
        assert whole_calls(read) == whole_calls(written_message(messages, version)), path.name
        failed = any(type(part) is DataPart and part.name == "error" for one in messages for part in one.parts)
        assert bool(errors) == (failed or messages[-1].state == "partial"), (path.name, errors)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_oldest_clients_take_every_chunk(judge: Judge, corpus: Path, version: int) -> None:
    for name, path in recorded(corpus):
        sse = emit(decode(name, [as_sse(path)]), "ai-sdk-ui", target="oldest", message_id="m1")
        answer = judge.ask("read-sse", v=version, oldest=True, sse=sse.decode())
        chunks = [event for event in sse.split(b"\n\n") if event and b"[DONE]" not in event]
        assert len(answer["chunks"]) == len(chunks), (path.name, answer["errors"])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_cut_stream_shows_every_word_that_came(judge: Judge, corpus: Path, version: int) -> None:
    for name, path in recorded(corpus):
        lines = as_sse(path).split(b"\n\n")
        deltas = decode(name, [b"\n\n".join(lines[: len(lines) // 2])])
        messages = fold(deltas)
        read, errors = client_message(judge, deltas, version)
        assert errors, path.name
        if messages:
            assert words(read) == words(written_message(messages, version)), path.name


def words(message: Any) -> list[Any]:
    return [part["text"] for part in message["parts"] if part["type"] in ("text", "reasoning") and part["text"]]


def pieces(draw: Any, text: str) -> list[str]:
    cut = draw(st.integers(0, len(text)))
    return [text[:cut], text[cut:]]


@st.composite
def live(draw: Any, said: list[list[Any]]) -> list[Delta]:
    """Steps of parts as a decoder gives them: growing where they grow, at once where not."""
    deltas: list[Delta] = [MessageStart()]
    for number, step in enumerate(said):
        if number:
            deltas.append(StepStart())
        for place, part in enumerate(step):
            key = f"{number}.{place}"
            kind = type(part)
            if kind in (TextPart, ReasoningPart, RefusalPart):
                deltas.append(PartStart(key=key, part=kind(text="")))
                deltas += [PartDelta(key=key, text=text) for text in pieces(draw, part.text)]
            elif kind is ToolCallPart:
                deltas.append(PartStart(key=key, part=replace(part, input=UNSET, input_text=UNSET)))
                if part.input is not UNSET:
                    given = exact_json.encode(part.input).decode()
                    deltas += [PartDelta(key=key, text=text) for text in pieces(draw, given)]
            else:
                deltas.append(PartStart(key=key, part=part))
            deltas.append(PartEnd(key=key, part=part))
    return [*deltas, End(how="done")]


@st.composite
def answers(draw: Any) -> tuple[list[Message], list[Delta]]:
    """Answers in steps with all that a client is shown, as messages and as deltas."""
    said: list[list[Any]] = []
    calls = 0
    for _ in range(draw(st.integers(1, 3))):
        step: list[Any] = []
        results: list[Any] = []
        for kind in draw(st.lists(st.sampled_from(["words", "call", "own", "thing"]), min_size=1, max_size=4)):
            if kind == "words":
                made = draw(st.sampled_from([TextPart, ReasoningPart, RefusalPart]))
                step.append(made(text=draw(texts)))
            elif kind == "thing":
                step.append(draw(things))
            else:
                calls += 1
                own = True if kind == "own" else UNSET
                named = {"tool_call_id": f"c{calls}", "tool_name": "look-up", "provider_executed": own}
                step.append(ToolCallPart(**named, input=draw(objects)))
                failed = draw(st.sampled_from([True, False, None]))
                if failed is not None:
                    output = draw(texts) if failed else draw(json_values)
                    result = ToolResultPart(**named, output=output, is_error=failed)
                    (step if kind == "own" else results).append(result)
        said.append([*step, *results])
    deltas = draw(live(said))
    return fold(deltas), deltas


urls = st.sampled_from(["https://example.org/a", "https://example.org/b?c=d"])
things = st.one_of(
    st.builds(SourcePart, source_id=texts, url=urls, title=texts),
    st.builds(SourcePart, source_id=texts, media_type=st.just("text/plain"), title=texts),
    st.builds(FilePart, media_type=st.just("image/png"), data=st.just("aGk=")),
    st.builds(FilePart, media_type=st.just("image/png"), url=urls, name=texts),
    st.builds(DataPart, name=st.just("weather"), data=json_values),
)


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


# -- the same stream in and out --------------------------------------------------------------------------------------


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
        deltas = decode("ai-sdk-ui", [raw])
        after = judge.ask("read-sse", v=version, sse=emit(deltas, "ai-sdk-ui", target=f"v{version}", own=True).decode())
        assert after["errors"] == before["errors"], (name, version)
        assert comparable(after["message"]) == comparable(before["message"]), (name, version)
        assert told(after["chunks"]) == told(before["chunks"]), (name, version)
        seen += 1
    assert seen > 40


# -- beside the AI SDK's own provider packages -------------------------------------------------------------------------

# What differs on purpose, each explained in docs/streams.md: by the stream's name, the kinds of things that differ.
DIFFERENT = {
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
        ours, _ = client_message(judge, decode(FOLDERS[folder], [as_sse(given)]), int(version))
        mine, other = things_said(ours), as_javascript(things_said(theirs.get("uiMessage")))
        expected = DIFFERENT.get(f"{stem}.v{version}", DIFFERENT.get(stem, set()))
        assert {kind for kind in mine if mine[kind] != other[kind]} == expected, path.name
        seen += 1
    assert seen


# -- chat completion chunks --------------------------------------------------------------------------------------------


def completion(raw: bytes) -> Any:
    """What the official accumulator makes of the chunks."""
    from openai.lib.streaming.chat import ChatCompletionStreamState
    from openai.types.chat import ChatCompletionChunk

    state = ChatCompletionStreamState()
    *events, done, _ = raw.split(b"\n\n")
    assert done == b"data: [DONE]"
    for event in events:
        state.handle_chunk(ChatCompletionChunk.model_validate(json.loads(event.removeprefix(b"data: ")), strict=True))
    return state.current_completion_snapshot.to_dict()


@given(answer=answers())
def test_the_official_accumulator_has_the_words_and_the_calls(answer: Any) -> None:
    messages, deltas = answer
    message = completion(emit(deltas, "openai-chat", message_id="m1"))["choices"][0]["message"]
    said = [part for one in messages for part in one.parts]
    assert (message["content"] or "") == "".join(part.text for part in said if type(part) is TextPart)
    assert (message.get("refusal") or "") == "".join(part.text for part in said if type(part) is RefusalPart)
    calls = [part for part in said if type(part) is ToolCallPart and part.provider_executed is not True]
    made = [
        (call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or []
    ]
    assert [one[:2] for one in made] == [(call.tool_call_id, call.tool_name) for call in calls]
    assert [exact_json.decode(one[2]) for one in made] == [call.input for call in calls]


def test_recorded_streams_become_completions(corpus: Path) -> None:
    for name, path in recorded(corpus):
        deltas = decode(name, [as_sse(path)])
        raw = emit(deltas, "openai-chat")
        if b'data: {"error"' in raw or path.name.startswith("interleaved"):
            continue  # of blocks that grow at once a completion makes one text
        said = [part for one in fold(deltas) for part in one.parts]
        message = completion(raw)["choices"][0]["message"]
        assert (message["content"] or "") == "".join(part.text for part in said if type(part) is TextPart), path.name


# -- AG-UI -------------------------------------------------------------------------------------------------------------


def run_events(raw: bytes) -> list[dict[str, Any]]:
    """The events, each one of the protocol's own with no field that it does not know."""
    core = pytest.importorskip("ag_ui.core", reason="ag-ui-protocol is not installed: AG-UI events are not judged")
    from pydantic import TypeAdapter

    adapter = TypeAdapter(core.Event)
    found = []
    for event in raw.split(b"\n\n")[:-1]:
        value = json.loads(event.removeprefix(b"data: "))
        judged = adapter.validate_python(value)
        assert not judged.model_extra, judged
        assert judged.model_dump(mode="json", by_alias=True) == value
        found.append(value)
    return found


def assert_in_order(events: list[dict[str, Any]]) -> None:
    """What the protocol asks of the order: a run around everything, nothing grows that is not open."""
    assert events[0]["type"] == "RUN_STARTED"
    assert events[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
    still: set[Any] = set()
    for event in events:
        thing, _, what = event["type"].rpartition("_")
        name = event.get("toolCallId") or event.get("messageId") or event.get("stepName")
        if what in ("START", "STARTED") and thing != "RUN":
            assert (thing, name) not in still
            still.add((thing, name))
        elif what in ("CONTENT", "ARGS"):
            assert (thing, name) in still
            assert event["delta"]
        elif what in ("END", "FINISHED") and thing != "RUN":
            still.remove((thing, name))
    assert not still or events[-1]["type"] == "RUN_ERROR"


@given(answer=answers())
def test_any_answer_is_a_run_of_ag_ui(answer: Any) -> None:
    messages, deltas = answer
    events = run_events(emit(deltas, "ag-ui", message_id="m1", thread_id="t1", run_id="r1"))
    assert_in_order(events)
    said = [part for one in messages for part in one.parts]
    shown = "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
    assert shown == "".join(part.text for part in said if type(part) in (TextPart, RefusalPart))


def test_recorded_streams_are_runs_of_ag_ui(corpus: Path) -> None:
    for name, path in recorded(corpus):
        assert_in_order(run_events(emit(decode(name, [as_sse(path)]), "ag-ui", message_id="m1")))
