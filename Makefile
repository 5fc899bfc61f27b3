# make demo       see what TokenKeep does
# make test       proves every capability once, and says what each goal took
# make verify     all the rest, hours: every fault at each moment, long histories, sanitizers, machines, figures
#
# Building and installing
#   make library && sudo make install PREFIX=/usr/local          make uninstall removes it
#   make build                   the debug build of everything in Swift
#   make deps                    installs with apt what building and packaging need; make test-deps: what the tests need, too
#   make deb                     Debian packages in build/packages; make rpm: RPM packages; make dist: the source with all its parts
#   make release                 tarball, Debian packages and SBOM, built from nothing and tested, with their sums and a signature
#   make docs                    the documentation of the C and the Swift API, in docs/c-reference.md and build/*.doccarchive
#   make format                  formats in place
#   make clean
#
# Goals of `make test` that one may want alone
#   make test-swift test-vectors test-abi test-cli test-examples test-consumers test-servers
#   make test-fleet              devices of a fleet on a real etcd
#   make test-tools              the helpers of git, docker, cargo and others, by these programs
#   make test-login-short        signs a test's user in through PAM, as root
#   make test-provider test-agent test-tpm-short test-devices test-faults-short
#
# Parts of `make verify`; `make verify-part` makes the one that the commit's number chooses
#   make verify-faults           kills and breaks the program at each moment of its changes; `make test` does at each fifth
#   make verify-histories        long random histories of items, keyrings, desktops and devices; mutations of files; forks
#   make verify-threads verify-threads-rest verify-memory       the Swift tests under ThreadSanitizer and AddressSanitizer
#   make verify-systems          machines with systemd; su, sshd and pam-auth-update; each fault of a TPM and of its wire
#   make verify-packages         packages of others by path and by URL, all examples as packages, DocC, builds that are the same
#   make verify-release          the Swift tests, built for release
#   make verify-servers          eight terminals share a session for ten minutes, while all around them is disturbed; sign-ins by Chromium;
#                                a fleet whose watch is dead for minutes
#   make verify-provider         the provider: 500 kills, 200 power cuts, 2 000 sessions of each client, 300 histories against a model;
#                                Chromium's cookies; Seahorse; GNOME Online Accounts; dbus-broker
#   make verify-fuzz             each reader of foreign bytes
#   make verify-figures          a short form of make bench
#   make verify-downloads        keyrings, lockers, git, etcd and systemd of other Debians (3 GB from a mirror, root)
#
# As long as you say
#   make bench                   figures beside those of peers, and docs/figures.svg; nothing is asserted
#   make bench-login             what a login and the agent cost, on a machine with systemd, as root
#   make test-model HISTORIES=100000 SEED=1        random histories of items, from that seed on
#   make test-mutations MUTATIONS=50000            of each kind of file
#   make test-histories HISTORIES=200              on a real gnome-keyring, with a second program and clocks that jump
#   make test-agent-model HISTORIES=10000          of a desktop, with the agent
#   make test-device-histories HISTORIES=200       of a vault that is bound to a device
#   make soak MINUTES=1440       terminals that share a session
#   make fuzz SECONDS=600        each reader of a session's bytes so long; fuzz-agent, fuzz-tpm: requests
#   make fuzz-provider MESSAGES=1000000     so many calls of random types

# Relative: the directory's own name may hold a space.
STAGE := build/stage
PREFIX ?= /usr/local

HISTORIES ?= 2000
MUTATIONS ?= 50000
SEED ?= 1
MINUTES ?= 20
SECONDS ?= 600
MESSAGES ?= 1000000

.PHONY: help demo test verify verify-part deps test-deps deps-library deps-demo build build-tests library stage install uninstall dist deb rpm sbom release release-check docs format check-format clean \
        test-layout test-messages test-swift test-vectors test-abi test-cli test-login-short test-agent test-tpm-short test-devices \
        test-screen-lock test-examples test-consumers test-python test-provider test-servers test-fleet test-tools test-faults-short \
        verify-faults verify-histories verify-threads verify-threads-rest verify-memory verify-systems verify-packages \
        verify-release verify-servers verify-provider verify-fuzz verify-figures verify-downloads \
        test-faults test-faults-modules test-faults-vault test-login test-tpm test-systemd test-swift-packages test-packages test-crowd compare-builds \
        test-release test-keyring-histories test-model test-mutations test-histories test-agent-model test-device-histories \
        test-forks test-browser test-newer-git test-newer-etcd test-providers test-desktops test-systemd-credentials sanitize soak fuzz fuzz-agent fuzz-tpm fuzz-provider bench bench-short bench-login

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

