"""Importing session files: every record kept and indexed, beside agentsview, which keeps a fifth of them.

The recorded sessions (`HANSARD_CORPUS`) are written again and again under new ids until there are 120 MB of them: once
word for word, which flatters whoever keeps or cuts the same text once, and once with a word of its own in every text.
The database of OpenCode that the lab recorded is copied in the same way, and compared by the megabyte.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZE = int(os.environ.get("HANSARD_BENCH_MB", "120")) * 1_000_000
_ID = re.compile(rb'"(uuid|parentUuid|sessionId|logicalParentUuid|leafUuid|messageId)":"([0-9a-f]{8})')
_TEXT = re.compile(rb'"(text|content|thinking|stdout|originalFile|oldString|newString|prompt|command)":"')
_MESSAGE = re.compile(rb'"id":"msg_([0-9A-Za-z]{4})')


def make(folder: Path, corpus: Path, *, alike: bool) -> int:
    """A home of Claude Code with enough sessions in it; how many bytes."""
    sources = [path.read_bytes() for path in sorted((corpus / "sessions" / "claude-code").glob("*.jsonl"))]
    total = copy = 0
    while total < SIZE:
        copy += 1
        for i, text in enumerate(sources):
            mark = b"%08x" % (copy * 1000 + i)
            text = _ID.sub(lambda m, mark=mark: b'"' + m[1] + b'":"' + mark, text)  # type: ignore[misc]
            text = _MESSAGE.sub(lambda m, mark=mark: b'"id":"msg_' + mark[-4:], text)  # type: ignore[misc]
            if not alike:
                text = _TEXT.sub(lambda m, mark=mark: m[0] + b"w" + mark + b" ", text)  # type: ignore[misc]
            path = (
                folder
                / ".claude"
                / "projects"
                / f"-work-p{copy}"
                / f"{mark.decode()}-0000-4000-8000-000000000000.jsonl"
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
            total += len(text)
            if total >= SIZE:
                break
    return total


RECORDED = next((Path(__file__).parent.parent / "tests" / "golden" / "lab").glob("opencode@*"))
_KEY = re.compile(r"\b((?:ses|msg|prt|evt)_[0-9a-f]{12}\w{8})\w{6}\b")
_WORDS = re.compile(r'"(text|output|content|oldString|newString|prompt|command)":"')
_DAY = 86_400_000


def make_database(folder: Path, *, alike: bool) -> int:
    """A home of OpenCode whose database has the recorded sessions often enough; how many bytes."""
    place = Path(".local/share/opencode/opencode.db")
    path = folder / place
    path.parent.mkdir(parents=True)
    shutil.copy(RECORDED / "home" / place, path)
    db = sqlite3.connect(path)
    db.execute("pragma synchronous = off")
    tables = [row[0] for row in db.execute("select name from sqlite_master where type = 'table'")]
    tables = [one for one in tables if one not in ("project", "migration", "data_migration")]
    given = {one: db.execute(f"select * from {one}").fetchall() for one in tables}
    columns = {one: [row[1] for row in db.execute(f"pragma table_info({one})")] for one in tables}
    copy = 0
    while path.stat().st_size < SIZE:
        copy += 1

        def changed(name: str, value: object, copy: int = copy) -> object:
            if isinstance(value, int) and name in ("time_created", "time_updated"):
                return value + copy * _DAY
            if not isinstance(value, str):
                return value
            value = _KEY.sub(lambda found: f"{found[1]}{copy:06d}", value)
            return value if alike else _WORDS.sub(lambda found: f"{found[0]}w{copy:06d} ", value)

        for one, rows in given.items():
            marks = ", ".join("?" * len(columns[one]))
            new = [tuple(map(changed, columns[one], row)) for row in rows]
            db.executemany(f"insert into {one} values ({marks})", new)
        db.commit()
    db.close()
    return path.stat().st_size


def run(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds on the wall and of CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode > 1:  # 1 is the answer no: nothing found
        print(f"  {command[0]} failed: {done.stderr.strip()[-200:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def sessions() -> None:
    print("\nImporting session files, with the search index (wall time, with seconds of CPU)")
    corpus = os.environ.get("HANSARD_CORPUS")
    if not corpus:
        print("  not measured: HANSARD_CORPUS is not set")
        return
    for alike in (True, False):
        print("  copies, word for word" if alike else "  copies with words of their own")
        pace, work = _measured(Path(corpus), alike=alike)
        with tempfile.TemporaryDirectory() as name:
            size = make_database(Path(name), alike=alike) / 1e6
            wall, cpu = _imported(Path(name))
        print(f"  hansard: {size:.0f} MB of OpenCode's database in {wall:.1f} s: {size / wall:.1f} MB/s", end="")
        print(f" ({cpu:.1f} s of CPU); as fast per MB as Claude Code's files:", end="")
        print(f" {size / wall / pace:.2f}x, {size / cpu / work:.2f}x by CPU   at least 1x")


def _imported(home: Path) -> tuple[float, float]:
    """Seconds on the wall and of CPU to import and index what is in a home."""
    environment = {**os.environ, "HOME": str(home), "HANSARD_DB": f"{home}/ledger.db"}
    for one in ("XDG_DATA_HOME", "PYTHONDONTWRITEBYTECODE"):
        environment.pop(one, None)
    hansard = [sys.executable, "-m", "hansard"]
    wall, cpu = run([*hansard, "import", "--json"], environment)
    index, index_cpu = run([*hansard, "search", "nothing-of-the-kind", "--json"], environment)
    return wall + index, cpu + index_cpu


def _measured(corpus: Path, *, alike: bool) -> tuple[float, float]:
    """Import, again, and beside agentsview; megabytes in a second, and in a second of CPU."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        size = make(home, corpus, alike=alike)
        environment = {**os.environ, "HOME": name, "HANSARD_DB": f"{name}/ledger.db"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed is compiled, and so it is here
        environment["PYTHONPYCACHEPREFIX"] = f"{name}/compiled"
        hansard = [sys.executable, "-m", "hansard"]
        run([*hansard, "import", "--json"], {**environment, "HOME": f"{name}/nobody", "HANSARD_DB": f"{name}/none.db"})
        wall, cpu = run([*hansard, "import", "--json"], environment)
        index, index_cpu = run([*hansard, "search", "nothing-of-the-kind", "--json"], environment)
        total = wall + index
        print(f"  hansard: {size / 1e6:.0f} MB in {total:.1f} s: {size / 1e6 / total:.1f} MB/s", end="")
        print(f" ({cpu + index_cpu:.1f} s of CPU; {index:.1f} s of it the index)")
        again, again_cpu = run([*hansard, "import", "--json"], environment)
        print(f"  hansard: again, nothing changed: {again:.2f} s ({again_cpu:.2f} s of CPU)   under 0.3 s")
        kept = (home / "ledger.db").stat().st_size
        print(f"  hansard: ledger against imported bytes: {kept / size:.2f}x   at most 0.5x")
        peer = shutil.which("agentsview", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        if peer is None:
            print("  agentsview is not installed: pip install agentsview")
            return size / 1e6 / total, size / 1e6 / (cpu + index_cpu)
        theirs, theirs_cpu = run(
            [peer, "sync"], {**environment, "AGENTSVIEW_NO_DAEMON": "1"}
        )  # nothing is left running
        print(f"  agentsview: {size / 1e6 / theirs:.1f} MB/s ({theirs_cpu:.1f} s of CPU); hansard is", end=" ")
        print(f"{theirs / total:.2f}x as fast   at least 2x; {theirs_cpu / (cpu + index_cpu):.2f}x by CPU")
        return size / 1e6 / total, size / 1e6 / (cpu + index_cpu)


if __name__ == "__main__":
    sessions()
