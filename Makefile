# Needs Python 3.11 or newer and make; everything else comes into .venv, from the lock file, by hash.

.DEFAULT_GOAL := help
.PHONY: help demo quick room test test-long test-extras test-clients check site bench shipped dist check-dist release-check lock clean

PYTHON ?= $(firstword $(foreach name,python3.13 python3.12 python3.11 python3,$(shell \
  $(name) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $(name))))
VENV := .venv
BIN := $(VENV)/bin
DEMO_READY := $(VENV)/.ready-demo
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
DEMO := build/demo

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## */  make \1	/p' Makefile

# In two stages: what the demo needs, a twentieth of all, and then the rest. Each is made once, and again when its lock or
# the project's own metadata change. The locks are complete: with `--no-deps` pip resolves nothing, where a requirement
# with an extra would make it look at newer versions, which have no hash here.
SET_UP = rm -rf $(VENV) && "$(PYTHON)" -m venv $(VENV) && \
  $(PIP) install --require-hashes --no-deps --requirement requirements-demo.lock && \
  $(PIP) install --no-deps --no-build-isolation --editable . && touch $(DEMO_READY)
$(DEMO_READY): requirements-demo.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: no Python 3.11 or newer with venv found;" \
	  "install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "setting up $(VENV) with $(PYTHON)"
	@$(SET_UP)

# Where a newer lock drops a package, it must leave the environment too: all is made again.
$(READY): $(DEMO_READY) requirements-dev.lock
	@test ! -e $@ || { $(SET_UP); }
	@echo "adding what the tests need to $(VENV)"
	@$(PIP) install --require-hashes --no-deps --requirement requirements-dev.lock
	@touch $@

demo: $(DEMO_READY) ## run a session of real tools over this tree, kill it in the middle, resume it, and replay it at 16k
	@rm -rf $(DEMO)
	@$(BIN)/python examples/demo.py $(DEMO)

# The rooms that need no framework and no server, in an environment of 180 MB: what one runs after each change.
QUICK := build/quick
CORE := messages tokens history view compaction recall session manager
ENOUGH = -n $(WORKERS) --dist worksteal -m "not long and not clients and not server and not peer"
$(QUICK)/.ready: requirements-quick.lock pyproject.toml
	@echo "setting up $(QUICK) with $(PYTHON)"
	@rm -rf $(QUICK) && "$(PYTHON)" -m venv $(QUICK)
	@$(QUICK)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes --no-deps \
	  --requirement requirements-quick.lock
	@$(QUICK)/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --no-build-isolation --editable .
	@touch $@

quick room: export PYTHONDONTWRITEBYTECODE :=
quick room: export HYPOTHESIS_PROFILE := quick
quick: $(QUICK)/.ready ## test the core in less than a minute, with few random examples
	$(QUICK)/bin/python -m pytest $(ENOUGH) $(addprefix tests/,$(CORE) promises)

ROOM_READY = $(if $(filter $(R),$(CORE)),$(QUICK)/.ready,$(READY))
room: ## test one room: make room R=view; rooms above the core need all of .venv
	@test -d "tests/$(R)" -a -n "$(R)" || { echo "make: name a room: make room R=view" >&2; exit 2; }
	@$(MAKE) --no-print-directory $(ROOM_READY)
	$(dir $(ROOM_READY))bin/python -m pytest $(ENOUGH) tests/$(R)

# Of two cores: a quarter of the time a test waits for a program that it started, so a third worker saves a sixth.
WORKERS := 3
# Tests start many programs: with bytecode, also where the environment forbids to write it, each starts in half the time.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(READY) ## run the test suite
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations 10 -m 'not long and not clients and not frameworks'

# `make check` runs these and the wheel's.
TYPING := tests/typing
test-long: export PYTHONDONTWRITEBYTECODE :=
test-long: $(READY) ## run the tests that `make test` leaves out because they take long
	HYPOTHESIS_PROFILE=longer $(BIN)/python -m pytest -n 2 --dist worksteal -m 'hypothesis and not long and not clients'
	$(BIN)/python -m pytest -n 2 --dist worksteal --durations 10 -m 'long or frameworks' $(addprefix --ignore=,$(TESTS_lowest-frameworks) $(TYPING) tests/project/test_wheel.py)

