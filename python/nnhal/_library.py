# SPDX-License-Identifier: Apache-2.0
"""The C libraries: their functions, structures and errors.

Structures are those of <nnhal/ext.h>, <nnhal/tflite.h> and <android/NeuralNetworksTypes.h>;
members are added at their ends only.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from ctypes import (POINTER, Structure, byref, c_bool, c_char_p, c_float, c_int, c_int32, c_int64,
                    c_size_t, c_uint8, c_uint32, c_uint64, c_void_p)
from typing import Any

NO_ERROR = 0
OUTPUT_INSUFFICIENT_SIZE = 8


class Error(Exception):
    """A call of the library failed. str() is the result's name and the sentence that says why.

    code: an ANEURALNETWORKS_ result; name: its name, "BAD_DATA" for example.
    """

    def __init__(self, sentence: str, code: int, name: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return Error, (str(self), self.code, self.name)


class OperandType(Structure):
    """ANeuralNetworksOperandType."""
    _fields_ = [("type", c_int32), ("n_dimensions", c_uint32), ("dimensions", POINTER(c_uint32)),
                ("scale", c_float), ("zero_point", c_int32)]


class TfliteTensor(Structure):
    """struct nnhal_tflite_tensor."""
    _fields_ = [("name", c_char_p), ("type", c_int32), ("n_dimensions", c_uint32),
                ("dimensions", POINTER(c_uint32)), ("n_bytes", c_uint64), ("scale", c_float),
                ("zero_point", c_int32)]


class Sized(Structure):
    """A structure whose first member tells the library how large the caller's is."""

    def __init__(self) -> None:
        super().__init__(size=ctypes.sizeof(self))


class Where(Sized):
    """struct nnhal_where."""
    _fields_ = [("size", c_size_t), ("way", c_uint32), ("pid", c_int32), ("way_name", c_char_p),
                ("path", c_char_p)]


class DeviceCounts(Sized):
    """struct nnhal_device_counts."""
    _fields_ = [("size", c_size_t), ("n_computed", c_uint64), ("n_failed", c_uint64),
                ("n_helped", c_uint64)]


class CacheInfo(Sized):
    """struct nnhal_cache_info."""
    _fields_ = [("size", c_size_t), ("outcome", c_uint32), ("stage", c_uint32), ("why", c_char_p)]


class PlanPart(Structure):
    """struct nnhal_plan_part."""
    _fields_ = [("device", c_void_p), ("wave", c_uint32), ("n_operations", c_uint32),
                ("operations", POINTER(c_uint32)), ("compute_ns", c_uint64),
                ("launch_ns", c_uint64), ("move_ns", c_uint64), ("move_bytes", c_uint64)]


class PlanInfo(Sized):
    """struct nnhal_plan; what devices said of operations is not read here."""
    _fields_ = [("size", c_size_t), ("n_parts", c_uint32), ("n_devices", c_uint32),
                ("parts", POINTER(PlanPart)), ("devices", c_void_p), ("n_operations", c_uint32),
                ("n_before", c_uint32), ("expected_ns", c_uint64)]


_OUT = POINTER(c_void_p)

# Arguments of the functions that return a result code.
_CALLS = {
    "ANeuralNetworks_getDeviceCount": [POINTER(c_uint32)],
    "ANeuralNetworks_getDevice": [c_uint32, _OUT],
    "ANeuralNetworksDevice_getName": [c_void_p, POINTER(c_char_p)],
    "ANeuralNetworksDevice_getType": [c_void_p, POINTER(c_int32)],
    "ANeuralNetworksDevice_getVersion": [c_void_p, POINTER(c_char_p)],
    "ANeuralNetworksDevice_getFeatureLevel": [c_void_p, POINTER(c_int64)],
    "ANeuralNetworksMemory_createFromFd": [c_size_t, c_int, c_int, c_size_t, _OUT],
    "ANeuralNetworksCompilation_create": [c_void_p, _OUT],
    "ANeuralNetworksCompilation_createForDevices": [c_void_p, _OUT, c_uint32, _OUT],
    "ANeuralNetworksCompilation_setCaching": [c_void_p, c_char_p, c_char_p],
    "ANeuralNetworksCompilation_setPreference": [c_void_p, c_int32],
    "ANeuralNetworksCompilation_setPriority": [c_void_p, c_int],
    "ANeuralNetworksCompilation_setTimeout": [c_void_p, c_uint64],
    "ANeuralNetworksCompilation_finish": [c_void_p],
    "ANeuralNetworksExecution_create": [c_void_p, _OUT],
    "ANeuralNetworksExecution_setInput": [c_void_p, c_int32, POINTER(OperandType), c_void_p,
                                          c_size_t],
    "ANeuralNetworksExecution_setInputFromMemory": [c_void_p, c_int32, POINTER(OperandType),
                                                    c_void_p, c_size_t, c_size_t],
    "ANeuralNetworksExecution_setOutput": [c_void_p, c_int32, POINTER(OperandType), c_void_p,
                                           c_size_t],
    "ANeuralNetworksExecution_setOutputFromMemory": [c_void_p, c_int32, POINTER(OperandType),
                                                     c_void_p, c_size_t, c_size_t],
    "ANeuralNetworksExecution_setReusable": [c_void_p, c_bool],
    "ANeuralNetworksExecution_setTimeout": [c_void_p, c_uint64],
    "ANeuralNetworksExecution_compute": [c_void_p],
    "ANeuralNetworksExecution_burstCompute": [c_void_p, c_void_p],
    "ANeuralNetworksExecution_getOutputOperandRank": [c_void_p, c_int32, POINTER(c_uint32)],
    "ANeuralNetworksExecution_getOutputOperandDimensions": [c_void_p, c_int32, POINTER(c_uint32)],
    "ANeuralNetworksBurst_create": [c_void_p, _OUT],
    "nnhal_device_get_where": [c_void_p, POINTER(Where)],
    "nnhal_device_get_counts": [c_void_p, POINTER(DeviceCounts)],
    "nnhal_compilation_get_device": [c_void_p, _OUT],
    "nnhal_compilation_get_cache_info": [c_void_p, POINTER(CacheInfo)],
    "nnhal_compilation_get_plan": [c_void_p, POINTER(PlanInfo)],
    "nnhal_compilation_set_deferred": [c_void_p, c_int],
}

