"""The built-in tools, a module per tool provider."""
