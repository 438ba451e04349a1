"""Takes a plan, finds the engine by name and returns a JobClient."""
