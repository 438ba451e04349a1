"""Tables of Delta Lake and Iceberg: files of Parquet and a log that says which of them count."""
