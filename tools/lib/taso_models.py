"""Two models as TASO's evaluation builds them, limited to its operators."""

import math

import torch
from torch import nn


def weight(rows, columns):
    return nn.Parameter(torch.randn(rows, columns) / math.sqrt(rows))


class Attention(nn.Module):
    """Heads of [SEQUENCE, HIDDEN] without softmax. As there, keys are not transposed, which a
    sequence as long as a head is wide allows; unlike there, the last product reads what the heads
    give and not the layer's input, so that no operator is without a use."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.output = (
            weight(TasoBert.HIDDEN, TasoBert.HIDDEN) for _ in range(4)
        )

    @staticmethod
    def _heads(x):
        return x.reshape(TasoBert.SEQUENCE, TasoBert.HEADS, -1).permute(1, 0, 2)

    def forward(self, x):
        query, key, value = (
            self._heads(torch.matmul(x, w)) for w in (self.query, self.key, self.value)
        )
        mixed = torch.matmul(torch.matmul(query, key), value)
        flat = mixed.permute(1, 0, 2).reshape(TasoBert.SEQUENCE, TasoBert.HIDDEN)
        return torch.matmul(flat, self.output)


class TasoBert(nn.Module):
    """Eight layers of attention alone, f32[SEQUENCE, HIDDEN] to the same."""

    SEQUENCE, HIDDEN, HEADS, LAYERS = 64, 1024, 16, 8

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[Attention() for _ in range(self.LAYERS)])

    def forward(self, x):
        return self.layers(x)

    @torch.no_grad()
    def normalize(self, x):
        """Scales weights so that the layers' results have a deviation of 1: each is of the third
        degree in its input."""
        for layer in self.layers:
            layer.output /= layer(x).std()
            x = layer(x)


class NasNode(nn.Module):
    """A step of the recurrent cell that neural architecture search found (Zoph and Le, 2017)."""

    def __init__(self):
        super().__init__()
        for i in range(8):
            setattr(self, f"of_input{i}", weight(NasRnn.HIDDEN, NasRnn.HIDDEN))
            setattr(self, f"of_state{i}", weight(NasRnn.HIDDEN, NasRnn.HIDDEN))

    def forward(self, x, state):
        t = [
            torch.matmul(x, getattr(self, f"of_input{i}"))
            + torch.matmul(state, getattr(self, f"of_state{i}"))
            for i in range(8)
        ]
        relu, sigmoid, tanh = torch.relu, torch.sigmoid, torch.tanh
        a = relu(t[0]) + sigmoid(t[3])
        b = sigmoid(t[1]) + tanh(t[2])
        c = sigmoid(t[4]) * tanh(t[5])
        d = sigmoid(t[6]) * relu(t[7])
        e = sigmoid(b) + tanh(c)
        f = tanh(a) * tanh(d)
        return tanh(tanh(e) * tanh(f))


class NasRnn(nn.Module):
    """Five steps of the cell, each with weights of its own: five f32[1, HIDDEN] to one."""

    HIDDEN, STEPS = 512, 5

    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(torch.randn(1, self.HIDDEN))
        self.steps = nn.ModuleList([NasNode() for _ in range(self.STEPS)])

    def forward(self, *xs):
        state = self.first
        for step, x in zip(self.steps, xs):
            state = step(x, state)
        return state
