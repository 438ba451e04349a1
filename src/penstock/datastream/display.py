"""What notebooks show of streams, environments and explained plans."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from penstock.common.errors import PenstockError
from penstock.datastream.transformation import Transformation
from penstock.datastream.translation import make_plan
from penstock.optimizer.assign_levels import AssignLevels
from penstock.optimizer.chain_operators import ChainOperators
from penstock.plan.html_form import preformatted, svg_image, to_html
from penstock.plan.naming import exchange_label

if TYPE_CHECKING:
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
    from penstock.datastream.streams.data_stream import DataStream


class PlanText(str):
    """A plan as text, which a notebook shows as lines or as a drawing."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return svg_image(self) if self.startswith("<svg") else preformatted(self)


def stream_html(stream: DataStream) -> str:
    """The stream's type and partitioning, and a drawing of all that leads to it."""
    kinds = {exchange_label(upstream.exchange) for upstream in stream.upstreams if upstream.exchange is not None}
    tags = [upstream.side_output for upstream in stream.upstreams if upstream.side_output is not None]
    made_by = [upstream.transformation for upstream in stream.upstreams]
    facts = [("from", f"'{operator.name}', {operator.call_site}") for operator in made_by]
    facts += [("type", repr(stream.get_type()))]
    facts += [("partitioned", ", ".join(sorted(kinds)))] if kinds else []
    facts += [("side output", ", ".join(tags))] if tags else []
    rows = "".join(f"<tr><td>{name}</td><td><code>{escape(value)}</code></td></tr>" for name, value in facts)
    # A source that nothing reads yet is no plan: its name above is all there is to show.
    drawing = _drawing(stream.get_execution_environment(), [operator for operator in made_by if operator.inputs])
    return f"<div><b>{type(stream).__name__}</b><table>{rows}</table>{drawing}</div>"


def environment_html(environment: StreamExecutionEnvironment, transformations: Iterable[Transformation]) -> str:
    """The environment's options, and a drawing of the program so far."""
    heading = f"<b>StreamExecutionEnvironment</b>, parallelism {environment.get_parallelism()}"
    options = "".join(
        f"<tr><td>{escape(key)}</td><td><code>{escape(value)}</code></td></tr>"
        for key, value in sorted(environment.configuration.to_dict().items())
    )
    return f"<div>{heading}<table>{options}</table>{_drawing(environment, transformations)}</div>"


def _drawing(environment: StreamExecutionEnvironment, transformations: Iterable[Transformation]) -> str:
    """Chains and stages of a program that need not have sinks yet."""
    operators = list(transformations)
    if not operators:
        return ""
    max_parallelism = environment.get_max_parallelism()
    try:
        plan = make_plan(
            operators,
            "",
            parallelism=environment.get_parallelism(),
            max_parallelism=None if max_parallelism < 0 else max_parallelism,
        )
        return to_html(AssignLevels().apply(ChainOperators().apply(plan)))
    except PenstockError as error:
        return preformatted(str(error))
