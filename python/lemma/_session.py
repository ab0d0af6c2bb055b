"""Executes models, with NumPy arrays."""

import contextlib
import fcntl
import json
import subprocess
import sys
import threading
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy

from lemma import _arguments, _arrays, _command, _errors, _models

_DTYPES = {
    "f32": numpy.dtype("<f4"),
    "f64": numpy.dtype("<f8"),
    "f16": numpy.dtype("<f2"),
    "i64": numpy.dtype("<i8"),
    "i32": numpy.dtype("<i4"),
    "i16": numpy.dtype("<i2"),
    "i8": numpy.dtype("i1"),
    "u64": numpy.dtype("<u8"),
    "u32": numpy.dtype("<u4"),
    "u16": numpy.dtype("<u2"),
    "u8": numpy.dtype("u1"),
    "bool": numpy.dtype("?"),
}


# Linux's number of the call that sizes a pipe; Python has its name since 3.10.
_SET_PIPE_SIZE = getattr(fcntl, "F_SETPIPE_SZ", 1031)
_PIPE_BYTES = 1 << 20  # the most that a user may have by default


class ValueInfo(NamedTuple):
    """An input or an output. Each size is a number, or a text for a symbolic size ("2*seq")."""

    name: str
    dtype: str  # Lemma's name: "f32", "i64", "bool", …
    shape: Tuple[Union[int, str], ...]


def _info(value: Dict[str, Any]) -> ValueInfo:
    return ValueInfo(value["name"], value["dtype"], tuple(value["shape"]))


def _numpy_dtype(value: ValueInfo) -> numpy.dtype:
    if value.dtype not in _DTYPES:
        raise TypeError(f"'{value.name}' is {value.dtype}, which NumPy does not have")
    return _DTYPES[value.dtype]


