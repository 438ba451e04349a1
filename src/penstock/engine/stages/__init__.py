"""Stages: what tasks run, and the buffers between them; shared by all engines."""
