# The commands of the project. Each installs what it needs.
#
#   make run     build, and record ten seconds of the first camera, or of the scene, into demo/
#   make test    build and test everything
#   make lab     test with the kernel's own camera drivers, in a small virtual machine
#   make bench   measure beside what one would use instead, into Benchmarks/Results/
#   make soak    record live for ten minutes, and judge that nothing is lost and memory is flat
#   make plot    draw a run's reports: make plot REPORTS=demo/reports.jsonl OUT=demo/reports.png
#   make format  rewrite the Swift files in the project's format
#   make clean   remove what the others made

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := run

# What Debian has to provide: to build and run, and on top of that to test and to measure.
PACKAGES := pkg-config libturbojpeg0-dev libyuv-dev libxxhash-dev \
  liblz4-dev libdeflate-dev libzstd-dev \
  libv4l-dev libavformat-dev libavcodec-dev libavutil-dev libswscale-dev
TEST_PACKAGES := $(PACKAGES) ffmpeg git python3-venv gstreamer1.0-tools gstreamer1.0-plugins-good
LAB_PACKAGES := $(TEST_PACKAGES) gcc libc6-dev linux-libc-dev v4l-utils cpio util-linux \
  qemu-system-x86
BENCH_PACKAGES := $(TEST_PACKAGES) g++ util-linux lz4 \
  gstreamer1.0-plugins-base
PLOT_PACKAGES := python3-venv

# The processor that release builds are for; empty for the baseline of the architecture. AVX2 makes
# pixel loops three to four times as fast.
CPU ?= $(shell grep -qw avx2 /proc/cpuinfo && test "$$(uname -m)" = x86_64 && echo haswell)
RELEASE := -c release $(if $(CPU),-Xswiftc -target-cpu -Xswiftc $(CPU))
SPROCKET = $(shell swift build $(RELEASE) --show-bin-path)/sprocket

# Where Swift code lies that is ours.
SWIFT_FILES := Package.swift Sources Plugins Tests \
  $(wildcard Benchmarks/Package.swift Benchmarks/Sources Examples)

.PHONY: run test lab bench soak plot format clean release
.PHONY: packages test-packages lab-packages bench-packages plot-packages
.PHONY: lint unit threads addresses judge examples readme

run: release
	mkdir -p demo
	$(SPROCKET) run --duration 10s --stage latedrop --stage meter --stage focus \
	  --movie demo/movie.mov --stills demo/stills --every 1s --dump demo/dump.mcap \
	  --reports demo/reports.jsonl --summary demo/summary.json --checksum --overwrite

release: packages
	swift build $(RELEASE) --product sprocket

test: test-packages lint unit threads addresses judge examples readme

lint:
	swift format lint --strict --recursive $(SWIFT_FILES)

# Nothing is imported that Package.swift does not declare; then every test, and the tidiness of the
# tree among them.
unit: .build/venv/installed
	swift build --build-tests --explicit-target-dependency-import-check error
	PATH="$(CURDIR)/.build/venv/bin:$$PATH" swift test --skip-build

# The sanitizers build everything anew, so each has a place of its own.
threads:
	TSAN_OPTIONS=suppressions=$(CURDIR)/Tests/races.supp:print_suppressions=0 \
	  swift test --sanitize=thread --scratch-path .build/thread \
	  --filter 'SprocketRingTests|SprocketEngineTests|SprocketTests'

addresses: .build/venv/installed
	PATH="$(CURDIR)/.build/venv/bin:$$PATH" \
	  LSAN_OPTIONS=suppressions=$(CURDIR)/Tests/leaks.supp:print_suppressions=0 \
	  swift test --sanitize=address --scratch-path .build/address \
	  --filter 'Sprocket(JPEG|Codecs|LibAV|LZ4|MCAP|Sources|Sinks)Tests'

# Results against NumPy, OpenCV, ffmpeg and xxhash; usage as a person would.
judge: release .build/venv/installed
	SPROCKET=$(SPROCKET) .build/venv/bin/python -m pytest -q -p no:cacheprovider Tests/Judges

# A package outside the tree that brings a stage of its own.
examples:
	swift run --package-path Examples/Vignette vignette stages vignette
	swift run --package-path Examples/Vignette vignette run --stage vignette:strength=0.8 \
	  --source scene --size 320x240 --frames 30 --checksum

# Every command of the README, in a fresh copy.
readme:
	Tests/readme.sh

# The real binary and the kernel's own drivers; the machine takes 10 s to start, the tests a few
# minutes. LAB passes on what pytest takes: make lab LAB='-k unplug'.
lab: lab-packages release .build/venv/installed .build/lab/dequeued.so
	SPROCKET=$(SPROCKET) Tests/Lab/lab --limit 1800 .build/venv/bin/python -u -m pytest -v \
	  --no-header --tb=short -p no:cacheprovider --durations=5 Tests/Lab $(LAB)

.build/lab/dequeued.so: Tests/Lab/dequeued.c | lab-packages
	mkdir -p $(@D)
	cc -O2 -Wall -Werror -shared -fPIC -o $@ $<

bench: bench-packages release .build/venv/installed
	CPU=$(CPU) .build/venv/bin/python Benchmarks/run --sprocket $(SPROCKET)

# MINUTES=1 for a shorter one.
soak: release
	Benchmarks/soak --sprocket $(SPROCKET) --minutes $(or $(MINUTES),10)

plot: plot-packages .build/venv/plot
	.build/venv/bin/python Tools/plot.py "$(REPORTS)" "$(OUT)"

format:
	swift format --in-place --recursive $(SWIFT_FILES)

clean:
	rm -rf .build demo Benchmarks/.build $(wildcard Examples/*/.build)

# The judges look at plots, too.
.build/venv/installed: Tests/requirements.txt .build/venv/plot
	.build/venv/bin/pip install --quiet --requirement Tests/requirements.txt
	touch $@

.build/venv/plot: Tools/requirements.txt
	python3 -m venv .build/venv
	.build/venv/bin/pip install --quiet --requirement Tools/requirements.txt
	touch $@

# Installs what is missing of a list; asks Debian only if something is.
define install
	@missing=(); for package in $(1); do \
	  dpkg-query --show --showformat '$${db:Status-Status}' $$package 2>/dev/null \
	    | grep -qx installed || missing+=($$package); \
	done; \
	if [ $${#missing[@]} -gt 0 ]; then \
	  echo "Installing $${missing[*]}"; \
	  asRoot=$$([ $$(id -u) = 0 ] || echo sudo); \
	  $$asRoot apt-get update --quiet=2; \
	  DEBIAN_FRONTEND=noninteractive $$asRoot apt-get install --yes --quiet=2 \
	    --no-install-recommends $${missing[*]}; \
	fi
endef

packages:
	$(call install,$(PACKAGES))
test-packages:
	$(call install,$(TEST_PACKAGES))
lab-packages:
	$(call install,$(LAB_PACKAGES))
bench-packages:
	$(call install,$(BENCH_PACKAGES))
plot-packages:
	$(call install,$(PLOT_PACKAGES))
