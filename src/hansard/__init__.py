"""Hansard: one lossless ledger for agent conversations.

>>> import hansard
>>> written = hansard.convert({"messages": [{"role": "user", "content": "hi"}]}, to="gemini", from_="anthropic")
>>> written.data
{'contents': [{'role': 'user', 'parts': [{'text': 'hi'}]}]}
>>> written.losses
[]

Names are imported on first use, so that `import hansard` is fast. Read `model`, then `formats`, then `ledger`; the
other packages build on these (docs/architecture.md has all folders). May import: its packages, only on first use. Free
to change: docstrings; the exported names are the public API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hansard._version import __version__

if TYPE_CHECKING:
    from hansard.agent import Agent, Recorder
    from hansard.clients import instrument, recording
    from hansard.errors import HansardError
    from hansard.formats import convert, detect, read, read_all, write, write_all
    from hansard.formats.contract import Format, Loss, Target, Written
    from hansard.formats.rules.checks import validate
    from hansard.ledger import open
    from hansard.ledger.ledger import Ledger
    from hansard.model import Conversation, Message, Part, Run
    from hansard.model.agent_view import to_model_messages
    from hansard.model.calls import pending_calls
    from hansard.model.hashing import append
    from hansard.model.rejoin import rejoin
    from hansard.model.schema import json_schema

_HOMES = {
    "Agent": "hansard.agent",
    "Recorder": "hansard.agent",
    "HansardError": "hansard.errors",
    "instrument": "hansard.clients",
    "recording": "hansard.clients",
    "convert": "hansard.formats",
    "detect": "hansard.formats",
    "read": "hansard.formats",
    "read_all": "hansard.formats",
    "write": "hansard.formats",
    "write_all": "hansard.formats",
    "validate": "hansard.formats.rules.checks",
    "Format": "hansard.formats.contract",
    "Loss": "hansard.formats.contract",
    "Target": "hansard.formats.contract",
    "Written": "hansard.formats.contract",
    "Conversation": "hansard.model",
    "Message": "hansard.model",
    "Part": "hansard.model",
    "Run": "hansard.model",
    "append": "hansard.model.hashing",
    "pending_calls": "hansard.model.calls",
    "rejoin": "hansard.model.rejoin",
    "json_schema": "hansard.model.schema",
    "to_model_messages": "hansard.model.agent_view",
    "open": "hansard.ledger",
    "Ledger": "hansard.ledger.ledger",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hansard' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__]


__all__ = [
    "Agent",
    "Conversation",
    "Format",
    "HansardError",
    "Ledger",
    "Loss",
    "Message",
    "Part",
    "Recorder",
    "Run",
    "Target",
    "Written",
    "__version__",
    "append",
    "convert",
    "detect",
    "instrument",
    "json_schema",
    "open",
    "pending_calls",
    "read",
    "read_all",
    "recording",
    "rejoin",
    "to_model_messages",
    "validate",
    "write",
    "write_all",
]
