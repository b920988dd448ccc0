"""The agent: the loop, what it sends to the model, who it asks."""
