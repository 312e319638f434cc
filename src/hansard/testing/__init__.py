"""What people test their own adapters with.

    report = await run_store_conformance(make_store)    # make_store gives an empty MemoryStore
    assert report.passed, report

Read `store_conformance`. May import: `agent`. Free to change: more statements.
"""

from __future__ import annotations

from hansard.testing.store_conformance import StoreReport, StoreResult, run_store_conformance

__all__ = ["StoreReport", "StoreResult", "run_store_conformance"]
