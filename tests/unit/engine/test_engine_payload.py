import numpy as np
import pyarrow as pa
import pytest

from penstock.common.codecs import codec_for
from penstock.common.dictionary_keys import DictionaryKeys
from penstock.common.typeinfo import Types
from penstock.engine.stages import payload

ROW = Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])


def keys(*encoded: bytes) -> DictionaryKeys:
    distinct = sorted(set(encoded))
    return DictionaryKeys(np.array([distinct.index(key) for key in encoded], np.int32), distinct)


@pytest.mark.parametrize("with_keys", [False, True])
@pytest.mark.parametrize("timestamps", [None, [5, None, 7]])
def test_typed_records_come_back_with_keys_and_timestamps(with_keys, timestamps):
    columns = [pa.array([1, 2, None]), pa.array(["x", None, "z"])]
    sent_keys = keys(b"k1", b"k2", b"k1") if with_keys else None
    stamps = None if timestamps is None else pa.array(timestamps)
    batch = payload.decode(codec_for(ROW), payload.encode(codec_for(ROW), 3, columns, None, stamps, sent_keys))
    assert [tuple(value) for value in batch.values] == [(1, "x"), (2, None), (None, "z")]
    assert batch.timestamps == timestamps
    assert batch.keys == ([b"k1", b"k2", b"k1"] if with_keys else None)


@pytest.mark.parametrize("with_keys", [False, True])
def test_objects_of_no_declared_type_are_pickled(with_keys):
    codec = codec_for(None)
    values = [{"a": 1}, (1, 2), "text"]
    sent_keys = keys(b"1", b"2", b"3") if with_keys else None
    batch = payload.decode(codec, payload.encode(codec, 3, None, values, None, sent_keys))
    assert batch.values == values
    assert len(batch) == 3
    assert batch.keys == ([b"1", b"2", b"3"] if with_keys else None)


def test_equal_keys_of_a_buffer_are_one_object_so_that_their_hash_is_computed_once():
    codec = codec_for(Types.LONG())
    data = payload.encode(codec, 3, [pa.array([1, 2, 3])], None, None, keys(b"same", b"other", b"same"))
    decoded = payload.decode(codec, data).keys
    assert decoded is not None
    assert decoded[0] is decoded[2]


def test_columns_lie_where_arrow_computes_with_them():
    """Elsewhere its group-by warns on the console, once for every batch."""
    columns = [pa.array([1, 2, None]), pa.array(["x", None, "z"])]
    data = payload.encode(codec_for(ROW), 3, columns, None, pa.array([5, 6, 7]), keys(b"k1", b"k2", b"k1"))
    buffer = payload.open_buffer(codec_for(ROW), data)
    assert buffer.columns is not None
    parts = [part for column in (*buffer.columns, buffer.timestamps) for part in column.buffers() if part is not None]
    assert [part.address % 8 for part in parts] == [0] * len(parts)
