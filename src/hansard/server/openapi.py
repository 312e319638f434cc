"""OpenAPI of each operation: request, response and every status code.

Parameters come from the handlers' signatures; bodies and responses are the structs, as JSON Schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from litestar.openapi.spec import (
    Components,
    OpenAPIMediaType,
    OpenAPIResponse,
    Operation,
    Reference,
    RequestBody,
    Schema,
    SecurityScheme,
)
from litestar.openapi.spec.enums import OpenAPIFormat, OpenAPIType

from hansard.ledger.results import Branch, Facet, Hit, Page, Pending, SubAgent, Thread, Tombstone, TreeNode
from hansard.model.conversation import Message, Run
from hansard.model.schema import definitions_of
from hansard.server import schemas as bodies
from hansard.server.responses import JSON, Fault

_REF = "#/components/schemas/{name}"
_KINDS: list[Any] = [
    Fault,
    Thread,
    Page[Thread],
    Tombstone,
    Message,
    Page[Message],
    list[Branch],
    list[TreeNode],
    list[SubAgent],
    list[Pending],
    list[Run],
    Page[Hit],
    list[bodies.Imported],
    list[bodies.FormatShown],
    list[bodies.AgentShown],
    list[bodies.WorkspaceShown],
    Page[bodies.ChangeShown],
    list[bodies.FileDiff],
    bodies.PlanShown,
    bodies.Apply,
    bodies.Applied,
    list[Facet],
    bodies.Login,
    bodies.NewThread,
    bodies.ThreadChange,
    bodies.NewMessages,
    bodies.Messages,
    bodies.Checkout,
    bodies.Fork,
    bodies.Results,
    bodies.RunShown,
    bodies.Import,
    bodies.Validate,
    bodies.Validated,
    bodies.Convert,
    bodies.Converted,
    list[bodies.UIMessage],
    bodies.ChatRequest,
    bodies.Stopped,
]
# Schemas of native messages, agents and results that bodies list as plain objects.
_ITEMS = {("NewMessages", "messages"): "Message", ("NewThread", "agents"): "Agent", ("ThreadChange", "agents"): "Agent"}
_ALWAYS = {
    400: "The request is invalid; `path` is the place.",
    401: "The token is missing or wrong.",
    403: "The request comes from another site, the token is read-only, or the server does not allow it.",
    421: "Unknown host name.",
    429: "Too many wrong tokens from this address; wait for `Retry-After`.",
    431: "The token or the cookies are too long.",
    500: "Internal error.",
    503: "The ledger's disk or database failed; acknowledged data is safe, and a retry is too.",
}
_MAYBE = {
    404: "Not found in the ledger.",
    409: "Conflict with a concurrent change or an existing file, which the error names.",
    408: "The body did not arrive in time.",
    413: "The body is too large, or a message or id in it exceeds a limit of the ledger.",
    415: "The body is not declared as application/json.",
    405: "A run of an agent is written by its agent.",
    410: "Deleted, but forks are left; or the journal of this run is no longer kept.",
}


@cache
def _schemas() -> tuple[list[dict[str, Any]], dict[str, Any]]:
    roots, definitions = definitions_of(_KINDS, _REF)
    for (name, field), item in _ITEMS.items():
        listed = definitions[name]["properties"][field]
        listed["items"] = {"$ref": _REF.format(name=item)}
    for kind in _KINDS:
        if isinstance(kind, type) and issubclass(kind, bodies.Body):
            definitions[kind.__name__]["additionalProperties"] = False
    return roots, definitions


class _Ours(Components):
    """Components that Litestar does not replace by generated schemas."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, {**_schemas()[1], **(value or {})} if name == "schemas" else value)


def components() -> Components:
    """All schemas by name, and the two security schemes."""
    token = SecurityScheme(type="http", scheme="bearer", description="Required if the server has a token.")
    name = "hansard-PORT"
    cookie = SecurityScheme(type="apiKey", name=name, security_scheme_in="cookie", description="From /api/login.")
    return _Ours(security_schemes={"token": token, "cookie": cookie})


def _media(kind: Any) -> dict[str, OpenAPIMediaType]:
    schema = _schemas()[0][_KINDS.index(kind)]
    return {JSON: OpenAPIMediaType(schema=Reference(ref=schema["$ref"]) if len(schema) == 1 else schema)}  # type: ignore[arg-type]


def says(
    kind: Any = None, *errors: int, takes: Any = None, status: int = 200, why: str = "Done.", open: bool = False
) -> type[Operation]:
    """Document an operation: response, body and errors.

    `open`: it needs no token.
    """
    content = None if kind is None else _media(kind)
    answers = {str(status): OpenAPIResponse(description=why, content=content)}
    return _operation(answers, errors, takes, open)


def downloads(*errors: int) -> type[Operation]:
    """Document an operation that returns a file."""
    kinds = ("application/octet-stream", "image/png", "image/jpeg", "image/gif", "image/webp")
    schema = Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY)
    content = {kind: OpenAPIMediaType(schema=schema) for kind in kinds}
    return _operation({"200": OpenAPIResponse(description="The file, as a download.", content=content)}, errors, None)


def streams(*errors: int, takes: Any = None, or_nothing: bool = False) -> type[Operation]:
    """Document an operation that returns an AI SDK stream."""
    stream = {"text/event-stream": OpenAPIMediaType(schema=Schema(type=OpenAPIType.STRING))}
    answers = {"200": OpenAPIResponse(description="An AI SDK UI message stream, from its start.", content=stream)}
    if or_nothing:
        answers["204"] = OpenAPIResponse(description="No answer is running.")
    return _operation(answers, errors, takes)


_STREAMED = {
    200: "Data, or that the stream is there.",
    201: "Created.",
    204: "Done, or no data within the time of a long-poll.",
    304: "The data that the client has.",
}


def streamed(*statuses: int) -> type[Operation]:
    """Document an operation of a durable stream, whose bodies have any type."""
    schema = Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY)
    content = {"*/*": OpenAPIMediaType(schema=schema)}
    done = [status for status in statuses if status in _STREAMED]
    answers = {
        str(status): OpenAPIResponse(description=_STREAMED[status], content=content if status < 202 else None)
        for status in done
    }
    return _operation(answers, tuple(status for status in statuses if status not in (*done, *_ALWAYS)), None)


def _operation(
    answers: dict[str, OpenAPIResponse], errors: tuple[int, ...], takes: Any, open: bool = False
) -> type[Operation]:
    more = (*errors, 408, 413, 415) if takes is not None else errors
    for status, why in sorted({**_ALWAYS, **{status: _MAYBE[status] for status in more}}.items()):
        answers[str(status)] = OpenAPIResponse(description=why, content=_media(Fault))
    body = None if takes is None else RequestBody(content=_media(takes), required=True)

    @dataclass
    class Documented(Operation):
        def __post_init__(self) -> None:
            self.request_body, self.responses = body, dict(answers)
            self.security = [] if open else self.security

    return Documented
