"""Documents over HTTP: threads as documents of any format and back, and conversions without a ledger.

Reading and writing documents is work for the processor: it runs in threads, never on the event loop.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

from litestar import Response, get, post
from litestar.params import FromPath, QueryParameter
from msgspec import UNSET

from hansard import formats
from hansard.errors import Unreadable
from hansard.formats.contract import Format, Target
from hansard.formats.rules.checks import validate
from hansard.ledger.ids import new_id
from hansard.ledger.ledger import Ledger
from hansard.server import schemas as bodies
from hansard.server.app_state import named, served
from hansard.server.openapi import says
from hansard.server.responses import AnyRequest, answer, read_body
from hansard.server.schemas import Converted, Imported, Validated, converted, data_of


@get("/api/formats", operation_class=says(list[bodies.FormatShown]), tags=["documents"])
async def list_formats() -> Response[bytes]:
    """Formats that can be read and written."""
    return answer(await asyncio.to_thread(lambda: [_shown(formats.get(name)) for name in formats.names()]))


def _shown(format: Format) -> bodies.FormatShown:
    return bodies.FormatShown(
        name=format.name,
        title=format.title,
        profiles=list(format.profiles),
        text=format.text,
        trees=format.trees,
        read=not format.write_only,
    )


@get("/api/threads/{thread_id:str}/export", operation_class=says(Converted, 404), tags=["documents"])
async def export_thread(
    request: AnyRequest,
    thread_id: FromPath[str],
    to: Annotated[str, QueryParameter(name="format", description="The format to write.")] = "hansard",
    target: Annotated[str | None, QueryParameter(description="A profile of the format, as v6 of ai-sdk-ui.")] = None,
) -> Response[bytes]:
    """Export a thread as a document, with its losses."""
    return await asyncio.to_thread(_export, served(request).ledger, named(thread_id), to, target)


def _export(ledger: Ledger, thread_id: str, to: str, target: str | None) -> Response[bytes]:
    formats.get(to)
    aim = Target(profile=target, at=ledger.thread(thread_id).created_at)
    return answer(converted(formats.write(ledger.export_conversation(thread_id), to, target=aim)))


@post(
    "/api/import",
    operation_class=says(list[Imported], 404, 409, takes=bodies.Import),
    status_code=200,
    tags=["documents"],
)
async def import_document(request: AnyRequest) -> Response[bytes]:
    """Import the conversations of a document; only new messages are added.

    A conversation becomes the thread of its own id, or of `threadId`; one without an id becomes a new thread.
    """
    return await asyncio.to_thread(_import, served(request).ledger, await request.body())


def _import(ledger: Ledger, body: bytes) -> Response[bytes]:
    order = read_body(bodies.Import, body)
    found = formats.read_all(data_of(order), None if order.format is UNSET else order.format)
    if order.thread_id is not UNSET and len(found) != 1:
        raise Unreadable(f"{len(found)} conversations for one thread", "$.threadId", "leave it out")
    done: list[Imported] = []
    for conversation in found:
        own = conversation.id if isinstance(conversation.id, str) else ""
        key = order.thread_id if isinstance(order.thread_id, str) and order.thread_id else own or new_id()
        synced = ledger.sync(key, conversation)
        done.append(
            Imported(thread_id=key, known=synced.known, added=synced.added, head=synced.head, forked=synced.forked)
        )
    return answer(done)


@post("/api/convert", operation_class=says(Converted, takes=bodies.Convert), status_code=200, tags=["documents"])
async def convert_document(request: AnyRequest) -> Response[bytes]:
    """Convert a document to another format, with its losses."""
    return await asyncio.to_thread(_convert, await request.body())


def _convert(body: bytes) -> Response[bytes]:
    order = read_body(bodies.Convert, body)
    formats.get(order.to)
    from_ = None if order.format is UNSET else order.format
    target = None if order.target is UNSET else order.target
    model = None if order.model is UNSET else order.model
    most = None if order.max_tokens is UNSET else order.max_tokens
    written = formats.convert(data_of(order), order.to, from_, target=target, model=model, max_tokens=most)
    return answer(converted(written))


@post("/api/validate", operation_class=says(Validated, takes=bodies.Validate), status_code=200, tags=["documents"])
async def validate_document(request: AnyRequest) -> Response[bytes]:
    """Validate the conversations of a document, optionally against a provider's rules."""
    return await asyncio.to_thread(_validate, await request.body())


def _validate(body: bytes) -> Response[bytes]:
    order = read_body(bodies.Validate, body)
    provider = None if order.provider is UNSET else order.provider
    findings = validate(data_of(order), provider, None if order.format is UNSET else order.format)
    return answer(Validated(valid=all(one.severity != "error" for one in findings), findings=findings))


ROUTES = [list_formats, export_thread, import_document, convert_document, validate_document]
