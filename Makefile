# Prepares one environment, then runs the studio, its checks and its benchmarks.
# A stamp per lock file keeps a prepared environment as it is: a second `make run` starts at once.

PYTHON ?=
VENV := .venv
INTEROP := .venv-interop
ADK_VERSIONS := 2.11.0 2.12.0 2.13.0
INTEROP_PYTEST := 9.2.0
# Programs that others make and ours meets, each in an environment of its own.
INTEROP_PROGRAMS := agents-cli pipx
# The files of tests with them, each a process; the longest first.
INTEROP_TESTS := $(addprefix interop-,agents_cli installed agents_datasets side_by_side)
AGENTS_CLI := google-agents-cli==1.11.0
PIPX := pipx==1.8.0
COSMIC_RAY := cosmic-ray==8.7.0
MUTANTS_READY := .venv-mutants/.ready
# The studio as it was before its core was made anew: `make test-long` plays both and compares what they leave.
BEFORE := .venv-before
BEFORE_COMMIT := 1808b1a2a332d5d69e98a5ad27a0f9647242f5c3
BIN := $(VENV)/bin
RUN_READY := $(VENV)/.run-ready
CHECK_READY := $(VENV)/.check-ready

# `make run` options: the folder of agents, the port, and what else the app takes on its command line.
AGENTS_DIR ?=
PORT ?=
ARGS ?=
# `make test-long` option: a folder or file of tests, as PART=stories or PART=simulator/store.
PART ?=
# What else pytest takes, in `make quick`, `make test` and `make test-long`, as TEST_ARGS="-x --durations 20".
TEST_ARGS ?=
# `make mutants` options: how many of each part, the seed, and the parts.
MUTANTS ?=

PIP := $(BIN)/python -m pip --disable-pip-version-check
# Installs in an environment ($(1)) what is named ($(2)). uv takes a fifth of pip's time or less, and does not read pip's settings: where
# they alone know the address of the index, pip does it.
into = $(BIN)/uv pip install --quiet --python $(1)/bin/python $(2) 2>$(1)/uv.log || $(PIP) --python $(1)/bin/python install --quiet $(2)
# uv itself comes by pip, pinned as all else.
get_uv = awk '/^uv==/,!/\\$$/' requirements-dev.lock >$(VENV)/uv.txt && $(PIP) install --quiet --no-deps --require-hashes -r $(VENV)/uv.txt
LOCK := $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate

.DEFAULT_GOAL := help
.PHONY: help run quick test test-long test-interop interop-versions $(INTEROP_TESTS) lint style types suite bench census mutants screenshots lock release-check browser postgres clean

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile

# Streamlit opens the browser by itself, and stays quiet where there is no display. uv compiles nothing, so what is imported is compiled once, and kept.
run: $(RUN_READY) ## Start the studio in the browser (AGENTS_DIR=folder PORT=8501 ARGS="...")
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/streamlit run app $(if $(PORT),--server.port $(PORT)) -- $(if $(AGENTS_DIR),--agents-dir "$(AGENTS_DIR)") $(ARGS)

# A file's tests stay in one process, so that what they share is made once; the files come in the order of tests/conftest.py.
# What was compiled is kept: each process and each server of the tests would compile the same sources once more.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder $(TEST_ARGS)

# For the inner loop. tests/quick.py tells from what a file imports, by itself or through its helpers.
quick: $(CHECK_READY) ## Run the fast tests: no process, server, browser, page or agent
	@$(PYTEST) -q --quick -m "not long"

# What is found at once comes first; the types are checked beside the tests, which leave a core idle now and then.
test: $(CHECK_READY) style browser ## Run all checks and tests that users rely on, in at most 8 minutes on two cores
	@$(MAKE) --no-print-directory --jobs 2 types suite

# The tests with other programs and versions are those of test-interop. Each benchmark runs once, and no times are compared.
suite: $(CHECK_READY)
	$(PYTEST) -m "not long" --ignore tests/interop --smallest -o python_files='test_*.py bench_*.py' tests/benchmarks tests

