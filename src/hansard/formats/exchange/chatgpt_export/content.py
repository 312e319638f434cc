"""The `content` of one message of a ChatGPT export; `chatgpt_export` has the map.

A message of ChatGPT has one kind of content. What the writer would not spell as it was read is kept raw, so that
every content comes back as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from hansard.formats.residue import MARKS, Unfit, pack, take_str, unpack
from hansard.model import exact_json
from hansard.model.arguments import read_arguments, write_arguments
from hansard.model.display import shown_output
from hansard.model.parts import (
    CompactionPart,
    FilePart,
    RawPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

NAME = "chatgpt-export"
ALL = "all"
_SAID = (TextPart, RefusalPart, CompactionPart)


# -- text and pictures ---------------------------------------------------------------------------------------------


def _read_piece(piece: Any) -> Any:
    if type(piece) is str:
        return TextPart(text=piece)
    if type(piece) is dict and type(piece.get("asset_pointer")) is str:
        rest = dict(piece)
        return FilePart(url=rest.pop("asset_pointer"), extra=pack(NAME, rest))
    if type(piece) is dict and type(piece.get("text")) is str and type(piece.get("content_type")) is str:
        rest = dict(piece)  # what was spoken, as it was understood
        return TextPart(text=rest.pop("text"), extra=pack(NAME, rest))
    return RawPart(format=NAME, value=piece)


def _write_piece(part: Any) -> Any:
    """A piece of `parts`, None for what there is no piece for."""
    if type(part) is FilePart:
        if type(part.url) is not str or part.url.startswith("data:"):
            return None
        rest = unpack(NAME, part.extra)[0] or {"content_type": "image_asset_pointer"}
        return {"asset_pointer": part.url, **rest}
    if type(part) is RawPart:
        return part.value if part.format == NAME and part.value is not None else None
    rest = unpack(NAME, part.extra)[0] if type(part) is TextPart else {}
    if "content_type" in rest:
        return {"text": part.text, **rest}
    return part.text if isinstance(part, _SAID) and type(part.text) is str else None


def _pieces(parts: list[Any]) -> list[Any]:
    return [piece for piece in map(_write_piece, parts) if piece is not None]


def _content(pieces: list[Any]) -> dict[str, Any]:
    kind = "text" if all(type(piece) is str for piece in pieces) else "multimodal_text"
    return {"content_type": kind, "parts": pieces}


# -- one reader for each kind of content ---------------------------------------------------------------------------


def _read_parts(content: dict[str, Any], marks: dict[str, Any]) -> list[Any]:
    if content.get("content_type") not in ("text", "multimodal_text") or type(content.get("parts")) is not list:
        raise Unfit("parts")
    return [_read_piece(piece) for piece in content["parts"]]


def _read_thoughts(content: dict[str, Any], marks: dict[str, Any]) -> list[Any]:
    kind = content["content_type"]
    if type(content.get("thoughts")) is list and kind == "thoughts":
        parts: list[Any] = []
        for thought in content["thoughts"]:
            rest = dict(thought) if type(thought) is dict else {}
            parts.append(ReasoningPart(text=take_str(rest, "content"), extra=pack(NAME, rest)))
        return parts
    marks["thoughts"] = kind
    if type(content.get("parts")) is list and all(type(piece) is str for piece in content["parts"]):
        marks["as"] = "parts"
        return [ReasoningPart(text=piece) for piece in content["parts"]]
    return [ReasoningPart(text=take_str(dict(content), "content"))]


def _write_thoughts(parts: list[Any], marks: dict[str, Any]) -> dict[str, Any]:
    kind = marks.get("thoughts")
    if type(kind) is str and marks.get("as") == "parts":
        return {"content_type": kind, "parts": [part.text for part in parts]}
    if type(kind) is str and len(parts) == 1:
        return {"content_type": kind, "content": parts[0].text}
    thoughts = [{"content": part.text, **(unpack(NAME, part.extra)[0] or {"summary": ""})} for part in parts]
    return {"content_type": "thoughts", "thoughts": thoughts}


def _words(content: dict[str, Any], marks: dict[str, Any]) -> str:
    """The one text of a call or of its result, whatever the content calls it."""
    if type(content.get("text")) is str:
        return str(content["text"])
    pieces = content.get("parts")
    if type(pieces) is not list or len(pieces) != 1 or type(pieces[0]) is not str:
        raise Unfit("text")
    marks["as"] = "parts"
    return pieces[0]


def _call_reader(tool: str) -> Callable[[dict[str, Any], dict[str, Any]], list[Any]]:
    def read_call(content: dict[str, Any], marks: dict[str, Any]) -> list[Any]:
        given, spelt = read_arguments(_words(content, marks))
        return [ToolCallPart(tool_name=tool, input=given, input_text=spelt)]

    return read_call


def _write_call(part: ToolCallPart, marks: dict[str, Any]) -> dict[str, Any]:
    text = write_arguments(part)
    if marks.get("as") == "parts":
        return {"content_type": "text", "parts": [text]}
    return {"content_type": "code", "language": "unknown", "text": text}


def _result_reader(tool: Any) -> Callable[[dict[str, Any], dict[str, Any]], list[Any]]:
    def read_result(content: dict[str, Any], marks: dict[str, Any]) -> list[Any]:
        name = tool if type(tool) is str else UNSET
        try:
            return [ToolResultPart(tool_name=name, output=_words(content, marks))]
        except Unfit:
            return [ToolResultPart(tool_name=name, content=_read_parts(content, marks))]

    return read_result


def _write_result(part: ToolResultPart, marks: dict[str, Any]) -> dict[str, Any]:
    if part.content is not UNSET:
        return _content(_pieces(part.content))
    output = shown_output(part)
    text = output if type(output) is str else exact_json.encode(output).decode()
    if marks.get("as") == "parts":
        return {"content_type": "text", "parts": [text]}
    return {"content_type": "execution_output", "text": text}


# -- words under a name of their own ----------------------------------------------------------------------------------

_NAMES = ("text", "result", "output_str", "content", "model_set_context", "user_profile", "user_instructions")


def _named(content: dict[str, Any], marks: dict[str, Any]) -> list[str]:
    """The words of any other kind of content, with a mark of the kind and their names."""
    names = [name for name in _NAMES if type(content.get(name)) is str and content[name]]
    if not names or "parts" in content:
        raise Unfit("parts")
    marks["named"] = [content["content_type"], *names]
    return [content[name] for name in names]


def _read_named(content: dict[str, Any], marks: dict[str, Any]) -> list[Any]:
    return [TextPart(text=words) for words in _named(content, marks)]


def _named_result_reader(tool: Any) -> Callable[[dict[str, Any], dict[str, Any]], list[Any]]:
    def read_result(content: dict[str, Any], marks: dict[str, Any]) -> list[Any]:
        words = _named(content, marks)
        del marks["named"][2:]
        return [ToolResultPart(tool_name=tool if type(tool) is str else UNSET, output=words[0])]

    return read_result


def _write_named(parts: list[Any], marks: dict[str, Any]) -> dict[str, Any] | None:
    """The same again; None when the parts are others by now."""
    named = marks.get("named")
    if type(named) is not list or len(named) != len(parts) + 1 or not all(type(name) is str for name in named):
        return None
    words = [part.output if type(part) is ToolResultPart else getattr(part, "text", None) for part in parts]
    if not all(type(one) is str for one in words):
        return None
    return {"content_type": named[0], **dict(zip(named[1:], words, strict=True))}


# -- a content -----------------------------------------------------------------------------------------------------


def read_content(content: Any, role: str, tool: Any, marks: dict[str, Any]) -> list[Any]:
    """The parts of a content; a call if it is addressed to a `tool`, a result if a tool says it."""
    kind = content.get("content_type") if type(content) is dict else None
    readers: list[Callable[[dict[str, Any], dict[str, Any]], list[Any]]] = [_read_parts, _read_named]
    if role == "tool":
        readers = [_result_reader(tool), _named_result_reader(tool)]
    elif role == "assistant" and type(tool) is str and tool != ALL:
        readers = [_call_reader(tool)]
    elif kind in ("thoughts", "reasoning_recap") and role == "assistant":
        readers = [_read_thoughts]
    for reader in readers if type(kind) is str else ():
        try:
            said: dict[str, Any] = {}
            parts = reader(content, said)
            usual = write_content(parts, said)
            rest = {key: value for key, value in content.items() if key not in usual or usual[key] != value}
            if not exact_json.same({**usual, **rest}, content):
                raise Unfit("content")
            marks |= said
            if rest:
                marks["content"] = rest
            return parts
        except Unfit:
            continue
    return [RawPart(format=NAME, value=content, extra={NAME: {MARKS: {"at": "content"}}})]


def write_content(parts: list[Any], marks: dict[str, Any]) -> Any:
    """The content that one group of parts becomes."""
    first = parts[0] if parts else None
    if type(first) is RawPart and unpack(NAME, first.extra)[1].get("at") == "content":
        return first.value
    if (named := _write_named(parts, marks)) is not None:
        out = named
    elif type(first) is ReasoningPart:
        out = _write_thoughts(parts, marks)
    elif type(first) is ToolCallPart:
        out = _write_call(first, marks)
    elif type(first) is ToolResultPart:
        out = _write_result(first, marks)
    else:
        out = _content(_pieces(parts))
    rest = marks.get("content")
    return {**out, **rest} if type(rest) is dict else out


def groups(parts: list[Any]) -> list[list[Any]]:
    """The parts as ChatGPT has them: thoughts, words and pictures, each call, each result in a message of its own."""
    found: list[list[Any]] = []
    last = None
    for part in parts:
        if type(part) is RawPart:
            kind = "raw" if unpack(NAME, part.extra)[1].get("at") == "content" else "said"
            if part.format != NAME:
                continue
        elif type(part) in (ReasoningPart, ToolCallPart, ToolResultPart):
            kind = type(part).__name__
        elif isinstance(part, (*_SAID, FilePart)) and _write_piece(part) is not None:
            kind = "said"
        else:
            continue
        if kind == last and kind in ("said", "ReasoningPart"):
            found[-1].append(part)
        else:
            found.append([part])
        last = kind
    return found
