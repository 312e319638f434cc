"""The canonical model: what each format is read into and written from.

Read in this order:
    parts, conversation     the structs: parts of a message; messages, runs, agents, a conversation
    request                 the structs of what a request says besides: tools and settings
    exact_json, native      JSON without changing a value; native JSON, with unknown fields kept
    tree, turns, calls      active path, turns, pairs of calls and results
    hashing                 digest of content, binding of signatures to their prefix
    display, rejoin         what clients see, and merging what they send back
    machinery               what no person typed: named events, and the text that the model saw
    agent_view              the conversation as one of several agents sees it
    diff, validate          differences for loss reports; checks with path, severity and fix
    sdk_objects             objects of SDKs as plain data
    stored                  the values as a ledger returns them: plain types, None for absent
    versions, schema        older native versions; JSON Schema
    times, digits, arguments, default_title     small helpers

May import: `hansard.errors`. No I/O, no clock, no ids are made here; formats, ledger and everything else build on it.
Free to change: texts of findings, new checks, new optional fields. Stored, so never renamed: field names, part types,
and the digest in `hashing` (hash chains of existing ledgers depend on them).
"""

from __future__ import annotations

from hansard.model.conversation import (
    ROLES,
    Agent,
    Context,
    Conversation,
    Message,
    ModelRef,
    PendingCall,
    Run,
    Snapshot,
    Thinking,
    Todo,
    Usage,
)
from hansard.model.parts import (
    PART_TYPES,
    AnyPart,
    Binding,
    CompactionPart,
    DataPart,
    FilePart,
    Node,
    OpaquePart,
    Part,
    RawPart,
    ReasoningPart,
    RefusalPart,
    RetryPart,
    SourcePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Unknown,
)
from hansard.model.request import OutputFormat, Settings, Tool, ToolChoice

__all__ = [
    "PART_TYPES",
    "ROLES",
    "Agent",
    "AnyPart",
    "Binding",
    "CompactionPart",
    "Context",
    "Conversation",
    "DataPart",
    "FilePart",
    "Message",
    "ModelRef",
    "Node",
    "OpaquePart",
    "OutputFormat",
    "Part",
    "PendingCall",
    "RawPart",
    "ReasoningPart",
    "RefusalPart",
    "RetryPart",
    "Run",
    "Settings",
    "Snapshot",
    "SourcePart",
    "TextPart",
    "Thinking",
    "Todo",
    "Tool",
    "ToolCallPart",
    "ToolChoice",
    "ToolResultPart",
    "Unknown",
    "Usage",
]
