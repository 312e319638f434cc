"""Session files of coding agents: one folder per agent, and the mechanism they share.

Read in this order:

    session_file   SessionFile and Reading: read a file as it grows, keep its bytes, append to it
    scanner        bytes in, records out; zstd: the same for compressed files
    rows           sessions in SQLite: the rows of one as lines, and lines as a database again
    documents      sessions that are one JSON document with a list of entries
    records        base class of the agents' readers; links between records that are written
    sub_agents     sub-agents with files of their own, linked to the calls that started them
    unified_diff   diffs applied to files, and reverted on them
    identity       ids and times that an agent requires: derived from content, never random
    compact_ids    millions of record ids in little memory
    edits          edits of the user's files, replayed; what each agent records is in its own `edits`
    handover       a conversation in another agent's tools; tool_names: the table of equivalent tools

Each agent's folder has the same files: `session` (the file as a whole: reader, writer, detection), `records` (one
record, read and written), and where needed `content`, `fields`, `turns`, `usage`, `edits`, `versions`, `folder`. All
but sage use `session_file`; sage keeps each record's own spelling instead.

Modules here may import the core of formats only, never an agent; an agent's folder imports from here, and from the wire
format it builds on (claude_code, cline: anthropic; codex: openai_responses; continue_dev, mini_swe_agent: openai_chat;
gemini_cli, qwen_code: gemini) or the agent it descends from. No I/O: `hansard.sessions` finds, imports and exports the
files.

Free to change: rows of `tool_names`, report texts, how records are read, as long as the golden files come back byte
for byte. Not to change, since ledgers store them: the evidence marks (`file`, `reports` and the agents' own), residue
keys, derived ids (`derived_uuid`, `derived_hex`, `session_uuid`, Codex's `<thread>:<record>`, Gemini CLI's `:results`),
and the `<tool_call>` text of a handover.
"""
