"""Tries other schedules of a pipeline, and shrinks to the smallest one whose answer is wrong."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.common.errors import ArgumentError, EnvironmentNotReadyError, JobExecutionException
from penstock.common.time import DurationLike, parse_duration
from penstock.datastream import DataStream
from penstock.datastream.output_types import TypeHint
from penstock.testing.capture import Emitted
from penstock.testing.fuzz_case import Arrival, FuzzCase, Records
from penstock.testing.fuzz_run import Pipeline
from penstock.testing.stream_equality import stream_difference

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

_MAX_SPLITS = 3
_MAX_PARALLELISM = 3
_MAX_CRASHES = 2
_CRASH_STEPS = 60
"""An epoch has about ten steps."""
_EPOCH_RECORDS = (None, 1, 2, 4, 7, 20)


def fuzz(
    build: Callable[..., DataStream],
    *inputs: Records,
    disorder: DurationLike = 0,
    split_by: Callable[[Any], Hashable] | None = None,
    latest_by: Callable[[Any], Any] | None = None,
    oracle: Callable[..., Iterable[Any]] | None = None,
    timestamps: bool = False,
    types: Sequence[TypeHint] = (),
    max_examples: int = 50,
    examples: Sequence[FuzzCase] = (),
    seed: int | None = None,
) -> None:
    """Runs a pipeline on the local engine in many ways, and fails with the smallest case whose answer is another.

    `build` takes a stream, or several, and returns one; `inputs` are their records, each `(value, timestamp)`.
    The records are dealt to splits, arrive out of order within `disorder`, with pauses and idle splits; epochs are
    small or large, there are several subtasks, and the job crashes and goes on. The answer must always be that of
    the run in order, in one epoch, with one subtask and without a crash; or what `oracle(records, ...)` returns.

    - `split_by`: records for which it returns the same are in one split, so that their order is kept if there is no
      disorder. Without it any record may be in any split.
    - `latest_by`: of the records for which it returns the same, the last one is the answer. Without it all results
      count, in any order.
    - `timestamps`: results are compared with their timestamps; an oracle then returns pairs.
    - `examples`: cases that are tried first, such as those that earlier failures have printed.
    - `seed`: the same seed tries the same cases. Without it every run tries others.

    >>> payments = [(("visa", 5), 1_000), (("amex", 2), 1_500), (("visa", 1), 4_000)]
    >>> fuzz(
    ...     lambda s: s.key_by(lambda p: p[0]).sum(1), payments, latest_by=lambda p: p[0], max_examples=3
    ... )
    """
    __tracebackhide__ = True
    _check_arguments(build, inputs, types)
    bound = parse_duration(disorder)
    ordered = [sorted(records, key=lambda each: each[1]) for records in inputs]
    padded = [*types, *[None] * (len(ordered) - len(types))]
    check = _Check(Pipeline(build, ordered, padded, bound), latest_by, oracle, timestamps)
    check.expected(FuzzCase.in_order([range(len(records)) for records in ordered]).kept)
    for case in examples:
        check(case)
    _search(check, _Space(ordered, bound, split_by), max_examples, seed)


class _Check:
    """Raises an `AssertionError` where a case has another answer."""

    def __init__(
        self,
        pipeline: Pipeline,
        latest_by: Callable[[Any], Any] | None,
        oracle: Callable[..., Iterable[Any]] | None,
        timestamps: bool,
    ) -> None:
        self._pipeline = pipeline
        self._latest_by = latest_by
        self._oracle = oracle
        self._timestamps = timestamps
        self._known: dict[tuple[tuple[int, ...], ...], list[Any]] = {}
        self._problems: dict[FuzzCase, str | None] = {}
        """Of the cases that were tried: hypothesis asks for some again and again while it shrinks."""

    def __call__(self, case: FuzzCase) -> None:
        __tracebackhide__ = True
        if case not in self._problems:
            self._problems[case] = self._problem_of(case)
        problem = self._problems[case]
        if problem is not None:
            raise AssertionError(f"{problem}\nto repeat it: fuzz(..., examples=[{case!r}])")

    def _problem_of(self, case: FuzzCase) -> str | None:
        inputs = self._pipeline.inputs
        expected = self.expected(case.kept)
        try:
            outcome = self._pipeline.run(case)
        except JobExecutionException as failure:
            return f"the job fails:\n{case.describe(inputs)}\n{failure}"
        difference = stream_difference(self._answer(outcome.records), expected)
        if difference is None:
            return None
        source = "of the run in order" if self._oracle is None else "of the oracle"
        return f"the answer is not that {source}:\n{case.describe(inputs, outcome.crashed_at)}\nanswer {difference}"

    def expected(self, kept: tuple[tuple[int, ...], ...]) -> list[Any]:
        """The right answer for some of the records."""
        if kept not in self._known:
            if self._oracle is None:
                found = self._answer(self._pipeline.run(FuzzCase.in_order(kept)).records)
            else:
                inputs = zip(self._pipeline.inputs, kept, strict=True)
                found = list(self._oracle(*([records[number] for number in numbers] for records, numbers in inputs)))
            self._known[kept] = found
        return self._known[kept]

    def _answer(self, emitted: list[Emitted]) -> list[Any]:
        if self._latest_by is not None:
            emitted = list({self._latest_by(value): (value, timestamp) for value, timestamp in emitted}.values())
        return emitted if self._timestamps else [value for value, _ in emitted]


@dataclass(frozen=True)
class _Space:
    """What there is to choose from."""

    inputs: Sequence[Records]
    disorder: int
    split_by: Callable[[Any], Hashable] | None


def _search(check: _Check, space: _Space, max_examples: int, seed: int | None) -> None:
    __tracebackhide__ = True
    try:
        import hypothesis
    except ImportError:
        raise EnvironmentNotReadyError(
            "fuzz needs hypothesis, which is not installed: pip install 'penstock[testing]'"
        ) from None
    checks = hypothesis.HealthCheck
    phases = [phase for phase in hypothesis.Phase if phase is not hypothesis.Phase.explain]

    @hypothesis.settings(
        max_examples=max_examples,
        deadline=None,
        database=None,
        phases=phases,
        report_multiple_bugs=False,
        suppress_health_check=[checks.too_slow, checks.data_too_large, checks.large_base_example],
    )
    @hypothesis.given(_cases(space))
    def search(case: FuzzCase) -> None:
        __tracebackhide__ = True
        check(case)

    hypothesis.seed(seed)(search)() if seed is not None else search()


def _cases(space: _Space) -> SearchStrategy[FuzzCase]:
    """Cases, simple ones first: fewer records, one split, no delay, large epochs, no crash."""
    from hypothesis import strategies as st

    @st.composite
    def case(draw: DrawFn) -> FuzzCase:
        return FuzzCase(
            tuple(_draw_splits(draw, records, space) for records in space.inputs),
            draw(st.sampled_from(_EPOCH_RECORDS)),
            draw(st.integers(1, _MAX_PARALLELISM)),
            tuple(draw(st.lists(st.integers(1, _CRASH_STEPS), max_size=_MAX_CRASHES))),
        )

    return case()


def _draw_splits(draw: DrawFn, records: Records, space: _Space) -> tuple[tuple[Arrival, ...], ...]:
    from hypothesis import strategies as st

    count = draw(st.integers(1, _MAX_SPLITS))
    one_in_ten = st.integers(0, 9)
    split_of: dict[Hashable, int] = {}
    arriving: list[list[tuple[int, Arrival, bool]]] = [[] for _ in range(count)]
    for number, (value, timestamp) in enumerate(records):
        if draw(one_in_ten) == 0:
            continue  # left out, so that cases can shrink to a few records
        group = number if space.split_by is None else space.split_by(value)
        if group not in split_of:
            split_of[group] = draw(st.integers(0, count - 1))
        arrives = timestamp + draw(st.integers(0, space.disorder))
        arriving[split_of[group]].append((arrives, number, draw(one_in_ten) == 9))
    splits: list[tuple[Arrival, ...]] = []
    for split in arriving:
        arrivals: list[Arrival] = []
        for _, number, pauses in sorted(split, key=lambda each: each[0]):
            if pauses:
                arrivals.append("pause")
            arrivals.append(number)
        # With its records read, a split may fall silent without making any of them late.
        splits.append((*arrivals, "idle") if draw(st.booleans()) else tuple(arrivals))
    return tuple(split for split in splits if split) or ((),)


def _check_arguments(build: Callable[..., DataStream], inputs: Sequence[Any], types: Sequence[Any]) -> None:
    wanted = len(inspect.signature(build).parameters)
    if len(inputs) != wanted:
        raise ArgumentError(f"fuzz: build takes {wanted} streams, but there are the records of {len(inputs)}")
    if len(types) > wanted:
        raise ArgumentError(f"fuzz: there are {len(types)} types for {wanted} streams")
    for number, records in enumerate(inputs):
        for each in records:
            if not (isinstance(each, tuple) and len(each) == 2 and type(each[1]) is int):
                raise ArgumentError(
                    f"fuzz: input {number} has {each!r}; expected pairs of a record and its timestamp in ms"
                )
