# SPDX-License-Identifier: Apache-2.0
"""TensorFlow Lite's C API, of the shared library that it is published as, for tests.

    model = capi.Model("libtensorflowlite_c.so", "model.tflite")
    interpreter = model.interpreter(use_nnapi=True)
    outputs = interpreter.invoke([bytes, ...])

With use_nnapi its NNAPI delegate loads libneuralnetworks.so by that name. Functions are declared as
tensorflow/lite/c/c_api.h has them; TfLiteInterpreterOptionsSetUseNNAPI is exported without a header.
"""

import ctypes
import functools
from ctypes import c_bool, c_char_p, c_int, c_int32, c_size_t, c_void_p

FUNCTIONS = {
    "TfLiteVersion": (c_char_p, []),
    "TfLiteModelCreateFromFile": (c_void_p, [c_char_p]),
    "TfLiteModelDelete": (None, [c_void_p]),
    "TfLiteInterpreterOptionsCreate": (c_void_p, []),
    "TfLiteInterpreterOptionsDelete": (None, [c_void_p]),
    "TfLiteInterpreterOptionsSetUseNNAPI": (None, [c_void_p, c_bool]),
    "TfLiteInterpreterCreate": (c_void_p, [c_void_p, c_void_p]),
    "TfLiteInterpreterDelete": (None, [c_void_p]),
    "TfLiteInterpreterAllocateTensors": (c_int, [c_void_p]),
    "TfLiteInterpreterInvoke": (c_int, [c_void_p]),
    "TfLiteInterpreterGetInputTensorCount": (c_int32, [c_void_p]),
    "TfLiteInterpreterGetInputTensor": (c_void_p, [c_void_p, c_int32]),
    "TfLiteInterpreterGetOutputTensorCount": (c_int32, [c_void_p]),
    "TfLiteInterpreterGetOutputTensor": (c_void_p, [c_void_p, c_int32]),
    "TfLiteTensorByteSize": (c_size_t, [c_void_p]),
    "TfLiteTensorCopyFromBuffer": (c_int, [c_void_p, c_char_p, c_size_t]),
    "TfLiteTensorCopyToBuffer": (c_int, [c_void_p, c_void_p, c_size_t]),
}


class Failed(Exception):
    """A function of the library did not return what it does on success."""


@functools.lru_cache(None)
def library(path):
    loaded = ctypes.CDLL(str(path))
    for name, (returned, arguments) in FUNCTIONS.items():
        getattr(loaded, name).restype = returned
        getattr(loaded, name).argtypes = arguments
    return loaded


class Model:
    def __init__(self, path, file):
        self.library = library(path)
        self.pointer = self.library.TfLiteModelCreateFromFile(str(file).encode())
        if not self.pointer:
            raise Failed("TfLiteModelCreateFromFile")

    def interpreter(self, use_nnapi):
        return Interpreter(self, use_nnapi)

    def delete(self):
        """Interpreters stay valid."""
        self.library.TfLiteModelDelete(self.pointer)


class Interpreter:
    def __init__(self, model, use_nnapi):
        self.library = model.library
        options = self.library.TfLiteInterpreterOptionsCreate()
        self.library.TfLiteInterpreterOptionsSetUseNNAPI(options, use_nnapi)
        self.pointer = self.library.TfLiteInterpreterCreate(model.pointer, options)
        self.library.TfLiteInterpreterOptionsDelete(options)
        if not self.pointer:
            raise Failed("TfLiteInterpreterCreate")
        self.check("TfLiteInterpreterAllocateTensors", self.pointer)

    def check(self, name, *arguments):
        if getattr(self.library, name)(*arguments) != 0:
            raise Failed(name)

    def invoke(self, inputs):
        """Bytes of each input; returns those of each output."""
        outputs = []
        if self.library.TfLiteInterpreterGetInputTensorCount(self.pointer) != len(inputs):
            raise Failed("TfLiteInterpreterGetInputTensorCount")
        for i, data in enumerate(inputs):
            tensor = self.library.TfLiteInterpreterGetInputTensor(self.pointer, i)
            self.check("TfLiteTensorCopyFromBuffer", tensor, data, len(data))
        self.check("TfLiteInterpreterInvoke", self.pointer)
        for i in range(self.library.TfLiteInterpreterGetOutputTensorCount(self.pointer)):
            tensor = self.library.TfLiteInterpreterGetOutputTensor(self.pointer, i)
            n_bytes = self.library.TfLiteTensorByteSize(tensor)
            buffer = ctypes.create_string_buffer(max(n_bytes, 1))
            self.check("TfLiteTensorCopyToBuffer", tensor, buffer, n_bytes)
            outputs.append(buffer.raw[:n_bytes])
        return outputs

    def delete(self):
        self.library.TfLiteInterpreterDelete(self.pointer)
