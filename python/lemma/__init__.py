"""Lemma rewrites tensor programs by proved rules, so that they run faster and compute the same.

    import lemma
    result = lemma.optimize("model.onnx", seconds=60)
    result.save("faster.onnx")
    outputs = lemma.Session("faster.onnx").run(None, {"x": x})
"""

from lemma._define import define
from lemma._errors import Error, InputError, InternalError, OutOfMemoryError, UnsupportedError
from lemma._generate import generate
from lemma._graph import Graph, show
from lemma._optimize import Result, optimize
from lemma._proofs import Answer, check, prove, referee, verify
from lemma._quantize import Quantized, quantize
from lemma._rules import Rule, Rules, rules
from lemma._session import Session, ValueInfo
from lemma._torch import from_torch
from lemma._torch_backend import torch_backend
from lemma._training import TrainingStep, train
from lemma._version import version

__version__ = version
__all__ = [
    "Answer",
    "Error",
    "Graph",
    "InputError",
    "InternalError",
    "OutOfMemoryError",
    "Quantized",
    "Result",
    "Rule",
    "Rules",
    "Session",
    "TrainingStep",
    "UnsupportedError",
    "ValueInfo",
    "check",
    "define",
    "from_torch",
    "generate",
    "optimize",
    "prove",
    "quantize",
    "referee",
    "rules",
    "show",
    "torch_backend",
    "train",
    "verify",
    "version",
]
