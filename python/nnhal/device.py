# SPDX-License-Identifier: Apache-2.0
"""Devices: who can compute, where, and what they have done for this process."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

from nnhal import _library

_TYPES = {1: "other", 2: "cpu", 3: "gpu", 4: "accelerator"}


@dataclass(frozen=True)
class Device:
    """A device of this process; it lives as long as the process.

    type: "cpu", "gpu", "accelerator" or "other". feature_level: of Android's API, 31 or
    1000005 for example. way: how the driver is reached, "embedded" (in this process),
    "private" (in a child) or "service". path: the driver's module or the socket of its
    service; empty for one that is built in.
    """

    name: str
    type: str
    version: str
    feature_level: int
    way: str
    path: str
    _pointer: int = field(repr=False, compare=False)

    @property
    def pid(self) -> int:
        """The process that the driver runs in; 0 while there is none."""
        return int(_where(self._pointer).pid)

    @property
    def counts(self) -> dict[str, int]:
        """Computations so far: "computed", "failed", and "helped", which were computed in
        place of a device that failed and are among the first."""
        counts = _library.DeviceCounts()
        _library.call("nnhal_device_get_counts", self._pointer, ctypes.byref(counts))
        return {"computed": counts.n_computed, "failed": counts.n_failed,
                "helped": counts.n_helped}


def _where(pointer: int) -> _library.Where:
    where = _library.Where()
    _library.call("nnhal_device_get_where", pointer, ctypes.byref(where))
    return where


def _get(function: str, pointer: int, value: Any) -> Any:
    _library.call(function, pointer, ctypes.byref(value))
    return value.value


def from_pointer(pointer: int) -> Device:
    """The device that a call of the library names."""
    where = _where(pointer)
    return Device(
        name=_library.decode(_get("ANeuralNetworksDevice_getName", pointer, ctypes.c_char_p())),
        type=_TYPES.get(_get("ANeuralNetworksDevice_getType", pointer, ctypes.c_int32()), "other"),
        version=_library.decode(_get("ANeuralNetworksDevice_getVersion", pointer,
                                     ctypes.c_char_p())),
        feature_level=_get("ANeuralNetworksDevice_getFeatureLevel", pointer, ctypes.c_int64()),
        way=_library.decode(where.way_name), path=_library.decode(where.path), _pointer=pointer)


def devices() -> list[Device]:
    """All devices that applications may use here. Raises Error."""
    n = ctypes.c_uint32()
    _library.call("ANeuralNetworks_getDeviceCount", ctypes.byref(n))
    pointers = (_library.create("ANeuralNetworks_getDevice", i).value for i in range(n.value))
    return [from_pointer(pointer) for pointer in pointers if pointer is not None]


def find(name: str) -> Device:
    """The device of that name, with or without "nnhal-" before it. Raises ValueError."""
    there = devices()
    for device in there:
        if device.name in (name, "nnhal-" + name):
            return device
    names = ", ".join(device.name for device in there) or "none"
    raise ValueError(f"there is no device {name!r}; there are: {names}")


def copied_bytes() -> int:
    """Bytes of inputs and outputs that the library has copied in this process so far."""
    return _library.get_copied_bytes()
