# The commands of the project. Each installs what it needs.
#
#   make run     build, and record ten seconds of the first camera, or of the scene, into demo/
#   make page    build, and show the first camera, or the scene, in a browser
#   make test    build and test: half an hour, the judges and the lab in part
#   make test-all  the same, with all judges and all of the lab; goes on where it was ended
#   make unit    build and run the Swift tests, FILTER=Ring some of them
#   make fuzz    feed all that reads bytes from outside with any bytes, for SECONDS=60
#   make long    hours of it: 10,000 storms, the soak, more kills; goes on where it was ended
#   make lab     test with the kernel's own camera drivers, in a small virtual machine
#   make bench   measure beside what one would use instead, into Benchmarks/Results/
#   make soak    record live for ten minutes, and judge that nothing is lost and memory is flat
#                FIELDS=meter.mean,focus draws these; PROGRAM, which wrote them, knows their units
#   make docs    documentation of all products with tutorials, as pages in .build/documentation
#   make install put the program, which then needs no Swift, its manual, completions and documents under
#                PREFIX=/usr/local; `make uninstall` takes them away
#   make deb     make dist/*.deb, a package of Debian with the same files
#   make wheel   make dist/*.whl, which `pip install` installs: Python's package and the program
#   make format  rewrite the Swift files in the project's format
#   make clean   remove what the others made

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := run

# What Debian has to provide: to build and run, and on top of that to test and to measure.
PACKAGES := pkg-config libturbojpeg0-dev libyuv-dev libxxhash-dev \
  liblz4-dev libdeflate-dev libzstd-dev \
  libasound2-dev libv4l-dev libavformat-dev libavcodec-dev libavutil-dev libswscale-dev \
  libswresample-dev libyaml-dev libzbar-dev
INSTALL_PACKAGES := $(PACKAGES) python3
DEB_PACKAGES := $(INSTALL_PACKAGES) dpkg-dev
WHEEL_PACKAGES := $(INSTALL_PACKAGES) patchelf binutils
TEST_PACKAGES := $(WHEEL_PACKAGES) $(DEB_PACKAGES) debootstrap faketime ffmpeg git python3-venv \
  gstreamer1.0-tools \
  gstreamer1.0-plugins-good man-db mandoc zsh fish qemu-user valgrind libimage-exiftool-perl chromium \
  qrencode zint zbar-tools libsdl2-dev libjpeg-turbo-progs
LAB_PACKAGES := $(TEST_PACKAGES) gcc libc6-dev linux-libc-dev v4l-utils alsa-utils cpio util-linux mount \
  e2fsprogs qemu-system-x86
BENCH_PACKAGES := $(TEST_PACKAGES) g++ util-linux lz4 \
  gstreamer1.0-plugins-base python3-gi gir1.2-gst-plugins-base-1.0
PLOT_PACKAGES := python3-venv

# The processor that release builds are for; empty for the baseline of the architecture. AVX2 makes
# pixel loops three to four times as fast.
CPU ?= $(shell grep -qw avx2 /proc/cpuinfo && test "$$(uname -m)" = x86_64 && echo haswell)
# Chooses the modules that are compiled without optimisation; where there is no Swift, `swift` says so.
ifneq ($(shell command -v swiftc),)
export SWIFT_EXEC := $(shell Tools/toolchain .build/toolchain)
$(if $(SWIFT_EXEC),,$(error .build/toolchain could not be made; see above))
endif
# A cache of C modules holds the path of the tree: each path has its own, so that a tree that was moved or
# copied with its .build builds.
MODULE_CACHE := -Xswiftc -module-cache-path \
  -Xswiftc "$(CURDIR)/.build/modules-$(firstword $(shell echo "$(CURDIR)" | cksum))"
# Tests see what is internal, so that they are built with the program and not once more. Debug information
# takes a tenth of the time.
OPTIMIZED := -c release $(if $(CPU),-Xswiftc -target-cpu -Xswiftc $(CPU)) -Xswiftc -enable-testing \
  -Xswiftc -gnone $(MODULE_CACHE)
