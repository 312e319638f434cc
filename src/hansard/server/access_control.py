"""Who may come in: checked before anything else is looked at.

- `Host` must be an address or a name we were given: a page that points its own name at us is turned away (421).
- A request that a browser makes must be one of our own pages', or of an origin that was allowed: `Origin` and
  `Sec-Fetch-Site` (403). What changes something must declare its body as JSON, which no form can do (415).
- With tokens, every request carries one as `Authorization: Bearer`, or the cookie a browser was given for one (401).
  Who is wrong too often waits (429). A token that may read only changes nothing (403).
- A cookie counts only for our own pages; to change something a browser must say that it is one.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from hansard.server.responses import Fault
from hansard.server.tokens import OPEN, Attempts, Grant, Tokens

LOOPBACK = ("localhost", "127.0.0.1", "::1")
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
]
_SAFE = ("GET", "HEAD", "OPTIONS")
_LONGEST = 4096  # bytes of a token or of all cookies


class Refusal(Struct, frozen=True, kw_only=True):
    """Why somebody is turned away, and how many seconds to wait before trying again."""

    status: int
    fault: Fault
    wait: int = 0


def is_loopback(host: str) -> bool:
    """Can only this machine reach it?"""
    if host == "localhost":
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


class Door:
    """`hosts` are the names we are known by besides localhost, `origins` other sites whose pages may ask."""

    def __init__(self, tokens: Tokens | None, hosts: Iterable[str], origins: Iterable[str]) -> None:
        self.tokens, self.attempts = tokens, Attempts()
        self._hosts = {host.lower() for host in (*LOOPBACK, *hosts)}
        self._origins = set(origins)

    def enter(self, scope: Any, *, needs_token: bool = True) -> Grant | Refusal:
        """What somebody may do here, or why nothing; what is the same for everybody needs no token."""
        method, headers = scope["method"], folded(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if not self._known(host):
            way_out = "use localhost, or start with --allow-host NAME"
            return _refusal(421, f"this server is not known as {host[:200]!r}", way_out)
        if method not in _SAFE or needs_token:
            if (stranger := self._stranger(host, headers)) is not None:
                way_out = "ask from a page of this server, or start with --allow-origin ORIGIN"
                return _refusal(403, f"a page of {stranger} may not come in here", way_out)
        if method not in (*_SAFE, "DELETE") and _has_body(headers) and not _is_json(headers):
            kind = headers.get(b"content-type", b"").decode("latin-1")
            return _refusal(415, f"a body of type {kind[:200]!r}", "send JSON with content-type: application/json")
        if self.tokens is None or not needs_token or method == "OPTIONS":
            return OPEN
        grant = self._grant(self.tokens, scope, host, headers)
        if isinstance(grant, Grant) and grant.role == "read" and method not in _SAFE:
            return _refusal(403, "this token may read only", "use one that may write")
        return grant

    def _grant(self, tokens: Tokens, scope: Any, host: str, headers: dict[bytes, bytes]) -> Grant | Refusal:
        if len(headers.get(b"authorization", b"")) > _LONGEST or len(headers.get(b"cookie", b"")) > 2 * _LONGEST:
            return _refusal(431, "the token or the cookies are too long", f"at most {_LONGEST} bytes")
        if b"authorization" not in headers:
            cookie = self.cookie_of(scope)
            found = None if cookie is None else tokens.find_cookie(cookie)
            if found is None:
                return _NO_TOKEN
            if scope["method"] not in _SAFE and not _own_page(host, headers):
                return _refusal(
                    403, "a cookie alone changes nothing", "ask from a page of this server, or with a token"
                )
            return found
        scheme, _, given = headers[b"authorization"].partition(b" ")
        return self.try_token(scope, given.strip()) if scheme.lower() == b"bearer" else _NO_TOKEN

    def try_token(self, scope: Any, token: bytes) -> Grant | Refusal:
        """What a token opens, unless wrong ones came from there too often."""
        assert self.tokens is not None
        address = scope["client"][0] if scope.get("client") else ""
        if wait := self.attempts.wait(address, token):
            return too_often(wait)
        grant = self.tokens.find(token)
        if grant is None:
            self.attempts.failed(address)
            return _NO_TOKEN
        self.attempts.succeeded(address, token)
        return grant

    def cookie_of(self, scope: Any) -> str | None:
        """Our cookie, if a page of ours sends it: pages of other ports have the same cookies."""
        headers = folded(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self._stranger(host, headers, ours_only=True) is not None:
            return None
        name = f"{cookie_name(host)}="
        for pair in headers.get(b"cookie", b"").decode("latin-1").split(";"):
            if pair.strip().startswith(name):
                return pair.strip().removeprefix(name)
        return None

    def _known(self, host: str) -> bool:
        """Names are listed. An address needs no list: it is names that can be pointed at us."""
        name = host[1 : host.find("]")] if host.startswith("[") else host.partition(":")[0]
        return name in self._hosts or _address(name) is not None

    def _stranger(self, host: str, headers: dict[bytes, bytes], *, ours_only: bool = False) -> str | None:
        origin = headers.get(b"origin", b"").decode("latin-1")
        if origin in self._origins and not ours_only:
            return None
        if origin and origin.partition("://")[2].lower() != host:
            return repr(origin[:200])
        if headers.get(b"sec-fetch-site", b"none") not in (b"same-origin", b"none"):
            return "another site"
        return None


def folded(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Headers by name. One that comes twice is one list, which is then no name, origin or type that we know."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        between = b"; " if name == b"cookie" else b", "
        found[name] = found[name] + between + value if name in found else value
    return found


def cookie_name(host: str) -> str:
    """Browsers keep cookies apart by host, not by port: the port is in the name."""
    return f"hansard-{host.rpartition(':')[2] if host.rpartition(':')[2].isdigit() else 'web'}"


def too_often(wait: int) -> Refusal:
    """Somebody was wrong too often."""
    fault = Fault(error="too many wrong tokens came from your address", way_out=f"wait {wait} seconds")
    return Refusal(status=429, fault=fault, wait=wait)


def _refusal(status: int, error: str, way_out: str) -> Refusal:
    return Refusal(status=status, fault=Fault(error=error, way_out=way_out))


_NO_TOKEN = _refusal(
    401, "the token is missing or wrong", "send the header `Authorization: Bearer TOKEN`, or log in at /login"
)


def _own_page(host: str, headers: dict[bytes, bytes]) -> bool:
    """Does the browser itself say that one of our pages asks?"""
    origin = headers.get(b"origin", b"").decode("latin-1").partition("://")[2].lower()
    return origin == host or headers.get(b"sec-fetch-site") == b"same-origin"


def _has_body(headers: dict[bytes, bytes]) -> bool:
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers


def _is_json(headers: dict[bytes, bytes]) -> bool:
    return headers.get(b"content-type", b"").partition(b";")[0].strip().lower() == b"application/json"
