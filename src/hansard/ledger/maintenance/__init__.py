"""Maintenance: verify, prune, erasure, backup, copy, stats."""