# Environments of their own, each with a lock file: what does not resolve together with the rest, and the lowest versions
# that pyproject.toml allows. The SDK of MCP, the hosts and the frameworks would lift those of the rest.
ENVIRONMENTS := litellm langchain-newest others lowest-own lowest-mcp lowest-hosts lowest-frameworks
EXTRAS_litellm := litellm mcp
EXTRAS_langchain-newest := langchain
INPUT_others := environments/others.in
EXTRAS_lowest-own := cli inspect serve openai anthropic postgres s3 encryption otel tiktoken
EXTRAS_lowest-mcp := mcp encryption
EXTRAS_lowest-hosts := cli amplifier strands
EXTRAS_lowest-frameworks := langchain openai-agents pydantic-ai adk agent-framework
FRAMEWORKS := langchain openai_agents pydantic_ai adk agent_framework
# Strands holds the SDK mcp of the development lock below its newest, which is here.
TESTS_litellm := tests/integrations/litellm tests/integrations/mcp tests/project/test_page_code.py -k "litellm or mcp"
TESTS_langchain-newest := tests/integrations/langchain
TESTS_others := tests/project/test_page_code.py -k "autogen or crewai or smolagents"
TESTS_lowest-own := $(addprefix tests/,$(addsuffix .py,cli/test_cli cli/test_cli_reading cli/test_cli_words cli/test_inspect \
  cli/test_stores_cli evaluation/test_compare evaluation/test_replay_summaries evaluation/tune/test_command \
  integrations/test_summarizers manager/test_telemetry stores/test_blobs stores/test_encrypted stores/test_kept \
  stores/test_offloading stores/test_postgres stores/test_postgres_search tokens/test_tokenizers))
# their clients are newer, or they read what an MCP server says
TESTS_lowest-own += tests/integrations/proxy $(addprefix --ignore=tests/integrations/proxy/test_,$(addsuffix .py, \
  agents agent_messages recall recall_failures single_requests))
TESTS_lowest-mcp := tests/integrations/mcp
TESTS_lowest-hosts := tests/integrations/amplifier tests/integrations/strands --ignore=tests/integrations/amplifier/hosts
TESTS_lowest-frameworks := $(addprefix tests/integrations/,$(FRAMEWORKS))

build/environments/%/.ready: $(READY) environments/%.lock pyproject.toml
	@echo "setting up build/environments/$*"
	@rm -rf build/environments/$*
	@$(BIN)/uv venv --quiet --python $(BIN)/python build/environments/$*
	@$(BIN)/uv pip install --quiet --python build/environments/$*/bin/python --require-hashes --no-deps \
	  --requirement environments/$*.lock
	@$(BIN)/uv pip install --quiet --python build/environments/$*/bin/python --no-deps --no-build-isolation --editable .
	@touch $@

.PRECIOUS: build/environments/%/.ready
test-extras: $(addprefix test-extras-,long $(ENVIRONMENTS)) ## run the tests of extras in environments of their own
test-extras-long: export PYTHONDONTWRITEBYTECODE :=
test-extras-long: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'long or frameworks' $(TESTS_lowest-frameworks)
test-extras-%: export PYTHONDONTWRITEBYTECODE :=
test-extras-%: build/environments/%/.ready
	build/environments/$*/bin/python -m pytest -n 2 --dist worksteal $(TESTS_$*)

# The clients come from npm, in the versions that tests/clients/package.json names. One is driven at a time: each is a
# heavy program.
CLIENTS := build/clients
test-clients: $(READY) ## drive real command lines of agents through the proxy; needs npm and its registry, takes half an hour
	@mkdir -p $(CLIENTS)
	@cp tests/clients/package.json $(CLIENTS)/package.json
	@cd $(CLIENTS) && npm install --no-audit --no-fund --loglevel error || \
	  echo "npm or its registry cannot be reached: clients that are not installed are skipped" >&2
	$(BIN)/python -m pytest -m clients -rs tests/clients

check: $(READY) ## lint, format, types, import contracts, pictures, tables, generated code, the site, the wheel, users' types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python docs/draw_layers.py --check
	$(BIN)/python docs/draw_window.py --check
	$(BIN)/python docs/write_settings.py --check
	$(BIN)/python docs/write_commands.py --check
	$(BIN)/python docs/write_sync_manager.py --check
	$(BIN)/python -m sphinx $(SPHINX)
	$(BIN)/python -m pytest -m long tests/project/test_wheel.py
	$(BIN)/python -m pytest -m long $(TYPING)

