# Two commands do everything on a fresh machine with Python 3.11+ and make:
#   make demo   the whole job on a made-up clinic: private table in, publishable model out
#   make test   lint, types, import contracts and all tests
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test check format bench clean

demo: $(VENV)/installed
	$(BIN)/mapl demo

test: check
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

check: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/codespell

format: $(VENV)/installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/installed-test
	$(BIN)/pip install --quiet -e '.[plots]'
	$(BIN)/python benchmarks/aggregate.py
	$(BIN)/python benchmarks/picture.py
	$(BIN)/python benchmarks/learn.py
	$(BIN)/python benchmarks/large.py
	$(BIN)/python benchmarks/cells.py
	$(BIN)/python benchmarks/prediction.py
	$(BIN)/python benchmarks/plan.py
	$(BIN)/python benchmarks/auto.py
	$(BIN)/python benchmarks/rates.py
	$(BIN)/python benchmarks/margin.py
	$(BIN)/python benchmarks/students.py
	$(BIN)/python benchmarks/students_soft.py
	$(BIN)/python benchmarks/serve.py

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "mapl needs Python 3.11 to 3.13; $(PYTHON) is $$($(PYTHON) --version). Try: make $(MAKECMDGOALS) PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet -e .
	@touch $@

$(VENV)/installed-test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet -e '.[test]'
	@touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache mapl-demo
