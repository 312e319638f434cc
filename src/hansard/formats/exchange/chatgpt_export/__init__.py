"""ChatGPT's data export: `conversations.json`, a list of conversations, each a tree.  As of 2026.

    canonical                         native
    messages, parents                 `mapping`: nodes with parent and children; nodes without a message are residue
    head                              `current_node`; unset if it is the last message
    system, user, assistant, tool     `author.role`; others are events
    text, file                        content text, multimodal_text (`asset_pointer`), text in other content types
    reasoning                         content thoughts, reasoning_recap
    tool-call                         assistant content with a `recipient` other than all
    tool-result                       content of the author `tool`; its name is the tool name
    raw(chatgpt-export)               any other content, verbatim
    model, createdAt                  `metadata.model_slug`, `create_time`

A single object is read too, also as captured by a browser extension. A canonical message with several kinds of parts
becomes a chain of nodes. Lost, and reported: call ids, signatures, errors, files by value, runs, usage.

Read `messages` first, then `content` (one message). May import: the core of `formats`, the model. Free to change:
detection, new content types. Stored, so never renamed: residue keys and spelling hints (`"$"`).
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

CAPTURED = "raw_provider_payload"


def sniff(document: Any) -> int:
    """A mapping of nodes is unique to this export."""
    records = document[:3] if type(document) is list else [document]
    for record in records:
        if is_capture(record):
            record = record[CAPTURED]
        mapping = record.get("mapping") if type(record) is dict else None
        if type(mapping) is not dict or not all(type(node) is dict and "message" in node for node in mapping.values()):
            return 0
    return 3 if records else 0


def is_capture(document: Any) -> bool:
    """Whether it is a capture of a browser extension, with the conversation inside."""
    return type(document) is dict and "mapping" not in document and type(document.get(CAPTURED)) is dict


FORMAT = Format(
    name="chatgpt-export",
    title="ChatGPT's data export, conversations.json",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"mapping", "raw_provider_payload"}),
    item_keys=frozenset({"mapping", "raw_provider_payload"}),
    trees=True,
)
