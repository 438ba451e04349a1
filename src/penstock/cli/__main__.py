"""`python -m penstock.cli`: the command where its script is not installed."""

from __future__ import annotations

from penstock.cli.main import main

if __name__ == "__main__":
    main()