demo: deps-demo stage
	@examples/demo.sh $(STAGE)

# Lists at a time: the compilers of the release build wait for each other's modules, and most tests wait. SwiftPM builds no
# consumer while it runs the Swift tests, so those end before.
INSTALLED := test-vectors+test-abi+test-cli+test-login-short+test-agent+test-tpm-short+test-devices+test-servers+test-python
USED := test-examples+test-provider+test-tools+test-fleet+test-consumers

test: test-deps
	@scripts/goals.py check-format test-layout test-messages build-tests/stage test-screen-lock test-swift+test-faults-short/$(INSTALLED)/$(USED)
	@echo "All tests passed."

# None of these needs more than what apt installs, and each ends within 20 minutes on two cores.
PARTS := faults histories threads threads-rest memory systems packages release servers provider fuzz figures

verify: test-deps
	@scripts/goals.py build-tests/stage $(PARTS:%=verify-%) verify-downloads

# Commits one after another verify one part after another. A shallow clone counts no commits, and takes the commit's name.
verify-part: test-deps
	@part=$$(scripts/part-of-commit.sh $(PARTS)) && scripts/goals.py build-tests/stage "verify-$$part"

# 50 rounds of the races, or as many as an hour allows.
verify-faults: export TOKENKEEP_RACES = --rounds 50 --minutes 60
verify-faults: test-faults
	TOKENKEEP_EVERY_MOMENT=1 Tests/CLI/run.sh $(STAGE)/bin/tokenkeep import_killed
	TOKENKEEP_EVERY_MOMENT=1 Tests/Tools/run.py $(STAGE)/bin a_killed_setup random_bytes a_request_that_is_cut

verify-histories: test-deps stage build-tests test-keyring-histories
	@$(MAKE) --no-print-directory -o test-deps -o build-tests test-model HISTORIES=10000
	@$(MAKE) --no-print-directory -o test-deps -o build-tests test-mutations
	@$(MAKE) --no-print-directory -o test-deps -o stage test-histories HISTORIES=60
	@$(MAKE) --no-print-directory -o test-deps -o stage test-agent-model HISTORIES=1000
	@$(MAKE) --no-print-directory -o test-deps -o stage test-device-histories HISTORIES=20
	@$(MAKE) --no-print-directory -o stage test-forks

# Races in what has threads, and the C API's memory. gcc 12's AddressSanitizer may hang in a child of a program with threads;
# the toolchain's clang does not.
verify-threads: test-deps stage
	scripts/sanitize.sh thread threads
	CC=clang Tests/ABI/run.sh --sanitize $(STAGE)

verify-threads-rest: test-deps
	scripts/sanitize.sh thread rest

verify-memory: test-deps
	scripts/sanitize.sh address

verify-systems: test-systemd test-login test-tpm

verify-packages: test-swift-packages test-packages docs compare-builds

verify-release: test-release

verify-servers: test-crowd test-browser
	Tests/Fleet/run.py $(STAGE)/bin/tokenkeep --slow
	@$(MAKE) --no-print-directory -o test-deps -o stage soak MINUTES=10

# 500 kills with four clients, 200 power cuts, 2 000 sessions of each kind of client, 300 histories against the model; the suites
# of secretstorage and Python's keyring, which PyPI must have; Chromium and Seahorse in a window, the daemon of GNOME Online
# Accounts, which apt must have; dbus-broker in place of dbus-daemon.
verify-provider: test-deps stage
	ROUNDS=500 CUTS=200 SESSIONS=2000 HISTORIES=300 STEPS=100 $(PROVIDER_TESTS) \
	    test_faults.Kills test_power test_sessions test_model suites browser desktop resident others
	@command -v dbus-broker > /dev/null || apt-get install -y -qq --no-install-recommends dbus-broker > /dev/null
	BUS=dbus-broker $(PROVIDER_TESTS) test_interface test_order test_locks test_model test_messages test_replays test_clients.Names
	@$(MAKE) --no-print-directory -o test-deps -o stage fuzz-provider MESSAGES=200000

