"""Keys of a configuration that look like an option and are none: a typing error takes effect by having none."""

from __future__ import annotations

from difflib import get_close_matches

from penstock.common.configuration import Configuration
from penstock.common.options import ALL_OPTIONS

_ALIKE = 0.89
"""A typing error or two. Flink's own options that Penstock does not read are less like those that it reads."""


def misspelt_options(configuration: Configuration) -> dict[str, str]:
    """What nobody reads and is much like an option, with that option.

    >>> misspelt_options(Configuration().set_string("execution.checkpoint.dir", "/data"))
    {'execution.checkpoint.dir': 'execution.checkpointing.dir'}
    """
    known = {key for option in ALL_OPTIONS for key in option.keys}
    others = [key for key in configuration.to_dict() if key not in known and not key.startswith("spark.")]
    nearest = {key: get_close_matches(key, sorted(known), n=1, cutoff=_ALIKE) for key in others}
    return {key: found[0] for key, found in nearest.items() if found}
