"""AI agents that work in people's projects, and ask before they act."""

__version__ = "0.1.0"
