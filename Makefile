# `make demo` and `make test` do all the set-up on a fresh machine with Python 3.11+ and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo test test-long check format bench clean

demo: $(STAMP)
	@echo "The demo: reports on a made-up session, then trains an orchestrator. About a minute."
	@$(BIN)/orchestrace demo

test: $(STAMP)
	@echo "The tests: about four minutes on two cores."
	@$(BIN)/python -m pytest

test-long: $(STAMP)
	@echo "All tests with a thousand examples a law, the fuzzers and the long learning runs: an hour or more."
	@$(BIN)/python -m pytest -m "long or not long" --hypothesis-profile=long

check: $(STAMP)
	@echo "Format, lint, types, layers: about a minute."
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(STAMP)
	@echo "Writing every Python file in the one format."
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(STAMP)
	@echo "The benchmarks: a few minutes. Nothing else should run meanwhile."
	@$(BIN)/python benchmarks/graph.py
	@$(BIN)/python benchmarks/codec.py
	@$(BIN)/python benchmarks/startup.py
	@$(BIN)/python benchmarks/credit.py
	@$(BIN)/python benchmarks/learning_speed.py

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("orchestrace needs Python 3.11 or newer, but $(PYTHON) is " + sys.version.split()[0] + "; run make PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	@echo "Installing into $(VENV): a minute or two, once; torch is the bulk of it."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[train,test,check,bench]"
	@touch $(STAMP)

clean:
	@echo "Removing $(VENV), caches and runs/."
	@rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis runs
