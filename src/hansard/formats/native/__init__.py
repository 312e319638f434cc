"""Hansard's own JSON."""
