"""Inputs that coverage leads to (atheris): run as a program on one surface, with instrumented modules of ours.

    python -m tests.faults.fuzz.coverage_guided SURFACE TRIES FOLDER

`FOLDER/corpus` has the seeds. `FOLDER/current` holds how many were tried and the input that is being tried, so that
whoever started this knows what killed it; each thing that went wrong is a file `FOLDER/found-*`.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import random
import sys
from pathlib import Path

import atheris

from tests.faults.fuzz.mutations import Mutator, Seed

with atheris.instrument_imports(include=["hansard"], enable_loader_override=False):
    from tests.faults.fuzz import engine


def main(name: str, tries: int, folder: Path) -> None:
    with atheris.instrument_imports(include=["hansard"], enable_loader_override=False):
        surface = next(one for one in engine.surfaces() if one.name == name)
        target = surface.target()
    rng = random.Random(os.getpid())
    mutator = Mutator([path.read_bytes() for path in (folder / "corpus").iterdir()], rng)
    path = folder / "current"
    path.write_bytes(bytes(engine.LARGEST + 16))
    with open(path, "r+b") as file:
        guard = engine.Guard(target, mmap.mmap(file.fileno(), 0), sys.stderr)

    def once(data: bytes) -> None:
        if (found := guard(data, rng)) is not None:
            named = hashlib.sha256(found.what.encode()).hexdigest()[:8]
            (folder / f"found-{named}").write_bytes(found.what.encode() + b"\0" + found.data)

    def mutate(data: bytes, largest: int, seed: int) -> bytes:
        rng.seed(seed)
        if rng.random() < 0.4 or len(data) > 20_000:
            return bytes(atheris.Mutate(data, largest))
        return mutator.change(Seed(data))[:largest]

    options = [
        f"-runs={tries}",
        "-rss_limit_mb=0",
        "-timeout=100",
        "-verbosity=0",
        "-print_final_stats=0",
        "-max_len=8192",
    ]
    atheris.Setup([sys.argv[0], *options, str(folder / "corpus")], once, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