verify-fuzz: test-deps stage
	@$(MAKE) --no-print-directory -o test-deps fuzz SECONDS=10
	@$(MAKE) --no-print-directory -o test-deps fuzz-tpm SECONDS=30
	@$(MAKE) --no-print-directory -o test-deps -o stage fuzz-agent SECONDS=30

verify-figures: bench-short

# Their first runs fetch systems of their own, into /var/cache.
verify-downloads: test-providers test-systemd-credentials test-desktops test-newer-git test-newer-etcd

sanitize: verify-threads verify-threads-rest verify-memory

# What building and packaging need, and nothing of a desktop; then what the tests need.
deps:
	@scripts/install-dependencies.sh packages

test-deps:
	@scripts/install-dependencies.sh all

# What a goal needs alone: `make library` installs nothing for packages or tests.
deps-library deps-demo:
	@scripts/install-dependencies.sh $(@:deps-%=%)

# One debug build for all goals: another value of the variable changes the manifest, and everything is linked again.
build build-tests test-swift test-keyring-histories test-model test-mutations test-examples test-servers test-crowd: \
    export TOKENKEEP_PROGRAM = 1

build: deps-library
	swift build

build-tests: test-deps
	swift build --build-tests

library: deps-library
	cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$(PREFIX)"
	cmake --build build

# The tests and the demo use the package as it is installed: alone in its place, whatever an earlier one had.
stage: library
	rm -rf $(STAGE)
	DESTDIR= cmake --install build --prefix "$(CURDIR)/$(STAGE)" > build/stage.log

# As root nothing is built, nor a dependency installed. DESTDIR is honoured.
install:
	@[ -f build/cmake_install.cmake ] || { echo "Nothing is built yet: make library PREFIX=$(PREFIX)" >&2; exit 2; }
	cmake --install build --prefix "$(PREFIX)"

# Needs no build: the installation has the list of its files. DESTDIR is honoured.
uninstall:
	@scripts/uninstall.sh "$(PREFIX)"

# The source of a release with all its parts; packages of it. Results in build/packages.
dist:
	@scripts/dist.sh

deb: deps dist
	@scripts/deb.sh

rpm: dist
	@scripts/rpm.sh

# One CycloneDX file: what is linked in and what is loaded.
sbom: library
	@mkdir -p build/packages
	@scripts/sbom.py build > build/packages/tokenkeep.cdx.json
	@echo build/packages/tokenkeep.cdx.json

# After changes that move much code: the list that the linker follows (cmake/function-order.txt).
order-functions: test-deps stage
	scripts/order-functions.py .build-release/release/tokenkeep-secret-service .build-release/release/tokenkeep-credential \
	    $(STAGE)/bin/tokenkeep

# All that must hold before a tag; QUICK=1 leaves out the tests.
release-check:
	@scripts/release-check.py
	@[ -n "$(QUICK)" ] || $(MAKE) --no-print-directory test test-release test-packages

# What is signed is what was tested: everything is built before the tests, from nothing.
release: deps
	@scripts/release-check.py
	rm -rf build/packages
	@$(MAKE) --no-print-directory -o deps deb
	@scripts/sbom.py build/packages/work/tokenkeep-*/obj-* > build/packages/tokenkeep.cdx.json
	@[ -n "$(QUICK)" ] || $(MAKE) --no-print-directory test test-release
	@[ -n "$(QUICK)" ] || $(MAKE) --no-print-directory TOKENKEEP_BUILT=1 test-packages
	@scripts/release.sh

check-format: test-deps
	@scripts/format.sh --check

format: test-deps
	@scripts/format.sh

# A target imports targets of lower floors alone, and reads the clock at one place. Public functions say how they fail. Lines of
# documents end at 120 columns. The scripts that install dependencies and make goals have tests of their own.
test-layout:
	@Tests/Layout/check_imports.py
	@Tests/Layout/check_clock.py
	@Tests/Layout/check_test_time.py
	@Tests/Layout/check_lines.py
	@Tests/Layout/check_agent.py
	@Tests/Layout/check_statuses.py
	@Tests/Layout/check_statuses_cases.py
	@Tests/Layout/check_dependencies.sh
	@Tests/Layout/check_goals.sh
	@Tests/Layout/check_packaging.py
	@Tests/Layout/check_release.sh
	@Tests/Layout/check_signing.sh
	@Tests/Layout/check_pam_scripts.sh

