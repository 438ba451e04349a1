"""Rewrites plans, rule by rule, until an engine can run them."""
