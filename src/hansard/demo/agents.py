"""Two agents with scripted models that do real work: on a small project, with the file tools, offline.

A separate process prepares the demo's ledger: `python -m hansard.demo.agents LEDGER FOLDER`.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hansard.ledger.ledger import Ledger

if TYPE_CHECKING:
    from hansard.agent import Agent, FileTools

THREAD, WINDOW = "teahouse-counter", "teahouse-window"
_TEST = "python -B -S -m unittest -q"  # it needs nothing that is installed
_MODEL = "scripted"
_project: list[Path] = []  # where the agents of the server work


def available() -> bool:
    """Whether agents and the server can run here."""
    return all(find_spec(name) is not None for name in ("pydantic_ai", "litestar", "uvicorn"))


@contextmanager
def at_work(url: str, project: Path) -> Iterator[Callable[[], bool]]:
    """Both agents at work, in a process that ends with this block; what is given waits for them: did they do it?"""
    if not available():
        yield lambda: False
        return
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"  # the shell's python
    command = [sys.executable, "-m", __name__, url, str(project)]
    with subprocess.Popen(command, start_new_session=True) as process:  # Ctrl-C is ours to hear
        try:
            yield lambda: process.wait() == 0
        finally:
            process.terminate()


def get_ready() -> None:
    """Import what the server needs, while the others work."""
    if available():
        import uvicorn  # noqa: F401

        import hansard.agent.file_tools
        import hansard.agent.runtime
        import hansard.server  # noqa: F401


def _call(tool: str, **given: Any) -> dict[str, Any]:
    return {"tool": tool, "input": given}


# -- what happened before ------------------------------------------------------------------------------------------

_BUILD: list[Any] = [
    [
        {"reasoning": "Totals are in cents, so nothing can be rounded away. Read the code before touching it."},
        "I read the counter first.",
        _call("read", path="orders.py"),
        _call("read", path="test_orders.py"),
    ],
    [
        "A stamp for every cup, and the cheapest of ten is free. The test comes first.",
        _call(
            "edit",
            path="test_orders.py",
            old_string='\n\nif __name__ == "__main__":',
            new_string="""
    def test_the_tenth_cup_is_free(self) -> None:
        self.assertEqual(total(["assam"] * 9 + ["genmaicha"]), 9 * 320)


if __name__ == "__main__":""",
        ),
        _call("shell", command=_TEST),
    ],
    [
        "It fails, as it should. Now the code.",
        _call(
            "edit",
            path="orders.py",
            old_string="    return sum(MENU[cup] for cup in cups)\n",
            new_string="""    prices = sorted(MENU[cup] for cup in cups)
    free = len(prices) // 10
    return sum(prices[free:])
