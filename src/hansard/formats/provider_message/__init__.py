"""The provider-neutral message."""
