"""LangChain's content: a string, or a list of strings and blocks, in the standard spelling and in the providers' own.

text                 text; a bare string
reasoning            reasoning (text, or OpenAI's summary); thinking, redacted_thinking of Anthropic; an empty text
                     with `reasoning`, which merging the chunks of a stream leaves
refusal, compaction  refusal, compaction
tool-call            tool_call, tool_use, function_call beside an entry of `tool_calls` with the same id;
                     without one what the provider ran: server_tool_call; server_tool_use, mcp_tool_use of Anthropic
                     (a streamed one has its input in `partial_json`); web_search_call and others of OpenAI, whose
                     results stay with the call, as residue
tool-result          server_tool_result; *_tool_result of Anthropic
file                 see `files`
raw(langchain)       any other block, verbatim
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.langchain.files import NAME, TYPES, merge_deep, read_file, write_file
from hansard.formats.residue import SchemaMismatch, pack, set_present, take_maybe_str, take_str, unpack
from hansard.model import exact_json
from hansard.model import parts as p
from hansard.model.arguments import read_arguments, write_arguments

_ANTHROPIC = p.Binding(provider="anthropic")
_NAMED_CALLS = ("server_tool_use", "mcp_tool_use")
_ITEM_CALLS = {  # the tool's name and the key of its input; None: the item has a name and arguments
    "web_search_call": ("web_search", "action"),
    "file_search_call": ("file_search", "queries"),
    "code_interpreter_call": ("code_interpreter", "code"),
    "image_generation_call": ("image_generation", "revised_prompt"),
    "tool_search_call": ("tool_search", "arguments"),
    "mcp_call": None,
}
_NATIVE_CALLS = frozenset({*_NAMED_CALLS, *_ITEM_CALLS})
_WRAPPED = ("refusal", "redacted_thinking", "compaction")  # standard: only as non_standard


# -- text ----------------------------------------------------------------------------------------------------------


def _read_text(block: dict[str, Any]) -> p.Part:
    fields: dict[str, Any] = {"text": take_str(block, "text"), "id": take_maybe_str(block, "id")}
    return p.TextPart(**fields, signature=_take_extra(block, "signature"), extra=pack(NAME, block))


def _write_text(part: p.TextPart, provider: Any) -> Any:
    rest, hints = unpack(NAME, part.extra)
    if hints.get("string") is True:
        return part.text
    out = set_present({"type": "text", "text": part.text}, id=part.id)
    return merge_deep(_signed(out, part, provider), rest)


def _read_string(text: str) -> p.Part:
    return p.TextPart(text=text, extra=pack(NAME, {}, {"string": True}))


def _read_compaction(block: dict[str, Any]) -> p.Part:
    text, sealed = take_maybe_str(block, "content"), take_maybe_str(block, "encrypted_content")
    if text is UNSET and sealed is UNSET:
        raise SchemaMismatch("content")
    return p.CompactionPart(text=text, encrypted=sealed, extra=pack(NAME, block, {"type": "compaction"}))


def _write_as_text(part: Any, provider: Any) -> Any:
    """Write text to the model for which this format has no block type as plain text."""
    rest, hints = unpack(NAME, part.extra)
    if type(part) is p.CompactionPart and hints.get("type") == "compaction":
        return {**set_present({"type": "compaction"}, content=part.text, encrypted_content=part.encrypted), **rest}
    text = part.text if type(part) is p.CompactionPart else part.content
    return {"type": "text", "text": text} if type(text) is str and text else UNSET


def _read_refusal(block: dict[str, Any]) -> p.Part:
    return p.RefusalPart(text=take_str(block, "refusal"), extra=pack(NAME, block))


def _write_refusal(part: p.RefusalPart, provider: Any) -> Any:
    return {"type": "refusal", "refusal": part.text, **unpack(NAME, part.extra)[0]}


# -- reasoning -----------------------------------------------------------------------------------------------------


def _read_reasoning(block: dict[str, Any]) -> p.Part:
    hints: dict[str, Any] = {}
    text: Any = take_maybe_str(block, "reasoning")
    if text is UNSET:
        hints["words"] = "summary" if "summary" in block else "missing"
        text = _read_summary(block.pop("summary", []), hints)
    encrypted = take_maybe_str(block, "encrypted_content")
    if encrypted is UNSET:
        encrypted = _take_extra(block, "encrypted_content")
    else:
        hints["encrypted"] = True
    return p.ReasoningPart(
        text=text,
        id=take_maybe_str(block, "id"),
        signature=_take_extra(block, "signature"),
        encrypted=encrypted,
        extra=pack(NAME, block, hints),
    )


def _read_summary(summary: Any, hints: dict[str, Any]) -> str:
    """The text of OpenAI's summary; a spelling hint says how it is cut and holds the other fields of each item."""
    if type(summary) is not list or not all(type(item) is dict and type(item.get("text")) is str for item in summary):
        raise SchemaMismatch("summary")
    text = _SEPARATOR.join(item["text"] for item in summary)
    if not exact_json.same(_write_summary(text, None), summary):
        about = [{key: value for key, value in item.items() if key != "text"} for item in summary]
        hints["cuts"] = [[len(item["text"]), more] for item, more in zip(summary, about, strict=True)]
    return text


