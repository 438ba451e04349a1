"""The plan of a job: frozen nodes and edges, the checks they must pass, and how a plan is shown."""
