"""Sessions: their life, who watches them, in which project they work."""
