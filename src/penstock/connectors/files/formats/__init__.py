"""How the records of a file are read: one format a module."""
