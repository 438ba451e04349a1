"""The name and type of a side output."""

from __future__ import annotations

from typing import Any, ClassVar
from weakref import WeakSet

from penstock.common.typeinfo import RowTypeInfo, TypeInformation, Types


class OutputTag:
    """Names a side output of an operator.

    Records are sent there by `yield tag, value` or `ctx.output(tag, value)`. A list of types stands for a row of
    them; without a type the records are pickled.

    >>> OutputTag("late-data").tag_id
    'late-data'
    """

    exists: ClassVar[bool] = False
    """Whether this process has ever had a tag: if not, no result can be meant for a side output."""
    made: ClassVar[WeakSet[OutputTag]] = WeakSet()
    """The tags that programs in this process have made and still hold."""

    tag_id: str
    type_info: TypeInformation

    def __new__(cls, *_args: Any, **_kwargs: Any) -> OutputTag:  # noqa: D102
        OutputTag.exists = True
        return super().__new__(cls)

    def __init__(self, tag_id: str, type_info: TypeInformation | list[TypeInformation] | None = None) -> None:
        if not isinstance(tag_id, str) or not tag_id:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"OutputTag: `tag_id` is {tag_id!r}; expected text that is not empty")
        if type_info is None:
            type_info = Types.PICKLED_BYTE_ARRAY()
        elif isinstance(type_info, list):
            type_info = RowTypeInfo(type_info)
        elif not isinstance(type_info, TypeInformation):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"OutputTag: `type_info` is {type_info!r}; expected a type such as Types.STRING(), "
                "a list of types, or None"
            )
        self.tag_id = tag_id
        self.type_info = type_info
        OutputTag.made.add(self)

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r})"
