# `make` lists the targets. Everything lives in this checkout: .venv (packages) and .cache (jars, tools).
.DEFAULT_GOAL := help
.PHONY: help setup setup-services demo test test-fast lint format lock bench docs clean

PENSTOCK_CACHE ?= $(CURDIR)/.cache
export PENSTOCK_CACHE
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
BENCH_ARGS ?=

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/.installed ## make the environment in .venv (Java and uv are looked for first)

.venv/.installed: requirements.lock pyproject.toml
	@tools/bootstrap.sh

setup-services: $(PENSTOCK_CACHE)/kafka/.complete ## download the servers that the tests start

$(PENSTOCK_CACHE)/kafka/.complete: tests/services/pom.xml
	@tools/fetch_kafka.sh

demo: setup ## a live stateful job on Spark, for a minute
	@$(BIN)/python examples/payments_demo.py

test: setup setup-services ## all tests; those that kill processes run last and alone
	$(PYTEST) -n 2 --dist loadfile -m "not faults"
	$(PYTEST) -m faults

test-fast: setup ## the tests that need neither a JVM nor a broker
	$(PYTEST) -n 2 --dist loadfile -m "not spark and not kafka and not faults"

lint: setup ## style, types, layers, file sizes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/python tools/check_source_shape.py

format: setup ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: ## renew requirements.lock from pyproject.toml
	@tools/lock.sh

bench: setup setup-services ## measure, and write docs/benchmarks.md; BENCH_ARGS="--only keyed_sum --records 1000000"
	$(BIN)/python benchmarks/run.py $(BENCH_ARGS)

docs: setup ## write the generated pages, and run every example of the documentation
	$(BIN)/python tools/make_reference.py
	$(PYTEST) tests/docs

clean: ## remove caches and what builds leave; .venv and .cache stay
	rm -rf .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build spark-warehouse metastore_db derby.log artifacts
	find src tests tools benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +
