"""What happens to files and messages."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st


@st.composite
def damage(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Cut, changed, longer, or something else altogether."""
    kind = draw(st.sampled_from(["cut", "flip", "insert", "append", "replace"]))
    place, more = draw(st.floats(0, 1)), draw(st.binary(min_size=1, max_size=40))

    def apply(content: bytes) -> bytes:
        at = int(place * max(0, len(content) - 1))
        match kind:
            case "cut":
                return content[:at]
            case "flip":
                return content[:at] + bytes([content[at] ^ (more[0] or 1)]) + content[at + 1 :]
            case "insert":
                return content[:at] + more + content[at:]
            case "append":
                return content + more
            case _:
                return more

    return apply
