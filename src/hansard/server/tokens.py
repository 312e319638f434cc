"""Credentials: tokens, one-time codes of login links, and cookies.

Only digests of tokens are kept; all of them are compared each time, in constant time. A cookie is a date signed with
the digest of its token: it expires with its date or with its token, and each process with the token accepts it.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from hansard.errors import HansardError

COOKIE_DAYS = 30
_MOST, _WINDOW = 10, 60.0  # wrong tokens per seconds from one address before it must wait
_REMEMBERED = 10_000  # addresses; an attacker may have many


class Grant(Struct, frozen=True, kw_only=True):
    """Rights of a token: a tenant ("" is the application's own ledger), and the role."""

    tenant: str = ""
    role: Literal["read", "write"] = "read"


OPEN = Grant(role="write")


def new_token() -> str:
    """A random token of 256 bits."""
    return secrets.token_urlsafe(32)


def digest(token: bytes) -> bytes:
    """Digest of a token, which is all that is kept."""
    return hashlib.sha256(token).digest()


class Tokens:
    """The tokens of a server, by their digests."""

    def __init__(self, grants: Mapping[str, Grant]) -> None:
        if any(not token.strip() or token != token.strip() or not token.isprintable() for token in grants):
            raise HansardError("invalid token: it must be printable, not empty and without surrounding spaces")
        self._grants = [(digest(token.encode()), grant) for token, grant in grants.items()]
        self._codes: dict[bytes, bytes] = {}

    def find(self, token: bytes) -> Grant | None:
        """Grant of a token."""
        return self._of_digest(digest(token))

    def _of_digest(self, wanted: bytes) -> Grant | None:
        found = None
        for kept, grant in self._grants:
            if hmac.compare_digest(kept, wanted):
                found = grant
        return found

    # -- browsers --------------------------------------------------------------------------------------------------

    def new_code(self) -> str:
        """A one-time code for a login link, with the rights of the first token."""
        code = secrets.token_urlsafe(24)
        self._codes[digest(code.encode())] = self._grants[0][0]
        return code

    def cookie_for_code(self, code: bytes) -> str | None:
        """Exchange a code for a cookie; the code is used up."""
        kept = self._codes.pop(digest(code), None)
        return None if kept is None else _sealed(kept, int(time.time()) + COOKIE_DAYS * 86400)

    def cookie_for_token(self, token: bytes) -> str | None:
        """Exchange a token for a cookie."""
        key = digest(token)
        return None if self._of_digest(key) is None else _sealed(key, int(time.time()) + COOKIE_DAYS * 86400)

    def find_cookie(self, cookie: str) -> Grant | None:
        """Grant of a cookie: the current grant of its token."""
        date = cookie.partition(".")[0]
        if not (date.isascii() and date.isdigit() and len(date) < 12 and int(date) > time.time()):
            return None
        found = None
        for kept, grant in self._grants:
            if hmac.compare_digest(_sealed(kept, int(date)).encode(), cookie.encode("utf-8", "replace")):
                found = grant
        return found


def _sealed(key: bytes, date: int) -> str:
    return f"{date}.{hmac.new(key, b'hansard cookie %d' % date, hashlib.sha256).hexdigest()}"


class Attempts:
    """Rate limit for wrong tokens per address; a token that was right from there before is not delayed."""

    def __init__(self, most: int = _MOST, window: float = _WINDOW) -> None:
        self._most, self._window = most, window
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()
        self._right: OrderedDict[tuple[str, bytes], None] = OrderedDict()

    def wait(self, address: str, token: bytes) -> int:
        """Seconds until this address may try this token."""
        times = self._failed.get(_network(address))
        if not times or (_network(address), digest(token)) in self._right:
            return 0
        now = time.monotonic()
        while times and times[0] <= now - self._window:
            times.popleft()
        return 0 if len(times) < self._most else int(times[0] + self._window - now) + 1

    def failed(self, address: str) -> None:
        """Record a wrong token."""
        times = self._failed.setdefault(_network(address), deque(maxlen=self._most))
        times.append(time.monotonic())
        self._failed.move_to_end(_network(address))
        if len(self._failed) > _REMEMBERED:
            self._failed.popitem(last=False)

    def succeeded(self, address: str, token: bytes) -> None:
        """Record a right token."""
        self._right[_network(address), digest(token)] = None
        if len(self._right) > _REMEMBERED:
            self._right.popitem(last=False)


def _network(address: str) -> str:
    """Network of an address: a host with one IPv6 address has 2**64 of them."""
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if known.version == 4:
        return address
    return str(known.ipv4_mapped or ipaddress.ip_network((known, 64), strict=False))
