"""The Messages API of Anthropic, and of those who offer it too."""
