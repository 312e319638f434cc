import hansard
from hansard import Message
from hansard.model import TextPart

with hansard.open(":memory:") as ledger:
    ledger.create_thread("t")
    for text in ("M1", "M2", "M3"):
        ledger.append("t", Message(role="user", parts=[TextPart(text=text)]))
    ids = [message.id for message in ledger.transcript("t")]
    print([len(id) for id in ids], "sorted" if ids == sorted(ids) else "not sorted")
    names = dict(zip(ids, ("M1", "M2", "M3"), strict=True))
    print([names.get(message.parent_message_id) for message in ledger.transcript("t")])
