"""Who may come in: checked before anything else is looked at.

- `Host` must be an address or a name we were given: a page that points its own name at us is turned away (421).
- What changes something must come from our own pages or from no page at all: `Origin` and `Sec-Fetch-Site` (403), and
  a body must be declared as JSON, which no form can do (415).
- With a token, every request carries it as `Authorization: Bearer`; it is compared in constant time (401).
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Iterable

from hansard.server.answers import Fault

LOOPBACK = ("localhost", "127.0.0.1", "::1")
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]
_SAFE = ("GET", "HEAD", "OPTIONS")


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

    def __init__(self, token: str | None, hosts: Iterable[str], origins: Iterable[str]) -> None:
        self._token = None if token is None else _digest(token.encode())
        self._hosts = {host.lower() for host in (*LOOPBACK, *hosts)}
        self._origins = set(origins)

    def refusal(
        self, method: str, headers: dict[bytes, bytes], *, open_to_all: bool = False
    ) -> tuple[int, Fault] | None:
        """The status and the reason to turn a request away, or None; what is open to all needs no token."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if not self._known(host):
            way_out = "use localhost, or start with --allow-host NAME"
            return 421, Fault(error=f"this server is not known as {host!r}", way_out=way_out)
        if method not in _SAFE:
            if (stranger := self._stranger(host, headers)) is not None:
                way_out = "ask from a page of this server, or start with --allow-origin ORIGIN"
                return 403, Fault(error=f"a page of {stranger} may not change anything here", way_out=way_out)
            if method != "DELETE" and _has_body(headers) and not _is_json(headers):
                kind = headers.get(b"content-type", b"").decode("latin-1")
                way_out = "send JSON with content-type: application/json"
                return 415, Fault(error=f"a body of type {kind!r}", way_out=way_out)
        if self._token is not None and method != "OPTIONS" and not open_to_all:
            scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(_digest(given.strip()), self._token):
                way_out = "send the header `Authorization: Bearer TOKEN`"
                return 401, Fault(error="the token is missing or wrong", way_out=way_out)
        return None

    def _known(self, host: str) -> bool:
        """Names are listed. An address needs no list: it is names that can be pointed at us."""
        name = host[1 : host.find("]")] if host.startswith("[") else host.partition(":")[0]
        return name in self._hosts or _address(name) is not None

    def _stranger(self, host: str, headers: dict[bytes, bytes]) -> str | None:
        origin = headers.get(b"origin", b"").decode("latin-1")
        if origin in self._origins:
            return None
        if origin and origin.partition("://")[2].lower() != host:
            return repr(origin)
        if headers.get(b"sec-fetch-site", b"none") not in (b"same-origin", b"none"):
            return "another site"
        return None


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _has_body(headers: dict[bytes, bytes]) -> bool:
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers


def _is_json(headers: dict[bytes, bytes]) -> bool:
    return headers.get(b"content-type", b"").partition(b";")[0].strip().lower() == b"application/json"
