"""Where the time of the pattern benchmarks goes: the programs on the local engine, sampled.

    python benchmarks/run.py --only strict_pattern       (makes the input)
    PYTHONPATH=benchmarks python benchmarks/cep/where_time_goes.py .cache/bench/input/json3-2000000-10000-8-7

A sample is counted for the innermost part of Penstock that is at work.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from cep.penstock_patterns import Took, followed_by, strictly_next
from common.contender import Arguments
from common.counting_sink import CountingSink
from common.inputs import input_files, records_of
from penstock.cep import CEP, Pattern
from penstock.common import Configuration, Types
from penstock.datastream import StreamExecutionEnvironment
from windows.timed_source import timed_records

PARTS = (
    ("connectors/json", "parse JSON to columns"),
    ("connectors/files", "parse JSON to columns"),
    ("runtime/timestamps_and_watermarks", "timestamps and watermarks"),
    ("common/watermark", "timestamps and watermarks"),
    ("engine/stages", "keys, targets, `take`, buffers"),
    ("runtime/cep/condition_tests", "conditions, for whole batches"),
    ("expressions/", "conditions, for whole batches"),
    ("runtime/cep/fresh_events", "order by key and time, values of events in matches"),
    ("runtime/cep/beginnings", "find where matches may begin"),
    ("runtime/cep/cep_operator", "go from key to key"),
    ("runtime/cep/match_store", "partial matches to the store"),
    ("runtime/cep/", "the automaton"),
    ("cep/penstock_patterns", "the user's function"),
    ("state/", "state and timers"),
    ("runtime/timer", "state and timers"),
    ("common/counting_sink", "the sink"),
    ("engine/", "the driver: plan, manifest, publishing"),
)
OTHERS = "all else"
EVERY_SECONDS = 0.002


class Sampler(threading.Thread):
    """Looks again and again at what the other threads do."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.counts: Counter[str] = Counter()
        self._is_over = threading.Event()

    def run(self) -> None:
        while not self._is_over.wait(EVERY_SECONDS):
            for thread, frame in sys._current_frames().items():
                if thread != self.ident and (part := part_of(frame)) is not None:
                    self.counts[part] += 1

    def stop(self) -> None:
        self._is_over.set()
        self.join()


def part_of(innermost: FrameType) -> str | None:
    """What a thread is at; None where it waits."""
    if innermost.f_code.co_filename.endswith(("threading.py", "futures/thread.py", "selectors.py", "queue.py")):
        return None
    frame: FrameType | None = innermost
    while frame is not None:
        for path, part in PARTS:
            if path in frame.f_code.co_filename:
                return part
        frame = frame.f_back
    return OTHERS


def run(pattern: Pattern, input_directory: Path) -> tuple[Counter[str], float]:
    """Samples of a run, and the CPU time of a record in µs."""
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        configuration = Configuration()
        configuration.set_string("execution.engine", "local")
        configuration.set_string("execution.checkpointing.dir", str(work / "checkpoint"))
        records = records_of(input_directory)
        per_file = records // len(input_files(input_directory))
        configuration.set_integer("execution.epoch.max-records", 4 * per_file)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(2)
        source = timed_records(env, Arguments(input_directory, work, work, 4)).key_by("k")
        found = CEP.pattern(source, pattern).process(Took(), Types.TUPLE([Types.LONG(), Types.LONG()]))
        found.sink_to(CountingSink(work / "counts"))
        sampler = Sampler()
        sampler.start()
        began = time.process_time()
        env.execute()
        took = time.process_time() - began
        sampler.stop()
    return sampler.counts, took / records * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", type=Path, help="a directory of benchmark input")
    chosen = parser.parse_args()
    patterns: tuple[Callable[[], Pattern], ...] = (strictly_next, followed_by)
    results = [run(pattern(), chosen.input) for pattern in patterns]
    names = [pattern.__name__ for pattern in patterns]
    print(f"| part | {' | '.join(f'`{name}`' for name in names)} |")
    print("|---|---:|---:|")
    parts = dict.fromkeys(part for _, part in PARTS) | {OTHERS: None}
    for part in parts:
        shares = [counts[part] / counts.total() for counts, _ in results]
        if any(shares):
            print(f"| {part} | {' | '.join(f'{share:.0%}' for share in shares)} |")
    print(f"| CPU time of a record | {' | '.join(f'{took:.1f} µs' for _, took in results)} |")


if __name__ == "__main__":
    main()
