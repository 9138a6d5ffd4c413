# Both `make demo` and `make test` set up everything they need, in .venv, and may be run again at any time.

.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help
help:  ## show what there is to make
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

.PHONY: demo
demo: $(READY) dot  ## run the example agents, kill them, bring them back, draw them
	@$(BIN)/python -m statecharts.demo

.PHONY: test
test: $(READY) dot  ## run the tests
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder -m "not slow"

.PHONY: campaign
campaign: $(READY) dot  ## run the slow tests: kill the runtime at every point where it touches the database
	@$(BIN)/python -m pytest -q -n 2 -m slow

.PHONY: check
check: lint dot  ## format, lint, types, import layers, tests with coverage
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder -m "not slow" --cov --cov-report=term

.PHONY: lint
lint: $(READY)
	@$(BIN)/ruff format --check --quiet . || { echo "run 'make format'"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-cache > $(VENV)/imports.log || { cat $(VENV)/imports.log; exit 1; }

.PHONY: format
format: $(READY)  ## format the code
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

.PHONY: diagrams
diagrams: $(READY) dot  ## draw the example charts into diagrams/
	@$(BIN)/python -m statecharts.drawings

.PHONY: bench
bench: .bench-venv/.ready  ## measure, with peers and the raw limit in the same run
	@.bench-venv/bin/python -m benchmarks.run $(BENCH)

.PHONY: clean
clean:  ## remove the environments and all that can be made again
	rm -rf $(VENV) .bench-venv build .coverage .mypy_cache .ruff_cache .hypothesis *.egg-info src/*.egg-info

$(READY): pyproject.toml constraints.txt
	@sh .ci/environment $(VENV) -e '.[dev]'

.bench-venv/.ready: pyproject.toml constraints.txt benchmarks/requirements.txt
	@sh .ci/environment .bench-venv -e '.[restate]' -r benchmarks/requirements.txt

.PHONY: dot
dot:
	@sh .ci/graphviz

.PHONY: engine
engine:
	@sh .ci/restate build/restate > /dev/null || true

test campaign check: engine  # which some tests need
