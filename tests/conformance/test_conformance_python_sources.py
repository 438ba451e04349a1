"""A source in plain Python that asks a web service, and another that follows it: both read in tasks."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.request import urlopen

import pytest

from penstock.common import Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.base import Boundedness, Page, PollingSource, Source
from penstock.datastream.connectors.hybrid_source import HybridSource, SourceSwitchContext

EVENTS = {"a": list(range(25)), "b": list(range(100, 110)), "c": []}
PAGE = 4
EVENT = Types.ROW_NAMED(["stream", "number"], [Types.STRING(), Types.LONG()])


class Service(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        stream, _, start = self.path.strip("/").partition("/")
        answer = EVENTS[stream][int(start) : int(start) + PAGE] if stream else sorted(EVENTS)
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        return


class Events(PollingSource):
    """The streams of the service; with `only`, one of them from a position on."""

    def __init__(self, url: str, only: str | None = None, start: int = 0) -> None:
        self.url = url
        self.only = only
        self.start = start

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    @property
    def produced_type(self) -> Any:
        return EVENT

    def splits(self) -> list[str]:
        return [self.only] if self.only else self.get("")

    def first_position(self, split: str) -> int:
        return self.start

    def read_page(self, split: str, position: int) -> Page:
        numbers = self.get(f"{split}/{position}")
        return Page([(split, number) for number in numbers], position + len(numbers), is_last=len(numbers) < PAGE)

    def get(self, path: str) -> Any:
        with urlopen(f"{self.url}/{path}", timeout=10) as answer:
            return json.load(answer)


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_pages_of_a_web_service_then_what_is_made_at_the_switch(
    env: StreamExecutionEnvironment, mode: str, url: str
) -> None:
    def rest(switch: SourceSwitchContext) -> Source:
        # In batch execution nothing has been read at the switch.
        positions = dict(switch.previous_state) if mode == "STREAMING" else {"split:b": [10, True]}
        return Events(url, "b", positions["split:b"][0] - 3)

    env._configuration.set_integer("execution.epoch.max-records", 60)
    source = HybridSource.builder(Events(url)).add_source(rest, Boundedness.BOUNDED).build()
    read = list(env.from_source(source).map(lambda event: Row(event.stream, event.number), EVENT).execute_and_collect())
    once = [(stream, number) for stream, numbers in EVENTS.items() for number in numbers]
    assert sorted(map(tuple, read)) == sorted([*once, ("b", 107), ("b", 108), ("b", 109)])
    if mode == "STREAMING":
        assert sorted(map(tuple, read[-3:])) == [("b", 107), ("b", 108), ("b", 109)]
