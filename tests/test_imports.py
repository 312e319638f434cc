"""Who may import whom: imports go one way, formats know no ledger and not one another."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from hansard import formats

SOURCE = Path(__file__).parent.parent / "src" / "hansard"
FORMATS = SOURCE / "formats"
MAY_IMPORT = {
    "errors": set(),
    "_version": set(),
    "atomic_file": set(),
    "gc_pause": set(),
    "model": {"errors"},
    "streams": {"errors", "model"},
    "formats": {"gc_pause", "errors", "model", "streams"},  # streams: decoders and emitters only, see below
    "ledger": {"atomic_file", "errors", "model", "streams"},  # streams: the journal of a run folds its deltas
    "sessions": {"atomic_file", "gc_pause", "errors", "model", "formats", "ledger"},
    "clients": {"errors", "formats", "ledger"},
    "workspace": {"atomic_file", "gc_pause", "errors", "model", "formats", "ledger"},
    "thread_protocol": {"errors", "model", "formats"},
    "agent": {"errors", "model", "streams", "formats", "ledger", "workspace"},
    "server": {"errors", "model", "formats", "streams", "ledger", "workspace", "agent", "_version"},
    "cli": {
        "atomic_file",
        "gc_pause",
        "errors",
        "model",
        "streams",
        "formats",
        "ledger",
        "workspace",
        "sessions",
        "agent",
        "server",
        "_version",
    },
    "testing": {"agent"},
    "demo": {"errors", "model", "formats", "ledger", "sessions", "agent", "server", "cli", "_version"},
    "__init__": {"errors", "model", "formats", "ledger", "agent", "clients", "_version"},
    "__main__": {"_version", "cli"},
}
GROUPS = {"ai_sdk", "coding_agents", "exchange", "pages"}  # folders of formats: what lies in them is shared
CORE = {"rules", "field_table"}
# Formats that build on the wire of another one.
BUILDS_ON = {
    ("coding_agents/claude_code", "anthropic"),
    ("coding_agents/codex", "openai_responses"),
    ("coding_agents/continue_dev", "openai_chat"),
    ("coding_agents/mini_swe_agent", "openai_chat"),
    ("coding_agents/cline", "anthropic"),
    ("coding_agents/gemini_cli", "gemini"),
    ("coding_agents/kilo", "coding_agents/opencode"),  # the tables of the program that it is a descendant of
    ("coding_agents/openclaw", "coding_agents/pi"),  # its entries are pi's
    ("coding_agents/qwen_code", "gemini"),
    ("coding_agents/qwen_code", "coding_agents/gemini_cli"),
    ("thread_protocol", "pydantic_ai"),
    ("exchange/openai_finetune", "openai_chat"),
    ("openai_responses", "openai_chat"),  # definitions, choices and schemas of a request
    ("agent_store", "ai_sdk"),
    ("ai_sdk/full", "ai_sdk/ui"),
}


def imported(path: Path) -> set[str]:
    """The modules of hansard that a file imports, also inside functions and under TYPE_CHECKING."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "hansard":
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "hansard"}
    return found


def layer(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[0]


def modules(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def format_of(parts: tuple[str, ...]) -> str | None:
    """The format that a module below `formats` belongs to; a group's name for what its formats share; else None."""
    folder = FORMATS / parts[0]
    if not folder.is_dir() or parts[0] in CORE:
        return None
    if parts[0] not in GROUPS or len(parts) == 1:
        return parts[0]
    return f"{parts[0]}/{parts[1]}" if (folder / parts[1]).is_dir() else parts[0]


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("__init__.py")), ids=name_of)
def test_the_docstring_of_a_folder_is_its_map(path: Path) -> None:
    """What lives there, what it may import and what a newcomer may change."""
    text = " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").lower().split())
    assert "may import" in text
    assert "free to change" in text


