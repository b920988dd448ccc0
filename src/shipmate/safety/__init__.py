"""What may happen: verdicts on calls, paths, commands."""
