# SPDX-License-Identifier: Apache-2.0
"""A sequence of computations, with arrays in memory that the device's process shares."""

from __future__ import annotations

import fcntl
import mmap
import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import numpy

from nnhal import _library
from nnhal.compilation import arrange

if TYPE_CHECKING:
    from nnhal.compilation import Compilation
    from nnhal.model import Tensor

_ALIGNMENT = 64


class Timings(NamedTuple):
    """Seconds of n computations: the least, and which 50, 90 and 99 of 100 stay below."""

    n: int
    min: float
    median: float
    p90: float
    p99: float


class _Shared:
    """Arrays in one shared memory that the library knows."""

    def __init__(self, tensors: "tuple[Tensor, ...]") -> None:
        self.offsets: list[int] = []
        n_bytes = 0
        for tensor in tensors:
            self.offsets.append(n_bytes)
            n_bytes += -(-_n_bytes(tensor) // _ALIGNMENT) * _ALIGNMENT
        n_bytes = max(n_bytes, _ALIGNMENT)
        fd = os.memfd_create("nnhal-tensors", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(fd, n_bytes)
            # The service need not fear that its mapping shrinks.
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
            mapped = mmap.mmap(fd, n_bytes)
            self.memory = _library.make("ANeuralNetworksMemory", n_bytes,
                                        mmap.PROT_READ | mmap.PROT_WRITE, fd, 0,
                                        how="createFromFd")
        finally:
            os.close(fd)
        self.arrays = tuple(
            numpy.frombuffer(mapped, tensor.dtype, _n_elements(tensor), offset)
            .reshape(tensor.shape) for tensor, offset in zip(tensors, self.offsets))


def _n_elements(tensor: "Tensor") -> int:
    return int(numpy.prod(tensor.shape, dtype=numpy.int64))


def _n_bytes(tensor: "Tensor") -> int:
    return _n_elements(tensor) * tensor.dtype.itemsize


class Stream:
    """Computes again and again on the same arrays, which nothing copies:

        with compilation.stream() as stream:
            for frame in frames:
                read_into(stream.inputs[0])
                stream.run()
                use(stream.outputs[0])

    inputs, outputs: arrays, by the model's order, in memory that the device's process sees; write
    inputs and read outputs between runs. numpy converts what is assigned to elements: real
    numbers lose their fractions there, unless Tensor.quantize() made integers of them. With a
    service, a run needs no system call (a burst). One thread at a time. Models whose shapes are
    known only after a run have no stream: ValueError.
    """

    def __init__(self, compilation: "Compilation", timeout: Optional[float] = None) -> None:
        tensors = (*compilation.inputs, *compilation.outputs)
        for tensor in tensors:
            if tensor.is_open:
                raise ValueError(f"the shape of {tensor.name!r} is known only after a run; "
                                 "Compilation.run() finds it out")
        self._compilation = compilation
        self._shared = _Shared(tensors)
        self.inputs = self._shared.arrays[:len(compilation.inputs)]
        self.outputs = self._shared.arrays[len(compilation.inputs):]
        self._execution = _library.make("ANeuralNetworksExecution", compilation._handle)
        self._burst = _library.make("ANeuralNetworksBurst", compilation._handle)
        self._is_open = True
        self._bind(tensors, len(compilation.inputs))
        if timeout is not None:
            _library.call("ANeuralNetworksExecution_setTimeout", self._execution,
                          _library.nanoseconds(timeout))

    def __repr__(self) -> str:
        return f"<nnhal.Stream of {self._compilation!r}>"

    def _bind(self, tensors: "tuple[Tensor, ...]", n_inputs: int) -> None:
        _library.call("ANeuralNetworksExecution_setReusable", self._execution, True)
        for i, (tensor, offset) in enumerate(zip(tensors, self._shared.offsets)):
            which = "Input" if i < n_inputs else "Output"
            _library.call(f"ANeuralNetworksExecution_set{which}FromMemory", self._execution,
                          i if i < n_inputs else i - n_inputs, None, self._shared.memory, offset,
                          _n_bytes(tensor))

    def run(self, *inputs: Any) -> tuple[numpy.ndarray[Any, Any], ...]:
        """Computes outputs, which are returned, of what is in inputs.

        With arguments, as Compilation.run() takes them, these are copied to inputs first.
        Raises Error, ValueError (it is closed; inputs that do not fit), TypeError.
        """
        if not self._is_open:
            raise ValueError("the stream is closed")
        if inputs:
            for to, array in zip(self.inputs, arrange(self._compilation.inputs, inputs)):
                to[...] = array
        _library.call("ANeuralNetworksExecution_burstCompute", self._execution, self._burst)
        return self.outputs

    def bench(self, seconds: float = 1.0, seed: int = 1) -> Timings:
        """Fills inputs with random numbers (those of more than 8 bits that are no reals may be
        indices: with 0), and times single runs for that long, after a tenth of it to warm up."""
        generator = numpy.random.default_rng(seed)
        for array in self.inputs:
            if array.dtype.kind == "f":
                array[...] = generator.uniform(-1, 1, array.shape)
            elif array.dtype.itemsize == 1:
                array.view(numpy.uint8)[...] = generator.integers(
                    0, 2 if array.dtype.kind == "b" else 256, array.shape)
            else:
                array[...] = 0
        self._time(seconds / 10)
        times = numpy.array(self._time(seconds))
        return Timings(len(times), float(times.min()),
                       *(float(numpy.percentile(times, p)) for p in (50, 90, 99)))

    def _time(self, seconds: float) -> list[float]:
        times = []
        began = now = time.perf_counter()
        while not times or now - began < seconds:
            self.run()
            before, now = now, time.perf_counter()
            times.append(now - before)
        return times

    def close(self) -> None:
        """Ends the burst; arrays stay valid."""
        self._is_open = False
        self._burst.close()
        self._execution.close()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
