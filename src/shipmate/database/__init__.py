"""What is kept, and where: the `Store` port, and its engines."""
