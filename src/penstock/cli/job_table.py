"""A running job as a terminal shows it."""

from __future__ import annotations

from rich.console import Group
from rich.markup import escape
from rich.table import Table

from penstock.execution.job_client import JobClient
from penstock.execution.progress_view import JobProgressView


class JobTable:
    """The facts and the operators of a job, for rich to draw."""

    def __init__(self, client: JobClient) -> None:
        self._client = client
        self._view = JobProgressView(client)

    def __rich__(self) -> Group:
        """The facts and the operators as a terminal shows them."""
        title = f"{escape(self._client.plan.job_name)}: {self._client.status.name}"
        facts = Table.grid(padding=(0, 2))
        for name, value in self._view.facts():
            facts.add_row(name, value)
        operators = Table(box=None, padding=(0, 2, 0, 0))
        for heading in ("operator", "uid"):
            operators.add_column(heading, no_wrap=True)
        for heading in ("in", "out", "busy"):
            operators.add_column(heading, justify="right")
        for name, uid, *measured in self._view.operators():
            operators.add_row(escape(name), escape(uid), *measured)
        return Group(f"[bold]{title}[/bold]", facts, operators)
