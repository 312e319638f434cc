"""Hostile inputs by the hundred thousand: in worker processes, each input with a limit of time and of memory.

A surface says what it is given and how: `target` may raise `HansardError` and nothing else, and tells whether it took
the input. A worker that used a second of processor time for one input is killed by the kernel, even inside C; one that
wants more than 512 MB is refused it. What broke a surface is kept in `.hypothesis/found`, and

    python -m tests.faults.fuzz.engine SURFACE FILE

shows it again. Where atheris is installed, a part of the inputs is led by the coverage (`coverage_guided`).
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import hashlib
import importlib.util
import json
import mmap
import os
import random
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hansard.errors import HansardError
from tests.faults.fuzz.mutations import Mutator
from tests.faults.harness import Outcome
from tests.faults.load.memory import peak

ROOT = Path(__file__).parent.parent.parent.parent
FOUND = ROOT / ".hypothesis" / "found"
SECONDS = 1.0  # for an input of up to so many bytes, and as much for as many more
LONG = 100_000
ZSTD = b"\x28\xb5\x2f\xfd"  # may be a hundred times as long inside
STANDSTILL = 60.0  # without any processor time used: a deadlock
MEMORY = 512 << 20
LARGEST = 8 << 20
GUIDED = 0.01  # of the inputs, by coverage
MANY = 5_000  # fewer are a sample: the same each time, and without the time that instrumenting takes
Target = Callable[[bytes, random.Random], bool]


class Surface(NamedTuple):
    """`seeds` are good inputs; `target` is made once in each worker."""

    name: str
    seeds: Callable[[], list[bytes]]
    target: Callable[[], Target]


class Found(NamedTuple):
    """One thing that went wrong, and an input that shows it."""

    what: str
    data: bytes


# -- the defects that must be caught ---------------------------------------------------------------------------------


def planted(target: Target, defect: str | None) -> Target:
    """The target with a defect in it."""
    hoard: list[bytes] = []

    def crash(data: bytes, rng: random.Random) -> bool:
        if b"null" in data:
            raise KeyError("planted")
        return target(data, rng)

    def hang(data: bytes, rng: random.Random) -> bool:
        while len(data) % 997 == 5:  # one in a thousand, whatever the seeds are
            pass
        return target(data, rng)

    def quadratic(data: bytes, rng: random.Random) -> bool:
        rest = data * (4 if len(data) > 50_000 else 0)
        while rest:
            rest = rest[1:]
        return target(data, rng)

    def memory(data: bytes, rng: random.Random) -> bool:
        hoard.append(bytes(1 << 20))
        return target(data, rng)

    return {None: target, "crash": crash, "hang": hang, "quadratic": quadratic, "memory": memory}[defect]


# -- workers ---------------------------------------------------------------------------------------------------------


def attack(surface: Surface, tries: int, defect: str | None = None) -> Outcome:
    """So many inputs, on all processors; what broke and how it went."""
    began = time.monotonic()
    sample = tries < MANY
    seed = 1 if sample else int.from_bytes(os.urandom(4))
    guided = 0 if sample or defect or not importlib.util.find_spec("atheris") else int(tries * GUIDED)
    seeds = surface.seeds()
    workers = 1 if sample else int(os.environ.get("HANSARD_PROVE_WORKERS") or os.cpu_count() or 1)
    shares = [(tries - guided) // workers + (i < (tries - guided) % workers) for i in range(workers)]
    squads = [Worker(surface, seeds, share, seed + i, defect) for i, share in enumerate(shares) if share]
    found: dict[str, Found] = {}
    counts = {"done": 0, "accepted": 0, "memory": 0}
    while squads:
        ready, _, _ = select.select([worker.out for worker in squads], [], [], 5)
        for worker in list(squads):
            if worker.out in ready or worker.stands_still():
                worker.hear(found, counts)
                if worker.over:
                    squads.remove(worker)
    if guided:
        _guide(surface, guided, found, counts)
    seen: dict[str, int | float | str] = {
        "accepted": counts["accepted"],
        "a second": round(counts["done"] / (time.monotonic() - began)),
        "MB": round(counts["memory"] / 1024),
    }
    if not sample:
        seen |= {"by coverage": guided, "seed": str(seed)}
    if counts["memory"] > MEMORY >> 10 and not defect:
        found["memory"] = Found(f"{counts['memory'] >> 10} MB of memory", b"")
    return Outcome(tries=counts["done"], failures=[_kept(surface, one) for one in found.values()], seen=seen)


class Worker:
    """A forked process that tries inputs until it is done, and is forked again where one killed it."""

    def __init__(self, surface: Surface, seeds: list[bytes], tries: int, seed: int, defect: str | None) -> None:
        self._surface, self._seeds, self._left, self._seed, self._defect = surface, seeds, tries, seed, defect
        self._current = mmap.mmap(-1, LARGEST + 16)
        self.over = False
        self._deaths = 0
        self._start()

    def _start(self) -> None:
        self.out, inward = os.pipe()
        self._begun, self._heard = time.monotonic(), b""
        self._trace = tempfile.TemporaryFile()  # noqa: SIM115 - for as long as the process
        self._current[:16] = bytes(16)
        sys.stdout.flush()
        self._pid = os.fork()
        if self._pid == 0:
            code = 1
            try:
                os.close(self.out)
                os.dup2(os.open(os.devnull, os.O_RDWR), 1)
                _work(
                    self._surface, self._seeds, self._left, self._seed, self._defect, self._current, self._trace, inward
                )
                code = 0
            except BaseException:
                os.write(inward, json.dumps({"what": "the worker: " + traceback.format_exc()[-400:]}).encode() + b"\n")
            finally:
                os._exit(code)
        os.close(inward)

    def stands_still(self) -> bool:
        """Has it done nothing for a minute? Then it is killed, and will be heard of."""
        if time.monotonic() - self._begun < STANDSTILL:
            return False
        done = int.from_bytes(self._current[:8])
        if done == getattr(self, "_done", -1):
            os.kill(self._pid, signal.SIGKILL)
            return True
        self._done, self._begun = done, time.monotonic()
        return False

    def hear(self, found: dict[str, Found], counts: dict[str, int]) -> None:
        """What it said; and, when it is gone, what it died of."""
        piece = os.read(self.out, 1 << 20)
        self._heard += piece
        *lines, self._heard = self._heard.split(b"\n")
        for line in lines:
            told = json.loads(line)
            if "what" in told:
                found.setdefault(told["what"], Found(told["what"], bytes.fromhex(told.get("data", ""))))
            else:
                counts["accepted"] += told["accepted"]
                counts["memory"] = max(counts["memory"], told["memory"])
        if piece:
            return
        os.close(self.out)
        code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        done, size = (int.from_bytes(self._current[at : at + 8]) for at in (0, 8))
        counts["done"] += done
        self._left -= done
        if code < 0:
            self._trace.seek(0)
            where = [line.strip() for line in self._trace.read().decode().splitlines() if "hansard" in line][:1]
            cause = "more than a second" if -code == signal.SIGPROF else signal.Signals(-code).name
            what = f"{cause} {' '.join(where)}"
            found.setdefault(what, Found(what, self._current[16 : 16 + size]))
            self._deaths += 1
            self._left -= 1
            counts["done"] += 1
        self._trace.close()
        self.over = code == 1 or self._left <= 0 or self._deaths >= 20
        if not self.over:
            self._seed += 7919
            self._start()


def _work(
    surface: Surface,
    seeds: list[bytes],
    tries: int,
    seed: int,
    defect: str | None,
    current: mmap.mmap,
    trace: Any,
    out: int,
) -> None:
    """All that one worker does."""
    rng = random.Random(seed)
    mutator = Mutator(seeds, rng, huge=0.002 if tries < MANY else 0.0002)
    target = planted(surface.target(), defect)
    guard = Guard(target, current, trace)
    for one in seeds:  # what is good is taken
        guard.plainly(one, rng)
    gc.freeze()
    told: set[str] = set()
    for _ in range(tries):
        if (found := guard(mutator.make(), rng)) is not None and found.what not in told:
            told.add(found.what)
            os.write(out, json.dumps({"what": found.what, "data": found.data[: 1 << 20].hex()}).encode() + b"\n")
    memory = peak()
    os.write(out, json.dumps({"accepted": guard.accepted, "memory": memory}).encode() + b"\n")


class Guard:
    """Calls a target under its limits; `current` holds how many were done, and the input that is being tried."""

    def __init__(self, target: Target, current: Any, trace: Any) -> None:
        self._target, self._current = target, current
        self.accepted = self.done = 0
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        faulthandler.register(signal.SIGPROF, file=trace, all_threads=False, chain=True)
        held = Path("/proc/self/status").read_text().partition("VmData:")[2].split()[0]
        room = (int(held) << 10) + MEMORY  # of data, not of addresses: threads keep many that they never use
        resource.setrlimit(resource.RLIMIT_DATA, (room, room))
        threading.stack_size(1 << 20)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def __call__(self, data: bytes, rng: random.Random) -> Found | None:
        current = self._current
        size = min(len(data), LARGEST)
        current[8 : 16 + size] = size.to_bytes(8) + data[:size]
        signal.setitimer(signal.ITIMER_PROF, max(SECONDS, len(data) / LONG * (100 if data[:4] == ZSTD else 1)))
        found = None
        try:
            self.accepted += self._target(data, rng)
        except HansardError:
            pass
        except Exception as error:
            found = Found(_told(error), data)
        signal.setitimer(signal.ITIMER_PROF, 0)
        self.done += 1
        current[:8] = self.done.to_bytes(8)
        return found

    def plainly(self, data: bytes, rng: random.Random) -> None:
        """Without a limit of time: the first call imports what it needs. What it says of good input is not judged."""
        with contextlib.suppress(HansardError):
            self._target(data, rng)


def _told(error: BaseException) -> str:
    """The error and the innermost place of ours: two inputs that break the same thing are one."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/hansard/" in frame.filename] or list(frames)
    where = ", called in ".join(f"{Path(one.filename).name}:{one.lineno} {one.name}" for one in ours[:-3:-1])
    said = f": {str(error)[:150]!r}" if isinstance(error, AssertionError) else ""
    return f"{type(error).__name__} at {where}{said}"


