# SPDX-License-Identifier: Apache-2.0
"""Pictures of characters: rendered from the machine's fonts, then distorted.

A class is a set of characters that one cannot tell apart without a line of
text around them: 0 and O, 1 and I and l, letters whose upper and lower case
have one form. CLASSES gives them in the order of the model's outputs; the
first character of each is its label.
"""

import random
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

SIZE = 32  # pixels, height and width of a picture

CLASSES = ["0Oo", "1Il", "2", "3", "4", "5", "6", "7", "8", "9",
           "A", "a", "B", "b", "Cc", "D", "d", "E", "e", "F", "f", "G", "g", "H", "h", "i",
           "Jj", "Kk", "L", "Mm", "N", "n", "Pp", "Q", "q", "R", "r", "Ss", "T", "t",
           "Uu", "Vv", "Ww", "Xx", "Yy", "Zz"]

# Faces that have no Latin letters of the usual form: symbols, small capitals, outlines.
UNUSABLE = ("symbol", "dingbat", "d050000l", "ornament", "math", "mono-bold-outline", "smallcaps",
            "-sc", "caps", "d05", "s05", "s0500", "standardsymbols", "zapf", "emoji", "noto",
            "droidsansfallback", "icon", "barcode", "braille", "tibetan", "conakry", "bamum",
            "lignes", "f500", "kai", "titling", "initials", "unicase", "biolinum_k", "keyboard",
            "outline", "shadow", "radisnoir", "spartan", "isabella", "charterroyal", "irianis")


def font_files():
    """Paths of the faces that can be used, sorted; faces of one family are neighbors."""
    found = {}
    for folder in ("/usr/share/fonts", "/usr/local/share/fonts"):
        for path in Path(folder).rglob("*"):
            name = path.name.lower()
            if path.suffix.lower() in (".ttf", ".otf") and not any(u in name for u in UNUSABLE):
                found[name] = path
    return [found[name] for name in sorted(found) if has_letters(found[name])]


def has_letters(path):
    """Whether the face draws each character of CLASSES, and differently from a missing one."""
    try:
        font = ImageFont.truetype(str(path), 24)
        missing = bytes(font.getmask("\uffff"))
        masks = {c: bytes(font.getmask(c)) for group in CLASSES for c in group}
        return all(any(m) and m != missing for m in masks.values()) \
            and masks["a"] != masks["A"] and masks["e"] != masks["E"] and masks["g"] != masks["G"]
    except (OSError, ValueError):
        return False


def family(path):
    """The name that faces of one family share: what is held out is held out whole."""
    name = path.name.lower()
    for cut in ("-", "_", "."):
        name = name.split(cut)[0]
    for style in ("bold", "italic", "oblique", "regular", "light", "medium", "book", "thin"):
        name = name.replace(style, "")
    return name.rstrip("0123456789")[:9]


def render(font, character):
    """A float array [SIZE, SIZE] in [0, 1], ink 1, the character centered and fitting."""
    left, top, right, bottom = font.getbbox(character)
    width, height = max(right - left, 1), max(bottom - top, 1)
    image = Image.new("L", (width + 8, height + 8), 0)
    ImageDraw.Draw(image).text((4 - left, 4 - top), character, fill=255, font=font)
    scale = (SIZE - 8) / max(width, height)
    size = (max(round(image.width * scale), 1), max(round(image.height * scale), 1))
    image = image.resize(size, Image.LANCZOS)
    page = Image.new("L", (SIZE, SIZE), 0)
    page.paste(image, ((SIZE - size[0]) // 2, (SIZE - size[1]) // 2))
    return np.asarray(page, dtype=np.float32) / 255


def distort(picture, rng, strength):
    """Rotated, sheared, scaled, bent, blurred, thickened and noisy, like a hand or a camera."""
    angle = np.deg2rad(rng.uniform(-12, 12) * strength)
    shear = rng.uniform(-0.2, 0.2) * strength
    sx, sy = (1 + rng.uniform(-0.18, 0.12) * strength for _ in range(2))
    matrix = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) \
        @ np.array([[1, shear], [0, 1]]) @ np.diag([1 / sx, 1 / sy])
    ys, xs = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
    center = (SIZE - 1) / 2
    bend = wave(rng, strength), wave(rng, strength)
    dx, dy = xs - center, ys - center
    u = matrix[0, 0] * dx + matrix[0, 1] * dy + center + bend[0] + rng.uniform(-2, 2) * strength
    v = matrix[1, 0] * dx + matrix[1, 1] * dy + center + bend[1] + rng.uniform(-2, 2) * strength
    result = sample(picture, u, v)
    ink = rng.uniform(-0.25, 0.35) * strength
    result = np.clip((result + ink * soften(result)) * rng.uniform(1 - 0.3 * strength, 1), 0, 1)
    noise = np.random.default_rng(rng.getrandbits(32)).normal(0, 0.06 * strength, result.shape)
    return np.clip(result + noise, 0, 1).astype(np.float32)


def wave(rng, strength):
    """A smooth displacement of up to about a pixel and a half."""
    coarse = np.random.default_rng(rng.getrandbits(32)).uniform(-1.5, 1.5, (4, 4)) * strength
    return np.asarray(Image.fromarray(coarse.astype(np.float32), "F")
                      .resize((SIZE, SIZE), Image.BICUBIC))


def soften(picture):
    padded = np.pad(picture, 1)
    return (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]) / 4


def sample(picture, u, v):
    """Bilinear samples of picture at columns u and rows v; outside is 0."""
    padded = np.pad(picture, 1)
    u, v = np.clip(u + 1, 0, SIZE + 0.999), np.clip(v + 1, 0, SIZE + 0.999)
    x, y = u.astype(np.int32), v.astype(np.int32)
    fx, fy = u - x, v - y
    return (padded[y, x] * (1 - fx) * (1 - fy) + padded[y, x + 1] * fx * (1 - fy)
            + padded[y + 1, x] * (1 - fx) * fy + padded[y + 1, x + 1] * fx * fy)


def data_set(fonts, n_per_character, seed, strength=1.0):
    """Pictures [N, SIZE, SIZE] and classes [N], of every character in every font."""
    rng = random.Random(seed)
    pictures, classes = [], []
    for path in fonts:
        font = ImageFont.truetype(str(path), 48)
        for number, group in enumerate(CLASSES):
            for character in group:
                plain = render(font, character)
                for _ in range(n_per_character):
                    pictures.append(distort(plain, rng, strength) if strength else plain)
                    classes.append(number)
    return np.stack(pictures), np.array(classes)


def split(fonts, held_out=0.2, seed=7):
    """(training, held out): whole families, chosen by seed."""
    families = sorted({family(path) for path in fonts})
    chosen = set(random.Random(seed).sample(families, round(len(families) * held_out)))
    return ([p for p in fonts if family(p) not in chosen],
            [p for p in fonts if family(p) in chosen])