# Breadth, sizes and faults: before a release and each night; a part of it when that part has changed.
test-long: $(CHECK_READY) $(BEFORE)/.ready browser postgres ## Run the tests that take long (PART=folder of tests)
	$(PYTEST) -m long --ignore tests/interop --durations 15 tests/$(PART)

# Each environment holds google-adk of one version, what that needs, and pytest: as where an agent has its own packages.
# Only these two are pinned. What google-adk needs is left to its own ranges, as for who installs it, and this finds what breaks in them.
test-interop: $(CHECK_READY) browser ## Run the tests with each supported google-adk and with other programs
	@$(MAKE) --no-print-directory --jobs 2 $(INTEROP_TESTS) interop-versions

# Two at once, environments too: the programs wait for installations, the versions compute. The longest come first.
interop-versions: $(ADK_VERSIONS:%=$(INTEROP)/%/.ready)
	@for version in $(ADK_VERSIONS); do \
		test -f $(INTEROP)/$$version/.ready || { echo "SKIPPED: google-adk $$version could not be installed. Check the network."; continue; }; \
		echo "google-adk $$version"; \
		PYTHONPATH=. $(INTEROP)/$$version/bin/python -m pytest -q -c tests/interop/interop.ini --rootdir . tests/interop || exit 1; \
	done

$(INTEROP_TESTS): interop-%: $(ADK_VERSIONS:%=$(INTEROP)/%/.ready) $(INTEROP_PROGRAMS:%=$(INTEROP)/%/.ready)
	@echo "Beside other versions and programs: $*"
	@$(BIN)/pytest -q -p no:xdist -rs tests/interop/$*.py

$(INTEROP)/agents-cli/.ready: WANTED := $(AGENTS_CLI)
$(INTEROP)/pipx/.ready: WANTED := $(PIPX)
$(INTEROP_PROGRAMS:%=$(INTEROP)/%/.ready): | $(BIN)/python
	@echo "Installing $(WANTED) for the tests with it"
	@$(BIN)/python -m venv --clear --without-pip $(@D)
	@($(call into,$(@D),"$(WANTED)")) && touch $@ || echo "$(WANTED) could not be installed"

$(INTEROP)/%/.ready: | $(BIN)/python
	@echo "Installing google-adk $* for its tests"
	@$(BIN)/python -m venv --clear --without-pip $(@D)
	@($(call into,$(@D),"google-adk[a2a]==$*" "pytest==$(INTEROP_PYTEST)")) && touch $@ || echo "google-adk $* could not be installed"

# A clone without its history has no earlier commit: then the tests beside it say that they are skipped.
$(BEFORE)/.ready: | $(BIN)/python
	@echo "Installing the studio of an earlier commit to compare with"
	@$(BIN)/python -m venv --clear --without-pip $(@D) && mkdir $(@D)/source
	@git archive $(BEFORE_COMMIT) | tar -x -C $(@D)/source && \
		($(call into,$(@D),--no-deps --require-hashes -r $(@D)/source/requirements.lock)) && touch $@ || \
		{ echo "The studio of an earlier commit could not be installed"; mkdir -p $(@D); }

lint: style types ## Check style, types and package imports

