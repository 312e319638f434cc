"""Event logs of Copilot CLI."""
