# Everything a checkout needs: `make demo`, `make test`, `make check`, `make test-slow`, `make bench`.
# Each target sets up its own `.venv` from the locked requirements and is quick when nothing changed.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install
UV := $(BIN)/uv pip install --python $(BIN)/python --quiet
LOCKED := --require-hashes --no-deps
COMPILE := $(BIN)/uv pip compile --quiet --python-version 3.11 --universal --generate-hashes \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links
WORKERS ?= 2
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-slow check bench generate lock clean

help:
	@echo "make demo       run the five-phase example, offline"
	@echo "make test       all tests that need only Python"
	@echo "make check      formatting, lint, import rules, types, generated pages, docs"
	@echo "make test-slow  every kill point, real servers, the built wheel"
	@echo "make bench      the figures of docs/performance.md"
	@echo "make generate   write docs/architecture.md, docs/events.md and schemas/ anew"
	@echo "make lock       resolve requirements/*.txt anew from pyproject.toml"

demo: $(VENV)/.run
	$(BIN)/phaseloop demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow and not clock"

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -q -n $(WORKERS) -m slow

check: $(VENV)/.check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/python -m tools.draw --check
	$(BIN)/python -m tools.events_page --check
	$(BIN)/python -m tools.schemas --check
	$(BIN)/python -m pytest -q tests/test_architecture.py tests/test_docs.py

bench: $(VENV)/.dev
	$(BIN)/python -m bench
	$(BIN)/python -m pytest -q -m clock

generate: $(VENV)/.dev
	$(BIN)/python -m tools.schemas
	$(BIN)/python -m tools.events_page
	$(BIN)/python -m tools.draw

lock: $(VENV)/.check
	$(COMPILE) pyproject.toml -o requirements/run.txt
	$(COMPILE) --group setup -c requirements/run.txt -o requirements/setup.txt
	$(COMPILE) pyproject.toml --group dev -c requirements/run.txt -o requirements/dev.txt
	$(COMPILE) pyproject.toml --group dev --group check -c requirements/dev.txt -o requirements/check.txt

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist

# The stamps: `.run` is the product with its dependencies, `.dev` adds the tests' tools, `.check` the static ones.

$(VENV)/.venv:
	@for python in python3.11 python3.12 python3.13 python3 python; do \
		if $$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			echo "setting up $(VENV) with $$($$python --version)"; \
			$$python -m venv $(VENV) && touch $@ && exit 0; exit 1; \
		fi; \
	done; \
	echo "phaseloop needs Python 3.11 or later with the venv module; none was found on PATH" >&2; exit 1

# uv is many times quicker; where it cannot reach the index that pip is configured for, pip does the same.
define install
	@echo "installing $(1)"
	@$(UV) $(LOCKED) -r $(1) || $(PIP) $(LOCKED) -r $(1)
endef

$(VENV)/.setup: $(VENV)/.venv requirements/setup.txt
	@echo "installing requirements/setup.txt"
	@$(PIP) $(LOCKED) -r requirements/setup.txt
	@touch $@

$(VENV)/.run: $(VENV)/.setup requirements/run.txt pyproject.toml
	$(call install,requirements/run.txt)
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.txt
	$(call install,requirements/dev.txt)
	@touch $@

$(VENV)/.check: $(VENV)/.dev requirements/check.txt
	$(call install,requirements/check.txt)
	@touch $@
