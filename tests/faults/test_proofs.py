"""A sample of every proof holds, and every deliberate defect is caught. `make prove` runs this, and then all tries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.harness import Place, Proof, proofs

pytestmark = [pytest.mark.prove, pytest.mark.timeout(1200)]
PROOFS = proofs()
CONTROLS = [pytest.param(proof, defect, id=f"{proof.name}: {defect}") for proof in PROOFS for defect in proof.defects]


@pytest.mark.filterwarnings("ignore:(?s).*told to fail:pytest.PytestUnraisableExceptionWarning")  # on purpose
@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.name)
def test_a_sample_of_every_proof_holds(proof: Proof, tmp_path: Path, postgres: str) -> None:
    outcome = proof.run(proof.sample, Place(tmp_path, lambda: postgres), None)
    print(outcome.tries, outcome.seen)
    assert outcome.failures == []
    assert outcome.tries >= proof.sample, "fewer tries than asked for: the proof looks away"


@pytest.mark.parametrize(("proof", "defect"), CONTROLS)
def test_every_deliberate_defect_is_caught(proof: Proof, defect: str, tmp_path: Path, postgres: str) -> None:
    outcome = proof.run(proof.control_tries or proof.sample, Place(tmp_path, lambda: postgres), defect)
    assert outcome.failures, f"{proof.name} did not notice {defect!r}: its green means nothing"


def test_every_proof_has_a_defect_it_must_catch() -> None:
    assert [proof.name for proof in PROOFS if not proof.defects] == []
