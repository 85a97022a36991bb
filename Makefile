# make campaign   play two rehearsals on a local Ray and print their matrices: scripted models for
#                 two weeks, and policies for 500 days
# make test       run all tests; lint, format, types and the import contract are among them
#
# Both first make .venv from requirements.lock, every package checked by its hash. They need make and
# a Python from 3.11 on, found on PATH or named: make test PYTHON=/path/to/python3.12
# (after make clean when .venv has another, or with VENV=.venv-3.12 beside it).

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input

# Written last, with the folder it was made for: scripts in .venv hold absolute paths.
STAMP := $(VENV)/installed-for
# There while packages change: an environment whose installation broke off is made anew.
PENDING := $(VENV)/installation-pending

INTACT := $(shell [ "$$(cat $(STAMP) 2>/dev/null)" = "$(CURDIR)" ] && \
    [ ! -e $(PENDING) ] && $(BIN)/python -c '' 2>/dev/null && echo yes)

# Versions that the project is tested with come first. Every folder of PATH is tried, because a name
# may stand for a launcher that has no such version, with a working one further down.
NAMES := python3.13 python3.12 python3.11 python3 python3.14 python
USABLE := import os, sys, venv, ensurepip; \
    own = os.path.realpath(sys.prefix) == os.path.realpath("$(VENV)"); \
    sys.exit(own or sys.version_info < (3, 11))
PYTHON = $(shell IFS=:; for name in $(NAMES); do for folder in $$PATH; do \
    if "$$folder/$$name" -c '$(USABLE)' >/dev/null 2>&1; then \
    echo "$$folder/$$name"; exit; fi; done; done)

# For recipes: leaves a usable interpreter in $python, or says what is missing.
define FOUND_PYTHON
python="$(PYTHON)"; \
if ! "$$python" -c '$(USABLE)' 2>/dev/null; then \
    echo "No usable Python was found$${python:+: $$python}." >&2; \
    echo "It must be 3.11 or later and have its modules venv and ensurepip." >&2; \
    echo "  Debian, Ubuntu: apt install python3 python3-venv" >&2; \
    echo "  Fedora: dnf install python3     macOS: brew install python@3.13" >&2; \
    echo "  Installed elsewhere: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; \
    exit 1; \
fi;
endef

.PHONY: help campaign test chromium lint format lock clean again

help:
	@sed -n '/^# make /,/^$$/s/^# \{0,1\}//p' Makefile

campaign: $(STAMP)
	@$(BIN)/ceo-arena launch rehearsal-llm --days 14
	@$(BIN)/ceo-arena launch rehearsal

test: $(STAMP) chromium
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

# Tests of pages drive Debian's Chromium; where it cannot be installed they are skipped, and say so.
chromium:
	@command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	    { timeout 120 apt-get -qq update && DEBIAN_FRONTEND=noninteractive timeout 600 apt-get -qq install --no-install-recommends chromium; } \
	    >/dev/null 2>&1 || true

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(STAMP): requirements.lock pyproject.toml Makefile $(if $(INTACT),,again)
	@if [ -e $(PENDING) ] || [ "$$(cat $(STAMP) 2>/dev/null || pwd -P)" != "$$(pwd -P)" ] || \
	    ! $(BIN)/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then \
	    $(FOUND_PYTHON) \
	    echo "Making $(VENV) with $$python"; \
	    "$$python" -m venv --clear $(VENV) || exit 1; \
	fi
	@rm -f $(STAMP)
	@touch $(PENDING)
	@echo "Installing the packages of requirements.lock (the first time, this takes a minute or two)"
	@$(PIP) install --quiet --require-hashes --only-binary :all: -r requirements.lock
	@rm -f $(PENDING)
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@pwd -P > $(STAMP)

# Resolves for all supported versions and systems at once and keeps present pins where it can; with
# UPGRADE=1 it takes the newest versions. The container image has the same ones.
lock:
	@$(FOUND_PYTHON) \
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	"$$python" -m venv "$$folder" && "$$folder/bin/python" -m pip install --quiet uv && \
	UV_CUSTOM_COMPILE_COMMAND="make lock" "$$folder/bin/uv" pip compile --quiet \
	    --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
	    --no-emit-index-url --no-annotate $(if $(UPGRADE),--upgrade) \
	    --extra dev --output-file requirements.lock pyproject.toml && \
	UV_CUSTOM_COMPILE_COMMAND="make lock" "$$folder/bin/uv" pip compile --quiet \
	    --python-platform linux --python-version 3.12 --generate-hashes \
	    --no-emit-index-url --no-annotate $(if $(UPGRADE),--upgrade) \
	    --constraint requirements.lock --output-file infra/requirements.lock \
	    pyproject.toml infra/image.in
	@if grep -n '://' requirements.lock infra/requirements.lock; then \
	    echo "A lock names a host; it must not." >&2; exit 1; fi

clean:
	rm -rf $(VENV) .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
