"""Commands on threads."""
