"""Sources and sinks, under PyFlink's module paths."""

from penstock.connectors.sink import DeliveryGuarantee, Sink
from penstock.connectors.source import Source

__all__ = ["DeliveryGuarantee", "Sink", "Source"]
