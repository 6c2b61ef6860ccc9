# `make build` builds the warehouse, `make test` runs every check; both install what they need into .venv, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

# A process a core; a file's tests stay in one, with the fixtures that they share.
PYTEST := pytest --numprocesses auto --dist loadfile
# Tests read the bundled sample in a warehouse of their own, whatever the environment says.
SAMPLE := env -u ASSAY_RAW_ROOT ASSAY_DB=target/sample.duckdb ASSAY_EXPORTS=target/sample_exports

.PHONY: build check test docs bench clean

build: $(VENV)/.core
	assay build

# What is quick: style, types, and every test that needs no warehouse.
check: $(VENV)/.dev
	ruff check .
	ruff format --check .
	mypy
	$(PYTEST) -m 'not build'

test: $(VENV)/.dev
	ruff check .
	ruff format --check .
	mypy
	@mkdir -p target
	$(SAMPLE) dbt build --selector everything
	$(SAMPLE) sqlfluff lint --processes 0 models tests/data
	ASSAY_SAMPLE_WAREHOUSE=target/sample.duckdb $(PYTEST)

docs: $(VENV)/.core
	dbt docs generate --static

bench: $(VENV)/.core
	python bench/landing.py

clean:
	dbt clean
	rm -rf warehouse.duckdb warehouse.duckdb.wal warehouse.duckdb.landing

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "assay needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.core: $(VENV)/.python requirements.lock pyproject.toml
	python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core requirements-dev.lock
	python -m pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	@touch $@