def _write_summary(text: str, cuts: Any) -> list[Any]:
    if type(cuts) is list and all(type(cut) is list and list(map(type, cut)) == [int, dict] for cut in cuts):
        made, at = [], 0
        for length, more in cuts:
            made.append({**more, "text": text[at : at + length]})
            at += length + len(_SEPARATOR)
        if _SEPARATOR.join(item["text"] for item in made) == text:
            return made
    return [{"type": "summary_text", "text": piece} for piece in text.split(_SEPARATOR)] if text else []


_SEPARATOR = "\n\n"


def _write_reasoning(part: p.ReasoningPart, provider: Any) -> Any:
    rest, hints = unpack(NAME, part.extra)
    mine = _made_by(part, provider)
    kind = hints.get("type")
    encrypted: Any = part.encrypted if mine else UNSET
    if kind == "redacted_thinking" or (
        kind is None and not part.text and encrypted is not UNSET and _by_anthropic(part)
    ):
        return {"type": "redacted_thinking", **set_present({}, data=encrypted), **rest}
    if kind == "thinking":
        return {
            "type": "thinking",
            "thinking": part.text,
            **set_present({}, signature=part.signature if mine else UNSET),
            **rest,
        }
    out: dict[str, Any] = {"type": "reasoning"}
    how = hints.get("words")
    if how == "summary":
        out["summary"] = _write_summary(part.text, hints.get("cuts"))
    elif how != "missing" or part.text:
        out["reasoning"] = part.text
    set_present(out, id=part.id)
    if "encrypted" in hints:
        set_present(out, encrypted_content=encrypted)
    elif encrypted is not UNSET:
        out["extras"] = {"encrypted_content": encrypted}
    if kind == "text":
        out |= {"type": "text", "text": ""}
    return merge_deep(_signed(out, part, provider), rest)


def _read_merged_reasoning(block: dict[str, Any]) -> p.Part:
    """Read reasoning that was merged into an empty text."""
    del block["text"]
    return with_hints(_read_reasoning(block), type="text")  # type: ignore[no-any-return]


def _read_thinking(block: dict[str, Any]) -> p.Part:
    text, signature = take_str(block, "thinking"), take_maybe_str(block, "signature")
    bound = _ANTHROPIC if signature is not UNSET else UNSET
    return p.ReasoningPart(text=text, signature=signature, binding=bound, extra=pack(NAME, block, {"type": "thinking"}))


def _read_redacted(block: dict[str, Any]) -> p.Part:
    return p.ReasoningPart(text="", encrypted=take_str(block, "data"), binding=_ANTHROPIC, extra=pack(NAME, block))


def _by_anthropic(part: p.ReasoningPart) -> bool:
    return part.binding is not UNSET and part.binding.provider == "anthropic"


# -- signatures: written only for the provider that made them ------------------------------------------------------


def _made_by(part: Any, provider: Any) -> bool:
    return part.binding is UNSET or part.binding.provider is UNSET or part.binding.provider == provider


def _signed(out: dict[str, Any], part: Any, provider: Any) -> dict[str, Any]:
    if part.signature is not UNSET and _made_by(part, provider):
        out["extras"] = {**out.get("extras", {}), "signature": part.signature}
    return out


def _take_extra(block: dict[str, Any], key: str) -> Any:
    extras = block.get("extras")
    if type(extras) is not dict or type(extras.get(key)) is not str:
        return UNSET
    left = {name: value for name, value in extras.items() if name != key}
    if left:
        block["extras"] = left
    else:
        del block["extras"]
    return extras[key]


