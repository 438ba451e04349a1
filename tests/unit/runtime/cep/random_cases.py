"""Random cases for `cep_cases`: patterns of every kind, and events that have a chance to match them."""

from __future__ import annotations

import random

_NAMES = "ABCDEF"
_LETTERS = "abcd"


def random_case(rng: random.Random) -> str:
    """One case; not all of them are patterns that can be."""
    names = iter(_NAMES)
    steps = _sequence(rng, names, rng.randint(1, 4), depth=0)
    if rng.random() < 0.5:
        steps.append(f"within:{rng.randint(2, 9)}")
    used = [step.split(":")[1] for step in steps if step.split(":")[0] in ("begin", "next", "followed_by")]
    skip = rng.choice(
        ["no", "no", "no", "next", "past", f"first:{rng.choice(used or ['A'])}", f"last:{rng.choice(used or ['A'])}"]
    )
    time, events = 1, []
    for number in range(rng.randint(3, 9)):
        events.append(f"{rng.choice(_LETTERS)}{number}@{time}")
        time += rng.choice([0, 1, 1, 1, 2, 3])
    return f"{' '.join(steps)} | {skip} | {' '.join(events)} | {time + rng.choice([0, 3, 20])}"


def _sequence(rng: random.Random, names, length: int, depth: int) -> list[str]:
    tokens: list[str] = []
    for place in range(length):
        name = next(names, None)
        if name is None:
            break
        if place == 0:
            how = "begin"
        else:
            how = rng.choice(["next", "followed_by", "followed_by", "followed_by_any", "not_next", "not_followed_by"])
        if how.startswith("not_"):
            tokens += [f"{how}:{name}", f"where:{_some(rng)}"]
            continue
        if depth < 2 and rng.random() < 0.15:
            tokens += [
                f"{how}(",
                *_sequence(rng, iter([name, *names][:3]), rng.randint(1, 2), depth + 1),
                ")",
            ]
            tokens += _quantifier(rng, is_group=True)
            continue
        tokens.append(f"{how}:{name}")
        if rng.random() < 0.85:
            tokens.append(f"where:{_some(rng)}")
        if place and rng.random() < 0.1:
            tokens.append(f"above:{_NAMES[0]}")
        tokens += _quantifier(rng, is_group=False)
        if rng.random() < 0.1:
            tokens.append(f"within_previous:{rng.randint(1, 4)}")
    return tokens or ["begin:A"]


def _quantifier(rng: random.Random, *, is_group: bool) -> list[str]:
    tokens: list[str] = []
    kind = rng.choice(["", "", "times:2", "range:1:3", "range:2:3", "one_or_more", "times_or_more:2", "times_in:2:3"])
    if kind:
        tokens.append(kind)
        tokens += rng.choice([[], [], ["consecutive"], ["allow_combinations"]])
        if not is_group and rng.random() < 0.3:
            tokens.append("greedy")
        if kind.startswith(("one", "times_or")) and rng.random() < 0.3:
            tokens.append(f"until:{_some(rng)}")
    if rng.random() < 0.25:
        tokens.append("optional")
    return tokens


def _some(rng: random.Random) -> str:
    return "".join(sorted(rng.sample(_LETTERS, rng.choice([1, 1, 1, 2]))))
