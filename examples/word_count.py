"""Counts words: of a few lines, or of the text files given with --input.

python examples/word_count.py
python examples/word_count.py --input README.md --top 10
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from penstock.common import Configuration
from penstock.datastream import RuntimeExecutionMode, StreamExecutionEnvironment

LINES = [
    "to be or not to be that is the question",
    "whether tis nobler in the mind to suffer",
    "the slings and arrows of outrageous fortune",
    "or to take arms against a sea of troubles",
]


def words(line: str) -> Iterator[tuple[str, int]]:
    for word in line.lower().split():
        yield word.strip(".,;:!?()[]`'\""), 1


def count_words(engine: str, path: str | None) -> dict[str, int]:
    configuration = Configuration().set_string("execution.engine", engine)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    lines = env.from_collection(LINES) if path is None else env.read_text_file(path)
    counts = lines.flat_map(words).key_by(0).sum(1).name("Count").uid("count")
    latest: dict[str, int] = {}
    with counts.execute_and_collect("word count") as results:
        for word, count in results:
            latest[word] = max(count, latest.get(word, 0))
    return latest


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--input", help="a text file, or a directory of them")
    arguments.add_argument("--top", type=int, default=20, help="how many words to print")
    arguments.add_argument("--engine", choices=["spark", "local"], default="spark")
    options = arguments.parse_args()
    counts = count_words(options.engine, options.input)
    for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[: options.top]:
        print(f"{count:8d}  {word}")


if __name__ == "__main__":
    main()
