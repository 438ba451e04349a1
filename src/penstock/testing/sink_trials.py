"""What a sink is put through: replays, crashes at every call and line, and others at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from penstock.connectors.sink import EpochId, Sink, Token
from penstock.testing.sink_run import EPOCHS, SUBTASKS, CallLog, SinkRun, Tokens

MIDDLE = EpochId(1, 2)


@dataclass(frozen=True)
class Trial:
    """One way in which a job may go."""

    name: str
    run: Callable[[SinkRun], None]
    log: Callable[[], CallLog] = CallLog


def _without_failures(run: SinkRun) -> None:
    run.run()


def crashes_at_calls(counts: dict[str, int]) -> Iterator[Trial]:
    """A crash before and after each kind of call: the first of the run, one in the middle, and the last."""
    for name, count in counts.items():
        for number in sorted({1, (count + 1) // 2 + 1, count}):
            if number > count:
                continue
            for moment in ("before", "after"):
                yield Trial(
                    f"crash {moment} call {number} of {count} of `{name}`",
                    _without_failures,
                    lambda at=(name, number, moment): CallLog(crash_at=at),
                )


def crashes_inside(lines: dict[tuple[str, int], list[str]], own_files: frozenset[str]) -> Iterator[Trial]:
    """A crash at every line of the sink's own code: when it is reached first, and in the middle of the run."""
    for (file, line), calls in sorted(lines.items()):
        for time in sorted({1, len(calls) // 2 + 1}):
            yield Trial(
                f"crash at {file.rpartition('/')[2]}:{line}, in `{calls[time - 1]}`",
                _without_failures,
                lambda place=(file, line, time): CallLog(crash_line=place, own_files=own_files),
            )


def _replay(run: SinkRun) -> None:
    """In the second epoch every task is done twice, in another order, and only the second attempt counts."""
    run.recover()
    for number in range(1, EPOCHS + 1):
        epoch = EpochId(1, number)
        if epoch == MIDDLE:
            for subtask in range(SUBTASKS):
                run.stage(epoch, subtask, backwards=True)
        run.epoch(epoch)
    run.close()


def _published_again(run: SinkRun) -> None:
    """Every epoch is published twice by the same objects, as after a failure on the way to the driver."""
    run.recover()
    for number in range(1, EPOCHS + 1):
        run.epoch(EpochId(1, number))
        run.publish(EpochId(1, number))
    run.close()


def _two_attempts_at_once(run: SinkRun) -> None:
    """In the second epoch each task has a second attempt, which writes at the same time and comes to nothing."""
    run.recover()
    run.epoch(EpochId(1, 1))
    staged: Tokens = {}
    for subtask in range(SUBTASKS):
        batches = run.batches(MIDDLE, subtask)
        # The attempt that is given up runs in another process.
        writers = [run.open_writer(MIDDLE, subtask, run.another_sink()), run.open_writer(MIDDLE, subtask)]
        for batch in batches:
            for writer in writers:
                writer.write(batch)
        staged[subtask] = [run.finish_writer(writer) for writer in writers][-1]
    run.commit_manifest(MIDDLE, staged)
    run.publish(MIDDLE)
    run.epoch(EpochId(1, 3))
    run.close()


def _writers_side_by_side(run: SinkRun) -> None:
    """The subtasks write in threads, each with a sink of its own."""
    run.recover()
    for number in range(1, EPOCHS + 1):
        epoch = EpochId(1, number)

        def write(subtask: int, epoch: EpochId = epoch) -> list[Token]:
            writer = run.open_writer(epoch, subtask, run.another_sink())
            for batch in run.batches(epoch, subtask):
                writer.write(batch)
            return run.finish_writer(writer)

        with ThreadPoolExecutor(SUBTASKS) as threads:
            staged = dict(enumerate(threads.map(write, range(SUBTASKS))))
        run.commit_manifest(epoch, staged)
        run.publish(epoch)
    run.close()


def _publish_all(run: SinkRun, sink: Sink, epoch: EpochId) -> None:
    for subtask, tokens in run.tokens[epoch].items():
        publisher = run.open_publisher(subtask, sink)
        if publisher is not None:
            publisher.publish(epoch, tokens)
            publisher.close()
    committer = run.open_committer(sink)
    if committer is not None:
        committer.recover(run.newest)
        committer.commit(epoch, run.all_tokens(epoch))
        committer.close()


def _two_publishers_at_once(run: SinkRun) -> None:
    """Every epoch is published by two processes at the same time: one of them is believed dead."""
    run.recover()
    for number in range(1, EPOCHS + 1):
        epoch = EpochId(1, number)
        run.commit_manifest(epoch, {subtask: run.stage(epoch, subtask) for subtask in range(SUBTASKS)})
        with ThreadPoolExecutor(2) as threads:
            started = [threads.submit(_publish_all, run, run.another_sink(), epoch) for _ in range(2)]
            for each in started:
                each.result()
    run.close()


def _late_publisher(run: SinkRun) -> None:
    """When all is done, a process that was believed dead publishes the second epoch once more."""
    run.run()
    _publish_all(run, run.another_sink(), MIDDLE)


PROTOCOL: Sequence[Trial] = (
    Trial("no failure", _without_failures),
    Trial("every task of an epoch is done again", _replay),
    Trial("every epoch is published again", _published_again),
    Trial("two attempts at a task at the same time", _two_attempts_at_once),
    Trial("writers side by side", _writers_side_by_side),
    Trial("two processes publish at the same time", _two_publishers_at_once),
    Trial("an old epoch is published late", _late_publisher),
)
