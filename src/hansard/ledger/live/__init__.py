"""Runs while they are written."""
