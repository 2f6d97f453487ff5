#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tries the packages of FOLDER on a fresh Debian: installs them, runs the tests of debian/tests and the Python
# wheel's as a user without rights, has two users share a service, boots it, upgrades under running clients of a
# service and of a private driver, purges, and looks for what is left.
# usage: scripts/test-packages.sh FOLDER [FRESH]
# Needs root, debootstrap and systemd-nspawn; where a machine cannot be booted so, that part is left out
# and said. What it unpacks lies in FOLDER/root, which is removed. FRESH: a folder with a Debian that
# debootstrap has made before, which is copied.
set -eu

source=$(cd "$(dirname "$0")/.." && pwd)
folder=$(cd "$1" && pwd)
root=$folder/root
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
boot_limit=900 # seconds

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
    [ -z "${client-}" ] || kill "$client" 2>/dev/null || :
    wait
    for place in dev/shm proc; do umount "$root/$place" 2>/dev/null || :; done
    rm -rf "$root"
    exit "$status"
}
trap finish EXIT
trap 'exit 1' INT TERM

echo "== a fresh Debian"
rm -rf "$root"
if [ -n "${2-}" ]; then
    cp -a "$2" "$root"
else
    debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,libpam-systemd bookworm \
        "$root" "$mirror" >"$folder/debootstrap.log"
fi
cp /etc/resolv.conf "$root/etc/"
cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null || :
mount -t proc proc "$root/proc"
mkdir -p "$root/dev/shm"
mount -t tmpfs tmpfs "$root/dev/shm"
mkdir "$root/packages"
cp "$folder"/*.deb "$root/packages/"
rm -f "$root"/packages/*-dbgsym_*
git -C "$source" archive --prefix=source/ HEAD debian models python tests/python | tar -x -C "$root"
inside find / -xdev -not -path '/packages*' -not -path '/source*' -not -path '/tmp*' | sort >"$folder/before"

echo "== install"
inside sh -c 'apt-get install -y --no-install-recommends /packages/*.deb cmake g++ gcc make pkg-config' >"$folder/install.log"

for test in first-program driver pictures python; do
    echo "== debian/tests/$test, as a user"
    as 4711 sh -c "cd /source && HOME=/tmp debian/tests/$test"
done

echo "== a wheel from the tree, over the packages' libraries"
inside sh -c 'apt-get install -y --no-install-recommends python3-pip python3-setuptools python3-wheel' >>"$folder/install.log"
as 4711 sh -c 'cd /tmp && HOME=/tmp NNHAL_SOURCE_ROOT=/source python3 /source/tests/python/test-wheel.py'

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

echo "== booted"
cat >"$root/root/upgrade" <<'END'
systemctl start nnhal@cpu.socket
NNHAL_MODE=service setpriv --reuid 4711 --regid nogroup --clear-groups nnhal bench models/glyphs/glyphs-int8.tflite \
    --device nnhal-cpu --runs 100000 >/root/client.log & client=$!
sleep 1
dpkg --install /packages/*.deb
kill -0 $client
wait $client
systemctl restart nnhal@cpu
systemctl stop nnhal@cpu.socket nnhal@cpu
END
cat >"$root/etc/systemd/system/try.service" <<'END'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
WorkingDirectory=/source
StandardOutput=file:/root/try.log
StandardError=inherit
ExecStart=sh -c 'debian/tests/service && sh -eux /root/upgrade && touch /root/tried'
ExecStopPost=systemctl poweroff --force --no-block
[Install]
WantedBy=default.target
END
chroot "$root" systemctl enable try.service 2>/dev/null
# In a container nspawn finds no systemd to register with, and its filters would forbid namespaces.
if [ ! -d /run/systemd/system ]; then mkdir -p /run/systemd; mount -t tmpfs tmpfs /run/systemd; own_run=1; fi
umount "$root/dev/shm" "$root/proc"
SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 SYSTEMD_SECCOMP=0 timeout "$boot_limit" systemd-nspawn --quiet \
    --register=no --keep-unit --console=pipe --directory="$root" --boot >"$folder/boot.log" 2>&1 </dev/null || :
[ -z "${own_run-}" ] || umount /run/systemd
own_run=
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/dev/shm"
rm -f "$root/etc/systemd/system/try.service" "$root/etc/systemd/system/default.target.wants/try.service"
if [ -e "$root/root/tried" ]; then
    cat "$root/root/try.log"
elif [ -e "$root/root/try.log" ]; then
    cat "$root/root/try.log" >&2
    echo "the service does not work as a unit" >&2
    exit 1
else
    tail -5 "$folder/boot.log" >&2
    echo "NOT TRIED: units, this place boots no container (boot.log)"
fi

echo "== upgrade under a running client, purge"
as 4711 sh -c 'cd /source && NNHAL_MODE=private nnhal bench models/glyphs/glyphs-int8.tflite \
    --device nnhal-cpu --runs 100000' >"$folder/client.log" & client=$!
inside sh -c 'apt-get install -y --reinstall --no-install-recommends /packages/*.deb' >>"$folder/install.log"
wait $client || { echo "an upgrade ends a client: $(cat "$folder/client.log")" >&2; exit 1; }
client=
inside sh -c 'apt-get purge -y libneuralnetworks libnnhal0 nnhal-service nnhal-driver-cpu nnhal-doc' >>"$folder/install.log"
if inside getent passwd nnhal; then echo "the user nnhal is left" >&2; exit 1; fi
inside find / -xdev -not -path '/packages*' -not -path '/source*' -not -path '/tmp*' | sort >"$folder/after"
if comm -13 "$folder/before" "$folder/after" | grep -E 'nnhal|neuralnetworks'; then
    echo "these files are left" >&2
    exit 1
fi
echo "the packages work, and leave nothing"
