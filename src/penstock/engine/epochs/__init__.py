"""Epochs: the driver loop, the manifest log, publishing and retention; shared by all engines."""
