"""Small models to train, one for each way of building a network; see tools/check_training --zoo.

Each has a few thousand parameters and three batches. Activations are smooth, so that rounding does
not move a value across a discontinuity of a gradient; arguments of maxima are far apart. No bias
comes before a normalization that cancels it: its gradient would consist of rounding errors.
"""

import collections
import math

import torch
from torch import nn
import torch.nn.functional as F

BATCHES = 3

# inputs: tuple of [BATCHES, ...] tensors; labels: [BATCHES, ...], class numbers or floats.
# int_range: random integers below this are valid inputs and labels.
Case = collections.namedtuple("Case", "module inputs labels loss opset int_range",
                              defaults=("mse", 13, 2))


def normal(*shape):
    return torch.randn(BATCHES, *shape)


def ids(below, *shape):
    return torch.randint(0, below, (BATCHES, *shape))


class UNetTransposed(nn.Module):
    """Down by strided convolutions, up by transposed ones, skips that are concatenated."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(2, 6, 3, padding=1)
        self.down = nn.Conv2d(6, 12, 3, stride=2, padding=1)
        self.norm = nn.GroupNorm(3, 12)
        self.bottom = nn.Conv2d(12, 16, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(16, 12, 3, stride=2, padding=1, output_padding=(1, 0))
        self.join = nn.Conv2d(24, 8, 3, padding=1)
        self.up_again = nn.ConvTranspose2d(8, 6, 2, stride=2, groups=2)
        self.last = nn.Conv2d(12, 3, 1)

    def forward(self, x):
        first = F.silu(self.first(x))
        down = F.silu(self.norm(self.down(first)))
        x = F.silu(self.bottom(down))
        x = torch.cat([F.silu(self.up(x)), down], 1)
        x = self.up_again(F.silu(self.join(x)))
        return self.last(torch.cat([x, first], 1))


def unet_transposed():
    return Case(UNetTransposed(), (normal(2, 2, 8, 10),), ids(3, 2, 8, 10), "cross-entropy", 13, 3)


class UNetBilinear(nn.Module):
    """Up by interpolation; odd sizes, so that skips are cropped before they are added."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(2, 6, 3, padding=1)
        self.second = nn.Conv2d(6, 12, 3, padding=1)
        self.third = nn.Conv2d(12, 12, 3, padding=1)
        self.join = nn.Conv2d(12, 6, 3, padding=1)
        self.last = nn.Conv2d(6, 1, 1)

    def forward(self, x):
        first = torch.tanh(self.first(x))
        second = torch.tanh(self.second(F.avg_pool2d(first, 2)))
        third = torch.tanh(self.third(F.avg_pool2d(second, 2)))
        up = F.interpolate(third, scale_factor=2.0, mode="bilinear", align_corners=False)
        x = torch.tanh(self.join(up + second[:, :, :4, 1:5]))
        up = F.interpolate(x, size=(7, 9), mode="bilinear", align_corners=True)
        return self.last(up * first[:, :, 1:8, 1:])


def unet_bilinear():
    return Case(UNetBilinear(), (normal(2, 2, 9, 10),), normal(2, 1, 7, 9))


class Lstm(nn.Module):
    """Two layers, both directions."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(6, 8, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        states, (hidden, _) = self.rnn(x)
        return self.head(states.mean(1) + torch.cat([hidden[-1], hidden[0]], 1))


def lstm():
    return Case(Lstm(), (normal(3, 7, 6),), ids(5, 3), "cross-entropy", 13, 5)


class Gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(5, 9, num_layers=2)
        self.head = nn.Linear(9, 4)

    def forward(self, x, start):
        states, last = self.rnn(x, start)
        return self.head(states[1:] * last[0])


def gru():
    return Case(Gru(), (normal(6, 3, 5), normal(2, 3, 9)), normal(5, 3, 4), "mse", 14)


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.reshape(batch, length, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.project(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads)
        if self.causal:
            mask = torch.ones(length, length, dtype=torch.bool).tril()
            scores = scores.masked_fill(~mask, float("-inf"))
        mixed = torch.softmax(scores, -1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class GptTied(nn.Module):
    """A causal transformer whose last layer is its embedding, transposed."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(40, 16)
        self.positions = nn.Parameter(0.1 * torch.randn(9, 16))
        self.norms = nn.ModuleList(nn.LayerNorm(16) for _ in range(5))
        self.attention = nn.ModuleList(Attention(16, 4, True) for _ in range(2))
        self.wide = nn.ModuleList(nn.Linear(16, 32) for _ in range(2))
        self.narrow = nn.ModuleList(nn.Linear(32, 16) for _ in range(2))

    def forward(self, x):
        x = self.tokens(x) + self.positions
        for i in range(2):
            x = x + self.attention[i](self.norms[2 * i](x))
            x = x + self.narrow[i](F.gelu(self.wide[i](self.norms[2 * i + 1](x))))
        return (self.norms[4](x) @ self.tokens.weight.t()).transpose(1, 2)


