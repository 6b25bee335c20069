# Everything is set up from here: a virtual environment, hashed packages, the project itself.
PYTHON ?= python3
VENV := .venv
COMPILE := uv pip compile --quiet --generate-hashes --no-header --python-version 3.11
# One worker more than processors, for some tests wait for servers and browsers. Benchmarks measure one at a time; their fixture is not for tests.
WORKERS := $(shell $(PYTHON) -c 'import os; print(min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(), 4) + 1)')
TESTS := $(VENV)/bin/python -m pytest --numprocesses=$(WORKERS) --dist=worksteal -p no:benchmark
# Python compiles what is imported: that is a fifth of the packages.
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile

.PHONY: demo test test-long test-all check docs benchmark wheel lock clean

demo: $(VENV)/installed
	$(VENV)/bin/tiersim demo --output demo --force

test: $(VENV)/installed-dev
	$(TESTS)

test-long: $(VENV)/installed-dev
	TIERSIM_EVERY_EXAMPLE=1 $(TESTS) -m 'long or hypothesis'

# Both at once: what waits stands beside what computes, and no property is tested with a sixth of its examples and then with all.
test-all: $(VENV)/installed-dev
	TIERSIM_EVERY_EXAMPLE=1 $(TESTS) -m ''

check: $(VENV)/installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/vulture

# Warnings are errors, and nothing is fetched: links between pages, names in the reference of the interface, and all pages in the table of contents are checked by it.
docs: $(VENV)/installed-dev
	$(VENV)/bin/sphinx-build -W --keep-going --quiet docs build/docs

benchmark: $(VENV)/installed-dev
	$(VENV)/bin/python -m pytest benchmarks

# With machine code for two levels of processors; `pip wheel .` makes the one without.
wheel: $(VENV)/installed
	rm -rf build/machine_code
	for level in x86-64-v2 x86-64-v3; do \
	  TIERSIM_PROCESSOR=$$level NUMBA_CACHE_DIR=build/machine_code/$$level $(VENV)/bin/tiersim warmup || exit 1; \
	done
	TIERSIM_MACHINE_CODE=build/machine_code $(VENV)/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

# Adds what pyproject.toml asks for and is not locked; locked versions stay, as far as they fit. Needs uv.
lock:
	$(COMPILE) pyproject.toml --group build --output-file requirements.lock
	$(COMPILE) pyproject.toml --group build --group dev --group docs --constraint requirements.lock --output-file requirements-dev.lock
	$(COMPILE) --group fuzz --output-file requirements-fuzz.lock

clean:
	rm -rf $(VENV) build demo

$(VENV)/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes --requirement requirements.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

# Kernels compile beside, on what is installed already.
$(VENV)/installed-dev: requirements-dev.lock $(VENV)/installed
	$(VENV)/bin/tiersim warmup & $(PIP) --require-hashes --requirement requirements-dev.lock && wait
	@touch $@

# Not for every developer: it has wheels for Linux alone.
$(VENV)/installed-fuzz: requirements-fuzz.lock $(VENV)/installed-dev
	$(PIP) --require-hashes --requirement requirements-fuzz.lock
	@touch $@
