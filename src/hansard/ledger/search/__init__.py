"""Search: query language, index, snippets, facets."""
