"""Settings that a stream and a sink pass on to the operator behind them."""

from __future__ import annotations

from typing import Self

from penstock.datastream.arguments import check_parallelism, check_text, refuse
from penstock.datastream.transformation import Transformation
from penstock.plan.nodes import Chaining


class OperatorSettings:
    """What can be set on an operator after it was made. Every method returns the object itself."""

    def operator(self, method: str) -> Transformation:
        """The operator that `method` is to change; raises when the object stands for none."""
        raise NotImplementedError

    def name(self, name: str) -> Self:
        """Sets the name of the operator, as `explain()`, metrics and errors show it."""
        self.operator("name").name = check_text("name", "name", name)
        return self

    def uid(self, uid: str) -> Self:
        """Sets the id that ties the operator to its state; it must be unique in the job and stay the same."""
        self.operator("uid").uid = check_text("uid", "uid", uid)
        return self

    def set_parallelism(self, parallelism: int) -> Self:
        """Sets the number of subtasks of the operator."""
        operator = self.operator("set_parallelism")
        checked = check_parallelism("set_parallelism", parallelism)
        if operator.parallelism_is_fixed and checked != 1:
            raise refuse(f"set_parallelism: '{operator.name}' runs as one subtask and cannot have {checked}")
        operator.parallelism = checked
        return self

    def set_description(self, description: str) -> Self:
        """Sets a longer text than the name, shown in plans."""
        self.operator("set_description").description = check_text("set_description", "description", description)
        return self

    def disable_chaining(self) -> Self:
        """Keeps the operator out of its neighbours' chains."""
        self.operator("disable_chaining").chaining = Chaining.NEVER
        return self

    def slot_sharing_group(self, slot_sharing_group: str) -> Self:
        """Sets the slot sharing group; without it an operator takes the one that all its inputs have."""
        operator = self.operator("slot_sharing_group")
        operator.slot_sharing_group = check_text("slot_sharing_group", "slot_sharing_group", slot_sharing_group)
        return self
