"""OpenClaw sessions: pi's entries as rows of a database.

Database: `~/.openclaw/agents/NAME/agent/openclaw-agent.sqlite` (SQLite), one for each of its agents. Release 2026.9 is
read. A document is the database, or the lines of one or more sessions (`coding_agents/rows`), which the writer gives
too; `hansard convert` and `hansard export` make a database of them.

    canonical                         native
    conversation id                   `session_id` of `session_windows`
    parent thread                     `fork_source_session_id` of its row in `session_nodes`
    messages                          `transcript_events` by `seq`: pi's entries (the map is in `coding_agents/pi`) as
                                      JSON in `event_json`, or compressed with zstd in `event_zstd`
    sidechain                         messages of a session that this one spawned, after the call of sessions_spawn
    head                              the last entry, or the target of a last entry of type leaf
    title                             `display_name` or `label` of `session_nodes`

In the kept lines only: entries of the program's state (customType `openclaw...`), `trajectory_runtime_events` (requests
and events of the runs), `transcript_event_identities` and other indexes, sessions that were archived. What else its
database holds (credentials, memories, deliveries, caches) is never read.

Lost, and reported: what pi's entries lose. A database that is written has the three tables above and is read by
Hansard; OpenClaw does not adopt it.

Files: `session` (tables, Reader, writer); edits are those of `pi`. Entries keep the residue key `pi`; not to change.
May import: `coding_agents/pi`, `coding_agents`, the core of `formats`, the model. Free to change: how rows are read, as
long as golden files come back byte for byte.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

_MARKS = (b"transcript_events", b"session_windows", b"event_zstd")


def sniff(document: Any) -> int:
    """Lines that name it, or a database with its tables."""
    from hansard.formats.coding_agents import rows

    return rows.sniff(document, "openclaw", _MARKS)


FORMAT = Format(
    name="openclaw",
    title="OpenClaw sessions",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"rows", "table", "file"}),
    text=True,
    verbatim=True,
    trees=True,
    coding_agent=True,
    suffix="sqlite",
)
