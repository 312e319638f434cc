"""The `content` of one message of a ChatGPT export; the map of the folder has the table of the format.

A message of ChatGPT has one type of content. Content that the writer would change is kept raw, so every content is
written back as it was read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from hansard.formats.residue import HINTS, SchemaMismatch, pack, take_str, unpack
from hansard.model import exact_json
from hansard.model import parts as p
from hansard.model.arguments import read_arguments, write_arguments
from hansard.model.display import shown_output

NAME = "chatgpt-export"
EVERYONE = "all"
_TEXT_PARTS = (p.TextPart, p.RefusalPart, p.CompactionPart)


# -- text and images -----------------------------------------------------------------------------------------------


def _read_entry(entry: Any) -> Any:
    if type(entry) is str:
        return p.TextPart(text=entry)
    if type(entry) is dict and type(entry.get("asset_pointer")) is str:
        rest = dict(entry)
        return p.FilePart(url=rest.pop("asset_pointer"), extra=pack(NAME, rest))
    if type(entry) is dict and type(entry.get("text")) is str and type(entry.get("content_type")) is str:
        rest = dict(entry)  # transcribed speech
        return p.TextPart(text=rest.pop("text"), extra=pack(NAME, rest))
    return p.RawPart(format=NAME, value=entry)


def _write_entry(part: Any) -> Any:
    """Write an entry of `parts`; None if the format has no entry for the part."""
    if type(part) is p.FilePart:
        if type(part.url) is not str or part.url.startswith("data:"):
            return None
        rest = unpack(NAME, part.extra)[0] or {"content_type": "image_asset_pointer"}
        return {"asset_pointer": part.url, **rest}
    if type(part) is p.RawPart:
        return part.value if part.format == NAME and part.value is not None else None
    rest = unpack(NAME, part.extra)[0] if type(part) is p.TextPart else {}
    if "content_type" in rest:
        return {"text": part.text, **rest}
    return part.text if isinstance(part, _TEXT_PARTS) and type(part.text) is str else None


def _entries(parts: list[Any]) -> list[Any]:
    return [entry for entry in map(_write_entry, parts) if entry is not None]


def _content(entries: list[Any]) -> dict[str, Any]:
    kind = "text" if all(type(entry) is str for entry in entries) else "multimodal_text"
    return {"content_type": kind, "parts": entries}


# -- one reader for each type of content ---------------------------------------------------------------------------


def _read_parts(content: dict[str, Any], hints: dict[str, Any]) -> list[Any]:
    if content.get("content_type") not in ("text", "multimodal_text") or type(content.get("parts")) is not list:
        raise SchemaMismatch("parts")
    return [_read_entry(entry) for entry in content["parts"]]


def _read_reasoning(content: dict[str, Any], hints: dict[str, Any]) -> list[Any]:
    kind = content["content_type"]
    if type(content.get("thoughts")) is list and kind == "thoughts":
        parts: list[Any] = []
        for thought in content["thoughts"]:
            rest = dict(thought) if type(thought) is dict else {}
            parts.append(p.ReasoningPart(text=take_str(rest, "content"), extra=pack(NAME, rest)))
        return parts
    hints["thoughts"] = kind
    if type(content.get("parts")) is list and all(type(entry) is str for entry in content["parts"]):
        hints["as"] = "parts"
        return [p.ReasoningPart(text=entry) for entry in content["parts"]]
    return [p.ReasoningPart(text=take_str(dict(content), "content"))]


def _write_reasoning(parts: list[Any], hints: dict[str, Any]) -> dict[str, Any]:
    kind = hints.get("thoughts")
    if type(kind) is str and hints.get("as") == "parts":
        return {"content_type": kind, "parts": [part.text for part in parts]}
    if type(kind) is str and len(parts) == 1:
        return {"content_type": kind, "content": parts[0].text}
    thoughts = [{"content": part.text, **(unpack(NAME, part.extra)[0] or {"summary": ""})} for part in parts]
    return {"content_type": "thoughts", "thoughts": thoughts}


def _single_text(content: dict[str, Any], hints: dict[str, Any]) -> str:
    """The one text of a call or of its result, in either field."""
    if type(content.get("text")) is str:
        return str(content["text"])
    entries = content.get("parts")
    if type(entries) is not list or len(entries) != 1 or type(entries[0]) is not str:
        raise SchemaMismatch("text")
    hints["as"] = "parts"
    return entries[0]


def _call_reader(tool: str) -> Callable[[dict[str, Any], dict[str, Any]], list[Any]]:
    def read_call(content: dict[str, Any], hints: dict[str, Any]) -> list[Any]:
        given, raw_text = read_arguments(_single_text(content, hints))
        return [p.ToolCallPart(tool_name=tool, input=given, input_text=raw_text)]

    return read_call


def _write_call(part: p.ToolCallPart, hints: dict[str, Any]) -> dict[str, Any]:
    text = write_arguments(part)
    if hints.get("as") == "parts":
        return {"content_type": "text", "parts": [text]}
    return {"content_type": "code", "language": "unknown", "text": text}


def _result_reader(tool: Any) -> Callable[[dict[str, Any], dict[str, Any]], list[Any]]:
    def read_result(content: dict[str, Any], hints: dict[str, Any]) -> list[Any]:
        name = tool if type(tool) is str else UNSET
        try:
            return [p.ToolResultPart(tool_name=name, output=_single_text(content, hints))]
        except SchemaMismatch:
            return [p.ToolResultPart(tool_name=name, content=_read_parts(content, hints))]

    return read_result


def _write_result(part: p.ToolResultPart, hints: dict[str, Any]) -> dict[str, Any]:
    if part.content is not UNSET:
        return _content(_entries(part.content))
    output = shown_output(part)
    text = output if type(output) is str else exact_json.encode(output).decode()
    if hints.get("as") == "parts":
        return {"content_type": "text", "parts": [text]}
    return {"content_type": "execution_output", "text": text}


# -- text in other fields -----------------------------------------------------------------------------------------

_NAMES = ("text", "result", "output_str", "content", "model_set_context", "user_profile", "user_instructions")


def _named_texts(content: dict[str, Any], hints: dict[str, Any]) -> list[str]:
    """The texts of any other content type; the spelling hint `named` holds the type and the names of the fields."""
    names = [name for name in _NAMES if type(content.get(name)) is str and content[name]]
    if not names or "parts" in content:
        raise SchemaMismatch("parts")
    hints["named"] = [content["content_type"], *names]
    return [content[name] for name in names]


def _read_named(content: dict[str, Any], hints: dict[str, Any]) -> list[Any]:
    return [p.TextPart(text=texts) for texts in _named_texts(content, hints)]


def _named_result_reader(tool: Any) -> Callable[[dict[str, Any], dict[str, Any]], list[Any]]:
    def read_result(content: dict[str, Any], hints: dict[str, Any]) -> list[Any]:
        texts = _named_texts(content, hints)
        del hints["named"][2:]
        return [p.ToolResultPart(tool_name=tool if type(tool) is str else UNSET, output=texts[0])]

    return read_result


def _write_named(parts: list[Any], hints: dict[str, Any]) -> dict[str, Any] | None:
    """Write the same content type again; None if the parts no longer match."""
    named = hints.get("named")
    if type(named) is not list or len(named) != len(parts) + 1 or not all(type(name) is str for name in named):
        return None
    texts = [part.output if type(part) is p.ToolResultPart else getattr(part, "text", None) for part in parts]
    if not all(type(one) is str for one in texts):
        return None
    return {"content_type": named[0], **dict(zip(named[1:], texts, strict=True))}


# -- a content -----------------------------------------------------------------------------------------------------


def read_content(content: Any, role: str, tool: Any, hints: dict[str, Any]) -> list[Any]:
    """The parts of a content: a call if it is addressed to a `tool`, a result if its author is a tool."""
    kind = content.get("content_type") if type(content) is dict else None
    readers: list[Callable[[dict[str, Any], dict[str, Any]], list[Any]]] = [_read_parts, _read_named]
    if role == "tool":
        readers = [_result_reader(tool), _named_result_reader(tool)]
    elif role == "assistant" and type(tool) is str and tool != EVERYONE:
        readers = [_call_reader(tool)]
    elif kind in ("thoughts", "reasoning_recap") and role == "assistant":
        readers = [_read_reasoning]
    for reader in readers if type(kind) is str else ():
        try:
            said: dict[str, Any] = {}
            parts = reader(content, said)
            written = write_content(parts, said)
            rest = {key: value for key, value in content.items() if key not in written or written[key] != value}
            if not exact_json.same({**written, **rest}, content):
                raise SchemaMismatch("content")
            hints |= said
            if rest:
                hints["content"] = rest
            return parts
        except SchemaMismatch:
            continue
    return [p.RawPart(format=NAME, value=content, extra={NAME: {HINTS: {"at": "content"}}})]


def write_content(parts: list[Any], hints: dict[str, Any]) -> Any:
    """Write the content of one group of parts."""
    first = parts[0] if parts else None
    if type(first) is p.RawPart and unpack(NAME, first.extra)[1].get("at") == "content":
        return first.value
    if (named := _write_named(parts, hints)) is not None:
        out = named
    elif type(first) is p.ReasoningPart:
        out = _write_reasoning(parts, hints)
    elif type(first) is p.ToolCallPart:
        out = _write_call(first, hints)
    elif type(first) is p.ToolResultPart:
        out = _write_result(first, hints)
    else:
        out = _content(_entries(parts))
    rest = hints.get("content")
    return {**out, **rest} if type(rest) is dict else out


def groups(parts: list[Any]) -> list[list[Any]]:
    """Group parts into messages: reasoning, text with images, each call and each result in one of its own."""
    found: list[list[Any]] = []
    last = None
    for part in parts:
        if type(part) is p.RawPart:
            kind = "raw" if unpack(NAME, part.extra)[1].get("at") == "content" else "said"
            if part.format != NAME:
                continue
        elif type(part) in (p.ReasoningPart, p.ToolCallPart, p.ToolResultPart):
            kind = type(part).__name__
        elif isinstance(part, (*_TEXT_PARTS, p.FilePart)) and _write_entry(part) is not None:
            kind = "said"
        else:
            continue
        if kind == last and kind in ("said", "ReasoningPart"):
            found[-1].append(part)
        else:
            found.append([part])
        last = kind
    return found
