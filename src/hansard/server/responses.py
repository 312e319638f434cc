"""Responses: exact JSON, and errors as JSON `{error, path?, wayOut?}`, never a traceback.

An invalid request gives a 4xx that names the place. A failure of the ledger's disk or server gives 503, an internal
error 500 with its traceback in the log.
"""

from __future__ import annotations

import logging
from decimal import Decimal
from typing import Any, TypeVar

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException
from msgspec import UNSET, Struct, UnsetType

from hansard.errors import Conflict, HansardError, Unreadable
from hansard.model import exact_json, native
from hansard.model.parts import Node

T = TypeVar("T")
AnyRequest = Request[Any, Any, Any]
JSON = "application/json"
_log = logging.getLogger("hansard.server")


class Fault(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An error: `path` is the place in the request, `wayOut` the remedy.

    Of a conflict about the head of a thread, `expected` and `found` are the two heads.
    """

    error: str
    path: str | UnsetType = UNSET
    way_out: str | UnsetType = UNSET
    expected: str | UnsetType = UNSET
    found: str | UnsetType = UNSET


def answer(value: Any, status: int = 200) -> Response[bytes]:
    """Exact JSON of a value: unknown fields, lone surrogates and long numbers included."""
    return Response(encoded(value), status_code=status, media_type=JSON)


class _MeetsUnknown(Exception):
    pass


def _stop_at_unknown(value: Any) -> Any:
    raise _MeetsUnknown


_ENCODER = msgspec.json.Encoder(decimal_format="number", enc_hook=_stop_at_unknown)


def encoded(value: Any) -> bytes:
    """Values of the ledger, of the model and plain data as JSON."""
    try:
        return _ENCODER.encode(value)
    except (_MeetsUnknown, UnicodeEncodeError):
        return exact_json.encode(_plain(value))


def _plain(value: Any) -> Any:
    if isinstance(value, Node):
        return native.plain(value)
    if isinstance(value, Struct):
        fields = {field.encode_name: getattr(value, field.name) for field in msgspec.structs.fields(value)}
        return {name: _plain(item) for name, item in fields.items() if item is not UNSET}
    if type(value) is list:
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if type(value) is dict else value


def read_body(kind: type[T], body: bytes) -> T:
    """Decode the body of a request; an error names its place."""
    try:
        value = exact_json.decode(body)
    except Unreadable as error:
        raise Unreadable(error.problem, error.path, "send JSON as described in /schema") from None
    try:
        return msgspec.convert(value, kind, builtin_types=(Decimal,))
    except UnicodeEncodeError:
        raise Unreadable("a lone surrogate is not allowed here", "$", "see /schema") from None
    except msgspec.ValidationError as error:
        problem, _, place = str(error).rpartition(" - at ")
        raise Unreadable(problem or place, place.strip("`") if problem else "$", "see /schema") from None


def fault_of(error: HansardError) -> Fault:
    """Error response of an exception."""
    if isinstance(error, Unreadable):
        return Fault(error=error.problem, path=error.path, way_out=error.way_out or UNSET)
    if isinstance(error, Conflict):
        return Fault(error=str(error), expected=error.expected or UNSET, found=error.found or UNSET)
    return Fault(error=str(error))


def refused(_: AnyRequest, error: HansardError) -> Response[bytes]:
    """Handler of Hansard's errors."""
    return answer(fault_of(error), error.status)


def misdirected(_: AnyRequest, error: HTTPException) -> Response[bytes]:
    """Handler of the router's errors: unknown route or method, invalid parameter."""
    fault = Fault(error=error.detail or type(error).__name__)
    given = error.extra
    if isinstance(given, list) and given and isinstance(given[0], dict):
        place, problem = given[0].get("key"), given[0].get("message")
        fault = Fault(error=str(problem or fault.error), path=f"?{place}" if place else UNSET, way_out="see /schema")
    reply = answer(fault, error.status_code)
    reply.headers.update(error.headers or {})
    return reply


def failed(request: AnyRequest, error: Exception) -> Response[bytes]:
    """Handler of all other exceptions: an internal error."""
    _log.error("%s %s", request.method, request.scope["path"], exc_info=error)
    text = f"internal error ({type(error).__name__}); see the server's log and report it"
    return answer(Fault(error=text), 500)


def undecoded(request: AnyRequest, error: UnicodeDecodeError) -> Response[bytes]:
    """Handler of a query string that is not UTF-8; other decoding errors are internal errors."""
    if request.scope["query_string"].isascii():
        return failed(request, error)
    return answer(Fault(error="the query is not UTF-8", path="?", way_out="percent-encode it"), 400)


async def asked_once(request: AnyRequest) -> None:
    """Reject a request that gives a query parameter twice."""
    seen: set[str] = set()
    for key, _ in request.query_params.multi_items():
        if key in seen:
            raise Unreadable("parameter given twice", f"?{key[:100]}", "give it once")
        seen.add(key)


HANDLERS: dict[Any, Any] = {
    HansardError: refused,
    HTTPException: misdirected,
    UnicodeDecodeError: undecoded,
    Exception: failed,
}
