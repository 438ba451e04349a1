"""Avro: schemas, messages and files."""
