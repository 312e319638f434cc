"""The agent store's `CanonicalMessage` with `content.format` 2: a list, one message, or a thread with its messages.

Fields may be in camelCase (the type) or snake_case (rows of its table).

    canonical                         native
    message                           {id, threadId, role, type, content: {format: 2, parts, metadata}, createdAt}
    conversation id, resource id      threadId, resourceId, when all messages agree
    title, metadata, times            the `thread` beside `messages`, or the fields around them
    text, reasoning                   text, reasoning; their signatures in providerMetadata
    tool-call                         tool-invocation with state call (or partial-call)
    tool-result                       merged into the invocation of the message before it (state result), unless its
                                      message has an id, a time or other fields: then a row with role tool
    file                              file: `data` is a URL or base64
    source, data                      source, data
    raw(agent-store)                  any other part, verbatim

`type` follows from role and parts: event, tool or text. This is a server store, so it holds signatures. Lost, and
reported: branches, agents, models, usage, error flags, names of files and of data.

Read `messages` (documents, rows, merging of results into calls) first, then `content` (parts). May import: the core of
`formats`, `ai_sdk.reasoning` (the same `providerMetadata`), the model. Free to change: detection, fast paths (they
must equal the general path).
Stored, so never renamed: residue keys and spelling hints (`"$"`).
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format


def sniff(document: Any) -> int:
    """Content with a format and parts is unique to this format."""
    records = document
    if type(document) is dict:
        records = document["messages"] if type(document.get("messages")) is list else [document]
    if type(records) is not list or not records:
        return 0
    best = 3
    for record in records[:50]:
        content = record.get("content") if type(record) is dict else None
        if type(content) is not dict or type(content.get("parts")) is not list or "role" not in record:
            return 0
        if "format" not in content:
            best = min(best, 2)
    return best


FORMAT = Format(
    name="agent-store",
    title="Agent store, content format 2",
    module=__name__,
    sniff=sniff,
    binds=True,
)
