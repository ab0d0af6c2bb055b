"""Models of PyTorch."""

import contextlib
import inspect
import os
import tempfile
import warnings
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from lemma import _files

# The newest operator set of ONNX that PyTorch 1.13 writes; later versions of PyTorch write it too.
OPSET = 17

Dynamic = Mapping[str, Union[Sequence[int], Mapping[int, str]]]


def torch_module() -> Any:
    """The package torch. If it cannot be imported, an ImportError says what to do."""
    try:
        import torch
    except ImportError as failure:
        raise ImportError(
            f"PyTorch cannot be imported ({failure}); install it, or export the model to ONNX where"
            " it is installed and give Lemma the file"
        ) from failure
    return torch


def names_of_inputs(model: Any, count: int) -> List[str]:
    """The names of the first `count` parameters of `forward`; input_0, … if it has fewer."""
    forward = getattr(model, "forward", model)
    try:
        parameters = list(inspect.signature(forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    known = [p.name for p in parameters if p.kind in plain]
    if count <= len(known):
        return known[:count]
    return [f"input_{i}" for i in range(count)]


def export(
    model: Any, args: Tuple[Any, ...], path: str, opset: int, *, in_parts: bool, **options: Any
) -> None:
    """Writes the model to `path` by PyTorch's exporter, which traces it once, with these arguments.

    The exporter rewrites nothing: constants and batch norms are not folded. With `in_parts`,
    PyTorch uses none of its fused operators for transformers, because ONNX does not have them.
    """
    torch = torch_module()
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = False  # PyTorch 2: the exporter that needs no further packages
    options["training"] = torch.onnx.TrainingMode.PRESERVE
    parts = _without_fused_attention(torch) if in_parts else contextlib.nullcontext()
    with warnings.catch_warnings(), torch.set_grad_enabled(in_parts), parts:
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            model, args, path, opset_version=opset, do_constant_folding=False, **options
        )


@contextlib.contextmanager
def _without_fused_attention(torch: Any) -> Iterator[None]:
    """Switches PyTorch 2's fused operators off. PyTorch 1 uses none while gradients are on."""
    switch = getattr(torch.backends, "mha", None)
    if not hasattr(switch, "set_fastpath_enabled"):
        yield
        return
    before = switch.get_fastpath_enabled()
    switch.set_fastpath_enabled(False)
    try:
        yield
    finally:
        switch.set_fastpath_enabled(before)


@contextlib.contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Puts the model into evaluation mode; each module gets its former mode back at the end."""
    before = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in before:
            module.training = training


def _module(model: Any) -> Any:
    """The model as a module, for the exporter; a function is wrapped into one."""
    torch = torch_module()
    if isinstance(model, torch.nn.Module):
        return model
    if not callable(model):
        raise TypeError(f"model: '{type(model).__name__}' is neither a module nor a function")

    class Function(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            return model(*args)

    return Function()


def _names_of_outputs(result: Any) -> List[str]:
    """A name for each tensor in the result of `forward`."""
    torch = torch_module()
    if isinstance(result, torch.Tensor):
        return ["output"]
    if isinstance(result, Mapping):
        parts = [(str(name), value) for name, value in result.items() if value is not None]
    elif isinstance(result, (tuple, list)):
        parts = [(f"output_{i}", value) for i, value in enumerate(result) if value is not None]
    else:
        raise TypeError(f"the model returns '{type(result).__name__}', which ONNX does not have")
    names: List[str] = []
    for name, value in parts:
        inner = _names_of_outputs(value)
        names += [name] if inner == ["output"] else [f"{name}_{part}" for part in inner]
    return names


def from_torch(
    model: Any,
    args: Any,
    *,
    path: Union[str, "os.PathLike[str]", None] = None,
    dynamic: Optional[Dynamic] = None,
    input_names: Optional[Sequence[str]] = None,
    output_names: Optional[Sequence[str]] = None,
    opset: int = OPSET,
) -> Any:
    """Converts a model of PyTorch to ONNX, for `optimize`, `Session`, `prove` and the others.

    `model` is a module or a function of tensors. It is traced in evaluation mode with `args`, a
    tensor or a tuple of tensors. If a branch depends on a value, the result has only the side that
    these tensors take. `dynamic` names the dimensions that stay symbolic: {"x": [0]} or
    {"x": {0: "batch"}}. Inputs have the names of the parameters of `forward` unless `input_names`
    is given. `opset` is the version of ONNX's operator set.

    Returns an onnx.ModelProto, which needs the package onnx. With `path`, writes the model to this
    file and returns the path; this does not need onnx. Models above 2 GB need `path`.
    """
    torch = torch_module()
    args = args if isinstance(args, tuple) else (args,)
    for i, value in enumerate(args):
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"args: number {i} is '{type(value).__name__}', not a tensor")
    names = list(input_names) if input_names is not None else names_of_inputs(model, len(args))
    if len(names) != len(args):
        raise ValueError(f"input_names: {len(names)} names for {len(args)} tensors")
    module = _module(model)
    options: Dict[str, Any] = {"input_names": names, "dynamic_axes": _axes(dynamic, names, args)}
    with tempfile.TemporaryDirectory(prefix="lemma-") as folder, evaluating(module):
        if output_names is None:
            with torch.no_grad():
                output_names = _names_of_outputs(module(*args))
        target = os.path.join(folder, "model.onnx")
        export(module, args, target, opset, in_parts=True, output_names=list(output_names), **options)
        if path is None:
            return _load(target)
        # Weights of large models are in further files.
        place = os.path.dirname(os.path.abspath(path))
        others = [name for name in sorted(os.listdir(folder)) if name != "model.onnx"]
        pairs = [(os.path.join(folder, name), os.path.join(place, name)) for name in others]
        _files.copy_all([*pairs, (target, path)])
        return os.fspath(path)


def _load(path: str) -> Any:
    try:
        import onnx
    except ImportError as failure:
        raise ImportError(
            "the package onnx is missing; with path=FILE the model is written to a file instead"
        ) from failure
    return onnx.load(path)


def _axes(dynamic: Optional[Dynamic], names: List[str], args: Tuple[Any, ...]) -> Dict[str, Dict[int, str]]:
    """For the exporter: for each input, the names of its symbolic dimensions."""
    result: Dict[str, Dict[int, str]] = {}
    for name, axes in (dynamic or {}).items():
        if name not in names:
            raise ValueError(f"dynamic: no input is called '{name}'; there are: {', '.join(names)}")
        rank = args[names.index(name)].dim()
        named = dict(axes) if isinstance(axes, Mapping) else {axis: f"{name}_{axis}" for axis in axes}
        for axis in named:
            if not -rank <= axis < rank:
                raise ValueError(f"dynamic: '{name}' has {rank} dimensions, and none is number {axis}")
        result[name] = {axis % rank: text for axis, text in named.items()}
    return result
