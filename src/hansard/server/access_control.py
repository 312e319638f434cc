"""Access control: host, origin and token checks, before routing.

- `Host` must be an IP address or a configured name, which stops DNS rebinding (421).
- A browser's request must come from a page of this server or from an allowed origin: `Origin` and `Sec-Fetch-Site`
  (403). A request that changes something must declare a JSON body, which no HTML form can do (415); a stream takes
  bodies of any type, and relies on the first two.
- With tokens, each request carries one as `Authorization: Bearer`, or the cookie issued for one (401). Repeated wrong
  tokens are delayed (429). A read-only token changes nothing (403).
- A cookie is valid only for pages of this server; for a change, the browser must confirm the same origin.
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
STREAMS = "/streams/"  # bodies of any type
_LONGEST = 4096  # bytes of a token or of all cookies


class Refusal(Struct, frozen=True, kw_only=True):
    """A rejected request: status, error, and seconds to wait before a retry."""

    status: int
    fault: Fault
    wait: int = 0


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


class AccessControl:
    """`hosts` are the names of this server besides localhost, `origins` other sites whose pages may send requests."""

    def __init__(self, tokens: Tokens | None, hosts: Iterable[str], origins: Iterable[str]) -> None:
        self.tokens, self.attempts = tokens, Attempts()
        self._hosts = {host.lower() for host in (*LOOPBACK, *hosts)}
        self._origins = set(origins)

    def check(self, scope: Any, *, needs_token: bool = True) -> Grant | Refusal:
        """Return what the request may do, or why it is rejected; static pages need no token."""
        method, headers = scope["method"], folded(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if not self._known(host):
            way_out = "use localhost, or start the server with --allow-host NAME"
            return _refusal(421, f"unknown host {host[:200]!r}", way_out)
        if method not in _SAFE or needs_token:
            if (foreign := self._foreign(host, headers)) is not None:
                way_out = "use a page of this server, or start it with --allow-origin ORIGIN"
                return _refusal(403, f"requests from a page of {foreign} are not allowed", way_out)
        streamed = scope["path"].startswith(STREAMS)
        if not streamed and method not in (*_SAFE, "DELETE") and _has_body(headers) and not _is_json(headers):
            kind = headers.get(b"content-type", b"").decode("latin-1")
            return _refusal(415, f"unsupported body type {kind[:200]!r}", "use content-type: application/json")
        if self.tokens is None or not needs_token or method == "OPTIONS":
            return OPEN
        grant = self._grant(self.tokens, scope, host, headers)
        if isinstance(grant, Grant) and grant.role == "read" and method not in _SAFE:
            return _refusal(403, "this token is read-only", "use a token that may write")
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
                    403, "a cookie alone is not enough for a change", "use a page of this server, or send a token"
                )
            return found
        scheme, _, given = headers[b"authorization"].partition(b" ")
        return self.try_token(scope, given.strip()) if scheme.lower() == b"bearer" else _NO_TOKEN

    def try_token(self, scope: Any, token: bytes) -> Grant | Refusal:
        """Grant of a token, unless too many wrong tokens came from the address."""
        assert self.tokens is not None
        address = scope["client"][0] if scope.get("client") else ""
        if wait := self.attempts.wait(address, token):
            return too_many_attempts(wait)
        grant = self.tokens.find(token)
        if grant is None:
            self.attempts.failed(address)
            return _NO_TOKEN
        self.attempts.succeeded(address, token)
        return grant

    def cookie_of(self, scope: Any) -> str | None:
        """The cookie, if a page of this server sends it: pages of other ports share cookies."""
        headers = folded(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self._foreign(host, headers, ours_only=True) is not None:
            return None
        name = f"{cookie_name(host)}="
        for pair in headers.get(b"cookie", b"").decode("latin-1").split(";"):
            if pair.strip().startswith(name):
                return pair.strip().removeprefix(name)
        return None

    def _known(self, host: str) -> bool:
        """Whether the host is an IP address or a configured name; only names can be rebound."""
        name = host[1 : host.find("]")] if host.startswith("[") else host.partition(":")[0]
        return name in self._hosts or _address(name) is not None

    def _foreign(self, host: str, headers: dict[bytes, bytes], *, ours_only: bool = False) -> str | None:
        origin = headers.get(b"origin", b"").decode("latin-1")
        if origin in self._origins and not ours_only:
            return None
        if origin and origin.partition("://")[2].lower() != host:
            return repr(origin[:200])
        if headers.get(b"sec-fetch-site", b"none") not in (b"same-origin", b"none"):
            return "another site"
        return None


def folded(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Headers by name. A repeated header becomes one list, which then matches no known name, origin or type."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        between = b"; " if name == b"cookie" else b", "
        found[name] = found[name] + between + value if name in found else value
    return found


def cookie_name(host: str) -> str:
    """Name of the cookie; it contains the port because browsers separate cookies by host only."""
    return f"hansard-{host.rpartition(':')[2] if host.rpartition(':')[2].isdigit() else 'web'}"


def too_many_attempts(wait: int) -> Refusal:
    """Rejection after too many wrong tokens."""
    fault = Fault(error="too many wrong tokens came from your address", way_out=f"wait {wait} seconds")
    return Refusal(status=429, fault=fault, wait=wait)


def _refusal(status: int, error: str, way_out: str) -> Refusal:
    return Refusal(status=status, fault=Fault(error=error, way_out=way_out))


_NO_TOKEN = _refusal(
    401, "the token is missing or wrong", "send the header `Authorization: Bearer TOKEN`, or log in at /login"
)


def _own_page(host: str, headers: dict[bytes, bytes]) -> bool:
    """Whether the browser confirms that a page of this server sends the request."""
    origin = headers.get(b"origin", b"").decode("latin-1").partition("://")[2].lower()
    return origin == host or headers.get(b"sec-fetch-site") == b"same-origin"


def _has_body(headers: dict[bytes, bytes]) -> bool:
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers


def _is_json(headers: dict[bytes, bytes]) -> bool:
    return headers.get(b"content-type", b"").partition(b";")[0].strip().lower() == b"application/json"
