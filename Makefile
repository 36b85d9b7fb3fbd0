PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Four more workers than cores, since tests wait twice as long as they compute.
# On CI, the few tests that fail run once more, alone.
PYTEST := $(BIN)/python -m $(if $(CI),tests.again,pytest) -n $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) + 4 ))) --dist loadgroup --durations=25

# The tests start hundreds of processes. Without compiled files, each would compile the package again, which takes 0.4 s.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test quick check fix simulate chaos mutants bench docs site lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

demo: .venv/.runtime ## Convert the sample PDF to Markdown and print its beginning
	@rm -rf .demo && mkdir .demo
	@$(BIN)/python -m fanfold.apps.pdf.sample .demo/sample.pdf
	@env -u FANFOLD_DATABASE FANFOLD_DATA="$(CURDIR)/.demo/data" $(BIN)/fanfold convert .demo/sample.pdf
	@head -n 12 .demo/sample.md

test: .venv/.dev ## Run all tests, on SQLite and on PostgreSQL
	@$(PYTEST)

quick: .venv/.dev ## Run the tests on SQLite, without real processes, random histories and other slow ones
	@$(PYTEST) -m "not acceptance and not histories and not slow" -k "not postgresql"

check: .venv/.dev ## Check format, lint, types and import directions
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: .venv/.dev ## Format the code and apply automatic fixes
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

SEEDS ?= 1000
DATABASE ?= sqlite

simulate: .venv/.dev ## Simulate random histories full of crashes: make simulate SEEDS=10000 DATABASE=postgresql
	@$(BIN)/python -m tests.simulation --seeds $(SEEDS) --database $(DATABASE)

chaos: .venv/.dev ## Run every fault scenario at full length, and write docs/explanation/chaos.md
	@$(BIN)/python -m tests.chaos

bench: .venv/.dev ## Benchmark Fanfold, its peers and the bare statements, in a quarter of an hour; BENCH="--quick" is faster
	@$(BIN)/python -m benchmarks.engines $(BENCH)
	@$(BIN)/python -m benchmarks.extract $(BENCH)
	@$(BIN)/python -m benchmarks.scale $(or $(BENCH),--workers 60 --items 60000 --seconds 0.1)

mutants: .venv/.dev ## Remove one guard of the code after the other: some test or seed must fail each time
	@$(BIN)/python -m tests.mutants --write docs/explanation/mutants.md

docs: .venv/.dev ## Regenerate the documentation, the signatures of AsyncClient and the schema of new SQLite databases
	$(BIN)/python -m tests.docs
	$(BIN)/python -m tests.async_stub
	$(BIN)/python -m tests.sqlite_schema

site: .venv/.dev ## Build the documentation as a site in site/; a dead link or a missing anchor fails
	$(BIN)/zensical build --strict --clean

COMPILE := uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
	--no-emit-find-links --python-version 3.11 --group build pyproject.toml

lock: ## Pin the newest allowed dependencies (needs uv)
	$(COMPILE) --upgrade --extra dev --output-file requirements-dev.lock
	$(COMPILE) --upgrade --extra postgres --extra s3 --extra anthropic --extra extract --extra proofread --extra ocr --extra office --extra server --constraint requirements-dev.lock --output-file requirements.lock

clean: ## Remove what make has made
	rm -rf .venv .demo .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .cache dist site

# The locks pin everything with its hash, including the build tools, so nothing else is fetched.
.venv/.runtime: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Fanfold needs Python 3.11 or newer")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing Fanfold's dependencies into .venv ..."
	@$(INSTALL) --require-hashes -r requirements.lock
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

.venv/.dev: .venv/.runtime requirements-dev.lock
	@echo "Installing the tools for tests and checks ..."
	@$(INSTALL) --require-hashes -r requirements-dev.lock
	@touch $@
