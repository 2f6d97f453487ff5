# SPDX-License-Identifier: Apache-2.0
"""A model made ready for a device, and single runs of it."""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Optional, Sequence, Union

import numpy

from nnhal import _library, device as _device
from nnhal.device import Device

if TYPE_CHECKING:
    from nnhal.model import Tensor
    from nnhal.stream import Stream, Timings

LOW_POWER, FAST_SINGLE_ANSWER, SUSTAINED_SPEED = 0, 1, 2
PRIORITY_LOW, PRIORITY_MEDIUM, PRIORITY_HIGH = 90, 100, 110

# First guess for an output whose size only a run tells, and where guessing ends.
_OPEN_BYTES, _MOST_BYTES = 1 << 16, 1 << 31


class Cache(NamedTuple):
    """How a cache was used. outcome: "none" (not asked for), "hit", "compiled" (and kept for
    the next time), "uncached" (compiled, and not kept); why: a sentence."""

    outcome: str
    why: str


_OUTCOMES = ("none", "hit", "compiled", "uncached")


class Part(NamedTuple):
    """Operations, as the file numbers those that were mapped, that one device computes."""

    device: Device
    operations: tuple[int, ...]
    expected: float  # seconds


class Plan(NamedTuple):
    """Which devices compute which parts; expected: seconds in all."""

    parts: tuple[Part, ...]
    expected: float


@dataclass
class Settings:
    """What Model.compile() was asked for."""

    devices: Union[None, str, Device, Sequence[Union[str, Device]]]
    preference: int
    priority: Optional[int]
    timeout: Optional[float]
    is_deferred: Optional[bool]
    cache: Optional[bytes] = None
    token: Optional[bytes] = None

    def pointers(self) -> list[int]:
        """Of the devices that were named."""
        named = self.devices
        if named is None:
            return []
        listed = list(named) if isinstance(named, Sequence) and not isinstance(named, str) \
            else [named]
        for one in listed:
            if not isinstance(one, (str, Device)):
                raise TypeError(f"a device is named by its name or an nnhal.Device, not {one!r}")
        if not listed:
            raise ValueError("the list of devices is empty; None lets the library choose")
        return [(one if isinstance(one, Device) else _device.find(one))._pointer for one in listed]

    def check(self) -> None:
        """Raises ValueError."""
        if self.preference not in (LOW_POWER, FAST_SINGLE_ANSWER, SUSTAINED_SPEED):
            raise ValueError("preference is LOW_POWER, FAST_SINGLE_ANSWER or SUSTAINED_SPEED, "
                             f"not {self.preference!r}")
        if self.priority not in (None, PRIORITY_LOW, PRIORITY_MEDIUM, PRIORITY_HIGH):
            raise ValueError("priority is PRIORITY_LOW, PRIORITY_MEDIUM or PRIORITY_HIGH, "
                             f"not {self.priority!r}")


def _create(model: ctypes.c_void_p, pointers: list[int]) -> _library.Handle:
    if not pointers:
        return _library.make("ANeuralNetworksCompilation", model)
    listed = (ctypes.c_void_p * len(pointers))(*pointers)
    return _library.make("ANeuralNetworksCompilation", model, listed, len(pointers),
                         how="createForDevices")


def compile_model(model: ctypes.c_void_p, inputs: "tuple[Tensor, ...]",
                  outputs: "tuple[Tensor, ...]", settings: Settings) -> "Compilation":
    """Compiles a finished model."""
    settings.check()
    began = time.monotonic()
    pointer = _create(model, settings.pointers())
    _library.call("ANeuralNetworksCompilation_setPreference", pointer, settings.preference)
    if settings.priority is not None:
        _library.call("ANeuralNetworksCompilation_setPriority", pointer, settings.priority)
    if settings.timeout is not None:
        _library.call("ANeuralNetworksCompilation_setTimeout", pointer,
                      _library.nanoseconds(settings.timeout))
    if settings.is_deferred is not None:
        _library.call("nnhal_compilation_set_deferred", pointer, int(settings.is_deferred))
    if settings.cache is not None:
        _library.call("ANeuralNetworksCompilation_setCaching", pointer, settings.cache,
                      settings.token)
    _library.call("ANeuralNetworksCompilation_finish", pointer)
    return Compilation(pointer, inputs, outputs, time.monotonic() - began)


