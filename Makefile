# `make demo` and `make test` do all the set-up on a fresh machine with Python 3.11+ and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo test test-long check format bench clean

demo: $(STAMP)
	$(BIN)/orchestrace demo

test: $(STAMP)
	$(BIN)/python -m pytest

test-long: $(STAMP)
	$(BIN)/python -m pytest -m "long or not long" --hypothesis-profile=long

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)
	$(BIN)/python benchmarks/graph.py
	$(BIN)/python benchmarks/codec.py
	$(BIN)/python benchmarks/startup.py

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("orchestrace needs Python 3.11 or newer, but $(PYTHON) is " + sys.version.split()[0] + "; run make PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	@echo "Installing into $(VENV): a minute, once."
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[train,test,check,bench]"
	touch $(STAMP)

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis runs
