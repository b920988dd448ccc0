"""The API of Google Gemini."""
