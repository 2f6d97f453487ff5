#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes a folder of Debian's libraries for another machine, for a cross compiler and qemu-user.
# Nothing is installed, and the package lists of this machine stay as they are.
# usage: tests/cross/make-sysroot.sh ARCHITECTURE FOLDER
set -eu

PACKAGES="libc6-dev libstdc++-12-dev libflatbuffers-dev libcjson-dev
          libseccomp-dev libssl-dev libxxhash-dev libsqlite3-dev libzip-dev check"

[ $# = 2 ] || { echo "usage: $0 ARCHITECTURE FOLDER" >&2; exit 2; }
[ ! -e "$2/place.ini" ] || exit 0

mkdir -p "$2"
folder=$(realpath "$2")
apt=$folder/.apt
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
: > "$apt/status"
cat > "$apt/apt.conf" <<END
Dir::State "$apt";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "/etc/apt/sources.list";
APT::Architecture "$1";
APT::Architectures { "$1"; };
APT::Sandbox::User "$(id -un)";
END
export APT_CONFIG="$apt/apt.conf"
echo "downloading libraries for $1"
apt-get update -qq
apt-get install -y -qq --no-install-recommends --download-only $PACKAGES >/dev/null
for package in "$apt"/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$folder"
done
rm -rf "$apt"
# Links of these packages name the root of the machine that they are for.
find "$folder" -type l -lname '/*' | while read -r link; do
    ln -sf "$folder$(readlink "$link")" "$link"
done
printf "[constants]\nsysroot = '%s'\n" "$folder" > "$folder/place.ini"
