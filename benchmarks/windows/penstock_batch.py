"""Sum and count per key and 10 s in Penstock's batch mode: the whole input is one job; the first one warms the JVM."""

from __future__ import annotations

import time
from dataclasses import replace

from common.contender import Result, parse_arguments
from common.counting_sink import CountingSink, read_counts
from common.inputs import records_of
from common.penstock_job import make_environment
from penstock.common import RuntimeExecutionMode
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.expressions import count, sum_, window_start
from windows.batch_rounds import ROUNDS
from windows.timed_source import WINDOW, timed_records


def main() -> None:
    arguments = parse_arguments()
    result = Result()
    for number in range(ROUNDS):
        round_arguments = replace(arguments, work=arguments.work / str(number))
        env = make_environment(round_arguments).set_runtime_mode(RuntimeExecutionMode.BATCH)
        windows = timed_records(env, arguments).key_by("k").window(TumblingEventTimeWindows.of(WINDOW))
        counts = arguments.work / f"counts-{number}"
        windows.aggregate(start=window_start(), n=count(), total=sum_("v")).sink_to(CountingSink(counts))
        started = time.perf_counter()
        env.execute("benchmark")
        result.samples.append((records_of(arguments.input), time.perf_counter() - started))
        counted = read_counts(counts, started)
        result.outputs, result.checksum = counted.outputs, counted.checksum
    result.write(arguments.result)


if __name__ == "__main__":
    main()
