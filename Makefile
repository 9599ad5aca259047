# What there is to run; each target installs what it needs, where it may, and otherwise says in one line what to install.

SHELL := /bin/bash
SWIFT ?= swift

.PHONY: help demo test examples docs api soak models mutants bench bench-quick bench-reconcile build

help:
	@echo "make demo   the whole story on an embedded origin, in seconds once it is built"
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

demo: prerequisites
	@$(SWIFT) build --product pagecache 2>&1 | Scripts/quietly
	@.build/debug/pagecache demo

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

.PHONY: prerequisites
prerequisites:
	@Scripts/prerequisites
