# Set-up, checks and benchmarks; each target makes what it needs, starting from a fresh clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(wildcard cpp/*) CMakeLists.txt pyproject.toml

.PHONY: install demo docs lint test test-cpp test-python bench-inference bench-learning bench-scale attack clean
.DEFAULT_GOAL := test

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip

# Editable, so that Python sources need no reinstall; rebuilt whenever the native code changes.
$(VENV)/installed: $(BIN)/python $(CORE)
	$(BIN)/pip install --quiet "scikit-build-core>=0.10" "nanobind>=2.2" "setuptools-scm>=8" cmake ninja
	$(BIN)/pip install --quiet --no-build-isolation --editable ".[all]" --group dev
	touch $@

install: $(VENV)/installed

# The main job on the embedded dataset: demo/report.html shows what came out.
demo: install
	$(BIN)/multiutility demo --out demo

# The documentation site, in the folder site; a warning is an error.
docs: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "Read it: $(BIN)/python -m http.server --directory site, then http://localhost:8000"

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror cpp/*.hpp cpp/*.cpp
	$(BIN)/mypy
	$(BIN)/lint-imports

# The C++ tests, as users run the code and under the address and undefined-behavior sanitizers.
test-cpp: install
	for sanitize in OFF ON; do \
	  $(BIN)/cmake -S . -B build/test-$$sanitize -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	    -DMULTIUTILITY_TESTS=ON -DMULTIUTILITY_SANITIZE=$$sanitize && \
	  $(BIN)/cmake --build build/test-$$sanitize && \
	  $(BIN)/ctest --test-dir build/test-$$sanitize --output-on-failure || exit 1; \
	done

test-python: install
	$(BIN)/pytest -q -n auto --maxprocesses 4 --dist loadfile

test: lint test-cpp test-python

bench-inference: install
	$(BIN)/python benchmarks/inference.py $(ARGS)

bench-learning: install
	$(BIN)/python benchmarks/learning.py $(ARGS)

bench-scale: install
	$(BIN)/python benchmarks/scale.py $(ARGS)

# Hostile energies and files, flipped bits, kills; ARGS="--minutes 30" takes longer, see benchmarks/README.md.
attack: install
	$(BIN)/python benchmarks/attack.py $(ARGS)

clean:
	rm -rf build dist site $(VENV)/installed
