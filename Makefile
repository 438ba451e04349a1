# `make` lists the targets. Everything lives in this checkout: .venv (packages) and .cache (jars, tools).
.DEFAULT_GOAL := help
.PHONY: help setup setup-services demo test test-fast lint format lock bench nexmark soak docs clean

PENSTOCK_CACHE ?= $(CURDIR)/.cache
export PENSTOCK_CACHE
# Where this is set, every process compiles every module anew: a program starts two seconds later.
unexport PYTHONDONTWRITEBYTECODE
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
TEST_WORKERS ?= 2
BY_FILE = -n $(TEST_WORKERS) --dist loadfile --no-loadscope-reorder
BENCH_ARGS ?=
NEXMARK_ARGS ?=
SOAK_ARGS ?=

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/.installed ## make the environment in .venv (Java and uv are looked for first)

.venv/.installed: requirements.lock pyproject.toml
	@tools/bootstrap.sh

setup-services: setup ## download the servers that the tests start
	@tools/fetch_services.sh

demo: setup ## a live stateful job on Spark, for a minute
	@$(BIN)/python examples/payments_demo.py

test: setup setup-services ## all tests, the longest files first; tools/record_test_seconds.py renews their order
	$(PYTEST) $(BY_FILE) --durations=25 --junitxml=$(PENSTOCK_CACHE)/tests.xml

test-fast: setup ## the tests that need neither a JVM nor a server
	$(PYTEST) $(BY_FILE) -m "not spark and not kafka and not postgres and not faults"

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
	@missed=0; $(BIN)/python benchmarks/run.py $(BENCH_ARGS) || missed=1; \
	$(if $(BENCH_ARGS),,$(BIN)/python benchmarks/nexmark/run.py --short --events 1000000 --docs || missed=1;) exit $$missed

nexmark: setup ## all of Nexmark on 10 million events beside its peers, and docs/nexmark.md; NEXMARK_ARGS="--queries q5 q7"
	$(BIN)/python benchmarks/nexmark/run.py --events 10000000 --docs $(NEXMARK_ARGS)

soak: setup setup-services ## half an hour of kills and other faults, and docs/fault-table.md; SOAK_ARGS="--minutes 5"
	PENSTOCK_RETENTION_EPOCHS=10000 PENSTOCK_CRASH_BLOCKS=30 $(PYTEST) -n 2 --dist load \
		tests/unit/engine/test_engine_retention.py tests/faults/test_faults_local_schedules.py \
		tests/faults/test_faults_noisy_schedules.py
	$(BIN)/python tools/soak.py $(SOAK_ARGS)

docs: setup ## write the generated pages, and run every example of the documentation
	$(BIN)/python tools/make_reference.py
	$(PYTEST) tests/docs

clean: ## remove caches and what builds leave; .venv and .cache stay
	rm -rf .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build spark-warehouse metastore_db derby.log artifacts
	find src tests tools benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +
