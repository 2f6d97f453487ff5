# SPDX-License-Identifier: Apache-2.0
"""TensorFlow Lite's C API, of the shared library that it is published as, for tests.

    model = capi.Model("libtensorflowlite_c.so", "model.tflite")
    interpreter = model.interpreter(use_nnapi=True)
    outputs = interpreter.invoke([bytes, ...])

With use_nnapi its NNAPI delegate loads libneuralnetworks.so by that name. A delegate is one that
libexternal_delegate_obj.so has loaded:

    delegate = capi.Delegate("libexternal_delegate_obj.so", "libnnhal-delegate.so", {"verbose": "1"})
    interpreter = model.interpreter(delegate=delegate)

Functions are declared as
tensorflow/lite/c/c_api.h has them; TfLiteInterpreterOptionsSetUseNNAPI is exported without a header.
"""

import ctypes
import functools
from ctypes import POINTER, c_bool, c_char_p, c_int, c_int32, c_size_t, c_void_p

FUNCTIONS = {
    "TfLiteVersion": (c_char_p, []),
    "TfLiteModelCreateFromFile": (c_void_p, [c_char_p]),
    "TfLiteModelCreate": (c_void_p, [c_char_p, c_size_t]),
    "TfLiteModelDelete": (None, [c_void_p]),
    "TfLiteInterpreterOptionsCreate": (c_void_p, []),
    "TfLiteInterpreterOptionsDelete": (None, [c_void_p]),
    "TfLiteInterpreterOptionsSetUseNNAPI": (None, [c_void_p, c_bool]),
    "TfLiteInterpreterOptionsAddDelegate": (None, [c_void_p, c_void_p]),
    "TfLiteInterpreterCreate": (c_void_p, [c_void_p, c_void_p]),
    "TfLiteInterpreterDelete": (None, [c_void_p]),
    "TfLiteInterpreterAllocateTensors": (c_int, [c_void_p]),
    "TfLiteInterpreterInvoke": (c_int, [c_void_p]),
    "TfLiteInterpreterResizeInputTensor": (c_int, [c_void_p, c_int32, POINTER(c_int), c_int32]),
    "TfLiteInterpreterResetVariableTensors": (c_int, [c_void_p]),
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
    """Of a file, or of its bytes."""

    def __init__(self, path, file=None, data=None):
        self.library, self.data = library(path), data
        if data:
            self.pointer = self.library.TfLiteModelCreate(data, len(data))
        else:
            self.pointer = self.library.TfLiteModelCreateFromFile(str(file).encode())
        if not self.pointer:
            raise Failed("TfLiteModelCreate")

    def interpreter(self, use_nnapi=False, delegate=None):
        return Interpreter(self, use_nnapi, delegate)

    def delete(self):
        """Interpreters stay valid."""
        self.library.TfLiteModelDelete(self.pointer)


class Interpreter:
    def __init__(self, model, use_nnapi, delegate):
        self.library = model.library
        options = self.library.TfLiteInterpreterOptionsCreate()
        self.library.TfLiteInterpreterOptionsSetUseNNAPI(options, use_nnapi)
        if delegate:
            self.library.TfLiteInterpreterOptionsAddDelegate(options, delegate.pointer)
        self.pointer = self.library.TfLiteInterpreterCreate(model.pointer, options)
        self.library.TfLiteInterpreterOptionsDelete(options)
        if not self.pointer:
            raise Failed("TfLiteInterpreterCreate")
        self.check("TfLiteInterpreterAllocateTensors", self.pointer)

    def check(self, name, *arguments):
        if getattr(self.library, name)(*arguments) != 0:
            raise Failed(name)

    def resize(self, index, shape):
        """An input; tensors are allocated anew."""
        dims = (c_int * len(shape))(*shape)
        self.check("TfLiteInterpreterResizeInputTensor", self.pointer, index, dims, len(shape))
        self.check("TfLiteInterpreterAllocateTensors", self.pointer)

    def reset_states(self):
        self.check("TfLiteInterpreterResetVariableTensors", self.pointer)

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


class DelegateOptions(ctypes.Structure):
    MOST = 256
    _fields_ = [("lib_path", c_char_p), ("count", c_int), ("keys", c_char_p * MOST),
                ("values", c_char_p * MOST), ("insert", c_void_p)]


class Delegate:
    """An external delegate, as TensorFlow Lite's own code loads it."""

    def __init__(self, loader, path, options=None):
        self.loader = ctypes.CDLL(str(loader))
        self.loader.TfLiteExternalDelegateOptionsDefault.restype = DelegateOptions
        self.loader.TfLiteExternalDelegateOptionsDefault.argtypes = [c_char_p]
        self.loader.TfLiteExternalDelegateCreate.restype = c_void_p
        self.loader.TfLiteExternalDelegateCreate.argtypes = [POINTER(DelegateOptions)]
        self.loader.TfLiteExternalDelegateDelete.restype = None
        self.loader.TfLiteExternalDelegateDelete.argtypes = [c_void_p]
        path = str(path).encode()  # borrowed by what the next line returns
        wanted = self.loader.TfLiteExternalDelegateOptionsDefault(path)
        for key, value in (options or {}).items():
            wanted.keys[wanted.count] = key.encode()
            wanted.values[wanted.count] = value.encode()
            wanted.count += 1
        self.pointer = self.loader.TfLiteExternalDelegateCreate(ctypes.byref(wanted))
        if not self.pointer:
            raise Failed("TfLiteExternalDelegateCreate")

    def delete(self):
        self.loader.TfLiteExternalDelegateDelete(self.pointer)
