# What there is to run; each target installs what it needs, where it may, and otherwise says in one line what to install.

SHELL := /bin/bash
SWIFT ?= swift
ORIGINS := .build/origins

.PHONY: help demo test examples soak mutants bench bench-reconcile build strict rules embed format-check clean-origins

help:
	@echo "make demo   the whole story on an embedded origin, in half a minute"
	@echo "make test   everything that is checked: rules, tests, real servers, the package without its traits"
	@echo "make examples   the examples, built and run; every snippet of the documentation is among them"
	@echo "make soak   the long form of the suites on faults, damage, power loss and several processes"
	@echo "make mutants          planted bugs, and the seed by which the simulation catches each"
	@echo "make bench-reconcile  what it costs to find out what changed, as a table"
	@echo "make bench  the store beside a C program that does the same on the same layout, lists beside the store, pages beside decoding"
	@echo "make build  the tool, optimised: .build/release/pagecache"

demo: prerequisites
	@$(SWIFT) build --product pagecache 2>&1 | Scripts/quietly
	@.build/debug/pagecache demo

test: prerequisites
	@Scripts/test

examples: prerequisites
	@Scripts/snippets
	@Scripts/examples

# Lives of runs in each mode of the simulation; a quarter as many of processes.
SEEDS ?= 20000

soak: prerequisites
	@$(SWIFT) build -c release --product Simulator --quiet
	@.build/release/Simulator runs safety 0 $$(($(SEEDS) - 1))
	@.build/release/Simulator runs liveness 0 $$(($(SEEDS) - 1))
	@.build/release/Simulator engine safety 0 $$(($(SEEDS) / 4))
	@.build/release/Simulator engine liveness 0 $$(($(SEEDS) / 4))
	@Scripts/mutants
	@PAGECACHE_SOAK=1 $(SWIFT) test --filter 'FlipTests|FaultTests|PowerLossTests|ProcessTests|DifferentialTests'

mutants: prerequisites
	@Scripts/mutants

bench-reconcile: prerequisites
	@$(SWIFT) run -c release Simulator economy

bench: prerequisites
	@cd Benchmarks && $(SWIFT) run -c release StoreBenchmark
	@cd Benchmarks && $(SWIFT) run -c release RepositoryBenchmark
	@cd Benchmarks && $(SWIFT) run -c release SplitBenchmark

build: prerequisites
	$(SWIFT) build -c release --product pagecache

.PHONY: prerequisites
prerequisites:
	@Scripts/prerequisites
