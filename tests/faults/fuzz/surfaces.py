"""Every surface that takes somebody else's bytes, a million hostile inputs each."""

from __future__ import annotations

from tests.faults.fuzz.engine import Surface, attack, surfaces
from tests.faults.harness import Outcome, Place, proof

TRIES = 1_000_000
SLOW = {"import of": 100_000}  # each writes into a ledger; what they parse has its million
HOLDS = "only documented errors, under a second and 512 MB; accepted input is written back the same"
ALL_DEFECTS = "server-sent events"  # the guard is the same everywhere: the defects that take their time, once


def _register(surface: Surface) -> None:
    thorough = surface.name == ALL_DEFECTS
    tries = next((fewer for name, fewer in SLOW.items() if surface.name.startswith(name)), TRIES)
    defects = ("crash", "hang", "quadratic", "memory") if thorough else ("crash",)

    @proof(
        f"fuzz: {surface.name}",
        holds=HOLDS,
        tries=tries,
        sample=400,
        defects=defects,
        control_tries=4000 if thorough else 400,
    )
    def fuzzed(tries: int, place: Place, defect: str | None) -> Outcome:
        return attack(surface, tries, defect)


for one in surfaces():
    _register(one)
