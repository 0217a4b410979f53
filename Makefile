# The front door. `make demo` and `make test` work on a fresh Debian 12 or Ubuntu 24.04 machine.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
BIN := build/release/bin/skyfix

.PHONY: help demo test build bootstrap check-style lint asan fuzz bench dist clean

help:
	@echo 'make demo    install, build, localize 40 simulated photos, draw demo/map.svg'
	@echo 'make test    install, build, run every test'
	@echo 'make build   the release binaries at $(BIN) and $(BIN)-bench'
	@echo 'make lint    clang-format and clang-tidy'
	@echo 'make asan    the core rooms under the address and undefined-behaviour sanitizers'
	@echo 'make fuzz    every parser fuzzer, FUZZ_SECONDS (10) each'
	@echo 'make bench   the matcher beside FAISS'
	@echo 'make dist    a relocatable folder under dist/ (DIST_FLAGS=--gpu: with the CUDA libraries)'
	@echo 'make clean   remove build/ and demo/'

build:
	@scripts/bootstrap build
	@$(MAKE) --no-print-directory compile

.PHONY: compile
compile:
	@[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
	cmake --build --preset release -j $(JOBS) --target skyfix skyfix_bench_main

demo:
	@echo 'Skyfix demo. The first time this installs packages and compiles: about 10 minutes on 2 cores.'
	@echo 'Then it simulates a flight, builds a map, localizes 40 photos and evaluates: about 3 minutes.'
	@$(MAKE) --no-print-directory build
	@scripts/demo

test:
	@scripts/bootstrap test
	@scripts/check

asan fuzz lint:
	@scripts/bootstrap test
	@scripts/check $@

bench: build
	$(BIN) bench match --device cpu

dist:
	@scripts/bootstrap test
	@scripts/dist $(DIST_FLAGS)

clean:
	rm -rf build demo
