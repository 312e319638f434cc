"""The stream of the Responses API."""
