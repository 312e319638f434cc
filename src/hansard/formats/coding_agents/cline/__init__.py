"""Cline sessions.

Files: `~/.cline/data/sessions/<session>/<session>.messages.json`; beside it `<session>.json` (kept with it) and
`agent_*.messages.json` of sub-agents. The index `sessions.db` is not read.  As of 3.0.65.

    canonical                         native
    conversation id                   sessionId; of a file its name
    user, assistant                   an entry of `messages` {id, role, content, ts}: Anthropic's blocks
    user: the prompt                  the text in `<user_input mode="...">`; the mode is residue
    model, usage                      modelInfo, metrics
    tool                              tool_result blocks: a text of JSON, or a list of {query, result, error, success}
    event with data                   an entry that only the screen shows (`metadata.displayOnly`)
    sidechain, agent                  the files of sub-agents; they follow the call `spawn_agent` with their task

Lost, and reported, when other conversations are written: system messages, branches, sidechains, denials.

Files: `session` (document and entries), `edits`. Builds on `anthropic`. Not to change: the marks `wrapper` and
`content`, ids of results beside a text (`:results`), since stored conversations have them.
May import: `coding_agents`, the core of `formats`, the model. Free to change: how entries are read, as long as golden
files are exported byte for byte.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format


def sniff(document: Any) -> int:
    """A session id and where it comes from, beside messages with times."""
    if type(document) is bytes:
        from hansard.formats.coding_agents.documents import begins

        return 3 if begins(document, b'"sessionId"', b'"updated_at"', b'"messages"') else 0
    return 3 if is_session(document) else 0


def is_session(value: Any) -> bool:
    """Whether a document is a session."""
    if type(value) is not dict or type(value.get("messages")) is not list:
        return False
    return type(value.get("sessionId")) is str and "updated_at" in value


FORMAT = Format(
    name="cline",
    title="Cline sessions",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"sessionId"}),
    text=True,
    verbatim=True,
    coding_agent=True,
)
