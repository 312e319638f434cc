"""Commands on the user's files: snapshot, track, watch, history, diff, undo, redo, restore.

`shared` holds what they have in common: which folder, which thread, showing a plan and asking before it runs.
"""
