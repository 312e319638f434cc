"""Errors inside a plug-in, told apart from our own: the name of the plug-in, its version, and the line that failed."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from hansard.errors import PluginError

if TYPE_CHECKING:
    from hansard.formats.contract import Format

SEPARATOR = "\\"


def guarded(row: Format, function: Callable[..., Any], result: type | None) -> Callable[..., Any]:
    """The function of a plug-in; an error that it does not raise on purpose becomes a `PluginError`."""

    @wraps(function)
    def call(*given: Any) -> Any:
        try:
            found = function(*given)
        except (RecursionError, MemoryError):
            raise
        except Exception as error:
            if type(error).__module__.startswith("hansard."):
                raise
            raise failure(row.name, row.module, error) from error
        if result is not None and not isinstance(found, result):
            named = f"{function.__name__} returned {type(found).__name__}, not {result.__name__}"
            raise PluginError(f"plug-in {_named(row.name)}: {named}; report it to its author")
        return found

    return call


def failure(name: str, module: str, error: Exception) -> PluginError:
    """The error of a plug-in in one line."""
    place = _place(module, error)
    told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return PluginError(f"plug-in {_named(name)}, {place}: {told}; report it to its author")


def _named(name: str) -> str:
    from hansard.formats.registry import plugins

    entry = plugins().get(name)
    return f"{name!r} ({entry.dist.name} {entry.dist.version})" if entry is not None and entry.dist else repr(name)


def _place(module: str, error: Exception) -> str:
    """The last line of the plug-in that the error passed, else the last of all."""
    frames = traceback.extract_tb(error.__traceback__)
    home = getattr(sys.modules.get(module.partition(".")[0]), "__file__", None) or ""
    own = [frame for frame in frames if home and frame.filename.startswith(home.removesuffix("__init__.py"))]
    if not frames:
        return module
    last = [*frames, *own][-1]
    return f"{last.filename.replace(SEPARATOR, '/').rpartition('/')[2]}:{last.lineno}"
