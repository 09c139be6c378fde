# Every target makes its own environment; nothing but Python 3.11+ and make is needed.
PYTHON ?= python3
BIN := .venv/bin
# One thread per test worker: two workers on two cores are faster than two pools that fight.
THREADS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
# The paper's published means as CSV, which the page of the study sets beside ours.
PUBLISHED ?= ../shared/published


.PHONY: fuzz test-oldest demo test tests coverage test-statistical mutants bench bench-check study lint docs picture archives clean

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: .venv/installed
	$(BIN)/selective-labels demo

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# mypy computes on one core, so it runs beside the tests and not before them.
test: .venv/installed
	$(MAKE) --no-print-directory --jobs 2 lint tests

tests: .venv/installed
	$(THREADS) $(BIN)/python -m pytest --numprocesses 2 --dist worksteal --quiet

# Lines and branches that the tests reach, file by file.
coverage: .venv/installed
	$(THREADS) $(BIN)/python -m pytest --numprocesses 2 --dist worksteal --quiet \
		--cov selective_labels --cov-branch --cov-report term:skip-covered

test-statistical: .venv/installed
	$(THREADS) $(BIN)/python -m pytest --numprocesses 2 --dist worksteal -m statistical --verbose -rP tests

# Thousands of odd tables for every public entry; what is done stays in .fuzz/, delete it to begin anew.
fuzz: .venv/installed
	$(THREADS) nice $(BIN)/python -m tests.fuzz

# The fast core with the oldest versions that pyproject.toml declares, in an environment of its own. Figures
# that are stored to the last digit are those of newer versions, and left out.
OLDEST := tests/test_gate.py tests/test_corridor.py \
	$(addprefix tests/,assumptions data evaluation fuzz inference io nuisance) \
	tests/cli/test_mistakes.py tests/cli/test_commands.py --ignore tests/evaluation/test_four_names.py
test-oldest:
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints-oldest.txt \
		--editable '.[parquet,polars]' pytest pytest-xdist hypothesis jsonschema
	$(THREADS) .venv-oldest/bin/python -m pytest --quiet --numprocesses 2 --dist worksteal \
		-W ignore::DeprecationWarning -W ignore::FutureWarning $(OLDEST)

# Wrong versions of the core that no test near by notices; results stay in .mutants/, delete it to begin anew.
mutants: .venv/installed
	$(THREADS) nice $(BIN)/python -m tests.mutants --jobs 2

# Ratios of costs and growth, and the page docs/benchmarks.md; an hour. Peers are compared where they are installed:
# .venv/bin/pip install --editable '.[bench]'.
bench: .venv/installed
	$(THREADS) $(BIN)/python -m benchmarks

# The ratios alone, against those that are stored: fails if one has become 1.5 times worse.
bench-check: .venv/installed
	$(THREADS) $(BIN)/python -m benchmarks check

# The page again, from the results that are stored beside it.
study: .venv/installed
	@test -d '$(PUBLISHED)' || \
		{ echo "There are no published means in $(PUBLISHED); say where they are: make study PUBLISHED=FOLDER." >&2; exit 1; }
	$(BIN)/python -m study page study/results --published '$(PUBLISHED)' --out study/results

.venv/docs-installed: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

# The site, from nothing, every example and every block of code on it run; a warning is an error. Links within
# the site are checked with it; links to other hosts are not.
docs: .venv/docs-installed
	rm -rf site .sphinx docs/api/generated docs/gallery docs/pictures docs/static/demo-report.html
	$(THREADS) $(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --doctree-dir .sphinx docs site
	$(BIN)/python -m docs.site_parts.internal_links site

# The picture in the README and on the first page; needs Chromium.
picture: .venv/docs-installed
	$(BIN)/python -m docs.site_parts.demonstration

# Both archives in dist/, their contents compared with what they should hold, the wheel tried by itself.
archives: .venv/installed
	rm -rf dist
	$(BIN)/python -m hatchling build
	$(BIN)/python -m pytest --quiet tests/test_archives.py
	PYTHON=$(PYTHON) .ci/wheel

clean:
	rm -rf .venv .mutants .sphinx site .pytest_cache .mypy_cache .ruff_cache