class Compilation:
    """A model that can run. seconds: how long it took to compile."""

    def __init__(self, handle: _library.Handle, inputs: "tuple[Tensor, ...]",
                 outputs: "tuple[Tensor, ...]", seconds: float) -> None:
        self._handle = handle
        self.inputs = inputs
        self.outputs = outputs
        self.seconds = seconds

    def __repr__(self) -> str:
        return f"<nnhal.Compilation for {self.device.name}>"

    @property
    def device(self) -> Device:
        """That computes it; of several, the one with the most work (see plan)."""
        pointer = _library.create("nnhal_compilation_get_device", self._handle).value
        assert pointer is not None
        return _device.from_pointer(pointer)

    @property
    def cache(self) -> Cache:
        """Whether compiling used the cache, and if not, why."""
        info = _library.CacheInfo()
        _library.call("nnhal_compilation_get_cache_info", self._handle, ctypes.byref(info))
        return Cache(_OUTCOMES[info.outcome], _library.decode(info.why))

    @property
    def plan(self) -> Plan:
        """Which devices compute which parts."""
        info = _library.PlanInfo()
        _library.call("nnhal_compilation_get_plan", self._handle, ctypes.byref(info))
        parts = tuple(Part(_device.from_pointer(part.device),
                           tuple(part.operations[:part.n_operations]),
                           (part.compute_ns + part.launch_ns + part.move_ns) / 1e9)
                      for part in info.parts[:info.n_parts])
        return Plan(parts, info.expected_ns / 1e9)

    def run(self, *inputs: Any, timeout: Optional[float] = None) -> list[numpy.ndarray[Any, Any]]:
        """Computes once; returns the outputs as new arrays. Any thread.

        inputs: an array for each input of the model, or one mapping from their names to
        arrays. An array of the input's dtype and shape that lies in memory as C has it is not
        copied; one that lies otherwise is. Real numbers for a quantized input are given
        through inputs[i].quantize(). timeout: seconds; the model must have been compiled for
        one named device.
        Raises TypeError and ValueError (inputs that do not fit), Error.
        """
        arrays = arrange(self.inputs, inputs)
        until = None if timeout is None else time.monotonic() + timeout
        guesses = [_OPEN_BYTES if tensor.is_open else None for tensor in self.outputs]
        while True:
            single = _Single(self, arrays, guesses)
            try:
                needed = single.compute(until)
                if needed is None:
                    return single.results()
            finally:
                single.execution.close()
            guesses = needed

    def stream(self, timeout: Optional[float] = None) -> "Stream":
        """For a sequence of runs without a copy: see Stream. timeout: seconds that each may
        take, for a model that was compiled for one named device."""
        from nnhal.stream import Stream
        return Stream(self, timeout)

    def bench(self, seconds: float = 1.0) -> "Timings":
        """The times of single computations in a stream, with random inputs, for that long
        after a tenth of it to warm up."""
        with self.stream() as stream:
            return stream.bench(seconds)


def arrange(tensors: "tuple[Tensor, ...]", given: tuple[Any, ...]) -> list[numpy.ndarray[Any, Any]]:
    """One array for each tensor, checked. Raises TypeError, ValueError."""
    if len(given) == 1 and isinstance(given[0], Mapping):
        named = dict(given[0])
        if len({tensor.name for tensor in tensors}) < len(tensors):
            raise ValueError("several inputs have the same name: give arrays in the model's order")
        unknown = sorted(set(named) - {tensor.name for tensor in tensors})
        if unknown:
            raise ValueError(f"the model has no input {unknown[0]!r}; it has: "
                             + ", ".join(repr(tensor.name) for tensor in tensors))
        missing = [tensor.name for tensor in tensors if tensor.name not in named]
        if missing:
            raise ValueError(f"input {missing[0]!r} is missing")
        given = tuple(named[tensor.name] for tensor in tensors)
    if len(given) != len(tensors):
        raise ValueError(f"the model has {len(tensors)} inputs, not {len(given)}")
    return [_check(tensor, numpy.asarray(one)) for tensor, one in zip(tensors, given)]