""",
        ),
        _call("shell", command=_TEST),
    ],
    "Every tenth cup is free now, and it is the **cheapest** of the order that is, so that it cannot be gamed.\n\n"
    "```python\nprices = sorted(MENU[cup] for cup in cups)\nfree = len(prices) // 10\n"
    "return sum(prices[free:])\n```\n\nAll tests pass.",
]
_REVIEW: list[Any] = [
    [
        {"reasoning": "An unknown cup ends in a KeyError at the counter. And who reads the old price list?"},
        "Two remarks: an unknown cup should say what there is, and `prices_2024.txt` is not used.",
        _call(
            "write",
            path="errors.py",
            content='class NotOnTheMenu(LookupError):\n    """A cup that we do not serve."""\n',
        ),
        _call("shell", command="grep -rn prices_2024 --include=*.py . || rm prices_2024.txt; ls"),
    ],
    [
        _call(
            "edit",
            path="orders.py",
            old_string="from menu import MENU\n",
            new_string="from errors import NotOnTheMenu\nfrom menu import MENU\n",
        ),
        _call(
            "edit",
            path="orders.py",
            old_string="    prices = sorted(",
            new_string="""    for cup in cups:
        if cup not in MENU:
            raise NotOnTheMenu(f"no {cup} today; there are {', '.join(MENU)}")
    prices = sorted(""",
        ),
        _call("shell", command=_TEST),
    ],
    "Reviewed and tidied:\n\n- An unknown cup raises `NotOnTheMenu` and lists what there is\n"
    "- `prices_2024.txt` is gone; nothing read it\n- All tests still pass\n\n"
    "If you want the old price list back, press **Undo**: it restores the file, and everything else of this turn.",
]


def build(ledger: Ledger, project: Path) -> None:
    """Make the project and let both agents work on it."""
    from hansard.agent import Agent, FileTools, ScriptedModel

    _copy(project)
    tools = FileTools(ledger, project)
    tools.workspace.snapshot()
    asked = (
        ("builder", _BUILD, "Regulars asked for a stamp card: every tenth cup should be free. Can you add that?"),
        ("reviewer", _REVIEW, "Thank you! Reviewer, please have a look at it, and throw away what is not needed."),
    )

    async def work() -> None:
        await _counter(ledger, tools).run(WINDOW, "Please publish the menu: it should hang in the shop window by noon.")
        for name, script, words in asked:
            before = len(_BUILD) if name == "reviewer" else 0
            model = ScriptedModel([*["-"] * before, *script], name=_MODEL)
            agent = Agent(model, ledger=ledger, name=name, toolsets=[tools])
            await agent.run(THREAD, words)

    asyncio.run(work())
    ledger.update_thread(WINDOW, title="The menu in the shop window")
    ledger.update_thread(THREAD, title="A counter for the teahouse")
    tools.close()


def _copy(project: Path) -> None:
    project.mkdir()
    for one in (files("hansard.demo") / "teahouse_project").iterdir():
        if one.is_file():
            (project / one.name.removesuffix(".sample")).write_bytes(one.read_bytes())


# -- who answers in the viewer -------------------------------------------------------------------------------------

_ADD = re.compile(r"\badd\b\s+(?:an?\s+|some\s+)?(.+?)(?:\s+(?:for|at)\s+(\d+(?:[.,]\d{1,2})?)\D*)?$", re.IGNORECASE)
_PUBLISHED = {"success": "The menu hangs in the window.", "denied": "Then it stays inside. Say so when it may go up."}
_HELLO = (
    "I am the demo's scripted agent: no key, no network, but real files. Say **Add a matcha latte for 4.80** and I put "
    "it on the teahouse's menu and run the tests. Then press **Undo**, and look at the file again.\n\n"
    "Start `hansard serve --agent module:name` with an agent of your own."
)


def _said(messages: list[Any]) -> tuple[str, int]:
    """The user's last message, and the number of answers after it."""
    answers = 0
    for message in reversed(messages):
        for part in reversed(message.parts):
            if part.part_kind == "user-prompt":
                words = part.content if isinstance(part.content, str) else " ".join(map(str, part.content))
                return words.strip(), answers
        answers += message.kind == "response"
    return "", answers


def _answer(messages: list[Any]) -> Any:
    words, answers = _said(messages)
    if "publish" in words.lower():
        if not answers:
            ask = "The whole street will read it, so this needs your approval."
            return [
                {"reasoning": "What hangs in the window is public."},
                ask,
                _call("publish", file="menu.py", where="window"),
            ]
        outcome = getattr(messages[-1].parts[-1], "outcome", "success")
        return _PUBLISHED.get(outcome, _PUBLISHED["success"])
    found = _ADD.search(words.rstrip(".!? "))
    if found is None:
        return _HELLO
    name = re.sub(r"[^\w -]", "", found[1]).removesuffix(" to the menu").lower().strip()[:40] or "tea"
    cents = round(float((found[2] or "4.20").replace(",", ".")) * 100)
    steps: list[Any] = [
        [
            {"reasoning": f"Add a cup to the menu: {name!r} at {cents} cents. Look before writing."},
            "I look at the menu.",
            _call("read", path="menu.py"),
        ],
        [
            "Then put it on top, and run the tests.",
            _call("edit", path="menu.py", old_string="MENU = {\n", new_string=f'MENU = {{\n    "{name}": {cents},\n'),
            _call("shell", command=_TEST),
        ],
        f"**{name.capitalize()}** is on the menu for {cents / 100:.2f}, and the tests have been run. Not what you "
        "wanted? Press **Undo**: the file and this turn go back together.",
    ]
    return steps[min(answers, len(steps) - 1)]


def publish(file: str, where: str) -> str:
    """Show a file of the teahouse to the public.

    Args:
        file: The file.
        where: Where it is shown.
    """
    return f"{file} hangs in the {where}"


def _counter(ledger: Ledger, tools: FileTools, delay: float = 0.0) -> Agent:
    from pydantic_ai.tools import Tool

    from hansard.agent import Agent, ScriptedModel

    model = ScriptedModel(_answer, name=_MODEL, delay=delay)
    asks = Tool(publish, requires_approval=True)
    return Agent(model, ledger=ledger, name="teahouse", tools=[asks], toolsets=[tools])


def agents(ledger: Ledger) -> list[Agent]:
    """The agent of the server: what `hansard serve --agent` is given."""
    from hansard.agent import FileTools

    return [_counter(ledger, FileTools(ledger, _project[-1]), delay=0.02)]


def serve(url: str, project: Path, port: int | None = None) -> None:
    """The viewer and the agent, until Ctrl-C."""
    from hansard.cli import serve as server

    _project.append(project)
    token = secrets.token_urlsafe(24)  # of this demo alone: none is left in the user's folder
    given = ["--db", url, "--agent", "hansard.demo.agents:agents", "--token", token]
    given += [] if port is None else ["--port", str(port)]
    server.command.main(given, standalone_mode=False)


def main() -> None:
    """Do the work that is there to be seen when the demo begins."""
    from hansard.ledger import open as open_ledger

    url, project = sys.argv[1:]
    with open_ledger(url) as ledger:
        build(ledger, Path(project))


if __name__ == "__main__":
    main()
