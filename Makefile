# Everything is set up from here: a virtual environment, hashed packages, the project itself.
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test check benchmark clean

demo: $(VENV)/installed
	$(VENV)/bin/tiersim demo --output demo --force

test: $(VENV)/installed-dev
	$(VENV)/bin/python -m pytest

check: $(VENV)/installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

benchmark: $(VENV)/installed-dev
	$(VENV)/bin/python -m pytest benchmarks

clean:
	rm -rf $(VENV) demo

$(VENV)/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes --requirement requirements.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/installed-dev: requirements-dev.lock $(VENV)/installed
	$(PIP) --require-hashes --requirement requirements-dev.lock
	@touch $@
