"""What a client is shown of a conversation: one set of rules for writing to it and for knowing it again.

A client sees calls and their results as one thing, results as plain data, errors as text, files by address. It
never sees ciphers. `rejoin` compares by the same rules, so that what was written is recognised when it comes back.
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
    """The answer each call got: of results to one id the nearest unanswered call before takes the first.

    A preliminary result gives way to the next one. What was asked again (`retry`) is an answer too.
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
    """What a call was made with; the words when they were no JSON."""
    if call.input is not UNSET:
        return call.input
    return call.input_text if call.input_text is not UNSET else {}


def shown_output(answer: Answer) -> Any:
    """A result as data: a text alone is that text, several parts are a list."""
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
    """An error as text."""
    if type(answer) is ToolResultPart and answer.content is not UNSET:
        return "".join(part.text for part in answer.content if type(part) is TextPart)
    value = shown_output(answer)
    if type(value) is str:
        return value
    return "" if value is None else exact_json.encode(value).decode("utf-8", "surrogatepass")


def failed(answer: Answer) -> bool:
    """Is the answer an error?"""
    return isinstance(answer, RetryPart) or answer.is_error is True


def denied(answer: Answer) -> bool:
    """Did somebody say no to the call?"""
    return type(answer) is ToolResultPart and answer.status == "denied"


def without_ciphers(value: Any) -> Any:
    """A result of a provider's own tool less what is encrypted in it: that is between the provider and us."""
    if type(value) is dict:
        return {key: without_ciphers(item) for key, item in value.items() if not key.startswith("encrypted")}
    if type(value) is list:
        return [without_ciphers(item) for item in value]
    return value


def shown_media(part: Any) -> str:
    """The media type of a file; one that does not say is just bytes."""
    return part.media_type if type(part.media_type) is str else ANY_MEDIA


def shown_url(part: FilePart) -> str | None:
    """The address of a file, its bytes as a data URL; None for one that only its provider can find.

    >>> shown_url(FilePart(media_type="image/png", data="aGk="))
    'data:image/png;base64,aGk='
    """
    if part.data is not UNSET:
        return f"data:{shown_media(part)};base64,{part.data}"
    return part.url if part.url is not UNSET else None
