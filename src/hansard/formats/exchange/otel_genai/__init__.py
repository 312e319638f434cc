"""Spans and events of OpenTelemetry's GenAI conventions."""
