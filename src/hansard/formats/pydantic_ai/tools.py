"""Tool calls and results as Pydantic AI has them, those of the provider's own tools included.

canonical                      part_kind
tool-call                      tool-call; provider-executed: builtin-tool-call
tool-result                    tool-return; provider-executed: builtin-tool-return
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.pydantic_ai.fields import (
    Around,
    Dialect,
    filled,
    is_absent,
    kept,
    lacks,
    put_time,
    read_time,
    settle,
    taken,
)
from hansard.formats.pydantic_ai.files import digests, read_returned, tells_digests, write_returned
from hansard.formats.pydantic_ai.reasoning import put_signature, signed
from hansard.formats.residue import pack, take_maybe_str, take_str, unpack
from hansard.model import exact_json
from hansard.model.arguments import read_arguments, write_arguments
from hansard.model.calls import Place
from hansard.model.parts import Part, ToolCallPart, ToolResultPart

BUILTIN_CALL, BUILTIN_RETURN = "builtin-tool-call", "builtin-tool-return"
_BESIDE = ("denied", "interrupted")  # outcomes that ThreadProtocol's `status` cannot say
_NO_NAME = "unknown"


# -- calls ---------------------------------------------------------------------------------------------------------


def read_call(block: dict[str, Any], around: Around, kind: str = "tool-call") -> Part:
    dialect = around.dialect
    block = taken(block)
    marks: dict[str, Any] = {}
    name, args = take_str(block, "tool_name"), block.pop("args", UNSET)
    if dialect.documented:
        args = _take_documented(args, block, marks)
        kind = BUILTIN_CALL if block.get("provider_executed") is True else kind
        if kind == BUILTIN_CALL:
            del block["provider_executed"]
    settle(dialect.defaults.get(kind, {}), block, marks)
    call_id, part_id = take_call_id(block, marks), take_maybe_str(block, "id")
    fields = signed(block, marks, around)
    given, text = _read_args(args, marks)
    if kind == BUILTIN_CALL:
        fields["provider_executed"] = True
    extra = pack(dialect.name, block, marks)
    return ToolCallPart(
        tool_call_id=call_id, tool_name=name, id=part_id, input=given, input_text=text, **fields, extra=extra
    )


def _read_args(args: Any, marks: dict[str, Any]) -> tuple[Any, str | UnsetType]:
    """An object as it is; a string of JSON is marked only where it could have been an object."""
    if args is None:
        return UNSET, UNSET
    if args is UNSET:
        lacks(marks, "args")
        return UNSET, UNSET
    if type(args) is not str:
        if type(args) is not dict:
            marks["args"] = "data"
        return args, UNSET
    given, text = read_arguments(args)
    if not args:
        marks["args"] = "empty"
    elif text is UNSET and type(given) is dict:
        marks["args"] = "text"
    return given, text


_ARGS_TEXT = "args_text"


def _take_documented(args: Any, block: dict[str, Any], marks: dict[str, Any]) -> Any:
    """The arguments as the document has them: data, and beside it the text that Pydantic AI had it as."""
    text = block.get(_ARGS_TEXT)
    if type(text) is str and exact_json.same(read_arguments(text)[0], args):
        del block[_ARGS_TEXT]
        return text
    if type(args) is str and args and read_arguments(args)[0] is not UNSET:
        marks["text"] = True
    return args


def _documented(args: Any, part: ToolCallPart, marks: dict[str, Any]) -> dict[str, Any]:
    """Arguments that are text as data, and their text beside it."""
    if type(args) is not str or part.input is UNSET or marks.get("args") == "data" or marks.get("text") is True:
        return {"args": args}
    return {"args": part.input, _ARGS_TEXT: args}


def write_call(part: ToolCallPart, around: Around, place: Place) -> Any:
    rest, marks = unpack(around.dialect.name, part.extra)
    kind = BUILTIN_CALL if part.provider_executed is True and around.knows(BUILTIN_CALL) else "tool-call"
    how = marks.get("args")
    args: Any = part.input
    data = args is UNSET or type(args) is dict or how == "data"
    if type(part.input_text) is str or not data or (how == "text" and args is not UNSET):
        args = write_arguments(part)
    elif args is UNSET and how == "empty":
        args = ""
    out: dict[str, Any] = {"tool_name": _name(part, around)}
    if args is not UNSET or not is_absent(marks, "args"):
        args = None if args is UNSET else args
        out.update(_documented(args, part, marks) if around.dialect.documented else {"args": args})
    put_call_id(out, part, marks, around, place)
    out.update(filled(around.dialect.defaults[kind], marks))
    if kind == "tool-call" and part.provider_executed is True:
        out["provider_executed"] = True
    if part.id is not UNSET:
        out["id"] = part.id
    put_signature(out, part, rest, marks)
    return {**out, **rest, "part_kind": kind}


def _name(part: Any, around: Around) -> str:
    if type(part.tool_name) is str:
        return part.tool_name
    named = around.name_of(part.tool_call_id) if type(part.tool_call_id) is str else None
    return _NO_NAME if named is None else named


def take_call_id(block: dict[str, Any], marks: dict[str, Any]) -> str | UnsetType:
    """The id of the call a part is, or is about."""
    if "tool_call_id" not in block:
        lacks(marks, "tool_call_id")
    return take_maybe_str(block, "tool_call_id")


def put_call_id(out: dict[str, Any], part: Any, marks: dict[str, Any], around: Around, place: Place) -> None:
    """The id; a call that has none is given one, so that its result finds it."""
    if type(part.tool_call_id) is str:
        out["tool_call_id"] = part.tool_call_id
    elif not is_absent(marks, "tool_call_id") and (made := around.made_id(place)) is not None:
        out["tool_call_id"] = made


# -- results -------------------------------------------------------------------------------------------------------


def read_return(block: dict[str, Any], around: Around, kind: str = "tool-return") -> Part:
    dialect = around.dialect
    block = taken(block)
    marks: dict[str, Any] = {}
    name, call_id = take_str(block, "tool_name"), take_call_id(block, marks)
    if dialect.documented and block.get("provider_executed") is True:
        kind = BUILTIN_RETURN
        del block["provider_executed"]
    settle(dialect.defaults.get(kind, dialect.defaults["tool-return"]), block, marks)
    outcome = block.get(dialect.outcome)
    is_error = outcome is not None
    status: str | UnsetType = UNSET
    if type(outcome) is str and outcome in dialect.outcomes:
        is_error, status = dialect.outcomes[outcome]
        del block[dialect.outcome]
    if is_error and dialect.documented and status is UNSET and block.get("outcome") in _BESIDE:
        status = block.pop("outcome")
    read_time(block, marks, around)
    output, content = read_returned(block, marks, dialect)
    return ToolResultPart(
        tool_call_id=call_id,
        tool_name=name,
        output=output,
        content=content,
        is_error=is_error,
        status=status,
        provider_executed=True if kind == BUILTIN_RETURN else UNSET,
        extra=pack(dialect.name, block, marks),
    )


def write_plain_return(part: ToolResultPart, around: Around) -> Any:
    """A result that its table says; None for any other."""
    dialect = around.dialect
    if not around.fits_table("tool-return") or (dialect.documented and tells_digests(part.output, dialect)):
        return None
    return dialect.writers[ToolResultPart](part, around)


def write_return(part: ToolResultPart, around: Around, place: Place, kind: str = "tool-return") -> Any:
    if kind == "tool-return" and (written := write_plain_return(part, around)) is not None:
        return written
    dialect = around.dialect
    rest, marks = unpack(dialect.name, part.extra)
    content, files = write_returned(part, marks, dialect)
    out: dict[str, Any] = {"tool_name": _name(part, around)}
    if content is not UNSET or (dialect.times and not is_absent(marks, "content")):
        out["content"] = None if content is UNSET else content
    put_call_id(out, part, marks, around, place)
    out.update(filled(dialect.defaults[kind], marks))
    outcome = _outcome(part, dialect)
    if outcome != "success" or dialect.outcome not in dialect.defaults[kind]:
        out[dialect.outcome] = outcome
    put_time(out, rest, marks, around)
    if dialect.documented:
        if part.status in _BESIDE:
            out["outcome"] = part.status
        if part.provider_executed is True:
            out["provider_executed"] = True
    if tells_digests(content, dialect) and (dialect.documented or not is_absent(marks, "content_file_digests")):
        out["content_file_digests"] = digests(files)
    return {**out, **kept(rest, dialect), "part_kind": kind}


def write_server_return(part: ToolResultPart, around: Around, place: Place) -> Any:
    """Results of server tools belong to an answer; in dialects without a type for them, any result."""
    if not around.knows(BUILTIN_RETURN):
        return write_return(part, around, place)
    return write_return(part, around, place, BUILTIN_RETURN) if part.provider_executed is True else UNSET


def _outcome(part: ToolResultPart, dialect: Dialect) -> str:
    """The status of a call: the specific one, else the general one for an error."""
    for outcome, (_, status) in dialect.outcomes.items():
        if status is not UNSET and status == part.status:
            return outcome
    failed = part.is_error is True or part.status in ("error", "denied", "interrupted", "retried")
    return next(outcome for outcome, (is_error, _) in dialect.outcomes.items() if is_error is failed)