# -- tools that the provider runs ----------------------------------------------------------------------------------


def _read_server_call(block: dict[str, Any]) -> p.Part:
    if not ("id" in block and "name" in block and "args" in block):
        raise SchemaMismatch("args")
    fields: dict[str, Any] = {"tool_call_id": take_str(block, "id"), "tool_name": take_str(block, "name")}
    fields["input"] = block.pop("args")
    signature = _take_extra(block, "signature")
    return p.ToolCallPart(provider_executed=True, **fields, signature=signature, extra=pack(NAME, block))


def _write_server_call(part: p.ToolCallPart, provider: Any) -> Any:
    rest, hints = unpack(NAME, part.extra)
    if type(kind := hints.get("type")) is str and kind in _NATIVE_CALLS:
        return _write_native_call(kind, part, rest, hints)
    out = set_present({"type": "server_tool_call"}, id=part.tool_call_id, name=part.tool_name)
    out["args"] = {} if part.input is UNSET else part.input
    return merge_deep(_signed(out, part, provider), unpack(NAME, part.extra)[0])


def _read_server_result(block: dict[str, Any]) -> p.Part:
    call_id, status = take_str(block, "tool_call_id"), block.get("status")
    if status != "success" and status != "error":
        raise SchemaMismatch("status")
    del block["status"]
    return p.ToolResultPart(
        tool_call_id=call_id,
        output=block.pop("output", UNSET),
        is_error=status == "error",
        provider_executed=True,
        id=take_maybe_str(block, "id"),
        extra=pack(NAME, block),
    )


def _write_server_result(part: p.ToolResultPart, provider: Any) -> Any:
    rest, hints = unpack(NAME, part.extra)
    if type(kind := hints.get("type")) is str and _is_native_result(kind):
        return _write_native_result(kind, part, rest)
    out: dict[str, Any] = set_present({"type": "server_tool_result"}, tool_call_id=part.tool_call_id, id=part.id)
    out["status"] = "error" if part.is_error is True else "success"
    output: Any = part.output
    if type(part.content) is list:
        output = [made for made in (write_block(inner, provider) for inner in part.content) if made is not UNSET]
    return {**set_present(out, output=output), **unpack(NAME, part.extra)[0]}


# -- tools that the provider ran, in the provider's own spelling --------------------------------------------------


def _read_native_call(kind: str, block: dict[str, Any]) -> p.Part:
    """Read a call in the provider's own spelling."""
    hints: dict[str, Any] = {"type": kind}
    call_id, text = take_str(block, "id"), UNSET  # type: Any, Any
    item = _ITEM_CALLS.get(kind)
    if item is not None:
        name, given = item[0], block.pop(item[1], UNSET)
    elif kind == "mcp_call":
        name = take_str(block, "name")
        given, text = read_arguments(take_str(block, "arguments"))
    elif block.get("input") == {} and type(block.get("partial_json")) is str:
        name, hints["streamed"] = take_str(block, "name"), True
        given, text = read_arguments(block.pop("partial_json"))
        del block["input"]
    elif "input" in block:
        name, given = take_str(block, "name"), block.pop("input")
    else:
        raise SchemaMismatch("input")
    fields: dict[str, Any] = {"tool_call_id": call_id, "tool_name": name, "input": given, "input_text": text}
    return p.ToolCallPart(**fields, provider_executed=True, extra=pack(NAME, block, hints))


def _write_native_call(kind: str, part: p.ToolCallPart, rest: dict[str, Any], hints: dict[str, Any]) -> dict[str, Any]:
    out = set_present({"type": kind}, id=part.tool_call_id)
    item = _ITEM_CALLS.get(kind)
    if item is not None:
        return {**set_present(out, **{item[1]: part.input}), **rest}
    set_present(out, name=part.tool_name)
    if kind == "mcp_call":
        out["arguments"] = write_arguments(part)
    elif "streamed" in hints:
        out |= {"input": {}, "partial_json": write_arguments(part)}
    else:
        out["input"] = {} if part.input is UNSET else part.input
    return {**out, **rest}


def _is_native_result(kind: str) -> bool:
    """Whether a block of this type is a result in Anthropic's spelling."""
    return kind.endswith("_tool_result")


