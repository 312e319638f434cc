"""What opens `hansard serve`: the token that was given, a file of tokens for tenants, or the one kept for this user.

Files with tokens are read only if nobody else can read them; the one that is made here can be read by its owner only.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Literal

import msgspec
from msgspec import Struct

from hansard.atomic_file import make_folders, write_whole
from hansard.cli.options import default_path
from hansard.errors import HansardError
from hansard.server.access_control import is_loopback
from hansard.server.tokens import OPEN, Grant, new_token

_SHORTEST = 16  # characters of a token that strangers may try


class _Line(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    token: str
    tenant: str = ""
    role: Literal["read", "write"] = "read"


class Access(Struct, frozen=True, kw_only=True):
    """The tokens and what they open; `kept` is the file of this user's own, if that is used."""

    grants: dict[str, Grant]
    kept: str | None = None

    @property
    def tenants(self) -> list[str]:
        """The names of all tenants; the first is the ledger's own, which has none."""
        return list(dict.fromkeys(["", *(grant.tenant for grant in self.grants.values())]))


def access_to(host: str, token: str | None, tokens_file: str | None) -> Access:
    """What opens a server on this address. One that others can reach is not served with a token nobody chose."""
    if token and tokens_file:
        raise HansardError("--token and --tokens say both what opens the server; give one of them")
    if tokens_file:
        found = Access(grants=_tokens_of(tokens_file))
    elif token:
        found = Access(grants={token: OPEN})
    elif is_loopback(host):
        path = os.path.join(os.path.dirname(default_path()), "token")
        return Access(grants={_own_token(path): OPEN}, kept=path)
    else:
        raise HansardError(f"others can reach {host}; give a token with --token, HANSARD_TOKEN or --tokens")
    if not is_loopback(host) and min(map(len, found.grants)) < _SHORTEST:
        raise HansardError(f"others can reach {host} and try tokens; give one of at least {_SHORTEST} characters")
    return found


def _tokens_of(path: str) -> dict[str, Grant]:
    try:
        lines = msgspec.json.decode(_private(path), type=list[_Line])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        shape = '[{"token": "...", "tenant": "...", "role": "read"}]'
        raise HansardError(f"{path}: {error}; it should be a list like {shape}, role being read or write") from None
    if not lines:
        raise HansardError(f"{path}: no tokens; a server with an empty list would let nobody in")
    if len({line.token for line in lines}) != len(lines):
        raise HansardError(f"{path}: one token is listed twice; each opens one thing")
    return {line.token: Grant(tenant=line.tenant, role=line.role) for line in lines}


def _own_token(path: str) -> str:
    """The token of this user, made at the first start: logins and scripts outlive the server."""
    if not os.path.exists(path):
        make_folders(os.path.dirname(path), 0o700)
        with suppress(FileExistsError):  # another server was quicker: its token counts
            write_whole(path, new_token().encode(), mode=0o600, replace=False)
    token = _private(path).decode("utf-8", "replace").strip()
    if len(token) < _SHORTEST or not token.isascii():
        raise HansardError(f"{path}: no token; delete the file, and the next start makes one")
    return token


def _private(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            known = os.fstat(file.fileno())
            if os.name == "posix" and (known.st_mode & 0o077 or known.st_uid not in (os.getuid(), 0)):
                raise HansardError(f"{path}: others may have read or written these tokens; change them, then chmod 600")
            return file.read()
    except OSError as error:
        raise HansardError(f"{path}: {error.strerror or error}") from None
