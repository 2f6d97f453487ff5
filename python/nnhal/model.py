# SPDX-License-Identifier: Apache-2.0
"""A .tflite file, and what goes into it and comes out of it."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
from dataclasses import dataclass, field
from typing import Any, Optional, Sequence, Union

import numpy

from nnhal import _library
from nnhal.compilation import SUSTAINED_SPEED, Compilation, Settings, compile_model
from nnhal.device import Device

# By type code of <android/NeuralNetworksTypes.h>.
_DTYPES = {3: numpy.float32, 4: numpy.int32, 5: numpy.uint8, 7: numpy.int16, 8: numpy.float16,
           9: numpy.bool_, 11: numpy.int8, 12: numpy.uint16, 13: numpy.int8, 14: numpy.int8}
_FIRST_OF_EXTENSION = 1 << 16  # of nnhal.tflite: TENSOR_INT64 is its only type


def _dtype(type_: int) -> numpy.dtype[Any]:
    return numpy.dtype(numpy.int64 if type_ >= _FIRST_OF_EXTENSION else _DTYPES[type_])


@dataclass(frozen=True)
class Tensor:
    """An input or output. shape: 0 where the size is known only after a run.

    A number q of a quantized one (scale is not 0) stands for (q - zero_point) * scale.
    """

    name: str
    dtype: numpy.dtype[Any]
    shape: tuple[int, ...]
    scale: float
    zero_point: int
    _type: int = field(repr=False)

    @property
    def is_open(self) -> bool:
        """Whether a dimension is known only after a run."""
        return 0 in self.shape

    def quantize(self, numbers: Any) -> numpy.ndarray[Any, Any]:
        """Real numbers as this tensor takes them: rounded to nearest, even in the middle, and
        kept within dtype; only converted if it is not quantized. Raises ValueError (NaN)."""
        if not self.scale:
            return numpy.asarray(numbers).astype(self.dtype)
        reals = numpy.asarray(numbers, numpy.float64)
        if numpy.isnan(reals).any():
            raise ValueError(f"NaN stands for no number of {self.name!r}, which is quantized")
        limits = numpy.iinfo(self.dtype)
        steps = numpy.rint(reals / self.scale) + self.zero_point
        return numpy.asarray(numpy.clip(steps, limits.min, limits.max).astype(self.dtype))

    def dequantize(self, array: Any) -> numpy.ndarray[Any, Any]:
        """The real numbers, float32, that an array of this tensor stands for. Raises TypeError."""
        numbers = numpy.asarray(array)
        if numbers.dtype != self.dtype:
            raise TypeError(f"{self.name!r} is {self.dtype}, not {numbers.dtype}")
        if not self.scale:
            return numbers.astype(numpy.float32)
        reals = (numbers.astype(numpy.float64) - self.zero_point) * self.scale
        return numpy.asarray(reals.astype(numpy.float32))


def _read_tensor(tensor: _library.TfliteTensor) -> Tensor:
    return Tensor(name=_library.decode(tensor.name), dtype=_dtype(tensor.type),
                  shape=tuple(tensor.dimensions[:tensor.n_dimensions]),
                  scale=tensor.scale, zero_point=tensor.zero_point, _type=tensor.type)


def _identity(status: os.stat_result) -> tuple[int, ...]:
    """Of a file's contents."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class Model:
    """A model that was loaded; see load(). It is not yet made ready for a device: compile()."""

    def __init__(self, path: str, handle: _library.Handle, identity: tuple[int, ...]) -> None:
        library = _library.tflite
        self.path = path
        self._handle = handle
        self._identity = identity
        self.inputs = tuple(_read_tensor(library.nnhal_tflite_input(handle, i)[0])
                            for i in range(library.nnhal_tflite_n_inputs(handle)))
        self.outputs = tuple(_read_tensor(library.nnhal_tflite_output(handle, i)[0])
                             for i in range(library.nnhal_tflite_n_outputs(handle)))

    def __repr__(self) -> str:
        return f"<nnhal.Model {self.path!r}>"

    def compile(self, devices: Union[None, str, Device, Sequence[Union[str, Device]]] = None, *,
                cache: Union[None, str, "os.PathLike[str]"] = None,
                preference: int = SUSTAINED_SPEED, priority: Optional[int] = None,
                timeout: Optional[float] = None,
                is_deferred: Optional[bool] = None) -> Compilation:
        """Makes the model ready to run; the larger it is, the longer that takes.

        devices: names or devices, which then compute all of it; without, the library chooses.
        cache: a folder, made if it is not there, that keeps what was compiled: the next
        program with this file and folder starts at once.
        preference: LOW_POWER, FAST_SINGLE_ANSWER, SUSTAINED_SPEED. priority: PRIORITY_LOW,
        PRIORITY_MEDIUM, PRIORITY_HIGH. timeout: seconds that it may take; one device must be
        named. is_deferred: whether to be ready soon rather than fast.
        Raises Error, TypeError, ValueError (no such device or setting), OSError (the folder cannot be
        made; the file was changed since it was loaded).
        """
        settings = Settings(devices, preference, priority, timeout, is_deferred)
        if cache is not None:
            settings.cache = _library.encode_path(cache)
            os.makedirs(cache, mode=0o700, exist_ok=True)
            settings.token = self._token()
        model = ctypes.c_void_p(_library.tflite.nnhal_tflite_model(self._handle))
        return compile_model(model, self.inputs, self.outputs, settings)

    def _token(self) -> bytes:
        """The SHA-256 of the file: another file is another token. `nnhal run --cache` takes
        the same, so that both find what one of them has kept."""
        token = hashlib.sha256()
        with open(self.path, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                token.update(block)
            if _identity(os.fstat(file.fileno())) != self._identity:
                raise OSError(errno.ESTALE, "it was changed after it was loaded: load it anew",
                              self.path)
        return token.digest()


def load(path: Union[str, "os.PathLike[str]"]) -> Model:
    """Reads a .tflite file. Its bytes must not change while the model and its compilations live;
    another file may take its place.

    Raises OSError if it cannot be read (FileNotFoundError and the like); ValueError if it is
    damaged; NotImplementedError if an operation has no equal in the Neural Networks API;
    MemoryError. The text says which and why.
    """
    name = os.path.abspath(os.fsdecode(_library.encode_path(path)))
    pointer = ctypes.c_void_p()
    message = ctypes.create_string_buffer(1024)
    identity = _identity(os.stat(name))
    code = _library.tflite.nnhal_tflite_load(os.fsencode(name), ctypes.byref(pointer), message,
                                             len(message))
    if code == 0:
        handle = _library.Handle(pointer, _library.tflite.nnhal_tflite_free)
        if _identity(os.stat(name)) != identity:
            raise OSError(errno.ESTALE, "it was changed while it was loaded", name)
        return Model(name, handle, identity)
    sentence = _library.decode(message.value) or os.strerror(-code)
    if code == -errno.EINVAL:
        raise ValueError(f"{name}: {sentence}")
    if code == -errno.ENOTSUP:
        raise NotImplementedError(f"{name}: {sentence}")
    if code == -errno.ENOMEM:
        raise MemoryError(f"{name}: {sentence}")
    raise OSError(-code, sentence, name)
