# Two commands do everything on a fresh machine with Python 3.11+ and make:
#   make demo   the whole job on a made-up clinic: private table in, publishable model out
#   make test   lint, types, import contracts and all tests but those that take long by nature
# make test-all runs these too, and tries the tests themselves with every privacy mutant (docs/audit.md).
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --durations=40 --durations-min=4

# Some images tell Python to keep no bytecode. Hundreds of processes of the tests would then compile mapl anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-long test-all mutants check format bench docs package clean

demo: $(VENV)/installed
	$(BIN)/mapl demo

# No test of these has a use for the plugins that are left out, which every worker would import.
test: check
	$(PYTEST) -p no:schemathesis -p no:anyio -m "not long"
	@echo "Left out: tests that take long by nature (kill loops, servers, replays, examples). make test-long runs them."

# File by file: what a file's tests share takes long to make, and is made once then. No docstring takes long.
test-long: $(VENV)/installed-test
	$(PYTEST) --dist loadfile --no-loadscope-reorder -m long tests

test-all: test test-long
	$(BIN)/python tests/mutants/run.py --all

# Those that what changed since BASE touches, for so many minutes: CI runs this.
MINUTES ?= 4
mutants: $(VENV)/installed-test
	$(BIN)/python tests/mutants/run.py --changed $(BASE) --at-most $(MINUTES)

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
	$(BIN)/python benchmarks/peer_costs.py
	$(BIN)/python benchmarks/sanitised_pate.py
	$(BIN)/python benchmarks/large.py
	$(BIN)/python benchmarks/cells.py
	$(BIN)/python benchmarks/prediction.py
	$(BIN)/python benchmarks/plan.py
	$(BIN)/python benchmarks/auto.py
	$(BIN)/python benchmarks/rates.py
	$(BIN)/python benchmarks/reproduce.py
	$(BIN)/python benchmarks/margin.py
	$(BIN)/python benchmarks/students.py
	$(BIN)/python benchmarks/students_soft.py
	$(BIN)/python benchmarks/serve.py
	$(BIN)/python benchmarks/crowd.py

# The pages as they stand in the repository, so that the same relative links work here and there; warnings are
# errors, and every option that is typed into the search has to be found.
docs: $(VENV)/installed-docs
	rm -rf build/pages && mkdir -p build/pages
	tar cf - *.md LICENSE docs examples benchmarks/*.py benchmarks/results deploy tests/mutants | tar xf - -C build/pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python tests/try_search.py build/site
	@echo "Open build/site/index.html; to search in it, serve it: python3 -m http.server -d build/site --bind 127.0.0.1"

# The package as a newcomer gets it: built twice to the same bytes, installed without extras, tried; beside it what a
# plain installation takes, with hashes.
package: | $(VENV)/bin/python
	$(BIN)/pip install --quiet build
	$(BIN)/python tests/try_package.py build/dist
	$(BIN)/python tests/write_constraints.py build/dist/*.whl build/constraints.txt

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "mapl needs Python 3.11 to 3.13; $(PYTHON) is $$($(PYTHON) --version). Try: make $(MAKECMDGOALS) PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet -e .
	@touch $@

# Of twenty thousand files a fifth is ever imported, and compiled then.
$(VENV)/installed-test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --no-compile -e '.[test]'
	@touch $@ $(VENV)/installed

$(VENV)/installed-docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet 'mkdocs-material>=9.5' 'mkdocstrings[python]>=0.27'
	@touch $@

clean:
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache mapl-demo
