"""Fits the model of tiles on tensor cores (kernels/codegen/tile_choice.cc) to gpu_precision_main.

    python3 tools/lib/fit_tensor_tiles.py data/measurements/gpu_precision.json

prints the model's constants, and how much slower the fitted model's choices are than the best
measured ones. TILES, TOGETHER and the formula must be those of PredictedMicroseconds.
"""

import collections
import json
import math
import sys

import numpy as np

# rows, columns; blocks on a multiprocessor
TILES = [(256, 128), (128, 256), (128, 128), (128, 128), (128, 64), (64, 128), (64, 64), (64, 32),
         (32, 64), (32, 32)]
TOGETHER = [1, 1, 2, 1, 3, 3, 4, 6, 6, 8]
WORDS = 16
MULTIPROCESSORS, CYCLES, COMBINE, BYTES = 132, 1700, 0.67, 2.9e6
# Step latency, products per cycle, bytes per cycle, work; what every run takes, in microseconds.
START = [900, 1000, 24, 0.02, 2.4]


def ceil(a, b):
    return -(-a // b)


def predicted(logs, row):
    _, size, precision, tile, parts, _ = row
    batch, m, n, k, a_work, b_work = size
    latency, products, per_cycle, work, run = np.exp(logs[:len(START)])
    rows, columns = TILES[tile]
    blocks = ceil(m, rows) * ceil(n, columns) * batch * parts
    together = min(TOGETHER[tile], ceil(blocks, MULTIPROCESSORS))
    rounds = max(1.0, blocks / (MULTIPROCESSORS * together))
    depth = WORDS * (2 if precision in ("bf16", "f16") else 1)
    busy = (rows * columns * WORDS * 2 / products + (rows + columns) * depth * 4 / per_cycle +
            work * (rows * a_work + columns * b_work) * depth) * math.exp(logs[len(START) + tile])
    steps = ceil(ceil(k, parts), depth)
    time = run + rounds * steps * max(latency, busy * together) / CYCLES
    return time + (COMBINE + 8 * batch * m * n * parts / BYTES if parts > 1 else 0)


def loss(logs, rows):
    errors = [abs(math.log(predicted(logs, row) / row[-1])) ** 1.5 for row in rows]
    return sum(errors) + 0.3 * float(np.sum(np.square(logs[len(START):])))


def fit(rows, rounds=6000):
    """Accepts random steps along one constant that lessen the loss."""
    random = np.random.default_rng(1)
    logs = np.concatenate([np.log(START), np.zeros(len(TILES))])
    best, step = loss(logs, rows), np.full(len(logs), 0.3)
    for _ in range(rounds):
        i = random.integers(len(logs))
        other = logs.copy()
        other[i] += step[i] * random.normal()
        value = loss(other, rows)
        step[i] = min(step[i] * 1.5, 1) if value < best else max(step[i] * 0.95, 0.01)
        if value < best:
            logs, best = other, value
    return logs


def choices(logs, rows):
    """The time of the model's choice, relative to the best measured one, for each product."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row[0], row[2]].append(row)
    return [min(group, key=lambda row: predicted(logs, row) / (0.9 if row[4] > 1 else 1))[-1] /
            min(row[-1] for row in group) for group in groups.values()]


def main(path):
    with open(path) as file:
        report = json.load(file)
    rows = [(row["case"], [int(x) for x in row["size"]], row["precision"], tile["tile"],
             tile["parts"], 1e3 * tile["ms"]) for row in report["products"] for tile in row["tiles"]]
    logs = fit(rows)
    constants = np.exp(logs)
    print("latency, products, bytes, work, run:", constants[:len(START)].round(4).tolist())
    print("of each tile:", constants[len(START):].round(2).tolist())
    ratios = choices(logs, rows)
    print(f"{len(rows)} measurements; chosen / best: {np.exp(np.mean(np.log(ratios))):.3f} in the "
          f"geometric mean of {len(ratios)}, at most {max(ratios):.2f}")
    before = choices(np.concatenate([np.log(START), np.zeros(len(TILES))]), rows)
    print(f"before the fit: {np.exp(np.mean(np.log(before))):.3f}")


if __name__ == "__main__":
    main(sys.argv[1])
