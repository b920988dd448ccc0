"""The HTTP interface, a module per noun."""
