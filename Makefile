# make demo      see what TokenKeep does       make test      everything that must pass
# make deps      what apt must install         make sanitize  the same code under the sanitizers
# make bench     figures beside those of peers make format    format in place
# make docs      the documentation of the C and the Swift API, in docs/c-reference.md and build/*.doccarchive
# make test-model HISTORIES=100000 SEED=1   plays as many random histories of items, from that seed on
# make test-histories HISTORIES=200   the same on a real gnome-keyring, with a second program and clocks that jump
# make test-providers      plays one list against the keyrings in use, in Debians of its own (2 GB, root)
# make test-release        the Swift tests, built for release
# make fuzz SECONDS=600    fuzzes each reader of a session's bytes so long
# make soak MINUTES=1440   eight terminals that share a session so long, while all around them is disturbed
# make test-agent-model HISTORIES=10000   plays random histories of a desktop against the agent
# make fuzz-agent SECONDS=600             sends the agent mutations of requests
# make test-desktops       lockers and display managers, in an overlay of this machine, by systemd-nspawn (root)
# make test-tpm            plays faults of a TPM and of its wire against tokenkeep-tpm2
# make test-devices        plays adversaries of the levels of a device, and 6 random histories of a vault that is bound to one
# make test-device-histories HISTORIES=200 SEED=1   plays as many such histories
# make test-systemd-credentials   the provider systemd against that of Debian 13, with a software TPM (60 MB, root)
# make fuzz-tpm SECONDS=600               fuzzes its reader of requests
# make test-faults      kills and breaks the program at each moment of its changes; `make test` does at each third
# make test-forks          forks 20 000 times while other threads use the library
# make compare-builds      builds the last commit in two places and compares them byte by byte
# make test-login          signs a test's user in through PAM, su and sshd, as root
# make library   what make install installs: make library && sudo make install PREFIX=/usr/local; make uninstall removes it

# Relative: the directory's own name may hold a space.
STAGE := build/stage
PREFIX ?= /usr/local

HISTORIES ?= 2000
MUTATIONS ?= 50000
SEED ?= 1
MINUTES ?= 20
SECONDS ?= 600

.PHONY: demo test deps deps-library deps-demo build library stage install uninstall bench sanitize sanitize-short format check-format clean \
        test-imports test-messages test-installed test-built test-swift test-model test-mutations test-vectors test-abi test-cli test-examples \
        test-faults test-faults-short test-faults-modules test-faults-vault test-agent test-agent-model fuzz-agent test-histories \
        test-providers test-consumers test-servers test-forks \
        compare-builds docs test-release soak fuzz test-login test-login-short test-systemd \
        test-desktops bench-login test-tpm test-tpm-short fuzz-tpm test-devices test-device-histories test-systemd-credentials

demo: deps-demo stage
	@examples/demo.sh $(STAGE)

# In the middle two lists at a time: the tests of the first one mostly wait, those of the second one build.
test: check-format test-imports test-messages test-swift stage
	@$(MAKE) --no-print-directory -j 2 -o deps -o stage test-installed test-built
	@$(MAKE) --no-print-directory -o deps -o stage test-faults-short test-systemd
	@echo "All tests passed."

test-installed: deps stage
	@$(MAKE) --no-print-directory -j 1 -o deps -o stage test-vectors test-abi test-cli test-login-short test-agent \
	    test-tpm-short test-devices

test-built: deps stage
	@$(MAKE) --no-print-directory -j 1 -o deps -o stage test-examples test-consumers test-servers docs

deps:
	@scripts/install-dependencies.sh all

# What a goal needs alone: `make library` installs nothing for tests.
deps-library deps-demo:
	@scripts/install-dependencies.sh $(@:deps-%=%)

build: deps-library
	TOKENKEEP_PROGRAM=1 swift build

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

check-format: deps
	@scripts/format.sh --check

format: deps
	@scripts/format.sh

# A target imports targets of lower floors alone.
test-imports:
	@Tests/Layout/check_imports.py

# A test expects every error message word for word, but for those of a list with the reasons.
test-messages:
	@Tests/Messages/check.py

