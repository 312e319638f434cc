"""Content blocks of the Anthropic Messages API: the blocks with logic, and reading and writing any block.

`context` of a reader is a dict: the names of the tools that were called so far, by the id of the call.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.formats.anthropic.fields import CACHE, CALL, COMPACTION, NAME, REDACTED, TEXT, THINKING
from hansard.formats.anthropic.files import DOCUMENT, IMAGE, write_file
from hansard.formats.field_table.blocks import Block, Blocks
from hansard.formats.field_table.rows import Row
from hansard.formats.residue import SchemaMismatch, unpack
from hansard.model import exact_json
from hansard.model import parts as p

# -- results of tools ----------------------------------------------------------------------------------------------


def _read_result_content(value: Any, names: dict[str, str], hints: dict[str, Any]) -> tuple[Any, Any]:
    if type(value) is not list:
        raise SchemaMismatch("anthropic tool_result: content must be a string or a list")
    return UNSET, BLOCKS.read_all(value, names)


def _write_result_content(part: p.ToolResultPart, hints: dict[str, Any]) -> Any:
    if part.content is not UNSET:
        return [write_block(inner) for inner in part.content]
    return part.output if part.output is UNSET else exact_json.encode(part.output).decode()


def _read_is_error(value: Any, names: dict[str, str], hints: dict[str, Any]) -> bool:
    if value is not True:
        hints["is_error"] = value
    return value is True


def _write_is_error(part: p.ToolResultPart, hints: dict[str, Any]) -> Any:
    return True if part.is_error is True else hints.get("is_error", UNSET)


_RESULT = Block(
    NAME,
    "tool_result",
    p.ToolResultPart,
    [
        Row("tool_use_id", "tool_call_id", str, True),
        Row("content", ("output", "content"), str, read=_read_result_content, write=_write_result_content),
        Row("is_error", "is_error", absent=False, read=_read_is_error, write=_write_is_error),
        CACHE,
    ],
    derived={"tool_name": ("tool_call_id", lambda call_id, names: names.get(call_id, UNSET))},
)


def _read_server_result(block: dict[str, Any], names: dict[str, str]) -> p.Part:
    """The result of a server tool: an error also shows in the type of the content."""
    kind, call_id, content = block["type"], block.get("tool_use_id"), block.get("content", UNSET)
    if type(call_id) is not str:
        raise SchemaMismatch(f"anthropic {kind}: tool_use_id must be a string")
    failed = type(content) is dict and str(content.get("type", "")).endswith("_error")
    return p.ToolResultPart(
        tool_call_id=call_id,
        tool_name=names.get(call_id, kind.removesuffix("_tool_result")),
        output=content,
        is_error=failed or block.get("is_error") is True,
        provider_executed=True,
        extra=_SERVER_RESULT.residue(block, {"type": kind}),
    )


_SERVER_RESULT = Block(
    NAME,
    "web_search_tool_result",
    p.ToolResultPart,
    [Row("tool_use_id", "tool_call_id", str, True), Row("content", "output"), Row("caller"), CACHE],
    reader=_read_server_result,
)


def _write_result(part: p.ToolResultPart) -> dict[str, Any]:
    if part.extra is not UNSET and "type" in unpack(NAME, part.extra)[1]:
        return _SERVER_RESULT.write(part)
    return _RESULT.write(part)


# -- any block -----------------------------------------------------------------------------------------------------

BLOCKS = Blocks(
    *(TEXT, THINKING, REDACTED, COMPACTION, CALL, _RESULT, _SERVER_RESULT, IMAGE, DOCUMENT),
    other=lambda name: _SERVER_RESULT if name.endswith("_tool_result") else None,
)
read_block = BLOCKS.read

_WRITERS: dict[type, Any] = {
    p.TextPart: TEXT.write,
    p.ReasoningPart: lambda part: (THINKING if part.encrypted is UNSET else REDACTED).write(part),
    p.CompactionPart: COMPACTION.write,
    p.ToolCallPart: CALL.write,
    p.ToolResultPart: _write_result,
    p.FilePart: write_file,
    p.RawPart: lambda part: part.value,
}
# The same as structs where a part has no residue: quicker to make and to encode.
RECORD_WRITERS: dict[type, Any] = {
    **_WRITERS,
    p.TextPart: TEXT.write_record,
    p.ToolCallPart: CALL.write_record,
    p.ToolResultPart: lambda part: (_RESULT.write_record if part.extra is UNSET else _write_result)(part),
}


def write_block(part: p.Part) -> Any:
    """A part as a block of plain values."""
    return _WRITERS[type(part)](part)
