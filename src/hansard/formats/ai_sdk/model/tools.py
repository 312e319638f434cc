"""Files and tool results of ModelMessages, and what each version of the AI SDK accepts of them.

    canonical                              native `output` of a tool-result
    output                                 text (a string), json (anything else)
    output, is_error                       error-text, error-json
    content                                content: text, image-data, image-url, file-data, file-url, media ...
    status denied, output the reason       execution-denied (version 5: error-text)

A file's `data` is written as the one form that every version reads from JSON: base64, an address or a data URL. The
tagged forms of version 7 (`{"type": "url", ...}`) are marks.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.ai_sdk.reasoning import take_opaque
from hansard.formats.residue import Unfit, pack, put, take_maybe_str, take_str, unpack
from hansard.model.display import Answer, denied, failed, shown_error, shown_media, shown_output
from hansard.model.parts import Binding, FilePart, Part, RawPart, TextPart, ToolResultPart

NAME = "ai-sdk-model"
_BYTES = ("media", "file-data", "image-data")
_ADDRESSES = ("file-url", "image-url")
_IDS = ("file-id", "image-file-id")


# -- files ---------------------------------------------------------------------------------------------------------


class DataForms:
    """The forms of a file's `data`: a string, or an object with a tag."""

    @staticmethod
    def read(block: dict[str, Any], data: Any, media: str, marks: dict[str, Any]) -> Part:
        fields: dict[str, Any] = {"media_type": media, "name": take_maybe_str(block, "filename")}
        head = f"data:{media};base64,"
        if type(data) is dict:
            tag, inner = _tagged(data)
            if tag == "reference":
                ((owner, fields["file_id"]),) = inner.items()
                fields["binding"] = Binding(provider=owner)
                marks["reference"] = owner
            else:
                marks["form"], data = tag, inner
        if type(data) is str:
            if data.startswith(head) and marks.get("form") != "data":
                fields["data"] = data[len(head) :]
                marks["form"] = "url" if marks.get("form") == "url" else "data-url"
            elif marks.get("form") == "url" or (":" in data and "form" not in marks):
                fields["url"] = data
            else:
                fields["data"] = data
        elif "reference" not in marks:
            raise Unfit("data")
        if "reference" not in marks:
            fields.update(take_opaque(block, "providerOptions", make=True))
        return FilePart(**fields, extra=pack(NAME, block, marks))

    @staticmethod
    def write(part: FilePart, marks: dict[str, Any], profile: str | None) -> Any:
        """The data of a file; None when there is nothing this side of its provider."""
        if type(marks.get("reference")) is str and part.file_id is not UNSET:
            reference = {marks["reference"]: part.file_id}
            return {"type": "reference", "reference": reference} if profile in (None, "v7") else None
        form = marks.get("form") if profile is None else None
        if part.data is not UNSET:
            if form == "data":
                return {"type": "data", "data": part.data}
            whole = f"data:{shown_media(part)};base64,{part.data}"
            return {"type": "url", "url": whole} if form == "url" else whole if form == "data-url" else part.data
        if part.url is UNSET:
            return None
        return {"type": "url", "url": part.url} if form == "url" else part.url


def _tagged(data: dict[str, Any]) -> tuple[str, Any]:
    kind = data.get("type")
    if kind in ("data", "url") and data.keys() == {"type", kind} and type(data[kind]) is str:
        return str(kind), data[kind]
    if kind == "reference" and data.keys() == {"type", "reference"}:
        inner = data["reference"]
        if type(inner) is dict and len(inner) == 1 and all(type(value) is str for value in inner.values()):
            return "reference", inner
    raise Unfit("data")


# -- results -------------------------------------------------------------------------------------------------------


def read_result(block: dict[str, Any], role: str) -> Part:
    """A tool-result; in an assistant message it is of a tool that the provider ran."""
    call_id, name, output = take_str(block, "toolCallId"), take_str(block, "toolName"), block.pop("output", None)
    if type(output) is not dict:
        raise Unfit("output")
    left = dict(output)
    kind = left.pop("type", None)
    fields: dict[str, Any] = {"is_error": kind in ("error-text", "error-json", "execution-denied")}
    marks: dict[str, Any] = {}
    if kind == "execution-denied":
        fields.update(status="denied", output=take_maybe_str(left, "reason"))
    elif "value" not in left:
        raise Unfit("output")
    elif kind == "content" and type(left["value"]) is list:
        fields["content"] = [_read_content(item) for item in left.pop("value")]
    elif kind in ("text", "error-text") and type(left["value"]) is str:
        fields["output"] = left.pop("value")
    elif kind in ("json", "error-json"):
        fields["output"] = left.pop("value")
        if type(fields["output"]) is str:
            marks["json"] = True
    else:
        raise Unfit("output")
    if left:
        marks["output"] = left
    if role == "assistant":
        fields["provider_executed"] = marks["provider"] = True
    return ToolResultPart(tool_call_id=call_id, tool_name=name, **fields, extra=pack(NAME, block, marks))


