#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetches what nnhal is measured against and tested with, from npm, into FOLDER: unmodified TensorFlow
# Lite 2.9.0 (C API, NNAPI delegate, XNNPACK) and ONNX Runtime. Nothing of it is kept in the tree.
# usage: bench/peers/fetch.sh FOLDER
# Exit status: 77 where there is no npm, or it fetches nothing.
set -eu

TFLITE=tfjs-tflite-node@0.0.2
ORT=onnxruntime-node@1.30.0
folder=$1

if [ -f "$folder/fetched" ] && [ "$(cat "$folder/fetched")" = "$TFLITE $ORT" ]; then
    exit 0
fi
if ! command -v npm >/dev/null; then
    echo "there is no npm: install Debian's package npm to measure beside TensorFlow Lite and ONNX Runtime" >&2
    exit 77
fi
echo "fetching $TFLITE and $ORT (400 MB)" >&2
mkdir -p "$folder"
if ! (cd "$folder" && npm install --no-save --ignore-scripts --silent "$TFLITE" "$ORT" >npm.log 2>&1); then
    echo "npm could not fetch $TFLITE and $ORT; $folder/npm.log says why" >&2
    exit 77
fi
echo "$TFLITE $ORT" >"$folder/fetched"
