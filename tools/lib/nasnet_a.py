"""NASNet-A (4 @ 1056) for images of 224x224 (Zoph et al., 2018), without its auxiliary head."""

import torch
from torch import nn
import torch.nn.functional as F


def norm(channels):
    return nn.BatchNorm2d(channels, eps=1e-3)


def average(stride):
    return nn.AvgPool2d(3, stride, padding=1, count_include_pad=False)


def largest(stride):
    return nn.MaxPool2d(3, stride, padding=1)


def separable(channels, kernel, stride=1):
    """Twice: relu, a convolution within channels, one across them, normalization."""

    def half(step):
        return [
            nn.ReLU(),
            nn.Conv2d(channels, channels, kernel, step, kernel // 2, groups=channels, bias=False),
            nn.Conv2d(channels, channels, 1, bias=False),
            norm(channels),
        ]

    return nn.Sequential(*half(stride), *half(1))


class Squeeze(nn.Sequential):
    """To so many channels."""

    def __init__(self, given, channels):
        super().__init__(nn.ReLU(), nn.Conv2d(given, channels, 1, bias=False), norm(channels))


class Halve(nn.Module):
    """To so many channels and half the pixels: those of even and those of odd positions."""

    def __init__(self, given, channels):
        super().__init__()
        self.even = nn.Conv2d(given, channels // 2, 1, stride=2, bias=False)
        self.odd = nn.Conv2d(given, channels // 2, 1, stride=2, bias=False)
        self.norm = norm(channels)

    def forward(self, x):
        x = torch.relu(x)
        shifted = F.pad(x, (0, 1, 0, 1))[:, :, 1:, 1:]
        return self.norm(torch.cat([self.even(x), self.odd(shifted)], 1))


class Cell(nn.Module):
    """Of the cells' results `current` and, one earlier, `previous`; the latter may be larger."""

    def __init__(self, previous, current, channels, halve):
        super().__init__()
        self.fit = (Halve if halve else Squeeze)(previous, channels)
        self.squeeze = Squeeze(current, channels)

    def forward(self, previous, current):
        return torch.cat(self.combine(self.fit(previous), self.squeeze(current)), 1)


class Normal(Cell):
    def __init__(self, previous, current, channels, halve):
        super().__init__(previous, current, channels, halve)
        self.current5, self.previous5 = separable(channels, 5), separable(channels, 5)
        self.previous3, self.also3 = separable(channels, 3), separable(channels, 3)
        self.current3 = separable(channels, 3)
        self.average = average(1)

    def combine(self, previous, current):
        return [
            previous,
            self.current5(current) + self.previous3(previous),
            self.previous5(previous) + self.also3(previous),
            self.average(current) + previous,
            self.average(previous) + self.average(previous),
            self.current3(current) + current,
        ]


class Reduction(Cell):
    def __init__(self, previous, current, channels, halve):
        super().__init__(previous, current, channels, halve)
        self.current5, self.previous7 = separable(channels, 5, 2), separable(channels, 7, 2)
        self.also7, self.previous5 = separable(channels, 7, 2), separable(channels, 5, 2)
        self.first3 = separable(channels, 3)
        self.largest, self.halving, self.average = largest(2), average(2), average(1)

    def combine(self, previous, current):
        first = self.current5(current) + self.previous7(previous)
        second = self.largest(current) + self.also7(previous)
        return [
            second,
            self.halving(current) + self.previous5(previous),
            second + self.average(first),
            self.first3(first) + self.largest(current),
        ]


class NasNetA(nn.Module):
    """f32[batch, 3, 224, 224] to f32[batch, 1000]."""

    FILTERS, CELLS = 44, 4

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 3, stride=2, bias=False), norm(32))
        self.cells = nn.ModuleList()
        # Channels of the last two results, and whether the latter has half the former's pixels.
        channels, halved = [32, 32], False

        def add(kind, filters):
            nonlocal channels, halved
            self.cells.append(kind(*channels, filters, halved))
            channels = [channels[1], filters * (6 if kind is Normal else 4)]
            halved = kind is Reduction

        add(Reduction, self.FILTERS // 4)
        add(Reduction, self.FILTERS // 2)
        for i in range(3):
            if i > 0:
                add(Reduction, self.FILTERS << i)
            for _ in range(self.CELLS):
                add(Normal, self.FILTERS << i)
        self.classify = nn.Linear(channels[1], 1000)

    def forward(self, x):
        previous = current = self.stem(x)
        for cell in self.cells:
            previous, current = current, cell(previous, current)
        return self.classify(torch.relu(current).mean((2, 3)))
