"""What LangChain's answers hold beside content: `response_metadata`, `usage_metadata` and `additional_kwargs`."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import force_setattr, replace

from hansard.formats.langchain.content import read_block, write_block
from hansard.formats.langchain.files import NAME, merge_deep
from hansard.formats.residue import HINTS, pack, set_present, take_maybe_str, unpack
from hansard.model.arguments import read_arguments, write_arguments
from hansard.model.conversation import Message, ModelRef, Usage
from hansard.model.hashing import opaque
from hansard.model.parts import Binding, ReasoningPart, RefusalPart, ToolCallPart

_PROVIDERS = {"google_genai": "google"}  # LangChain's name: canonical name
_NATIVE = {ours: theirs for theirs, ours in _PROVIDERS.items()}
_FINISH = {
    "finish_reason": {"tool_calls": "tool_call", "STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter"},
    "stop_reason": {"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_call", "refusal": "content_filter"},
}
_COUNTS = {
    "input_tokens": ("input_tokens",),
    "output_tokens": ("output_tokens",),
    "total_tokens": ("total_tokens",),
    "cache_read_tokens": ("input_token_details", "cache_read"),
    "cache_write_tokens": ("input_token_details", "cache_creation"),
    "reasoning_tokens": ("output_token_details", "reasoning"),
}
_REQUIRED = ("input_tokens", "output_tokens", "total_tokens")


def provider_of(message: Message) -> Any:
    """The provider whose signatures the message may carry: that of its model, else that of its first signature."""
    if message.model is not UNSET and message.model.provider is not UNSET:
        return message.model.provider
    part: Any
    for part in message.parts:
        if opaque(part) and part.binding is not UNSET and part.binding.provider is not UNSET:
            return part.binding.provider
    return UNSET


def in_standard_blocks(fields: dict[str, Any]) -> bool:
    """Whether an answer says that its content is in the standard spelling."""
    meta = fields.get("response_metadata")
    return type(meta) is dict and meta.get("output_version") == "v1" and type(fields.get("content")) is list


def read_metadata(message: Message, fields: dict[str, Any], hints: dict[str, Any], standard: bool) -> Message:
    """Add model, finish reason and usage to the message."""
    meta = fields.pop("response_metadata", UNSET)
    usage = _read_usage(fields, hints)
    if type(meta) is not dict:
        _bind(message, UNSET, UNSET, hints)
        set_present(fields, response_metadata=meta)
        return replace(message, usage=usage) if usage is not UNSET else message
    meta = dict(meta)
    known = len(meta)
    if standard:
        del meta["output_version"]
    provider, response_id = take_maybe_str(meta, "model_provider"), take_maybe_str(meta, "id")
    name = take_maybe_str(meta, "model_name")
    if name is UNSET and (name := take_maybe_str(meta, "model")) is not UNSET:
        hints["model"] = True
    if type(provider) is str:
        given, provider = provider, _PROVIDERS.get(provider, provider)
        if _NATIVE.get(provider, provider) != given:
            hints["provider"] = given
    _bind(message, provider, name, hints)
    model: Any = ModelRef(provider=provider, name=name, response_id=response_id)
    if model == ModelRef() or (name is UNSET is response_id and any(map(opaque, message.parts))):
        model = UNSET
    finish = _read_finish(meta, hints)
    if meta or not known:
        fields["response_metadata"] = meta
    return replace(message, model=model, usage=usage, finish_reason=finish)


def _bind(message: Message, provider: Any, model: Any, hints: dict[str, Any]) -> None:
    """Bind opaque parts to the provider that answered; without one, to the provider whose spelling they have."""
    part: Any
    for part in message.parts:
        if not opaque(part):
            continue
        if provider is not UNSET:
            force_setattr(part, "binding", Binding(provider=provider, model=model))
        elif part.binding is not UNSET:
            force_setattr(part, "binding", replace(part.binding, model=model))
            hints["provider"] = False


def _read_finish(meta: dict[str, Any], hints: dict[str, Any]) -> Any:
    for key, reasons in _FINISH.items():
        given = take_maybe_str(meta, key)
        if given is not UNSET:
            finish = reasons.get(str(given), str(given))
            if _default_finish(finish) != {key: given}:
                hints["finish"] = {key: given}
            return finish
    return UNSET


def _default_finish(finish: str) -> dict[str, Any]:
    return {"finish_reason": "tool_calls" if finish == "tool_call" else finish}


def _read_usage(fields: dict[str, Any], hints: dict[str, Any]) -> Any:
    given = fields.get("usage_metadata")
    if type(given) is not dict:
        return UNSET
    left = {key: dict(value) if type(value) is dict else value for key, value in given.items()}
    counts: dict[str, Any] = {}
    for name, path in _COUNTS.items():
        held: Any = left if len(path) == 1 else left.get(path[0])
        if type(held) is dict and type(held.get(path[-1])) is int:
            counts[name] = held.pop(path[-1])
            if not left.get(path[0], True):
                del left[path[0]]
    if not counts:
        return UNSET
    if missing := [key for key in _REQUIRED if key not in counts]:
        hints["uncounted"] = missing
    if left:
        fields["usage_metadata"] = left
    else:
        del fields["usage_metadata"]
    return Usage(**counts)


def write_metadata(message: Message, hints: dict[str, Any], standard: bool, rest: dict[str, Any]) -> dict[str, Any]:
    """Write the fields that `read_metadata` reads, merged with their residue."""
    model = message.model if message.model is not UNSET else ModelRef()
    meta: dict[str, Any] = set_present({}, **{"model" if hints.get("model") is True else "model_name": model.name})
    provider = model.provider
    if provider is UNSET and hints.get("provider") is not False:
        provider = provider_of(message)
    if type(provider) is str:
        kept = hints.get("provider")
        as_given = type(kept) is str and _PROVIDERS.get(kept, kept) == provider
        meta["model_provider"] = kept if as_given else _NATIVE.get(provider, provider)
    set_present(meta, id=model.response_id)
    if type(message.finish_reason) is str:
        meta |= _write_finish(message.finish_reason, hints)
    if standard:
        meta["output_version"] = "v1"
    out: dict[str, Any] = {}
    if meta:
        left = rest.pop("response_metadata", {})
        out["response_metadata"] = {**meta, **left} if type(left) is dict else left
    if message.usage is not UNSET:
        out |= _write_usage(message.usage, hints, rest)
    return out


def _write_finish(finish: str, hints: dict[str, Any]) -> dict[str, Any]:
    kept = hints.get("finish")
    if type(kept) is dict and _read_finish(dict(kept), {}) == finish:
        return kept
    return _default_finish(finish)


def _write_usage(usage: Usage, hints: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    counts: dict[str, Any] = {}
    for name, path in _COUNTS.items():
        value = getattr(usage, name)
        if value is not UNSET:
            (counts if len(path) == 1 else counts.setdefault(path[0], {}))[path[-1]] = value
    missing = hints.get("uncounted")
    left = rest.pop("usage_metadata", {})
    for key in _REQUIRED:  # LangChain requires all three together
        if key not in counts and not (type(missing) is list and key in missing):
            counts[key] = counts.get("input_tokens", 0) + counts.get("output_tokens", 0) if key[0] == "t" else 0
    return {"usage_metadata": merge_deep(counts, left) if type(left) is dict else left}


# -- `additional_kwargs` of some providers -------------------------------------------------------------------------


def read_kwargs(fields: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The parts before content, and the parts after it."""
    given = fields.get("additional_kwargs")
    if type(given) is not dict:
        return [], []
    left = dict(given)
    before: list[Any] = []
    after: list[Any] = []
    if left.get("reasoning_content") and type(left["reasoning_content"]) is str:
        before.append(ReasoningPart(text=left.pop("reasoning_content"), extra=_hint_at("reasoning_content")))
    if type(reasoning := _read_legacy_reasoning(left.get("reasoning"))) is ReasoningPart:
        before.append(reasoning)
        del left["reasoning"]
    if left.get("refusal") and type(left["refusal"]) is str:
        after.append(RefusalPart(text=left.pop("refusal"), extra=_hint_at("refusal")))
    call = left.get("function_call")
    if type(call) is dict and len(call) == 2 and type(call.get("name")) is type(call.get("arguments")) is str:
        data, text = read_arguments(call["arguments"])
        after.append(ToolCallPart(tool_name=call["name"], input=data, input_text=text, extra=_hint_at("function_call")))
        del left["function_call"]
    if len(left) != len(given):
        fields["additional_kwargs"] = left
        if not left:
            del fields["additional_kwargs"]
    return before, after


