import json
import sys
from pathlib import Path

import psycopg

import hansard

with hansard.open(sys.argv[1]) as ledger:
    ledger.import_conversation(hansard.read(json.loads(Path("store.json").read_text()), "agent-store"))
    print("messages:", ledger.project().messages, "then", ledger.project().messages)
with psycopg.connect(sys.argv[1]) as connection:
    columns = """select column_name, data_type from information_schema.columns
                 where table_name = 'conversation_message' order by ordinal_position limit 7"""
    for name, kind in connection.execute(columns):
        print(name, kind, sep=": ")
    query = """select id, content->'parts'->0->>'text' from conversation_message
               where content->'parts' @> '[{"mimeType": "text/plain"}]'"""
    print(*connection.execute(query).fetchone())
