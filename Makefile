# Each target installs what it needs into .venv; `make run` and `make test` work on a
# fresh machine that has Python 3.11 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
OLDEST := .venv-oldest
TABLES := moments linear networks auto scale

.PHONY: run test test-slow test-oldest lint bench docs browser clean

run: $(INSTALLED)
	$(BIN)/missfit study quick

test: $(INSTALLED)
	$(BIN)/python -m pytest -m "not slow" -n auto

test-slow: $(INSTALLED)
	$(BIN)/python -m pytest -m slow -n auto

# With the oldest versions that pyproject.toml allows, beside newer ones of what these
# need themselves: they warn of each other, so warnings are no errors here, and the
# pages of the docs, which promise to run without one, are left out.
test-oldest:
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python .ci/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --constraint $(OLDEST)/constraints.txt \
	  --editable ".[all]" hypothesis onnxruntime polars pytest pytest-xdist
	$(OLDEST)/bin/python -m pytest -m "not slow" -n auto --ignore tests/test_docs.py \
	  -W ignore::DeprecationWarning -W ignore::FutureWarning

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/codespell

bench: $(INSTALLED)
	for name in $(TABLES); do \
	  $(BIN)/python benchmarks/header.py && $(BIN)/python benchmarks/$$name.py || exit 1; \
	done

browser: # for the tests that open a report as a reader would
	apt-get install --yes --quiet chromium

docs: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo docs/_build/html/index.html

$(INSTALLED): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) out docs/_build docs/gallery docs/generated
