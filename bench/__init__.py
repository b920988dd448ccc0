"""`./dev bench`: speed and memory beside their goals, and beside a bare relay in the same run."""