def gpt_tied():
    return Case(GptTied(), (ids(40, 2, 9),), ids(40, 2, 9), "cross-entropy", 14, 40)


class MobileBlock(nn.Module):
    """Inverted residual: depthwise convolutions, batch normalization, squeeze and excitation."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.stem_norm = nn.BatchNorm2d(8)
        self.expand = nn.Conv2d(8, 24, 1, bias=False)
        self.expand_norm = nn.BatchNorm2d(24)
        self.depthwise = nn.Conv2d(24, 24, 5, padding=2, groups=24, bias=False)
        self.depthwise_norm = nn.BatchNorm2d(24)
        self.squeeze = nn.Conv2d(24, 6, 1)
        self.excite = nn.Conv2d(6, 24, 1)
        self.project = nn.Conv2d(24, 8, 1)
        self.multiplied = nn.Conv2d(8, 16, 3, stride=2, groups=8)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        stem = F.silu(self.stem_norm(self.stem(x)))
        x = F.silu(self.expand_norm(self.expand(stem)))
        x = F.silu(self.depthwise_norm(self.depthwise(x)))
        x = x * torch.sigmoid(self.excite(F.silu(self.squeeze(x.mean([2, 3], keepdim=True)))))
        x = self.multiplied(stem + self.project(x))
        return self.head(F.softplus(x).flatten(2).mean(2))


def mobile_depthwise():
    return Case(MobileBlock(), (normal(4, 3, 11, 11),), ids(5, 4), "cross-entropy", 13, 5)


class Windows(nn.Module):
    """Grouped, dilated and strided convolutions with padding that differs from side to side."""

    def __init__(self):
        super().__init__()
        self.grouped = nn.Conv2d(4, 8, 3, groups=2)
        self.dilated = nn.Conv2d(8, 8, (3, 2), dilation=(2, 3), groups=4)
        self.strided = nn.Conv2d(8, 6, (2, 3), stride=(2, 3))
        self.long = nn.Conv2d(6, 6, (1, 5))
        self.tall = nn.Conv2d(6, 4, (4, 1))

    def forward(self, x):
        x = torch.tanh(self.grouped(F.pad(x, (1, 0, 2, 1))))
        x = torch.tanh(self.dilated(F.pad(x, (3, 1, 0, 2))))
        x = torch.tanh(self.strided(F.pad(x, (0, 2, 1, 0))))
        x = torch.tanh(self.long(F.pad(x, (4, 0, 0, 0))))
        return self.tall(F.pad(x, (0, 0, 0, 3), mode="constant", value=0.5))


def windows():
    return Case(Windows(), (normal(2, 4, 9, 13),), normal(2, 4, 4, 5), "mse", 13)


class Pooling(nn.Module):
    """Pools with ceil mode, padding, overlap and dilation; the last of all kinds is global."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(2, 6, 3, padding=1)
        self.second = nn.Conv2d(6, 8, 3, padding=1)
        self.most = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.mean = nn.AvgPool2d(3, stride=2, padding=1, ceil_mode=True, count_include_pad=False)
        self.padded = nn.AvgPool2d(2, stride=1, padding=1)
        self.overlap = nn.MaxPool2d((2, 3), stride=1, padding=(1, 1))
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        x = self.most(torch.tanh(self.first(x)))
        x = self.overlap(self.padded(torch.tanh(self.second(x))))
        x = self.mean(x)
        return self.head(torch.cat([F.adaptive_avg_pool2d(x, 1).flatten(1),
                                    F.adaptive_max_pool2d(x, 1).flatten(1)], 1))


