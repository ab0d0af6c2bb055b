"""Fits the models of tiles on tensor cores (kernels/codegen/tiles/tile_choice.cc) to gpu_precision_main.

    python3 tools/gpu/fit_tensor_tiles.py data/measurements/gpu_precision.json

prints the constants of tiles by warp and by warpgroup, and how much slower the choices of each model
are than the best measured ones. TILES and the formulas must be those of PredictedMicroseconds, but
for what a run takes and what adding up parts takes: tile_choice.cc says why.
"""

import collections
import json
import math
import sys

import numpy as np

# rows, columns, blocks on a multiprocessor, stages (0: by warp)
TILES = [(256, 128, 1, 0), (128, 256, 1, 0), (128, 128, 2, 0), (128, 128, 1, 0), (128, 64, 3, 0),
         (64, 128, 3, 0), (64, 64, 4, 0), (64, 32, 6, 0), (32, 64, 6, 0), (32, 32, 8, 0),
         (128, 256, 1, 4), (128, 128, 2, 3), (128, 128, 1, 6), (64, 256, 1, 4), (64, 128, 2, 4),
         (128, 64, 2, 4), (64, 64, 3, 4), (64, 64, 1, 8)]
MULTIPROCESSORS, CYCLES, COMBINE, BYTES = 132, 1700, 0.67, 2.9e6


def ceil(a, b):
    return -(-a // b)


def blocks_of(row):
    """Blocks together on a multiprocessor, and rounds of them."""
    _, (batch, m, n, *_), _, tile, parts, _ = row
    rows, columns, most, _ = TILES[tile]
    blocks = ceil(m, rows) * ceil(n, columns) * batch * parts
    together = min(most, ceil(blocks, MULTIPROCESSORS))
    return together, max(1.0, blocks / (MULTIPROCESSORS * together))


def combine(row):
    _, (batch, m, n, *_), _, _, parts, _ = row
    return COMBINE + 8 * batch * m * n * parts / BYTES if parts > 1 else 0


class ByWarp:
    """Step latency, products per cycle, bytes per cycle, work; what every run takes, in µs."""
    START = [900, 1000, 24, 0.02, 2.4]
    FIRST, WORDS = 0, 16

    @staticmethod
    def time(constants, slower, row):
        _, (_, _, _, k, a_work, b_work, *_), precision, tile, parts, _ = row
        latency, products, per_cycle, work, run = constants
        rows, columns, *_ = TILES[tile]
        together, rounds = blocks_of(row)
        depth = ByWarp.WORDS * (2 if precision in ("bf16", "f16") else 1)
        busy = (rows * columns * ByWarp.WORDS * 2 / products + (rows + columns) * depth * 4 /
                per_cycle + work * (rows * a_work + columns * b_work) * depth) * slower
        steps = ceil(ceil(k, parts), depth)
        return run + rounds * steps * max(latency, busy * together) / CYCLES + combine(row)


class ByWarpgroup:
    """Latency of a copy, products and elements of the result per cycle, cycles besides; run in µs."""
    START = [1500, 1700, 16, 1000, 8]
    FIRST, DEPTH = 10, 64

    @staticmethod
    def time(constants, slower, row):
        _, (_, _, _, k, *_), _, tile, parts, _ = row
        latency, products, results, end, run = constants
        rows, columns, _, stages = TILES[tile]
        together, rounds = blocks_of(row)
        step = max(latency / stages, slower * rows * columns * ByWarpgroup.DEPTH / products * together)
        steps = ceil(ceil(k, parts), ByWarpgroup.DEPTH)
        last = end + rows * columns * together / results
        return run + rounds * (steps * step + last) / CYCLES + combine(row)


def predicted(model, logs, row):
    constants = np.exp(logs)
    count = len(model.START)
    return model.time(constants[:count], constants[count + row[3] - model.FIRST], row)


def loss(model, logs, rows):
    errors = [abs(math.log(predicted(model, logs, row) / row[-1])) ** 1.5 for row in rows]
    return sum(errors) + 0.3 * float(np.sum(np.square(logs[len(model.START):])))


def fit(model, rows, rounds=8000):
    """Accepts random steps along one constant that lessen the loss."""
    random = np.random.default_rng(1)
    tiles = max(row[3] for row in rows) - model.FIRST + 1
    logs = np.concatenate([np.log(model.START), np.zeros(tiles)])
    best, step = loss(model, logs, rows), np.full(len(logs), 0.3)
    for _ in range(rounds):
        i = random.integers(len(logs))
        other = logs.copy()
        other[i] += step[i] * random.normal()
        value = loss(model, other, rows)
        step[i] = min(step[i] * 1.5, 1) if value < best else max(step[i] * 0.95, 0.01)
        if value < best:
            logs, best = other, value
    return logs


def choices(model, logs, rows):
    """The time of the model's choice, relative to the best measured one, for each product."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row[0], row[2]].append(row)
    return [min(group, key=lambda row: predicted(model, logs, row) / (0.9 if row[4] > 1 else 1))[-1] /
            min(row[-1] for row in group) for group in groups.values()]


def main(path):
    with open(path) as file:
        report = json.load(file)
    rows = [(row["case"], [int(x) for x in row["size"]], row["precision"], tile["tile"],
             tile["parts"], 1e3 * tile["ms"]) for row in report["products"] for tile in row["tiles"]]
    for model in ByWarp, ByWarpgroup:
        # By warpgroup only without kernels that round factors.
        mine = [row for row in rows if (TILES[row[3]][3] > 0) == (model is ByWarpgroup) and
                (model is ByWarp or "stored" in row[0])]
        logs = fit(model, mine)
        constants, count = np.exp(logs), len(model.START)
        print(f"{model.__name__}: {model.__doc__}")
        print(" ", constants[:count].round(4).tolist())
        print("  of each tile:", constants[count:].round(2).tolist())
        ratios = choices(model, logs, mine)
        print(f"  {len(mine)} measurements; chosen / best: {np.exp(np.mean(np.log(ratios))):.3f} in"
              f" the geometric mean of {len(ratios)}, at most {max(ratios):.2f}")


if __name__ == "__main__":
    main(sys.argv[1])
