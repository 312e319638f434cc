"""The Markdown page: parts and document."""

from __future__ import annotations

import re
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.contract import Target
from hansard.formats.pages.display import about, call_input, heading, outcome, spelled
from hansard.formats.pages.display import kept as kept_on_a_page
from hansard.model.conversation import Conversation, Message
from hansard.model.parts import PART_TYPES, FilePart, ToolResultPart

NAME = "markdown"
_TICKS = re.compile("`+")


def _code(text: Any) -> str:
    """A code span, with more backticks than the text holds."""
    if type(text) is not str or not text:
        return ""
    ticks = "`" * (_longest(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _fenced(text: str, language: str = "") -> str:
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _longest(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


def _block(value: Any) -> str:
    return _fenced(spelled(value), "" if type(value) is str else "json") if value is not UNSET else ""


def _line(*words: str) -> str:
    return " ".join(word for word in words if word)


# -- parts ---------------------------------------------------------------------------------------------------------


def _said(part: Any) -> list[str]:
    return [part.text] if type(part.text) is str else []


def _reasoning(part: Any) -> list[str]:
    if not part.text:
        return ["*Reasoning, not shown*"]
    return ["<details><summary>Reasoning</summary>", part.text, "</details>"]


def _refusal(part: Any) -> list[str]:
    return ["**Refusal**", part.text]


def _compaction(part: Any) -> list[str]:
    return ["*Summary of earlier messages:*", *_said(part)]


def _call(part: Any) -> list[str]:
    language = "json" if part.input is not UNSET and type(part.input) is not str else ""
    return [_line("**Call**", _code(part.tool_name), _code(part.tool_call_id)), _fenced(call_input(part), language)]


def _result(part: Any) -> list[str]:
    how = outcome(part)
    first = _line("**Result**", _code(part.tool_name), _code(part.tool_call_id), f"({how})" if how else "")
    if type(part.content) is list:
        return [first, _block(part.output), *(block for item in part.content for block in _part(item))]
    return [first, _block(part.output)]


def _file(part: Any) -> list[str]:
    names = [_code(value) for value in (part.name, part.file_id, part.media_type)]
    return [_line("**File**", *names, f"<{part.url}>" if type(part.url) is str else "")]


def _source(part: Any) -> list[str]:
    names = [value for value in (part.title, part.name) if type(value) is str and value]
    more = [_code(value) for value in (part.source_id, part.media_type)]
    return [_line("**Source**", *names, *more, f"<{part.url}>" if type(part.url) is str else "")]


def _data(part: Any) -> list[str]:
    return [_line("**Data**", _code(part.name)), _block(part.data)]


def _retry(part: Any) -> list[str]:
    return [_line("**Asked again**", _code(part.tool_name), _code(part.tool_call_id)), _block(part.content)]


def _raw(part: Any) -> list[str]:
    return [_line("**Part of**", _code(part.format)), _block(part.value)]


_PARTS = (_said, _reasoning, _call, _result, _file, _source, _refusal, _data, _retry, _compaction, _raw)
_WRITERS: dict[type, Any] = dict(zip(PART_TYPES, _PARTS, strict=True))


def _part(part: Any) -> list[str]:
    return [block for block in _WRITERS[type(part)](part) if block]


# -- documents -----------------------------------------------------------------------------------------------------


def _message(message: Message) -> list[str]:
    line = " · ".join(about(message))
    said = [block for part in message.parts for block in _part(part)]
    return [f"## {heading(message.role)}", f"*{line}*" if line else "", *said]


def kept(conversation: Conversation) -> Conversation:
    """What the page shows: as other pages, without the bytes of files."""
    shown = kept_on_a_page(conversation)
    return replace(shown, messages=[replace(one, parts=_without_bytes(one.parts)) for one in shown.messages])


def _without_bytes(parts: list[Any]) -> list[Any]:
    out: list[Any] = []
    for part in parts:
        if type(part) is FilePart:
            inside = type(part.url) is str and part.url.startswith("data:")
            part = replace(part, data=UNSET, url=UNSET if inside else part.url)
        elif type(part) is ToolResultPart and type(part.content) is list:
            part = replace(part, content=_without_bytes(part.content))
        out.append(part)
    return out


def write(conversation: Conversation, target: Target) -> bytes:
    """Write one Markdown document."""
    shown = kept(conversation)
    line = " · ".join(value for value in (_code(shown.id), shown.created_at) if type(value) is str and value)
    blocks = [f"# {shown.title}" if shown.title else "# Conversation", line]
    for message in shown.messages:
        blocks += _message(message)
    return ("\n\n".join(block for block in blocks if block) + "\n").encode()
