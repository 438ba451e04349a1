"""Where a program begins and ends: it makes streams from sources, and runs the job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.common import options
from penstock.common.call_site import capture_call_site
from penstock.common.clock import Clock
from penstock.common.configuration import Configuration
from penstock.common.default_options import default_options
from penstock.common.errors import TypeMismatchError, UnsupportedError
from penstock.common.job import JobExecutionResult
from penstock.common.job_listener import JobListener
from penstock.common.type_inference import infer_type_of_values
from penstock.common.typeinfo import Types
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.collection import CollectionSource
from penstock.connectors.dataframe import dataframe_source
from penstock.connectors.files import FileSource, TextLineFormat
from penstock.connectors.function_source import FunctionSource
from penstock.connectors.input_format import InputFormat
from penstock.connectors.sequence import NumberSequenceSource
from penstock.connectors.socket import SocketTextSource
from penstock.connectors.source import Source
from penstock.datastream.arguments import (
    check_instance,
    check_text,
    check_watermark_strategy,
    refuse,
    refuse_argument,
)
from penstock.datastream.display import PlanText, environment_html
from penstock.datastream.environment_settings import EnvironmentSettings
from penstock.datastream.expression_arguments import strategy_for_type
from penstock.datastream.output_types import TypeHint, type_from_hint
from penstock.datastream.program import Program
from penstock.datastream.streams.data_stream import DataStream
from penstock.datastream.translation import make_plan
from penstock.execution.backfill import backfill_to_live
from penstock.execution.job_client import JobClient
from penstock.execution.live_display import wait_shown
from penstock.execution.submit import plan_to_run, submit
from penstock.execution.upgrade_check import UpgradeReport, check_upgrade
from penstock.functions import OutputTag, SourceFunction
from penstock.plan.forms import PLAN_FORMS
from penstock.plan.nodes import SourceNode
from penstock.plan.plan import Plan


class StreamExecutionEnvironment(EnvironmentSettings):
    """Makes streams from sources and runs what was made of them.

    Nothing runs before `execute()`; afterwards the environment is ready for the next job.
    """

    def __init__(
        self,
        configuration: Configuration | None = None,
        spark_session: object | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(default_options().add_all(Configuration(configuration)))
        self._spark_session = spark_session
        self._clock = clock
        self._program = Program(self)
        self._job_listeners: list[JobListener] = []

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None, *, spark_session: object | None = None
    ) -> StreamExecutionEnvironment:
        """A new environment with these options.

        Its jobs run on `spark_session` where one is given, else on the active session, else on a new one.

        >>> options = Configuration().set_string("execution.engine", "local")
        >>> StreamExecutionEnvironment.get_execution_environment(options)
        <StreamExecutionEnvironment, parallelism ..., Configuration({'execution.engine': 'local'})>
        """
        if configuration is not None:
            check_instance(
                "get_execution_environment", "configuration", configuration, (Configuration,), "a Configuration or None"
            )
        return StreamExecutionEnvironment(configuration, spark_session)

    # --- sources

    def from_source(
        self,
        source: Source,
        watermark_strategy: WatermarkStrategy | None = None,
        source_name: str | None = None,
        type_info: TypeHint = None,
    ) -> DataStream:
        """A stream of what a source reads, with timestamps and watermarks per split as the strategy says.

        Without a strategy records have the timestamps of the source, and there are no watermarks before its end.

        >>> from penstock.datastream.connectors.number_seq import NumberSequenceSource
        >>> list(env.from_source(NumberSequenceSource(1, 3), source_name="numbers").execute_and_collect())
        [1, 2, 3]
        """
        check_instance("from_source", "source", source, (Source,), "a source")
        if watermark_strategy is not None:
            check_watermark_strategy("from_source", watermark_strategy)
            watermark_strategy = strategy_for_type("from_source", watermark_strategy, source.produced_type)
        name = source.describe() if source_name is None else check_text("from_source", "source_name", source_name)
        if type_info is not None:
            wanted = type_from_hint("from_source", "type_info", type_info)
            if wanted != source.produced_type:
                raise refuse(
                    f"from_source: the source produces {source.produced_type!r}, and type_info is {wanted!r}; "
                    "give the type to the source, or convert its records with `map(..., output_type=...)`"
                )
        return self._add_source(source, name, watermark_strategy=watermark_strategy)

    def from_collection(self, collection: Iterable[Any], type_info: TypeHint = None) -> DataStream:
        """A stream of the values of a list, in order. Without a type it is taken from the values.

        >>> env.from_collection([("visa", 2.5), ("amex", 1.0)])
        <DataStream of TupleTypeInfo(String, Double) from 'Collection Source'>
        """
        check_instance("from_collection", "collection", collection, (Iterable,), "a list of records")
        if isinstance(collection, str | bytes):
            raise refuse_argument("from_collection", "collection", collection, "a list of records")
        values = list(collection)
        if type_info is None:
            record_type = infer_type_of_values(values)
        else:
            record_type = type_from_hint("from_collection", "type_info", type_info)
        try:
            source = CollectionSource(values, record_type)
        except TypeMismatchError as problem:
            raise TypeMismatchError(
                f"from_collection: {problem}\n  at {capture_call_site()}", index=problem.index, field=problem.field
            ) from None
        return self._add_source(
            source,
            "Collection Source",
            parallelism_is_fixed=True,
            type_is_declared=type_info is not None,
        )

    def from_sequence(self, from_: int, to: int) -> DataStream:
        """A stream of the numbers from one to the other, both included.

        >>> list(env.from_sequence(1, 4).execute_and_collect())
        [1, 2, 3, 4]
        """
        for argument, number in (("from_", from_), ("to", to)):
            if isinstance(number, bool) or not isinstance(number, int):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise refuse_argument("from_sequence", argument, number, "a whole number")
        return self._add_source(NumberSequenceSource(from_, to), "Sequence Source")

    def generate_sequence(self, from_: int, to: int) -> DataStream:
        """The same as `from_sequence`.

        >>> list(env.generate_sequence(1, 4).execute_and_collect())
        [1, 2, 3, 4]
        """
        return self.from_sequence(from_, to)

    def read_text_file(self, file_path: str, charset_name: str = "UTF-8") -> DataStream:
        """A stream of the lines of a file, or of all files in a directory.

        >>> from pathlib import Path
        >>> _ = Path("lines.txt").write_text("to be\\nor not")
        >>> list(env.read_text_file("lines.txt").execute_and_collect())
        ['to be', 'or not']
        """
        check_text("read_text_file", "file_path", file_path)
        return self._add_source(FileSource(file_path, TextLineFormat(charset_name)), "Text File Source")

    def socket_text_stream(
        self,
        hostname: str,
        port: int,
        delimiter: str = "\n",
        max_retry: int = 0,
        *,
        on_error: str | OutputTag | None = None,
    ) -> DataStream:
        """A stream of the lines that a TCP server sends, for trying things out: at least once, see `SocketTextSource`.

        It ends with the connection, after `max_retry` attempts, a second apart, to connect again (negative: for ever).
        Bytes that are not UTF-8 are replaced, or their line is a broken record: `on_error` is `"fail"`, `"skip"`, or
        the tag of a side output.

        >>> import socket, threading
        >>> server = socket.create_server(("127.0.0.1", 0))
        >>> def send_two_lines():
        ...     connection, _ = server.accept()
        ...     with connection:
        ...         _ = connection.send(b"to be\\nor not\\n")
        >>> threading.Thread(target=send_two_lines).start()
        >>> list(env.socket_text_stream("127.0.0.1", server.getsockname()[1]).execute_and_collect())
        ['to be', 'or not']
        """
        check_text("socket_text_stream", "hostname", hostname)
        check_instance("socket_text_stream", "port", port, (int,), "a number")
        check_text("socket_text_stream", "delimiter", delimiter)
        check_instance("socket_text_stream", "max_retry", max_retry, (int,), "a number")
        source = SocketTextSource(hostname, port, delimiter, max_retry, on_error)
        return self._add_source(source, "Socket Stream", parallelism_is_fixed=True)

    def add_source(
        self,
        source_func: SourceFunction,
        source_name: str = "Custom Source",
        type_info: TypeHint = None,
        *,
        bounded: bool = False,
    ) -> DataStream:
        """A stream of what a source function emits; without a type the records are any Python objects.

        Say `bounded` where the function is known to end: batch execution asks for it.

        >>> class Countdown(SourceFunction):
        ...     def run(self, ctx):
        ...         for number in (3, 2, 1):
        ...             ctx.collect(number)
        ...
        ...     def cancel(self):
        ...         pass
        >>> list(env.add_source(Countdown(), type_info=Types.LONG(), bounded=True).execute_and_collect())
        [3, 2, 1]
        """
        check_instance("add_source", "source_func", source_func, (SourceFunction,), "a SourceFunction")
        name = check_text("add_source", "source_name", source_name)
        record_type = Types.PICKLED_BYTE_ARRAY()
        if type_info is not None:
            record_type = type_from_hint("add_source", "type_info", type_info)
        try:
            source = FunctionSource(source_func, record_type, bounded=bounded)
        except Exception as problem:
            raise refuse(
                f"add_source: {type(source_func).__name__} cannot be copied: {problem}. It holds something that cannot "
                "be pickled (a connection, a lock, an open file): make it in `open()` or `run()`"
            ) from problem
        return self._add_source(source, name, parallelism_is_fixed=True, type_is_declared=type_info is not None)

    def create_input(self, input_format: object, type_info: TypeHint = None) -> DataStream:
        """A stream of what an input format reads, such as `AvroInputFormat`; Java classes are refused.

        >>> env.create_input("JdbcInputFormat")
        Traceback (most recent call last):
        ...
        penstock.common.errors.UnsupportedError: create_input: an input format is a Java class of Flink, ...
        """
        if isinstance(input_format, InputFormat):
            return self.from_source(input_format.source(), None, "Input Format Source", type_info)
        raise UnsupportedError(
            "create_input: an input format is a Java class of Flink, and there is no Flink here; read files with "
            "`from_source(FileSource...)`, or write a SourceFunction for `add_source`"
        )

    def from_dataframe(self, dataframe: Any) -> DataStream:
        """A stream of the rows of a pandas DataFrame, a pyarrow Table or a Spark DataFrame.

        Spark computes a DataFrame of its own once, when the job first starts; a restart reads the same rows.

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"card": ["visa", "amex"], "amount": [2, 5]})
        >>> list(env.from_dataframe(frame).map(lambda row: row.amount).execute_and_collect())
        [2, 5]
        """
        return self._add_source(dataframe_source(dataframe), "DataFrame Source")

    def _add_source(
        self,
        source: Source,
        name: str,
        *,
        parallelism_is_fixed: bool = False,
        type_is_declared: bool = True,
        watermark_strategy: WatermarkStrategy | None = None,
    ) -> DataStream:
        return self._program.transform(
            SourceNode,
            name,
            (),
            source.produced_type,
            type_is_declared=type_is_declared,
            parallelism_is_fixed=parallelism_is_fixed,
            emits_side_outputs=source.broken_records_tag is not None,
            source=source,
            watermark_strategy=watermark_strategy,
        )

    # --- running

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Runs everything that ends in a sink, and waits for it. Raises `JobExecutionException` when the job fails.

        >>> sink = env.from_collection(["a"]).print()
        >>> result = env.execute("letters")
        a
        """
        client = self.execute_async(job_name)
        try:
            result = wait_shown(client)
        except BaseException as problem:
            for listener in self._job_listeners:
                listener.on_job_executed(None, problem)
            raise
        for listener in self._job_listeners:
            listener.on_job_executed(result, None)
        return result

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Starts everything that ends in a sink and returns at once.

        >>> sink = env.from_collection(["a"]).print()
        >>> client = env.execute_async("letters")
        >>> result = client.wait()
        a
        >>> client.status
        <JobStatus.FINISHED: 6>
        """
        return self._start(
            job_name, lambda plan, configuration: submit(plan, configuration, self._spark_session, self._clock)
        )

    def execute_backfill_to_live(
        self,
        savepoint_directory: str,
        job_name: str | None = None,
        history_options: Mapping[str, str] | None = None,
    ) -> JobClient:
        """Runs the program over what its sources have already, then live; returns the live job when history is done.

        History is worked through in large epochs, without pauses. When there is nothing left to read its state is
        written as a savepoint into the directory, and the live job starts from that: at the exact next position, with
        the state, the timers and the watermarks that the same records would have left live. Started again, a job that
        is live goes on from its checkpoint. `history_options` count for the history alone.

        >>> from pathlib import Path
        >>> from penstock.datastream.connectors.file_system import FileSource, TextLineFormat
        >>> Path("lines").mkdir()
        >>> _ = Path("lines/history.txt").write_text("to be")
        >>> sink = env.from_source(FileSource("lines", TextLineFormat(), watch=True, settle="0 ms")).print()
        >>> client = env.execute_backfill_to_live("savepoints")
        to be
        >>> result = client.cancel().result()
        """
        given_options = dict(history_options or {})
        return self._start(
            job_name,
            lambda plan, configuration: backfill_to_live(
                plan, configuration, savepoint_directory, given_options, self._spark_session, self._clock
            ),
        )

    def check_upgrade(self, old: str, job_name: str | None = None) -> UpgradeReport:
        """What the program would make of the state in a savepoint or a checkpoint directory; nothing is started.

        >>> env.configure(Configuration().set_string("execution.checkpointing.dir", "checkpoint"))
        >>> sink = env.from_collection(["a", "b"]).uid("letters").key_by(lambda s: s).reduce(max).uid("last").print()
        >>> result = env.execute()
        a
        b
        >>> sink = env.from_collection(["a", "b"]).uid("letters").key_by(lambda s: s).reduce(max).uid("last").print()
        >>> env.check_upgrade("checkpoint").is_possible
        True
        """
        return check_upgrade(old, self.get_plan(job_name), self._configuration)

    def _start(self, job_name: str | None, start: Callable[[Plan, Configuration], JobClient]) -> JobClient:
        caches = self._program.caches
        try:
            self._check_not_empty()
            caches.use_written()
            pending = caches.add_sinks(self._program)
            plan = self.get_plan(job_name)
            self._program.transformations.clear()
            client = start(plan, Configuration(self._configuration))
        except BaseException as problem:
            for listener in self._job_listeners:
                listener.on_job_submitted(None, problem)
            raise
        caches.job_started(client, pending)
        for listener in self._job_listeners:
            listener.on_job_submitted(client, None)
        return client

    def register_job_listener(self, job_listener: JobListener) -> None:
        """Tells the listener of all jobs that start from now on.

        >>> class Announce(JobListener):
        ...     def on_job_submitted(self, job_client, throwable):
        ...         print("submitted")
        ...
        ...     def on_job_executed(self, job_execution_result, throwable):
        ...         print("ended")
        >>> env.register_job_listener(Announce())
        >>> sink = env.from_collection([1]).add_sink(lambda n: None)
        >>> result = env.execute()
        submitted
        ended
        """
        check_instance("register_job_listener", "job_listener", job_listener, (JobListener,), "a JobListener")
        self._job_listeners.append(job_listener)

    def clear_job_listeners(self) -> None:
        """Forgets all listeners.

        >>> env.clear_job_listeners()
        """
        self._job_listeners.clear()

    def close(self) -> None:
        """Drops the records of cached streams. The environment can go on.

        >>> squares = env.from_collection([1, 2]).map(lambda n: n * n).cache()
        >>> list(squares.execute_and_collect())
        [1, 4]
        >>> env.close()
        """
        self._program.caches.use_written()
        self._program.caches.close()

    def get_plan(self, job_name: str | None = None) -> Plan:
        """The plan of everything since the last `execute`, before the optimizer.

        >>> sink = env.from_collection([1]).print()
        >>> [node.name for node in env.get_plan("numbers").nodes]
        ['Collection Source', 'Print to Std. Out']
        """
        self._check_not_empty()
        if job_name:
            check_text("execute", "job_name", job_name)
        self._program.caches.use_written()
        return make_plan(
            self._program.transformations,
            job_name or self._configuration.get(options.JOB_NAME),
            parallelism=self.get_parallelism(),
            max_parallelism=self._configuration.get(options.MAX_PARALLELISM),
            chaining=self.is_chaining_enabled(),
            derive_uids=self._configuration.get(options.AUTO_GENERATE_UIDS),
        )

    def _check_not_empty(self) -> None:
        if not self._program.transformations:
            raise refuse(
                "there is nothing to execute: make a stream (`env.from_collection(...)`, `env.from_source(...)`) "
                "and give it a sink (`print()`, `sink_to(...)`)"
            )

    def get_execution_plan(self) -> str:
        """The plan as it would run, as JSON text.

        >>> import json
        >>> sink = env.from_collection([1]).print()
        >>> json.loads(env.get_execution_plan())["job_name"]
        'Penstock Job'
        """
        return self.explain("json")

    def explain(self, form: str = "text") -> str:
        """The plan as it would run: stages, chains, operators and exchanges, as text, json, mermaid or svg.

        >>> sink = env.from_collection([1]).uid("numbers").print().uid("printed")
        >>> print(env.explain())
        job: Penstock Job
        stage 0, parallelism 1
          chain 0
            [1] Source 'Collection Source' | collection of 1 values, bounded | type Long | ... | uid numbers
              [2] Sink 'Print to Std. Out' | print, at least once, at-least-once | parallelism 1 of 128 | uid printed
        <BLANKLINE>
        """
        if form not in PLAN_FORMS:
            raise refuse_argument("explain", "form", form, f"one of {', '.join(PLAN_FORMS)}")
        return PlanText(PLAN_FORMS[form](plan_to_run(self.get_plan(), self._configuration)))

    def _repr_html_(self) -> str:
        return environment_html(self, self._program.transformations)

    def __repr__(self) -> str:
        return f"<StreamExecutionEnvironment, parallelism {self.get_parallelism()}, {self._configuration!r}>"
