"""Nexmark by others: Flink SQL, PyFlink, Spark Structured Streaming and bytewax."""
