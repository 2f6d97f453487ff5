#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""src/tflite/abi.h against TensorFlow Lite's own header.

    abi.py --cc "cc ARGUMENT..."

A C file that says of the members listed below which member of the header each is, and that both lie at
the same offset, has to compile. Params of operations are not compared: npm has no header of them. The header comes from npm with the library (bench/peers/fetch.sh);
without npm the test is skipped, and says so.
"""

import argparse
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import unmodified

# abi.h's struct: the header's, and members that are spelt otherwise there.
STRUCTS = {
    "lite_ints": ("TfLiteIntArray", "size data"),
    "lite_floats": ("TfLiteFloatArray", "size data"),
    "lite_affine": ("TfLiteAffineQuantization", "scale zero_point quantized_dimension"),
    "lite_quantization": ("TfLiteQuantization", "type params"),
    "lite_scale": ("TfLiteQuantizationParams", "scale zero_point"),
    "lite_tensor": ("TfLiteTensor", "type data dims params allocation_type bytes allocation name delegate"
                    " buffer_handle data_is_stale is_variable quantization sparsity dims_signature"),
    "lite_node": ("TfLiteNode", "inputs outputs intermediates temporaries user_data builtin_data"
                  " custom_initial_data custom_initial_data_size delegate might_have_side_effect"),
    "lite_registration": ("TfLiteRegistration", "init free prepare invoke profiling_string builtin_code"
                          " custom_name version"),
    "lite_delegate_params": ("TfLiteDelegateParams",
                             "delegate nodes_to_replace input_tensors output_tensors"),
    "lite_context": ("TfLiteContext", "tensors_size GetExecutionPlan tensors impl=impl_ ResizeTensor"
                     " ReportError AddTensors GetNodeAndRegistration"
                     " ReplaceNodeSubsetsWithDelegateKernels recommended_num_threads"
                     " GetExternalContext SetExternalContext allow_fp32_relax_to_fp16 profiler"
                     " AllocatePersistentBuffer AllocateBufferForEval RequestScratchBufferInArena"
                     " GetScratchBuffer ResizeTensorExplicit PreviewDelegatePartitioning GetTensor"
                     " GetEvalTensor GetModelMetadata"),
    "lite_delegate": ("TfLiteDelegate", "data=data_ Prepare CopyFromBufferHandle CopyToBufferHandle"
                      " FreeBufferHandle flags"),
}
# What a delegate owns has a tail that 2.9 lacks.
LONGER = {"lite_registration", "lite_delegate"}
NUMBERS = {
    "LITE_OK": "kTfLiteOk", "LITE_ERROR": "kTfLiteError", "LITE_FLOAT32": "kTfLiteFloat32",
    "LITE_INT32": "kTfLiteInt32", "LITE_UINT8": "kTfLiteUInt8", "LITE_INT64": "kTfLiteInt64",
    "LITE_BOOL": "kTfLiteBool", "LITE_INT16": "kTfLiteInt16", "LITE_INT8": "kTfLiteInt8",
    "LITE_FLOAT16": "kTfLiteFloat16", "LITE_MMAP_RO": "kTfLiteMmapRo", "LITE_DYNAMIC": "kTfLiteDynamic",
    "LITE_QUANTIZATION_NONE": "kTfLiteNoQuantization",
    "LITE_QUANTIZATION_AFFINE": "kTfLiteAffineQuantization",
    "LITE_ALLOW_DYNAMIC_TENSORS": "kTfLiteDelegateFlagsAllowDynamicTensors",
    "LITE_REQUIRE_PROPAGATED_SHAPES": "kTfLiteDelegateFlagsRequirePropagatedShapes",
}


def program():
    yield '#include "tflite/abi.h"'
    yield '#include "tensorflow/lite/c/common.h"'
    for ours, (theirs, members) in STRUCTS.items():
        for member in members.split():
            our, _, their = member.partition("=")
            their = their or our
            yield (f'_Static_assert(offsetof(struct {ours}, {our}) == offsetof({theirs}, {their}),'
                   f' "{ours}.{our} lies elsewhere");')
            if our != "data":
                yield (f'_Static_assert(sizeof(((struct {ours} *)0)->{our}) == '
                       f'sizeof((({theirs} *)0)->{their}), "{ours}.{our} has another size");')
        if ours not in LONGER:
            yield (f'_Static_assert(sizeof(struct {ours}) == sizeof({theirs}),'
                   f' "{ours} has another size");')
    for our, their in NUMBERS.items():
        yield f'_Static_assert((int){our} == (int){their}, "{our} is another number");'


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cc", default="cc")
    options = parser.parse_args()
    library = unmodified.fetch()
    if not library:
        return 77
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "abi.c"
        source.write_text("\n".join(program()) + "\n")
        include = library.parents[1] / "include"
        done = subprocess.run([*shlex.split(options.cc), "-std=gnu17", "-fsyntax-only", "-I", include,
                               "-I", unmodified.ROOT / "src", source], stdin=subprocess.DEVNULL)
    return 1 if done.returncode else 0


sys.exit(main())
