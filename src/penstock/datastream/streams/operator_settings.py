"""Settings that a stream and a sink pass on to the operator behind them."""

from __future__ import annotations

import re
from typing import Self

from penstock.datastream.arguments import check_max_parallelism, check_parallelism, check_text, refuse, refuse_argument
from penstock.datastream.slot_sharing_group import SlotSharingGroup
from penstock.datastream.transformation import Transformation
from penstock.plan.nodes import Chaining

_UID_HASH = re.compile("[0-9a-f]{32}", re.IGNORECASE)


class OperatorSettings:
    """What can be set on an operator after it was made. Every method returns the object itself.

    >>> numbers = env.from_sequence(1, 9).name("numbers").uid("numbers").set_parallelism(3)
    >>> numbers.map(str).set_description("as text").disable_chaining().get_name()
    'Map'
    """

    def operator(self, method: str) -> Transformation:
        """The operator that `method` is to change; raises when the object stands for none."""
        raise NotImplementedError

    def name(self, name: str) -> Self:
        """Sets the name of the operator, as `explain()`, metrics and errors show it.

        >>> env.from_collection([1]).map(str).name("as text")
        <DataStream of String from 'as text'>
        """
        self.operator("name").name = check_text("name", "name", name)
        return self

    def uid(self, uid: str) -> Self:
        """Sets the id that ties the operator to its state; it must be unique in the job and stay the same.

        >>> sink = env.from_collection([1]).uid("numbers").print().uid("printed")
        >>> [node.uid for node in env.get_plan().nodes]
        ['numbers', 'printed']
        """
        self.operator("uid").uid = check_text("uid", "uid", uid)
        return self

    def set_uid_hash(self, uid_hash: str) -> Self:
        """Sets the id by its hash, as logs show it: 32 hexadecimal digits. It takes the place of `uid`.

        >>> sink = env.from_collection([1]).set_uid_hash("0123456789abcdef0123456789abcdef").print()
        >>> env.get_plan().nodes[0].uid
        '0123456789abcdef0123456789abcdef'
        """
        if not isinstance(uid_hash, str) or not _UID_HASH.fullmatch(uid_hash):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise refuse_argument("set_uid_hash", "uid_hash", uid_hash, "32 hexadecimal digits")
        self.operator("set_uid_hash").uid = uid_hash
        return self

    def set_parallelism(self, parallelism: int) -> Self:
        """Sets the number of subtasks of the operator.

        >>> sink = env.from_sequence(1, 9).set_parallelism(3).print().set_parallelism(2)
        >>> [node.parallelism for node in env.get_plan().nodes]
        [3, 2]
        """
        operator = self.operator("set_parallelism")
        checked = check_parallelism("set_parallelism", parallelism)
        if operator.parallelism_is_fixed and checked != 1:
            raise refuse(f"set_parallelism: '{operator.name}' runs as one subtask and cannot have {checked}")
        operator.parallelism = checked
        return self

    def set_description(self, description: str) -> Self:
        """Sets a longer text than the name, shown in plans.

        >>> sink = env.from_collection([1]).set_description("the one number").print()
        >>> "the one number" in env.explain()
        True
        """
        self.operator("set_description").description = check_text("set_description", "description", description)
        return self

    def disable_chaining(self) -> Self:
        """Keeps the operator out of its neighbours' chains.

        >>> sink = env.from_collection([1]).map(str).disable_chaining().print()
        >>> env.explain().count("  chain ")  # one for each operator
        3
        """
        self.operator("disable_chaining").chaining = Chaining.NEVER
        return self

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        """Sets the slot sharing group; without it an operator takes the one that all its inputs have.

        >>> sink = env.from_collection([1]).slot_sharing_group("numbers").print()
        >>> [node.slot_sharing_group for node in env.get_plan().nodes]
        ['numbers', 'numbers']
        """
        operator = self.operator("slot_sharing_group")
        if isinstance(slot_sharing_group, SlotSharingGroup):
            slot_sharing_group.refuse_resources()
            slot_sharing_group = slot_sharing_group.get_name()
        operator.slot_sharing_group = check_text("slot_sharing_group", "slot_sharing_group", slot_sharing_group)
        return self


class StreamSettings(OperatorSettings):
    """What can be set on the operator behind a stream, beside what a sink has too."""

    def get_name(self) -> str:
        """The name of the operator behind the stream.

        >>> env.from_collection([1]).map(str).get_name()
        'Map'
        """
        return self.operator("get_name").name

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Sets the number of key groups: the upper bound of any later parallelism of the operator.

        >>> sink = env.from_collection(["a"]).key_by(lambda s: s).reduce(max).set_max_parallelism(256).print()
        >>> [node.max_parallelism for node in env.get_plan().nodes]
        [128, 256, 128]
        """
        operator = self.operator("set_max_parallelism")
        operator.max_parallelism = check_max_parallelism("set_max_parallelism", max_parallelism)
        return self

    def start_new_chain(self) -> Self:
        """Lets the operator start a chain, instead of joining that of its input.

        >>> sink = env.from_collection([1]).map(str).start_new_chain().print()
        >>> env.explain().count("  chain ")
        2
        """
        self.operator("start_new_chain").chaining = Chaining.HEAD
        return self

    def force_non_parallel(self) -> Self:
        """Lets the operator run as one subtask, whatever parallelism is set later.

        >>> env = env.set_parallelism(4)
        >>> sink = env.from_sequence(1, 9).map(str).force_non_parallel().print()
        >>> [node.parallelism for node in env.get_plan().nodes]
        [4, 1, 4]
        """
        operator = self.operator("force_non_parallel")
        if operator.parallelism not in (None, 1):
            raise refuse(f"force_non_parallel: '{operator.name}' has parallelism {operator.parallelism}")
        operator.parallelism_is_fixed = True
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Without effect: records travel with their epoch, however many they are.

        >>> list(env.from_collection([1, 2]).set_buffer_timeout(5).execute_and_collect())
        [1, 2]
        """
        self.operator("set_buffer_timeout")
        if isinstance(timeout_millis, bool) or not isinstance(timeout_millis, int) or timeout_millis < -1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise refuse_argument("set_buffer_timeout", "timeout_millis", timeout_millis, "milliseconds, 0 or -1")
        return self
