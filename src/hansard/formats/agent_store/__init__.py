"""Agent Store, content format 2."""
