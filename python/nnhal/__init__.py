# SPDX-License-Identifier: Apache-2.0
"""nnhal: .tflite models on the devices of the Neural Networks API for Linux.

    import numpy, nnhal

    model = nnhal.load("model.tflite").compile()
    outputs = model.run(numpy.zeros(model.inputs[0].shape, model.inputs[0].dtype))

A Model is a file that was read; a Compilation is a model made ready for a device; a
Stream computes a sequence with arrays in shared memory, without a copy. What the library
refuses raises nnhal.Error with a sentence that says why; arguments that do not fit raise
ValueError or TypeError. Any number of threads may use a Model and a Compilation at a time;
the interpreter's lock is not held while the library works. A Stream is for one thread at a
time. A process that was forked after the first device was listed or model compiled cannot
use the library: multiprocessing needs its start method "spawn" or "forkserver".

The libraries libneuralnetworks.so and libnnhal-tflite.so must be installed, or in a
folder of LD_LIBRARY_PATH.
"""

from nnhal._library import Error
from nnhal.compilation import (Cache, Compilation, Part, Plan, FAST_SINGLE_ANSWER, LOW_POWER,
                               PRIORITY_HIGH, PRIORITY_LOW, PRIORITY_MEDIUM, SUSTAINED_SPEED)
from nnhal.device import Device, copied_bytes, devices
from nnhal.model import Model, Tensor, load
from nnhal.stream import Stream, Timings

__version__ = "0.1.0"
__all__ = ["Cache", "Compilation", "Device", "Error", "FAST_SINGLE_ANSWER", "LOW_POWER", "Model",
           "PRIORITY_HIGH", "PRIORITY_LOW", "PRIORITY_MEDIUM", "Part", "Plan", "SUSTAINED_SPEED",
           "Stream", "Tensor", "Timings", "copied_bytes", "devices", "load"]
