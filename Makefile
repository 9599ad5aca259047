# What there is to run; each target installs what it needs, where it may, and otherwise says in one line what to install.

SHELL := /bin/bash
SWIFT ?= swift
ORIGINS := .build/origins

.PHONY: help demo test build strict rules embed format-check clean-origins

help:
	@echo "make demo   the whole story on an embedded origin, in half a minute"
	@echo "make test   everything that is checked: rules, tests, real servers, the package without its traits"
	@echo "make build  the tool, optimised: .build/release/pagecache"

demo: prerequisites
	@$(SWIFT) build --product pagecache 2>&1 | Scripts/quietly
	@.build/debug/pagecache demo

test: prerequisites
	@Scripts/test

build: prerequisites
	$(SWIFT) build -c release --product pagecache

.PHONY: prerequisites
prerequisites:
	@Scripts/prerequisites
