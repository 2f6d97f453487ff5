#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nnhal-picture: each format's pixels, what is refused, and what a hostile picture can do.

    test-pictures.py --program build/nnhal-picture --evil build/.../evil-picture.so [NAME...]

The pictures are made by Python's imaging library (python3-pil), which is also who says what their pixels are.
"""

import argparse
import io
import os
import random
import struct
import subprocess
import sys
import tempfile
import zlib

try:
    from PIL import Image, ImageOps
except ImportError:
    print("SKIPPED: the pictures are made by PIL: install python3-pil")
    sys.exit(77)

PROGRAM = EVIL = None
WIDTH, HEIGHT = 40, 30
N_WAYS = 44  # that evil-picture.c tries


def gradient(mode="RGB"):
    image = Image.new("RGB", (WIDTH, HEIGHT))
    image.putdata([(x * 6, y * 8, x * y % 256) for y in range(HEIGHT) for x in range(WIDTH)])
    return image.convert(mode)


def transparent():
    image = gradient("RGBA")
    image.putalpha(Image.linear_gradient("L").resize((WIDTH, HEIGHT)))
    return image


def encoded(image, kind, **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def turned(orientation):
    exif = Image.Exif()
    exif[0x112] = orientation
    return encoded(gradient(), "JPEG", quality=95, exif=exif.tobytes())


# Each with how much a channel may differ from what PIL reads.
FORMATS = {
    "PNG": (encoded(gradient(), "PNG"), 0),
    "PNG, gray": (encoded(gradient("L"), "PNG"), 0),
    "PNG, palette": (encoded(gradient("P"), "PNG"), 0),
    "PNG, transparent": (encoded(transparent(), "PNG"), 1),
    "JPEG": (encoded(gradient(), "JPEG", quality=95), 0),
    "JPEG, progressive": (encoded(gradient(), "JPEG", quality=95, progressive=True), 0),
    "JPEG, gray": (encoded(gradient("L"), "JPEG", quality=95), 0),
    "JPEG, CMYK": (encoded(gradient("CMYK"), "JPEG", quality=95), 4),
    "GIF": (encoded(gradient("P"), "GIF"), 0),
    "TIFF": (encoded(gradient(), "TIFF"), 0),
    "TIFF, LZW": (encoded(gradient(), "TIFF", compression="tiff_lzw"), 0),
    "BMP": (encoded(gradient(), "BMP"), 0),
    "BMP, palette": (encoded(gradient("P"), "BMP"), 0),
    "PPM": (encoded(gradient(), "PPM"), 0),
    "PGM": (encoded(gradient("L"), "PPM"), 0),
    "WebP": (encoded(gradient(), "WEBP", quality=95), 0),
    "WebP, lossless": (encoded(gradient(), "WEBP", lossless=True), 0),
} | {f"JPEG, orientation {i}": (turned(i), 0) for i in range(1, 9)}


def run(content, **environment):
    return subprocess.run([PROGRAM], input=content, capture_output=True, timeout=120,
                          env=dict(os.environ, **environment))


def pixels(done):
    expect(done.returncode == 0, f"refused: {done.stderr}")
    header, data = done.stdout.split(b"\n255\n", 1)
    width, height = map(int, header.removeprefix(b"P6\n").split())
    expect(len(data) == width * height * 3, f"{len(data)} bytes for {width} x {height}")
    return Image.frombytes("RGB", (width, height), data)


def over_white(content):
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(content))).convert("RGBA")
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image).convert("RGB")


def expect(is_met, what):
    if not is_met:
        raise AssertionError(what)


def expect_refusal(done, what):
    expect(done.returncode == 1, f"{what}: ended with {done.returncode}, {done.stderr}")
    expect(not done.stdout and done.stderr.count(b"\n") >= 1, f"{what}: {done.stderr}")


def has_webp():
    """Whether the module is installed; that it is used is what is tested."""
    return b"install webp-pixbuf-loader" not in run(FORMATS["WebP"][0]).stderr


def present_formats():
    is_there = has_webp()
    if not is_there:
        print("SKIPPED in part: no module for WebP: install webp-pixbuf-loader")
    return {name: f for name, f in FORMATS.items() if is_there or not name.startswith("WebP")}


def formats_are_read():
    for name, (content, tolerance) in present_formats().items():
        got, wanted = pixels(run(content)), over_white(content)
        expect(got.size == wanted.size, f"{name}: {got.size}, not {wanted.size}")
        worst = max(abs(a - b) for a, b in zip(got.tobytes(), wanted.tobytes()))
        expect(worst <= tolerance, f"{name}: pixels differ by {worst}")


def deep_pixels_keep_their_upper_bits():
    deep = gradient("L").point(lambda v: v * 257, "I")
    got = pixels(run(encoded(deep, "PNG")))
    expect(got.getpixel((7, 3)) == gradient("L").convert("RGB").getpixel((7, 3)), "other pixels")


def cut_files_are_refused():
    for name, (content, _) in present_formats().items():
        if "orientation" in name:
            continue
        for cut in {0, 9, len(content) - 2, *random.sample(range(30, len(content)), 2)}:
            expect_refusal(run(content[:cut]), f"{name} cut to {cut} of {len(content)}")


def damaged_files_end_nobody():
    for name, (content, _) in present_formats().items():
        for _ in range(2):
            spoilt = bytearray(content)
            for _ in range(8):
                spoilt[random.randrange(len(spoilt))] = random.randrange(256)
            done = run(bytes(spoilt))
            expect(done.returncode in (0, 1), f"{name}: ended with {done.returncode}")
            if done.returncode:
                expect_refusal(done, name)


def huge_pictures_are_refused():
    content = bytearray(FORMATS["PNG"][0])
    content[16:24] = struct.pack(">II", 60000, 60000)
    content[29:33] = struct.pack(">I", zlib.crc32(content[12:29]))
    done = run(bytes(content))
    expect_refusal(done, "60000 x 60000")
    expect(b"16384" in done.stderr, done.stderr)


def other_files_are_refused():
    for content in (b"", b"EVIL", b"<html>", bytes(1000), b"GIF89a", b"BM", b"\xff\xd8", b"RIFF"):
        expect_refusal(run(content), content[:10])


def nothing_leaves_the_process():
    with tempfile.TemporaryDirectory() as folder:
        modules, victim = os.path.join(folder, "modules"), os.path.join(folder, "victim")
        with open(modules, "w", encoding="utf-8") as file:
            file.write(f'"{EVIL}"\n"tiff" 4 "evil" "evil" "LGPL"\n"image/tiff" ""\n"tiff" ""\n'
                       '"II*" "" 100\n\n')
        with open(victim, "w", encoding="utf-8") as file:
            file.write("whole")
        done = run(b"II*\0" + bytes(100), GDK_PIXBUF_MODULE_FILE=modules, NN_TEST_VICTIM=victim)
        ways = pixels(done)
        open_ways = [i for i in range(ways.height) if ways.getpixel((0, i)) != (0, 0, 0)]
        expect(ways.height == N_WAYS and not open_ways, f"ways out, by their rows: {open_ways}")
        with open(victim, encoding="utf-8") as file:
            expect(file.read() == "whole", "a file was changed")


TESTS = [formats_are_read, deep_pixels_keep_their_upper_bits, cut_files_are_refused,
         damaged_files_end_nobody, huge_pictures_are_refused, other_files_are_refused,
         nothing_leaves_the_process]


def main():
    global PROGRAM, EVIL
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--evil", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("name", nargs="*")
    options = parser.parse_args()
    PROGRAM, EVIL = options.program, options.evil
    random.seed(options.seed)
    for test in TESTS:
        if not options.name or test.__name__ in options.name:
            test()
            print(f"{test.__name__}: ok", flush=True)


main()
