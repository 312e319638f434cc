"""Continue sessions, of its command line `cn` and of its extensions for editors.

Files: `~/.continue/sessions/<session>.json`; the index `sessions.json` beside them is not read.  As of 1.5.47.

    canonical                         native
    conversation id, title            sessionId, title (but for `Untitled Session`)
    context                           workspaceDirectory
    message                           an entry of `history`: its `message` is one of Chat Completions in camel case
    tool                              toolCallStates of the answer: output and status of each call
    assistant with reasoning          a message of the role `thinking`
    model and usage                   usage of the message, which names the model

Entries have no ids and no times: ids are numbered, and the thread has the time of its file. A turn that is interrupted
with Ctrl-C is not in the file. A fork copies its history and names no parent, so it is a thread of its own.
Lost, and reported, when other conversations are written: times, ids, branches, events, sidechains.

Files: `session` (document, entries, edits). Builds on `openai_chat`. Not to change: ids (`<session>:<entry>` and
`:results`), since stored conversations have them.
May import: `coding_agents`, the core of `formats`, the model. Free to change: how entries are read, as long as golden
files are exported byte for byte.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format


def sniff(document: Any) -> int:
    """A session id beside a history of entries that hold messages."""
    if type(document) is bytes:
        from hansard.formats.coding_agents.documents import begins

        return 3 if begins(document, b'"sessionId"', b'"history"', b'"message"') else 0
    if not is_session(document):
        return 0
    return 3 if all(type(entry) is dict and "message" in entry for entry in document["history"][:1]) else 0


def is_session(value: Any) -> bool:
    """Whether a document is a session."""
    return type(value) is dict and type(value.get("sessionId")) is str and type(value.get("history")) is list


FORMAT = Format(
    name="continue",
    title="Continue sessions",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"history"}),
    text=True,
    verbatim=True,
    coding_agent=True,
    why={"id": "Continue numbers its entries", "createdAt": "Continue keeps no times"},
)
