"""A running job for people to watch: facts for a terminal, and the same as HTML for a notebook."""

from __future__ import annotations

from collections import deque
from html import escape
from typing import TYPE_CHECKING, Any

from penstock.common.job import JobStatus
from penstock.plan.naming import shown_uid
from penstock.runtime.metrics import LATE_RECORDS_DROPPED

if TYPE_CHECKING:
    from penstock.execution.job_client import JobClient

_PHASES = ("plan", "run", "publish_wait", "commit")
_RATE_SAMPLES = 20
_CELL = "text-align:left;padding:1px 10px 1px 0;white-space:nowrap"


class JobProgressView:
    """Looks at a job from time to time; rates are those between the looks."""

    def __init__(self, client: JobClient) -> None:
        self._client = client
        self._samples: deque[tuple[float, int]] = deque(maxlen=_RATE_SAMPLES)

    def facts(self) -> list[tuple[str, str]]:
        """What there is to know now, as names and values."""
        metrics = self._client.metrics()
        facts = [
            ("running for", f"{self._client.seconds:.0f} s"),
            ("records read", f"{metrics['records_read']:,}"),
            ("rate", f"{self._rate(metrics['records_read']):,.0f} records/s"),
            ("epochs", f"{metrics['epochs']:,} ({_last_epoch(metrics['recent_epochs'])})"),
            ("state written", f"{metrics['state_bytes_written'] / 1024:,.0f} KiB"),
            ("repeated epochs", f"{metrics['restarts']:,}"),
        ]
        if metrics["back_pressure"]:
            facts.append(("back-pressure", f"{max(metrics['back_pressure'].values()):.0%}"))
        late = sum(counts.get(LATE_RECORDS_DROPPED, 0) for counts in metrics["operators"].values())
        if late:
            facts.append(("dropped as late", f"{late:,} records"))
        if metrics["lag"]:
            facts.append(("waiting in sources", f"{sum(metrics['lag'].values()):,}"))
        return facts

    def operators(self) -> list[tuple[str, str, str, str, str]]:
        """Name, uid, records in, records out and time at work of every operator, in the order of the plan."""
        metrics = self._client.metrics()
        counts, busy = metrics["operators"], metrics["busy_ms"]
        rows: list[tuple[str, str, str, str, str]] = []
        for node in self._client.plan.topological_order:
            of_node = counts.get(node.uid, {})
            at_work = f"{busy.get(node.uid, 0.0) / 1000:,.1f} s"
            rows.append(
                (node.name, shown_uid(node), f"{of_node.get('in', 0):,}", f"{of_node.get('out', 0):,}", at_work)
            )
        return rows

    def html(self) -> str:
        """The facts and the operators as a notebook shows them."""
        facts = "".join(_row("td", pair) for pair in self.facts())
        rows = "".join(_row("td", row) for row in self.operators())
        heading = _row("th", ("operator", "uid", "in", "out", "busy"))
        status = self._client.status
        color = {JobStatus.FAILED: "#b91c1c", JobStatus.FINISHED: "#15803d"}.get(status, "#1d4ed8")
        return (
            f'<div><b>{escape(self._client.plan.job_name)}</b> <b style="color:{color}">{status.name}</b>'
            f"<table>{facts}</table><table>{heading}{rows}</table></div>"
        )

    def _rate(self, records: int) -> float:
        now = self._client.seconds
        if not self._samples or now > self._samples[-1][0]:
            self._samples.append((now, records))
        (then, before), (now, after) = self._samples[0], self._samples[-1]
        return (after - before) / (now - then) if now > then else 0.0


def _last_epoch(recent: list[dict[str, Any]]) -> str:
    if not recent:
        return "none yet"
    last = recent[-1]
    return f"last: {sum(last[phase] for phase in _PHASES) * 1000:,.0f} ms, {last['records']:,} records"


def _row(tag: str, cells: tuple[str, ...]) -> str:
    return "<tr>" + "".join(f'<{tag} style="{_CELL}">{escape(cell)}</{tag}>' for cell in cells) + "</tr>"
