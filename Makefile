# Needs Python 3.11 or newer with venv; Node is optional. Everything is installed inside this folder.

PYTHON ?= python3
ARGS ?=
REACT_SOURCES := $(wildcard examples/react_chat/*.js* examples/react_chat/*.html examples/react_chat/src/*)
# One more than there are cores: tests also wait for processes and pages.
WORKERS ?= $(shell echo $$(($$(nproc 2>/dev/null || echo 2) + 1)))
SMOKE = tests/model tests/test_imports.py tests/laws/test_formats.py tests/ledger/test_threads.py tests/ledger/test_runs.py tests/workspace/test_undo.py -k "not postgresql"
PIP_INSTALL = -m pip install -qq --disable-pip-version-check
NODE := $(shell command -v node >/dev/null && command -v npm)
NODE_STAMP := $(if $(NODE),tests/node/node_modules/.stamp examples/react_chat/dist/index.html)

# Else every command that a test starts compiles the library again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo check smoke test prove coverage mutants agents bench clean chromium pgbouncer matrix async reference docs dist fresh
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

test: setup check chromium pgbouncer  ## everything that must hold; ARGS="-k name" picks tests
	@.venv/bin/python -m pytest -n $(WORKERS) --dist loadgroup $(ARGS)

smoke: .venv/.stamp-all  ## under half a minute, before each commit: linter, the core of every part
	@.venv/bin/python -m ruff check -q . && .venv/bin/python -m ruff format -q --check .
	@.venv/bin/python -m pytest -q -n $(WORKERS) --dist loadgroup $(SMOKE)

prove: .venv/.stamp-prove  ## every promise under faults, load and hostile input (hours); ARGS="fuzz --scale 0.1" picks
	@$(if $(ARGS),:,.venv/bin/python -m pytest -m prove)
	@$(if $(ARGS),:,seed=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' '); echo "laws at random, seed $$seed"; \
	  HANSARD_HYPOTHESIS=explore .venv/bin/python -m pytest -n $(WORKERS) --timeout 3600 --hypothesis-seed $$seed tests/laws tests/formats tests/streams tests/model)
	@.venv/bin/python -m tests.faults.prove $(ARGS)

# Each test may take longer: it is measured.
coverage: setup chromium pgbouncer  ## lines and branches that the tests reach, by folder; which test reaches what, for `make mutants`
	@rm -rf .coverage-data && mkdir .coverage-data
	@.venv/bin/python -m coverage run -m pytest -q -p tests.mutants.reached -n $(WORKERS) --dist loadgroup --timeout 600 $(ARGS)
	@.venv/bin/python -m coverage combine -q && .venv/bin/python -m coverage json -q -o .coverage-data/report.json
	@.venv/bin/python -m tests.mutants.coverage

mutants: .venv/.stamp-all  ## small defects planted at random: does a test fail? (an hour); ARGS="--seed 2 --area ledger --count 30"
	@.venv/bin/python -m tests.mutants $(ARGS)

agents: .venv/.stamp-all  ## real coding agents, offline, every promise checked on them; installs them below tests/lab (2 GB); ARGS="codex claude" picks
	@.venv/bin/python -m tests.lab $(ARGS)

bench: .venv-bench/.stamp .venv-stores/.stamp  ## measure, side by side with other libraries (in .venv-bench); ARGS="conversions peers" picks
	@LITELLM_LOCAL_MODEL_COST_MAP=True .venv-bench/bin/python bench/run.py $(ARGS)

matrix: .venv/.stamp-core  ## write docs/formats.md again: what each format carries, computed
	@.venv/bin/python scripts/format_matrix.py

async: .venv/.stamp-all  ## write src/hansard/ledger/async_ledger.py again, from the methods of `Ledger`
	@.venv/bin/python scripts/async_ledger.py

reference: .venv/.stamp-all  ## write docs/reference/*.md again, from the docstrings of the public names
	@.venv/bin/python scripts/reference.py

docs: .venv-docs/.stamp  ## build the documentation as a site into site/, strictly: a broken link is an error
	@.venv-docs/bin/python -m mkdocs build -q --strict && echo "site/index.html"

dist:  ## build the sdist and the wheel into dist/
	$(call new_venv,.venv-dist)
	@.venv-dist/bin/python $(PIP_INSTALL) build && .venv-dist/bin/python -m build -o dist .

fresh:  ## both commands of README in a fresh clone with a fresh HOME and empty caches; ARGS="-k name" picks tests
	@ARGS='$(ARGS)' scripts/fresh

clean:  ## remove everything that was installed or built
	@rm -rf .venv .venv-bench .venv-stores tests/.harbor tests/lab/.agents tests/node/node_modules tests/durable_streams/node_modules examples/react_chat/node_modules examples/react_chat/dist .venv-docs .venv-dist site build dist .coverage-data .hypothesis .mypy_cache .pytest_cache .ruff_cache
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

# There are wheels of it for some machines only.
.venv/.stamp-prove: .venv/.stamp-all $(if $(NODE),tests/durable_streams/node_modules/.stamp)
	@.venv/bin/python $(PIP_INSTALL) --only-binary :all: -c constraints.txt atheris \
	  || echo "atheris could not be had: inputs are made by our own mutations only"
	@touch $@

# The harness asks for another release of Pydantic AI than the one measured; what is used of it works with both.
.venv-bench/.stamp: pyproject.toml bench/requirements.txt
	$(call new_venv,.venv-bench)
	@echo "installing the compared libraries into .venv-bench (about a minute)"
	@.venv-bench/bin/python $(PIP_INSTALL) -r bench/requirements.txt -e '.[agent,postgres]'
	@.venv-bench/bin/python $(PIP_INSTALL) --no-deps pydantic-ai-harness==0.62.0 \
	  || echo "pydantic-ai-harness could not be had: agents are measured without it"
	@touch $@

# The compared stores want another release of OpenAI's library than the compared translators do.
.venv-stores/.stamp: pyproject.toml bench/stores-requirements.txt
	$(call new_venv,.venv-stores)
	@echo "installing the compared stores into .venv-stores"
	@.venv-stores/bin/python $(PIP_INSTALL) -r bench/stores-requirements.txt -e .
	@touch $@

# Harbor itself wants Python 3.12; its validator of trajectories does not, and needs nothing but pydantic.
tests/.harbor/.stamp: .venv/.stamp-all
	@rm -rf tests/.harbor && mkdir -p tests/.harbor
	@echo "installing Harbor's validator into tests/.harbor"
	@.venv/bin/python $(PIP_INSTALL) --no-deps --ignore-requires-python --target tests/.harbor harbor==0.25.0 \
	  || echo "it could not be had: ATIF is checked by our own reading of its schema only"
	@touch $@

# The well-kept generator of the site lives apart: nothing of hansard's needs it.
.venv-docs/.stamp: docs/requirements.txt pyproject.toml
	$(call new_venv,.venv-docs)
	@echo "installing the generator of the site into .venv-docs"
	@.venv-docs/bin/python $(PIP_INSTALL) -r docs/requirements.txt -e .
	@touch $@

tests/node/node_modules/.stamp: tests/node/package.json tests/node/package-lock.json
	@echo "installing the real ai packages into tests/node"
	@cd tests/node && npm ci --silent || { echo "npm ci failed in tests/node: run it there to see why"; exit 1; }
	@touch $@

tests/durable_streams/node_modules/.stamp: tests/durable_streams/package.json tests/durable_streams/package-lock.json
	@echo "installing the conformance tests of Durable Streams into tests/durable_streams"
	@cd tests/durable_streams && npm install --no-save --silent \
	  || { echo "npm failed in tests/durable_streams: run it there to see why"; exit 1; }
	@touch $@

# Not `npm ci`: it refuses a lock without the bundler's builds for other machines.
examples/react_chat/dist/index.html: $(REACT_SOURCES)
	@echo "building the React page in examples/react_chat"
	@cd examples/react_chat && npm install --no-save --silent && npm run --silent build -- --logLevel error \
	  || { echo "npm failed in examples/react_chat: run npm install && npm run build there to see why"; exit 1; }
	@touch $@

# The React page is driven in a real browser, where there is one or one may be installed.
chromium:
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing Chromium"; apt-get install -qq -y chromium >/dev/null 2>&1 && exit 0; \
	fi; \
	echo "Chromium is not installed: tests that drive a browser will be skipped"

# The ledger is also tested through a pooler.
pgbouncer:
	@PATH="$$PATH:/usr/sbin" command -v pgbouncer >/dev/null && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing PgBouncer"; apt-get install -qq -y pgbouncer >/dev/null 2>&1 && exit 0; \
	fi; \
	echo "PgBouncer is not installed: tests behind a pooler will be skipped"

define new_venv
	@command -v $(PYTHON) >/dev/null || { echo "no $(PYTHON): install Python 3.11 or newer, or make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is older than 3.11: make PYTHON=/path/to/a/newer/python"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "venv is missing: apt install python3-venv (Debian, Ubuntu), or make PYTHON=/path/to/another/python"; exit 1; }
	@test -x $(1)/bin/pip || $(PYTHON) -m venv $(1)
endef
