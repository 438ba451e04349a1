"""Text from a TCP server: what it is cut into, and what a restart keeps."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest

from penstock.common.errors import ArgumentError, ConfigurationError, JobExecutionException
from penstock.connectors.broken_records import BROKEN_RECORD_TYPE
from penstock.connectors.socket import SocketTextSource
from penstock.connectors.source import EnumeratorContext, EpochBudget
from penstock.functions import OutputTag
from penstock.testing import local_environment

BUDGET = EpochBudget(1000, 1 << 30, 1)


class TextServer:
    """Sends the pieces of one script per connection and then closes it, or leaves it open."""

    def __init__(self, scripts: Sequence[Sequence[bytes]], *, stays_open: bool) -> None:
        self._scripts = scripts
        self._stays_open = stays_open
        self._server = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        for each in [self._server, *self._connections]:
            each.close()

    def _serve(self) -> None:
        with suppress(OSError):
            for script in self._scripts:
                connection, _ = self._server.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._connections.append(connection)
                for piece in script:
                    connection.sendall(piece)
                if not self._stays_open:
                    connection.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., TextServer]]:
    servers: list[TextServer] = []

    def start(*scripts: Sequence[bytes], stays_open: bool = False) -> TextServer:
        servers.append(TextServer(scripts, stays_open=stays_open))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def received(port: int, **options: Any) -> list[str]:
    return list(local_environment().socket_text_stream("127.0.0.1", port, **options).execute_and_collect())


@pytest.mark.parametrize(
    ("pieces", "options", "records"),
    [
        ([b"a\nb", b"c\n", b"d"], {}, ["a", "bc", "d"]),
        ([b"a\r\n\r\nb\n"], {}, ["a", "", "b"]),
        ([b"a|", b"|b\n|", b"||"], {"delimiter": "||"}, ["a", "b\n", "|"]),
        (["grün\n".encode()[:3], "grün\n".encode()[3:], b"\xff\n"], {}, ["grün", "\N{REPLACEMENT CHARACTER}"]),
        ([], {}, []),
    ],
)
def test_text_is_cut_at_the_delimiter(
    serve: Callable[..., TextServer], pieces: list[bytes], options: dict[str, Any], records: list[str]
) -> None:
    assert received(serve(pieces).port, **options) == records


def test_a_connection_that_ends_is_made_again_as_often_as_told(
    serve: Callable[..., TextServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.connectors.socket.connection._PAUSE_SECONDS", 0.01)
    server = serve([b"a\nhal"], [b"f\n"], [], [b"late"])
    # Data counts as a success, an empty connection does not.
    assert received(server.port, max_retry=1) == ["a", "half"]


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(JobExecutionException, match=rf"(?s)socket 127.0.0.1:{port}: .*`max_retry` is 0"):
        received(port)


def start(source: SocketTextSource, state: dict[str, Any]) -> Any:
    return source.create_enumerator(EnumeratorContext(state, 1, False))


def read_until(enumerator: Any, source: SocketTextSource, count: int) -> list[str]:
    """The records of as many reads as it takes; nothing of it is committed."""
    records: list[str] = []
    reader = source.create_reader()
    done = threading.Event()
    for _ in range(1000):
        for read in enumerator.poll(0, BUDGET):
            records += [value for batch in reader.read(read, BUDGET) for value in batch.values]
        if len(records) >= count:
            return records
        done.wait(0.01)
    raise AssertionError(f"only {records} came")


def test_what_was_received_but_not_committed_comes_again_after_a_restart(
    serve: Callable[..., TextServer], tmp_path: Any
) -> None:
    source = SocketTextSource("127.0.0.1", serve([b"a\nb\n"], [b"c\n"], stays_open=True).port)
    source = source.prepared(str(tmp_path))
    first = start(source, {})
    assert read_until(first, source, 2) == ["a", "b"]
    # The driver is killed: nothing is closed. The epoch was not committed.
    state: dict[str, Any] = {}
    second = start(source, state)
    assert read_until(second, source, 3) == ["a", "b", "c"]
    committed = json.loads(json.dumps(state))
    second.close()
    third = start(SocketTextSource("127.0.0.1", serve([b"d\n"]).port).prepared(str(tmp_path)), committed)
    assert read_until(third, source, 1) == ["d"]
    first.close()
    third.close()


def test_what_was_received_before_a_failed_epoch_is_not_lost(serve: Callable[..., TextServer], tmp_path: Any) -> None:
    server = serve([b"a\n"], [b"b\n"], stays_open=True)
    source = SocketTextSource("127.0.0.1", server.port).prepared(str(tmp_path))
    enumerator = start(source, {})
    enumerator.poll(0, BUDGET)
    arrived = threading.Event()
    while not enumerator._running._waiting.values and not enumerator._waiting:
        arrived.wait(0.01)
    enumerator.close()
    again = start(source, {})
    assert read_until(again, source, 2) == ["a", "b"]
    again.close()


def test_what_has_been_read_does_not_stay(serve: Callable[..., TextServer], tmp_path: Any) -> None:
    source = SocketTextSource("127.0.0.1", serve([b"a\n"], stays_open=True).port).prepared(str(tmp_path))
    enumerator = start(source, {})
    read_until(enumerator, source, 1)
    assert len(list(tmp_path.iterdir())) == 1
    assert enumerator.poll(0, BUDGET) == []
    assert not list(tmp_path.iterdir())
    enumerator.close()


@pytest.mark.parametrize("arguments", [("", 1), ("host", 0), ("host", 70_000), ("host", 1, "")])
def test_what_cannot_be_connected_to(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((ConfigurationError, ArgumentError)):
        SocketTextSource(*arguments)


def test_it_says_what_it_promises() -> None:
    assert SocketTextSource("host", 9999).describe() == "socket host:9999, at least once"


def test_bytes_that_are_no_text_are_replaced_unless_told(serve: Callable[..., TextServer]) -> None:
    assert received(serve([b"a\n\xff", b"b\nc\n"]).port) == ["a", "\ufffdb", "c"]
    assert received(serve([b"a\n\xffb\nc\n"]).port, on_error="skip") == ["a", "c"]
    # The first line: which part a later one is in depends on when it came.
    with pytest.raises(JobExecutionException, match=r"part 0, record 0: the record cannot be read: .*charset utf-8"):
        received(serve([b"\xffb\nc\n"]).port, on_error="fail")


def test_bytes_that_are_no_text_go_to_a_side_output(serve: Callable[..., TextServer]) -> None:
    tag = OutputTag("broken", BROKEN_RECORD_TYPE)
    port = serve([b"\xffb\nc\n"]).port
    lines = local_environment().socket_text_stream("127.0.0.1", port, on_error=tag)
    (record,) = lines.get_side_output(tag).execute_and_collect()
    assert record.value == b"\xffb"
    assert record.position == f"socket 127.0.0.1:{port}, part 0, record 0"
    assert "it is not in the charset utf-8" in record.reason
