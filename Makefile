# `make` alone lists what there is to do.
SHELL := bash
.DEFAULT_GOAL := help

# Every build takes the whole workspace with its tests: fewer crates would select other features, and build wasmtime
# (minutes) once more for each selection.
TARGETS := --locked --workspace --all-targets
TARGET_DIR := $(abspath $(or $(CARGO_TARGET_DIR),target))
HOST := $(shell rustc -vV | sed -n 's/^host: //p')
WASMTIME := $(shell sed -n '/^name = "wasmtime"$$/{n;s/^version = "\(.*\)"$$/\1/p}' Cargo.lock)
NEXTEST := $(shell command -v cargo-nextest 2>/dev/null)

TOOL_SOURCES := $(shell find guest-tools wit runtime/package -type f -not -path '*/target/*' -not -path '*/dist/*' -not -path 'guest-tools/python/*')
PYTHON_SOURCES := $(shell find guest-tools/python wit runtime/package -type f -not -name '*.pyc')
TEST_SOURCES := $(shell find tests/guests wit runtime/package -type f -not -path '*/target/*' -not -path '*/dist/*')
TOOLS := guest-tools/dist/files.wasm
PYTHON := guest-tools/dist/python.wasm
PROBES := tests/guests/dist/probe.wasm

# What packages hold is of the profile of releases, or with `PROFILE=dev` of that of the tests, which is there sooner.
PROFILE := release
PACKAGE := $(TARGET_DIR)/release/package
PACKAGES := $(TARGET_DIR)/packages

.PHONY: help build guests guests-python run test lint bench doc static deb wheel check-packages clean

help: ## lists these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 15

guests: $(TOOLS) $(PROBES) ## builds the shipped tools and the tests' components (first: a compiler for them)

guests-python: $(PYTHON) ## builds the interpreter of `run_python`, for which Python's packages bring a tool

$(PYTHON): $(PYTHON_SOURCES)
	guest-tools/python/build.sh

$(TOOLS): $(TOOL_SOURCES)
	guest-tools/build.sh
	@touch $@

$(PROBES): $(TEST_SOURCES)
	tests/guests/build.sh
	@touch $@

build: guests ## builds the guests, then everything else
	cargo build $(TARGETS)

run: build ## shows toolcell at work on this folder
	TOOLCELL=$(TARGET_DIR)/debug/toolcell tests/demo.sh

# Each test needs a process of its own: some measure its memory, or set what there is one of.
test: build guests-python ## builds what is missing and runs all tests
ifndef NEXTEST
	$(error the tests need cargo-nextest: run `cargo install --locked cargo-nextest`)
endif
	tests/clients/python.sh >/dev/null
	tests/clients/python.sh earlier/requirements.txt >/dev/null
	tests/clients/python.sh frameworks/requirements.txt >/dev/null
	tests/clients/node.sh >/dev/null
	tests/languages/install.sh >/dev/null
	cd guest-tools && cargo test --locked --quiet --target $(HOST) --target-dir $(TARGET_DIR)/guest-tests
	cargo nextest run --locked --workspace

lint: guests ## formatting, clippy, documentation, and what dependencies may be
	cargo fmt --check
	cd guest-tools && cargo fmt --check
	cd tests/guests && cargo fmt --check
	cd guest-tools && cargo clippy --locked --all-targets --target $(HOST) --target-dir $(TARGET_DIR)/guest-tests -- -D warnings
	cargo clippy $(TARGETS) -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps
	@if command -v cargo-deny >/dev/null; then cargo deny --locked check bans licenses sources; \
	else echo "cargo-deny is not installed (cargo install cargo-deny --locked)" >&2; exit 1; fi

# What it is compared with is built here too: the SDK of another framework, and wasmtime's own program.
bench: guests ## measures in the release profile, and writes the tables of PERFORMANCE.md (an idle machine, an hour)
	cargo build --release --locked --workspace --bin toolcell --bench cost
	cargo build --release --locked --manifest-path tests/benches/extism/Cargo.toml --target-dir $(TARGET_DIR)/extism
	cargo install --locked --quiet --root $(TARGET_DIR)/wasmtime-cli --target-dir $(TARGET_DIR)/wasmtime-cli/target wasmtime-cli@$(WASMTIME)
	PATH="$(TARGET_DIR)/wasmtime-cli/bin:$$PATH" cargo bench --locked --workspace --bench cost -- --write

doc: guests ## builds the crates' documentation, and the book where mdbook is installed
	cargo doc --locked --workspace --no-deps
	@if command -v mdbook >/dev/null; then mdbook build docs --dest-dir $(TARGET_DIR)/book; \
	else echo "mdbook is not installed (cargo install mdbook --locked): the book is not built" >&2; fi

static: guests guests-python ## builds a program that links to nothing of the system, and what lies beside it
	cargo rustc --locked --package toolcell --bin toolcell --profile $(PROFILE) -- --codegen target-feature=+crt-static
	rm -rf $(PACKAGE)
	install -D --strip --mode 755 $(TARGET_DIR)/$(PROFILE:dev=debug)/toolcell $(PACKAGE)/bin/toolcell
	install -D --mode 644 $(PYTHON) $(PACKAGE)/lib/toolcell/python.wasm
	cd $(PACKAGE) && mkdir -p share/bash-completion/completions share/zsh/vendor-completions share/fish/vendor_completions.d && \
	bin/toolcell completions bash >share/bash-completion/completions/toolcell && \
	bin/toolcell completions zsh >share/zsh/vendor-completions/_toolcell && \
	bin/toolcell completions fish >share/fish/vendor_completions.d/toolcell.fish

deb: static ## makes a package of Debian's of that (needs cargo-deb)
	cargo deb --locked --no-build --no-strip --package toolcell --output $(PACKAGES)/

wheel: static ## makes a package of Python's of that, for `uvx toolcell`
	TOOLCELL_PACKAGE=$(PACKAGE) python3 -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir $(PACKAGES) runtime/wheel

check-packages: deb wheel ## installs each package once, and the program by cargo, and runs it (as root by dpkg)
	tests/packages.sh $(PACKAGE) $(PACKAGES) $(PROFILE)

clean: ## removes everything that was built
	cargo clean
	rm -rf guest-tools/target guest-tools/dist tests/guests/target tests/guests/dist