# Swift's libraries become part of the program, so that what is tested is what can be installed.
# What nothing needs is left out of it: the program shows its symbols to no other library.
RELEASE := $(OPTIMIZED) --static-swift-stdlib -Xlinker --no-export-dynamic
# The package's trait that the program is made with; who depends on the package chooses for himself.
export SPROCKET_PAGE := 1
threads threads-program addresses addresses-program capture-storms fuzz: SPROCKET_PAGE :=

# The program that is tested: `release` builds it here, `copy` in a fresh copy of the tree, where the
# README's commands build it too. `make test` needs no other.
program := release
ifeq ($(program),copy)
SPROCKET = $(CURDIR)/.build/readme/.build/release/sprocket
else
SPROCKET = $(shell swift build $(RELEASE) --show-bin-path)/sprocket
endif

# What `sprocket plot` becomes: in this tree, a script that first installs what draws.
PLOTTER = $(dir $(SPROCKET))sprocket-plot

# Where Swift code lies that is ours.
SWIFT_FILES := Package.swift Sources Plugins Tests \
  $(wildcard Benchmarks/Package.swift Benchmarks/Sources Examples)

.PHONY: run page test test-all fuzz long lab bench soak docs install uninstall deb wheel format clean
.PHONY: release copy
.PHONY: packages install-packages deb-packages wheel-packages test-packages lab-packages bench-packages
.PHONY: plot-packages deb-clean
.PHONY: example-packages
.PHONY: judge-files judge-waiting all-packages venv lint unit plain threads threads-program
.PHONY: addresses addresses-program readme flags
.PHONY: storms storms-plain
.PHONY: full-prefix examples sound-storms capture-storms traps judge judge-most judge-alone
.PHONY: python lab-kernel

# Where there is no camera, the built-in scene is recorded.
run: release
	mkdir -p demo
	$(SPROCKET) run $$($(SPROCKET) devices | sed -n 's/^there is no camera;.*/--source scene/p') \
	  --duration 10s --microphone auto --stage latedrop --stage meter --stage focus \
	  --movie demo/movie.mov --stills demo/stills --every 1s --dump demo/dump.mcap \
	  --reports demo/reports.jsonl --summary demo/summary.json --checksum --overwrite

