"""`DataGeneratorSource`, where Flink's Java API has it."""

from __future__ import annotations

from penstock.connectors.datagen import DataGeneratorSource

__all__ = ["DataGeneratorSource"]
