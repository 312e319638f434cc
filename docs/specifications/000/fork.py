import sys
from pathlib import Path

import hansard
from hansard import Message
from hansard.model import TextPart


def say(role: str, text: str) -> Message:
    return Message(role=role, parts=[TextPart(text=text)])


def regenerate(ledger: hansard.Ledger, text: str) -> hansard.Run:
    run = ledger.begin_run("t", fork_from="M2")
    run.stage(say("assistant", text))
    return run.commit(prune="--prune" in sys.argv)


with hansard.open(":memory:") as ledger:
    ledger.create_thread("t")
    ledger.append("t", [hansard.read(Path("linear.json").read_bytes()).messages[0]])
    answer = say("assistant", "M2")
    ledger.append("t", Message(role=answer.role, parts=answer.parts, id="M2"))
    first, second = regenerate(ledger, "M3"), regenerate(ledger, "M3'")
    print(second.fork_from_message_id, [run.status for run in ledger.runs("t")])
    print([message.parts[0].text for message in ledger.transcript("t")][2:])
    print(len(ledger.tree("t")), "messages are kept")
