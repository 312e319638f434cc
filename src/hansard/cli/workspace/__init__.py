"""Commands on workspaces."""
