#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds Debian's packages of the last commit in FOLDER, and has lintian judge them.
# usage: scripts/make-deb.sh FOLDER
# Exit status: not 0 if they do not build, or lintian tells of an error or a warning.
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
lintian --fail-on error,warning --info "$folder"/nnhal_"$version"_*.changes
echo "packages are in $folder"
