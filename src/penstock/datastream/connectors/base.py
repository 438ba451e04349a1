"""The contracts of sources and sinks, under PyFlink's module path."""

from __future__ import annotations

from penstock.connectors.sink import DeliveryGuarantee, Sink
from penstock.connectors.source import Source

__all__ = ["DeliveryGuarantee", "Sink", "Source"]