def _kept(surface: Surface, found: Found) -> str:
    """A line about it that names a file with the input."""
    if not found.data:
        return found.what
    FOUND.mkdir(parents=True, exist_ok=True)
    path = FOUND / f"{surface.name.replace(' ', '-')}-{hashlib.sha256(found.what.encode()).hexdigest()[:8]}"
    path.write_bytes(found.data)
    return f"{found.what} ({path.relative_to(ROOT)})"


def _guide(surface: Surface, tries: int, found: dict[str, Found], counts: dict[str, int]) -> None:
    """The inputs that coverage leads to, in a process whose modules are instrumented; again where one killed it."""
    with tempfile.TemporaryDirectory(prefix="hansard-guided-") as folder:
        corpus = Path(folder, "corpus")
        corpus.mkdir()
        for i, raw in enumerate(surface.seeds()):
            (corpus / str(i)).write_bytes(raw)
        for _ in range(20):
            current = Path(folder, "current")
            with contextlib.suppress(FileNotFoundError):
                current.unlink()
            done = subprocess.run(
                [sys.executable, "-m", "tests.faults.fuzz.coverage_guided", surface.name, str(tries), folder],
                cwd=ROOT,
                capture_output=True,
                check=False,
            )
            if not current.exists():
                what = f"atheris: {done.stderr.decode(errors='replace')[-300:]}"
                found[what] = Found(what, b"")
                return
            raw = current.read_bytes()
            count, size = int.from_bytes(raw[:8]), int.from_bytes(raw[8:16])
            counts["done"] += count
            tries -= count
            for path in Path(folder).glob("found-*"):
                what, _, data = path.read_bytes().partition(b"\0")
                found.setdefault(what.decode(), Found(what.decode(), data))
            if done.returncode == 0 or tries <= 0:
                return
            what = f"atheris: ended with {done.returncode}"
            found[what] = Found(what, raw[16 : 16 + size])
            tries -= 1
            counts["done"] += 1


def surfaces() -> Iterator[Surface]:
    """Every surface there is."""
    from tests.faults.fuzz import formats, http, sessions, streams, text

    for module in (formats, streams, sessions, text, http):
        yield from module.SURFACES


def main(name: str, *paths: str) -> None:
    target = next(surface for surface in surfaces() if surface.name == name).target()
    for path in paths:
        began = time.process_time()
        try:
            print(path, "accepted" if target(Path(path).read_bytes(), random.Random(1)) else "passed over")
        except HansardError as error:
            print(path, f"refused: {str(error)[:300]}")
        except Exception:
            traceback.print_exc()
        print(f"{time.process_time() - began:.3f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
