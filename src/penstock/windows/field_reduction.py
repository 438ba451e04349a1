"""A reduction of the records of a window that is known field by field: what a `reduce` was recognised as."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from penstock.common.codecs import codec_for
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation
from penstock.expressions.type_rules import is_float


class FieldCombination(Enum):
    """What two records make of a field."""

    SAME = "same"
    """It is a part of the key."""
    FIRST = "first"
    """What the earlier record has."""
    LAST = "last"
    SUM = "sum"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True)
class FieldReduction:
    """One record of many, each field by itself; of one record that record."""

    record_type: TypeInformation
    fields: tuple[FieldCombination, ...]
    """For each field of the records; of records without fields there is one, the record."""

    @property
    def names(self) -> list[str]:
        """What the fields are called."""
        schema = codec_for(self.record_type).schema
        assert schema is not None
        return list(schema.names)

    @property
    def types(self) -> list[TypeInformation]:
        """The types of the fields."""
        if isinstance(self.record_type, CompositeTypeInfo):
            return list(self.record_type.get_field_types())
        return [self.record_type]

    @property
    def is_ordered(self) -> bool:
        """Whether the result depends on which record came first."""
        return any(map(_is_ordered, self.fields, self.types))

    @property
    def is_folded(self) -> bool:
        """Whether records must be added one after the other, as they came: sums of floating-point numbers."""
        pairs = zip(self.fields, self.types, strict=True)
        return any(each is FieldCombination.SUM and is_float(values) for each, values in pairs)

    def __str__(self) -> str:
        return ", ".join(f"{name}={each.value}" for name, each in zip(self.names, self.fields, strict=True))


def depends_on_first(combination: FieldCombination, values: TypeInformation) -> bool:
    """Whether a least or greatest value is that of the first record where this one is NaN, which no other is beyond."""
    return combination in (FieldCombination.MIN, FieldCombination.MAX) and is_float(values)


def _is_ordered(combination: FieldCombination, values: TypeInformation) -> bool:
    return combination in (FieldCombination.FIRST, FieldCombination.LAST) or depends_on_first(combination, values)
