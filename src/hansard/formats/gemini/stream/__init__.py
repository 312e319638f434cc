"""The stream of Gemini."""