style: $(CHECK_READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

types: $(CHECK_READY)
	$(BIN)/mypy

bench: $(CHECK_READY) browser ## Run the benchmarks, with a comparison from the same run
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest tests/benchmarks -o python_files='bench_*.py' -n 0 -s --durations 12

census: $(CHECK_READY) ## Count folders, import cycles, upward imports and long functions
	@$(BIN)/python -m tests.census

# The words on each page are kept with its picture, so that a test says when one is stale.
screenshots: $(CHECK_READY) browser ## Take every picture of the documents again from the running studio
	@$(BIN)/python -m tests.stories.pictures

# What draws the mutants has an environment of its own, as nothing else here needs it.
mutants: $(CHECK_READY) $(MUTANTS_READY) ## Run mutation tests of the core (MUTANTS="--each 25 --seed 0 session")
	@nice $(BIN)/python -m tests.mutants.running $(MUTANTS)

$(MUTANTS_READY): | $(BIN)/python
	@echo "Installing the mutation testing tool"
	@$(BIN)/python -m venv --clear --without-pip $(@D)
	@($(call into,$(@D),"$(COSMIC_RAY)")) && touch $@

# Builds as a release is built, the wheel out of the source file, with what the index has today.
release-check: $(CHECK_READY) ## Build the sdist and the wheel in dist/ and test both in empty environments
	rm -rf dist
	$(BIN)/uv build --quiet --out-dir dist
	$(BIN)/pytest -q -p no:xdist -rs tests/interop/released.py

# `make run` brings what `golden-trace eval` needs, so that the first command that the page shows passes as it is pasted.
lock: $(CHECK_READY) ## Update the lock files from pyproject.toml (LOCK_ARGS=--upgrade for newer versions)
	$(LOCK) $(LOCK_ARGS) --all-extras --group dev -o requirements-dev.lock
	$(LOCK) $(LOCK_ARGS) --extra eval --group build -c requirements-dev.lock -o requirements.lock

clean: ## Remove the environments and all caches
	rm -rf $(VENV) $(INTEROP) $(BEFORE) $(dir $(MUTANTS_READY)) .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks .import_linter_cache build dist *.egg-info

$(BIN)/python:
	@for python in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
		if command -v $$python >/dev/null && $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
			echo "Making $(VENV) with $$python"; exec $$python -m venv $(VENV); \
		fi; \
	done; echo "Python 3.11 or newer is required: make run PYTHON=/path/to/python3.11" >&2; exit 1

# The lock files hold all that is needed, so pip has nothing to resolve: where it resolves, it looks at versions that were
# released since for a requirement with extras, and refuses them as they are not pinned.
# An editable installation copies golden_trace.py; all else is read where it lies.
$(RUN_READY): requirements.lock pyproject.toml golden_trace.py | $(BIN)/python
	@echo "Installing the studio"
	@$(get_uv)
	@$(call into,$(VENV),--no-deps --require-hashes -r requirements.lock)
	@$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# The second lock file holds everything of the first, so this environment can run the studio too.
$(CHECK_READY): requirements-dev.lock pyproject.toml golden_trace.py | $(BIN)/python
	@echo "Installing the studio and its checks"
	@$(get_uv)
	@$(call into,$(VENV),--no-deps --require-hashes -r requirements-dev.lock)
	@$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $@ $(RUN_READY)

# The shell is Chromium without its window, and takes less time and memory; an older Debian has none.
browser:
	@for name in "$(CHROMIUM)" chromium-headless-shell chromium chromium-browser google-chrome; do command -v "$$name" >/dev/null 2>&1 && exit 0; done; \
	command -v apt-get >/dev/null || { echo "Chromium is required. Install it or set CHROMIUM=/path/to/chromium" >&2; exit 1; }; \
	run=; [ "$$(id -u)" = 0 ] || run=sudo; \
	$$run apt-get update -qq && for name in chromium-headless-shell chromium; do \
		$$run apt-get install -y -qq --no-install-recommends $$name && exit 0; \
	done; exit 1

# The tests start a server of their own; Debian keeps its programs off the path.
postgres:
	@for name in "$(POSTGRES_BIN)/initdb" initdb /usr/lib/postgresql/*/bin/initdb; do command -v "$$name" >/dev/null 2>&1 && exit 0; done; \
	command -v apt-get >/dev/null || { echo "PostgreSQL is required. Install it or set POSTGRES_BIN=/folder/of/initdb" >&2; exit 1; }; \
	run=; [ "$$(id -u)" = 0 ] || run=sudo; \
	$$run apt-get update -qq && $$run apt-get install -y -qq --no-install-recommends postgresql
