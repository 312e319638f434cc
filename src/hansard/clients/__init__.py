"""Clients of providers' SDKs, recorded: every call becomes messages and a run of a thread.

Read in this order:

    instrumentation    `instrument(client, ledger)`: wraps `send` of the client's HTTP client; `recording(thread=...)`
    exchange           one call: its request into the thread, its answer as a run, streamed or whole

The calls are seen as HTTP requests, so streaming, `with_raw_response`, retries and parse helpers need nothing of their
own. May import: `formats`, `ledger`, `streams`, `model`. Free to change: which paths are calls of which format.
"""

from hansard.clients.instrumentation import Instrumentation, instrument, recording

__all__ = ["Instrumentation", "instrument", "recording"]
