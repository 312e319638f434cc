"""`hansard` and `python -m hansard`: the version at once, everything else through the command line's own modules."""

from __future__ import annotations

import sys

from hansard._version import __version__


def main() -> None:
    """The entry point of the command."""
    if sys.argv[1:] == ["--version"]:
        print(f"hansard {__version__}")
        return
    from hansard.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
