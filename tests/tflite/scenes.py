# SPDX-License-Identifier: Apache-2.0
"""What applications do with an interpreter: scenes of unmodified.py.

A scene gets the way in which the interpreter reaches nnhal: way.interpreter(model) makes one. It raises
AssertionError with what was wrong.
"""

import contextlib
import ctypes
import os
import random
import re
import shutil
import signal
import struct
import tempfile
import threading
from pathlib import Path

import capi
import recorded

ROOT = Path(os.environ.get("NNHAL_SOURCE_ROOT") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("NNHAL_BUILD_ROOT") or ROOT / "build")
SMALL = ROOT / "models" / "glyphs" / "glyphs-int8.tflite"


def expect(is_met, what):
    if not is_met:
        raise AssertionError(what)


# -- the device, as the library in this process sees it --

class Where(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("way", ctypes.c_uint32), ("pid", ctypes.c_int32)]


class Counts(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("n_computed", ctypes.c_uint64),
                ("n_failed", ctypes.c_uint64), ("n_helped", ctypes.c_uint64)]


def ask_device(function, answer):
    """Of nnhal-cpu; the loader gives the library that TensorFlow Lite has loaded."""
    library = ctypes.CDLL("libneuralnetworks.so")
    n, device, name = ctypes.c_uint32(), ctypes.c_void_p(), ctypes.c_char_p()
    library.ANeuralNetworks_getDeviceCount(ctypes.byref(n))
    for i in range(n.value):
        library.ANeuralNetworks_getDevice(i, ctypes.byref(device))
        library.ANeuralNetworksDevice_getName(device, ctypes.byref(name))
        if name.value == b"nnhal-cpu":
            answer.size = ctypes.sizeof(answer)
            expect(getattr(library, function)(device, ctypes.byref(answer)) == 0, function)
            return answer
    raise AssertionError("there is no device nnhal-cpu")


def n_computed():
    return ask_device("nnhal_device_get_counts", Counts()).n_computed


def n_copied():
    library = ctypes.CDLL("libneuralnetworks.so")
    library.nnhal_get_copied_bytes.restype = ctypes.c_uint64
    return library.nnhal_get_copied_bytes()


@contextlib.contextmanager
def log():
    """What is printed to standard error meanwhile: said.text afterwards."""
    class Said:
        text = ""

    said, kept = Said(), os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            said.text = file.read().decode(errors="replace")
            os.write(2, said.text.encode())


# -- any application --

def small_input(seed):
    return [bytes((seed * 31 + i * 7) % 256 for i in range(32 * 32))]


def threads(way):
    """Eight interpreters of one model in eight threads."""
    model = capi.Model(way.library, SMALL)
    alone = way.interpreter(model)
    wanted = [alone.invoke(small_input(seed)) for seed in range(8)]
    wrong = []

    def work(seed):
        interpreter = way.interpreter(model)
        for _ in range(10):
            if interpreter.invoke(small_input(seed)) != wanted[seed]:
                wrong.append(seed)
        interpreter.delete()

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    expect(not wrong, f"wrong results in threads {wrong}")
    expect(n_computed() >= 88, "nnhal-cpu did not compute them")


def order(way):
    """Models and interpreters are deleted in any order; what is left goes on."""
    model = capi.Model(way.library, SMALL)
    first, second = (way.interpreter(model) for _ in range(2))
    wanted = first.invoke(small_input(1))
    model.delete()
    first.delete()
    expect(second.invoke(small_input(1)) == wanted, "another result once the model was deleted")
    second.delete()


def fork(way):
    """A child cannot use the library of the process that forked it: there TensorFlow Lite computes
    itself. The parent goes on."""
    model = capi.Model(way.library, SMALL)
    interpreter = way.interpreter(model)
    wanted = interpreter.invoke(small_input(2))
    child = os.fork()
    if child == 0:
        own = way.interpreter(model)
        os._exit(0 if own.invoke(small_input(2)) == wanted else 1)
    expect(os.waitpid(child, 0)[1] == 0, "the child's result differs, or it died")
    before = n_computed()
    expect(interpreter.invoke(small_input(2)) == wanted, "the parent's result differs")
    expect(n_computed() == before + 1, "nnhal-cpu no longer computes for the parent")


