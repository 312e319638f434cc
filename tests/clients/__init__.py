"""Recorded clients."""
