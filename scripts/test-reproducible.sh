#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the packages of the last commit again, in another folder, and compares them with those in
# FOLDER byte by byte; makes the first ones where there are none.
# usage: scripts/test-reproducible.sh FOLDER
# Exit status: 0 the same, 1 not, 77 this place builds no packages.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null ||
    { echo "NOT TRIED: dpkg-buildpackage and debhelper are not installed"; exit 77; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
again=$folder/again/in/another/folder

ls "$folder"/*.deb >/dev/null 2>&1 || "$root/scripts/make-deb.sh" "$folder" --unjudged >"$folder/first.log" 2>&1
rm -rf "$folder/again"
# What a compiler's cache gives was compiled once.
CCACHE_DISABLE=1 "$root/scripts/make-deb.sh" "$again" --unjudged >"$folder/again.log" 2>&1 || { tail "$folder/again.log"; exit 1; }
differ=0
for package in "$again"/*.deb; do
    cmp "$folder/${package##*/}" "$package" || differ=1
done
[ $differ = 0 ] && rm -rf "$folder/again" && echo "built twice, the same bytes"
exit $differ
