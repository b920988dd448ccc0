"""HTTP: one module per noun of the API table, and the few parts they share."""
