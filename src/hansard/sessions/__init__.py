"""Coding agents' session files on this machine: found, imported, exported, handed over, counted.

Read in this order:

    discovery   where each agent keeps its sessions, and which files belong to one session: a row per agent
    importer    a session into the ledger: streamed, kept byte for byte, only what is new the next time
    databases   agents' databases, read from a copy while the agent writes
    sage        Sage's sessions, which are read as a whole: their files, title and times
    forks       sessions that continue others: what they inherit, where they come from
    exporter    a thread as the file it came from, with later messages appended
    handover    a thread written as a session of another agent, where that agent looks for its own
    costs       tokens by day, model or project, and their price

This folder does the I/O; how a file is parsed is in `hansard.formats.coding_agents`. It may import formats and ledger,
and is imported by the command line and the demo.

Free to change: rows of `AGENTS` and of the targets of a handover, the table of prices. Not to change without asking:
ids of imported threads (they decide what is known already), what one transaction of the importer holds (a killed import
must be completed by the next), and file modes of written sessions (0600).
"""
