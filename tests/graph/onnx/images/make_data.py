#!/usr/bin/python3
"""Writes the images in data/ beside this file, with their pixels as Pillow decodes them.

IMAGE.pixels has a line with height and width, then the pixels in color, then in gray.
decode_image_test reads them. Needs Debian's python3-pil and python3-numpy.
"""

import pathlib

import numpy
from PIL import Image

FOLDER = pathlib.Path(__file__).resolve().parent / "data"


def picture(height, width):
    """Smooth colors with some noise, so that JPEG's filters matter."""
    random = numpy.random.RandomState(1)
    y, x = numpy.mgrid[0:height, 0:width]
    waves = [numpy.sin(x / 3 + c) * numpy.cos(y / 2 - c) * 100 + 128 for c in range(3)]
    pixels = numpy.stack(waves, axis=-1) + random.uniform(-20, 20, (height, width, 3))
    return Image.fromarray(pixels.clip(0, 255).astype(numpy.uint8))


def main():
    FOLDER.mkdir(exist_ok=True)
    color = picture(10, 13)
    alpha = color.convert("RGBA")
    alpha.putalpha(color.convert("L"))
    palette = color.quantize(16)
    images = {
        "half_colors.jpg": (color, {"quality": 90, "subsampling": "4:2:0"}),
        "all_colors.jpg": (color, {"quality": 75, "subsampling": "4:4:4"}),
        "progressive.jpg": (color, {"quality": 80, "progressive": True}),
        "gray.jpg": (color.convert("L"), {}),
        "colors.png": (color, {}),
        "alpha.png": (alpha, {}),
        "gray.png": (color.convert("L"), {}),
        "palette.png": (palette, {}),
        "one_bit.png": (color.convert("1"), {}),
        "transparent.png": (palette, {"transparency": 3}),
        "colors.bmp": (color, {}),
        "alpha.bmp": (alpha, {}),
        "palette.bmp": (palette, {}),
        "gray.bmp": (color.convert("L"), {}),
        "one_bit.bmp": (color.convert("1"), {}),
        "colors.ppm": (color, {}),
        "gray.pgm": (color.convert("L"), {}),
    }
    not_decoded = {
        "four_inks.jpg": (color.convert("CMYK"), {}),
        "wide.png": (color.convert("I"), {}),
        "colors.tiff": (color, {}),
        "colors.gif": (color, {}),
        "colors.webp": (color, {}),
        "one_bit.pbm": (color.convert("1"), {}),
    }
    for name, (image, options) in (images | not_decoded).items():
        image.save(FOLDER / name, **options)
    for name in images:
        with Image.open(FOLDER / name) as read:
            pixels = read.convert("RGB").tobytes() + read.convert("L").tobytes()
            header = f"{read.height} {read.width}\n".encode()
        (FOLDER / f"{name}.pixels").write_bytes(header + pixels)


if __name__ == "__main__":
    main()
