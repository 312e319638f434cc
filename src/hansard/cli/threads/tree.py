"""`hansard tree`: all messages of a thread, drawn with its branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve
from hansard.cli.terminal import display, echo, echo_json, on_terminal

if TYPE_CHECKING:
    from hansard.ledger.results import TreeNode


@click.command("tree")
@click.argument("thread", metavar="THREAD")
@db_option
@json_option
def command(thread: str, db: str | None, as_json: bool) -> int:
    """Draw THREAD with one line per message; * marks the active branch, other lines show the status of their run."""
    from hansard.cli.transcript import gist

    with open_ledger(db) as ledger:
        found = resolve(ledger, thread)
        nodes = ledger.tree(found.id)
        if as_json:
            echo_json(nodes)
            return 0
        colour = on_terminal()
        width = max((len(display(node.id)) for node in nodes), default=0)
        for lead, node in draw(nodes):
            marker = "*" if node.active else " "
            status = f" [{node.status}]" if node.status not in (None, "committed") else ""
            text = f"{node.role:<9} {gist(ledger.get(found.id, node.id), 50)}"
            line = f"{marker} {display(node.id):<{width}}  {lead}{display(text)}{status}"
            echo(click.style(line, dim=True) if colour and not node.active else line)
    return 0


def draw(nodes: list[TreeNode]) -> list[tuple[str, TreeNode]]:
    """Each message with its branch lines; a message without siblings is not indented further than its parent."""
    below: dict[str | None, list[TreeNode]] = {}
    for node in nodes:
        below.setdefault(node.parent_id, []).append(node)
    found: list[tuple[str, TreeNode]] = []
    waiting = [(node, "", len(below.get(None, [])) > 1, node is below[None][-1]) for node in below.get(None, [])][::-1]
    while waiting:
        node, lead, branches, last = waiting.pop()
        found.append((lead + (("└ " if last else "├ ") if branches else ""), node))
        lead += ("  " if last else "│ ") if branches else ""
        children = below.get(node.id, [])
        waiting += [(child, lead, len(children) > 1, child is children[-1]) for child in children][::-1]
    return found
