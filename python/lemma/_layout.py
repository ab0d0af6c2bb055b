"""Places the nodes of an acyclic graph in layers, as a drawing from top to bottom.

This is Sugiyama's method. Longest paths give the layers. Edges over several layers are cut into
pieces. Sorting each layer by the mean place of neighbors reduces crossings. Coordinates are as near
to the neighbors as the order in the layer permits.
"""

import statistics
from typing import Dict, Hashable, List, NamedTuple, Sequence, Tuple

LAYER_GAP = 28.0
NODE_GAP = 18.0
_SWEEPS = 6
_BEND_WIDTH = 4.0


class Placed(NamedTuple):
    """A drawing: the centers of nodes, the corners of each edge in order, and the size."""

    centers: Dict[Hashable, Tuple[float, float]]
    lines: List[List[Tuple[float, float]]]
    width: float
    height: float


def _layers(nodes: Sequence[Hashable], edges: Sequence[Tuple[Hashable, Hashable]]) -> Dict[Hashable, int]:
    """The layer of each node, from 0. An edge leads to a later layer."""
    after: Dict[Hashable, List[Hashable]] = {node: [] for node in nodes}
    waits = {node: 0 for node in nodes}
    for source, target in edges:
        after[source].append(target)
        waits[target] += 1
    order = [node for node in nodes if waits[node] == 0]
    layer = {node: 0 for node in order}
    for node in order:  # grows
        for target in after[node]:
            layer[target] = max(layer.get(target, 0), layer[node] + 1)
            waits[target] -= 1
            if waits[target] == 0:
                order.append(target)
    if len(order) < len(nodes):
        raise ValueError("the graph has a cycle")
    has_source = {target for _, target in edges}
    for node in reversed(order):  # a node without operands stands right above its first reader
        if node not in has_source and after[node]:
            layer[node] = min(layer[target] for target in after[node]) - 1
    return layer


class _Rows:
    """The rows of a drawing, with bends where an edge crosses a row."""

    def __init__(self, nodes, edges):
        self.layer = dict(_layers(nodes, edges))
        self.above: Dict[Hashable, List[Hashable]] = {node: [] for node in nodes}
        self.below: Dict[Hashable, List[Hashable]] = {node: [] for node in nodes}
        self.chains: List[List[Hashable]] = []
        order = list(nodes)
        for number, (source, target) in enumerate(edges):
            chain = [source]
            for row in range(self.layer[source] + 1, self.layer[target]):
                bend = ("bend", number, row)
                self.layer[bend], self.above[bend], self.below[bend] = row, [], []
                order.append(bend)
                chain.append(bend)
            chain.append(target)
            for upper, lower in zip(chain, chain[1:]):
                self.below[upper].append(lower)
                self.above[lower].append(upper)
            self.chains.append(chain)
        count = 1 + max(self.layer.values(), default=-1)
        self.rows: List[List[Hashable]] = [[] for _ in range(count)]
        for node in order:
            self.rows[self.layer[node]].append(node)

    def reduce_crossings(self) -> None:
        best, fewest = [list(row) for row in self.rows], self._crossings()
        for sweep in range(_SWEEPS):
            if fewest == 0:
                break
            down = sweep % 2 == 0
            for row in self.rows if down else reversed(self.rows):
                self._sort(row, self.above if down else self.below)
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(row) for row in self.rows], crossings
        self.rows = best

    def _sort(self, row, neighbors) -> None:
        place = {node: float(i) for r in self.rows for i, node in enumerate(r)}
        key = {}
        for node in row:
            near = [place[other] for other in neighbors[node]]
            key[node] = statistics.fmean(near) if near else place[node]
        row.sort(key=key.get)

    def _crossings(self) -> int:
        total = 0
        for row, lower in zip(self.rows, self.rows[1:]):
            place = {node: i for i, node in enumerate(lower)}
            ends = [place[t] for node in row for t in sorted(self.below[node], key=place.get)]
            total += _inversions(ends, len(lower))
        return total


