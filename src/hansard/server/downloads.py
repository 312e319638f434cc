"""Downloads of files in the ledger. They are untrusted: a browser may save them and display four kinds of images,
recognised by their first bytes, but never run, frame or sniff them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from litestar import Response, get
from litestar.params import FromPath
from msgspec import UNSET

from hansard.errors import NotFound
from hansard.model.conversation import Message
from hansard.model.parts import FilePart, ToolResultPart
from hansard.server.app_state import named, served
from hansard.server.openapi import downloads
from hansard.server.responses import AnyRequest

_PICTURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
_LONGEST = 200


@get(
    "/api/threads/{thread_id:str}/messages/{message_id:str}/files/{number:int}",
    operation_class=downloads(404),
    tags=["messages"],
)
async def get_file(
    request: AnyRequest, thread_id: FromPath[str], message_id: FromPath[str], number: FromPath[int]
) -> Response[bytes]:
    """Bytes of a file of a message; numbers start at 0 and include files in tool results."""
    message = await served(request).aio.get(named(thread_id), named(message_id))
    for i, part in enumerate(_files(message)):
        if i == number and (data := _bytes(part)) is not None:
            return Response(data, media_type=_kind(data), headers=_headers(part))
    raise NotFound(f"message {named(message_id)!r} has no stored file {number}")


def _files(message: Message) -> Iterator[FilePart]:
    parts: list[Any] = list(message.parts)
    for part in parts:
        if isinstance(part, ToolResultPart) and isinstance(part.content, list):
            yield from (inner for inner in part.content if isinstance(inner, FilePart))
        elif isinstance(part, FilePart):
            yield part


def _bytes(part: FilePart) -> bytes | None:
    """Bytes stored in the ledger; URLs are never fetched."""
    text = part.data
    if text is UNSET and isinstance(part.url, str) and part.url[:5].lower() == "data:":
        head, _, text = part.url.partition(",")
        if not head.lower().endswith(";base64"):
            return unquote_to_bytes(text)
    if not isinstance(text, str):
        return None
    try:
        plain = "".join(text.split()).translate({ord("-"): "+", ord("_"): "/"})
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return text.encode("utf-8", "surrogatepass")


def _kind(data: bytes) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for mark, kind in _PICTURES.items() if data.startswith(mark)), "application/octet-stream")


def _headers(part: FilePart) -> dict[str, str]:
    name = part.name if isinstance(part.name, str) else ""
    safe = "".join(sign if sign.isalnum() or sign in "._ -" else "_" for sign in name).lstrip(".")[:_LONGEST]
    return {
        "content-disposition": f"attachment; filename*=UTF-8''{quote(safe or 'file')}",
        "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    }


ROUTES = [get_file]
