"""Recorded sessions as files of the project: what `make test` reads where `make agents` runs the agents.

tests/golden/lab/AGENT@VERSION/home/...      the session files, as the agent wrote them
tests/golden/lab/AGENT@VERSION/manifest.json  prompts, tokens by the provider, files after each prompt, their contents
"""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

from tests.lab.session import Played

GOLDEN = Path(__file__).parent.parent / "golden" / "lab"
_LARGEST = 1 << 20
_OF_PROCESSES = (".lock", ".hold")


def record(played: Played, manifest: dict[str, Any]) -> Path:
    """Write the sessions of an agent and their manifest; replaces an earlier recording of the same release."""
    folder = GOLDEN / played.release.name
    shutil.rmtree(folder, ignore_errors=True)
    for pattern in played.agent.kept:
        for path in sorted(played.home.glob(pattern)):
            large = path.stat().st_size > _LARGEST and not played.agent.unrecorded
            if path.is_file() and not large and path.suffix not in _OF_PROCESSES:
                target = folder / "home" / path.relative_to(played.home)
                target.parent.mkdir(parents=True, exist_ok=True)
                if path.suffix in (".db", ".sqlite"):  # with what its WAL has
                    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as db:
                        db.execute("vacuum into ?", (str(target),))
                    _leave_out(target, played.agent.unrecorded)
                else:
                    target.write_bytes(path.read_bytes())
    text = json.dumps(manifest, indent=1, ensure_ascii=False, sort_keys=True)
    (folder / "manifest.json").write_text(text + "\n", "utf-8")
    return folder


def _leave_out(database: Path, tables: tuple[str, ...]) -> None:
    """Delete the rows of tables that are long, and that nothing is compared with."""
    if tables:
        with closing(apsw.Connection(str(database))) as db:
            for table in tables:
                db.execute(f"delete from {table}")
            db.execute("vacuum")
