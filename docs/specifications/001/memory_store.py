import asyncio
import json
import sys
from pathlib import Path

import hansard
from hansard.agent import LedgerMemoryStore, MemoryStore


async def main(url):
    messages = json.loads(Path("store.json").read_text())
    thread = messages[0]["threadId"]
    with hansard.open(url) as ledger:
        store = LedgerMemoryStore(ledger)
        print("a MemoryStore:", isinstance(store, MemoryStore))
        await store.save_thread(thread={"id": thread, "resourceId": "ann"})
        await store.save_messages(messages=messages)
        await store.save_messages(messages=messages)  # again: no change
        print("listed as saved:", await store.list_messages(thread_id=thread) == messages)
        newest = await store.list_messages(thread_id=thread, limit=1, order_by="desc")
        print("newest:", newest[0]["id"])
        print("thread:", (await store.get_thread_by_id(thread_id=thread))["resourceId"])
        print("unknown:", await store.get_thread_by_id(thread_id="nowhere"))


asyncio.run(main(sys.argv[1]))
