"""What decides whether state fits a plan, in words: compared when a checkpoint meets a changed program."""

from __future__ import annotations

from penstock.plan.plan import Plan


def state_summary(plan: Plan) -> dict[str, str]:
    """One line per operator uid: kind, parallelism, inputs; and how the job runs."""
    return {"execution": "batch" if plan.batch else "streaming"} | {
        node.uid: f"{node.kind}, parallelism {node.parallelism} of at most {node.max_parallelism}"
        + "".join(
            f", input {edge.input_index} {edge.exchange.kind.value} from {plan.node(edge.source).uid}"
            for edge in sorted(plan.inputs(node.id), key=lambda edge: (edge.input_index, edge.source, edge.order))
        )
        for node in plan.nodes
    }