def _read_native_result(kind: str, block: dict[str, Any]) -> p.Part:
    call_id = take_str(block, "tool_use_id")
    if "content" not in block:
        raise SchemaMismatch("content")
    output = block.pop("content")
    inner = output.get("type") if type(output) is dict else None
    failed = block.get("is_error") is True or (type(inner) is str and inner.endswith("_error"))
    return p.ToolResultPart(
        tool_call_id=call_id,
        output=output,
        is_error=failed,
        provider_executed=True,
        id=take_maybe_str(block, "id"),
        extra=pack(NAME, block, {"type": kind}),
    )


def _write_native_result(kind: str, part: p.ToolResultPart, rest: dict[str, Any]) -> dict[str, Any]:
    out = set_present({"type": kind}, tool_use_id=part.tool_call_id, id=part.id)
    return {**set_present(out, content=part.output), **rest}


# -- blocks --------------------------------------------------------------------------------------------------------


def read_block(block: Any) -> Any:
    """Read a block; keep an unknown or malformed one as a raw part."""
    if type(block) is str:
        return _read_string(block)
    kind = block.get("type") if type(block) is dict else None
    if type(kind) is not str:
        return p.RawPart(format=NAME, value=block)
    try:
        if kind in TYPES:
            return read_file(block)
        if kind == "non_standard":
            return _read_wrapped(block)
        taken = dict(block)
        del taken["type"]
        if kind == "text" and block.get("text") == "" and type(block.get("reasoning")) is str:
            return _read_merged_reasoning(taken)
        if (reader := _READERS.get(kind)) is not None:
            part = reader(taken)
            return with_hints(part, bare=True) if kind in _WRAPPED else part
        if kind in _NATIVE_CALLS:
            return _read_native_call(kind, taken)
        if _is_native_result(kind):
            return _read_native_result(kind, taken)
    except SchemaMismatch:
        pass
    return p.RawPart(format=NAME, value=block)


def read_input_block(block: Any) -> Any:
    """Read a block of an input message: signatures in it are bound to no provider."""
    part = read_block(block)
    if type(part) is not p.ReasoningPart or part.binding is UNSET:
        return part
    part = replace(part, binding=UNSET)
    return with_hints(part, type="redacted_thinking") if part.encrypted is not UNSET else part


def _read_wrapped(block: dict[str, Any]) -> p.Part:
    inner: Any = block.get("value")
    kind = inner.get("type") if type(inner) is dict else None
    if type(kind) is not str or kind not in _WRAPPED:
        raise SchemaMismatch("value")
    taken = dict(inner)
    del taken["type"]
    around = {key: value for key, value in block.items() if key not in ("type", "value")}
    part: p.Part = _READERS[kind](taken)
    return with_hints(part, around=around) if around else part


def with_hints(part: Any, **more: Any) -> Any:
    rest, hints = unpack(NAME, part.extra)
    return replace(part, extra=pack(NAME, rest, {**hints, **more}))


def write_block(part: Any, provider: Any = UNSET) -> Any:
    """Write a block; UNSET for parts that content cannot hold."""
    writer = _WRITERS.get(type(part))
    made = writer(part, provider) if writer is not None else UNSET
    if type(made) is dict and made.get("type") in _WRAPPED and type(part) is not p.RawPart:
        hints = unpack(NAME, part.extra)[1]
        if "bare" not in hints:
            around = hints.get("around")
            return {"type": "non_standard", "value": made, **(around if type(around) is dict else {})}
    return made


_READERS: dict[str, Any] = {
    "text": _read_text,
    "reasoning": _read_reasoning,
    "thinking": _read_thinking,
    "redacted_thinking": _read_redacted,
    "refusal": _read_refusal,
    "compaction": _read_compaction,
    "server_tool_call": _read_server_call,
    "server_tool_result": _read_server_result,
}
_WRITERS: dict[type, Any] = {
    p.TextPart: _write_text,
    p.ReasoningPart: _write_reasoning,
    p.RefusalPart: _write_refusal,
    p.FilePart: lambda part, provider: write_file(part),
    p.ToolCallPart: _write_server_call,
    p.ToolResultPart: _write_server_result,
    p.CompactionPart: _write_as_text,
    p.RetryPart: _write_as_text,
    p.RawPart: lambda part, provider: part.value if part.format == NAME else UNSET,
}
