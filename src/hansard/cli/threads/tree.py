"""`hansard tree`: all messages of a thread, drawn with its branches."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve
from hansard.cli.terminal import display, echo, echo_json, on_terminal

if TYPE_CHECKING:
    from collections.abc import Collection

    from hansard.ledger.results import TreeNode


@click.command("tree")
@click.argument("thread", metavar="THREAD")
@click.option("--full", is_flag=True, help="One line for each message, those of sub-agents too.")
@db_option
@json_option
def command(thread: str, full: bool, db: str | None, as_json: bool) -> int:
    """Draw THREAD with one line per message; * marks the active branch, other lines show the status of their run.

    A sub-agent is one line, with the id of its first message, and so are events that follow each other.
    """
    from hansard.cli.transcript import events, gist, shortened, sub_agent

    with open_ledger(db) as ledger:
        found = resolve(ledger, thread)
        nodes = ledger.tree(found.id)
        if as_json:
            echo_json(nodes)
            return 0
        colour = on_terminal()
        agents = {} if full else {one.id: one for one in ledger.sub_agents(found.id)}
        nodes = without(nodes, agents)
        width = max((len(display(node.id)) for node in nodes), default=0)
        for (lead, role, active, _), group in groupby(draw(nodes, agents), partial(_alike, agents=agents, full=full)):
            drawn = [node for _, node in group]
            node = drawn[0]
            marker = "*" if active else " "
            status = f" [{node.status}]" if node.status not in (None, "committed") else ""
            if node.id in agents:
                text = sub_agent(agents[node.id])
            elif role == "event" and not full:
                text = shortened("; ".join(events([ledger.get(found.id, one.id) for one in drawn], width=200)))
            else:
                text = f"{role:<9} {gist(ledger.get(found.id, node.id), 50)}"
            line = f"{marker} {display(node.id):<{width}}  {lead}{display(text)}{status}"
            echo(click.style(line, dim=True) if colour and not node.active else line)
    return 0


def _alike(drawn: tuple[str, TreeNode], *, agents: Collection[str], full: bool) -> tuple[str, str, bool, str]:
    """What the messages of one line share: events that follow each other are one line."""
    lead, node = drawn
    return lead, node.role, node.active, "" if node.role == "event" and not full and node.id not in agents else node.id


def without(nodes: list[TreeNode], agents: Collection[str]) -> list[TreeNode]:
    """The messages without those of sub-agents after their first ones."""
    inside: set[str | None] = set()
    kept: list[TreeNode] = []
    for node in nodes:
        if node.parent_id in inside or node.id in agents:
            inside.add(node.id)
        if node.parent_id not in inside:
            kept.append(node)
    return kept


def draw(nodes: list[TreeNode], agents: Collection[str] = ()) -> list[tuple[str, TreeNode]]:
    """Each message with its branch lines; a message without siblings is not indented further than its parent.

    Sub-agents are not drawn as branches: they come directly after the message whose call started them.
    """
    below: dict[str | None, list[TreeNode]] = {}
    started: dict[str | None, list[TreeNode]] = {}
    for node in nodes:
        (started if node.id in agents else below).setdefault(node.parent_id, []).append(node)
    found: list[tuple[str, TreeNode]] = []
    waiting = [(node, "", len(below.get(None, [])) > 1, node is below[None][-1]) for node in below.get(None, [])][::-1]
    while waiting:
        node, lead, branches, last = waiting.pop()
        found.append((lead + (("└ " if last else "├ ") if branches else ""), node))
        lead += ("  " if last else "│ ") if branches else ""
        found += [(f"{lead}  ", one) for one in started.get(node.id, [])]
        children = below.get(node.id, [])
        waiting += [(child, lead, len(children) > 1, child is children[-1]) for child in children][::-1]
    return found