@pytest.mark.parametrize("folder", sorted({path.parent for path in modules(SOURCE)}), ids=name_of)
def test_a_folder_is_small_and_its_files_have_no_common_prefix(folder: Path) -> None:
    names = [one.stem for one in folder.iterdir() if one.suffix == ".py" or (one / "__init__.py").exists()]
    assert len(list(folder.glob("*.py"))) <= 26
    repeated = Counter(name.split("_")[0] for name in names if "_" in name.strip("_"))
    assert not {prefix: count for prefix, count in repeated.items() if count > 2 and prefix}


@pytest.mark.parametrize("path", modules(SOURCE), ids=name_of)
def test_imports_go_one_way(path: Path) -> None:
    mine = layer(path)
    for name in imported(path):
        other = name.split(".")[1]
        assert other == mine or other in MAY_IMPORT[mine], f"{mine} may not import {name}"


@pytest.mark.parametrize("path", modules(FORMATS), ids=name_of)
def test_only_decoders_and_emitters_know_streams(path: Path) -> None:
    parts = path.relative_to(FORMATS).with_suffix("").parts
    if not {"stream", "emit"} & set(parts):
        assert not [name for name in imported(path) if name.split(".")[1] == "streams"]


@pytest.mark.parametrize("path", modules(FORMATS), ids=name_of)
def test_formats_know_not_one_another(path: Path) -> None:
    """A format is a folder (or one module) and may use what its group shares; shared pieces know no format."""
    mine = format_of(path.relative_to(FORMATS).with_suffix("").parts)
    for name in imported(path):
        parts = tuple(name.split("."))
        other = format_of(parts[2:]) if parts[1] == "formats" and len(parts) > 2 else None
        if mine is None:  # the core finds formats by name; what agents share it knows
            assert other in {None, "coding_agents"}, f"{name_of(path)} imports the format {other}"
        elif other is not None and other != mine and other != mine.partition("/")[0]:
            assert (mine, other) in BUILDS_ON, f"{mine} imports the format {other}"


@pytest.mark.parametrize("name", formats.names())
def test_a_row_imports_nothing_but_the_contract(name: str) -> None:
    """All rows are loaded to look a name up; what `sniff` needs besides it imports inside."""
    path = SOURCE.joinpath(*formats.get(name).module.split(".")[1:], "__init__.py")
    body = ast.parse(path.read_text()).body
    names = {node.module for node in body if isinstance(node, ast.ImportFrom) and node.module}
    names |= {alias.name for node in body if isinstance(node, ast.Import) for alias in node.names}
    assert {name for name in names if name.split(".")[0] not in sys.stdlib_module_names} == {"hansard.formats.contract"}


def test_detection_loads_no_reader() -> None:
    documents = [
        {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
        {"messages": [{"role": "tool", "tool_call_id": "c", "content": "hi"}]},
        {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
        {"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]},
        [{"kind": "request", "parts": []}],
        [{"id": "m", "role": "user", "parts": [{"type": "step-start"}]}],
    ]
    code = (
        "import sys\nfrom hansard import formats\n"
        f"print([formats.detect(one) for one in {documents!r}])\n"
        "print([name for name in sys.modules if name.endswith(('.messages', '.session', '.rules', '.content'))])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split("\n")
    assert found[0] == "['anthropic', 'openai-chat', 'gemini', 'openai-responses', 'pydantic-ai', 'ai-sdk-ui']"
    assert found[1] == "[]"


def test_no_format_does_input_or_output_or_reads_a_clock() -> None:
    for path in modules(FORMATS):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {"os", "io", "time", "datetime", "random", "uuid", "pathlib", "socket"} & set(names), path.name


def test_no_pattern_is_possessive() -> None:
    """Possessive quantifiers are wrong in Python before 3.11.5, which Debian ships."""
    for path in SOURCE.rglob("*.py"):
        for line in path.read_text().splitlines():
            if "re.compile" in line or line.lstrip().startswith(("rb'", 'rb"', "r'", 'r"', "| ")):
                assert not any(mark in line for mark in ("*+", "++", "?+", "(?>")), f"{path.name}: {line}"
