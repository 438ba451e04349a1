"""How records are written into one file: one format a module."""