def pooling_ceil():
    return Case(Pooling(), (normal(2, 2, 12, 10),), ids(4, 2), "cross-entropy", 13, 4)


class Norms(nn.Module):
    """Group, instance and layer normalization, normalization of weights, a norm of roots."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.group = nn.GroupNorm(4, 8)
        self.second = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.instance = nn.InstanceNorm2d(8, affine=True)
        self.layer = nn.LayerNorm([8, 5, 6])
        self.direction = nn.Parameter(torch.randn(6, 8))
        self.length = nn.Parameter(torch.rand(6, 1) + 0.5)
        self.root = nn.Parameter(torch.rand(6) + 0.5)

    def forward(self, x):
        x = F.gelu(self.group(self.conv(x)))
        x = F.gelu(self.instance(self.second(x)))
        x = self.layer(x).mean([2, 3])
        weight = self.direction * self.length / self.direction.norm(dim=1, keepdim=True)
        x = F.linear(x, weight)
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-3) * self.root


def norms():
    return Case(Norms(), (normal(2, 3, 5, 6),), normal(2, 6), "mse", 17)


class GraphNetwork(nn.Module):
    """Messages along edges: rows gathered by their ends, added up at the other end."""

    def __init__(self):
        super().__init__()
        self.kinds = nn.Embedding(10, 8)
        self.message = nn.Linear(16, 12)
        self.update = nn.Linear(20, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, kinds, sources, targets):
        x = self.kinds(kinds)
        for _ in range(2):
            ends = torch.cat([x.index_select(0, sources), x[targets]], 1)
            message = torch.tanh(self.message(ends))
            at = targets.unsqueeze(1).expand(-1, 12)
            sums = torch.zeros(10, 12, dtype=x.dtype).scatter_add(0, at, message)
            x = x + torch.tanh(self.update(torch.cat([x, sums], 1)))
        return self.head(x)


def graph_scatter():
    return Case(GraphNetwork(), (ids(10, 10), ids(10, 17), ids(10, 17)), normal(10, 3), "mse", 16, 10)


class CausalShifts(nn.Module):
    """A temporal network: dilated convolutions of the past, gates, crops and shifts."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Conv1d(3, 8, 1)
        self.filters = nn.ModuleList(nn.Conv1d(8, 8, 2, dilation=2 ** i) for i in range(3))
        self.gates = nn.ModuleList(nn.Conv1d(8, 8, 2, padding=2 ** i, dilation=2 ** i)
                                   for i in range(3))
        self.skips = nn.ModuleList(nn.Conv1d(8, 6, 1) for _ in range(3))
        self.mix = nn.Parameter(torch.rand(8, 1))
        self.head = nn.Conv1d(6, 2, 1)

    def forward(self, x):
        x = self.embed(x)
        total = 0
        for i in range(3):
            past = F.pad(x, (2 ** i, 0))
            value = torch.tanh(self.filters[i](past)) * torch.sigmoid(self.gates[i](x)[..., :-2 ** i])
            shifted = F.pad(x, (1, 0))[..., :-1]
            x = self.mix * x + (1 - self.mix) * shifted + value
            total = total + self.skips[i](value)[..., 3:]
        return self.head(torch.tanh(total))


def causal_shifts():
    return Case(CausalShifts(), (normal(2, 3, 14),), normal(2, 2, 11), "mse", 13)


class Siamese(nn.Module):
    """One encoder, two inputs, the cosine between the two codes."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3)
        self.code = nn.Linear(6 * 4 * 4, 10)
        self.scale = nn.Parameter(torch.tensor([5.0]))

    def encode(self, x):
        return self.code(F.avg_pool2d(torch.tanh(self.conv(x)), 2).flatten(1))

    def forward(self, left, right):
        return self.scale * F.cosine_similarity(self.encode(left), self.encode(right), dim=1)


def siamese():
    return Case(Siamese(), (normal(4, 1, 10, 10), normal(4, 1, 10, 10)),
                torch.rand(BATCHES, 4), "bce", 13)


class TiedAutoencoder(nn.Module):
    """Decoders that are the encoders' weights, transposed: of layers and of a convolution."""

    def __init__(self):
        super().__init__()
        self.filter = nn.Parameter(0.3 * torch.randn(6, 2, 3, 3))
        self.weight = nn.Parameter(0.1 * torch.randn(10, 96))
        self.bias = nn.Parameter(torch.zeros(10))
        self.bias_back = nn.Parameter(torch.zeros(96))

    def forward(self, x):
        x = torch.tanh(F.conv2d(x, self.filter, stride=2, padding=1))
        code = torch.tanh(F.linear(x.flatten(1), self.weight, self.bias))
        x = torch.tanh(F.linear(code, self.weight.t(), self.bias_back)).reshape(-1, 6, 4, 4)
        return F.conv_transpose2d(x, self.filter, stride=2, padding=1, output_padding=1)