def kill_driver():
    pid = ask_device("nnhal_device_get_where", Where()).pid
    expect(pid > 1, f"the driver's process is {pid}")
    os.kill(pid, signal.SIGKILL)


def kill(way):
    """The driver's process is killed between two runs: TensorFlow Lite notices nothing."""
    model = capi.Model(way.library, SMALL)
    interpreter = way.interpreter(model)
    wanted = interpreter.invoke(small_input(3))
    kill_driver()
    expect(interpreter.invoke(small_input(3)) == wanted, "another result once the driver was killed")


def application(way):
    """An application that is killed while it computes leaves the device to others."""
    model = capi.Model(way.library, SMALL)
    reader, writer = os.pipe()
    child = os.fork()  # before this process has used the library
    if child == 0:
        signal.alarm(60)
        interpreter = way.interpreter(model)
        os.write(writer, b"x" if interpreter.invoke(small_input(9)) else b"")
        while True:
            interpreter.invoke(small_input(9))
    os.close(writer)
    begun = os.read(reader, 1)
    os.kill(child, signal.SIGKILL)
    expect(os.waitpid(child, 0)[1] == signal.SIGKILL and begun, "the application did not compute")
    interpreter = way.interpreter(model)
    near(interpreter.invoke(small_input(9)), model.interpreter().invoke(small_input(9)), "another one")
    expect(n_computed() == 1, "nnhal-cpu did not compute for another one")


def near(found, wanted, what):
    """Codes that differ by one at most."""
    compare_within(found, wanted, "b", 1, what)


def own_models(way):
    """The repository's models give what TensorFlow Lite's own kernels give; codes may differ by one."""
    models = sorted((ROOT / "models").glob("*/*.tflite"))
    expect(models, "there are no models")
    for path in models:
        model = capi.Model(way.library, path)
        interpreter, alone, before = way.interpreter(model), model.interpreter(), n_computed()
        is_real = path.stem.endswith("float")
        for seed in range(8):
            codes = small_input(seed)
            inputs = [struct.pack("1024f", *(code / 255 for code in codes[0]))] if is_real else codes
            found, wanted = interpreter.invoke(inputs), alone.invoke(inputs)
            if is_real:
                close(found, wanted, path.name)
            else:
                near(found, wanted, path.name)
        expect(n_computed() >= before + 8, f"nnhal-cpu did not compute {path.name}")


def killed_while_computing(way):
    """The driver's process is killed while a thread computes: the application goes on."""
    model = capi.Model(way.library, SMALL)
    interpreter = way.interpreter(model)
    wanted = interpreter.invoke(small_input(7))
    wrong, n_runs, is_over = [], [0], threading.Event()

    def work():
        while not is_over.is_set():
            try:
                if interpreter.invoke(small_input(7)) != wanted:
                    wrong.append("another result")
            except capi.Failed as error:
                wrong.append(str(error))
            n_runs[0] += 1

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for n_kills in range(3):
            begun = n_runs[0]
            while n_runs[0] < begun + 20 and worker.is_alive():
                is_over.wait(0.001)
            expect(worker.is_alive(), "the thread that computes has ended")
            if n_kills < 2:
                kill_driver()
    finally:
        is_over.set()
        worker.join()
    expect(not wrong, f"{len(wrong)} of {n_runs[0]} runs: {wrong[:1]}")


COMMON = {"threads": threads, "order": order, "fork": fork, "kill": kill, "killed": killed_while_computing,
          "application": application, "own-models": own_models}


# -- of the external delegate alone --