def write_result(part: Answer, call_id: str, name: str, profile: str | None) -> dict[str, Any]:
    """A tool-result for the call of that id and name."""
    out: dict[str, Any] = {"type": "tool-result", "toolCallId": call_id, "toolName": name}
    if part.extra is UNSET and type(part) is ToolResultPart and part.is_error is not True and part.status is UNSET:
        if part.content is UNSET and part.output is not UNSET:  # nearly always
            out["output"] = {"type": "text" if type(part.output) is str else "json", "value": part.output}
            return out
    rest, marks = unpack(NAME, part.extra)
    out["output"] = _write_output(part, marks, profile)
    if type(marks.get("output")) is dict:
        out["output"].update(marks["output"])
    return {**out, **rest}


def _write_output(part: Answer, marks: dict[str, Any], profile: str | None) -> dict[str, Any]:
    if denied(part):
        reason = shown_error(part)
        if profile == "v5":
            return {"type": "error-text", "value": reason or "Tool call execution denied."}
        said = type(part) is ToolResultPart and (part.output is not UNSET or part.content is not UNSET)
        return {"type": "execution-denied", "reason": reason} if said else {"type": "execution-denied"}
    if type(part) is ToolResultPart and part.content is not UNSET:
        if failed(part):
            return {"type": "error-text", "value": shown_error(part)}
        items = [made for inner in part.content if (made := _write_content(inner, profile)) is not UNSET]
        return {"type": "content", "value": items}
    value = shown_output(part)
    prefix = "error-" if failed(part) else ""
    kind = "text" if type(value) is str and not marks.get("json") else "json"
    return {"type": f"{prefix}{kind}", "value": value}


def _read_content(item: Any) -> Part:
    taken = dict(item) if type(item) is dict else {}
    kind = taken.pop("type", None)
    try:
        if kind == "text":
            return TextPart(text=take_str(taken, "text"), extra=pack(NAME, taken))
        if kind == "file":
            return DataForms.read(taken, taken.pop("data", None), take_str(taken, "mediaType"), {"kind": "file"})
        if kind in _BYTES:
            data, media = take_str(taken, "data"), take_str(taken, "mediaType")
            fields: dict[str, Any] = {"data": data, "media_type": media}
            if kind == "file-data":
                fields["name"] = take_maybe_str(taken, "filename")
        elif kind in _ADDRESSES:
            fields = {"url": take_str(taken, "url"), "media_type": "image/*" if kind == "image-url" else UNSET}
            if taken.get("mediaType") != fields["media_type"]:
                fields["media_type"] = take_maybe_str(taken, "mediaType") or fields["media_type"]
        elif kind in _IDS:
            fields = {"file_id": take_str(taken, "fileId")}
        else:
            raise Unfit("type")
    except Unfit:
        return RawPart(format=NAME, value=item)
    usual = _kind_of("url" in fields, fields.get("media_type", UNSET))
    return FilePart(**fields, extra=pack(NAME, taken, {"kind": kind} if kind != usual else {}))


def _kind_of(address: bool, media: str | UnsetType) -> str:
    image = media is not UNSET and media.startswith("image/")
    return f"{'image' if image else 'file'}-{'url' if address else 'data'}"


