"""JSON objects as Arrow columns and back: shared by files, Kafka and the sinks."""
