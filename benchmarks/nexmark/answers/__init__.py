"""The right answers, by DuckDB: one statement a query, and plain Python for the patterns."""
