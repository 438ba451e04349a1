"""The queries of Nexmark as Penstock programs: `results(events)` makes the stream of results."""
