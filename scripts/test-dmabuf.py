#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real dma-bufs and sync_files: Debian's kernel in a virtual machine, with vgem.

    test-dmabuf.py [--build build]

Downloads Debian's kernel package and unpacks it (it is never installed), packs
the tests of tests/dmabuf with the libraries that they need into an initramfs,
and boots it under QEMU in software emulation, which needs no rights. Installs
qemu-system-x86 if it is missing. Ends with 0 if every program passed.
"""

import argparse
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULES = ("drm", "drm_kms_helper", "drm_shmem_helper", "vgem")
WAYS = ("embedded", "private", "service")
BOOT_TIMEOUT_S = 300


def run(*command, **more):
    return subprocess.run(command, check=True, text=True, stdin=subprocess.DEVNULL, **more)


def install_qemu():
    if shutil.which("qemu-system-x86_64"):
        return
    print("installing: qemu-system-x86", flush=True)
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    run(*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq",
        "--no-install-recommends", "qemu-system-x86", stdout=subprocess.DEVNULL)


def kernel_package():
    text = run("apt-cache", "depends", "linux-image-amd64", capture_output=True).stdout
    found = re.search(r"Depends: (linux-image-\S+-amd64)", text)
    if not found:
        sys.exit("apt knows no linux-image-amd64: run apt-get update")
    return found[1]


def unpack_kernel(folder):
    """Debian's kernel and its modules, downloaded once. Returns their folder."""
    package = kernel_package()
    kernel = folder / package
    if not (kernel / "boot").is_dir():
        print(f"downloading: {package}", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        run("apt-get", "download", "-qq", package, cwd=folder, stderr=subprocess.DEVNULL)
        archive = next(folder.glob(f"{package}_*.deb"))
        run("dpkg-deb", "-x", archive, kernel)
        archive.unlink()
    return kernel


def libraries(program):
    text = run("ldd", program, capture_output=True).stdout
    return {Path(path) for path in re.findall(r"(/\S+) \(0x", text)}


def copy_to(tree, source, target):
    place = tree / str(target).lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, place)


def write_tree(tree, build, kernel):
    for name in ("proc", "sys", "dev", "tmp", "etc"):
        (tree / name).mkdir()
    copy_to(tree, build / "tests/dmabuf/dmabuf-init", "/init")
    (tree / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
    (tree / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n")
    programs = [build / "tests/dmabuf" / f"dmabuf-{way}" for way in WAYS]
    others = [build / "nnhal-host", build / "src/drivers/sample/libnnhal-driver-sample.so"]
    for program in programs + others:
        copy_to(tree, program, program)
    (tree / "programs").write_text("".join(f"{program}\n" for program in programs))
    for library in set().union(*map(libraries, programs + others)):
        copy_to(tree, library.resolve(), library)
    (tree / "modules").mkdir()
    for name in MODULES:
        copy_to(tree, next(kernel.glob(f"lib/modules/*/kernel/drivers/gpu/drm/**/{name}.ko")),
                f"/modules/{name}.ko")
    (tree / "modules/order").write_text("".join(f"{name}.ko\n" for name in MODULES))


def entry(number, name, mode, data):
    """One file of an archive as the kernel unpacks it: cpio's newc format."""
    path = name.encode() + b"\0"
    head = b"070701" + b"".join(b"%08x" % field for field in (
        number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)) + path
    head += bytes(-len(head) % 4)
    return head + data + bytes(-len(data) % 4)


def pack(tree, archive):
    with gzip.open(archive, "wb", 1) as file:
        for number, path in enumerate(sorted(tree.rglob("*")), 1):
            data = b"" if path.is_dir() else path.read_bytes()
            file.write(entry(number, str(path.relative_to(tree)), path.stat().st_mode, data))
        file.write(entry(0, "TRAILER!!!", 0, b""))


def boot(kernel, archive):
    """Boots, prints what the machine says, and returns it."""
    image = next((kernel / "boot").glob("vmlinuz-*"))
    command = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-m", "512", "-smp", "2",
               "-kernel", image, "-initrd", archive, "-display", "none", "-serial", "stdio",
               "-no-reboot", "-append", "console=ttyS0 quiet panic=-1"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              timeout=BOOT_TIMEOUT_S)
        text = done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as error:
        text = (error.stdout or b"").decode(errors="replace") + "\nthe machine did not end in time"
    print(text.replace("\r", ""), flush=True)
    return text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build", type=Path)
    build = parser.parse_args().build.resolve()
    install_qemu()
    run("ninja", "-C", build, "--quiet", "nnhal-host", "tests/dmabuf/dmabuf-init",
        "src/drivers/sample/libnnhal-driver-sample.so",
        *(f"tests/dmabuf/dmabuf-{way}" for way in WAYS))
    kernel = unpack_kernel(build / "dmabuf")
    with tempfile.TemporaryDirectory() as folder:
        tree, archive = Path(folder) / "tree", Path(folder) / "initramfs.gz"
        tree.mkdir()
        write_tree(tree, build, kernel)
        pack(tree, archive)
        text = boot(kernel, archive)
    return 0 if f"init: {len(WAYS)} programs, 0 failed" in text else 1


if __name__ == "__main__":
    sys.exit(main())
