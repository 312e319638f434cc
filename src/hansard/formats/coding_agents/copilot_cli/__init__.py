"""GitHub Copilot CLI event logs.

Files: `~/.copilot/session-state/<session>/events.jsonl`.  As of 1.0.68.

    canonical                         native
    conversation id, created          session.start: sessionId, startTime; its other data are residue
    context                           cwd and branch of session.start, session.resume or session.context_changed
    message, parent                   an event {type, id, parentId, timestamp, data} that is a message; hooks,
                                      permissions and turns are skipped when the parent is followed
    system, developer, user           system.message, user.message with files by value
    assistant                         assistant.message: reasoningText with reasoningOpaque, content, toolRequests;
                                      assistant.reasoning that no message repeats; tool.user_requested
    tool                              tool.execution_complete
    sidechain, agent                  agentId of the event, or the call that started it: events are in order of time,
                                      and each agent continues from its own last message
    user with compaction              session.compaction_complete
    event with data                   errors, notes and sub-agents
    event with raw(copilot-cli)       any other event

Hooks, permissions, starts of tools, and starts and ends of turns are in the text of the file only.
Lost, and reported: titles, runs, contexts that change, todos, files that are not the user's, the order of parts in an
answer.

Files: `session` (Reader, writer), `records` (one event). Not to change: derived ids, the marks `event`, `envelope`,
`files`, `type`, since stored conversations have them.
May import: `coding_agents`, the core of `formats`, the model. Free to change: how records are read, as long as golden
files are exported byte for byte.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

_EVENT_GROUPS = frozenset({"session", "system", "user", "assistant", "tool", "hook", "permission"})


def sniff(document: Any) -> int:
    """Events with dotted types and a parent are certain."""
    values = document[:20] if type(document) is list else [document]
    if type(document) is bytes:
        from hansard.formats.coding_agents.scanner import Scanner, first_values

        values = first_values(Scanner(whole=is_record), document, 20)
    return max(map(_sure, values), default=0)


def is_record(value: Any) -> bool:
    """Whether an object is an event, not part of one."""
    return type(value) is dict and type(value.get("type")) is str and "data" in value and "parentId" in value


def _sure(event: Any) -> int:
    if not is_record(event) or type(event["data"]) is not dict or "." not in event["type"]:
        return 0
    return 3 if event["type"].partition(".")[0] in _EVENT_GROUPS and "timestamp" in event else 1


FORMAT = Format(
    name="copilot-cli",
    title="GitHub Copilot CLI event logs",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"parentId"}),
    text=True,
    verbatim=True,
    trees=True,
    coding_agent=True,
    suffix="jsonl",
)
