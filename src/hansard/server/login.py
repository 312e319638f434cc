"""How a browser comes in: the code of a login link, or a token, is exchanged for a cookie that no script can read.
How it leaves: the cookie is taken from it.

The code is behind the `#` of the link, so it is in no log and no `Referer`; the page at `/login` sends it here.
"""

from __future__ import annotations

from typing import cast

from litestar import Response, post
from msgspec import UNSET

from hansard.errors import Unreadable
from hansard.server import schemas as bodies
from hansard.server.access_control import Door, Refusal, cookie_name, too_often
from hansard.server.openapi import says
from hansard.server.responses import AnyRequest, Fault, answer, read_body
from hansard.server.tokens import COOKIE_DAYS, Tokens

_USED = Refusal(
    status=401,
    fault=Fault(
        error="this link was used before, or the server has started again since",
        way_out="enter the token, or open the link that the server printed last",
    ),
)


@post(
    "/api/login",
    operation_class=says(None, takes=bodies.Login, status=204, why="The cookie.", open=True),
    tags=["access"],
)
async def log_in(request: AnyRequest) -> Response[bytes]:
    """Give a browser its cookie for a token, or for the code of a login link; a code works once."""
    order = read_body(bodies.Login, await request.body())
    door = cast(Door, request.app.door)  # type: ignore[attr-defined]
    told = [given for given in (order.code, order.token) if given is not UNSET]
    if len(told) != 1:
        raise Unreadable("a code or a token belongs here", "$", "give one of the two")
    if door.tokens is None:
        return Response(b"", status_code=204)
    cookie = _cookie(door, door.tokens, request, order)
    if isinstance(cookie, Refusal):
        reply = answer(cookie.fault, cookie.status)
        if cookie.wait:
            reply.headers["retry-after"] = str(cookie.wait)
        return reply
    if cookie is None:
        return Response(b"", status_code=204)
    return _gives(request, cookie, COOKIE_DAYS * 86400)


@post("/api/logout", operation_class=says(None, status=204, why="The cookie is gone.", open=True), tags=["access"])
async def log_out(request: AnyRequest) -> Response[bytes]:
    """Take the cookie from a browser; a copy of it that somebody else has ends with its date or its token."""
    return _gives(request, "", 0)


def _gives(request: AnyRequest, cookie: str, seconds: int) -> Response[bytes]:
    name, safe = cookie_name(request.headers.get("host", "")), "; Secure" if request.url.scheme == "https" else ""
    value = f"{name}={cookie}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{safe}"
    return Response(b"", status_code=204, headers={"set-cookie": value})


def _cookie(door: Door, tokens: Tokens, request: AnyRequest, order: bodies.Login) -> str | Refusal | None:
    """The cookie for what was given; None for a browser with one that is good, which opens its link again."""
    if isinstance(order.token, str):
        token = order.token.strip().encode("utf-8", "surrogatepass")
        entered = door.try_token(request.scope, token)
        return entered if isinstance(entered, Refusal) else tokens.cookie_for_token(token)
    has = door.cookie_of(request.scope)
    if has is not None and tokens.find_cookie(has) is not None:
        return None
    code, address = str(order.code).encode("utf-8", "surrogatepass"), request.client.host if request.client else ""
    if wait := door.attempts.wait(address, code):
        return too_often(wait)
    if (cookie := tokens.cookie_for_code(code)) is not None:
        return cookie
    door.attempts.failed(address)
    return _USED


ROUTES = [log_in, log_out]
