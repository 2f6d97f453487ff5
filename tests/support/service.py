# SPDX-License-Identifier: Apache-2.0
"""A service for the length of a with block, for test scripts in Python.

    with service.running(build, "cpu") as environment: subprocess.run(..., env=environment)

The environment finds that service and no other. Nothing remains afterwards.
"""

import contextlib
import os
import subprocess
import tempfile
import time
from pathlib import Path

STARTS_WITHIN_S = 60


@contextlib.contextmanager
def running(build, *names, **variables):
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, NNHAL_SOCKET_PATH=folder, NNHAL_MODE="service", **variables)
        services = []
        try:
            for name in names:
                services.append(subprocess.Popen([Path(build) / "nnhal-host", name],
                                                 env=environment, stdin=subprocess.DEVNULL,
                                                 stdout=subprocess.DEVNULL,
                                                 stderr=subprocess.DEVNULL))
            until = time.monotonic() + STARTS_WITHIN_S
            for service, name in zip(services, names):
                while not (Path(folder) / f"{name}.sock").exists():
                    if service.poll() is not None or time.monotonic() > until:
                        raise RuntimeError(f"the service {name} does not start")
                    time.sleep(0.02)
            yield environment
        finally:
            for service in services:
                service.terminate()
            for service in services:
                service.wait()


@contextlib.contextmanager
def way(build, mode, *names, **variables):
    """The environment for a mode: with services for "service", else just NNHAL_MODE and variables."""
    if mode == "service":
        with running(build, *names, **variables) as environment:
            yield environment
    else:
        yield dict(os.environ, NNHAL_MODE=mode, **variables)


def partial(build, mode, rules):
    """The environment for a mode in which partial-0 and partial-1 follow rules (drivers/partial)."""
    return way(build, mode, "partial-0", "partial-1", NN_TEST_PARTIAL=rules,
               NNHAL_DRIVER_PATH=str(Path(build) / "test-drivers"),
               NNHAL_DEVICES="-partial-2,-partial-3,-partial-4")
