"""Rows as lines of comma-separated values."""
