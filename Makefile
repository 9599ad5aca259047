# The commands of this repository. Each target installs what it needs if it may, and otherwise names it in one line.

SHELL := /bin/bash
# A pipeline fails when any part of it fails.
.SHELLFLAGS := -o pipefail -ec
SWIFT ?= swift
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: help demo test examples docs api soak models mutants bench bench-quick bench-reconcile build static install uninstall deb try-install

help:
	@echo "make build            Build the tool, optimised, as .build/release/pagecache."
	@echo "make demo             Tour the tool with a built-in origin. FLEET=1: two replicas on one PostgreSQL server."
	@echo "make test             Run all checks: house rules, tests, real servers, and the package without its traits."
	@echo "make examples         Build and run the examples, including every snippet in the documentation."
	@echo "make docs             Build the library documentation as .build/docs/pagecache.doccarchive."
	@echo "make api              Write the public API to Documentation/API. CI compares it."
	@echo "make bench            Run all benchmarks, next to a C program, GRDB and Python caches, and write"
	@echo "                      Documentation/Measurements.md. LONG=1: lists of 10,000,000 items."
	@echo "make bench-quick      Run fewer rounds in under two minutes, without the peers, and only print the results."
	@echo "make bench-reconcile  Print what it costs to find out what has changed in a list."
	@echo "make soak             Run the long fault campaign and print its table. Takes hours. SEEDS=20000 sets its size."
	@echo "make models           Check the protocol models exhaustively with Spin. Each control must fail."
	@echo "make mutants          Plant known bugs, and check that the simulation catches each of them."
	@echo "make install          Install the static tool, manual page and completions. PREFIX=/usr/local, DESTDIR= for packagers."
	@echo "make uninstall        Remove them again. PREFIX=/usr/local."
	@echo "make deb              Build a Debian package in .build/deb."
	@echo "make try-install      Install that package in a bare Debian 12 without Swift, and run it. Takes a minute; needs root."

demo: prerequisites
	@echo "building pagecache; the first build fetches dependencies and takes a few minutes" >&2
	@$(SWIFT) build --product pagecache 2>&1 | Scripts/quietly
ifdef FLEET
	@Scripts/prerequisites servers
	@Scripts/fleet-demo .build/debug/pagecache
else
	@.build/debug/pagecache demo
endif

test: prerequisites
	@Scripts/test

examples: prerequisites
	@Scripts/snippets
	@Scripts/examples

docs: prerequisites
	@Scripts/docs

api: prerequisites
	@Scripts/api

# The number of simulated lives of runs in each mode. A quarter as many lives of processes follow.
SEEDS ?= 20000

soak: prerequisites
	@$(SWIFT) build -c release --product pagecache --quiet
	@$(SWIFT) build -c release --product Simulator --quiet
	@$(SWIFT) build --build-tests --quiet
	@Scripts/campaign --long --seeds $(SEEDS)

models:
	@Scripts/models

mutants: prerequisites
	@Scripts/mutants

bench-reconcile: prerequisites
	@$(SWIFT) run -c release Simulator economy

bench: prerequisites
	@SWIFT=$(SWIFT) Scripts/bench --write $(if $(LONG),--long)

bench-quick: prerequisites
	@SWIFT=$(SWIFT) Scripts/bench --quick

build: prerequisites
	$(SWIFT) build -c release --product pagecache

# The Swift runtime is inside the binary, so the target needs no Swift. libsqlite3, libpq and the C libraries stay shared:
# the package names them as dependencies. A build directory of its own keeps the objects of both forms apart.
STATIC := .build/static

static: prerequisites
	@echo "building the static tool" >&2
	@$(SWIFT) build -c release --static-swift-stdlib --product pagecache --scratch-path $(STATIC) 2>&1 | Scripts/quietly

install: static
	@Scripts/install $(STATIC)/release/pagecache "$(DESTDIR)$(PREFIX)"

uninstall:
	@Scripts/install --remove "$(DESTDIR)$(PREFIX)"

deb: static
	@Scripts/deb $(STATIC)/release/pagecache .build/deb

try-install: deb
	@Scripts/try-install

.PHONY: prerequisites
prerequisites:
	@Scripts/prerequisites
