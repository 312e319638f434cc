"""`make prove`: every proof with all its tries, then the defects it must catch; the figures go into `docs`.

    python -m tests.faults.prove [NAME ...] [--scale 0.1] [--only-samples]

Each proof runs in a process of its own, so that one that dies takes nobody with it, and its figures are written down
as soon as it is done: whoever interrupts this keeps what was proven before. The exit code is 1 if a promise broke or a
defect was not caught.
"""

from __future__ import annotations

import datetime
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from tests.faults import guarantees
from tests.faults.guarantees import Proven
from tests.faults.harness import Outcome, Place, Proof, Server, proofs

ROOT = Path(__file__).parent.parent.parent
SHOWN = 5


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What a process says of one run: of the proof itself, or of a `defect`."""

    outcome: Outcome
    seconds: float
    defect: str | None = None


class Size(NamedTuple):
    """How much of everything: a part of the tries, or the sample of `make test`."""

    scale: float
    samples: bool

    def tries(self, proof: Proof) -> int:
        return proof.sample if self.samples else max(proof.sample, round(proof.tries * self.scale))


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--scale", default=1.0, show_default=True, help="A part of the tries.")
@click.option("--only-samples", "samples", is_flag=True, help="What `make test` does, with times; nothing is written.")
@click.option("--alone", is_flag=True, hidden=True)
def main(names: tuple[str, ...], scale: float, samples: bool, alone: bool) -> None:
    """Run the proofs whose names hold one of the NAMEs, or all of them."""
    size, known = Size(scale, samples), proofs()
    if alone:
        return _alone(next(proof for proof in known if proof.name == names[0]), size)
    chosen = [proof for proof in known if not names or any(name.lower() in proof.name.lower() for name in names)]
    if not chosen:
        raise click.ClickException("no such proof; there are:\n  " + "\n  ".join(proof.name for proof in known))
    began, broken = time.monotonic(), 0
    for number, proof in enumerate(chosen, 1):
        _bar(number, len(chosen), began, f"{proof.name}: {size.tries(proof):,} tries")
        proven = _prove(proof, size)
        _clear()
        broken += not proven.holds
        click.echo(_line(proof, proven))
        for failure in proven.examples:
            click.echo(f"      {failure}")
        if not samples:
            guarantees.keep(proof.name, proven)
    if not samples:
        guarantees.write_page({proof.name: proof.holds for proof in known})
    minutes = (time.monotonic() - began) / 60
    click.echo(f"{len(chosen) - broken} of {len(chosen)} promises held, {minutes:.1f} minutes")
    sys.exit(1 if broken else 0)


def _prove(proof: Proof, size: Size) -> Proven:
    """One proof in a process of its own."""
    command = [sys.executable, "-m", "tests.faults.prove", "--alone", "--scale", str(size.scale), proof.name]
    began = time.monotonic()
    with tempfile.TemporaryFile() as errors:
        done = subprocess.run(
            [*command, *(["--only-samples"] if size.samples else [])],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=errors,
            check=False,
        )
        errors.seek(0)
        complaint = errors.read().decode(errors="replace").strip().splitlines()[-3:]
    told = [msgspec.json.decode(line, type=Told) for line in done.stdout.splitlines() if line.startswith(b'{"outcome"')]
    main = next((one for one in told if one.defect is None), None)
    failures = main.outcome.failures if main else []
    if main is None or done.returncode:
        failures = [*failures, f"its process ended with {done.returncode}: {' / '.join(complaint)}"]
    if main and main.outcome.tries < size.tries(proof):
        failures = [*failures, f"only {main.outcome.tries:,} of {size.tries(proof):,} tries: the proof looks away"]
    caught = {one.defect: bool(one.outcome.failures) for one in told if one.defect is not None}
    return Proven(
        date=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M"),
        tries=main.outcome.tries if main else 0,
        asked=proof.tries,
        failures=len(failures),
        examples=failures[:SHOWN],
        seen=main.outcome.seen if main else {},
        seconds=round(main.seconds if main else time.monotonic() - began, 1),
        controls_seconds=round(sum(one.seconds for one in told if one.defect is not None), 1),
        controls={defect: caught.get(defect, False) for defect in proof.defects},
        versions=guarantees.versions(),
    )


def _alone(proof: Proof, size: Size) -> None:
    """The proof and its defects, each said on a line of JSON as soon as it is done."""
    server = Server()
    try:
        for defect in (None, *proof.defects):
            tries = size.tries(proof) if defect is None else proof.control_tries or proof.sample
            began = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="hansard-prove-", ignore_cleanup_errors=True) as folder:
                try:
                    outcome = proof.run(tries, Place(Path(folder), server), defect)
                except Exception as error:
                    where = traceback.extract_tb(error.__traceback__)[-1]
                    said = f"{type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno})"
                    outcome = Outcome(tries=0 if defect is None else tries, failures=[said[:500]])
            told = Told(outcome=outcome, seconds=time.monotonic() - began, defect=defect)
            click.echo(msgspec.json.encode(told))
    finally:
        server.stop()


def _line(proof: Proof, proven: Proven) -> str:
    verdict = click.style("held  ", fg="green") if proven.holds else click.style("BROKEN", fg="red", bold=True)
    controls = "".join(f", {name} {'caught' if caught else 'NOT CAUGHT'}" for name, caught in proven.controls.items())
    seen = "".join(f", {key} {guarantees.spelled(value)}" for key, value in proven.seen.items())
    took = f"{proven.seconds:.1f} s + {proven.controls_seconds:.1f} s"
    return f"{verdict} {proof.name}: {proven.tries:,} tries, {proven.failures} failures{seen}{controls} ({took})"


def _bar(number: int, of: int, began: float, text: str) -> None:
    """Where we are, on a terminal."""
    if sys.stderr.isatty():
        done = 24 * (number - 1) // of
        minutes = (time.monotonic() - began) / 60
        click.echo(
            f"\r\033[K[{'#' * done}{'.' * (24 - done)}] {number}/{of} {minutes:.0f} min  {text}"[:150],
            nl=False,
            err=True,
        )


def _clear() -> None:
    if sys.stderr.isatty():
        click.echo("\r\033[K", nl=False, err=True)


if __name__ == "__main__":
    main()