def tied_autoencoder():
    return Case(TiedAutoencoder(), (normal(3, 2, 8, 8),), normal(3, 2, 8, 8), "mse", 13)


class SoftExperts(nn.Module):
    """Each token's answer is a mixture of all experts', weighted by a softmax of gates."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(6, 4)
        self.first = nn.Parameter(0.3 * torch.randn(4, 6, 10))
        self.second = nn.Parameter(0.3 * torch.randn(4, 10, 5))

    def forward(self, x):
        gates = torch.softmax(self.gate(x), -1)
        hidden = F.gelu(torch.einsum("btd,edh->bteh", x, self.first))
        answers = torch.einsum("bteh,eho->bteo", hidden, self.second)
        return torch.einsum("bte,bteo->bto", gates, answers).permute(0, 2, 1)


def soft_experts():
    return Case(SoftExperts(), (normal(2, 7, 6),), ids(5, 2, 7), "cross-entropy", 13, 5)


class Decoder(nn.Module):
    """Attention over another sequence, PyTorch's own module, with a mask of lengths."""

    def __init__(self):
        super().__init__()
        self.own = nn.MultiheadAttention(12, 3, batch_first=True)
        self.other = nn.MultiheadAttention(12, 2, batch_first=True, kdim=8, vdim=8)
        self.norm = nn.LayerNorm(12)
        self.last = nn.LayerNorm(12)
        self.feed = nn.Sequential(nn.Linear(12, 20), nn.GELU(), nn.Linear(20, 12))

    def forward(self, x, memory):
        x = self.norm(x + self.own(x, x, x, need_weights=False)[0])
        x = x + self.other(x, memory, memory, need_weights=False)[0]
        return self.last(x + self.feed(x))


def cross_attention():
    return Case(Decoder(), (normal(2, 5, 12), normal(2, 7, 8)), normal(2, 5, 12), "mse", 14)


class SuperResolution(nn.Module):
    """Channels shuffled between groups, and made pixels; a residual by the nearest pixel."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 12, 3, padding=1, groups=3)
        self.second = nn.Conv2d(12, 12, 3, padding=1, groups=2, padding_mode="reflect")
        self.last = nn.Conv2d(12, 12, 3, padding=1, padding_mode="replicate")

    def forward(self, x):
        y = F.softplus(self.first(x))
        y = y.reshape(-1, 3, 4, 5, 6).transpose(1, 2).reshape(-1, 12, 5, 6)
        y = F.pixel_shuffle(self.last(torch.tanh(self.second(y))), 2)
        return y + F.interpolate(x, scale_factor=2.0, mode="nearest")


def super_resolution():
    return Case(SuperResolution(), (normal(2, 3, 5, 6),), normal(2, 3, 10, 12), "mse", 13)


class ShiftedWindows(nn.Module):
    """A block of a Swin transformer: rolled pixels, attention in windows, a bias by position."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Conv2d(3, 12, 2, stride=2)
        self.norm = nn.LayerNorm(12)
        self.attention = Attention(12, 3, False)
        self.bias = nn.Parameter(0.1 * torch.randn(7, 12))
        self.merge = nn.Linear(48, 6, bias=False)
        self.register_buffer("places", torch.tensor([[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2],
                                                     [6, 5, 4, 3]]))

    def forward(self, x):
        x = self.embed(x).permute(0, 2, 3, 1)
        y = torch.roll(self.norm(x), (-1, -1), (1, 2))
        y = y.reshape(-1, 2, 2, 2, 2, 12).permute(0, 1, 3, 2, 4, 5).reshape(-1, 4, 12)
        y = self.attention(y + self.bias[self.places].mean(0))
        y = y.reshape(-1, 2, 2, 2, 2, 12).permute(0, 1, 3, 2, 4, 5).reshape(-1, 4, 4, 12)
        x = x + torch.roll(y, (1, 1), (1, 2))
        parts = [x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)]
        return self.merge(torch.cat(parts, -1)).flatten(1, 2).mean(1)


