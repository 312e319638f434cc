"""Sessions of Sage."""
