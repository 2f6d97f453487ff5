#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tries the packages of FOLDER on a fresh Debian: installs them, runs the tests of debian/tests as a
# user without rights, has two users share a service, upgrades, purges, and looks for what is left.
# usage: scripts/test-packages.sh FOLDER
# Needs root and debootstrap. What it unpacks lies in FOLDER/root, which is removed.
set -eu

source=$(cd "$(dirname "$0")/.." && pwd)
folder=$(cd "$1" && pwd)
root=$folder/root
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

[ "$(id -u)" = 0 ] || { echo "only root can make a root folder" >&2; exit 1; }
ls "$folder"/libneuralnetworks_*.deb >/dev/null 2>&1 || { echo "no packages in $folder: make deb" >&2; exit 1; }

inside() {
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"
}

# as USER COMMAND...
as() {
    user=$1
    shift
    inside setpriv --reuid "$user" --regid nogroup --clear-groups "$@"
}

finish() {
    status=$?
    [ -z "${service-}" ] || kill "$service" 2>/dev/null || :
    wait
    for place in dev/shm proc; do umount "$root/$place" 2>/dev/null || :; done
    rm -rf "$root"
    exit "$status"
}
trap finish EXIT
trap 'exit 1' INT TERM

echo "== a fresh Debian"
rm -rf "$root"
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$folder/debootstrap.log"
cp /etc/resolv.conf "$root/etc/"
cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null || :
mount -t proc proc "$root/proc"
mkdir -p "$root/dev/shm"
mount -t tmpfs tmpfs "$root/dev/shm"
mkdir "$root/packages"
cp "$folder"/*.deb "$root/packages/"
rm -f "$root"/packages/*-dbgsym_*
git -C "$source" archive --prefix=source/ HEAD debian models | tar -x -C "$root"
inside find / -xdev -not -path '/packages*' -not -path '/source*' -not -path '/tmp*' | sort >"$folder/before"

echo "== install"
inside sh -c 'apt-get install -y --no-install-recommends /packages/*.deb cmake g++ gcc make pkg-config' >"$folder/install.log"

for test in first-program pictures python; do
    echo "== debian/tests/$test, as a user"
    as 4711 sh -c "cd /source && HOME=/tmp debian/tests/$test"
done

echo "== a service, and two users"
chroot "$root" nnhal serve cpu & # not by inside(), whose shell would get the signal
service=$!
for i in 1 2 3 4 5 6 7 8 9 10; do [ ! -S "$root/run/nnhal/cpu.sock" ] || break; sleep 1; done
for user in 4711 4712; do
    as $user sh -c 'cd /source && NNHAL_MODE=service nnhal run models/glyphs/glyphs-int8.tflite \
        --device nnhal-cpu --top 1 --labels models/glyphs/labels.txt --image models/glyphs/pictures/01-A.png' | grep -w A
done
kill $service
wait $service || :
service=

echo "== upgrade, purge"
inside sh -c 'apt-get install -y --reinstall --no-install-recommends /packages/*.deb' >>"$folder/install.log"
inside sh -c 'apt-get purge -y libneuralnetworks libnnhal0 nnhal-service nnhal-driver-cpu nnhal-doc' >>"$folder/install.log"
inside find / -xdev -not -path '/packages*' -not -path '/source*' -not -path '/tmp*' | sort >"$folder/after"
if comm -13 "$folder/before" "$folder/after" | grep -E 'nnhal|neuralnetworks'; then
    echo "these files are left" >&2
    exit 1
fi
echo "the packages work, and leave nothing"
