"""How the benchmark of batch windows is run."""

ROUNDS = 3
"""How often the whole input is read; the first time is the warm-up."""
