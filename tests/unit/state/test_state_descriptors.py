from __future__ import annotations

from typing import Any

import pytest

from penstock.common.errors import StateError
from penstock.common.typeinfo import Types
from penstock.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.state.ttl_config import StateTtlConfig


def test_descriptors_have_pyflinks_types() -> None:
    assert ValueStateDescriptor("v", Types.LONG()).type_info == Types.LONG()
    assert ListStateDescriptor("l", Types.LONG()).type_info == Types.LIST(Types.LONG())
    assert MapStateDescriptor("m", Types.STRING(), Types.LONG()).type_info == Types.MAP(Types.STRING(), Types.LONG())
    assert ValueStateDescriptor("v", Types.LONG()).get_name() == "v"


def test_types_are_optional_and_may_be_python_classes() -> None:
    assert ValueStateDescriptor("v").type_info is None
    assert ValueStateDescriptor("v", int).type_info == Types.LONG()
    assert MapStateDescriptor("m").type_info is None
    assert MapStateDescriptor("m", str, float).type_info == Types.MAP(Types.STRING(), Types.DOUBLE())


def test_functions_are_checked() -> None:
    assert ReducingStateDescriptor("r", max).reducer()(1, 2) == 2
    with pytest.raises(TypeError, match="'r' takes a ReduceFunction"):
        ReducingStateDescriptor("r", 5)
    with pytest.raises(TypeError, match=r"'a' takes an AggregateFunction.*create_accumulator"):
        AggregatingStateDescriptor("a", max)


@pytest.mark.parametrize("name", ["", None, 5])
def test_a_name_is_needed(name: Any) -> None:
    with pytest.raises(StateError, match="needs a name"):
        ValueStateDescriptor(name)


def test_time_to_live_takes_a_configuration() -> None:
    descriptor = ValueStateDescriptor("v")
    assert descriptor.time_to_live is None
    with pytest.raises(TypeError, match="'v' takes a StateTtlConfig, got 5"):
        descriptor.enable_time_to_live(5)
    descriptor.enable_time_to_live(
        StateTtlConfig.new_builder("1 h").set_update_type(StateTtlConfig.UpdateType.Disabled).build()
    )
    assert descriptor.time_to_live is None
    config = StateTtlConfig.new_builder("1 h").build()
    descriptor.enable_time_to_live(config)
    assert descriptor.time_to_live is config
