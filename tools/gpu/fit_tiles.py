"""Fits the model of kernels/codegen/tiles/tile_choice.cc to measurements of gpu_tiles_main.

    python3 tools/gpu/fit_tiles.py data/measurements/gpu_tiles_h100.txt

prints the model's constants, and how much slower the fitted model's choices are than the best
measured ones. TILES and the formula here must be the same as in PredictedMicroseconds, which holds
the model of a tile's kernel.
"""

import collections
import math
import sys

import numpy as np

# rows, columns, depth, threads
TILES = np.array([
    (128, 128, 8, 256), (128, 64, 8, 128), (64, 128, 8, 128), (64, 64, 16, 256), (64, 32, 16, 128),
    (32, 64, 16, 128), (32, 32, 32, 64), (32, 32, 32, 256), (16, 64, 16, 128), (64, 16, 16, 128),
])
MULTIPROCESSORS = 132


def minimize(f, start, steps=300):
    """Nelder and Mead."""
    points = [np.array(start, float)]
    for i in range(len(start)):
        points.append(points[0].copy())
        points[-1][i] += 0.3
    values = [f(x) for x in points]
    for _ in range(steps):
        order = np.argsort(values)
        points, values = [points[i] for i in order], [values[i] for i in order]
        if values[-1] - values[0] < 1e-7:
            break
        center = np.mean(points[:-1], axis=0)
        reflected = 2 * center - points[-1]
        value = f(reflected)
        if value < values[0]:
            expanded = 3 * center - 2 * points[-1]
            further = f(expanded)
            points[-1], values[-1] = (expanded, further) if further < value else (reflected, value)
        elif value < values[-2]:
            points[-1], values[-1] = reflected, value
        else:
            contracted = 0.5 * (center + points[-1])
            value = f(contracted)
            if value < values[-1]:
                points[-1], values[-1] = contracted, value
            else:
                points[1:] = [0.5 * (x + points[0]) for x in points[1:]]
                values[1:] = [f(x) for x in points[1:]]
    best = int(np.argmin(values))
    return points[best], values[best]


def robust(error):
    return np.where(abs(error) < 0.3, error**2, 0.6 * abs(error) - 0.09)


class Fit:
    def __init__(self, rows):
        self.us, batch, m, n, k, a_work, b_work, tile, parts = rows.T
        self.size = [tuple(row[1:7]) for row in rows]
        self.tile, self.parts = tile.astype(int), parts
        tile_rows, columns, depth, threads = TILES[self.tile].T
        self.blocks = np.ceil(m / tile_rows) * np.ceil(n / columns) * batch * parts
        self.steps = np.ceil(np.ceil(k / parts) / depth)
        self.work = (tile_rows * a_work + columns * b_work) * depth
        self.thread_work = self.work / threads
        self.partial_bytes = 8 * batch * m * n * parts
        self.common = np.log([3.0, 0.5, 2e6, 0.01])
        self.of_tile = [np.log([0.5, 0.3, 2e-5]) for _ in TILES]
        self.together = [4] * len(TILES)

    def predict(self, tile, common, of_tile, most):
        at = self.tile == tile
        launch, combine, bandwidth, thread_work = np.exp(common)
        alone, beside, work = np.exp(of_tile)
        together = np.minimum(most, np.ceil(self.blocks[at] / MULTIPROCESSORS))
        rounds = np.maximum(1, self.blocks[at] / (MULTIPROCESSORS * together))
        step = np.maximum(alone + thread_work * self.thread_work[at],
                          (beside + work * self.work[at]) * together)
        parts = np.where(self.parts[at] > 1, combine + self.partial_bytes[at] / bandwidth, 0)
        return launch + rounds * self.steps[at] * step + parts

    def error(self, tile, common, of_tile, most):
        predicted = self.predict(tile, common, of_tile, most)
        return robust(np.log(predicted / self.us[self.tile == tile])).sum()

    def run(self):
        for _ in range(6):
            for t in range(len(TILES)):
                fits = [(*minimize(lambda x: self.error(t, self.common, x, most), self.of_tile[t]),
                         most) for most in range(1, 9)]
                self.of_tile[t], _, self.together[t] = min(fits, key=lambda fit: fit[1])
            self.common, _ = minimize(
                lambda x: sum(self.error(t, x, self.of_tile[t], self.together[t])
                              for t in range(len(TILES))), self.common)

    def regrets(self):
        """By size: the time of the model's choice by that of the best."""
        predicted = np.zeros(len(self.us))
        for t in range(len(TILES)):
            predicted[self.tile == t] = self.predict(t, self.common, self.of_tile[t],
                                                     self.together[t])
        groups = collections.defaultdict(list)
        for i, size in enumerate(self.size):
            groups[size].append(i)
        return [self.us[g[int(np.argmin(predicted[g]))]] / self.us[g].min()
                for g in map(np.array, groups.values())]


def main():
    if len(sys.argv) != 2:
        print("usage: fit_tiles.py MEASUREMENTS", file=sys.stderr)
        return 2
    with open(sys.argv[1]) as lines:
        rows = [[float(x) for x in line.split()] for line in lines if not line.startswith("#")]
    fit = Fit(np.array([row for row in rows if row[7] >= 0]))
    fit.run()
    print("launch, combine, bytes per microsecond, work of a thread:", *np.exp(fit.common))
    for of_tile, together in zip(fit.of_tile, fit.together):
        alone, beside, work = np.exp(of_tile)
        print(f"    {{{alone:.3f}, {beside:.3f}, {work:.2e}, {together}}},")
    regrets = fit.regrets()
    print(f"{len(regrets)} sizes; choices are slower than the best by "
          f"{math.exp(np.mean(np.log(regrets))) - 1:.1%} (geometric mean), at most "
          f"{max(regrets) - 1:.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
