"""Help and completion of classes that extend Pydantic AI's: their own names, not the hundred inherited ones."""

from __future__ import annotations

from abc import ABCMeta


class BriefHelp(ABCMeta):
    """The type of a class whose `help` shows what the class itself defines."""

    def __dir__(cls) -> list[str]:
        return [name for name in vars(cls) if name == "__init__" or not name.startswith("_")]
