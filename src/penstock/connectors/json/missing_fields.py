"""Which of the declared fields a JSON object lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation
from penstock.connectors.json.documents import BROKEN_DOCUMENT, parsed_document, reason_of


def first_missing_field(documents: Sequence[bytes], type_info: TypeInformation) -> tuple[int, str] | None:
    """The place of the first document that lacks a field, and the reason; a field that is null is there."""
    for index, document in enumerate(documents):
        try:
            missing = _missing(parsed_document(document), type_info)
        except BROKEN_DOCUMENT as problem:  # in a field that is ignored, which Arrow's parser does not look into
            return index, reason_of(problem)
        if missing is not None:
            return index, f"it has no field {missing!r}"
    return None


def _missing(value: Any, type_info: TypeInformation) -> str | None:
    if not isinstance(type_info, CompositeTypeInfo) or not isinstance(value, dict):
        return None
    for name, field_type in zip(type_info.get_field_names(), type_info.get_field_types(), strict=True):
        if name not in value:
            return name
        inside = _missing(value[name], field_type)
        if inside is not None:
            return f"{name}.{inside}"
    return None
