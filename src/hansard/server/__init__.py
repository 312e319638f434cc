"""Chat server and REST API.  Needs `pip install 'hansard[server]'`, and for agents `hansard[agent]`.

    app = create_app(ledger, agents=[agent])    # an ASGI application; `hansard serve` runs one

    POST   /api/login                            exchanges a code or token for a cookie; /api/logout deletes it

    POST   /api/chat                             as DefaultChatTransport posts it; the answer streams
    GET    /api/chat/{id}                        its UIMessages
    GET    /api/chat/{id}/stream                 the running answer from its start; 204 if none
    POST   /api/chat/{id}/stop
    GET    /api/agents

    GET    /api/threads                          POST creates one
    GET    /api/threads/{id}                     PATCH changes it, DELETE erases it
    GET    /api/threads/{id}/messages            POST appends; /messages/{id} is one, /files/{n} its files
    GET    /api/threads/{id}/branches, /tree     POST /checkout, /fork
    GET    /api/threads/{id}/runs, /runs/{id}
    GET    /api/threads/{id}/pending             POST answers pending calls
    GET    /api/threads/{id}/export?format=      a document and its losses
    GET    /api/search?q=
    POST   /api/import, /api/convert, /api/validate
    GET    /api/formats
    GET    /schema                               the OpenAPI document

Errors are JSON `{error, path?, wayOut?}`. Chat endpoints return only what a client may see (`ai-sdk-ui`); the others
are for the owner of the ledger and return everything.

Read `app` (the ASGI application, access control before routing, recovery of dead runs), `access_control` and `tokens`,
then `app_state` (tenants), and one resource per module: `chat`, `threads`, `documents`, `downloads`, `workspaces`,
`login`, `static_files`. `schemas` holds the JSON of requests and responses, `openapi` their documentation, `responses`
errors and encoding, `slow_clients` the limits on slow or oversized requests. `viewer/` holds the page.
May import: everything but `cli`, `sessions` and `demo`. Free to change: texts, descriptions, new routes (they need a
row in the tests' access matrix). Clients depend on routes, JSON keys and status codes.
"""

from hansard.server.app import App, create_app
from hansard.server.app_state import Served
from hansard.server.tokens import Grant

__all__ = ["App", "Grant", "Served", "create_app"]
