# Every target does its own set-up; a machine needs Python >= 3.11, git and make.
# PYTHON=python3.12 make ... chooses another interpreter for the environment.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
LOCKS := requirements-dev.lock requirements-setup.lock

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format bench lock clean

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

setup: $(READY) ## make .venv from the lock files

$(READY): $(LOCKS) pyproject.toml .ci/setup.py
	@echo "setting up .venv (once) ..."
	@$(PYTHON) .ci/setup.py
	@touch $@

demo: $(READY) ## train through two preemptions on a simulated slice
	@$(BIN)/tpuctl demo $(ARGS)

test: $(READY) ## run the tests (ARGS= for pytest)
	@$(BIN)/pytest $(ARGS)

lint: $(READY) ## check style, types, import direction and shell scripts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache --no-logo
	@find . -name .venv -prune -o -type f \( -name '*.sh' -o -path './.ci/run' -o -path './.ci/lock' \) -print \
	  | xargs $(BIN)/shellcheck

format: $(READY) ## format and fix what can be fixed
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

bench: $(READY) ## measure (ARGS= for a single one)
	@$(BIN)/python -m bench $(ARGS)

lock: $(READY) ## resolve the newest versions into the lock files
	@.ci/lock

clean: ## remove the environment and caches
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
