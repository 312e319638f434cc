"""Login and logout of browsers: a one-time code or a token is exchanged for an HttpOnly cookie.

The code stands after the `#` of the login link, so that it appears in no log and no `Referer`; `/login` posts it here.
"""

from __future__ import annotations

from typing import cast

from litestar import Response, post
from msgspec import UNSET

from hansard.errors import Unreadable
from hansard.server import schemas as bodies
from hansard.server.access_control import AccessControl, Refusal, cookie_name, too_many_attempts
from hansard.server.openapi import says
from hansard.server.responses import AnyRequest, Fault, answer, read_body
from hansard.server.tokens import COOKIE_DAYS, Tokens

_USED = Refusal(
    status=401,
    fault=Fault(
        error="this link was used before, or the server was restarted",
        way_out="enter the token, or open the link that the server printed last",
    ),
)


@post(
    "/api/login",
    operation_class=says(None, takes=bodies.Login, status=204, why="The cookie.", open=True),
    tags=["access"],
)
async def log_in(request: AnyRequest) -> Response[bytes]:
    """Exchange a token or the code of a login link for a cookie; a code works once."""
    order = read_body(bodies.Login, await request.body())
    access = cast(AccessControl, request.app.access_control)  # type: ignore[attr-defined]
    given = [value for value in (order.code, order.token) if value is not UNSET]
    if len(given) != 1:
        raise Unreadable("expected a code or a token", "$", "give one of the two")
    if access.tokens is None:
        return Response(b"", status_code=204)
    cookie = _cookie(access, access.tokens, request, order)
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
    """Delete the browser's cookie; a copy stays valid until its date or until its token is removed."""
    return _gives(request, "", 0)


def _gives(request: AnyRequest, cookie: str, seconds: int) -> Response[bytes]:
    name, safe = cookie_name(request.headers.get("host", "")), "; Secure" if request.url.scheme == "https" else ""
    value = f"{name}={cookie}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{safe}"
    return Response(b"", status_code=204, headers={"set-cookie": value})


def _cookie(access: AccessControl, tokens: Tokens, request: AnyRequest, order: bodies.Login) -> str | Refusal | None:
    """Cookie for a code or token; None if the browser already has a valid one."""
    if isinstance(order.token, str):
        token = order.token.strip().encode("utf-8", "surrogatepass")
        entered = access.try_token(request.scope, token)
        return entered if isinstance(entered, Refusal) else tokens.cookie_for_token(token)
    has = access.cookie_of(request.scope)
    if has is not None and tokens.find_cookie(has) is not None:
        return None
    code, address = str(order.code).encode("utf-8", "surrogatepass"), request.client.host if request.client else ""
    if wait := access.attempts.wait(address, code):
        return too_many_attempts(wait)
    if (cookie := tokens.cookie_for_code(code)) is not None:
        return cookie
    access.attempts.failed(address)
    return _USED


ROUTES = [log_in, log_out]
