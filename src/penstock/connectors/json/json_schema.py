"""The type that a JSON Schema describes, as Flink reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from penstock.common.errors import ConfigurationError, UnsupportedError
from penstock.common.typeinfo import TypeInformation, Types

_SIMPLE = {
    "boolean": Types.BOOLEAN,
    "number": Types.BIG_DEC,
    "integer": Types.BIG_DEC,
}
_FORMATS = {"date": Types.SQL_DATE, "time": Types.SQL_TIME, "date-time": Types.SQL_TIMESTAMP}


def type_of_json_schema(json_schema: str) -> TypeInformation:
    """The type of the objects that the schema describes; numbers are `Decimal`, objects rows, arrays lists.

    >>> type_of_json_schema('{"type": "object", "properties": {"card": {"type": "string"}}}')
    RowTypeInfo(card: String)
    """
    try:
        root = json.loads(json_schema)
    except (TypeError, ValueError) as problem:
        raise ConfigurationError(f"the JSON schema is no JSON: {problem}") from None
    if not isinstance(root, dict):
        raise ConfigurationError(f"a JSON schema is an object, got {json_schema!r}")
    return _type_of("the schema", root, root)


def _type_of(where: str, node: Mapping[str, Any], root: Mapping[str, Any]) -> TypeInformation:
    if "$ref" in node:
        return _type_of(where, _referenced(where, node["$ref"], root), root)
    kind = node.get("type")
    if isinstance(kind, list):
        kinds = [each for each in kind if each != "null"]
        if len(kinds) != 1:
            raise UnsupportedError(f"{where}: a JSON schema type may be one type and null, got {kind}")
        kind = kinds[0]
    if kind == "object":
        properties: Mapping[str, Any] = node.get("properties", {})
        names = list(properties)
        return Types.ROW_NAMED(names, [_type_of(f"property {name!r}", properties[name], root) for name in names])
    if kind == "array":
        items = node.get("items")
        if not isinstance(items, dict):
            raise UnsupportedError(f"{where}: an array must have `items` of one type")
        return Types.OBJECT_ARRAY(_type_of(f"the items of {where}", items, root))
    if kind == "string":
        return _type_of_text(node)
    if kind in _SIMPLE:
        return _SIMPLE[kind]()
    raise UnsupportedError(f"{where}: the JSON schema type {kind!r} has no type of ours")


def _type_of_text(node: Mapping[str, Any]) -> TypeInformation:
    if node.get("contentEncoding") == "base64":
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    return _FORMATS.get(str(node.get("format")), Types.STRING)()


def _referenced(where: str, reference: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Any = root
    for part in reference.removeprefix("#").strip("/").split("/"):
        if not reference.startswith("#") or not isinstance(found, dict) or part not in found:
            raise UnsupportedError(f"{where}: the reference {reference!r} does not lead to a part of the same schema")
        found = found[part]
    return found
