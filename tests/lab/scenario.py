"""What is asked of every agent, and what the model answers: prompts with replies of neutral steps.

A reply is one answer of the model; its steps are sent together, so that several calls in one reply are parallel. What
a step becomes for an agent is in `agents.py`. Every text that a model or a file says here occurs once, so that it can
be searched for in requests, transcripts and files.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Step = tuple[Any, ...]
Reply = list[Step]


class Prompt(NamedTuple):
    """A prompt and the answers to it; `how`: start, resume, fork, or interrupt (Ctrl-C once `until` is a file).

    `shell_changes` are the paths that a shell command changes, and no record of a tool describes.
    """

    text: str
    replies: list[Reply]
    how: str = "resume"
    until: str = ""
    shell_changes: tuple[str, ...] = ()


FILES: dict[str, tuple[bytes, int]] = {
    "README.md": (b"# Kettle\n\nBoils water.\n", 0o644),
    "grüße aus köln.md": ("Grüße\nvon gestern\n".encode(), 0o644),
    "fenster.txt": (b"eins\r\nzwei\r\ndrei\r\n", 0o644),
    "run.sh": (b"#!/bin/sh\necho warm\n", 0o755),
    "old list.txt": (b"sugar\n", 0o644),
    "tea.txt": (b"darjeeling\nassam\n", 0o644),
    "data/numbers.csv": (b"a,b\n1,2\n", 0o644),
}
"""The workspace before the first prompt: contents and modes."""

TITLE = "Kettle notes"

HELPER = Prompt(
    "Count the porcelain cups and write them down.",
    [
        [("write", "cups.txt", "seven porcelain cups\n")],
        [("finish", "I counted seven porcelain cups.")],
    ],
    how="helper",
)

PROMPTS = [
    Prompt(
        "Please look at the kettle workspace and write notes.",
        [
            [("think", "Look first, then write."), ("say", "I look around first."), ("shell", "ls")],
            [("write", "notes.txt", "limescale: much\nlid: loose\n")],
            [("read", "notes.txt")],
            [("edit", "notes.txt", "lid: loose", "lid: tightened")],
            [("shell", "cat no-such-file.txt")],
            [("read", "README.md"), ("read", "data/numbers.csv")],
            [("say", "The notes are written: limescale and lid.")],
        ],
        how="start",
    ),
    Prompt(
        "Now mend the files with odd names, please.",
        [
            [("read", "grüße aus köln.md"), ("read", "fenster.txt"), ("read", "run.sh")],
            [("edit", "grüße aus köln.md", "von gestern", "von heute früh")],
            [("edit", "fenster.txt", "zwei", "zweieinhalb")],
            [("edit", "notes.txt", "this text is nowhere", "so this must fail")],
            [("edit", "run.sh", "echo warm", "echo boiling"), ("write", "data/neu angelegt.txt", "ganz neu\n")],
            [("say", "Greetings and windows are mended.")],
        ],
    ),
    Prompt(
        "Clear away the old things now.",
        [
            [("delete", "old list.txt"), ("rename", "tea.txt", "tee tasse.txt")],
            [("shell", "printf 'PNG\\000\\001\\377' > logo.bin")],
            [("say", "Cleared away, and the logo is there.")],
        ],
        shell_changes=("logo.bin",),
    ),
    Prompt(
        "Let a helper count for us.",
        [
            [("helper", "cup counter", HELPER.text)],
            [("say", "The helper found seven cups.")],
        ],
    ),
    Prompt(
        "Wait for the water to boil.",
        [
            [("say", "I wait for the boiling."), ("shell", "touch started.txt; sleep 3600; touch late.txt")],
            [("say", "It never boils.")],
        ],
        how="interrupt",
        until="started.txt",
        shell_changes=("started.txt",),
    ),
    Prompt(
        "Go on without the boiling.",
        [
            [("edit", "notes.txt", "limescale: much", "limescale: gone")],
            [("say", "Went on, and the limescale is gone.")],
        ],
    ),
]

OTHERWISE = "Understood, the helper has reported."
"""The answer to a message that was not typed, such as the notification that a sub-agent has finished."""

FORK = Prompt(
    "Try it another way instead.",
    [
        [("write", "other way.txt", "by the other way\n")],
        [("say", "The other way is tried.")],
    ],
    how="fork",
)

ONWARD = Prompt(
    "Continue here with one more note.",
    [
        [("write", "onward.txt", "taken over\n")],
        [("say", "One more note is written here.")],
    ],
)
"""Asked of the agent that a session was handed to."""
