"""The part of a conversation that clients see: shared rules for writing to a client and for recognising its reply.

A client sees a call together with its result, results as plain data, errors as text and files as URLs. It never sees
encrypted content. `rejoin` compares by the same rules, so that a message sent to a client is recognised on return.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import UNSET

from hansard.model import exact_json
from hansard.model.calls import Place
from hansard.model.conversation import Message
from hansard.model.parts import FilePart, RetryPart, TextPart, ToolCallPart, ToolResultPart

Answer: TypeAlias = ToolResultPart | RetryPart
ANY_MEDIA = "application/octet-stream"


def answers(messages: list[Message]) -> dict[Place, Answer]:
    """Map each call to its result: a result belongs to the nearest unanswered call with its id before it.

    A preliminary result is replaced by the next one. A retry prompt counts as a result.
    """
    found: dict[Place, Answer] = {}
    waiting: dict[tuple[Any, Any], list[Place]] = {}
    part: Any
    for i, message in enumerate(messages):
        for j, part in enumerate(message.parts):
            kind = type(part)
            if kind is TextPart:
                continue
            if kind is ToolCallPart:
                waiting.setdefault(_key(part), []).append((i, j))
            elif kind is ToolResultPart or (kind is RetryPart and type(part.tool_call_id) is str):
                place = _place_for(part, i, j, waiting)
                if place is not None:
                    found[place] = part
    return found


def _key(part: Any) -> tuple[Any, Any]:
    call_id = part.tool_call_id
    if type(call_id) is str:
        return call_id, type(part) is not RetryPart and part.provider_executed is True
    return None, part.tool_name


def _place_for(part: Any, i: int, j: int, waiting: dict[tuple[Any, Any], list[Place]]) -> Place | None:
    key = _key(part)
    places = waiting.get(key)
    if not places and key[0] is not None:
        places = waiting.get((key[0], not key[1]))
    if not places:
        return None
    k = len(places) - 1
    if places[k] != (i, j - 1):
        nearest = places[k][0]
        while k and places[k - 1][0] == nearest:
            k -= 1
    if type(part) is ToolResultPart and part.preliminary is True:
        return places[k]
    return places.pop(k)


def shown_input(call: ToolCallPart) -> Any:
    """Arguments of a call; the raw text if it was not valid JSON."""
    if call.input is not UNSET:
        return call.input
    return call.input_text if call.input_text is not UNSET else {}


def shown_output(answer: Answer) -> Any:
    """A result as data: a single text is a string, several parts are a list."""
    if isinstance(answer, RetryPart):
        return answer.content if answer.content is not UNSET else None
    if answer.content is UNSET:
        return answer.output if answer.output is not UNSET else None
    if len(answer.content) == 1 and type(answer.content[0]) is TextPart:
        return answer.content[0].text
    out: list[Any] = []
    for part in answer.content:
        if type(part) is TextPart:
            out.append({"type": "text", "text": part.text})
        elif type(part) is FilePart and (url := shown_url(part)) is not None:
            out.append({"type": "file", "mediaType": shown_media(part), "url": url})
    return out


def shown_error(answer: Answer) -> str:
    """Text of an error."""
    if type(answer) is ToolResultPart and answer.content is not UNSET:
        return "".join(part.text for part in answer.content if type(part) is TextPart)
    value = shown_output(answer)
    if type(value) is str:
        return value
    return "" if value is None else exact_json.encode(value).decode("utf-8", "surrogatepass")


def failed(answer: Answer) -> bool:
    """Whether the result is an error."""
    return isinstance(answer, RetryPart) or answer.is_error is True


def denied(answer: Answer) -> bool:
    """Whether the call was denied."""
    return type(answer) is ToolResultPart and answer.status == "denied"


def without_ciphers(value: Any) -> Any:
    """Result of a provider-executed tool without its encrypted fields, which clients must not see."""
    if type(value) is dict:
        return {key: without_ciphers(item) for key, item in value.items() if not key.startswith("encrypted")}
    if type(value) is list:
        return [without_ciphers(item) for item in value]
    return value


def shown_media(part: Any) -> str:
    """Media type of a file, `application/octet-stream` if unknown."""
    return part.media_type if type(part.media_type) is str else ANY_MEDIA


def shown_url(part: FilePart) -> str | None:
    """URL of a file, or a data URL of its bytes; None for a file that only its provider can resolve.

    >>> shown_url(FilePart(media_type="image/png", data="aGk="))
    'data:image/png;base64,aGk='
    """
    if part.data is not UNSET:
        return f"data:{shown_media(part)};base64,{part.data}"
    return part.url if part.url is not UNSET else None
