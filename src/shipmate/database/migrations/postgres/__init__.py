"""The same schema for PostgreSQL, from the number on at which it was made."""
