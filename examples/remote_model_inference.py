"""Asks a model behind an HTTP service what it thinks of comments: many requests at a time, and some again.

python examples/remote_model_inference.py
python examples/remote_model_inference.py --comments 200 --engine local

The service is a small one of this program's own, on a free port of this machine. It takes some milliseconds for an
answer, refuses some requests the first time, and never answers about comments that contain `zzz`.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import quote, unquote

from penstock.common import Configuration, Row, Time, Types
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    RuntimeContext,
    StreamExecutionEnvironment,
    async_retry_predicates,
)

COMMENTS = ["a good book", "bad, very bad", "well, it is a book", "good print, good paper", "zzz", "not bad"]
COMMENT_TYPE = Types.ROW_NAMED(["user_id", "comment"], [Types.INT(), Types.STRING()])


class ModelService(BaseHTTPRequestHandler):
    """GET /analyse/<user>/<comment> answers with one word, or with 503 where the model is busy."""

    asked: ClassVar[Counter[str]] = Counter()
    stopped = threading.Event()

    def do_GET(self) -> None:
        _, _, user, comment = self.path.split("/", 3)
        self.asked[user] += 1
        if "zzz" in comment:
            self.stopped.wait()
            return
        self.stopped.wait(0.01)
        is_busy = int(user) % 3 == 0 and self.asked[user] == 1
        self._answer(503, "busy") if is_busy else self._answer(200, opinion(unquote(comment)))

    def _answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_request(self, code: object = "-", size: object = "-") -> None:
        return


def opinion(comment: str) -> str:
    """What the model thinks."""
    score = comment.count("good") - comment.count("bad") + 2 * comment.count("not bad")
    return "positive" if score > 0 else "negative" if score < 0 else "neutral"


class ModelServer(ThreadingHTTPServer):
    """As many connections at the same time as the job likes."""

    daemon_threads = True
    request_queue_size = 1000


class ServiceBusyError(Exception):
    """The service asks to be asked again."""


class ModelRequest(AsyncFunction[Row, str]):
    """One request for each comment."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port

    def open(self, runtime_context: RuntimeContext) -> None:
        self.requests = runtime_context.get_metrics_group().counter("requests")

    async def async_invoke(self, value: Row) -> list[str]:
        self.requests.inc()
        status, answer = await self.get(f"/analyse/{value.user_id}/{quote(value.comment)}")
        if status == 503:
            raise ServiceBusyError(answer)
        return [self.result(value, answer)]

    def timeout(self, value: Row) -> list[str]:
        return [self.result(value, None)]

    def result(self, value: Row, answer: str | None) -> str:
        return json.dumps({"user_id": value.user_id, "comment": value.comment, "analysis_result": answer})

    async def get(self, path: str) -> tuple[int, str]:
        """A request without any HTTP package; a program would use aiohttp or httpx."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            writer.write(f"GET {path} HTTP/1.0\r\n\r\n".encode())
            head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
            return int(head.split(" ", 2)[1]), body
        finally:
            writer.close()


def analyse(engine: str, count: int, port: int) -> None:
    configuration = Configuration().set_string("execution.engine", engine)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    rows = [Row(number, COMMENTS[number % len(COMMENTS)]) for number in range(count)]
    comments = env.from_collection(rows, COMMENT_TYPE)
    when_busy = functools.partial(async_retry_predicates.exception_type_predicate, expected_error_type=ServiceBusyError)
    results = AsyncDataStream.unordered_wait_with_retry(
        data_stream=comments,
        async_function=ModelRequest("127.0.0.1", port),
        timeout=Time.seconds(3),
        async_retry_strategy=AsyncRetryStrategy.fixed_delay(
            max_attempts=5, backoff_time_millis=20, result_predicate=None, exception_predicate=when_busy
        ),
        capacity=1000,
        output_type=Types.STRING(),
    )
    results.print()
    env.execute("remote model inference")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--comments", type=int, default=20, help="how many comments there are")
    arguments.add_argument("--engine", choices=["spark", "local"], default="spark")
    options = arguments.parse_args()
    service = ModelServer(("127.0.0.1", 0), ModelService)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    try:
        analyse(options.engine, options.comments, service.server_port)
    finally:
        ModelService.stopped.set()
        service.shutdown()


if __name__ == "__main__":
    main()