# The page of the first camera, or of the scene: where there is a browser, it opens it.
page: release
	camera=$$($(SPROCKET) devices | sed -n 's/^there is no camera;.*/--source scene/p'); \
	  (sleep 1; command -v xdg-open >/dev/null && xdg-open http://127.0.0.1:8080/ >/dev/null 2>&1) & \
	  $(SPROCKET) run $$camera --auto-exposure continuous --auto-focus continuous --page \
	    --movie demo/page.mov --stills demo/page --on-demand --overwrite

release: packages
	swift build $(RELEASE) --product sprocket
	@printf '#!/bin/sh\n%s && exec %s %s/Tools/plot.py "$$@"\n' \
	  'make --silent --directory "$(CURDIR)" .build/venv/plot >&2' \
	  '"$(CURDIR)/.build/venv/bin/python"' '"$(CURDIR)"' >$(PLOTTER)
	@chmod +x $(PLOTTER)

# Programs of the judges and the lab: makes the mistakes that docs/traps.md lists; has a source and a sink of
# its own; writes and reads files with sound; runs storms with sound; reads a microphone; runs a capture
# session, whose library the judges compile against.
traps: packages
	swift build $(RELEASE)

# Builds the programs of Examples that the judges and the lab run, with the modules that `traps` has built.
# SwiftPM keeps its build plan in release.yaml, and would use the plan of the package that was built last.
EXAMPLE_PACKAGES := $(PACKAGES) libsdl2-dev
examples: traps example-packages
	trap 'rm -f .build/release.yaml' EXIT; for example in Articles CameraManager Clips Window; do \
	  rm -f .build/release.yaml; \
	  swift build $(RELEASE) --scratch-path .build --package-path Examples/$$example; \
	done

# `test` is what everyone runs: all unit tests, the fuzzer's kept inputs, the README's commands, and of judges
# and lab a core and a third of the rest, which the commit chooses (Tests/selection.py). `test-all` has all of
# these; begun again, it leaves out what has passed with the same files. A step begins when those are done
# that make what it needs. Three run at a time: two keep the cores busy, and some judges wait. What needs the
# machine to itself comes last. Tests/step tells how long each took. The lab's machine is an x86_64 one.
LAB_STEPS := $(if $(filter x86_64,$(shell uname -m)),lab-kernel lab)
STEPS := copy all-packages addresses lint venv $(LAB_STEPS) plain judge-most judge-files judge-waiting \
  threads readme storms-plain python judge-alone
test: STEPS_FOR := chosen
test-all: STEPS_FOR := all
test test-all: packages example-packages
	$(if $(LAB_STEPS),,@echo "The lab is left out: it emulates x86_64 alone.")
	[ -f Package.resolved ] || swift package resolve
	Tests/step --begin $(STEPS_FOR)
	$(MAKE) --no-print-directory --jobs=3 --keep-going program=copy STEPS_FOR=$(STEPS_FOR) $(STEPS:%=step-%) \
	  || { Tests/step --failures $(STEPS); exit 1; }
	Tests/step --table

.PHONY: $(STEPS:%=step-%)
$(STEPS:%=step-%): step-%:
	@Tests/step $* $(MAKE) --no-print-directory $(AT_HAND) $*
# What one step makes for all: others do not make it again.
MADE_BY_STEPS := packages test-packages lab-packages example-packages plot-packages \
  .build/venv/installed lab-kernel copy
AT_HAND = $(patsubst %,--assume-old=%,$(filter-out $(if $(filter all-packages,$*),%-packages) \
  $(if $(filter venv,$*),.build/venv/installed) $*,$(MADE_BY_STEPS)))
step-venv step-lab-kernel: step-all-packages
step-plain step-judge-most step-judge-files step-judge-waiting step-storms-plain: step-copy step-venv
step-addresses step-python: step-venv
# Others wait for these tests' end: the README's commands use the same build.
step-threads: step-plain
step-lab: step-venv step-lab-kernel
step-readme: step-plain
step-judge-alone: $(filter-out step-judge-alone,$(STEPS:%=step-%))

# Which judges and tests of the lab run: all, unless a step chooses.
PICK = $(if $(filter chosen,$(STEPS_FOR)),--choose) $(if $(filter all,$(STEPS_FOR)),--resume $(PASSED)/$@)
PASSED := $(CURDIR)/.build/passed
ifeq ($(STEPS_FOR),all)
export SPROCKET_JUDGE_ANEW := 1
endif

all-packages: lab-packages

venv: .build/venv/installed

lint:
	swift format lint --strict --recursive $(SWIFT_FILES)

# Every test, in the build of the program: for those who work on it. FILTER chooses: make unit FILTER=Ring.
CHECK := --explicit-target-dependency-import-check error
RUN_TESTS = PATH="$(CURDIR)/.build/venv/bin:$$PATH" swift test --skip-build \
  $(if $(FILTER),--filter '$(FILTER)')
unit: test-packages .build/venv/installed
	swift build $(RELEASE) $(CHECK) --product sprocketPackageTests
	$(RUN_TESTS) $(OPTIMIZED)

# `make test` runs each test once. Under AddressSanitizer: what holds `unsafe`, wraps a C library or parses
# bytes, and the fuzzer's kept inputs. Under ThreadSanitizer: the ring, the engine with its sound, and what a
# capture session waits for. All others, `plain`, in the copy and its build. Each builds only the tests that
# it runs, and what these need. Release builds, in which a module that the sanitizer is to look at is
# optimised, since unoptimised code hides values that end too early. Nothing is imported that does not lie
# beneath.
comma := ,
empty :=
names = $(subst $(empty) $(empty),$(comma),$(strip $(1)))
THREAD_TESTS := SprocketRingTests SprocketEngineTests SprocketCaptureTests $(MORE_THREADS)
ADDRESS_TESTS := FuzzTests $(patsubst %,Sprocket%Tests,ALSA Codecs Core Deflate JPEG LibAV LZ4 MCAP \
  Sources TIFF V4L2 YUV ZBar)
PLAIN_TESTS := TidyTests $(patsubst Plugins/%,%Tests,$(wildcard Plugins/*)) $(filter-out \
  $(THREAD_TESTS) $(ADDRESS_TESTS),$(notdir $(wildcard Tests/Sprocket*Tests)))
THREADS := $(OPTIMIZED) --sanitize=thread --scratch-path .build/thread
ADDRESSES := $(OPTIMIZED) --sanitize=address --scratch-path .build/address
threads threads-program: export SPROCKET_TESTS = $(call names,$(THREAD_TESTS))
addresses addresses-program: export SPROCKET_TESTS = $(call names,$(ADDRESS_TESTS))
threads addresses: export TSAN_OPTIONS = suppressions=$(CURDIR)/Tests/races.supp:print_suppressions=0
threads addresses: export LSAN_OPTIONS = suppressions=$(CURDIR)/Tests/leaks.supp:print_suppressions=0

plain: copy .build/venv/installed
	SPROCKET_TESTS=$(call names,$(PLAIN_TESTS)) $(MAKE) --no-print-directory --directory .build/readme unit

threads: test-packages .build/venv/installed
	nice swift build $(THREADS) $(CHECK) --product sprocketPackageTests
	$(RUN_TESTS) $(THREADS)

addresses: test-packages .build/venv/installed
	nice swift build $(ADDRESSES) $(CHECK) --product sprocketPackageTests
	$(RUN_TESTS) $(ADDRESSES)

threads-program: packages
	swift build $(THREADS) $(CHECK) --product sprocket
	swift build $(THREADS) $(CHECK) --product SprocketSoundStorm

addresses-program: packages
	swift build $(ADDRESSES) $(CHECK) --product sprocket
	swift build $(ADDRESSES) $(CHECK) --product SprocketSoundStorm

# Results against NumPy, OpenCV, ffmpeg and xxhash; usage as a person would. In four parts: files, what waits
# more than it computes, what runs live and wants the machine to itself, and most.
judge: judge-files judge-waiting judge-most judge-alone

# If a test hangs, pytest prints the stack of each thread and exits. The limit, in seconds, is above LIMIT of
# Tests/Judges/program.py, so that a wait can first say what it waited for.
PYTEST_OPTIONS := -p no:cacheprovider --durations=5 -o faulthandler_timeout=900 \
  -o faulthandler_exit_on_timeout=true
PYTEST = SPROCKET=$(SPROCKET) .build/venv/bin/python -m pytest -q $(PYTEST_OPTIONS)
judges = $(wildcard $(patsubst %,Tests/Judges/test_%.py,$(1)))
FILE_JUDGES := $(call judges,browser codecs disk* dump files movie* picture_files recording sound \
  sound_files still* times tracks)
WAITING_JUDGES := $(call judges,articles camera_manager hung_calls inputs install kills limits live_settings \
  on_demand page page_browser power python reconfigure request_storm several share sound_dumps \
  sound_kills stamps storms top usage window)
JUDGES_NEED = test-packages $(program) $(if $(filter release,$(program)),traps examples) .build/venv/installed
judge-files: $(JUDGES_NEED)
	$(PYTEST) -m 'not alone' $(PICK) $(FILE_JUDGES)

judge-waiting: $(JUDGES_NEED)
	$(PYTEST) -m 'not alone' $(PICK) $(WAITING_JUDGES)

judge-most: $(JUDGES_NEED)
	$(PYTEST) -m 'not alone' $(PICK) $(patsubst %,--ignore=%,$(FILE_JUDGES) $(WAITING_JUDGES)) Tests/Judges

judge-alone: $(JUDGES_NEED)
	$(PYTEST) -m alone $(PICK) Tests/Judges

# Python's package against a writer that is written in its tests, and its types.
python: test-packages .build/venv/installed
	$(PYTEST) Python/tests
	cd Python && ../.build/venv/bin/python -m mypy
	cd Python && ../.build/venv/bin/basedpyright --pythonpath ../.build/venv/bin/python

# Random chains, sinks, faults, limits, descriptors and signals; a tenth of them under
# ThreadSanitizer. SEEDS=17 for one.
STORMS = SPROCKET=$(SPROCKET) $(STORM_THREADS) $(STORM_ADDRESSES) \
  .build/venv/bin/python Tests/Judges/storms.py
SOUND_STORMS = $(subst storms.py,sound_storms.py,$(STORMS))
storms: threads-program storms-plain
storms sound-storms long: STORM_THREADS = SPROCKET_THREAD=$(CURDIR)/.build/thread/release/sprocket

# Without a sanitizer: `make test` has these.
storms-plain: $(JUDGES_NEED)
	$(STORMS) $(or $(SEEDS),1-200)
	$(SOUND_STORMS) $(or $(SEEDS),1-60)

# Pictures and sound, and every sample accounted for; a tenth under each sanitizer.
sound-storms: STORM_ADDRESSES = SPROCKET_ADDRESS=$(CURDIR)/.build/address/release/sprocket
sound-storms: traps threads-program addresses-program .build/venv/installed
	$(SOUND_STORMS) $(or $(SEEDS),1-2000)

# Calls of a capture session from many tasks at once; a tenth of them under ThreadSanitizer.
CAPTURE_STORMS = $(or $(COUNT),2000)
capture-storms: export SPROCKET_TESTS = SprocketCaptureTests
capture-storms: test-packages
	swift build $(ADDRESSES) $(CHECK) --product sprocketPackageTests
	swift build $(THREADS) $(CHECK) --product sprocketPackageTests
	SPROCKET_CAPTURE_STORMS=$(CAPTURE_STORMS) LSAN_OPTIONS=suppressions=$(CURDIR)/Tests/leaks.supp \
	  swift test --skip-build $(ADDRESSES) --filter StormTests
	SPROCKET_CAPTURE_STORMS=$$(($(CAPTURE_STORMS) / 10)) \
	  TSAN_OPTIONS=suppressions=$(CURDIR)/Tests/races.supp swift test --skip-build $(THREADS) \
	  --filter StormTests

# What takes too long for every change. Storms that were good are not run again by the next one, until
# the program or the storms change.
long: STORM_ADDRESSES = SPROCKET_ADDRESS=$(CURDIR)/.build/address/release/sprocket
long: test-packages release threads-program addresses-program .build/venv/installed
	$(STORMS) 1-10000 --state .build/storms.jsonl
	SPROCKET_STORMS=1-2000 SPROCKET_TESTS=SprocketEngineTests $(MAKE) --no-print-directory unit \
	  FILTER=RequestStormTests
	SPROCKET_REQUEST_STORMS=0-1999 $(PYTEST) Tests/Judges/test_request_storm.py
	SPROCKET_RECORDINGS=500000 SPROCKET_TESTS=SprocketEngineTests $(MAKE) --no-print-directory unit \
	  FILTER=YearTests
	$(MAKE) --no-print-directory threads MORE_THREADS=SprocketTests
	$(MAKE) --no-print-directory sound-storms
	$(MAKE) --no-print-directory capture-storms
	$(MAKE) --no-print-directory soak
	$(MAKE) --no-print-directory fuzz SECONDS=600
	$(MAKE) --no-print-directory judge
	cd Examples/Brightest && swift test -c release --disable-testable-imports
	SPROCKET_STRESS=10 $(PYTEST) Tests/Judges/test_kills.py
	SPROCKET_REPLUGS=50 SPROCKET_ERRORS_FOR=600 SPROCKET_FORMATS=all $(MAKE) --no-print-directory lab \
	  SECONDS=5400

# A fresh copy of what is tracked, and the program built in it. It has the Python packages of this tree.
copy: packages
	Tests/readme.sh copy
	mkdir -p .build/readme/.build
	ln -sfnT ../../venv .build/readme/.build/venv
	$(MAKE) --no-print-directory --directory .build/readme examples

# Every command of the README and of its example, in that copy.
readme: copy .build/venv/installed
	env --unset=MAKEFLAGS CPU=$(CPU) Tests/readme.sh run

# For Tests/readme.sh: what `make` builds with.
flags:
	@echo '$(RELEASE)'

# libFuzzer and AddressSanitizer; the compiler has to be told to count what inputs reach. Optimised,
# because debug builds read a tenth as many inputs; tests see what is internal.
fuzz: test-packages $(program)
	SPROCKET_FUZZ=1 env --unset=SWIFT_EXEC swift build -c release -Xswiftc -enable-testing $(MODULE_CACHE) \
	  --sanitize=fuzzer \
	  --sanitize=address -Xswiftc -sanitize-coverage=edge,trace-cmp,inline-8bit-counters,pc-table \
	  --scratch-path .build/fuzz --product SprocketFuzz
	Tests/Fuzz/fuzz --sprocket $(SPROCKET) --program .build/fuzz/release/SprocketFuzz \
	  --seconds $(or $(SECONDS),60) $(FUZZ)

# The real binary and the kernel's own drivers. LAB passes on what pytest takes: make lab LAB='-k unplug'. As
# a step the machine starts while the program is built.
LAB_PASSED := .build/lab/out
lab: lab-packages $(if $(STEPS_FOR),,$(JUDGES_NEED)) .build/lab/dequeued.so
	mkdir -p $(LAB_PASSED)
	SPROCKET=$(SPROCKET) Tests/Lab/lab --limit $(or $(SECONDS),$(if $(STEPS_FOR),7200,2700)) \
	  $(if $(filter all,$(STEPS_FOR)),--out $(LAB_PASSED)) $(if $(STEPS_FOR),--after 'Tests/step --await copy') \
	  .build/venv/bin/python -u -m pytest -v --no-header --tb=short $(PYTEST_OPTIONS) Tests/Lab $(PICK) $(LAB)
lab: PASSED := /out

# The lab's kernel, so that it is there when the lab begins.
lab-kernel: lab-packages
	Tests/Lab/lab --prepare

.build/lab/dequeued.so: Tests/Lab/dequeued.c | lab-packages
	mkdir -p $(@D)
	cc -O2 -Wall -Werror -shared -fPIC -o $@ $<

bench: bench-packages release .build/venv/installed .build/venv/bench
	CPU=$(CPU) .build/venv/bin/python Benchmarks/run --sprocket $(SPROCKET)

# MINUTES=1 for a shorter one.
soak: test-packages release
	Benchmarks/soak --sprocket $(SPROCKET) --minutes $(or $(MINUTES),10)

# Made here and then copied, as root where PREFIX is root's. DESTDIR is put before PREFIX, for packages.
# A launcher stands before the program, see Tools/launcher.c.
PREFIX ?= /usr/local
PROGRAM_FILE := libexec/sprocket/sprocket
PLOTTER_FILE := libexec/sprocket/sprocket-plot
# They keep their places to each other, so that their links hold.
DOCUMENTS := README.md CHANGELOG.md LICENSE $(wildcard docs/*.*) \
  $(wildcard $(foreach ending,md png svg,Plugins/*/*.$(ending) Examples/*/*.$(ending) Python/*.$(ending)))
DOCUMENT_FOLDER := share/doc/sprocket
MANUAL := share/man/man1/sprocket.1
COMPLETIONS := share/bash-completion/completions/sprocket share/zsh/site-functions/_sprocket \
  share/fish/vendor_completions.d/sprocket.fish
INSTALLED := bin/sprocket $(PROGRAM_FILE) $(PLOTTER_FILE) $(MANUAL) $(COMPLETIONS) \
  $(DOCUMENTS:%=$(DOCUMENT_FOLDER)/%)
STAGE := .build/install
# The libraries that the launcher looks for.
LISTED := Tools/libraries
TARGET = $(DESTDIR)$(PREFIX)

# These bring all others along. Look at the pages under http://localhost:8000/documentation, after
# `python3 -m http.server --directory .build/documentation`.
DOCUMENTED := SprocketCapture SprocketCommandLine SprocketTesting
docs: packages
	for target in $(DOCUMENTED); do swift build $(RELEASE) --target $$target; done
	python3 Tools/documentation.py "$$(swift build $(RELEASE) --show-bin-path)/Modules" .build/documentation

full-prefix:
	@[[ "$(PREFIX)" = /* ]] || { echo "give PREFIX as a full path: PREFIX=$(CURDIR)/$(PREFIX)" >&2; exit 1; }

install: full-prefix install-packages $(program)
	rm -rf $(STAGE)
	mkdir -p $(sort $(dir $(INSTALLED:%=$(STAGE)/%)))
	install --strip $(SPROCKET) $(STAGE)/$(PROGRAM_FILE)
	sed '1i #!/usr/bin/env python3' Tools/plot.py >$(STAGE)/$(PLOTTER_FILE)
	cp --parents $(DOCUMENTS) $(STAGE)/$(DOCUMENT_FOLDER)
	$(LISTED) $(SPROCKET) >$(STAGE)/libraries.h
	clang -O2 -Wall -Wextra -Werror $(CPU:%=-march=%) -DPROGRAM='"$(PROGRAM_FILE)"' \
	  -DLIBRARIES='"$(CURDIR)/$(STAGE)/libraries.h"' -o $(STAGE)/bin/sprocket Tools/launcher.c
	python3 Tools/manual.py $(SPROCKET) >$(STAGE)/$(MANUAL)
	set -- bash zsh fish; for file in $(COMPLETIONS); do \
	  $(SPROCKET) completions $$1 >$(STAGE)/$$file; shift; done
	mkdir -p "$(TARGET)" 2>/dev/null || true
	asRoot=$$([ -w "$(TARGET)" ] || echo sudo); for file in $(INSTALLED); do \
	  case $$file in share/*) mode=644 ;; *) mode=755 ;; esac; \
	  $$asRoot install -D --mode $$mode "$(STAGE)/$$file" "$(TARGET)/$$file"; done

uninstall: full-prefix
	asRoot=$$([ -w "$(TARGET)" ] || echo sudo); cd "$(TARGET)"; \
	  $$asRoot rm -f $(INSTALLED); \
	  for folder in $(sort $(dir $(INSTALLED))); do [ ! -d $$folder ] \
	    || case /$$folder in $(if $(filter /usr /usr/local,$(PREFIX)),*/sprocket/*,*)) $$asRoot \
	      rmdir --parents --ignore-fail-on-non-empty $$folder;; esac; done

# A package of Debian, in DIST. `make deb CPU=` makes one for every processor.
DIST := dist
deb: PREFIX = /usr
deb: DESTDIR = $(CURDIR)/.build/deb
deb: deb-clean deb-packages install
	Tools/deb "$(DESTDIR)" "$(DIST)"
deb-clean:
	rm -rf .build/deb

# Python's package, with all that `make install` installs, and the libraries: the launcher looks for none.
wheel: PREFIX = $(CURDIR)/.build/wheel
wheel: LISTED = true
wheel: wheel-packages install
	rm -f dist/*.whl
	python3 Tools/wheel.py Python $(PREFIX) dist

format:
	swift format --in-place --recursive $(SWIFT_FILES)

clean:
	rm -rf .build demo dist Benchmarks/.build $(wildcard Examples/*/.build)

# The judges look at plots, too.
.build/venv/installed: Tests/requirements.txt .build/venv/plot
	.build/venv/bin/pip install --quiet --requirement Tests/requirements.txt
	touch $@

.build/venv/plot: Tools/requirements.txt | plot-packages
	python3 -m venv .build/venv
	.build/venv/bin/pip install --quiet --requirement Tools/requirements.txt
	touch $@

.build/venv/bench: Benchmarks/requirements.txt .build/venv/plot
	.build/venv/bin/pip install --quiet --requirement Benchmarks/requirements.txt
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
install-packages:
	$(call install,$(INSTALL_PACKAGES))
deb-packages:
	$(call install,$(DEB_PACKAGES))
wheel-packages:
	$(call install,$(WHEEL_PACKAGES))
test-packages:
	$(call install,$(TEST_PACKAGES))
lab-packages:
	$(call install,$(LAB_PACKAGES))
example-packages:
	$(call install,$(EXAMPLE_PACKAGES))
bench-packages:
	$(call install,$(BENCH_PACKAGES))
plot-packages:
	$(call install,$(PLOT_PACKAGES))
