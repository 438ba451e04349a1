from __future__ import annotations

import pickle
from datetime import datetime

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

from penstock.common.errors import ConfigurationError, TypeMismatchError, UnsupportedError
from penstock.common.row import Row
from penstock.common.serialization import DeserializationError
from penstock.common.typeinfo import Types
from penstock.datastream.formats.protobuf import ProtobufDeserializationSchema, ProtobufSerializationSchema

FIELD = descriptor_pb2.FieldDescriptorProto


def message_class():
    """`message Payment`, as a compiler would make it."""
    file = descriptor_pb2.FileDescriptorProto(name="payment.proto", package="shop", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    kind = file.enum_type.add(name="Kind")
    kind.value.add(name="UNKNOWN", number=0)
    kind.value.add(name="CARD", number=1)
    place = file.message_type.add(name="Place")
    place.field.add(name="city", number=1, type=FIELD.TYPE_STRING, label=FIELD.LABEL_OPTIONAL)
    payment = file.message_type.add(name="Payment")
    entry = payment.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=FIELD.TYPE_STRING, label=FIELD.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=FIELD.TYPE_INT32, label=FIELD.LABEL_OPTIONAL)

    def add(name, number, kind, **more):
        payment.field.add(name=name, number=number, type=kind, **({"label": FIELD.LABEL_OPTIONAL} | more))

    add("id", 1, FIELD.TYPE_INT64)
    add("big", 2, FIELD.TYPE_UINT64)
    add("tags", 3, FIELD.TYPE_STRING, label=FIELD.LABEL_REPEATED)
    add("place", 4, FIELD.TYPE_MESSAGE, type_name=".shop.Place")
    add("kind", 5, FIELD.TYPE_ENUM, type_name=".shop.Kind")
    add("counts", 6, FIELD.TYPE_MESSAGE, label=FIELD.LABEL_REPEATED, type_name=".shop.Payment.CountsEntry")
    add("at", 7, FIELD.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp")
    add("data", 8, FIELD.TYPE_BYTES)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Payment"))


ROW = Row(
    id=1,
    big=2**63,
    tags=["a", "b"],
    place=Row(city="Bern"),
    kind="CARD",
    counts={"x": 3},
    at=datetime(2024, 1, 2, 3, 4, 5, 6),
    data=b"\x00\xff",
)


def test_messages_come_back_in_another_process():
    cls = message_class()
    message = pickle.loads(pickle.dumps(ProtobufSerializationSchema(cls))).serialize(ROW)
    assert cls.FromString(message).place.city == "Bern"
    schema = pickle.loads(pickle.dumps(ProtobufDeserializationSchema(cls)))
    batch = schema.to_batch([message, None], [5, 6])
    assert batch.values == [ROW]
    assert batch.timestamps == [5]


def test_fields_have_types():
    names = ProtobufDeserializationSchema(message_class()).produced_type
    assert dict(zip(names.get_field_names(), names.get_field_types(), strict=True))["big"] == Types.BIG_INT()


def test_what_is_not_set_is_none_where_that_can_be_told():
    (row,) = ProtobufDeserializationSchema(message_class()).to_batch([b""], [None]).values
    assert row == Row(id=0, big=0, tags=[], place=None, kind="UNKNOWN", counts={}, at=None, data=b"")


def test_a_broken_message_is_an_error_with_its_place():
    schema = ProtobufDeserializationSchema(message_class())
    with pytest.raises(DeserializationError, match=r"no shop\.Payment") as problem:
        schema.to_batch([b"", b"\xff\xff"], [None, None])
    assert problem.value.index == 1


def test_what_is_no_message_is_refused():
    with pytest.raises(ConfigurationError, match="message class"):
        ProtobufDeserializationSchema(int)
    with pytest.raises(TypeMismatchError, match=r"is no shop\.Payment"):
        ProtobufSerializationSchema(message_class()).serialize((1, 2))


def test_a_message_that_contains_itself_has_no_row_type():
    file = descriptor_pb2.FileDescriptorProto(name="tree.proto", package="shop", syntax="proto3")
    tree = file.message_type.add(name="Tree")
    tree.field.add(name="left", number=1, type=FIELD.TYPE_MESSAGE, type_name=".shop.Tree", label=FIELD.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    cls = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Tree"))
    with pytest.raises(UnsupportedError, match="contains itself"):
        ProtobufDeserializationSchema(cls)