def _read_legacy_reasoning(given: Any) -> Any:
    """Read OpenAI's reasoning as older versions wrote it."""
    if type(given) is not dict or given.get("type") != "reasoning":
        return UNSET
    part = read_block(given)
    rest, hints = unpack(NAME, part.extra)
    return replace(part, extra=pack(NAME, rest, {**hints, "at": "reasoning"}))


def write_kwarg(part: Any, kwargs: dict[str, Any], provider: Any) -> bool:
    """Write the part into `additional_kwargs` if it was read from there; return whether it was."""
    at = str(unpack(NAME, part.extra)[1].get("at")) if part.extra is not UNSET else ""
    value: Any = UNSET
    if (type(part), at) in ((ReasoningPart, "reasoning_content"), (RefusalPart, "refusal")):
        value = part.text
    elif at == "reasoning" and type(part) is ReasoningPart:
        value = write_block(part, provider)
    elif at == "function_call" and type(part) is ToolCallPart:
        value = {"name": part.tool_name if type(part.tool_name) is str else "", "arguments": write_arguments(part)}
    if not value or at in kwargs:  # UNSET is false
        return False
    kwargs[at] = value
    return True


def _hint_at(key: str) -> dict[str, Any]:
    return {NAME: {HINTS: {"at": key}}}