def shifted_windows():
    return Case(ShiftedWindows(), (normal(2, 3, 8, 8),), ids(6, 2), "cross-entropy", 13, 6)


class DenseBranches(nn.Module):
    """Branches of other kernels, concatenated, each normalized by its batch; two heads."""

    def __init__(self):
        super().__init__()
        self.branches = nn.ModuleList([
            nn.Conv2d(3, 4, size, padding=padding, dilation=dilation, bias=False)
            for size, padding, dilation in ((1, 0, 1), ((1, 5), (0, 2), 1), ((5, 1), (2, 0), 1),
                                            (3, 2, 2))])
        self.norms = nn.ModuleList(nn.BatchNorm2d(4) for _ in range(4))
        self.after = nn.Conv2d(19, 8, 3, stride=2, bias=False)
        self.after_norm = nn.BatchNorm2d(8)
        self.bilinear = nn.Parameter(0.2 * torch.randn(5, 8, 8))

    def forward(self, x):
        parts = [torch.tanh(norm(conv(x))) for conv, norm in zip(self.branches, self.norms)]
        x = torch.cat([x.flip(3), *parts], 1)
        x = F.logsigmoid(self.after_norm(self.after(x)))
        x = x.amax(3).sum(2) / 3 + x.flatten(2).logsumexp(2)
        return torch.einsum("bi,kij,bj->bk", x, self.bilinear, x)


def dense_branches():
    return Case(DenseBranches(), (normal(4, 3, 9, 8),), ids(5, 4), "cross-entropy", 13, 5)


class Flow(nn.Module):
    """Coupling layers: halves scaled and shifted by what the other half says, columns permuted."""

    def __init__(self):
        super().__init__()
        self.nets = nn.ModuleList(nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 8))
                                  for _ in range(3))
        self.register_buffer("order", torch.tensor([3, 7, 1, 5, 0, 2, 6, 4]))

    def forward(self, x):
        volume = 0
        for net in self.nets:
            kept, changed = x.split(4, 1)
            scale, shift = net(kept).chunk(2, 1)
            scale = 2 * torch.sigmoid(scale)
            x = torch.cat([changed * scale + shift, kept], 1)[:, self.order]
            volume = volume + scale.log().sum(1, keepdim=True)
        return torch.cat([0.5 * (x ** 2).sum(1, keepdim=True), volume, x.cumsum(1)], 1)


def coupling_flow():
    return Case(Flow(), (normal(6, 8),), normal(6, 10), "mse", 13)


class Cells(nn.Module):
    """Recurrent cells in a loop that Python unrolls, with attention over what they saw."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(12, 6)
        self.cell = nn.LSTMCell(6, 8)
        self.second = nn.GRUCell(8, 8)
        self.head = nn.Linear(16, 12)

    def forward(self, words):
        zero = torch.zeros(3, 8, dtype=self.head.weight.dtype)
        hidden, memory, other, seen = zero, zero, zero, []
        for t in range(4):
            hidden, memory = self.cell(self.tokens(words[:, t]), (hidden, memory))
            other = self.second(hidden, other)
            seen.append(other)
        seen = torch.stack(seen, 1)
        query = other.unsqueeze(1)
        scores = (seen * F.elu(query)).sum(-1)
        mixed = (torch.softmax(scores, 1).unsqueeze(2) * seen).sum(1)
        return self.head(torch.cat([mixed, other], 1))


def unrolled_cells():
    return Case(Cells(), (ids(12, 3, 4),), ids(12, 3), "cross-entropy", 13, 12)


MODELS = {make.__name__: make for make in (
    unet_transposed, unet_bilinear, lstm, gru, gpt_tied, mobile_depthwise, windows, pooling_ceil,
    norms, graph_scatter, causal_shifts, siamese, tied_autoencoder, soft_experts, cross_attention,
    super_resolution, shifted_windows, dense_branches, coupling_flow, unrolled_cells)}
