#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds Debian's packages of the last commit in FOLDER, has lintian judge them, and looks whether what is
# in them is hardened (tests/e2e/hardened.py).
# usage: scripts/make-deb.sh FOLDER [--unjudged]
# Exit status: not 0 if they do not build, or there is an error, a warning or a complaint.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$root/debian/changelog")
source=$folder/nnhal-$version

rm -rf "$source"
rm -f "$folder"/*.deb "$folder"/*.changes "$folder"/*.buildinfo # of another version
mkdir "$source"
git -C "$root" archive HEAD | tar -x -C "$source"
cd "$source"
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct) dpkg-buildpackage --no-sign --build=full
[ "${2-}" != --unjudged ] || exit 0
lintian --fail-on error,warning --info "$folder"/nnhal_"$version"_*.changes
find debian -path 'debian/*/usr/*' -type f ! -path 'debian/tmp/*' ! -path 'debian/.debhelper/*' \( -name '*.so*' -o -perm -100 \) \
    -exec sh -c 'head -c 4 "$1" | grep -q ELF' sh {} \; -print | xargs "$root/tests/e2e/hardened.py" --package
echo "packages are in $folder"
