"""Formats in which conversations are exchanged and trained on."""
