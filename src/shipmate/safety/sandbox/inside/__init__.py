"""Programs that run beside a command, in its room. They import nothing but each other."""