def cache(way):
    """The second start takes what was compiled from the cache, and computes the same."""
    model = capi.Model(way.library, SMALL)
    with tempfile.TemporaryDirectory() as folder:
        wanted = []
        for said in "compiled, and kept in the cache", "taken from the cache":
            with log() as printed:
                interpreter = way.interpreter(model, cache_dir=folder, model_token="glyphs")
            expect(said in printed.text, f"the log does not say '{said}': {printed.text}")
            wanted.append(interpreter.invoke(small_input(4)))
            interpreter.delete()
            way.end()  # what is kept in the background is kept when no compilation is left
        expect(wanted[0] == wanted[1], "another result from the cache")


def copies(way):
    """Inputs and outputs are copied once each, constants not at all."""
    model = capi.Model(way.library, SMALL)
    interpreter = way.interpreter(model)
    n_bytes = sum(map(len, small_input(5) + interpreter.invoke(small_input(5))))
    before = n_copied()
    for _ in range(20):
        interpreter.invoke(small_input(5))
    expect(n_copied() - before == 20 * n_bytes,
           f"{n_copied() - before} bytes were copied, not 20 times {n_bytes}")


def from_memory(way):
    """A model without a file: its constants are copied, and give the same."""
    of_file = way.interpreter(capi.Model(way.library, SMALL))
    model = capi.Model(way.library, data=SMALL.read_bytes())
    interpreter = way.interpreter(model)
    before = n_computed()
    found = interpreter.invoke(small_input(8))
    expect(n_computed() == before + 1, "nnhal-cpu did not compute")
    expect(found == of_file.invoke(small_input(8)), "another result than of the file")


def resize(way):
    """Batches of other sizes, there and back: each picture gets what it got alone."""
    folder = recorded.SHARED / "resnet8_int8"
    model = capi.Model(way.library, folder / "model.tflite")
    interpreter = way.interpreter(model)
    pictures = [(folder / f"in{i}_0.bin").read_bytes() for i in (0, 1, 3)]
    alone = [interpreter.invoke([picture])[0] for picture in pictures]
    before = n_computed()
    for n, batch in enumerate((3, 2, 1), 1):
        interpreter.resize(0, [batch, 32, 32, 3])
        found = interpreter.invoke([b"".join(pictures[:batch])])[0]
        expect(found == b"".join(alone[:batch]), f"a batch of {batch} is not what its pictures are")
        expect(n_computed() == before + n, f"nnhal-cpu did not compute a batch of {batch}")


def dynamic(way):
    """A shape that an input says: what comes before it is computed by the device."""
    model = capi.Model(way.library, BUILD / "tests/tflite/dynamic.tflite")
    with log() as printed:
        interpreter = way.interpreter(model)
    expect("1 of 3 nodes in 1 partitions" in printed.text, printed.text)
    before = n_computed()
    for shape in (2, 2), (4, 1), (1, 4):
        outputs = interpreter.invoke([struct.pack("4f", 1, -2, 3, 4), struct.pack("2i", *shape)])
        expect(outputs == [struct.pack("4f", 2, 0, 6, 8)], f"{shape}: {outputs}")
    expect(n_computed() == before + 3, "nnhal-cpu did not compute")


def states(way):
    """A cell goes on from where the last run ended, until its states are reset."""
    folder = recorded.SHARED / "mnist_lstm_float"
    model = capi.Model(way.library, folder / "model.tflite")
    inputs = [(folder / "in0_0.bin").read_bytes()]
    interpreter, alone = way.interpreter(model), model.interpreter()
    for i in range(5):
        if i == 3:
            interpreter.reset_states()
            alone.reset_states()
        close(interpreter.invoke(inputs), alone.invoke(inputs), f"run {i}")


def lstm(way):
    """Cells of 8 bits, one step and sequences: from run to run, too, for their states are kept."""
    rng = random.Random(3)
    compare_made(way, "lstm", 34, lambda run: [bytes(rng.randrange(256) for _ in range(n))
                                               for n in (60, 60, 1500, 15)], exact)


