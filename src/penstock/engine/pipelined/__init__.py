"""The engine in which records flow through all stages at once: Spark jobs whose stages run side by side."""
