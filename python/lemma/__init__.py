"""Lemma rewrites tensor programs by proved rules, so that they run faster and compute the same.

    import lemma
    result = lemma.optimize("model.onnx", seconds=60)
    result.save("faster.onnx")
    outputs = lemma.Session("faster.onnx").run(None, {"x": x})
"""

from lemma._errors import InternalError
from lemma._generate import Rules, generate
from lemma._optimize import Result, optimize
from lemma._proofs import Answer, check, prove, referee, verify
from lemma._session import Session, ValueInfo
from lemma._training import TrainingStep, train
from lemma._version import version

__version__ = version
__all__ = [
    "Answer",
    "InternalError",
    "Result",
    "Rules",
    "Session",
    "TrainingStep",
    "ValueInfo",
    "check",
    "generate",
    "optimize",
    "prove",
    "referee",
    "train",
    "verify",
    "version",
]
