"""Processes that commit at one fork point at once, or append where each believes the head to be, on both backends.

Of those who commit, one stands in the transcript at the end: without force the first wins and the others are told so,
with force the last wins and the others are superseded. Of those who name the same head, one is let in.
"""

from __future__ import annotations

from collections import Counter
from multiprocessing.synchronize import Barrier

import hansard
from hansard.errors import Conflict
from tests.faults.concurrency.defects import SCATTERED, UNLOCKED, break_it, drop_backstop
from tests.faults.harness import Outcome, Place, proof
from tests.faults.processes import Failed, together, wait
from tests.ledger.said import said

_RACERS = 3
_FORKS = 25  # fork points in a thread
_SAYS = 5  # every fifth run says something; the others are about the commit alone
Told = list[tuple[int, str, str]]
"""Of each race its number, the id of the run, and how it went."""


def _where(race: int, races: int) -> tuple[str, str]:
    """The thread and the fork point of a race. The next race is in another thread: nobody is begun too late."""
    threads = max(2, -(-races // _FORKS))
    return f"t{race % threads}", f"m{race // threads}"


def commit_races(number: int, barrier: Barrier, url: str, races: int, defect: str | None) -> Told:
    """One racer: begin a run, wait for the others, commit."""
    told: Told = []
    with hansard.open(url) as ledger, hansard.open(url) as committing:
        break_it(committing, defect)
        for race in range(races):
            thread, fork = _where(race, races)
            key = f"{race}-{number}"
            try:
                ledger.begin_run(thread, id=key, fork_from=fork).release()
                if race % _SAYS == 0:
                    ledger.stage(thread, key, said(key, "assistant", id=key))
                outcome = ""
            except Exception as error:
                outcome = f"{type(error).__name__}: {error}"
            wait(barrier)
            if not outcome:
                try:
                    committing.commit(thread, key, force=race % 2 == 1)
                    outcome = "ok"
                except Conflict:
                    outcome = "conflict"
                except Exception as error:
                    outcome = f"{type(error).__name__}: {error}"
            told.append((race, key, outcome))
    return told


def _raced(tries: int, url: str, defect: str | None) -> Outcome:
    with hansard.open(url) as ledger:
        for thread in sorted({_where(race, tries)[0] for race in range(tries)}):
            ledger.create_thread(thread)
            ledger.append(thread, [said(f"m{n}", id=f"m{n}") for n in range(_FORKS)])
    if defect:
        drop_backstop(url)
    try:
        told = [one for racer in together(commit_races, _RACERS, url, tries, defect) for one in racer]
    except Failed as error:
        return Outcome(tries=tries, failures=[str(error)])
    races: dict[int, dict[str, str]] = {}
    for race, key, outcome in told:
        races.setdefault(race, {})[key] = outcome
    failures: list[str] = []
    with hansard.open(url) as ledger:
        status = {
            run.id: str(run.status)
            for thread in {_where(race, tries)[0] for race in races}
            for run in ledger.runs(thread)
        }
        for race, outcomes in sorted(races.items()):
            failures += [f"race {race}: {line}" for line in _unfair(race % 2 == 1, outcomes, status)]
        for thread in {_where(race, tries)[0] for race in races}:
            last = max(race for race in races if _where(race, tries)[0] == thread)
            head = ledger.thread(thread).head
            stands = [key for key in races[last] if status.get(key) == "committed"]
            if [head] != (stands if last % _SAYS == 0 else [_where(last, tries)[1]]):
                failures.append(f"thread {thread}: its head {head!r} is not the run that was committed last")
        failures += [str(problem) for problem in ledger.verify()]
    return Outcome(tries=len(races), failures=failures, seen=dict(Counter(outcome for _, _, outcome in told)))


def _unfair(forced: bool, outcomes: dict[str, str], status: dict[str, str]) -> list[str]:
    found = []
    committed = [key for key in outcomes if status.get(key) == "committed"]
    if len(committed) != 1:
        found.append(f"{len(committed)} committed at one fork point: {committed}")
    told = Counter(outcomes.values())
    expected = {"ok": _RACERS} if forced else {"ok": 1, "conflict": _RACERS - 1}
    if told != expected:
        found.append(f"they were told {dict(told)}")
    for key, outcome in outcomes.items():
        if outcome == "conflict" and status.get(key) != "active":
            found.append(f"{key} was refused and is {status.get(key)}")
        if outcome == "ok" and status.get(key) not in ("committed", "superseded"):
            found.append(f"{key} was acknowledged and is {status.get(key)}")
    return found


def head_races(number: int, barrier: Barrier, url: str, races: int, defect: str | None) -> Told:
    """One racer: look where the head is, and when all others have looked, append there."""
    told: Told = []
    with hansard.open(url) as ledger:
        break_it(ledger, defect)
        for race in range(races):
            key = f"{race}-{number}"
            head = str(ledger.thread("t").head)
            wait(barrier)
            try:
                ledger.append("t", said(key, id=key), expected_head=head)
                told.append((race, key, head))
            except Conflict:
                pass
            except Exception as error:
                told.append((race, key, f"{type(error).__name__}: {error}"))
            wait(barrier)
    return told


def _headed(tries: int, url: str, defect: str | None) -> Outcome:
    with hansard.open(url) as ledger:
        ledger.create_thread("t")
        ledger.append("t", said("first", id="first"))
    try:
        told = [one for racer in together(head_races, _RACERS, url, tries, defect) for one in racer]
    except Failed as error:
        return Outcome(tries=tries, failures=[str(error)])
    winners = Counter(race for race, _, _ in told)
    failures = [f"race {race}: {winners[race]} were let in" for race in range(tries) if winners[race] != 1]
    with hansard.open(url) as ledger:
        parents = {node.id: node.parent_id for node in ledger.tree("t")}
        failures += [f"{key} stands behind {parents.get(key)!r}" for _, key, head in told if parents.get(key) != head]
        path = ["first", *(key for _, key, _ in sorted(told, key=lambda one: one[0]))]
        if [message.id for message in ledger.transcript("t")] != path:
            failures.append("the transcript is not what was acknowledged, in that order")
        failures += [str(problem) for problem in ledger.verify()]
    return Outcome(tries=tries, failures=failures, seen={"let in": len(told), "refused": tries * _RACERS - len(told)})


_FAIR = "of runs committed at one fork point exactly one is in force, and each caller gets the right result"
_FIRST = "of the writers that name the same head exactly one succeeds, and no message is lost"


@proof("races of commits, SQLite", holds=_FAIR, tries=10_000, sample=60, defects=(SCATTERED,), control_tries=6)
def commits_on_sqlite(tries: int, place: Place, defect: str | None) -> Outcome:
    return _raced(tries, place.file(), defect)


@proof("races of commits, PostgreSQL", holds=_FAIR, tries=10_000, sample=30, defects=(UNLOCKED,), control_tries=6)
def commits_on_postgresql(tries: int, place: Place, defect: str | None) -> Outcome:
    return _raced(tries, place.database(), defect)


@proof("races for the head, SQLite", holds=_FIRST, tries=10_000, sample=60, defects=(SCATTERED,), control_tries=40)
def heads_on_sqlite(tries: int, place: Place, defect: str | None) -> Outcome:
    return _headed(tries, place.file(), defect)


@proof("races for the head, PostgreSQL", holds=_FIRST, tries=10_000, sample=60, defects=(UNLOCKED,), control_tries=40)
def heads_on_postgresql(tries: int, place: Place, defect: str | None) -> Outcome:
    return _headed(tries, place.database(), defect)
