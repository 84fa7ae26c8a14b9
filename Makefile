# Every target has a description: `make help` prints the text after the `##` marks.
# A target that needs Python builds the environment first, if it is missing or older than
# pyproject.toml. All targets need only make, git and Python 3.11 or later.

.DEFAULT_GOAL := help
SHELL := /bin/sh

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
READY := $(VENV)/.ready
PEERS := .peers
BENCH_PEERS := .bench-peers
LFS := $(PEERS)/bin/git-lfs
HUSKY := husky@9
PEERS_OF_PYPROJECT := import tomllib; \
	project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*project["optional-dependencies"]["peers"], sep="\n")
# The queues that the bus is compared with in the benchmarks.
BENCH_PEERS_OF_PYPROJECT := import tomllib; \
	project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*project["optional-dependencies"]["bench-peers"], sep="\n")
JOBS ?= 2
PYTEST := $(PY) -m pytest -n $(JOBS)
# Of a test with many variants, `make test` runs one in SHARE, others at each commit.
SHARE ?= 3
# Real agents for the tests marked `agents`, and the one of `make demo-agent`.
AGENTS_DIR := .agents
AGENT ?= qwen
BROWSER := .browser
PLAYWRIGHT := playwright>=1.50
AXE := axe-core@4
AGENTS ?= claude codex qwen gemini opencode aider
# CI measures coverage during the tests, so that `make check` need not repeat them, even if one fails.
COVER ?= $(CI)
COVERED := build/covered
MEASURED = $(if $(COVER),$(BIN)/coverage run -m pytest -n $(JOBS),$(PYTEST))
SHELL_FILES := .ci/run fixtures/debs fixtures/newer_git fixtures/git_matrix fixtures/install_agents $(wildcard githooks/*)
# Tests whose result may depend on the version of git; tests/peers runs after `make peers-env`.
GIT_FACING := tests/repo tests/worktrees tests/workers tests/branches tests/landing tests/journal \
	tests/fsck tests/verify tests/radar tests/kinds tests/peers tests/concurrency tests/crash
# The suites of use cases that pass in a fleet, too.
IN_FLEET := tests/bus tests/claims tests/landing tests/review tests/tasks
# The factor GITWORKER_TEST_SCALE of the crash, scale and differential suites.
SCALE ?= 10

# The tests' children write byte code as an installed program would.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: postgres help demo demo-agent demo-bus demo-fleet test fast check cover bench bench-bus bench-peers docs pictures crash git-matrix peers-env agents-env browser-env test-all clean

help: ## print every target with its description
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-11s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY) ## show changes and a plan of eight tasks from start to landing on a throw-away repository
	$(PY) -m fixtures.demo

demo-agent: $(READY) ## let the real agent AGENT do one task for a scripted model; installs it into .agents (network)
	@test -x $(AGENTS_DIR)/bin/$(AGENT) || fixtures/install_agents $(AGENTS_DIR) $(AGENT)
	$(PY) -m fixtures.demo_real_agent $(AGENT)

demo-bus: $(READY) ## let eight agents exchange 10,000 messages, kill two, prove that no message was lost
	$(PY) -m fixtures.demo_bus

demo-fleet: $(READY) ## let three machines share a plan, kill one, prove that all lands once; needs PostgreSQL
	$(PY) -m fixtures.demo_fleet

test: $(READY) ## run the unit tests, those of whole programs, the slow ones bounded; SHARE=1 for all variants
	@rm -rf $(COVERED) .coverage .coverage.*
	@$(if $(COVER),mkdir -p build && touch $(COVERED))
	$(MEASURED) -m "not slow" tests/unit
	$(MEASURED) -m whole --share $(SHARE)
	$(PYTEST) -m slow --share $(SHARE)

postgres: $(READY) ## run suites of use cases in a fleet; needs the programs of PostgreSQL
	$(PYTEST) -q -p tests.store.in_fleet -m "not slow and not browser" --share $(SHARE) $(IN_FLEET)

fast: $(READY) ## run the unit tests alone, in about a minute
	$(PYTEST) -m "not slow" tests/unit

check: $(READY) ## run every static check, the house rules, and the tests' coverage
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy -p benchmarks -p tests.architecture -p tests.benchmarks
	$(BIN)/lint-imports
	$(BIN)/deptry .
	$(BIN)/codespell
	$(BIN)/shellcheck $(SHELL_FILES)
	$(PY) -m docs.generate --check
	$(PY) -m tests.architecture.commit_gate
	$(PYTEST) -q -m house tests/architecture
	@$(MAKE) --no-print-directory cover

cover: $(READY) ## compare the coverage of the tests (without the slow ones) with the thresholds
	@mkdir -p build
	@if ! test -e $(COVERED) || test -n "$$(find gitworker tests githooks fixtures -name __pycache__ \
			-prune -o -type f -newer $(COVERED) -print -quit)"; then \
		rm -rf $(COVERED) .coverage .coverage.* && \
		$(BIN)/coverage run -m pytest -n $(JOBS) -q -m "not slow and not peers and not agents and not browser and not house" \
			--share $(SHARE) && \
		touch $(COVERED); \
	fi
	@if ls .coverage.* >/dev/null 2>&1; then $(BIN)/coverage combine --quiet; fi
	$(BIN)/coverage json --quiet -o build/coverage.json
	$(PY) -m tests.architecture.coverage_gate build/coverage.json

bench: $(READY) ## measure the promised ratios in one run and write benchmarks/RESULTS.md
	$(PY) -m benchmarks

bench-bus: $(READY) ## measure the bus and the queues of `make bench-peers`; write RESULTS-BUS.md
	$(PY) -m benchmarks --bus

bench-peers: $(READY) ## install the queues for bench-bus into .bench-peers (network)
	test -x $(BENCH_PEERS)/bin/python || $(PY) -m venv $(BENCH_PEERS)
	@$(PY) -c '$(BENCH_PEERS_OF_PYPROJECT)' | while read -r peer; do \
		$(BENCH_PEERS)/bin/python -m pip install --quiet --disable-pip-version-check "$$peer" || \
			echo "make: $$peer cannot be installed here and will not be measured" >&2; \
	done

pictures: $(READY) ## make the pictures of the README from a throw-away repository (after browser-env)
	$(PY) -m fixtures.pictures

docs: $(READY) ## write the generated pages: command reference, settings, state diagrams
	$(PY) -m docs.generate

crash: $(READY) ## run the crash, fault and concurrency suites at SCALE times their bounded size
	GITWORKER_TEST_SCALE=$(SCALE) $(PYTEST) --timeout 0 tests/crash tests/faults tests/concurrency tests/hostile \
		tests/bus/test_torture.py tests/bus/test_power_cut.py tests/orchestrator/test_chaos.py \
		tests/tasks/test_queue_life.py tests/review/test_random_edits.py \
		tests/fleet/machines/test_scale.py tests/fleet/machines/test_contest.py

git-matrix: $(READY) $(LFS) ## run the git-facing tests on git 2.39, 2.47 and the newest; GIT_SUITES=sid on one (network)
	fixtures/git_matrix $(PY) -n $(JOBS) $(GIT_FACING)

peers-env: $(READY) $(LFS) ## install the other programs of tests/peers into .peers (network)
	test -x $(PEERS)/venv/bin/python || $(PY) -m venv $(PEERS)/venv
	$(PY) -c '$(PEERS_OF_PYPROJECT)' > $(PEERS)/requirements.txt
	$(PEERS)/venv/bin/python -m pip install --quiet --disable-pip-version-check \
		-r $(PEERS)/requirements.txt
	@mkdir -p $(PEERS)/bin
	ln -sf ../venv/bin/pre-commit ../venv/bin/lefthook $(PEERS)/bin/
	@if command -v npm >/dev/null; then \
		npm install --silent --no-audit --no-fund --prefix $(PEERS) $(HUSKY) && \
		ln -sf ../node_modules/.bin/husky $(PEERS)/bin/husky; \
	else \
		echo "make: no npm here, so husky's tests will be skipped" >&2; \
	fi
	@if ! test -x $(PEERS)/git-newer/bin/git; then \
		fixtures/newer_git >/dev/null || \
			echo "make: no newer git is available, so the tests of its config hooks will be skipped" >&2; \
	fi
	@ls $(PEERS)/bin

agents-env: $(READY) ## install the real agents AGENTS of the tests marked `agents` into .agents (network)
	fixtures/install_agents $(AGENTS_DIR) $(AGENTS)

browser-env: $(READY) ## install the driver of a browser and axe-core for tests/web into .browser (network)
	test -d $(BROWSER)/site/playwright || $(PY) -m pip install --quiet \
		--disable-pip-version-check --target $(BROWSER)/site "$(PLAYWRIGHT)"
	test -f $(BROWSER)/node_modules/axe-core/axe.min.js || \
		npm install --silent --no-audit --no-fund --prefix $(BROWSER) $(AXE)
	@command -v chromium || echo "make: no chromium here, so the tests of the browser are skipped" >&2

# If it is not available, the next run tries again.
$(LFS):
	@mkdir -p $(PEERS)/bin
	@fixtures/debs "$$(. /etc/os-release && echo "$$VERSION_CODENAME")" $(PEERS)/lfs git-lfs && \
		ln -sf ../lfs/usr/bin/git-lfs $@ || \
			echo "make: git-lfs is not available, so its tests will be skipped" >&2

test-all: $(READY) ## run all tests, including peers, at SCALE times the bounded size
	GITWORKER_TEST_SCALE=$(SCALE) $(PYTEST)

clean: ## delete the environment, the caches and all build results
	rm -rf $(VENV) $(PEERS) $(BENCH_PEERS) $(AGENTS_DIR) $(BROWSER) build dist .coverage .coverage.* *.egg-info
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Create .venv again if its Python no longer exists or is too old.
$(READY): pyproject.toml
	@if ! $(PY) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		found=; \
		for name in python3 python3.14 python3.13 python3.12 python3.11; do \
			if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
				found=$$name; break; \
			fi; \
		done; \
		if [ -z "$$found" ]; then \
			echo "make: no Python 3.11 or later on PATH; install one and run make again" >&2; \
			exit 1; \
		fi; \
		$$found -m venv --clear $(VENV) || { \
			echo "make: $$found cannot make an environment;" \
				"install its venv module (Debian: apt install python3-venv)" >&2; \
			exit 1; \
		}; \
	fi
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev,acp,fleet,notify,ui,web]'
	@touch $@
