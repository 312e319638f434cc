"""generateContent of Gemini."""
