# Every target does its own set-up; a machine needs Python >= 3.11, git and make.
# PYTHON=python3.12 make ... chooses another interpreter for the environment.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
LOCKS := requirements-dev.lock requirements-setup.lock
CHECKOV := build/checkov/.ready
SCANNERS := build/scanners/.ready
LIFECYCLE = $(BIN)/python -m infra.lifecycle $@ --project='$(PROJECT)' --region='$(REGION)' \
  --prefix='$(PREFIX)' --zones='$(ZONES)' --yes='$(YES)'

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-emulators test lint format bench chaos simulate mutants lock clean infra-check plan deploy destroy

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

setup: $(READY) ## make .venv from the lock files

$(READY): $(LOCKS) pyproject.toml .ci/setup.py
	@echo "setting up .venv (once) ..."
	@$(PYTHON) .ci/setup.py
	@touch $@

demo: $(READY) ## train through two preemptions on a simulated slice
	@$(BIN)/tpuctl demo $(ARGS)

demo-emulators: $(READY) ## the same with the functions as deployed, over Google's emulators
	@$(BIN)/tpuctl demo --emulators $(ARGS)

test: $(READY) $(SCANNERS) ## run the tests, on two cores (ARGS= for pytest, on one)
	@$(BIN)/pytest $(or $(ARGS),--numprocesses 2)

lint: $(READY) $(SCANNERS) ## check style, types, import direction, shell scripts and security
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache --no-logo
	@find . \( -name .venv -o -path ./build \) -prune -o -type f \( -name '*.sh' -o -path './.ci/run' -o -path './.ci/lock' \) -print \
	  | xargs $(BIN)/shellcheck
	@$(BIN)/python -m tests.security.scan

$(SCANNERS): requirements-scanners.lock | $(READY)
	@echo "setting up the scanners (once) ..."
	@$(BIN)/python .ci/setup.py build/scanners requirements-scanners.lock
	@touch $@

format: $(READY) ## format and fix what can be fixed
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

bench: $(READY) ## measure (ARGS= for a single one)
	@$(BIN)/python -m bench $(ARGS)

simulate: $(READY) ## live through seeds of a simulated world (SEEDS=200 FIRST=0 ARGS=)
	@$(BIN)/python -m tests.simulation --seeds '$(or $(SEEDS),200)' --first '$(or $(FIRST),0)' $(ARGS)

mutants: $(READY) ## break every rule once, and see that a seed or a test notices (ARGS=)
	@$(BIN)/python -m tests.simulation.mutate $(ARGS)

chaos: $(READY) ## break everything at random for a while (MINUTES=10 JOBS=30 SEED=1 ARGS=--json)
	@$(BIN)/python -m tests.chaos --minutes '$(or $(MINUTES),10)' --jobs '$(or $(JOBS),30)' --seed '$(or $(SEED),1)' $(ARGS)

lock: $(READY) ## resolve the newest versions into the lock files
	@.ci/lock

infra-check: $(READY) $(CHECKOV) ## check infra/ without an account (ARGS=--plant proves that it can fail)
	@$(BIN)/python -m tests.infra.check $(ARGS)

$(CHECKOV): infra/checkov.lock
	@echo "setting up checkov (once) ..."
	@$(PYTHON) -m venv --clear build/checkov
	@build/checkov/bin/pip install -qq --no-deps --require-hashes --requirement infra/checkov.lock
	@touch $@

plan: $(READY) ## say what deploy would change (PROJECT= REGION= ZONES= PREFIX=)
	@$(LIFECYCLE)

deploy: $(READY) ## make or change the control plane in Google Cloud (PROJECT= REGION= ZONES= PREFIX=)
	@$(LIFECYCLE)

destroy: $(READY) ## remove it, but no data (PROJECT= REGION= PREFIX= FORCE=1 DELETE_DATA=yes)
	@$(LIFECYCLE) --force='$(FORCE)' --delete-data='$(DELETE_DATA)'

clean: ## remove the environment and caches
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
