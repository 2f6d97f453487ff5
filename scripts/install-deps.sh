#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing of the Debian packages that a purpose needs, and says what it installs.
# usage: scripts/install-deps.sh build|test|cross|coverage|deb
set -eu

BUILD="gcc g++ meson ninja-build pkg-config libflatbuffers-dev flatbuffers-compiler
       libgdk-pixbuf-2.0-dev webp-pixbuf-loader libcjson-dev libseccomp-dev libssl-dev libxxhash-dev libsqlite3-dev libzip-dev
       linux-libc-dev libc6-dev python3"
TEST="check clang clang-format libclang-rt-14-dev libasan8 libubsan1 libtsan2 mandoc strace spin relacy-dev
      libsimde-dev libopenblas-dev libsystemd-dev zsh fish python3-numpy python3-pil python3-pip python3-setuptools python3-wheel"
CROSS="gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user gcc-arm-linux-gnueabihf"
COVERAGE="gcovr"
DEB="debhelper dh-python fakeroot lintian debootstrap"

case "${1-}" in
build) wanted=$BUILD ;;
test) wanted="$BUILD $TEST" ;;
cross) wanted="$BUILD $TEST $CROSS" ;;
coverage) wanted="$BUILD $TEST $COVERAGE" ;;
deb) wanted="$BUILD $DEB" ;;
*) echo "usage: $0 build|test|cross|coverage|deb" >&2; exit 2 ;;
esac

missing=
for package in $wanted; do
    state=$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || :)
    case "$state" in ii*) ;; *) missing="$missing $package" ;; esac
done
[ -n "$missing" ] || exit 0

sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "please install, as root:$missing" >&2; exit 1; }
    sudo=sudo
fi
echo "installing:$missing"
$sudo apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
