#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `make run` shows: two services are started, the program of the README runs on the sample
# driver's, and pictures are classified on the CPU driver's. Nothing is left running, and the folder of the run goes with it.
# usage: scripts/run-example.sh [BUILD]
set -eu

build=$(cd "${1:-build}" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d "$build/run.XXXXXX")
if [ ${#folder} -gt 90 ]; then # a socket's path has at most 107 bytes
    rmdir "$folder"
    folder=$(mktemp -d)
fi
services=

finish() {
    status=$?
    for pid in $services; do kill "$pid" 2>/dev/null || :; done
    wait
    rm -rf "$folder"
    exit "$status"
}
trap finish EXIT
trap 'exit 1' INT TERM

export NNHAL_SOCKET_PATH="$folder" NNHAL_STATE_PATH="$folder/state" NNHAL_MODE=service
export LD_LIBRARY_PATH="$build${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

# serve NAME: starts a service and waits until it listens.
serve() {
    "$build/nnhal" serve "$1" &
    services="$services $!"
    tries=0
    while [ ! -S "$folder/$1.sock" ]; do
        kill -0 $! 2>/dev/null || { echo "the service $1 ended" >&2; exit 1; }
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || { echo "the service $1 does not listen" >&2; exit 1; }
        sleep 0.1
    done
}

echo "== z = relu(x * y + x), by the program of the README, on a service of the sample driver"
serve sample
"$build/examples/first"
kill $services && wait && services=
rm -f "$folder/sample.sock"

echo "== pictures of characters, on a service of the CPU driver"
serve cpu
set --
cd "$root"
for picture in models/glyphs/pictures/*.png; do set -- "$@" --image "$picture"; done
"$build/nnhal" run models/glyphs/glyphs-int8.tflite --device nnhal-cpu --top 2 \
    --labels models/glyphs/labels.txt "$@"