def _check(tensor: "Tensor", array: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    is_near = array.ndim == len(tensor.shape) and all(
        wanted in (0, there) for wanted, there in zip(tensor.shape, array.shape))
    if array.dtype != tensor.dtype:
        raise TypeError(f"input {tensor.name!r} is {tensor.dtype}, not {array.dtype}"
                        + (": quantize() makes it of real numbers" if array.dtype.kind == "f"
                           else ""))
    if not is_near:
        raise ValueError(f"input {tensor.name!r} has the shape {tensor.shape}, not {array.shape}")
    if array.size == 0:
        raise ValueError(f"input {tensor.name!r} has no elements: {array.shape}")
    return numpy.require(array, requirements=["C", "A"])


def _operand_type(tensor: "Tensor", shape: tuple[int, ...]) -> _library.OperandType:
    """The type of a tensor whose open dimensions are known now."""
    dimensions = (ctypes.c_uint32 * len(shape))(*shape)
    return _library.OperandType(tensor._type, len(shape), dimensions, tensor.scale,
                                tensor.zero_point)


class _Single:
    """One execution, with its arrays: they must live as long as it computes."""

    def __init__(self, compilation: Compilation, arrays: list[numpy.ndarray[Any, Any]],
                 guesses: list[Optional[int]]) -> None:
        self.outputs = compilation.outputs
        self.arrays = arrays
        self.guesses = guesses
        self.buffers = [numpy.empty(tensor.shape if guess is None else guess,
                                    tensor.dtype if guess is None else numpy.uint8)
                        for tensor, guess in zip(self.outputs, guesses)]
        self.execution = _library.make("ANeuralNetworksExecution", compilation._handle)
        for i, (tensor, array) in enumerate(zip(compilation.inputs, arrays)):
            opened = _operand_type(tensor, array.shape) if tensor.is_open else None
            _library.call("ANeuralNetworksExecution_setInput", self.execution, i,
                          ctypes.byref(opened) if opened else None, array.ctypes.data,
                          array.nbytes)
        for i, buffer in enumerate(self.buffers):
            _library.call("ANeuralNetworksExecution_setOutput", self.execution, i, None,
                          buffer.ctypes.data, buffer.nbytes)

    def compute(self, until: Optional[float]) -> Optional[list[Optional[int]]]:
        """until: by time.monotonic(). Returns None, or how many bytes outputs need that were too
        small."""
        if until is not None:
            _library.call("ANeuralNetworksExecution_setTimeout", self.execution,
                          _library.nanoseconds(until - time.monotonic()))
        code = _library.try_call("ANeuralNetworksExecution_compute", self.execution)
        if code == _library.NO_ERROR:
            return None
        error = _library.make_error(code)
        if code != _library.OUTPUT_INSUFFICIENT_SIZE:
            raise error
        needed = [guess and self._needs(i, guess) for i, guess in enumerate(self.guesses)]
        if needed == self.guesses or any(n is not None and n > _MOST_BYTES for n in needed):
            raise error
        return needed

    def _needs(self, i: int, guess: int) -> int:
        """Devices may leave dimensions of an output that was too small open: it is doubled."""
        shape = self._shape(i)
        return 2 * guess if 0 in shape else max(guess, self._bytes(i))

    def _shape(self, i: int) -> tuple[int, ...]:
        """Of an output, once it was computed, or was too small."""
        rank = ctypes.c_uint32()
        code = _library.try_call("ANeuralNetworksExecution_getOutputOperandRank", self.execution, i,
                                 ctypes.byref(rank))
        if code not in (_library.NO_ERROR, _library.OUTPUT_INSUFFICIENT_SIZE):
            raise _library.make_error(code)
        dimensions = (ctypes.c_uint32 * max(rank.value, 1))()
        code = _library.try_call("ANeuralNetworksExecution_getOutputOperandDimensions",
                                 self.execution, i, dimensions)
        if code not in (_library.NO_ERROR, _library.OUTPUT_INSUFFICIENT_SIZE):
            raise _library.make_error(code)
        return tuple(dimensions[:rank.value])

    def _bytes(self, i: int) -> int:
        return int(numpy.prod(self._shape(i), dtype=numpy.int64)) * self.outputs[i].dtype.itemsize

    def results(self) -> list[numpy.ndarray[Any, Any]]:
        """The outputs, with the shapes that they turned out to have."""
        found = []
        for i, (tensor, buffer) in enumerate(zip(self.outputs, self.buffers)):
            if self.guesses[i] is not None:
                # The rest of a guess is not kept.
                buffer = buffer[:self._bytes(i)].copy().view(tensor.dtype).reshape(self._shape(i))
            found.append(buffer)
        return found
