"""What people asked, and what the answers cost: every prompt and every token count of a ledger.

python examples/prompts_and_tokens.py [ledger.db]
"""

import sys
from collections import Counter

import hansard


def main(path: str) -> None:
    tokens_by_model: Counter[str] = Counter()
    tokens_by_day: Counter[str] = Counter()
    calls: Counter[str] = Counter()

    with hansard.open(path) as ledger:
        if not ledger.threads(limit=1).items:
            thread = ledger.create_thread(title="Tea")
            ledger.append(thread.id, hansard.Message.user("Which tea?"))
            usage = hansard.Usage(input_tokens=12, output_tokens=3)
            ledger.append(thread.id, hansard.Message.assistant("Assam.", model="claude-opus-4-6", usage=usage))

        for thread in ledger.iter_threads():
            print(f"# {thread.title or thread.id}, {thread.created_at[:10]}")
            for message in ledger.iter_messages(thread.id):
                if message.role == "user" and message.text:
                    print(f"{message.created_at[:16]}  {message.text[:70]}")
                if message.usage:
                    model = message.model.name if message.model else None
                    tokens_by_model[model or "unknown"] += message.usage.total
                    tokens_by_day[message.created_at[:10]] += message.usage.total
                for call in message.calls:
                    calls[call.name] += 1

    for name, counted in (("model", tokens_by_model), ("day", tokens_by_day), ("tool", calls)):
        for key, number in counted.most_common():
            print(f"{name} {key}: {number}")


main(sys.argv[1] if len(sys.argv) > 1 else ":memory:")
