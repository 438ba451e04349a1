"""Complex event processing: the automaton of a pattern, and the operator that runs it."""
