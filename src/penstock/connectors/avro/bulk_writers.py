"""Writers of Avro files, with PyFlink's name."""

from __future__ import annotations

from penstock.common.serialization import BulkWriterFactory
from penstock.connectors.avro.file_writers import avro_writers_for
from penstock.connectors.avro.schema import AvroSchema


class AvroBulkWriters:
    """Makes the writers of Avro files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Each record is a dict of the schema's fields, or a row with as many."""
        return avro_writers_for(schema)
