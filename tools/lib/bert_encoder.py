"""A BERT-like encoder, written out in elementary tensor operations."""

import math

import torch
from torch import nn
import torch.nn.functional as F

VOCABULARY = 1000
SEQUENCE = 128
HIDDEN = 768
HEADS = 12
FEED_FORWARD = 3072


class SelfAttention(nn.Module):
    """Multi-head attention of [batch, sequence, hidden] over itself."""

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(HIDDEN, HIDDEN)
        self.key = nn.Linear(HIDDEN, HIDDEN)
        self.value = nn.Linear(HIDDEN, HIDDEN)
        self.output = nn.Linear(HIDDEN, HIDDEN)

    @staticmethod
    def _heads(x):
        return x.reshape(-1, SEQUENCE, HEADS, HIDDEN // HEADS).permute(0, 2, 1, 3)

    def forward(self, x):
        query, key, value = (self._heads(f(x)) for f in (self.query, self.key, self.value))
        scores = torch.matmul(query, key.transpose(2, 3)) / math.sqrt(HIDDEN // HEADS)
        mixed = torch.matmul(torch.softmax(scores, dim=-1), value)
        return self.output(mixed.permute(0, 2, 1, 3).reshape(-1, SEQUENCE, HIDDEN))


class Layer(nn.Module):
    """Attention and a feed-forward network, each added to its input and normalized."""

    def __init__(self):
        super().__init__()
        self.attention = SelfAttention()
        self.attention_norm = nn.LayerNorm(HIDDEN)
        self.widen = nn.Linear(HIDDEN, FEED_FORWARD)
        self.narrow = nn.Linear(FEED_FORWARD, HIDDEN)
        self.output_norm = nn.LayerNorm(HIDDEN)

    def forward(self, x):
        x = self.attention_norm(x + self.attention(x))
        return self.output_norm(x + self.narrow(F.gelu(self.widen(x))))


class BertEncoder(nn.Module):
    """Token ids int64[batch, SEQUENCE] to f32[batch, SEQUENCE, HIDDEN]."""

    def __init__(self, layers=2):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, HIDDEN)
        self.positions = nn.Parameter(torch.randn(1, SEQUENCE, HIDDEN))
        self.norm = nn.LayerNorm(HIDDEN)
        self.layers = nn.Sequential(*[Layer() for _ in range(layers)])

    def forward(self, ids):
        return self.layers(self.norm(self.tokens(ids) + self.positions))