# A test expects every error message word for word, but for those of a list with the reasons.
test-messages:
	@Tests/Messages/check.py

# Tests that end a process of their own run alone: Swift Testing waits for any child of the tests, and waits in vain while
# another test's child has ended and was not waited for.
OWN_PROCESSES := ProcessTests|LeakTests
RELEASE_TESTS := .build-tests-release

# These move the clock of their process: they run alone, too, and one at a time.
MOVE_THE_CLOCK := MovedClockTests

# Compiled Python in the folders of Swift tests is a warning of SwiftPM's.
export PYTHONDONTWRITEBYTECODE := 1

# More tests at a time end no earlier.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH := 4

# Gives programs a clock that is slower than the real one: a stalled machine meets their limits.
CLOCK := Tests/Support/Clock/run.sh
SWIFT_TEST := $(CLOCK) swift test --skip-build --disable-xctest
# Ends tests that hang: an hour, which a slow machine does not need.
HANG := timeout 3600

test-swift: export TOKENKEEP_MODEL_COUNT ?= 500
test-swift: build-tests
	$(HANG) $(SWIFT_TEST) --skip "$(OWN_PROCESSES)|$(MOVE_THE_CLOCK)"
	$(HANG) $(SWIFT_TEST) --filter "$(OWN_PROCESSES)"
	$(HANG) $(SWIFT_TEST) --no-parallel --filter "$(MOVE_THE_CLOCK)"

# The journal's histories with the items in the kernel's keyring: one at a time, for the example has a budget.
test-keyring-histories: build-tests
	TOKENKEEP_MODEL_MODULE=keyctl TOKENKEEP_MODEL_COUNT=400 $(SWIFT_TEST) --no-parallel \
	    --filter "JournalTests|ModelTests"

