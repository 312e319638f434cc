"""File changes of Sage sessions: their snapshots as changes of a workspace, and threads as session folders.

    snapshots   snapshots of imported sessions as changes, with their hashes verified
    backups     finds the backup files that snapshots name
    folder      writes a thread as the folder of a Sage session

May import: `workspace`, `formats/coding_agents/sage`, the ledger, `atomic_file`. Free to change: everything, as long as
`tests/workspace` passes; written folders must be readable by Sage.
"""