class Session:
    """A model that is ready to run, in a process of its own.

    Several threads may use it; their runs are executed one after the other. `close`, or the end of
    a `with` block, ends the process. `max_plans` is the number of choices of symbolic sizes for
    which the model stays prepared.
    """

    @_arguments.checked
    def __init__(
        self, model: _models.ModelLike, *, backend: str = "cpu", threads: int = 1, max_plans: int = 16
    ):
        self._process: Optional[subprocess.Popen] = None
        self._lock = threading.Lock()
        with _models.as_file(model) as path:
            arguments = ["session", path, f"--backend={backend}"]
            arguments += [f"--threads={threads}", f"--max-plans={max_plans}"]
            self._process = _command.start(
                arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            self._errors = _command.Errors(self._process.stderr)
            for pipe in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):  # smaller pipes work too, but are slower
                    fcntl.fcntl(pipe, _SET_PIPE_SIZE, _PIPE_BYTES)
            with self._ends_on_failure():
                ready = self._answer()
        self._inputs = [_info(value) for value in ready["inputs"]]
        self._outputs = [_info(value) for value in ready["outputs"]]
        self._defaults = set(ready["defaults"])

    def get_inputs(self) -> List[ValueInfo]:
        return list(self._inputs)

    def get_outputs(self) -> List[ValueInfo]:
        return list(self._outputs)

    def run(
        self,
        output_names: Optional[Sequence[str]],
        inputs: Mapping[str, Any],
        *,
        out: Optional[Mapping[str, numpy.ndarray]] = None,
    ) -> List[numpy.ndarray]:
        """Executes the model. Returns the outputs of these names, in this order (None: all).

        `inputs` has an array for each input, by name, with the input's element type and shape. An
        input with a default value may be left out. `out` has arrays for some of the outputs, by
        name: they receive these outputs, and are returned in place of new arrays.
        """
        wanted = self._wanted(output_names)
        for i in wanted:
            _numpy_dtype(self._outputs[i])
        out = dict(out or {})
        self._check_out(out, [self._outputs[i].name for i in wanted])
        lines, arrays = self._request(inputs)
        header = " ".join(["run", *map(str, wanted)])
        with self._lock:
            if self._process is None:
                raise ValueError("the session is closed")
            with self._ends_on_failure():
                self._send("\n".join([header, *lines]).encode() + b"\n", arrays)
                answer = self._answer()
                if "error" in answer:
                    failure = _errors.exception(answer["code"], answer["error"])
                else:
                    failure = None
                    outputs = [
                        self._receive(value, out.get(self._outputs[i].name))
                        for i, value in zip(wanted, answer["outputs"])
                    ]
        if failure is not None:
            raise failure
        for i, output in zip(wanted, outputs):
            given = out.get(self._outputs[i].name)
            if given is not None and given is not output:
                raise ValueError(
                    f"out: '{self._outputs[i].name}' has the shape {list(output.shape)},"
                    f" not {list(given.shape)}"
                )
        return outputs

    def close(self) -> None:
        """Ends the process. `run` then raises ValueError."""
        process, self._process = self._process, None
        if process is not None:
            _command.stop(process)
            self._errors.close()
            process.stdout.close()
            try:
                process.stdin.close()
            except BrokenPipeError:
                pass

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    # When Python ends, modules are gone; the process then ends with its pipe.
    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if getattr(self, "_process", None) is not None and not is_finalizing():
            self.close()

    def _wanted(self, names: Optional[Sequence[str]]) -> List[int]:
        known = [output.name for output in self._outputs]
        if names is None:
            return list(range(len(known)))
        if isinstance(names, str):
            raise TypeError(f"the names of outputs are a list: run(['{names}'], …)")
        for name in names:
            if name not in known:
                raise ValueError(f"no output is called '{name}'; there are: {', '.join(known)}")
        return [known.index(name) for name in names]

    def _check_out(self, out: Mapping[str, numpy.ndarray], wanted: Sequence[str]) -> None:
        for name, array in out.items():
            if name not in wanted:
                raise ValueError(f"out: '{name}' is not among the outputs: {', '.join(wanted)}")
            dtype = _numpy_dtype(self._outputs[[output.name for output in self._outputs].index(name)])
            if not isinstance(array, numpy.ndarray) or array.dtype != dtype:
                raise ValueError(f"out: '{name}' needs a NumPy array of {dtype.name}")
            if not (array.flags.c_contiguous and array.flags.writeable):
                raise ValueError(f"out: the array for '{name}' is not contiguous, or cannot be written")

    def _request(self, inputs: Mapping[str, Any]) -> Tuple[List[str], List[numpy.ndarray]]:
        known = [value.name for value in self._inputs]
        if not isinstance(inputs, Mapping):
            raise TypeError(
                f"the inputs are a dict with an array for each name, not {type(inputs).__name__};"
                f" the names are: {', '.join(known)}"
            )
        for name in inputs:
            if name not in known:
                raise ValueError(f"no input is called '{name}'; there are: {', '.join(known)}")
        lines, arrays = [], []
        for value in self._inputs:
            if value.name not in inputs:
                if value.name not in self._defaults:
                    raise ValueError(f"input '{value.name}' is missing")
                lines.append("default")
                continue
            dtype = _numpy_dtype(value)
            array = _arrays.as_numpy(inputs[value.name], f"input '{value.name}'")
            if array.dtype.newbyteorder("<") != dtype:
                raise ValueError(f"input '{value.name}' is {dtype.name}, not {array.dtype.name}")
            # A copy only if the array is not contiguous or has the other byte order.
            array = numpy.asarray(array, dtype=dtype, order="C")
            lines.append(" ".join([value.dtype, *map(str, array.shape)]))
            arrays.append(array)
        return lines, arrays

    def _send(self, header: bytes, arrays: Sequence[numpy.ndarray]) -> None:
        try:
            self._process.stdin.write(header)
            for array in arrays:
                if array.size:
                    self._process.stdin.write(memoryview(array.reshape(-1).view(numpy.uint8)))
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the process has ended; `_answer` says why

    def _answer(self) -> Dict[str, Any]:
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            raise self._errors.failure(self._process.wait())
        return json.loads(line)

    def _receive(self, value: Dict[str, Any], given: Optional[numpy.ndarray]) -> numpy.ndarray:
        """Reads an output, into the array `given` if it has the output's shape."""
        array = given
        if given is None or list(given.shape) != value["shape"]:
            array = numpy.empty(value["shape"], _DTYPES[value["dtype"]])
        rest = memoryview(array.reshape(-1).view(numpy.uint8)) if array.size else memoryview(b"")
        while len(rest):
            count = self._process.stdout.readinto(rest)
            if not count:
                raise self._errors.failure(self._process.wait())
            rest = rest[count:]
        return array

    def _ends_on_failure(self) -> "_EndsOnFailure":
        """Closes the session after an exception in a request: the pipes cannot be used any more."""
        return _EndsOnFailure(self)


class _EndsOnFailure:
    def __init__(self, session: Session):
        self._session = session

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, *unused: Any) -> None:
        if kind is not None:
            self._session.close()
