# Needs Python 3.11 or newer with venv; Node is optional. Everything is installed inside this folder.

PYTHON ?= python3
ARGS ?=
PIP_INSTALL = -m pip install -qq --disable-pip-version-check
NODE := $(shell command -v node >/dev/null && command -v npm)
NODE_STAMP := $(if $(NODE),tests/node/node_modules/.stamp)

.PHONY: help setup demo check test bench clean
.NOTPARALLEL:
.DELETE_ON_ERROR:

help:  ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.stamp-all tests/.harbor/.stamp $(NODE_STAMP)  ## install everything for development into .venv and tests/node
	@$(if $(NODE),:,echo "node or npm is not installed: tests that ask the real ai packages will be skipped")

demo: .venv/.stamp-demo  ## see it work: a ledger of samples and a server with a scripted agent; no key; Ctrl-C ends it
	@.venv/bin/python -m hansard.demo $(ARGS)

check: .venv/.stamp-all  ## linter, formatting and types
	@echo "ruff check"  && .venv/bin/python -m ruff check -q .
	@echo "ruff format" && .venv/bin/python -m ruff format -q --check . || { echo "way out: .venv/bin/ruff format ."; exit 1; }
	@echo "mypy"        && .venv/bin/python -m mypy --no-error-summary

test: setup check  ## everything that must hold; ARGS="-k name" picks tests
	@.venv/bin/python -m pytest $(ARGS)

bench: .venv-bench/.stamp  ## measure, side by side with other libraries (in .venv-bench); ARGS="conversions peers" picks
	@LITELLM_LOCAL_MODEL_COST_MAP=True .venv-bench/bin/python bench/run.py $(ARGS)

clean:  ## remove everything that was installed or built
	@rm -rf .venv .venv-bench tests/.harbor tests/node/node_modules build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are younger than what they were made from, so that a second run does nothing.

.venv/.stamp-core: pyproject.toml constraints.txt
	$(call new_venv,.venv)
	@echo "installing the core packages into .venv"
	@.venv/bin/python $(PIP_INSTALL) -c constraints.txt -e .
	@touch $@

.venv/.stamp-demo: pyproject.toml constraints.txt
	$(call new_venv,.venv)
	@echo "installing hansard into .venv (half a minute)"
	@.venv/bin/python $(PIP_INSTALL) -c constraints.txt -e '.[agent,server]'
	@touch .venv/.stamp-core $@

.venv/.stamp-all: pyproject.toml constraints.txt
	$(call new_venv,.venv)
	@echo "installing all packages into .venv (about a minute)"
	@.venv/bin/python $(PIP_INSTALL) -c constraints.txt -e '.[agent,dev,postgres,server]'
	@touch .venv/.stamp-core .venv/.stamp-demo $@

.venv-bench/.stamp: pyproject.toml bench/requirements.txt
	$(call new_venv,.venv-bench)
	@echo "installing the compared libraries into .venv-bench (about a minute)"
	@.venv-bench/bin/python $(PIP_INSTALL) -r bench/requirements.txt -e '.[agent,postgres]'
	@touch $@

# Harbor itself wants Python 3.12; its validator of trajectories does not, and needs nothing but pydantic.
tests/.harbor/.stamp: .venv/.stamp-all
	@rm -rf tests/.harbor && mkdir -p tests/.harbor
	@echo "installing Harbor's validator into tests/.harbor"
	@.venv/bin/python $(PIP_INSTALL) --no-deps --ignore-requires-python --target tests/.harbor harbor==0.25.0 \
	  || echo "it could not be had: ATIF is checked by our own reading of its schema only"
	@touch $@

tests/node/node_modules/.stamp: tests/node/package.json tests/node/package-lock.json
	@echo "installing the real ai packages into tests/node"
	@cd tests/node && npm ci --silent || { echo "npm ci failed in tests/node: run it there to see why"; exit 1; }
	@touch $@

define new_venv
	@command -v $(PYTHON) >/dev/null || { echo "no $(PYTHON): install Python 3.11 or newer, or make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is older than 3.11: make PYTHON=/path/to/a/newer/python"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "venv is missing: apt install python3-venv (Debian, Ubuntu), or make PYTHON=/path/to/another/python"; exit 1; }
	@test -x $(1)/bin/pip || $(PYTHON) -m venv $(1)
endef
