# Everything below needs Python >= 3.11, make and a package index; .venv is made on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint format bench lock clean

# --no-build-isolation: the build backend comes from the lock as well.
$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kictl needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(BIN)/python -m compileall -q src # also where PYTHONDONTWRITEBYTECODE is set
	touch $@

demo: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" sh fixtures/demo.sh

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	$(BIN)/python -m bench

# Re-resolves the lock (needs uv); no index host is written into it.
lock:
	uv pip compile pyproject.toml --extra parquet --group dev --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate --no-emit-index-url --upgrade --output-file requirements.lock

clean:
	rm -rf $(VENV) .demo dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
