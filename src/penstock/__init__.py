"""Flink's programming model for Python people, on Spark."""
