"""Any answers as deltas, and the bytes that an emitter makes of them: shared by the judges of streams."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from hansard import streams
from hansard.model import (
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
from tests.strategies import json_values, objects, texts


def emit(deltas: list[Delta], name: str, **options: Any) -> bytes:
    emitter = streams.emitter(name, **options)
    return b"".join([emitter.emit(delta) for delta in deltas]) + emitter.finish()


# -- the AI SDK ------------------------------------------------------------------------------------------------------


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
