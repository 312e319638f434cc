"""ATIF, the Agent Trajectory Interchange Format of Harbor, versions 1.0 to 1.8.  As of harbor 0.25.0.

    canonical                         native
    user, assistant, system           a step of source user, agent, system (others: system)
    reasoning                         `reasoning_content`
    text, image and audio by URL      `message`: a string or a list
    tool-call                         `tool_calls`
    tool-result                       `observation.results` of the step with the call
    usage, model, createdAt           `metrics`, `model_name`, `timestamp`
    agents, the first that answers    `agent`
    conversation id                   `session_id`
    everything else                   `extra.hansard` of the step or the trajectory, as a difference

A step is one message, or an assistant message with the results of its calls. What the fields of ATIF cannot say of the
messages goes into `extra.hansard` of the step, as the difference to what those fields say (`difference`). If another
program has changed the step since, the reader takes the step as it is and keeps the difference as residue. So ATIF
loses nothing: signatures, branches, ids and all come back. ATIF's own fields hold only what Harbor's schema allows.
Trajectories of sub-agents stay with the conversation.

Read `messages` first (fields of a step, steps, trajectory), then `content` and `difference`. May import: the core of
`formats`, the model. Free to change: detection, new versions of ATIF (`tests/judges/test_harbor.py` asks Harbor).
Stored, so never renamed: residue keys and spelling hints (`"$"`), `extra.hansard` and the keys of
`difference`: files elsewhere hold them.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format


def sniff(document: Any) -> int:
    """`schema_version` names the format."""
    if type(document) is not dict or type(document.get("steps")) is not list:
        return 0
    version = document.get("schema_version")
    return 3 if type(version) is str and version.startswith("ATIF") else 0


FORMAT = Format(
    name="atif",
    title="ATIF, Harbor's trajectories",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"schema_version"}),
    item_keys=frozenset(),
    trees=True,
)
