"""A server of streams without tokens, as the suite needs it: `python -m tests.durable_streams.server LEDGER PORT`."""

from __future__ import annotations

import sys

import uvicorn

import hansard
from hansard.server import create_app

if __name__ == "__main__":
    with hansard.open(sys.argv[1]) as ledger:
        app = create_app(ledger, origins=["https://example.com"])
        uvicorn.run(app, port=int(sys.argv[2]), log_level="warning", timeout_keep_alive=75)