def _inversions(values: Sequence[int], size: int) -> int:
    """The number of pairs of values in which the first is larger. Values are from 0 to size - 1."""
    tree, seen, found = [0] * (size + 1), 0, 0
    for value in values:
        i, smaller = value + 1, 0
        while i > 0:
            smaller += tree[i]
            i -= i & -i
        found += seen - smaller
        i = value + 1
        while i <= size:
            tree[i] += 1
            i += i & -i
        seen += 1
    return found


def _nearest_in_order(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> List[float]:
    """The places nearest to `wanted` (least squares) with place[i+1] >= place[i] + gaps[i]."""
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    blocks: List[List[float]] = []  # mean, weight, count: pool adjacent violators
    for want, weight, offset in zip(wanted, weights, offsets):
        blocks.append([want - offset, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, heavy, count = blocks.pop()
            last = blocks[-1]
            last[0] = (last[0] * last[1] + mean * heavy) / (last[1] + heavy)
            last[1] += heavy
            last[2] += count
    means = [mean for mean, _, count in blocks for _ in range(int(count))]
    return [mean + offset for mean, offset in zip(means, offsets)]


def place(
    nodes: Sequence[Hashable],
    edges: Sequence[Tuple[Hashable, Hashable]],
    sizes: Dict[Hashable, Tuple[float, float]],
) -> Placed:
    """Places nodes of these sizes (width, height). ValueError if there is a cycle."""
    drawing = _Rows(nodes, edges)
    drawing.reduce_crossings()
    width = {node: sizes[node][0] if node in sizes else _BEND_WIDTH for node in drawing.layer}
    gaps = [
        [(width[a] + width[b]) / 2 + NODE_GAP for a, b in zip(row, row[1:])] for row in drawing.rows
    ]
    x: Dict[Hashable, float] = {}
    for row, gap in zip(drawing.rows, gaps):
        at = -sum(gap) / 2
        for i, node in enumerate(row):
            x[node] = at
            at += gap[i] if i < len(gap) else 0
    for sweep in range(2 * _SWEEPS):
        down = sweep % 2 == 0
        near = drawing.above if down else drawing.below
        rows = list(zip(drawing.rows, gaps))
        for row, gap in rows if down else reversed(rows):
            wanted = [statistics.fmean(x[o] for o in near[n]) if near[n] else x[n] for n in row]
            # An edge that stays straight is worth more than a node that is centered.
            weights = [0.1 if not near[n] else 1.0 if n in sizes else 4.0 for n in row]
            for node, value in zip(row, _nearest_in_order(wanted, weights, gap)):
                x[node] = value
    return _finish(drawing, width, sizes, x)


def _finish(drawing, width, sizes, x) -> Placed:
    left = min((x[node] - width[node] / 2 for node in x), default=0.0)
    right = max((x[node] + width[node] / 2 for node in x), default=0.0)
    band: List[Tuple[float, float]] = []  # upper and lower end of each row
    top = 0.0
    for row in drawing.rows:
        height = max((sizes[node][1] for node in row if node in sizes), default=0.0)
        band.append((top, top + height))
        top += height + LAYER_GAP
    centers = {}
    for node in sizes:
        upper, lower = band[drawing.layer[node]]
        centers[node] = (x[node] - left, (upper + lower) / 2)
    lines = []
    for chain in drawing.chains:
        # An edge bends between rows only, so it passes no box.
        ends = [(x[node] - left, y) for node in chain for y in band[drawing.layer[node]]]
        ends[0] = (ends[0][0], centers[chain[0]][1] + sizes[chain[0]][1] / 2)
        ends[-1] = (ends[-1][0], centers[chain[-1]][1] - sizes[chain[-1]][1] / 2)
        lines.append(ends)
    return Placed(centers, lines, right - left, max(0.0, top - LAYER_GAP))
