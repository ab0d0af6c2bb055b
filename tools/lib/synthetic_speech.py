"""Speech-like sounds without words: vowels of a voice, by formants, and fricatives, in noise."""

import numpy

RATE = 16000
# The first three formants of vowels of American English, in Hz (Peterson and Barney, 1952).
VOWELS = ((730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480),
          (570, 840, 2410), (660, 1720, 2410))
HIGHER, WIDTHS = (3500, 4500), (80, 90, 120, 150, 200)


def resonate(x, frequency, width):
    """`x` through a resonance of the vocal tract: two poles at `frequency`, `width` Hz wide."""
    radius = numpy.exp(-numpy.pi * width / RATE)
    a, b = 2 * radius * numpy.cos(2 * numpy.pi * frequency / RATE), -radius * radius
    y, before, last = numpy.zeros_like(x), 0.0, 0.0
    for n, value in enumerate((1 - a - b) * x):
        y[n] = value + a * last + b * before
        before, last = last, y[n]
    return y


def voiced(source, formants):
    for frequency, width in zip((*formants, *HIGHER), WIDTHS):
        source = resonate(source, frequency, width)
    return source


def syllable(random, pitch):
    """One vowel that becomes another, half of the time behind a fricative."""
    count = int(RATE * random.uniform(0.12, 0.25))
    t = numpy.linspace(0, 1, count)
    hertz = pitch * (1 + 0.08 * numpy.sin(random.uniform(1, 4) * t + random.uniform(0, 6)) - 0.1 * t)
    pulses = numpy.diff(numpy.floor(numpy.cumsum(hertz) / RATE), prepend=0)
    source = numpy.diff(resonate(pulses, 0, 100), prepend=0)
    a, b = (VOWELS[i] for i in random.integers(len(VOWELS), size=2))
    vowel = voiced(source, a) * (1 - t) + voiced(source, b) * t
    vowel *= numpy.minimum(1, numpy.minimum(t, 1 - t) / 0.2)
    vowel /= numpy.abs(vowel).max() + 1e-9
    if random.random() < 0.5:
        return vowel
    noise = numpy.diff(random.normal(size=int(RATE * random.uniform(0.04, 0.1))), prepend=0)
    return numpy.concatenate([0.08 * noise * numpy.hanning(len(noise)), vowel])


def recording(seed, seconds):
    """Returns samples in [-1, 1] and, for each, 1 where there is speech and 0 elsewhere."""
    random = numpy.random.default_rng(seed)
    parts, speech = [], []
    while sum(len(part) for part in parts) < seconds * RATE:
        parts.append(numpy.zeros(int(RATE * random.uniform(0.6, 1.2))))
        speech.append(numpy.zeros(len(parts[-1])))
        pitch = random.uniform(95, 220)
        words = [syllable(random, pitch) for _ in range(random.integers(4, 9))]
        parts.append(numpy.concatenate(words) * random.uniform(0.2, 0.6))
        speech.append(numpy.ones(len(parts[-1])))
    samples = numpy.concatenate(parts)
    samples += random.normal(0, random.uniform(0.001, 0.01), len(samples))
    return samples.astype(numpy.float32), numpy.concatenate(speech)