# Tests that end a process of their own run alone: Swift Testing waits for any child of the tests, and waits in vain while
# another test's child has ended and was not waited for.
OWN_PROCESSES := ProcessTests|LeakTests
RELEASE_TESTS := .build-tests-release

# More tests at a time end no earlier, and each is slower than the deadlines in it.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH := 4

# The last run plays the journal's histories with the items in the kernel's keyring: one at a time, for the example has a
# budget.
test-swift: deps
	swift build --build-tests
	timeout 1500 swift test --skip-build --disable-xctest --skip "$(OWN_PROCESSES)"
	timeout 600 swift test --skip-build --disable-xctest --filter "$(OWN_PROCESSES)"
	TOKENKEEP_MODEL_MODULE=keyctl TOKENKEEP_MODEL_COUNT=400 swift test --skip-build --disable-xctest --no-parallel \
	    --filter "JournalTests|ModelTests|HistoryTests"

# The same in release, whose optimisations show other faults. Not a part of `make test`. The tests' program is started itself:
# `swift test -c release --skip-build` of 6.3 finds no tests, and its second build fails unless the first one's plan is removed.
RELEASE_TESTER = $(RELEASE_TESTS)/release/TokenKeepPackageTests.xctest --testing-library swift-testing
test-release: deps
	rm -f $(RELEASE_TESTS)/release.yaml $(RELEASE_TESTS)/*/release/description.json
	swift build -c release --build-tests -Xswiftc -enable-testing --scratch-path $(RELEASE_TESTS)
	timeout 1500 $(RELEASE_TESTER) --skip "$(OWN_PROCESSES)"
	timeout 600 $(RELEASE_TESTER) --filter "$(OWN_PROCESSES)"

# A failure prints its seed and the shortest of its histories that fails.
test-model: deps
	@echo "$(HISTORIES) histories from seed $(SEED) on"
	TOKENKEEP_MODEL_COUNT=$(HISTORIES) TOKENKEEP_MODEL_SEED=$(SEED) \
	    swift test --disable-xctest --filter ModelTests

# So many mutations of each kind of file, from that seed on.
test-mutations: deps
	TOKENKEEP_MUTATIONS=$(MUTATIONS) TOKENKEEP_MODEL_SEED=$(SEED) \
	    swift test --disable-xctest --filter MutationTests

test-vectors: deps stage
	Tests/Vectors/run.sh $(STAGE)

test-abi: deps stage
	Tests/ABI/run.sh $(STAGE)

test-cli: deps stage
	Tests/CLI/run.sh $(STAGE)/bin/tokenkeep

test-examples: deps stage
	Tests/Examples/run.sh $(STAGE)
	Tests/Examples/login_helper.py $(STAGE)

# A Swift package that depends on ours by path, and one by the URL of a clone of what is committed; programs in other
# languages beside an installation that was moved.
test-consumers: deps stage
	Tests/Consumers/swift/run.sh
	Tests/Consumers/moved.sh $(STAGE)
	Tests/Consumers/uninstalled.sh build

# Sessions against real authorization servers: Glewlwyd, and django-oauth-toolkit from PyPI. Without PyPI it says
# "skipped", and fails.
test-servers: deps stage
	Tests/Servers/run.py $(STAGE)
	TOKENKEEP_CROWD=1 swift build --product tokenkeep-crowd
	Tests/Servers/crowd.py $(STAGE) .build/debug/tokenkeep-crowd

# Not a part of `make test`, which reads mutations of the same inputs.
fuzz: deps
	Tests/Fuzz/run.sh $(SECONDS)

# Not a part of `make test`.
soak: deps stage
	Tests/Servers/soak.py $(STAGE) $(MINUTES)

# The agent against false login1, screensavers and clients, as a user of its own (run.sh).
AGENT := $(STAGE)/libexec/tokenkeep/tokenkeep-agent

test-agent: deps stage
	Tests/Agent/run.sh $(AGENT)
	Tests/Agent/run.sh $(AGENT) program $(STAGE)/bin/tokenkeep
	Tests/Agent/run.sh $(AGENT) model 300 $(SEED)
	Tests/Agent/run.sh $(AGENT) fuzz 20 $(SEED)

# Not parts of `make test`.
test-agent-model: deps stage
	Tests/Agent/run.sh $(AGENT) model $(HISTORIES) $(SEED)

fuzz-agent: deps stage
	Tests/Agent/run.sh $(AGENT) fuzz $(SECONDS) $(SEED)

# tokenkeep-tpm2 on software TPMs. `make test` runs the first two groups and 20 s of fuzzing.
TPM2 := $(STAGE)/libexec/tokenkeep/tokenkeep-tpm2

test-tpm: deps stage
	Tests/TPM/run.sh $(TPM2)

test-tpm-short: deps stage
	Tests/TPM/run.sh $(TPM2) short
	Tests/TPM/fuzz.sh 20

# Machines with a TPM, systemd's credentials and a machine key, as root.
test-devices: deps stage
	Tests/Devices/run.sh $(STAGE) table.py
	Tests/Devices/run.sh $(STAGE) histories.py 6 $(SEED)

test-systemd-credentials: deps stage
	Tests/Devices/run.sh $(STAGE) real_systemd.py

test-device-histories: deps stage
	Tests/Devices/run.sh $(STAGE) histories.py $(HISTORIES) $(SEED)

fuzz-tpm: deps
	Tests/TPM/fuzz.sh $(SECONDS)

docs: deps
	@scripts/docs.sh

# Two at a time: they wait for deadlines and for the disk.
test-faults: deps stage
	@$(MAKE) --no-print-directory -j 2 -o deps -o stage test-faults-modules test-faults-vault

# The same at every third moment.
test-faults-short: export TOKENKEEP_FAULTS_SHARE = 3
test-faults-short: test-faults

test-faults-modules: deps stage
	Tests/Faults/run.py $(STAGE)

test-faults-vault: deps stage
	Tests/Faults/moves.py $(STAGE)/bin/tokenkeep
	Tests/Faults/passwords.py $(STAGE)/bin/tokenkeep
	Tests/Faults/attacker.py $(STAGE)/bin/tokenkeep
	Tests/Faults/sealed.py $(STAGE)
	Tests/Faults/histories.py $(STAGE) 20 $(SEED)

# The PAM module: su, sshd and pam-auth-update too. `make test` leaves these three out.
test-login: deps stage
	Tests/Login/run.py $(STAGE) --all

test-login-short: deps stage
	Tests/Login/run.py $(STAGE)
	Tests/Login/ssh.py $(STAGE)

# A machine whose systemd signs the test's user in and out, and serves its TPM, by systemd-nspawn, as root.
test-systemd: deps stage
	Tests/Systems/sessions.py build
	Tests/Systems/devices.py build

# Real lockers and display managers on such a machine. Not a part of `make test`: the first run fetches 200 MB by apt, into
# /var/cache/tokenkeep-machine.
test-desktops: stage
	Tests/Systems/desktops.py build

# Histories on a real keyring with another program and a clock that jumps; `make test` plays 20.
test-histories: deps stage
	Tests/Faults/histories.py $(STAGE) $(HISTORIES) $(SEED)

# Not a part of `make test`, which forks 200 times.
test-forks: stage
	TOKENKEEP_FORKS=20000 Tests/ABI/forks.sh $(STAGE)

# Not a part of `make test`: its first run makes two roots with mmdebstrap. PROVIDERS=KWallet chooses rows.
test-providers: stage
	command -v mmdebstrap > /dev/null || apt-get install -y mmdebstrap
	Tests/Providers/run.py $(STAGE) $(PROVIDERS)

# gcc 12's AddressSanitizer may hang in a child of a program with threads; the toolchain's clang does not.
compare-builds: deps-library
	scripts/compare-builds.sh

sanitize: deps stage sanitize-short
	scripts/sanitize.sh thread rest
	scripts/sanitize.sh address

# Races in what has threads, and the C API's memory: a third of the time.
sanitize-short: deps stage
	scripts/sanitize.sh thread threads
	CC=clang Tests/ABI/run.sh --sanitize $(STAGE)

bench: stage
	Tests/Benchmarks/run.py $(STAGE)

# What a login and the agent cost, on a machine with systemd, as root.
bench-login: stage
	Tests/Benchmarks/login_figures.py $(STAGE)

clean:
	rm -rf build .build .build-release .build-thread .build-address .build-example $(RELEASE_TESTS) .build-fuzz
