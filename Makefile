# SPDX-License-Identifier: Apache-2.0
# nnhal: a thin layer over Meson. Each target installs what it misses and says so.
#   make build       build/nnhal, build/nnt, build/libneuralnetworks.so and the drivers
#   make run         classify pictures with a model of this repository through a service
#   make test        everything that a change must pass, sanitizers included
#   make test-long   the big counts: kills, races, fuzzing
#   make test-aarch64 builds for 64-bit ARM; unit tests in an emulator
#   make test-dmabuf dma-bufs and fences of a real kernel, in a virtual machine
#   make fuzz        searches for inputs that break a parser
#   make coverage    which branches the tests take, of what parses and shares
#   make mutants     small changes of the source, each of which a test must notice
#   make bench       speed, as ratios within one run
#   make bench-peers speed beside TensorFlow Lite and ONNX Runtime, which npm fetches
#   make install     DESTDIR= and prefix= as usual; make uninstall removes what the last one installed
#   make deb         Debian packages, in build-deb/
#   make test-packages tries them on a fresh Debian
#   make test-reproducible builds them again, in another folder, and compares
prefix ?= /usr/local
DESTDIR ?=

all: build

deps-%:
	@scripts/install-deps.sh $*

build/build.ninja:
	@echo "building nnhal: some minutes the first time"
	@meson setup build --prefix $(prefix) -Dtests=false >/dev/null || \
		(meson setup build --prefix $(prefix) -Dtests=false; exit 1)

# On a terminal ninja shows how far it is, in one line.
build: deps-build build/build.ninja
	@if [ -t 1 ]; then ninja -C build; else ninja -C build --quiet; fi

run: build
	@scripts/run-example.sh build

test: deps-test
	@python3 scripts/run-tests.py

test-long: deps-cross
	@python3 scripts/run-tests.py --long

# Debian's libraries for 64-bit ARM are downloaded into the tree, nothing of them is installed.
test-aarch64: deps-cross
	@python3 tests/cross/test-aarch64.py

# Downloads Debian's kernel, which is not installed; installs qemu-system-x86.
test-dmabuf: deps-test
	@test -f build/build.ninja || meson setup build >/dev/null
	@meson configure build -Dtests=true >/dev/null
	@python3 scripts/test-dmabuf.py

# SECONDS=600 make fuzz: every fuzz target with libFuzzer, that long each (60 s).
fuzz: deps-test
	@python3 scripts/run-fuzz.py --seconds $(or $(SECONDS),60)

# Installs gcovr. Builds build-coverage and runs the tests there.
coverage: deps-coverage
	@python3 scripts/run-coverage.py

# COUNT=60 make mutants: so many (300), in a copy of the tree below build-mutants.
mutants: deps-test
	@python3 scripts/run-mutants.py --count $(or $(COUNT),300)

bench: build
	@python3 scripts/run-bench.py

# Beside TensorFlow Lite and ONNX Runtime, which npm fetches into build/peers.
bench-peers: build
	@python3 scripts/bench-peers.py

# What was built for another prefix is brought to this one first: programs know where they lie.
install: deps-build build/build.ninja
	@meson introspect build --buildoptions | grep -Eq '"name": "prefix", "value": "$(prefix)"' || \
		meson configure build --prefix $(prefix) >/dev/null
	@ninja -C build --quiet
	@DESTDIR="$(DESTDIR)" meson install -C build --no-rebuild

uninstall:
	@ninja -C build --quiet uninstall

# In a copy of what is committed, so that nothing of this tree gets into a package.
deb: deps-deb
	@scripts/make-deb.sh build-deb

# Needs root; downloads a Debian with debootstrap.
test-packages: deps-deb
	@scripts/test-packages.sh build-deb

test-reproducible: deps-deb
	@scripts/test-reproducible.sh build-deb

clean:
	rm -rf build build-asan build-tsan build-clang build-clang-asan build-fuzz build-aarch64 build-sysroot-aarch64 \
		build-coverage build-mutants build-deb

.PHONY: all build run test test-long test-aarch64 test-dmabuf coverage mutants bench bench-peers fuzz install uninstall deb test-packages test-reproducible clean
