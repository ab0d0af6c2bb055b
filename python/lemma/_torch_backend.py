"""The back end "lemma" of torch.compile: graphs of PyTorch 2's Dynamo, executed by a Session."""

import collections
import logging
import os
import tempfile
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from lemma import _errors, _torch
from lemma._optimize import optimize
from lemma._session import Session

_LOG = logging.getLogger("lemma")
# The number of choices of input sizes for which a graph stays prepared.
_MOST_SIZES = 8
# The limit for the comparison of the first outputs with PyTorch's, relative to the largest value.
# Faults of the export cause larger differences.
_LARGEST_DIFFERENCE = 1e-2
_BY_PYTORCH = "PyTorch executes a graph itself: %s"


class _NotForLemma(Exception):
    """The reason why PyTorch has to execute the graph."""


def torch_backend(
    graph: Any,
    example_inputs: Sequence[Any],
    *,
    options: Optional[Mapping[str, Any]] = None,
    mode: Optional[str] = None,
) -> Callable[..., Any]:
    """For `torch.compile(model, backend="lemma", options={...})`: executes a graph by Lemma.

    `options` are arguments of `lemma.optimize`. At its first call with inputs of new sizes, the
    graph is exported, optimized and compared with PyTorch. PyTorch executes the graph itself, and
    the logger `lemma` says why, if gradients are needed, a tensor is not on the CPU, or Lemma
    cannot execute the graph; docs/python.md lists further cases. ValueError if `mode` is given.
    """
    del example_inputs  # stand for sizes only; the inputs of the first call have values
    if mode is not None:
        raise ValueError(f"mode: the back end lemma has no modes; options={{'effort': 'quick'}}, not {mode}")
    return _Compiled(graph, dict(options or {}))


class _Compiled:
    """A graph that is prepared for each choice of sizes at its first call."""

    def __init__(self, graph: Any, options: Dict[str, Any]):
        self._torch = _torch.torch_module()
        self._graph = graph
        self._options = {"effort": "quick", "seconds": 60, "threads": self._torch.get_num_threads(), **options}
        # None: PyTorch executes the graph.
        self._prepared: "collections.OrderedDict[Any, Optional[_Prepared]]" = collections.OrderedDict()
        self._lock = threading.Lock()
        self._told_of_gradients = False

    def __call__(self, *args: Any) -> Any:
        torch = self._torch
        held = _tensors_in(torch, self._graph)
        tensors = [value for value in args if isinstance(value, torch.Tensor)] + held
        if torch.is_grad_enabled() and any(value.requires_grad for value in tensors):
            self._tell_of_gradients()
            return self._graph(*args)
        key = tuple(_key(torch, value) for value in args)
        with self._lock:
            prepared = self._prepared.get(key)
            if key in self._prepared and prepared is None:
                return self._graph(*args)
            if prepared is None or not prepared.holds_for(args):
                return self._first(key, args, held)
            self._prepared.move_to_end(key)
        return prepared.run(args)

    def _tell_of_gradients(self) -> None:
        """Logs once why PyTorch executes the graph, because a training loop calls it many times."""
        with self._lock:
            told, self._told_of_gradients = self._told_of_gradients, True
        if not told:
            _LOG.warning(_BY_PYTORCH, "gradients are needed; torch.no_grad() switches them off")

    def _first(self, key: Any, args: Tuple[Any, ...], held: List[Any]) -> Any:
        """Returns PyTorch's outputs, and prepares the graph for the next call with these sizes."""
        torch = self._torch
        before = [_Mark(torch, value) for value in (*args, *held)]
        expected = self._graph(*args)
        prepared: Optional[_Prepared] = None
        try:
            if not all(mark.holds_for(value) for mark, value in zip(before, (*args, *held))):
                raise _NotForLemma("it changes its inputs or weights")
            prepared = _Prepared(torch, self._graph, args, expected, self._options)
        except (_errors.Error, _NotForLemma, RuntimeError, TypeError, ValueError) as failure:
            _LOG.warning(_BY_PYTORCH, failure)
        self._prepared[key] = prepared
        if len(self._prepared) > _MOST_SIZES:
            self._prepared.popitem(last=False)
        return expected


class _Prepared:
    """A session for a graph at fixed sizes, which contains the graph's weights as constants."""

    def __init__(self, torch: Any, graph: Any, args: Tuple[Any, ...], expected: Any, options: Dict[str, Any]):
        self._torch = torch
        self._graph = graph
        self._fed = [i for i, value in enumerate(args) if not _is_fixed(torch, value)]
        self._fixed = [i for i in range(len(args)) if i not in self._fed]
        held = _tensors_in(torch, graph)
        outputs = _outputs(torch, expected, [*args, *held])
        self._marks = [_Mark(torch, value) for value in self._constants(args)]
        if not self._fed:
            raise _NotForLemma("it has no inputs")
        if any(mark.is_unseen for mark in self._marks):
            raise _NotForLemma("changes of its weights cannot be seen: they were made in inference mode")
        module = _with_fixed(torch, graph, args, self._fixed)
        self._names = [f"input_{i}" for i in self._fed]
        self._wanted = [f"output_{i}" for i in range(len(outputs))]
        self._is_tuple = not isinstance(expected, torch.Tensor)
        fed = tuple(args[i].detach() for i in self._fed)
        with tempfile.TemporaryDirectory(prefix="lemma-") as folder:
            path = os.path.join(folder, "graph.onnx")
            names = {"input_names": self._names, "output_names": self._wanted}
            _torch.export(module, fed, path, _torch.OPSET, in_parts=False, **names)
            result = optimize(path, **options)
        self._session = Session(
            result.path, backend=options.get("backend", "cpu"), threads=options["threads"], max_plans=1
        )
        self._known = {value.name for value in self._session.get_inputs()}
        self._check(args, outputs)

    def _constants(self, args: Tuple[Any, ...]) -> List[Any]:
        return [args[i] for i in self._fixed] + _tensors_in(self._torch, self._graph)

    def holds_for(self, args: Tuple[Any, ...]) -> bool:
        """Whether the weights are unchanged."""
        now = self._constants(args)
        return len(now) == len(self._marks) and all(m.holds_for(v) for m, v in zip(self._marks, now))

    def run(self, args: Tuple[Any, ...]) -> Any:
        inputs = {name: args[i] for name, i in zip(self._names, self._fed) if name in self._known}
        outputs = tuple(map(self._torch.from_numpy, self._session.run(self._wanted, inputs)))
        return outputs if self._is_tuple else outputs[0]

    def _check(self, args: Tuple[Any, ...], expected: List[Any]) -> None:
        """Raises _NotForLemma if the session's outputs differ from PyTorch's: a wrong export."""
        found = self.run(args)
        for ours, theirs in zip(found if self._is_tuple else (found,), expected):
            theirs = theirs.detach()
            if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
                raise _NotForLemma(
                    f"an output is {ours.dtype} {tuple(ours.shape)} after the export, and"
                    f" {theirs.dtype} {tuple(theirs.shape)} before"
                )
            if not _close(self._torch, ours, theirs):
                raise _NotForLemma("its outputs differ from PyTorch's, as those of random operators do")