# The same in release, whose optimisations show other faults. The tests' program is started itself:
# `swift test -c release --skip-build` of 6.3 finds no tests, and its second build fails unless the first one's plan is removed.
RELEASE_TESTER = $(CLOCK) $(RELEASE_TESTS)/release/TokenKeepPackageTests.xctest --testing-library swift-testing
test-release: test-deps
	rm -f $(RELEASE_TESTS)/release.yaml $(RELEASE_TESTS)/*/release/description.json
	swift build -c release --build-tests -Xswiftc -enable-testing --scratch-path $(RELEASE_TESTS)
	$(HANG) $(RELEASE_TESTER) --skip "$(OWN_PROCESSES)|$(MOVE_THE_CLOCK)"
	$(HANG) $(RELEASE_TESTER) --filter "$(OWN_PROCESSES)"
	$(HANG) $(RELEASE_TESTER) --no-parallel --filter "$(MOVE_THE_CLOCK)"

# A failure prints its seed and the shortest of its histories that fails.
test-model: build-tests
	@echo "$(HISTORIES) histories from seed $(SEED) on"
	TOKENKEEP_MODEL_COUNT=$(HISTORIES) TOKENKEEP_MODEL_SEED=$(SEED) $(SWIFT_TEST) --filter ModelTests

# So many mutations of each kind of file, from that seed on.
test-mutations: build-tests
	TOKENKEEP_MUTATIONS=$(MUTATIONS) TOKENKEEP_MODEL_SEED=$(SEED) $(SWIFT_TEST) --filter MutationTests

test-vectors: test-deps stage
	Tests/Vectors/run.sh $(STAGE)

test-abi: test-deps stage
	Tests/ABI/run.sh $(STAGE)

# Forks 20 000 times while other threads use the library; test-abi does 200 times.
test-forks: stage
	TOKENKEEP_FORKS=20000 Tests/ABI/forks.sh $(STAGE)

test-cli: test-deps stage
	Tests/CLI/run.sh $(STAGE)/bin/tokenkeep
	scripts/manual.py $(STAGE)/bin/tokenkeep --check
	cmp data/man/tokenkeep.1 $(STAGE)/share/man/man1/tokenkeep.1
	bash -n $(STAGE)/share/bash-completion/completions/tokenkeep

# The Swift examples as the debug build has them, which sees of the library what is public.
test-examples: test-deps stage build
	Tests/Examples/run.sh $(STAGE) .build/debug
	Tests/Examples/login_helper.py $(STAGE) --without OnADesktop

# An agent ends the keys of all the user's vaults when the screen is locked: no other test runs beside.
test-screen-lock: test-deps stage
	Tests/Examples/login_helper.py $(STAGE) OnADesktop

# The credential helpers and `tokenkeep setup`, by git, docker, cargo and others: what apt does not have is left out, and said.
test-tools: test-deps stage
	Tests/Tools/run.py $(STAGE)/bin

# git's helper with the git of Debian 13: the first run makes a root with mmdebstrap, as root.
test-newer-git: test-deps stage
	Tests/Tools/newer_git.py $(STAGE)/bin

# What a Swift package that depends on ours fetches; programs in other languages beside an installation that was moved.
test-consumers: test-deps stage build
	Tests/Consumers/swift/run.sh .build/debug
	Tests/Consumers/moved.sh $(STAGE)
	Tests/Consumers/uninstalled.sh build

# The Python package and its keyring backend, in its folder and as a wheel with keyring, pip, twine and uv of PyPI. Without PyPI
# it says "skipped", and fails.
test-python: test-deps stage
	Tests/Python/run.py $(STAGE)

# Swift packages that depend on ours by path and by the URL of a clone of what is committed: the tests' and the examples.
test-swift-packages: test-deps stage
	Tests/Consumers/swift/run.sh
	Tests/Examples/packages.sh $(STAGE)

# The Debian packages on a clean Debian 12 without a network, which mmdebstrap makes once; the tarball as others use it; vaults,
# programs and modules of releases before. As root. TOKENKEEP_BUILT=1 takes the packages that lie in build/packages;
# OLDER_PREFIX=DIRECTORY is an installation of the release before, whose program and today's take turns on one vault.
test-packages: test-deps stage $(if $(TOKENKEEP_BUILT),,deb)
	Tests/Packages/run.sh build/packages
	Tests/Packages/tarball.sh build/packages
	Tests/Packages/wrong_use.sh
	Tests/Upgrade/run.sh $(STAGE) $(OLDER_PREFIX)

# The provider of org.freedesktop.secrets with clients that exist, on buses of its own.
PROVIDER_TESTS := Tests/Provider/run.sh $(STAGE)/libexec/tokenkeep/tokenkeep-secret-service $(STAGE)/bin/tokenkeep

test-provider: test-deps stage
	$(PROVIDER_TESTS)

# So many messages of random types, while another client asks for its token.
fuzz-provider: test-deps stage
	MESSAGES=$(MESSAGES) SEED=$(SEED) $(PROVIDER_TESTS) test_faults.Fuzzed

# Sessions against real authorization servers: Glewlwyd, and django-oauth-toolkit from PyPI. Without PyPI it says
# "skipped", and fails.
test-servers: test-deps stage build
	Tests/Servers/run.py $(STAGE)
	Tests/Servers/crowd.py $(STAGE) .build/debug/tokenkeep-crowd 20

# Devices of a fleet, on the etcd that is installed.
test-fleet: test-deps stage
	Tests/Fleet/run.py $(STAGE)/bin/tokenkeep

# The same with the etcd of Debian 13: the first run fetches that with mmdebstrap, as root.
test-newer-etcd: test-deps stage
	Tests/Fleet/newer_etcd.py trixie $(STAGE)/bin/tokenkeep

test-crowd: test-deps stage build
	Tests/Servers/crowd.py $(STAGE) .build/debug/tokenkeep-crowd 200

# Sign-ins by a real browser: what it shows, and what it keeps. Chromium comes by apt (300 MB) if root runs this.
test-browser: test-deps stage
	Tests/Browser/run.py $(STAGE)/bin/tokenkeep

soak: test-deps stage
	Tests/Servers/soak.py $(STAGE) $(MINUTES)

fuzz: test-deps
	Tests/Fuzz/run.sh $(SECONDS)

# The agent against false login1, screensavers and clients, as a user of its own (run.sh).
AGENT := $(STAGE)/libexec/tokenkeep/tokenkeep-agent

test-agent: test-deps stage
	Tests/Agent/run.sh $(AGENT)
	Tests/Agent/run.sh $(AGENT) program $(STAGE)/bin/tokenkeep
	Tests/Agent/run.sh $(AGENT) model 100 $(SEED)

test-agent-model: test-deps stage
	Tests/Agent/run.sh $(AGENT) model $(HISTORIES) $(SEED)

fuzz-agent: test-deps stage
	Tests/Agent/run.sh $(AGENT) fuzz $(SECONDS) $(SEED)

# tokenkeep-tpm2 on software TPMs: two of the groups, or all.
TPM2 := $(STAGE)/libexec/tokenkeep/tokenkeep-tpm2

test-tpm: test-deps stage
	Tests/TPM/run.sh $(TPM2)

test-tpm-short: test-deps stage
	Tests/TPM/run.sh $(TPM2) short

fuzz-tpm: test-deps
	Tests/TPM/fuzz.sh $(SECONDS)

# Adversaries of the levels of a device: machines with a TPM, systemd's credentials and a machine key, as root.
test-devices: test-deps stage
	Tests/Devices/run.sh $(STAGE) table.py

test-device-histories: test-deps stage
	Tests/Devices/run.sh $(STAGE) histories.py $(HISTORIES) $(SEED)

# The provider systemd against that of Debian 13, with a software TPM (60 MB).
test-systemd-credentials: test-deps stage
	Tests/Devices/run.sh $(STAGE) real_systemd.py

docs: test-deps
	@scripts/docs.sh

# Two at a time: they wait for deadlines and for the disk.
test-faults: test-deps stage
	@$(MAKE) --no-print-directory -j 2 -o test-deps -o stage test-faults-modules test-faults-vault

# The same at every fifth moment.
test-faults-short: export TOKENKEEP_FAULTS_SHARE = 5
test-faults-short: export TOKENKEEP_RACES = --rounds 1
test-faults-short: test-faults

test-faults-modules: test-deps stage
	Tests/Faults/run.py $(STAGE)

test-faults-vault: test-deps stage
	Tests/Faults/moves.py $(STAGE)/bin/tokenkeep
	Tests/Faults/passwords.py $(STAGE)/bin/tokenkeep
	Tests/Faults/attacker.py $(STAGE)/bin/tokenkeep
	Tests/Faults/races.py $(STAGE)/bin/tokenkeep $(TOKENKEEP_RACES)
	Tests/Faults/sealed.py $(STAGE)

# Histories on a real keyring with another program and a clock that jumps.
test-histories: test-deps stage
	Tests/Faults/histories.py $(STAGE) $(HISTORIES) $(SEED)

# The PAM module; with su, sshd and pam-auth-update, or without these three.
test-login: test-deps stage
	Tests/Login/run.py $(STAGE) --all
	Tests/Login/ssh.py $(STAGE)

test-login-short: test-deps stage
	Tests/Login/run.py $(STAGE)
	Tests/Login/ssh.py $(STAGE)

# A machine whose systemd signs the test's user in and out, serves its TPM, and gives units the vault's password, by
# systemd-nspawn, as root.
test-systemd: test-deps stage
	Tests/Systems/sessions.py build
	Tests/Systems/devices.py build
	Tests/Systems/credentials.py build

# Real lockers and display managers on such a machine: 200 MB by apt, into /var/cache/tokenkeep-machine.
test-desktops: stage
	Tests/Systems/desktops.py build

# Keyrings of other Debians: the first run makes two roots with mmdebstrap. PROVIDERS=KWallet chooses rows.
test-providers: stage
	command -v mmdebstrap > /dev/null || apt-get install -y mmdebstrap
	Tests/Providers/run.py $(STAGE) $(PROVIDERS)

# Builds the packages of make deb a second time, in all else that may vary, and compares them byte by byte.
compare-builds: $(if $(TOKENKEEP_BUILT),,deb)
	scripts/compare-builds.sh

# Draws docs/figures.svg from the same run.
bench: stage
	Tests/Benchmarks/run.py $(STAGE) --plot docs/figures.svg

bench-short: stage
	Tests/Benchmarks/run.py $(STAGE) --short

bench-login: stage
	Tests/Benchmarks/login_figures.py $(STAGE)

clean:
	rm -rf build .build .build-release .build-thread .build-address .build-consumers .build-requests .build-bench $(RELEASE_TESTS) .build-fuzz
