"""The registry: which formats there are, and the row of each.

A format declares its row (`hansard.formats.contract`), and the module that holds it is listed here or named by a
plug-in (the entry-point group `hansard.formats`). Looking a name up loads rows, never a reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from hansard.errors import UnknownFormat
from hansard.formats.contract import Format

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_MODULES = (
    "native",
    "agent_store",
    "thread_protocol",
    "coding_agents.sage",
    "coding_agents.claude_code",
    "coding_agents.pi",
    "coding_agents.copilot_cli",
    "coding_agents.codex",
    "coding_agents.gemini_cli",
    "coding_agents.continue_dev",
    "coding_agents.cline",
    "coding_agents.mini_swe_agent",
    "coding_agents.opencode",
    "coding_agents.kilo",
    "coding_agents.openclaw",
    "coding_agents.qwen_code",
    "provider_message",
    "openai_chat",
    "openai_responses",
    "anthropic",
    "gemini",
    "pydantic_ai",
    "ai_sdk.ui",
    "ai_sdk.model",
    "langchain",
    "exchange.atif",
    "exchange.otel_genai",
    "exchange.openai_finetune",
    "exchange.sharegpt",
    "exchange.chatgpt_export",
    "pages.markdown",
    "pages.html",
)


@cache
def own_rows() -> dict[str, Format]:
    """The rows of this package by name, our own format first."""
    rows = [import_module(f"hansard.formats.{module}").FORMAT for module in _MODULES]
    return {row.name: row for row in rows}


@cache
def plugins() -> dict[str, EntryPoint]:
    """The entry points of other packages by name. Looking for them takes time: asked only where it matters."""
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group="hansard.formats") if entry.name not in own_rows()}


def plugin_rows() -> Iterator[Format]:
    """The rows of other packages."""
    return map(get, sorted(plugins()))


def names() -> list[str]:
    """The names of all formats, our own first."""
    return [*own_rows(), *sorted(plugins())]


@cache
def get(name: str) -> Format:
    """The format of that name."""
    if row := own_rows().get(name):
        return row
    if plugin := plugins().get(name):
        return _checked(plugin)
    import difflib

    near = difflib.get_close_matches(name, names(), n=1)
    hint = f"did you mean {near[0]!r}?" if near else "choose from " + ", ".join(names())
    raise UnknownFormat(f"unknown format {name!r}; {hint}")


def _checked(plugin: EntryPoint) -> Format:
    try:
        row = plugin.load()
    except Exception as error:
        from hansard.formats.plugin_errors import failure

        raise failure(plugin.name, plugin.module, error) from error
    if not isinstance(row, Format) or row.name != plugin.name:
        wanted = f"it must name a Format called {plugin.name!r}"
        raise UnknownFormat(f"broken plug-in {plugin.name!r}: {plugin.value}; {wanted}")
    return row
