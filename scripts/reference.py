"""Write docs/reference/*.md: every public name with its signature, its docstring and its example.

python scripts/reference.py            writes the pages
python scripts/reference.py --check    says whether they are up to date
"""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
WIDTH = 100

# Page, then its sections: a heading, and what stands below it: module and names.
PAGES: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
    "conversations": (
        "Conversations and formats",
        [
            (
                "Documents",
                "hansard",
                "read write convert detect validate read_all write_all Written WrittenAll Loss Losses Finding Target "
                "Format",
            ),
            ("Formats", "hansard.formats", "names get check"),
            (
                "Conversations",
                "hansard",
                "Conversation Message Run Usage ModelRef Tool ToolChoice Settings OutputFormat append_answer "
                "agent_view pending_calls rejoin json_schema",
            ),
            (
                "Parts of messages",
                "hansard",
                "Part TextPart ReasoningPart ToolCallPart ToolResultPart FilePart SourcePart RefusalPart DataPart "
                "RetryPart CompactionPart RawPart",
            ),
        ],
    ),
    "ledger": (
        "The ledger",
        [
            ("Open and use", "hansard", "open Ledger AsyncLedger"),
            ("Runs", "hansard.ledger.live.run_handle", "RunHandle"),
            ("What it returns", "hansard", "StoredMessage StoredThread StoredRun TokenSum Page Hit"),
            (
                "More results",
                "hansard.ledger.results",
                "Facet Branch TreeNode SubAgent Pending Synced Pruned Projected Tombstone Problem Stats NumberedDelta",
            ),
            ("Rows", "hansard", "ThreadsRow MessagesRow PromptsRow CallsRow UsageRow FilesRow"),
            (
                "Errors",
                "hansard.errors",
                "HansardError NotFound Conflict Unreadable CannotWrite UnknownFormat StorageError",
            ),
        ],
    ),
    "streams": (
        "Streams",
        [
            ("Registry", "hansard.streams.registry", "decoders decoder emitters emitter"),
            ("Decoders", "hansard.streams.decoder_base", "EventDecoder"),
            ("Emitters", "hansard.streams.emitter_base", "EventEmitter"),
            ("Accumulator", "hansard.streams.accumulator", "Accumulator"),
            ("Deltas", "hansard.streams.deltas", "*"),
        ],
    ),
    "agents": (
        "Agents",
        [
            ("Agents", "hansard", "Agent Recorder emit"),
            ("Calls of SDK clients", "hansard", "instrument recording"),
            ("A model without a provider", "hansard.agent", "ScriptedModel"),
            (
                "Stores",
                "hansard.agent",
                "HansardConversationStore MemoryStore LedgerMemoryStore MessageList to_ai_sdk_messages",
            ),
            ("Conformance", "hansard.testing", "run_store_conformance"),
        ],
    ),
}


def generate(page: str) -> str:
    """The text of a page."""
    title, sections = PAGES[page]
    parts = [f"# {title}", "<!-- Written by scripts/reference.py from the docstrings: run `make reference`. -->"]
    for heading, module, names in sections:
        home = import_module(module)
        parts.append(f"## {heading}")
        for name in _public(home) if names == "*" else names.split():
            parts += _entry(f"{module}.{name}", getattr(home, name))
    return "\n\n".join(parts) + "\n"


def _public(module: Any) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]


def _entry(name: str, value: Any) -> Iterator[str]:
    yield f"### {name}"
    if not inspect.isclass(value):
        yield _code(_signature(value, name.rpartition(".")[2]))
        yield from _text(value)
        return
    if not issubclass(value, Struct) and value.__init__ is not object.__init__ and not issubclass(value, dict):
        if not typing.is_typeddict(value) and not issubclass(value, (Exception, tuple)):
            yield _code(_signature(value.__init__, name.rpartition(".")[2], skip=1, returns=False))
    yield from _text(value)
    if fields := _fields(value):
        yield "\n".join(["| field | type |", "|---|---|", *(f"| `{key}` | `{kind}` |" for key, kind in fields)])
    if value.__name__ != "AsyncLedger":  # it has the methods of `Ledger`
        yield from _members(value, name.rpartition(".")[2])


def _fields(kind: Any) -> list[tuple[str, str]]:
    """The fields of a struct, a typed dict or a named tuple, with their types."""
    if issubclass(kind, Struct):
        wanted = [name for name in kind.__struct_fields__ if name not in ("extra", "unknown")]
    elif issubclass(kind, (dict, tuple)):
        wanted = list(typing.get_type_hints(kind))
    else:
        return []
    told: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        told.update({key: str(hint) for key, hint in inspect.get_annotations(one).items()})
    return [(name, _short(told[name]).replace("|", "\\|")) for name in wanted if name in told]


def _short(hint: str) -> str:
    """A type as a reader needs it: what may be absent is optional."""
    return hint.replace("ForwardRef('", "").replace("', module='hansard.ledger.analysis.row_types')", "")


def _members(kind: Any, name: str) -> Iterator[str]:
    for key, item in vars(kind).items():
        function = getattr(item, "fget", None) or getattr(item, "func", None) or getattr(item, "__func__", item)
        if key.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        if key != function.__name__:  # another name of the same method
            continue
        yield f"#### {name}.{key}"
        if isinstance(item, property) or hasattr(item, "attrname"):
            yield _code(f"{key}: {inspect.signature(function).return_annotation}")
        else:
            yield _code(_signature(function, key, skip=0 if isinstance(item, staticmethod) else 1))
        yield from _text(function)


def _signature(function: Any, name: str, *, skip: int = 0, returns: bool = True) -> str:
    signature = inspect.signature(function)
    given: list[str] = []
    keyword = False
    for parameter in list(signature.parameters.values())[skip:]:
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword:
            given.append("*")
            keyword = True
        keyword = keyword or parameter.kind is parameter.VAR_POSITIONAL
        given.append(_parameter(parameter))
    end = f" -> {signature.return_annotation}" if returns and signature.return_annotation is not signature.empty else ""
    start = "async def " if inspect.iscoroutinefunction(function) else "def "
    line = f"{start}{name}({', '.join(given)}){end}"
    if len(line) <= WIDTH:
        return line
    return f"{start}{name}(\n" + "".join(f"    {one},\n" for one in given) + f"){end}"


def _parameter(parameter: inspect.Parameter) -> str:
    star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = f"{star}{parameter.name}"
    if parameter.annotation is not parameter.empty:
        text += f": {parameter.annotation}"
    if parameter.default is not parameter.empty:
        default = "UNSET" if parameter.default is UNSET else repr(parameter.default)
        text += f" = {'...' if default.startswith('<') else default}"
    return text


def _code(text: str) -> str:
    return f"```py\n{text}\n```"


def _text(value: Any) -> Iterator[str]:
    """The docstring, its examples as blocks of code."""
    out: list[str] = []
    inside = False
    for line in [*inspect.cleandoc(value.__doc__ or "").split("\n"), ""]:  # its own, not an inherited one
        if line.startswith(">>>") and not inside:
            out += [] if not out or not out[-1] else [""]
            out.append("```pycon")
            inside = True
        elif inside and not line.strip():
            out.append("```")
            inside = False
        out.append(line)
    text = "\n".join(out).strip("\n")
    if text:
        yield text


def main() -> None:
    for page in PAGES:
        path, text = FOLDER / f"{page}.md", generate(page)
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            raise SystemExit(f"{path.name} is out of date: run `make reference`")


if __name__ == "__main__":
    main()
