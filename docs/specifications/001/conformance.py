import asyncio

import hansard
from hansard.agent import LedgerMemoryStore
from hansard.testing import run_store_conformance

print(asyncio.run(run_store_conformance(lambda: LedgerMemoryStore(hansard.open(":memory:")))))