# Each warning is an error: a link that leads nowhere, a page that no other one names, a name that is not documented.
SPHINX := --builder html --quiet --fail-on-warning --keep-going --nitpicky docs build/site
site: $(READY) ## build the documentation, with its API from the docstrings, into build/site/index.html
	$(BIN)/python -m sphinx $(SPHINX)

# The peers' dependencies are theirs: they live beside ours in an environment of its own.
PEERS := build/peers
$(PEERS)/.ready: $(READY) benchmarks/requirements-peers.lock
	@echo "setting up $(PEERS)"
	@rm -rf $(PEERS)
	@"$(PYTHON)" -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip --disable-pip-version-check --quiet install \
	  --require-hashes --no-deps --requirement benchmarks/requirements-peers.lock
	@$(PEERS)/bin/python -m pip --disable-pip-version-check --quiet install \
	  --no-deps --no-build-isolation --editable .
	@touch $(PEERS)/.ready

bench: $(READY) $(PEERS)/.ready ## measure beside the peers, then what each part costs; some hours
	$(PEERS)/bin/python benchmarks/side_by_side.py $(BENCH)
	$(PEERS)/bin/python benchmarks/tasks.py --json build/bench/tasks.json
	$(PEERS)/bin/python benchmarks/real_cache.py
	$(PEERS)/bin/python benchmarks/judges.py
	$(BIN)/python benchmarks/step_floor.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/stalls.py
	$(BIN)/python benchmarks/compaction.py
	$(BIN)/python benchmarks/counting.py
	$(BIN)/python benchmarks/event_loop.py
	$(BIN)/python benchmarks/event_loop.py --store
	$(BIN)/python benchmarks/amplifier.py
	$(BIN)/python benchmarks/frameworks.py
	$(BIN)/python benchmarks/proxy.py
	$(BIN)/python benchmarks/inspector_page.py
	$(BIN)/python benchmarks/stores.py
	$(BIN)/python benchmarks/search.py --messages 10000
	$(BIN)/python benchmarks/mcp_server.py
	$(PEERS)/bin/python benchmarks/chats.py --only all
	$(PEERS)/bin/python benchmarks/effective_cost.py

shipped: $(READY) ## check, before a release, what a peer's own manager gets wrong
	$(BIN)/python -m pytest benchmarks/peers/shipped_strands.py

dist: $(READY) ## build the sdist, and from it the wheel, into dist/
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .

# PYTHONS="3.11 3.12" names those that must be installed, TAG=v0.1.0 the release.
check-dist: $(READY) ## check what is in dist/: metadata, and both files in bare environments of each Python
	$(BIN)/python .ci/check_dist.py $(addprefix --python ,$(PYTHONS)) $(addprefix --tag ,$(TAG))

release-check: dist check-dist ## before a release: build, and check what users get

COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-annotate \
  --custom-compile-command "make lock"
HASHED = $(COMPILE) --upgrade --generate-hashes --no-emit-index-url
lock: $(READY) ## resolve all environments again: of development, of the benchmarks' peers, and of `make test-extras`
	$(HASHED) --extra all --extra ray --group dev pyproject.toml --output-file requirements-dev.lock
	$(HASHED) --extra cli --group setup --constraints requirements-dev.lock pyproject.toml \
	  --output-file requirements-demo.lock
	$(HASHED) $(addprefix --extra ,cli openai anthropic amplifier) --group quick --constraints requirements-dev.lock \
	  pyproject.toml --output-file requirements-quick.lock
	$(HASHED) pyproject.toml benchmarks/peers.in --output-file benchmarks/requirements-peers.lock
	$(MAKE) $(addprefix lock-,$(ENVIRONMENTS))

# `NAME.overrides`, where it is there, lifts a bound that a package sets too high.
lock-%: $(READY)
	$(HASHED) $(addprefix --extra ,$(EXTRAS_$*)) --group tests \
	  $(addprefix --overrides ,$(wildcard environments/$*.overrides)) pyproject.toml $(INPUT_$*) \
	  --output-file environments/$*.lock

lock-lowest-%: $(READY)
	@mkdir -p build
	$(COMPILE) --resolution lowest-direct $(addprefix --extra ,$(EXTRAS_lowest-$*)) pyproject.toml \
	  --output-file build/lowest-$*.txt
	$(HASHED) $(addprefix --extra ,$(EXTRAS_lowest-$*)) --group tests --constraints build/lowest-$*.txt pyproject.toml \
	  --output-file environments/lowest-$*.lock

clean: ## remove everything that was made
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
