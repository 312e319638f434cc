"""The chat server and the REST API.  Needs `pip install 'hansard[server]'`, and for agents `hansard[agent]`.

    app = create_app(ledger, agents=[agent])    # an ASGI application; `hansard serve` runs one

    POST   /api/login                            a code or a token for a cookie; /api/logout takes it back

    POST   /api/chat                             as DefaultChatTransport posts it; the answer streams
    GET    /api/chat/{id}                        its UIMessages, to begin with
    GET    /api/chat/{id}/stream                 the answer that is being given, from its start; 204 if none
    POST   /api/chat/{id}/stop
    GET    /api/agents

    GET    /api/threads                          POST makes one
    GET    /api/threads/{id}                     PATCH changes it, DELETE forgets it
    GET    /api/threads/{id}/messages            POST says something; /messages/{id} is one, and /files/{n} its files
    GET    /api/threads/{id}/branches, /tree     POST /checkout, /fork
    GET    /api/threads/{id}/runs, /runs/{id}
    GET    /api/threads/{id}/pending             POST answers calls that wait
    GET    /api/threads/{id}/export?format=      a document and its losses
    GET    /api/search?q=
    POST   /api/import, /api/convert, /api/validate
    GET    /api/formats
    GET    /schema                               the OpenAPI of all this

Faults are JSON `{error, path?, wayOut?}`. Chat endpoints show a client only what it may see (`ai-sdk-ui`); the others
are for the ledger's keeper and show everything.
"""

from hansard.server.app import App, create_app
from hansard.server.app_state import Served
from hansard.server.tokens import Grant

__all__ = ["App", "Grant", "Served", "create_app"]