class _Mark:
    """Notices whether a tensor has changed. Holds it, so that no other tensor gets its address."""

    def __init__(self, torch: Any, value: Any):
        self._is_tensor = isinstance(value, torch.Tensor)
        self._value = value.detach() if self._is_tensor else value
        #: Whether the tensor was made in inference mode, in which PyTorch does not count its
        #: changes.
        self.is_unseen = self._is_tensor and value.is_inference()
        if self.is_unseen:
            self._value = value.clone()
        elif self._is_tensor:
            self._seen = value.data_ptr(), value._version, value.shape, value.stride()
        self._equal = torch.equal

    def holds_for(self, value: Any) -> bool:
        if not self._is_tensor:
            return self._value == value
        if self.is_unseen:
            return self._equal(self._value, value)
        return self._seen == (value.data_ptr(), value._version, value.shape, value.stride())


def _tensors_in(torch: Any, graph: Any) -> List[Any]:
    """Parameters, buffers and other tensors that a graph holds."""
    found = [*graph.parameters(), *graph.buffers()]
    return found + [value for value in vars(graph).values() if isinstance(value, torch.Tensor)]


def _is_fixed(torch: Any, value: Any) -> bool:
    """Whether an argument is a weight, or is no tensor, such as a number that Dynamo passes."""
    if not isinstance(value, torch.Tensor) or isinstance(value, torch.nn.Parameter):
        return True
    return getattr(value, "_dynamo_static_input_type", None) is not None


def _key(torch: Any, value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return tuple(value.shape), value.dtype, str(value.device)


def _memory(value: Any) -> Any:
    storage = value.untyped_storage() if hasattr(value, "untyped_storage") else value.storage()
    return str(value.device), storage.data_ptr()


def _outputs(torch: Any, expected: Any, others: Sequence[Any]) -> List[Any]:
    """The tensors in PyTorch's result. Raises _NotForLemma if Lemma cannot return such tensors."""
    outputs = [expected] if isinstance(expected, torch.Tensor) else list(expected)
    if not all(isinstance(value, torch.Tensor) for value in outputs):
        raise _NotForLemma("it returns something else than tensors")
    tensors = [value for value in (*others, *outputs) if isinstance(value, torch.Tensor)]
    for value in tensors:
        if value.device.type != "cpu" or value.layout != torch.strided:
            raise _NotForLemma(f"a tensor is {value.layout} on {value.device}, not dense on the CPU")
    places = [_memory(value) for value in tensors if value.numel() > 0]
    first = len(places) - sum(value.numel() > 0 for value in outputs)
    if len(set(places[first:])) < len(places[first:]) or set(places[:first]) & set(places[first:]):
        raise _NotForLemma("an output shares memory with another tensor")
    return outputs


def _with_fixed(torch: Any, graph: Any, args: Tuple[Any, ...], fixed: Sequence[int]) -> Any:
    """The graph as a module of the arguments not in `fixed`; weights become its buffers."""
    values = {i: args[i] for i in fixed}

    class Fed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.graph = graph
            self.numbers = {}
            for i, value in values.items():
                if isinstance(value, torch.Tensor):
                    self.register_buffer(f"weight_{i}", value.detach())
                else:
                    self.numbers[i] = value

        def forward(self, *fed):
            rest = iter(fed)
            full = []
            for i in range(len(args)):
                if i not in values:
                    full.append(next(rest))
                else:
                    full.append(self.numbers[i] if i in self.numbers else getattr(self, f"weight_{i}"))
            return self.graph(*full)

    return Fed()


def _close(torch: Any, ours: Any, theirs: Any) -> bool:
    """Whether two tensors differ by at most _LARGEST_DIFFERENCE, relative to the largest value."""
    if not ours.is_floating_point():
        return torch.equal(ours, theirs)
    finite = torch.isfinite(theirs)
    if not torch.equal(finite, torch.isfinite(ours)):
        return False
    if not torch.equal(theirs[~finite].nan_to_num(0.0), ours[~finite].nan_to_num(0.0)):
        return False
    if not finite.any():
        return True
    ours, theirs = ours[finite].double(), theirs[finite].double()
    return bool((ours - theirs).abs().max() <= _LARGEST_DIFFERENCE * theirs.abs().max().clamp(min=1e-6))