def lstm_real(way):
    """Cells of reals whose files list no normalization, from run to run, too."""
    rng = random.Random(5)
    compare_made(way, "lstm-real", 3, lambda run: [
        struct.pack(f"{n}f", *(rng.uniform(-2, 2) for _ in range(n))) for n in (10, 30, 30)], close)


def lstm_sixteen(way):
    """Cells of 16 bits: the delegate takes them. TensorFlow Lite 2.9.0 has its own kernel prepare them for their
    shapes, which refuses the biases: test-tflite.c has what they give."""
    model = capi.Model(way.library, BUILD / "tests/tflite/lstm-sixteen.tflite")
    is_made = True
    with log() as printed:
        try:
            way.interpreter(model)
        except capi.Failed:
            is_made = False
    expect("4 of 4 nodes" in printed.text, printed.text)
    expect(not is_made, "TensorFlow Lite computes it now: compare what it gives")


def scales(way):
    """Outputs of 8 bits with scales that NNAPI's operations do not have, and constants with one for each
    channel."""
    rng = random.Random(4)
    compare_made(way, "scales", 154, lambda run: [bytes(rng.randrange(256) for _ in range(120)) for _ in range(4)] + [
        struct.pack("24f", *(rng.uniform(-3, 3) for _ in range(24)))], exact)


def exact(found, wanted, what):
    expect(found == wanted, f"{what}: {found}, not {wanted}")


def compare_made(way, name, n_nodes, inputs_of, compare):
    """A model made here: all nodes are taken, and give what TensorFlow Lite's own kernels give."""
    model = capi.Model(way.library, BUILD / f"tests/tflite/{name}.tflite")
    with log() as printed:
        interpreter = way.interpreter(model)
    expect(f"{n_nodes} of {n_nodes} nodes" in printed.text, printed.text)
    alone, before = model.interpreter(), n_computed()
    for run in range(3):
        inputs = inputs_of(run)
        compare(interpreter.invoke(inputs), alone.invoke(inputs), f"run {run}")
    expect(n_computed() == before + 3, "nnhal-cpu did not compute")


def extension(way):
    """What NNAPI has not and nnhal.tflite has, bit by bit."""
    compare_made(way, "extension", 7, lambda run: [
        struct.pack("24f", *((k * 7 % 13 - 6 + run) / 4 for k in range(24))),
        struct.pack("6i", *(k * 5 - 11 * run for k in range(6)))], exact)


def fourier(way):
    """Transforms, with complex numbers on the way and as an output."""
    compare_made(way, "fourier", 6, lambda run: [
        struct.pack("90f", *(((k * 37 + run * 11) % 101 - 50) / 50 for k in range(90)))], close)


def ranks(way):
    """Tensors of rank 5 and 6: all but sums and functions of reals, which come last, bit by bit."""
    n_close = 16

    def compare(found, wanted, what):
        for i, (one, other) in enumerate(zip(found[:-n_close], wanted[:-n_close])):
            exact(one, other, f"{what}, output {i}")
        close(found[-n_close:], wanted[-n_close:], what)

    def inputs_of(run):
        rng = random.Random(run)
        reals = [struct.pack(f"{n}f", *(rng.uniform(-4, 4) for _ in range(n))) for n in (144, 12, 72, 12, 144)]
        codes = [rng.randbytes(n) for n in (144, 12, 72, 12, 144, 4 * 144, 8 * 144)]
        truths = bytes(rng.randrange(2) for _ in range(144))
        return [*reals[:2], *codes[:2], *reals[2:4], *codes[2:4], reals[4], *codes[4:], truths]
    compare_made(way, "ranks", 91, inputs_of, compare)


def group_norm(way):
    """Groups of channels: a rank of 5 between images."""
    compare_made(way, "group-norm", 23, lambda run: [
        struct.pack("144f", *(((k * 37 + run * 11) % 101 - 50) / 25 for k in range(144)))], close)


