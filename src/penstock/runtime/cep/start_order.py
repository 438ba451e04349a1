"""A queue of partial matches in the order of their first events: a binary heap in a list.

Where two began with the same event, which one comes first follows from how the heap is built, and so does the order
in which partial matches are looked at, which is that of the list. So the algorithms are those of Java's
`PriorityQueue`, and not those of `heapq`, which keep another order of equals.
"""

from __future__ import annotations

from penstock.runtime.cep.matches import PartialMatch


def offer(queue: list[PartialMatch], added: PartialMatch) -> None:
    """Adds a partial match."""
    place = len(queue)
    queue.append(added)
    order = added.order
    while place > 0:
        parent = (place - 1) >> 1
        above = queue[parent]
        if order >= above.order:
            break
        queue[place] = above
        place = parent
    queue[place] = added


def poll(queue: list[PartialMatch]) -> PartialMatch:
    """Takes out the first."""
    first = queue[0]
    last = queue.pop()
    if queue:
        _sift_down(queue, 0, last)
    return first


def remove_before(queue: list[PartialMatch], order: int) -> list[PartialMatch]:
    """Takes out those that began before an event, and returns them."""
    removed = [each for each in queue if each.order < order]
    if removed:
        queue[:] = [each for each in queue if each.order >= order]
        for place in range((len(queue) >> 1) - 1, -1, -1):
            _sift_down(queue, place, queue[place])
    return removed


def _sift_down(queue: list[PartialMatch], place: int, moved: PartialMatch) -> None:
    count = len(queue)
    half = count >> 1
    order = moved.order
    while place < half:
        child = 2 * place + 1
        if child + 1 < count and queue[child].order > queue[child + 1].order:
            child += 1
        if order <= queue[child].order:
            break
        queue[place] = queue[child]
        place = child
    queue[place] = moved
