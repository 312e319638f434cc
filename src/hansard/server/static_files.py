"""Static files of the viewer, served from memory.

The page contains no data of the ledger; it uses the API like any other client. Content of a ledger is untrusted, so the
content security policy allows only the viewer's own scripts and styles, nothing from other hosts, and no HTML from
text.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from litestar import Response, get
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from hansard.server.responses import AnyRequest

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
_KINDS = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
_PAGES = {"/": "viewer.html", "/login": "login.html"}


def is_page(path: str) -> bool:
    """Whether the path is a static file, login or logout, which need no token."""
    return path in _PAGES or path in ("/api/login", "/api/logout") or path.removeprefix("/viewer/") in _shipped()


@cache
def _shipped() -> dict[str, tuple[bytes, str]]:
    found = {}
    for file in (files("hansard.server") / "viewer").iterdir():
        kind = _KINDS.get(file.name.rpartition(".")[2])
        if kind is not None:
            found[file.name] = file.read_bytes(), f"{kind}; charset=utf-8"
    return found


def _file(name: str) -> Response[bytes]:
    if name not in _shipped():
        raise NotFoundException(f"unknown viewer file {name!r}")
    content, kind = _shipped()[name]
    headers = {"content-security-policy": POLICY, "cache-control": "no-cache"}
    return Response(content, media_type=kind, headers=headers)


@get(list(_PAGES), include_in_schema=False)
async def page(request: AnyRequest) -> Response[bytes]:
    """The viewer or the login page."""
    return _file(_PAGES[request.url.path])


@get("/viewer/{name:str}", include_in_schema=False)
async def file(name: FromPath[str]) -> Response[bytes]:
    """A file of the viewer."""
    return _file(name)


ROUTES = [page, file]
