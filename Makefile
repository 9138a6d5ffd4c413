# Both `make demo` and `make test` set up everything they need, in .venv, and may be run again at any time.

.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
EAGER := tests/test_tasks.py tests/hosting tests/runtime tests/serving tests/stores tests/sync
LOWEST := sqlalchemy==2.0.53 pydantic==2.12.0  # that pyproject.toml allows
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONDONTWRITEBYTECODE  # the tests begin hundreds of processes, of which each would compile everything anew

.PHONY: help
help:  ## show what there is to make
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

.PHONY: demo
demo: $(READY) dot  ## run the example agents, kill them, bring them back, draw them
	@$(BIN)/python -m statecharts.demo

NEWER := 3.13
NEWER_VENV := .newer-venv
TESTED := -m pytest -q -n 4 --max-worker-restart 1 --dist loadfile --no-loadscope-reorder
PYTEST := $(BIN)/python $(TESTED)
NEWER_PYTEST := $(NEWER_VENV)/bin/python $(TESTED)

.PHONY: test
test: $(READY) dot postgres engine xstate  ## run the tests: homes of agents in memory, processes that are killed beside SQLite; WITH= takes more options for pytest
	@$(PYTEST) -m "not slow and not in_memory_too and not on_sqlite_too" $(WITH)

# Runs a command beside the part of the linters that takes long; fails if either does, and tells of one after the other.
define beside_types
	@$(MAKE) --no-print-directory types > $(VENV)/types.log 2>&1 & types=$$!; \
	tests=0; $(1) || tests=$$?; \
	wait $$types || { cat $(VENV)/types.log; exit 1; }; \
	exit $$tests
endef

.PHONY: check
check: style dot  ## format, lint, types, import layers, and the tests that are quick: of any home those in memory
	$(call beside_types,$(PYTEST) -m "not slow and not long and not processes and not in_memory_too" $(WITH))

.PHONY: ci
ci: style dot postgres engine xstate .docs-venv/.ready recipes  ## all linters, the tests, those of every home on each of them, the recipes, and Python 3.13
	$(call beside_types,$(PYTEST) -m "not slow" $(WITH))
	@$(MAKE) --no-print-directory newer

.PHONY: newer
newer:  ## run the tests on Python 3.13, and a part of them with eager tasks
	@if sh .ci/python $(NEWER) > /dev/null; then \
		$(MAKE) --no-print-directory newer-tests; \
	else \
		echo "NOT TESTED on Python $(NEWER), nor with eager tasks: install python$(NEWER), or let pyenv do so" >&2; \
	fi

.PHONY: newer-tests
newer-tests: $(NEWER_VENV)/.ready dot
	@$(NEWER_PYTEST) -m "not slow and not long and not in_memory_too and not on_sqlite_too" $(WITH)
	@$(NEWER_PYTEST) --eager-tasks -m "not slow and not long and not processes and not in_memory_too" $(EAGER) $(WITH)

.PHONY: recipes
recipes: .recipes-venv/.ready  ## run the programs of the documents that need other agent frameworks
	@.recipes-venv/bin/python -m pytest -q tests/docs/test_documents.py -k other_frameworks

.PHONY: coverage
coverage: lint dot postgres engine xstate  ## lint, and the tests of `make ci`, with what they cover
	@$(PYTEST) -m "not slow" --cov --cov-report=term

.PHONY: campaign
campaign: $(READY) dot postgres engine  ## run the slow tests: kill the runtime at every point where it touches the database
	@$(BIN)/python -m pytest -q -n 2 -m slow -o faulthandler_timeout=0

.PHONY: lowest
lowest: .lowest-venv/.ready  ## run the tests of stores, results and contexts with the lowest SQLAlchemy and pydantic
	@.lowest-venv/bin/python -m pytest -q -n 2 -m "not slow" tests/stores tests/api tests/handoff tests/test_context.py $(WITH)

.PHONY: lint
lint: style types  ## format, lint, types, import layers

.PHONY: style
style: $(READY)
	@$(BIN)/ruff format --check --quiet . || { echo "run 'make format'"; exit 1; }
	@$(BIN)/ruff check --quiet .

.PHONY: types
types: $(READY)
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-cache > $(VENV)/imports.log || { cat $(VENV)/imports.log; exit 1; }

.PHONY: format
format: $(READY)  ## format the code
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

.PHONY: diagrams
diagrams: $(READY) dot  ## draw the example charts into diagrams/
	@$(BIN)/python -m statecharts.drawings

.PHONY: docs
docs: $(READY) .docs-venv/.ready  ## build the site from docs/ into build/site
	@$(BIN)/python -m docs.generate
	@NO_MKDOCS_2_WARNING=1 .docs-venv/bin/mkdocs build --strict -f build/mkdocs.yml

.PHONY: bench
bench: .bench-venv/.ready  ## measure, with peers and the raw limit in the same run
	@.bench-venv/bin/python -m benchmarks.run $(BENCH)

.PHONY: journeys
journeys: $(READY)  ## count the calls, files and moves between files of an event, of mail and of a handoff
	@$(BIN)/python -m benchmarks.journeys

.PHONY: clean
clean:  ## remove the environments and all that can be made again
	rm -rf $(VENV) .bench-venv .docs-venv .lowest-venv $(NEWER_VENV) .recipes-venv build .coverage .mypy_cache .ruff_cache .hypothesis *.egg-info src/*.egg-info

$(READY): pyproject.toml constraints.txt
	@sh .ci/environment $(VENV) -e '.[dev]'

.bench-venv/.ready: pyproject.toml constraints.txt benchmarks/requirements.txt
	@sh .ci/environment .bench-venv -e '.[client,learning,postgres,restate,serve]' -r benchmarks/requirements.txt

.lowest-venv/.ready: pyproject.toml constraints.txt
	@sh .ci/environment .lowest-venv -e '.[dev]'
	@rm $@ && PIP_CONSTRAINT= .lowest-venv/bin/python -m pip install --quiet $(LOWEST) && touch $@

$(NEWER_VENV)/.ready: pyproject.toml constraints.txt
	@PYTHON="$$(sh .ci/python $(NEWER))" sh .ci/environment $(NEWER_VENV) -e '.[dev]'

.recipes-venv/.ready: pyproject.toml constraints.txt docs/recipes.txt
	@sh .ci/environment .recipes-venv -e '.[dev]' -r docs/recipes.txt

.docs-venv/.ready: docs/requirements.txt
	@sh .ci/environment .docs-venv -r docs/requirements.txt

.PHONY: dot
dot:
	@sh .ci/graphviz

.PHONY: postgres
postgres:
	@sh .ci/postgres

.PHONY: engine
engine:
	@sh .ci/restate build/restate > /dev/null || true

.PHONY: xstate
xstate:  ## install XState, through npm, for the tests that compare its dialect with it
	@sh .ci/xstate build/xstate > /dev/null || true
