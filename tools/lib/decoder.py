"""A GPT-like decoder of several layers: a step of one token with a cache of keys and values."""

import torch
from torch import nn
from torch.nn import functional as F


class Layer(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.norm, self.norm_2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, past_key, past_value):
        query, key, value = (self.split(t) for t in self.qkv(self.norm(x)).chunk(3, dim=-1))
        key = torch.cat([past_key, key], dim=2)
        value = torch.cat([past_value, value], dim=2)
        scores = query @ key.transpose(2, 3) / (query.shape[-1] ** 0.5)
        mixed = (torch.softmax(scores, dim=-1) @ value).transpose(1, 2).flatten(2)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.norm_2(x)))), key, value


class Decoder(nn.Module):
    """forward(ids, key 0, value 0, key 1, …): ids is [batch, 1], a cache [batch, heads, past, width].

    Returns the logits, then the longer caches.
    """

    def __init__(self, layers=5, hidden=2048, heads=16, vocabulary=8192):
        super().__init__()
        self.layers = nn.ModuleList(Layer(hidden, heads) for _ in range(layers))
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.head = nn.Linear(hidden, vocabulary, bias=False)
        self.heads, self.hidden, self.vocabulary = heads, hidden, vocabulary

    def forward(self, ids, *past):
        x, present = self.embedding(ids), []
        for i, layer in enumerate(self.layers):
            x, key, value = layer(x, past[2 * i], past[2 * i + 1])
            present += [key, value]
        return (self.head(x), *present)

    def example(self, past):
        """Inputs of one sequence with `past` earlier tokens."""
        shape = (1, self.heads, past, self.hidden // self.heads)
        caches = [torch.randn(shape) for _ in range(2 * len(self.layers))]
        return (torch.randint(0, self.vocabulary, (1, 1)), *caches)

    def names(self):
        caches = [f"{kind}_{i}" for i in range(len(self.layers)) for kind in ("key", "value")]
        return ["ids", *(f"past_{name}" for name in caches)], ["logits", *caches]
