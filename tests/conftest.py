"""Shared fixtures: hypothesis profiles, the corpus folder, and the printed reason when it is not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.ledgers import database, ledger, postgres, reopened, url

__all__ = ["database", "ledger", "postgres", "reopened", "url"]

settings.register_profile(
    "default",
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("long", settings.get_profile("default"), max_examples=2000)
settings.load_profile(os.environ.get("HANSARD_HYPOTHESIS", "default"))

CORPUS = Path(os.environ["HANSARD_CORPUS"]) if os.environ.get("HANSARD_CORPUS") else None
GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def corpus() -> Path:
    if CORPUS is None:
        pytest.skip("HANSARD_CORPUS is not set: recorded data is not read")
    return CORPUS
