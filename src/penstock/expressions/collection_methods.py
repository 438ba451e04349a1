"""The methods of expressions that are lists, maps or JSON texts, and of all kinds of values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.typeinfo import TypeInformation
from penstock.expressions.argument_checks import check_text, check_type, refused
from penstock.expressions.collection_functions import ArrayContains, ArrayJoin, ElementAt, Hash, MapValue, Size
from penstock.expressions.expression_methods import ExpressionMethods
from penstock.expressions.json_functions import IsJson, JsonValue, parsed_path

if TYPE_CHECKING:
    from penstock.expressions.expression import Expression


class CollectionMethods(ExpressionMethods):
    """Methods of lists and maps, and of texts that hold such."""

    def size(self) -> Expression:
        """The number of elements of a list, or of entries of a map."""
        return self._made(Size())

    def element_at(self, place: Any) -> Expression:
        """An element of a list, by a number or an expression: the first is 0, the last -1; None beyond the ends.

        >>> from penstock.expressions import col
        >>> col("url").split("/").element_at(3)
        col("url").split("/").element_at(3)
        """
        return self._made(ElementAt(), place)

    def array_contains(self, value: Any) -> Expression:
        """Whether a list has a value among its elements."""
        return self._made(ArrayContains(), value)

    def array_join(self, separator: str) -> Expression:
        """The texts of a list as one, with a separator between them; None where one of them is None."""
        return self._made(ArrayJoin(check_text("array_join", separator)))

    def map_value(self, key: Any) -> Expression:
        """The value of a key of a map; None where there is none."""
        if key is None:
            raise refused("map_value takes a key, and None is none")
        return self._made(MapValue(key))

    def json_value(self, path: str, value_type: TypeInformation | type[Any] = str) -> Expression:
        """A value out of a text of JSON: `col("payload").json_value("$.user.id", int)`.

        The path has names (`.name`, `['name']`) and places in lists (`[0]`) behind `$`. The type is `str`, `int`,
        `float` or `bool`. It is None where the text is no JSON, where there is nothing at the path, and where what is
        there is of another type: an `int` is no text with digits and no number with a fraction. As `str`, numbers and
        booleans are given as they are written.

        >>> from penstock.expressions import col
        >>> col("payload").json_value("$.user.id", int)
        col("payload").json_value("$.user.id", Long)
        """
        try:
            parsed_path(check_text("json_value", path))
        except ValueError as error:
            raise refused(f"json_value: {error}") from None
        target = check_type("json_value", value_type)
        if not JsonValue.takes(target):
            raise refused(f"json_value gives str, int, float or bool, and {value_type!r} is asked for")
        return self._made(JsonValue(path, target))

    def is_json(self) -> Expression:
        """Whether a text is JSON; none has more than 500 lists and objects in one another."""
        return self._made(IsJson())

    def hash64(self) -> Expression:
        """A number of 64 bits that is the same for equal values, on every machine and in every version.

        An integer, a float and a boolean that are equal have different ones. Not for secrets.
        """
        return self._made(Hash())
