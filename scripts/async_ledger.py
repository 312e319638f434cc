"""Write src/hansard/ledger/async_ledger.py: every public method of `Ledger` as a coroutine, with the same signature.

    python scripts/async_ledger.py            writes it
    python scripts/async_ledger.py --check    says whether it is up to date

A method that is one job (`return self._read(...)` or `return self._write(...)`) joins the queue of its event loop; any
other runs in a thread. Iterators become async iterators.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "hansard" / "ledger" / "ledger.py"
TARGET = SOURCE.with_name("async_ledger.py")
OWN = {"close", "aio", "follow_async"}  # written by hand below, or without an awaited form
HEAD = '''"""`AsyncLedger`: the methods of `Ledger` for asyncio.

Written by scripts/async_ledger.py: change `ledger.py`, then run `make async`.

On SQLite no thread blocks on a write: jobs go into a queue, and those that arrive during a commit share the next one.
Cancelling an awaited call does not stop it: it is done or not done, and repeating it tells which.
"""

from __future__ import annotations

{imports}

class AsyncLedger:
    """The methods of `Ledger`, awaited; from `ledger.aio`. Concurrent appends share commits.

    Use it from any number of tasks, and from the event loops of several threads. Cancelling an awaited call does not
    stop it: it is done or not done, and repeating it tells which. `async with` closes the ledger.

    >>> import asyncio, hansard
    >>> async def main() -> None:
    ...     async with hansard.open(":memory:").aio as ledger:
    ...         thread = await ledger.create_thread(title="Tea")
    ...         await ledger.append(thread.id, hansard.Message.user("Which tea?"))
    ...         print([message.text for message in await ledger.transcript(thread.id)])
    >>> asyncio.run(main())
    ['Which tea?']
    """

    def __init__(self, ledger: Ledger) -> None:
        from hansard.ledger.aio import AsyncJobs

        self._ledger = ledger
        self._jobs = AsyncJobs(ledger)

    async def __aenter__(self) -> AsyncLedger:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close files and connections. What was acknowledged is durable without it."""
        await self._jobs.close()
'''


def generate() -> str:
    """The text of the module, formatted."""
    source = SOURCE.read_text(encoding="utf-8")
    tree = ast.parse(source)
    (ledger,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Ledger")
    methods = [node for node in ledger.body if isinstance(node, ast.FunctionDef)]
    aliases = {node.value.id: ast.unparse(node) for node in ledger.body if _is_alias(node)}  # type: ignore[attr-defined]
    planned: set[str] = set()
    for method in methods:
        if _is_one_job(method, planned):
            planned.add(method.name)
    parts = [HEAD.replace("{imports}", _imports(tree))]
    headings = {i: line for i, line in enumerate(source.splitlines(), 1) if line.startswith("    # -- ")}
    for method in methods:
        if method.name.startswith("_") or method.name in OWN:
            continue
        first = min([method.lineno, *(one.lineno for one in method.decorator_list)])
        for number in [number for number in headings if number < first]:
            parts.append(headings.pop(number))
        parts.append(textwrap.indent(_method(method, method.name in planned), "    "))
        if method.name in aliases:
            parts.append("    " + aliases[method.name])
    text = "\n\n".join(parts)
    here = SOURCE.parent.parent.parent.parent
    for command in (["check", "--fix", "-q", "--select", "I,F401"], ["format", "-q"]):
        name = ["--stdin-filename", str(TARGET.relative_to(here)), "-"]
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, *name], input=text, capture_output=True, text=True, cwd=here
        )
        text = done.stdout
        if done.returncode:
            raise SystemExit(done.stderr)
    return text


def _imports(tree: ast.Module) -> str:
    """The imports of the module of `Ledger`; ruff removes those that are not used."""
    found = [
        "from collections.abc import AsyncIterator",
        "from hansard.ledger.ledger import Ledger, Progress",
        *(
            ast.unparse(node)
            for node in tree.body
            if isinstance(node, (ast.Import, ast.ImportFrom, ast.If))
            and getattr(node, "module", "") not in ("__future__", "hansard.ledger.async_ledger")
        ),
    ]
    return "\n".join(found)


def _is_alias(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)


def _is_one_job(method: ast.FunctionDef, planned: set[str]) -> bool:
    """Whether each result is that of one `_read`, `_read_replica` or `_write`, or of another such method."""
    given = {id(node.value) for node in ast.walk(method) if isinstance(node, ast.Return)}
    jobs = [call for call in _calls_of_self(method) if call[0] in {"_read", "_read_replica", "_write", *planned}]
    return bool(jobs) and all(id(node) in given for _, node in jobs)


def _calls_of_self(method: ast.FunctionDef) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(method):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name) and node.func.value.id == "self":
                yield node.func.attr, node


def _method(method: ast.FunctionDef, planned: bool) -> str:
    decorators = [ast.unparse(one) for one in method.decorator_list]
    returns = ast.unparse(method.returns) if method.returns is not None else "None"
    signature = f"{method.name}({ast.unparse(method.args)})"
    doc = f'    """{_raw_doc(method)}"""\n' if ast.get_docstring(method) else ""
    if "overload" in decorators and returns.startswith("Iterator["):
        return f"@overload\ndef {signature} -> Async{returns}: ..."
    if "overload" in decorators:
        return f"@overload\nasync def {signature} -> {returns}: ..."
    if "property" in decorators:
        return f"@property\ndef {signature} -> {returns}:\n{doc}    return self._ledger.{method.name}"
    call = f"ledger.{method.name}({_arguments(method.args)})"
    if method.name == "follow":
        returns = returns.replace("Iterator", "AsyncIterator")
        return f"def {signature} -> {returns}:\n{doc}    return self._{call.replace('.follow(', '.follow_async(')}"
    if returns.startswith("Iterator["):
        return (
            f"async def {signature} -> Async{returns}:\n{doc}"
            f"    async for item in self._jobs.iterate(lambda ledger: {call}):\n        yield item"
        )
    how = "queued" if planned else "in_thread"
    return f"async def {signature} -> {returns}:\n{doc}    return await self._jobs.{how}(lambda ledger: {call})"


def _raw_doc(method: ast.FunctionDef) -> str:
    doc = ast.get_docstring(method) or ""
    text = doc if "\n" not in doc else doc.replace("\n", "\n    ") + "\n    "
    return "\n".join(line.rstrip() for line in text.splitlines()) + ("    " if "\n" in doc else "")


def _arguments(arguments: ast.arguments) -> str:
    given = [one.arg for one in arguments.args if one.arg != "self"]
    return ", ".join([*given, *(f"{one.arg}={one.arg}" for one in arguments.kwonlyargs)])


def main() -> None:
    text = generate()
    if "--check" in sys.argv:
        if TARGET.read_text(encoding="utf-8") != text:
            raise SystemExit("async_ledger.py is out of date: run `make async`")
        return
    TARGET.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
