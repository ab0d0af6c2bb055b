"""Measures how the cost of enumeration grows: python3 tools/lib/bench/generator.py --lemma PATH

Counts the graphs of TASO's operator set by the number of operators in a graph, and, for graphs of
a fixed size, by the number of variants in the set. Writes the figures and a plot of them.
"""

import argparse
import datetime
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Those of two dimensions first, then those of four, then what has no operands of its own.
VARIANTS = [
    "matmul", "add", "mul", "scale", "relu", "concat0_2d", "concat1_2d", "split0", "split1",
    "transpose", "conv3x3", "conv1x3", "conv3x3_relu", "conv1x3_relu", "avg_pool3x3",
    "max_pool3x3", "enlarge3x3", "concat0_4d", "concat1_4d", "conv1x1", "conv1x1_relu",
    "identity_matrix", "one", "identity_kernel", "pool_kernel"]
SERIES = [("graphs", "graphs", "#1f77b4"), ("hits", "hits", "#2ca02c"),
          ("terms", "terms", "#9467bd"), ("classes", "classes", "#d62728"),
          ("enumeration_cpu_s", "processor time, s", "#ff7f0e"), ("peak_mb", "peak MB", "#7f7f7f")]


def count(lemma, ops, max_ops):
    command = [lemma, "generate", "--count", "--json", f"--ops={ops}", f"--max-ops={max_ops}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}")
    return json.loads(done.stdout)


def panel(rows, x, title, left):
    """A logarithmic plot of the rows, as SVG."""
    width, height, top, bottom = 360, 260, 30, 40
    xs = [row[x] for row in rows]
    values = [row[key] for row in rows for key, _, _ in SERIES if row[key] > 0]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def at(row, key):
        return (left + width * (row[x] - xs[0]) / (xs[-1] - xs[0]),
                top + height * (1 - (math.log10(row[key]) - low) / (high - low)))

    svg = [f'<text x="{left + width / 2}" y="18" text-anchor="middle">{title}</text>',
           f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#888"/>']
    for power in range(low, high + 1):
        y = top + height * (1 - (power - low) / (high - low))
        svg.append(f'<line x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        svg.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0 ** power:g}</text>')
    for value in xs:
        place = left + width * (value - xs[0]) / (xs[-1] - xs[0])
        svg.append(f'<text x="{place:.1f}" y="{top + height + 16}" text-anchor="middle">{value}</text>')
    for key, _, color in SERIES:
        points = [at(row, key) for row in rows if row[key] > 0]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        svg.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        svg += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{color}"/>' for a, b in points]
    return svg


def plot(by_ops, by_variants, size):
    svg = ['<svg xmlns="http://www.w3.org/2000/svg" width="980" height="345" '
           'font-family="sans-serif" font-size="12">', '<rect width="980" height="345" fill="white"/>']
    svg += panel(by_ops, "max_ops", "by operators in a graph (25 variants)", 70)
    svg += panel(by_variants, "variants", f"by variants in the set ({size} operators)", 500)
    for i, (_, label, color) in enumerate(SERIES):
        x = 70 + 150 * i
        svg.append(f'<rect x="{x}" y="325" width="12" height="12" fill="{color}"/>')
        svg.append(f'<text x="{x + 18}" y="336">{label}</text>')
    return "\n".join(svg + ["</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--max-ops", type=int, default=4)
    parser.add_argument("--size", type=int, default=3, help="of graphs, for sets that differ")
    parser.add_argument("--out", type=pathlib.Path,
                        default=ROOT / "data/measurements/generator_growth.json")
    parser.add_argument("--plot", type=pathlib.Path,
                        default=ROOT / "data/measurements/generator_growth.svg")
    flags = parser.parse_args()
    by_ops = []
    for ops in range(1, flags.max_ops + 1):
        by_ops.append({"max_ops": ops, **count(flags.lemma, "taso", ops)})
        print(by_ops[-1], flush=True)
    by_variants = []
    for number in range(5, len(VARIANTS) + 1, 4):
        row = count(flags.lemma, ",".join(VARIANTS[:number]), flags.size)
        by_variants.append({"variants": number, **row})
        print(by_variants[-1], flush=True)
    flags.out.write_text(json.dumps({
        "what": "lemma generate --count --ops=taso --max-ops=N, one thread; then the first of "
                f"its variants, at {flags.size} operators",
        "date": datetime.date.today().isoformat(), "by_operators": by_ops,
        "variants": VARIANTS, "by_variants": by_variants}, indent=1) + "\n")
    flags.plot.write_text(plot(by_ops, by_variants, flags.size))


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit(f"bench_generator: {error}")
