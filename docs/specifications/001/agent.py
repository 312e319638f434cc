import asyncio

from hansard.agent import Agent, ScriptedModel


class Store:  # the whole interface, in memory
    def __init__(self):
        self.messages, self.threads = [], {}

    async def list_messages(self, *, thread_id, limit=None, order_by="asc"):
        found = [one for one in self.messages if one["threadId"] == thread_id]
        return (found if order_by == "asc" else found[::-1])[:limit]

    async def save_messages(self, *, messages):
        print("saved:", *[f"{one['role']}/{one['type']}" for one in messages])
        self.messages += [one for one in messages if one not in self.messages]

    async def get_thread_by_id(self, *, thread_id):
        return self.threads.get(thread_id)

    async def save_thread(self, *, thread):
        self.threads[thread["id"]] = thread


def rules(card: int) -> str:
    return f"page {card + 5}"


async def main():
    script = [["Let me look. ", {"tool": "rules", "input": {"card": 7}}], ["It is on page 12."]]
    agent = Agent(model=ScriptedModel(script), store=Store(), tools=[rules])
    async for _delta in agent.stream("t", "What does card 7 do?"):
        pass
    await agent.wait()
    print("kept:", len(await agent.store.list_messages(thread_id="t")))
    try:
        await agent.resume("t")
    except Exception as error:
        print(error)


asyncio.run(main())