def _write_content(part: Any, profile: str | None) -> Any:
    if type(part) is RawPart:
        return part.value if part.format == NAME and profile is None else UNSET
    if type(part) is TextPart:
        return {"type": "text", "text": part.text, **unpack(NAME, part.extra)[0]}
    if type(part) is not FilePart:
        return UNSET
    rest, marks = unpack(NAME, part.extra)
    kind = marks.get("kind") if profile is None else None
    if kind == "file" and (data := DataForms.write(part, marks, profile)) is not None:
        return {**put({"type": "file", "data": data, "mediaType": shown_media(part)}, filename=part.name), **rest}
    if part.data is UNSET and part.url is UNSET:
        return {"type": kind, "fileId": part.file_id, **rest} if kind in _IDS else UNSET
    kind = kind if kind in (*_BYTES, *_ADDRESSES) else _kind_of(part.data is UNSET, part.media_type)
    if part.data is not UNSET:
        kind = "media" if profile == "v5" else kind
        out = {"type": kind, "data": part.data, "mediaType": shown_media(part)}
        return {**(put(out, filename=part.name) if kind == "file-data" else out), **rest}
    if profile == "v5":
        return UNSET
    out = {"type": kind, "url": part.url}
    if kind == "file-url" or part.media_type != "image/*":
        put(out, mediaType=part.media_type)
    return {**out, **rest}


# -- what a version accepts ----------------------------------------------------------------------------------------

_OPTIONAL: dict[str, type] = {
    "filename": str,
    "providerExecuted": bool,
    "reason": str,
    "signature": str,
    "isAutomatic": bool,
}


def accepted(records: list[dict[str, Any]], profile: str) -> list[dict[str, Any]]:
    """The messages with nothing that `modelMessageSchema` of the version refuses."""
    out: list[dict[str, Any]] = []
    for record in records:
        if record["role"] not in ("system", "user", "assistant", "tool"):
            continue
        content = record["content"]
        if type(content) is list:
            content = [_tidy(part) for part in content if _is_part(part, record["role"], profile)]
        out.append(_tidy({**record, "content": content}))
    return out


def _is_part(part: Any, role: str, profile: str) -> bool:
    kind = part.get("type") if type(part) is dict else None
    if type(kind) is not str or kind not in _ALLOWED[role]:
        return False
    if kind in _SINCE and profile < _SINCE[kind]:
        return False
    return all(type(part.get(key)) is str for key in _TEXTS[kind]) and _holds(part, kind, profile)


def _holds(part: dict[str, Any], kind: str, profile: str) -> bool:
    """Is there what the part is about, in a form that the version reads from JSON?"""
    if kind == "file":
        data = part.get("data")
        return type(data) is str or (profile == "v7" and type(data) is dict and _is_reference(data))
    if kind == "tool-call":
        return "input" in part
    if kind == "tool-approval-response":
        return type(part.get("approved")) is bool
    if kind != "tool-result":
        return True
    output: Any = part.get("output")
    name = output.get("type") if type(output) is dict else None
    if name == "execution-denied":
        return profile != "v5"
    value = {"text": str, "error-text": str, "content": list}.get(name) if type(name) is str else None
    if value is None:
        return name in ("json", "error-json") and "value" in output
    return type(output.get("value")) is value


def _is_reference(data: dict[str, Any]) -> bool:
    held = data.get("reference")
    return data.get("type") == "reference" and type(held) is dict and all(type(one) is str for one in held.values())


_SINCE = {"tool-approval-request": "v6", "tool-approval-response": "v6", "custom": "v7", "reasoning-file": "v7"}
_TEXTS: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "reasoning": ("text",),
    "file": ("mediaType",),
    "image": ("image",),
    "custom": ("kind",),
    "reasoning-file": ("mediaType", "data"),
    "tool-call": ("toolCallId", "toolName"),
    "tool-result": ("toolCallId", "toolName"),
    "tool-approval-request": ("approvalId", "toolCallId"),
    "tool-approval-response": ("approvalId",),
}
_ALLOWED: dict[str, frozenset[str]] = {
    "system": frozenset(),
    "user": frozenset({"text", "file", "image"}),
    "assistant": frozenset(_TEXTS) - {"image", "tool-approval-response"},
    "tool": frozenset({"tool-result", "tool-approval-response"}),
}


def _tidy(part: dict[str, Any]) -> dict[str, Any]:
    """Without optional fields of the wrong kind, in the part, its output and the items of that."""
    options = part.get("providerOptions")
    flat = type(options) is not dict or not all(type(one) is dict for one in options.values())
    out = {
        key: value
        for key, value in part.items()
        if not (key in _OPTIONAL and type(value) is not _OPTIONAL[key]) and not (key == "providerOptions" and flat)
    }
    if type(out.get("output")) is dict:
        output = _tidy(out["output"])
        if output.get("type") == "content":
            output["value"] = [_tidy(item) for item in output["value"]]
        out["output"] = output
    return out
