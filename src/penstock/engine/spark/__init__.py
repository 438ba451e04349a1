"""The engine that runs stages as Spark jobs; the only place that imports pyspark."""
