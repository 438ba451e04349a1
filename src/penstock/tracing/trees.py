"""What a traced function returns: a value, or one of several by conditions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from penstock.tracing.terms import Constant, Term


@dataclasses.dataclass(eq=False)
class Leaf:
    """The function returns this value."""

    term: Term

    @property
    def text(self) -> str:
        """As Python would write it."""
        return self.term.text


@dataclasses.dataclass(eq=False)
class Raises:
    """The function raises: the records that come here are left to Python."""

    text: str = "raise"


@dataclasses.dataclass(eq=False)
class Branch:
    """One thing where a condition is true, another where it is not."""

    condition: Term
    when_true: Tree
    when_false: Tree

    @cached_property
    def text(self) -> str:
        """As Python would write it."""
        condition = self.condition.enclosed
        if _is_constant(self.when_false, False):
            return f"{condition} and {_enclosed(self.when_true)}"
        if _is_constant(self.when_true, True):
            return f"{condition} or {_enclosed(self.when_false)}"
        if _is_constant(self.when_true, False) and _is_constant(self.when_false, True):
            return f"not {condition}"
        return f"{_enclosed(self.when_true)} if {condition} else {_enclosed(self.when_false)}"


@dataclasses.dataclass(eq=False)
class Checked:
    """Values that nothing is made of are computed too: the function would raise where they do not exist."""

    terms: tuple[Term, ...]
    then: Tree

    @property
    def text(self) -> str:
        """That of what comes then."""
        return self.then.text


Tree = Leaf | Raises | Branch | Checked


def _is_constant(tree: Tree, value: bool) -> bool:
    return isinstance(tree, Leaf) and isinstance(tree.term, Constant) and tree.term.value is value


def _enclosed(tree: Tree) -> str:
    while isinstance(tree, Checked):
        tree = tree.then
    text = f"({tree.text})" if isinstance(tree, Branch) else tree.term.enclosed if isinstance(tree, Leaf) else tree.text
    # Parts that are shared are written several times: without an end the text could become as long as you like.
    return text if len(text) <= _LONGEST_TEXT else "..."


_LONGEST_TEXT = 160


def leaves(tree: Tree) -> Iterator[Term]:
    """The values that may be returned, each once."""
    seen: set[int] = set()
    pending: list[Tree] = [tree]
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, Leaf):
            yield current.term
        elif isinstance(current, Branch):
            pending += [current.when_false, current.when_true]
        elif isinstance(current, Checked):
            pending.append(current.then)


def checked(terms: Iterable[Term], tree: Tree) -> Tree:
    """The tree, behind a look at terms that are computed on the way to it."""
    if isinstance(tree, Raises):
        return tree
    result = tree.condition if isinstance(tree, Branch) else tree.term if isinstance(tree, Leaf) else None
    needed = set[int]() if result is None else set(map(id, parts_of(result)))
    unused: dict[int, Term] = {}
    for term in reversed(list(terms)):
        if id(term) not in needed:
            unused[id(term)] = term
            needed.update(map(id, parts_of(term)))
    return Checked(tuple(unused.values()), tree) if unused else tree


def parts_of(term: Term) -> list[Term]:
    """The term and all that it is made of, each once."""
    found: dict[int, Term] = {}
    pending = [term]
    while pending:
        current = pending.pop()
        if id(current) not in found:
            found[id(current)] = current
            pending += getattr(current, "operands", getattr(current, "items", ()))
    return list(found.values())


def as_condition(tree: Tree, truth: Callable[[Term], Term], constant: Callable[[bool], Term]) -> Tree:
    """The tree with the truth of each value in its place."""
    made: dict[int, Tree] = {}

    def converted(current: Tree) -> Tree:
        if id(current) not in made:
            made[id(current)] = _converted(current)
        return made[id(current)]

    def _converted(current: Tree) -> Tree:
        if isinstance(current, Leaf):
            return Leaf(truth(current.term))
        if isinstance(current, Branch):
            # `a and b` is `a` where `a` is false, and then false is all that is asked of it.
            first, second = converted(current.when_true), converted(current.when_false)
            if isinstance(first, Leaf) and first.term is current.condition:
                first = Leaf(constant(True))
            if isinstance(second, Leaf) and second.term is current.condition:
                second = Leaf(constant(False))
            return Branch(current.condition, first, second)
        if isinstance(current, Checked):
            return Checked(current.terms, converted(current.then))
        return current

    return converted(tree)
