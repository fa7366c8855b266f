# Commands of the project. README.md says what they need and how long they take.
CACHE := $(or $(GUMBEL_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/gumbel)
GUMBEL := build/release/gumbel
SMOLLM2 := $(CACHE)/SmolLM2-135M-Instruct.Q4_1.gguf
GEMMA3 := $(CACHE)/gemma-3-270m-q4_k_m.gguf
SOURCES := $(shell git ls-files '*.cc' '*.h' 2>/dev/null)

.PHONY: all deps build demo test test-sanitize test-aarch64 bench bench-full-size format lint clean
all: build

# What the build and the tests need, from the system's packages.
deps:
	@scripts/install_packages.sh scripts/packages.txt

build/%/build.ninja: CMakeLists.txt CMakePresets.json | deps
	@cmake --preset $* > /dev/null

build: build/release/build.ninja
	@cmake --build --preset release --target gumbel

$(SMOLLM2):
	@scripts/fetch_model.py smollm2 --cache $(CACHE)

$(GEMMA3):
	@scripts/fetch_model.py gemma3 --cache $(CACHE)

# Answers a question, streaming, with statistics.
demo: build | $(SMOLLM2)
	@$(GUMBEL) export $(SMOLLM2) -o $(CACHE)/smollm2.gumbel --sample
	@$(GUMBEL) run $(CACHE)/smollm2.gumbel --prompt "What is the capital of France?" --seed 2 --stats

# All tests, those on the two real models too.
test: build/release/build.ninja | $(SMOLLM2) $(GEMMA3)
	@cmake --build --preset release
	@GUMBEL_CACHE=$(CACHE) ctest --preset release

# The tests under AddressSanitizer and UndefinedBehaviorSanitizer, but for those on real models; then
# each fuzzer for thirty seconds.
test-sanitize: build/sanitize/build.ninja
	@cmake --build --preset sanitize
	@ctest --preset sanitize --label-exclude real
	@scripts/install_packages.sh scripts/packages-fuzz.txt
	@cmake --preset fuzz > /dev/null
	@cmake --build --preset fuzz
	@ctest --preset fuzz

# The kernels and tiny models on aarch64, under qemu's user emulation.
test-aarch64: | deps
	@scripts/install_packages.sh scripts/packages-aarch64.txt
	@scripts/test_aarch64.sh

# Beside llama.cpp, in one run; then draws at a vocabulary of 262,144.
bench: build/release/build.ninja | $(SMOLLM2) $(GEMMA3)
	@cmake --build --preset release
	@python3 bench/compare.py --cache $(CACHE)
	@build/release/bench/sampling/sampling_bench

# Gemma 4 31B and Qwen3.5-35B-A3B with synthetic weights: about 20 GB of disk, 24 GiB of memory and
# an hour.
bench-full-size: build/release/build.ninja
	@cmake --build --preset release
	@python3 bench/full_size.py

format:
	@scripts/install_packages.sh scripts/packages-lint.txt
	@clang-format-19 -i $(SOURCES)

lint: build/release/build.ninja
	@scripts/install_packages.sh scripts/packages-lint.txt
	@cmake --build --preset release --target gumbel_schema
	@clang-format-19 --dry-run --Werror $(SOURCES)
	@run-clang-tidy-19 -quiet -p build/release '$(CURDIR)/src/.*\.cc$$'

clean:
	@rm -rf build
