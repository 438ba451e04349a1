"""Operators on one record at a time, and how records are spread."""

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import FilterFunction, FlatMapFunction, MapFunction, Partitioner, ProcessFunction

WORDS = ["to be", "or not", "", "to be that is"]


def map_by_a_lambda(env):
    return env.from_collection([1, 2, 3]).map(lambda n: n * 10)


def map_to_a_declared_type(env):
    return env.from_collection([1, 2, 3], Types.INT()).map(lambda n: n / 4, Types.DOUBLE())


def map_to_tuples_and_back(env):
    pairs = env.from_collection(["a", "bb"]).map(lambda s: (s, len(s)), Types.TUPLE([Types.STRING(), Types.INT()]))
    return pairs.map(lambda pair: f"{type(pair).__name__} {pair[0]} {pair[1]}", Types.STRING())


def map_to_rows_and_back(env):
    row = Types.ROW_NAMED(["word", "length"], [Types.STRING(), Types.INT()])
    rows = env.from_collection(["a", "bb"]).map(lambda s: Row(s, len(s)), row)
    return rows.rebalance().map(lambda row: f"{type(row).__name__} {row.word} {row['length']} {row[1]}", Types.STRING())


class Opened(MapFunction):
    def open(self, runtime_context):
        self.prefix = (
            f"{runtime_context.get_index_of_this_subtask()} of {runtime_context.get_number_of_parallel_subtasks()}"
        )

    def map(self, value):
        return f"{self.prefix}: {value}"


def map_function_with_open(env):
    return env.from_collection(["x", "y"]).map(Opened(), Types.STRING())


def flat_map_by_a_generator(env):
    def split(line):
        yield from line.split()

    return env.from_collection(WORDS).flat_map(split, Types.STRING())


def flat_map_by_a_list(env):
    return env.from_collection(WORDS).flat_map(lambda line: line.split())


def flat_map_that_returns_nothing(env):
    return env.from_collection([1, 2, 3]).flat_map(lambda n: [] if n == 2 else [n, -n], Types.INT())


class Letters(FlatMapFunction):
    def flat_map(self, value):
        for letter in value:
            yield letter, 1


def flat_map_function(env):
    return env.from_collection(["ab", "c"]).flat_map(Letters(), Types.TUPLE([Types.STRING(), Types.INT()]))


def filter_by_a_lambda(env):
    return env.from_collection(list(range(10)), Types.INT()).filter(lambda n: n % 3 == 0)


class Long(FilterFunction):
    def filter(self, value):
        return len(value) > 2


def filter_function(env):
    return env.from_collection(["a", "bbb", "cc", "dddd"]).filter(Long())


class Doubled(ProcessFunction):
    def process_element(self, value, ctx):
        yield value
        yield value + 100


def process_function(env):
    return env.from_collection([1, 2]).process(Doubled(), Types.LONG())


class Times(ProcessFunction):
    def process_element(self, value, ctx):
        yield f"{value} {ctx.timestamp()} {ctx.timer_service().current_watermark()}"


def process_function_without_timestamps(env):
    return env.from_collection(["a"]).process(Times(), Types.STRING())


def a_long_chain(env):
    stream = (
        env.from_collection(list(range(1, 21)), Types.LONG()).map(lambda n: n * n, Types.LONG()).filter(lambda n: n % 2)
    )
    return stream.flat_map(lambda n: [n, n + 0.5], Types.DOUBLE()).map(str, Types.STRING()).filter(lambda s: "1" in s)


def project_of_tuples(env):
    record = Types.TUPLE([Types.INT(), Types.STRING(), Types.FLOAT()])
    return env.from_collection([(1, "a", 1.5), (2, "b", 2.5)], record).project(2, 0)


class Modulo(Partitioner):
    def partition(self, key, num_partitions):
        return key % num_partitions


def every_partitioning_keeps_the_order_at_parallelism_1(env):
    stream = env.from_collection([3, 1, 2], Types.INT())
    for step in ("forward", "rebalance", "rescale", "shuffle", "broadcast"):
        stream = getattr(stream, step)().map(lambda n: n + 1, Types.INT())
    return stream.partition_custom(Modulo(), lambda n: n).map(lambda n: n, Types.INT())


def rebalance_goes_round(env):
    class Subtask(MapFunction):
        def open(self, runtime_context):
            self.count = 0

        def map(self, value):
            self.count += 1
            return self.count

    return env.from_collection(list(range(9))).rebalance().map(Subtask()).set_parallelism(3)


def a_sequence_source(env):
    return env.from_source(NumberSequenceSource(3, 7), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())


def an_empty_collection(env):
    return env.from_collection([], Types.STRING()).map(lambda s: s + "!", Types.STRING())


def a_collection_of_mixed_values(env):
    return env.from_collection([1, "a", 2.5, None, (1, "x"), [1, 2], {"k": 1}, True]).map(lambda v: v)


def names_and_settings(env):
    stream = env.from_collection([1]).map(lambda n: n).name("first").uid("first-uid").set_parallelism(1)
    stream = stream.set_max_parallelism(64).disable_chaining().start_new_chain().slot_sharing_group("default")
    return [stream.get_name(), type(stream).__name__]


PLAIN = ("names_and_settings",)
ORDER_VARIES = ("rebalance_goes_round",)