# The others: what they return, and their arguments.
_FUNCTIONS = {
    "ANeuralNetworksMemory_free": (None, [c_void_p]),
    "ANeuralNetworksCompilation_free": (None, [c_void_p]),
    "ANeuralNetworksExecution_free": (None, [c_void_p]),
    "ANeuralNetworksBurst_free": (None, [c_void_p]),
    "nnhal_get_last_error": (c_size_t, [c_char_p, c_size_t]),
    "nnhal_get_result_name": (c_char_p, [c_int]),
    "nnhal_get_copied_bytes": (c_uint64, []),
}

_TFLITE_FUNCTIONS = {
    "nnhal_tflite_load": (c_int, [c_char_p, _OUT, c_char_p, c_size_t]),
    "nnhal_tflite_free": (None, [c_void_p]),
    "nnhal_tflite_model": (c_void_p, [c_void_p]),
    "nnhal_tflite_n_inputs": (c_uint32, [c_void_p]),
    "nnhal_tflite_n_outputs": (c_uint32, [c_void_p]),
    "nnhal_tflite_input": (POINTER(TfliteTensor), [c_void_p, c_uint32]),
    "nnhal_tflite_output": (POINTER(TfliteTensor), [c_void_p, c_uint32]),
}


def _open(name: str, functions: dict[str, tuple[Any, list[Any]]]) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(name)
        for function, (returned, arguments) in functions.items():
            getattr(library, function).restype = returned
            getattr(library, function).argtypes = arguments
    except (OSError, AttributeError) as error:
        raise ImportError(f"{error}; install nnhal, or set LD_LIBRARY_PATH to the folder of {name}",
                          name=name) from error
    return library


_functions = dict(_FUNCTIONS)
_functions.update({name: (c_int, arguments) for name, arguments in _CALLS.items()})
_library = _open("libneuralnetworks.so", _functions)
tflite = _open("libnnhal-tflite.so.0", _TFLITE_FUNCTIONS)


def get_last_error() -> str:
    """The sentence of the last call that failed on this thread."""
    text = ctypes.create_string_buffer(1024)
    _library.nnhal_get_last_error(text, len(text))
    return text.value.decode(errors="replace")


def make_error(code: int) -> Error:
    """What a call has just returned on this thread."""
    name = _library.nnhal_get_result_name(code).decode()
    sentence = get_last_error()
    return Error(f"{name}: {sentence}" if sentence else name, code, name)


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a result code. Raises Error."""
    code = getattr(_library, name)(*arguments)
    if code != NO_ERROR:
        raise make_error(code)


def try_call(name: str, *arguments: Any) -> int:
    """The same, for callers that can do something about one of the codes."""
    return int(getattr(_library, name)(*arguments))


def create(name: str, *arguments: Any) -> c_void_p:
    """Calls a function whose last argument is where it stores a new object. Raises Error."""
    made = c_void_p()
    call(name, *arguments, byref(made))
    return made


class Handle:
    """An object of the library, as an argument of its functions; freed with the last reference.

    At the program's end nothing is freed: threads may still compute, and the process takes all
    with it.
    """

    def __init__(self, pointer: c_void_p, free: Any) -> None:
        self._as_parameter_ = pointer
        self._finalizer = weakref.finalize(self, free, pointer)
        self._finalizer.atexit = False

    def close(self) -> None:
        """Frees it now; it must not be an argument any more."""
        self._finalizer()


def make(kind: str, *arguments: Any, how: str = "create") -> Handle:
    """A new object of one of the API's classes. Raises Error."""
    return Handle(create(f"{kind}_{how}", *arguments), getattr(_library, f"{kind}_free"))


def encode_path(path: Any) -> bytes:
    """A path as C takes it. Raises TypeError, ValueError."""
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError(f"a path contains no byte 0: {path!r}")
    return encoded


def decode(text: bytes) -> str:
    """Text of the library; a path in it may have any bytes."""
    return text.decode(errors="replace")


def nanoseconds(seconds: float) -> int:
    """A timeout. 0 and less: it has passed. Raises TypeError, ValueError (NaN)."""
    if not isinstance(seconds, (int, float)):
        raise TypeError(f"a timeout is a number of seconds, not {seconds!r}")
    if seconds != seconds:
        raise ValueError("a timeout is a number of seconds, not NaN")
    return int(min(max(seconds, 1e-9), 1e9) * 1e9)


def get_copied_bytes() -> int:
    """nnhal_get_copied_bytes()."""
    return int(_library.nnhal_get_copied_bytes())
