"""mini-swe-agent trajectories.

Files: `*.traj.json`, where `-o` says; else `last_mini_run.traj.json` in its folder of settings.  As of 2.4.6
(trajectory format mini-swe-agent-1.1).

    canonical                         native
    conversation id                   the name of the file without `.traj.json`; a document alone has none
    system, user, assistant           an entry of `messages`: a message of Chat Completions
    user: the task                    the first user message without the template round it (`info.config`)
    tool                              role tool: `extra.raw_output`, and an error unless `returncode` is 0
    model, usage, response id         `extra.response`, the whole answer of the provider; the rest of it is not repeated
    time                              `extra.timestamp`
    event with data                   what it tells the model of a wrong answer (`extra.interrupt_type`)
    event with raw(mini-swe-agent)    the role `exit`

Entries have no ids: they are derived from the place of the file and the number. It has one tool, `bash`, so all changes
of files are shell commands, which undo names and leaves. It cannot resume, so no session is handed over to it.
Lost, and reported, when other conversations are written: ids, times, branches, sidechains.

Files: `session` (document and entries). Builds on `openai_chat`. Not to change: derived ids, the marks `before` and
`after`, since stored conversations have them.
May import: `coding_agents`, the core of `formats`, the model. Free to change: how entries are read, as long as golden
files are exported byte for byte.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format


def sniff(document: Any) -> int:
    """Figures and settings of a run, beside its messages."""
    if type(document) is bytes:
        from hansard.formats.coding_agents.documents import begins

        return 3 if begins(document, b'"info"', b'"model_stats"', b'"config"') else 0
    return 3 if is_session(document) else 0


def is_session(value: Any) -> bool:
    """Whether a document is a trajectory."""
    if type(value) is not dict or type(value.get("info")) is not dict or type(value.get("messages")) is not list:
        return False
    return "model_stats" in value["info"] or str(value.get("trajectory_format")).startswith("mini-swe-agent")


FORMAT = Format(
    name="mini-swe-agent",
    title="mini-swe-agent trajectories",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"info"}),
    text=True,
    verbatim=True,
    coding_agent=True,
    why={"id": "mini-swe-agent numbers its messages"},
)
