"""Install the pinned releases with npm or pip, each in a folder of its own, on demand.

They go below tests/lab/.agents, or where HANSARD_LAB_AGENTS says, so that several checkouts may share them.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
FOLDER = Path(os.environ.get("HANSARD_LAB_AGENTS") or HERE / ".agents")


class Release(NamedTuple):
    """One release of an agent; `program` is where its command line is after the installation."""

    agent: str
    version: str
    package: str
    native: str
    beside: tuple[str, ...] = ()  # packages that are installed with it
    python: bool = False  # from PyPI, installed with pip

    @property
    def name(self) -> str:
        return f"{self.agent}@{self.version}"

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    @property
    def program(self) -> Path:
        if self.python:
            return self.folder / "bin" / self.agent
        found = sorted((self.folder / "node_modules").glob(self.native)) if self.native else []
        found = [path for path in found if "musl" not in path.parent.name] or found
        return found[0] if found else self.folder / "node_modules" / ".bin" / self.agent


def releases(wanted: list[str] | None = None) -> list[Release]:
    """The releases of versions.toml, or those of them that are named: `claude`, or `claude@2.1.327`."""
    table = tomllib.loads((HERE / "versions.toml").read_text("utf-8"))
    known = [
        Release(agent, version, row["package"], row.get("native", ""), tuple(row.get("beside", ())), "python" in row)
        for agent, row in table.items()
        for version in row["versions"]
    ]
    for name in wanted or []:
        if not any(name in (one.agent, one.name) for one in known):
            raise SystemExit(f"unknown agent {name!r} (choose from {', '.join(one.name for one in known)})")
    return [one for one in known if not wanted or one.agent in wanted or one.name in wanted]


def install(release: Release) -> None:
    """Install a release unless it is there."""
    release.folder.mkdir(parents=True, exist_ok=True)
    with open(release.folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = release.folder / ".installed"
        if not stamp.exists():
            _install(release)
            stamp.touch()


def _install(release: Release) -> None:
    print(f"installing {release.package}@{release.version}", flush=True)
    if release.python:
        subprocess.run([sys.executable, "-m", "venv", str(release.folder)], check=True)
        wanted = [f"{release.package}=={release.version}", *release.beside]
        subprocess.run([str(release.folder / "bin" / "pip"), "install", "-q", *wanted], check=True)
    else:
        _install_with_npm(release)
    if not release.program.exists():
        raise SystemExit(f"{release.name}: no program was installed at {release.program}")


def _install_with_npm(release: Release) -> None:
    subprocess.run(
        [
            *("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(release.folder)),
            f"{release.package}@{release.version}",
            *release.beside,
        ],
        cwd=release.folder,
        check=True,
    )
