"""Model providers: one port, its dialects, and what makes them dependable."""
