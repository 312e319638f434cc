import json
from pathlib import Path

from hansard.agent import MessageList

listed = MessageList(thread_id="t")
print("nothing yet:", listed.flush_to_canonical())
for line in Path("stream.jsonl").read_text().splitlines():
    part = json.loads(line)
    listed.update_from_stream_part(part)
    message = listed.flush_to_canonical()
    if message is not None:
        print("after", part["type"], json.dumps(message["content"]))
