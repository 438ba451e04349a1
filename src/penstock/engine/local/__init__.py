"""The engine that runs everything in one process."""
