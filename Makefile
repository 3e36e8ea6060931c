# Each target installs what it needs into .venv; `make run` and `make test` work on a
# fresh machine that has Python 3.11 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
OLDEST := .venv-oldest
WHEEL := .venv-wheel
# real tables for `make bench`: numbers, with the target, or classes, in the last column
CSV ?=
CLASSES ?=

.PHONY: run test test-slow test-oldest lint bench docs dist release-check browser clean

run: $(INSTALLED)
	$(BIN)/missfit study quick

test: $(INSTALLED)
	$(BIN)/python -m pytest -m "not slow" -n auto --dist worksteal

test-slow: $(INSTALLED)
	$(BIN)/python -m pytest -m slow -n auto --dist worksteal

# With the oldest versions that pyproject.toml allows, beside newer ones of what these
# need themselves: they warn of each other (joblib 1.4 starts processes by os.fork, of
# which jax warns), so warnings are no errors here, and the pages of the docs, which
# promise to run without one, are left out.
test-oldest:
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python .ci/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --constraint $(OLDEST)/constraints.txt \
	  --editable ".[all]" hypothesis onnxruntime polars pytest pytest-xdist
	$(OLDEST)/bin/python -m pytest -m "not slow" -n auto --dist worksteal \
	  --ignore tests/test_docs.py \
	  -W ignore::DeprecationWarning -W ignore::FutureWarning \
	  -W "ignore:os.fork:RuntimeWarning"

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/codespell

bench: $(INSTALLED)
	$(BIN)/python benchmarks/every.py $(if $(strip $(CSV)),--tables $(CSV)) \
	  $(if $(strip $(CLASSES)),--classes $(CLASSES))

browser: # for the tests that open a report as a reader would
	apt-get install --yes --quiet chromium

# The examples of the gallery on one thread: boosting on several waits for its threads
# where the machine has other work, and took 130 s in one example in place of 7.
docs: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo docs/_build/html/index.html

# The package as a user gets it: the wheel alone, in an environment of its own, runs the
# README. pytest runs outside of the repository's folder, so that nothing of it is found.
# The source distribution has what its tests read.
dist: $(INSTALLED)
	rm -rf dist $(WHEEL)
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip install --quiet pytest "$$(ls $(CURDIR)/dist/*.whl)[all]"
	$(WHEEL)/bin/python .ci/installed.py
	cd $(WHEEL) && bin/python -m pytest -q -p no:cacheprovider -c /dev/null \
	  -o "markers=slow: runs with make test-slow" \
	  --rootdir $(CURDIR)/tests $(CURDIR)/tests/test_docs.py -k "README or links"
	tar -xf dist/missfit-*.tar.gz -C $(WHEEL)
	cd $(WHEEL)/missfit-* && $(CURDIR)/$(BIN)/python -m pytest -q -p no:cacheprovider \
	  tests/test_release.py tests/test_oldest.py tests/test_which_when.py
	cd $(WHEEL)/missfit-* && $(CURDIR)/$(BIN)/python -m pytest -q -p no:cacheprovider \
	  --collect-only tests > /dev/null

release-check: lint test test-slow docs dist
	$(BIN)/python .ci/release.py

$(INSTALLED): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) $(WHEEL) dist out docs/_build docs/gallery docs/generated
