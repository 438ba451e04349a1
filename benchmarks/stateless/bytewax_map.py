"""Map and filter in bytewax, two processes."""

from __future__ import annotations

import bytewax.operators as op
from bytewax.dataflow import Dataflow

from common.bytewax_files import CountingSink, JsonFiles, run_flow
from common.inputs import stateless_filter, stateless_map

flow = Dataflow("stateless")
records = op.input("files", flow, JsonFiles())
mapped = op.map("map", records, lambda record: stateless_map(*record))
op.output("count", op.filter("filter", mapped, stateless_filter), CountingSink())

if __name__ == "__main__":
    run_flow("stateless.bytewax_map:flow")
