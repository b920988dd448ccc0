"""Makes the pictures of the documentation from the real page, driven by scripts, not by models."""
