"""What people see of a job: tables, HTML, a display in a notebook that follows it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from penstock.cli.job_table import JobTable
from penstock.common import Configuration, JobExecutionException
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.execution.live_display import in_notebook, show_live
from penstock.execution.progress_view import JobProgressView
from penstock.testing import ScriptedSource, record, watermark


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("execution.engine", "local")
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)


class Displayed:
    """Stands for a notebook's output area: what was shown, and shown in its place."""

    def __init__(self) -> None:
        self.bundles: list[dict[str, str]] = []
        self.ended = threading.Event()

    def display(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> Displayed:
        assert raw
        assert display_id
        self.bundles.append(bundle)
        return self

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.bundles.append(bundle)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Displayed]:
    """Makes this process look like a Jupyter kernel."""
    shown = Displayed()
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    vars(ipython).update(get_ipython=lambda: SimpleNamespace(kernel=object()), display=display)
    vars(display).update(display=shown.display)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def text_of(html: str) -> str:
    """The words of some HTML; raises where a tag is not closed."""
    words: list[str] = []
    open_tags: list[str] = []
    parser = HTMLParser()
    vars(parser).update(
        handle_data=words.append,
        handle_starttag=lambda tag, _: open_tags.append(tag),
        handle_endtag=open_tags.remove,
    )
    parser.feed(html)
    assert not open_tags
    return " ".join(words)


def ended_job(env: StreamExecutionEnvironment) -> Any:
    env.from_collection([1, 2, 3]).filter(lambda n: n > 1).name("<b>more</b>").add_sink(lambda n: None)
    client = env.execute_async("numbers & more")
    client.wait()
    return client


def test_a_job_as_html_is_escaped_and_complete(env: StreamExecutionEnvironment) -> None:
    client = ended_job(env)
    words = text_of(client._repr_html_())
    assert "numbers & more FINISHED" in " ".join(words.split())
    assert "<b>more</b>" in words
    assert repr(client) == f"<JobClient of 'numbers & more', FINISHED, 3 records read, {client.get_job_id()}>"


def test_counts_of_operators_come_in_the_order_of_the_plan(env: StreamExecutionEnvironment) -> None:
    rows = JobProgressView(ended_job(env)).operators()
    assert [(name, into, out) for name, _, into, out, _ in rows] == [
        ("Collection Source", "0", "3"),
        ("<b>more</b>", "3", "2"),
        ("Sink", "2", "0"),
    ]


def test_a_job_in_a_terminal(env: StreamExecutionEnvironment) -> None:
    console = Console(width=100, record=True, file=sys.stderr)
    console.print(JobTable(ended_job(env)))
    text = console.export_text()
    assert "numbers & more: FINISHED" in text
    assert "records read     3" in text


def test_records_that_came_too_late_are_told(env: StreamExecutionEnvironment) -> None:
    script = [record("on time", 5), watermark(20), record("late", 6), record("later", 7)]
    windows = env.from_source(ScriptedSource(script)).key_by(len).window(TumblingEventTimeWindows.of(10))
    windows.reduce(max).add_sink(lambda text: None)
    client = env.execute_async("late")
    client.wait()
    assert ("dropped as late", "2 records") in JobProgressView(client).facts()
    assert "dropped as late" not in dict(JobProgressView(ended_job(env)).facts())


def test_outside_a_notebook_nothing_is_displayed(
    env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not in_notebook()
    client = ended_job(env)
    assert show_live(client) is None
    assert capsys.readouterr().out == f"{client!r}\n"


def test_execute_shows_the_job_until_it_ends(env: StreamExecutionEnvironment, notebook: Displayed) -> None:
    env.from_collection([1, 2]).add_sink(lambda n: None)
    env.execute("shown")
    assert "FINISHED" in text_of(notebook.bundles[-1]["text/html"])
    assert "2 records read" in notebook.bundles[-1]["text/plain"]


def test_a_job_that_fails_is_shown_as_failed(env: StreamExecutionEnvironment, notebook: Displayed) -> None:
    env.from_collection([1]).add_sink(lambda n: 1 // 0)
    with pytest.raises(JobExecutionException):
        env.execute()
    assert "FAILED" in notebook.bundles[-1]["text/plain"]


def test_a_client_that_is_displayed_goes_on_changing(env: StreamExecutionEnvironment, notebook: Displayed) -> None:
    released = threading.Event()
    _gate["gate"] = released
    env.from_collection([1]).add_sink(_wait_for_gate)
    client = env.execute_async("slow")
    display = show_live(client)
    assert "RUNNING" in notebook.bundles[0]["text/plain"]
    released.set()
    assert display is not None
    display.finish()
    assert "FINISHED" in notebook.bundles[-1]["text/plain"]


_gate: dict[str, threading.Event] = {}


def _wait_for_gate(_: int) -> None:
    _gate["gate"].wait()


def test_streams_and_programs_as_html(env: StreamExecutionEnvironment) -> None:
    source = env.from_collection([("a", 1)])
    assert "Collection Source" in text_of(source._repr_html_())
    keyed = source.key_by(0)
    assert "hash(f0)" in text_of(keyed._repr_html_())
    sums = keyed.sum(1)
    assert "data:image/svg+xml;base64," in sums._repr_html_()
    sums.print()
    for shown in (env, env.explain("svg"), env.explain(), env.get_plan()):
        html = shown._repr_html_()  # type: ignore[union-attr]
        assert "data:image/svg+xml;base64," in html or "Collection Source" in html


def test_a_program_that_cannot_be_drawn_says_why(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).uid("same")
    env.from_collection([1]).uid("same")
    assert "two operators have the uid" in text_of(env._repr_html_())
