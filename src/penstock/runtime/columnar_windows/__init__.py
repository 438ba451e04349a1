"""Windows whose aggregates are computed as columns: no Python for single records."""
