"""Databases under the ledger: drivers and migrations."""
