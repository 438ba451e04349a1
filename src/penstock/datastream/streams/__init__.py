"""The stream classes; `penstock.datastream` and `penstock.datastream.data_stream` export them."""
