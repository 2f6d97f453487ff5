#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetches what nnhal is measured against and tested with, from npm, into FOLDER: unmodified TensorFlow
# Lite 2.9.0 (C API, NNAPI delegate, XNNPACK) and, unless "tflite" alone is wanted, ONNX Runtime.
# Nothing of it is kept in the tree.
# usage: bench/peers/fetch.sh FOLDER [tflite]
# Exit status: 77 where there is no npm, or it fetches nothing.
set -eu

TFLITE=tfjs-tflite-node@0.0.2
ORT=onnxruntime-node@1.30.0
LIMIT_S=240
folder=$1
wanted=$TFLITE
size="95 MB"
if [ "${2-}" != tflite ]; then
    wanted="$TFLITE $ORT"
    size="400 MB"
fi

mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9
case "$(cat "$folder/fetched" 2>/dev/null || :)" in "$wanted"*) exit 0 ;; esac
if ! command -v npm >/dev/null; then
    echo "there is no npm: install Debian's package npm to fetch $wanted" >&2
    exit 77
fi
echo "fetching $wanted ($size)" >&2
rm -f "$folder/fetched"
if ! (cd "$folder" && timeout $LIMIT_S npm install --no-save --ignore-scripts --silent --fetch-retries=1 $wanted >npm.log 2>&1); then
    echo "npm could not fetch $wanted within $LIMIT_S s; $folder/npm.log says why" >&2
    exit 77
fi
echo "$wanted" >"$folder/fetched"
