"""Values that fields must have, in all records that a traced filter keeps."""

from __future__ import annotations

from penstock.tracing.operations import Operations
from penstock.tracing.terms import Column, Computed, Constant, Kind, Term
from penstock.tracing.trees import Branch, Leaf, Tree

RequiredValue = tuple[int, int | str]
"""The place of a field, and the value that it equals."""


def required_values(condition: Tree, operations: Operations) -> list[RequiredValue]:
    """What is asked for first, by `==` with literals: `r.card == "visa" and r.id == 7 and ...`.

    Unlike `<`, which Python refuses to say of None, it raises for no record; what comes behind anything else might have
    been preceded by an error. So records without these values can be left out, and nobody will notice.
    """
    found: list[RequiredValue] = []
    while isinstance(condition, Branch) and _is_false(condition.when_false):
        required = _required(condition.condition, operations)
        if required is None:
            return found
        found.append(required)
        condition = condition.when_true
    last = _required(condition.term, operations) if isinstance(condition, Leaf) else None
    return found if last is None else [*found, last]


def _is_false(tree: Tree) -> bool:
    return isinstance(tree, Leaf) and isinstance(tree.term, Constant) and tree.term.value is False


def _required(term: Term, operations: Operations) -> RequiredValue | None:
    if not isinstance(term, Computed) or len(term.operands) != 2:
        return None
    for field, value in (term.operands, term.operands[::-1]):
        if not isinstance(field, Column) or len(field.path) != 1 or not isinstance(value, Constant):
            continue
        # A name says that the value comes from outside the function: it may be another one when the job runs.
        if value.name or field.kind is not value.kind or value.kind not in (Kind.INT, Kind.STR):
            continue
        # Equal terms are one object: it is known what this one was made of.
        if term in (operations.compare("==", field, value), operations.compare("==", value, field)):
            return field.path[0], value.value
    return None
