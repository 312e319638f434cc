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

from hansard._version import __version__ as __version__

if TYPE_CHECKING:
    from hansard.agent import Agent, Recorder
    from hansard.agent.ui_turns import emit
    from hansard.clients import instrument, recording
    from hansard.errors import HansardError
    from hansard.formats import convert, detect, read, read_all, write, write_all
    from hansard.formats.contract import Format, Loss, Losses, Target, Written, WrittenAll
    from hansard.formats.rules.checks import Finding, validate
    from hansard.ledger import open
    from hansard.ledger.analysis.row_types import CallsRow, FilesRow, MessagesRow, PromptsRow, ThreadsRow, UsageRow
    from hansard.ledger.async_ledger import AsyncLedger
    from hansard.ledger.ledger import Ledger
    from hansard.ledger.results import Hit, Page, StoredThread, TokenSum
    from hansard.model import (
        AnyPart,
        CompactionPart,
        Conversation,
        DataPart,
        FilePart,
        Message,
        ModelRef,
        OutputFormat,
        Part,
        RawPart,
        ReasoningPart,
        RefusalPart,
        RetryPart,
        Run,
        Settings,
        SourcePart,
        TextPart,
        Tool,
        ToolCallPart,
        ToolChoice,
        ToolResultPart,
        Usage,
    )
    from hansard.model.agent_view import agent_view
    from hansard.model.agent_view import to_model_messages as to_model_messages
    from hansard.model.calls import pending_calls
    from hansard.model.hashing import append as append
    from hansard.model.hashing import append_answer
    from hansard.model.rejoin import rejoin
    from hansard.model.schema import json_schema
    from hansard.model.stored import StoredMessage, StoredRun

_NAMES = {
    "hansard.agent": ("Agent", "Recorder"),
    "hansard.agent.ui_turns": ("emit",),
    "hansard.clients": ("instrument", "recording"),
    "hansard.errors": ("HansardError",),
    "hansard.formats": ("convert", "detect", "read", "read_all", "write", "write_all"),
    "hansard.formats.contract": ("Format", "Loss", "Losses", "Target", "Written", "WrittenAll"),
    "hansard.formats.rules.checks": ("Finding", "validate"),
    "hansard.ledger": ("open",),
    "hansard.ledger.analysis.row_types": (
        "CallsRow",
        "FilesRow",
        "MessagesRow",
        "PromptsRow",
        "ThreadsRow",
        "UsageRow",
    ),
    "hansard.ledger.async_ledger": ("AsyncLedger",),
    "hansard.ledger.ledger": ("Ledger",),
    "hansard.ledger.results": ("Hit", "Page", "StoredThread", "TokenSum"),
    "hansard.model": (
        "AnyPart",
        "CompactionPart",
        "Conversation",
        "DataPart",
        "FilePart",
        "Message",
        "ModelRef",
        "OutputFormat",
        "Part",
        "RawPart",
        "ReasoningPart",
        "RefusalPart",
        "RetryPart",
        "Run",
        "Settings",
        "SourcePart",
        "TextPart",
        "Tool",
        "ToolCallPart",
        "ToolChoice",
        "ToolResultPart",
        "Usage",
    ),
    "hansard.model.agent_view": ("agent_view", "to_model_messages"),
    "hansard.model.calls": ("pending_calls",),
    "hansard.model.hashing": ("append", "append_answer"),
    "hansard.model.rejoin": ("rejoin",),
    "hansard.model.schema": ("json_schema",),
    "hansard.model.stored": ("StoredMessage", "StoredRun"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}


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
    # documents
    "read",
    "write",
    "convert",
    "emit",
    "detect",
    "validate",
    "read_all",
    "write_all",
    "Written",
    "WrittenAll",
    "Loss",
    "Losses",
    "Finding",
    "Target",
    "Format",
    # conversations
    "Conversation",
    "Message",
    "Run",
    "Usage",
    "ModelRef",
    "Tool",
    "ToolChoice",
    "Settings",
    "OutputFormat",
    "append_answer",
    "agent_view",
    "pending_calls",
    "rejoin",
    "json_schema",
    # parts of messages
    "Part",
    "AnyPart",
    "TextPart",
    "ReasoningPart",
    "ToolCallPart",
    "ToolResultPart",
    "FilePart",
    "SourcePart",
    "RefusalPart",
    "DataPart",
    "RetryPart",
    "CompactionPart",
    "RawPart",
    # the ledger
    "open",
    "Ledger",
    "AsyncLedger",
    "StoredMessage",
    "StoredThread",
    "StoredRun",
    "TokenSum",
    "Page",
    "Hit",
    "ThreadsRow",
    "MessagesRow",
    "PromptsRow",
    "CallsRow",
    "UsageRow",
    "FilesRow",
    # agents, and calls of SDK clients
    "Agent",
    "Recorder",
    "instrument",
    "recording",
    "HansardError",
]
