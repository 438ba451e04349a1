"""Map and filter in Penstock: two Python functions, which become Arrow kernels; JSON files."""

from __future__ import annotations

from common.contender import parse_arguments
from common.inputs import stateless_filter, stateless_map
from common.penstock_job import RECORD_TYPE, make_environment, run_counted
from penstock.common import Types
from penstock.datastream.connectors.file_system import FileSource, JsonLinesFormat


def run(*, traced: bool) -> None:
    """Runs the job; without tracing both functions are called for every record."""
    arguments = parse_arguments()
    env = make_environment(arguments)
    if not traced:
        env.configuration.set_string("optimizer.disabled-rules", "trace-functions")
    source = FileSource(f"{arguments.input}/part-*.json", JsonLinesFormat(RECORD_TYPE))
    mapped = env.from_source(source, source_name="records").map(lambda record: stateless_map(*record), Types.LONG())
    run_counted(env, mapped.filter(stateless_filter), arguments)


if __name__ == "__main__":
    run(traced=True)
