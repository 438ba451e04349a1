"""Nexmark: events of an auction site, queries over them, and programs that answer them."""
