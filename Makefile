# What there is to run; each target installs what it needs, where it may, and otherwise says in one line what to install.

SHELL := /bin/bash
# A pipeline fails when any part of it fails.
.SHELLFLAGS := -o pipefail -ec
SWIFT ?= swift
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: help demo test examples docs api soak models mutants bench bench-quick bench-reconcile build static install uninstall deb try-install

help:
	@echo "make demo   a tour with an embedded origin, in seconds once it is built (FLEET=1: two replicas on a PostgreSQL server)"
	@echo "make test   everything that is checked: rules, tests, real servers, the package without its traits"
	@echo "make examples   the examples, built and run; every snippet of the documentation is among them"
	@echo "make docs   the documentation of the libraries as a site: .build/docs/pagecache.doccarchive"
	@echo "make api    writes what is public into Documentation/API; CI compares"
	@echo "make soak   the fault campaign in its long form, hours: kills, faults, damage, power loss, processes, clocks, sanitizers; one table"
	@echo "make models           protocol models, checked exhaustively by Spin; each control must fail"
	@echo "make mutants          planted bugs, and the seed by which the simulation catches each"
	@echo "make bench-reconcile  what it costs to find out what changed, as a table"
	@echo "make bench  everything that is measured, beside a C program, GRDB and Python's caches, into Documentation/Measurements.md (LONG=1: 10,000,000 items)"
	@echo "make bench-quick      the same in under two minutes: no peers to install, fewer rounds, only printed"
	@echo "make build  the tool, optimised: .build/release/pagecache"
	@echo "make install PREFIX=/usr/local   the static tool, its manual page and completions; DESTDIR= for packages"
	@echo "make uninstall PREFIX=/usr/local removes them"
	@echo "make deb    a Debian package of the same: .build/deb"
	@echo "make try-install      installs that package in a bare Debian 12 without Swift, and runs it there; a minute, needs root"

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

# Lives of runs in each mode of the simulation; a quarter as many of processes.
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