def sixteen(way):
    """Activations of 16 bits: all nodes are taken, and give what TensorFlow Lite's own kernels give, bit by
    bit."""
    compare_sixteen(way, "sixteen", 4, 20, 0)


def sixteen_refused(way):
    """What is not computed as TensorFlow Lite does stays with it, and is read as it declares."""
    compare_sixteen(way, "sixteen-refused", 70000, 3, 11)


def compare_sixteen(way, name, n_codes, n_runs, n_refused):
    model = capi.Model(way.library, BUILD / f"tests/tflite/{name}.tflite")
    with log() as printed:
        interpreter = way.interpreter(model)
    taken = re.search(r"(\d+) of (\d+) nodes", printed.text)
    expect(taken and int(taken[1]) + n_refused == int(taken[2]), printed.text)
    alone, rng = model.interpreter(), random.Random(1)
    for run in range(n_runs):
        reals = [rng.uniform(-1, 1) * rng.choice((0.1, 3, 60)) for _ in range(120)]
        codes = [rng.randint(-32768, 32767) for _ in range(n_codes)]
        inputs = [struct.pack("120f", *reals), struct.pack(f"{n_codes}h", *codes)]
        found, wanted = interpreter.invoke(inputs), alone.invoke(inputs)
        expect(len(found) == len(wanted), f"run {run}: {len(found)} outputs, not {len(wanted)}")
        for i, (one, other) in enumerate(zip(found, wanted)):
            expect(one == other, f"run {run}: output {i} is {one.hex()}, not {other.hex()}")


def close(found, wanted, what):
    compare_within(found, wanted, "f", 1e-5, what)


def compare_within(found, wanted, kind, tolerance, what):
    """A NaN is not within any tolerance."""
    expect([len(one) for one in found] == [len(one) for one in wanted],
           f"{what}: outputs of {[len(one) for one in found]} bytes, not {[len(one) for one in wanted]}")
    for i, (a, b) in enumerate(zip(found, wanted)):
        n = len(b) // struct.calcsize(kind)
        for k, (x, y) in enumerate(zip(struct.unpack(f"{n}{kind}", a), struct.unpack(f"{n}{kind}", b))):
            expect(abs(x - y) <= tolerance, f"{what}: element {k} of output {i} is {x:g}, not {y:g}")


def twice(way):
    """The library is loaded twice, from two places; all is deleted in an odd order."""
    model = capi.Model(way.library, SMALL)
    with tempfile.TemporaryDirectory() as folder:
        other = shutil.copy(way.delegate, Path(folder) / "libother.so")
        delegates = [capi.Delegate(way.loader, path) for path in (way.delegate, other, way.delegate)]
        interpreters = [model.interpreter(delegate=one) for one in delegates]
    wanted = interpreters[0].invoke(small_input(6))
    delegates[0].delete()
    expect(interpreters[0].invoke(small_input(6)) == wanted, "another result without the delegate")
    interpreters[1].delete()
    model.delete()
    delegates[1].delete()
    expect(interpreters[2].invoke(small_input(6)) == wanted, "another result once others were gone")
    interpreters[0].delete()
    delegates[2].delete()
    interpreters[2].delete()


OF_DELEGATE = {"cache": cache, "copies": copies, "memory": from_memory, "resize": resize,
               "dynamic": dynamic, "extension": extension, "fourier": fourier, "lstm": lstm,
               "lstm-real": lstm_real, "lstm-sixteen": lstm_sixteen,
               "group-norm": group_norm, "ranks": ranks, "sixteen": sixteen, "scales": scales,
               "sixteen-refused": sixteen_refused, "states": states, "twice": twice}
OF_SHARED = {"resize", "states"}  # with models of $NNHAL_SHARED
OF_PRIVATE = {"kill", "killed"}  # there the driver's process is the application's own
