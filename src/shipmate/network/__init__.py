"""The one client for requests that an agent's work causes, with its guard at connect time."""
