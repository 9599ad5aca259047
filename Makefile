# What there is to run; each target installs what it needs, where it may, and otherwise says in one line what to install.

SHELL := /bin/bash
SWIFT ?= swift
ORIGINS := .build/origins

.PHONY: help demo test soak bench build strict rules embed format-check clean-origins

help:
	@echo "make demo   the whole story on an embedded origin, in half a minute"
	@echo "make test   everything that is checked: rules, tests, real servers, the package without its traits"
	@echo "make soak   the long form of the suites on faults, damage, power loss and several processes"
	@echo "make bench  the store beside a C program that does the same on the same layout"
	@echo "make build  the tool, optimised: .build/release/pagecache"

demo: prerequisites
	@$(SWIFT) build --product pagecache 2>&1 | Scripts/quietly
	@.build/debug/pagecache demo

test: prerequisites
	@Scripts/test

soak: prerequisites
	@PAGECACHE_SOAK=1 $(SWIFT) test --filter 'FlipTests|FaultTests|PowerLossTests|ProcessTests|DifferentialTests'

bench: prerequisites
	@cd Benchmarks && $(SWIFT) run -c release StoreBenchmark

build: prerequisites
	$(SWIFT) build -c release --product pagecache

.PHONY: prerequisites
prerequisites:
	@Scripts/prerequisites
