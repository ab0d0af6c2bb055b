"""CSRNet (Li et al., CVPR'18): ten layers of VGG-16, then six dilated convolutions and an output."""

from torch import nn

FRONT = [64, 64, "pool", 128, 128, "pool", 256, 256, 256, "pool", 512, 512, 512]
BACK = [512, 512, 512, 256, 128, 64]


class CsrNet(nn.Sequential):
    """Maps an image to a density map of an eighth of its height and width."""

    def __init__(self):
        layers, channels = [], 3
        for part, dilation in [(FRONT, 1), (BACK, 2)]:
            for layer in part:
                if layer == "pool":
                    layers.append(nn.MaxPool2d(2))
                    continue
                layers.append(
                    nn.Conv2d(channels, layer, 3, padding=dilation, dilation=dilation)
                )
                layers.append(nn.ReLU())
                channels = layer
        layers.append(nn.Conv2d(channels, 1, 1))
        super().__init__(*layers)
