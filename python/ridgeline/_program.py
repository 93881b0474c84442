"""A program that was read: predicted, inspected, run and converted through one handle of the library."""

from __future__ import annotations

import ctypes
import json
import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from . import _abi, _arrays, _context
from ._context import Context, Writer, text_of
from ._errors import Diagnostic, RidgelineError, warn
from ._plan import Plan
from ._results import Chip, Inspection, Prediction, RunResult, Signature
from ._source import Source, source_of
from ._step import Step

if TYPE_CHECKING:
    from typing import TypeAlias

ChipName: TypeAlias = "str | os.PathLike[str] | Chip"
"""An id or alias (``"h100"``), a group (``"@gpu"``), the path of a chip file, or what ``ridgeline.chips()`` gave."""
TextForm: TypeAlias = Literal["pretty", "generic"]
Form: TypeAlias = Literal["pretty", "generic", "bytecode"]


def chip_names(on: ChipName | Iterable[ChipName]) -> list[str]:
    """What ``on=`` may be, as names for the library; ``"h100,a100"`` is two as on the command line."""
    if isinstance(on, (str, os.PathLike, Chip)):
        on = [on]
    names: list[str] = []
    for chip in on:
        if isinstance(chip, Chip):
            names.append(chip.id)
        elif isinstance(chip, str):
            names += [chip] if os.path.exists(chip) else [part.strip() for part in chip.split(",") if part.strip()]
        else:
            path = os.fspath(chip)
            names.append(path if os.sep in path else os.path.join(os.curdir, path))
    if not names:
        raise ValueError('on which chips? on=["h100", "mi300x"], or on="@demo"')
    return names


def encode(text: str | None) -> bytes | None:
    """For C, where a text ends at its first NUL."""
    if text is not None and "\0" in text:
        raise ValueError(f"{text!r} has a NUL in it")
    return None if text is None else os.fsencode(text)


def _array_of_names(names: Sequence[str]) -> Any:
    return (ctypes.c_char_p * max(len(names), 1))(*map(encode, names))


def _is_random_key(jax: Any, value: Any) -> bool:
    return hasattr(value, "dtype") and bool(jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key))


class _Handles:
    """What a program holds of the library; freed in the order that the library asks for."""

    def __init__(self) -> None:
        self.context = _context.take()
        self.programs: dict[bool, int] = {}

    def release(self) -> None:
        for handle in self.programs.values():
            _abi.library.rdg_program_free(handle)
        self.programs.clear()
        _context.give(self.context)


class Program:
    """A program, read once. Predicting it again is the fast way: what a chip's compiler makes of it is kept.

    ``program`` is what ``jax.jit(f).lower(...)`` or ``jax.export.export`` returns, StableHLO or HLO text, bytes (MLIR
    bytecode, portable artifacts, ONNX), or a path of a file of these; or a function with example ``args``, which JAX lowers.
    ``bind`` fills in dynamic dimensions (``["arg0=32x?"]``), ``entry`` names the function to start in. Errors in the program
    are raised by the first call that needs it. Several threads may use one program; they take turns.
    """

    def __init__(
        self,
        program: Any,
        *args: Any,
        bind: str | Sequence[str] = (),
        entry: str | None = None,
        name: str | None = None,
    ) -> None:
        self._source: Source = source_of(program, args)
        self._bind = [bind] if isinstance(bind, str) else list(bind)
        self._entry = entry
        self.name: str = name or self._source.name
        """Stands for the program in tables and diagnostics."""
        self._handles = _Handles()
        self._lock = threading.RLock()
        self._finalizer = weakref.finalize(self, self._handles.release)

    def __repr__(self) -> str:
        return f"<ridgeline.Program {self.name}>"

    # ---- reading ---------------------------------------------------------------------------------------------------

    def _load_options(self, only_to_run: bool = False) -> _abi.LoadOptions:
        binds = _array_of_names(self._bind)
        return _abi.LoadOptions(binds, len(self._bind), encode(self._entry), only_to_run, 0)

    def _handle(self, only_to_run: bool = False) -> int:
        """The program as it is counted, or as it is run: with dynamic dimensions open."""
        programs = self._handles.programs
        if only_to_run not in programs:
            out = ctypes.c_void_p()
            options = self._load_options(only_to_run)
            source = self._source
            if source.content is not None:
                content = source.content
                found = self._context.call(
                    "rdg_program_parse", encode(self.name), content, len(content), options, ctypes.byref(out)
                )
            else:
                found = self._context.call("rdg_program_load", encode(source.path), options, ctypes.byref(out))
            assert out.value is not None
            programs[only_to_run] = out.value
            warn(found)
        return programs[only_to_run]

    @property
    def _context(self) -> Context:
        return self._handles.context

    def _signature(self, which: str) -> tuple[Signature, ...]:
        with self._lock:
            handle = self._handle(only_to_run=True)
            entry = _abi.SignatureEntry()
            found = []
            for i in range(getattr(_abi.library, f"rdg_program_{which}_count")(handle)):
                getattr(_abi.library, f"rdg_program_{which}")(handle, i, entry)
                shape = tuple(None if entry.dims[d] < 0 else entry.dims[d] for d in range(entry.rank))
                found.append(
                    Signature(text_of(entry.name), text_of(entry.type), _arrays.dtype_name(entry.dtype), shape)
                )
            return tuple(found)

    @property
    def inputs(self) -> tuple[Signature, ...]:
        """Name, type and shape of what the program takes."""
        return self._signature("input")

    @property
    def outputs(self) -> tuple[Signature, ...]:
        """Name, type and shape of what the program gives."""
        return self._signature("output")

    # ---- questions -------------------------------------------------------------------------------------------------

    def predict(
        self,
        on: ChipName | Iterable[ChipName],
        *,
        fidelity: str | None = None,
        f32_as: str | None = None,
        fusion: bool = True,
        top: int = 5,
    ) -> Prediction:
        """See ``ridgeline.predict``."""
        documents = self._predicted(on, fidelity, f32_as, fusion, top, (_abi.FORMAT_JSON, _abi.FORMAT_TEXT))
        return Prediction.from_json(json.loads(documents[0]), text_of(documents[1]))

    def trace(
        self,
        on: ChipName | Iterable[ChipName],
        *,
        fidelity: str | None = None,
        f32_as: str | None = None,
        fusion: bool = True,
    ) -> str:
        """The predicted timeline as a Chrome trace (JSON text), for ui.perfetto.dev."""
        return text_of(self._predicted(on, fidelity, f32_as, fusion, 0, (_abi.FORMAT_TRACE,))[0])

    def _predicted(
        self,
        on: ChipName | Iterable[ChipName],
        fidelity: str | None,
        f32_as: str | None,
        fusion: bool,
        top: int,
        formats: tuple[int, ...],
    ) -> list[bytes]:
        names = chip_names(on)
        options = _abi.PredictOptions(encode(fidelity), encode(f32_as), not fusion, top)
        with self._lock:
            handle = self._handle()
            out = ctypes.c_void_p()
            chips = _array_of_names(names)
            found = self._context.call("rdg_predict", handle, chips, len(names), options, ctypes.byref(out))
            try:
                warn(found)
                return [self._context.read("rdg_prediction_write", out, form) for form in formats]
            finally:
                _abi.library.rdg_prediction_free(out)

    def step(
        self,
        cluster: str | Iterable[str],
        *,
        devices: int = 0,
        shape: str | None = None,
        overlap: str | None = None,
        network: str | None = None,
        straggler: float = 0.0,
        fidelity: str | None = None,
        f32_as: str | None = None,
        top: int = 10,
        chakra: str | os.PathLike[str] | None = None,
        chakra_ranks: int = 0,
    ) -> Step:
        """See ``ridgeline.step``."""
        names = [cluster] if isinstance(cluster, str) else list(cluster)
        options = _abi.StepOptions(
            encode(fidelity),
            encode(f32_as),
            encode(network),
            encode(overlap),
            encode(shape),
            devices,
            straggler,
            True,
            top,
        )
        with self._lock:
            handle = self._handle()
            out = ctypes.c_void_p()
            clusters = _array_of_names(names)
            found = self._context.call("rdg_step_predict", handle, clusters, len(names), options, ctypes.byref(out))
            try:
                warn(found)
                formats = (_abi.FORMAT_JSON, _abi.FORMAT_TEXT, _abi.FORMAT_TRACE)
                document, report, trace = (text_of(self._context.read("rdg_step_write", out, f)) for f in formats)
                if chakra is not None:
                    of_ranks = _abi.ChakraOptions(None, chakra_ranks)
                    warn(self._context.call("rdg_step_write_chakra", out, os.fsencode(chakra), of_ranks))
            finally:
                _abi.library.rdg_step_free(out)
        return Step.from_json(json.loads(document), report, trace)

    def plan(
        self,
        on: ChipName = "ipu",
        *,
        policies: str | Iterable[str] = ("joint",),
        published: bool = False,
        without: str | Iterable[str] = (),
        ablation: bool = False,
        budget: int = 0,
        threads: int = 0,
    ) -> Plan:
        """See ``ridgeline.plan``."""
        chip = encode(chip_names(on)[0])
        names = [policies] if isinstance(policies, str) else list(policies)
        left_out = [without] if isinstance(without, str) else list(without)
        options = _abi.PlanOptions(
            _array_of_names(names),
            len(names),
            published,
            _array_of_names(left_out),
            len(left_out),
            ablation,
            0.0,
            budget,
            threads,
            0,
        )
        with self._lock:
            handle = self._handle()
            out = ctypes.c_void_p()
            found = self._context.call("rdg_plan_run", handle, chip, options, ctypes.byref(out))
            try:
                warn(found)
                document = json.loads(self._context.read("rdg_plan_write", out, _abi.FORMAT_JSON))
                formats = [_abi.FORMAT_TEXT, _abi.FORMAT_TRACE, _abi.FORMAT_CHART, _abi.FORMAT_PLAN]
                chosen = next((p for p in document["policies"] if p["policy"] == document["chosen"]), None)
                if chosen is None or chosen["reference"]:  # a yardstick is no plan that could be written
                    formats.pop()
                texts = [text_of(self._context.read("rdg_plan_write", out, form)) for form in formats]
            finally:
                _abi.library.rdg_plan_free(out)
        return Plan.from_json(document, *texts)

    def inspect(self) -> Inspection:
        """See ``ridgeline.inspect``."""
        with self._lock:
            handle = self._handle()
            document = json.loads(self._context.read("rdg_inspect", handle, _abi.FORMAT_JSON))
            report = text_of(self._context.read("rdg_inspect", handle, _abi.FORMAT_TEXT))
        return Inspection.from_json(document, report)

    def explain(self, on: ChipName | None = None, task: str | int | None = None) -> str:
        """The work graph as text: unfused, or with a chip as its compiler would fuse it. With ``task``, the number of a task in
        that graph, every factor of its predicted time."""
        chip = None if on is None else encode(chip_names(on)[0])
        with self._lock:
            handle = self._handle()
            address = None if task is None else encode(str(task))
            return text_of(self._context.read("rdg_explain", handle, chip, address, _abi.FORMAT_TEXT))

    # ---- running ---------------------------------------------------------------------------------------------------

    def run(
        self,
        *inputs: Any,
        replicas: int = 1,
        partitions: int = 1,
        per_process: bool = False,
        fill: Literal["none", "zero", "random"] = "none",
        seed: int = 0,
        plain: bool = False,
        memory_budget_bytes: int = 0,
        operation_budget: int = 0,
        max_depth: int = 0,
        print: Callable[[str], object] | None = None,
    ) -> RunResult:
        """See ``ridgeline.run``."""
        _arrays.need_numpy()
        writer = Writer(lambda text: print(text_of(text)) if print else None)
        options = _abi.RunOptions(
            memory_budget_bytes,
            operation_budget,
            max_depth,
            replicas,
            partitions,
            per_process,
            plain,
            _abi.FILL_NUMBERS[fill],
            seed,
            ctypes.pointer(writer.sink) if print else None,
        )
        with self._lock:
            handle = self._handle(only_to_run=True)
            tensors, held = self._tensors(inputs)
            out = ctypes.c_void_p()
            try:
                found = self._context.call("rdg_run", handle, options, tensors, len(tensors), ctypes.byref(out))
            except RidgelineError:
                if writer.error is not None:
                    raise writer.error from None
                raise
            del held
        try:
            warn(found)
            return self._results(out)
        finally:
            _abi.library.rdg_run_result_free(out)

    def _tensors(self, inputs: Sequence[Any]) -> tuple[Any, list[Any]]:
        entries = self.inputs
        flat = self._flat(inputs, len(entries))
        tensors = (_abi.Tensor * len(flat))()
        held: list[Any] = []
        for i, value in enumerate(flat):
            entry = entries[i % len(entries)] if entries else None
            dtype = entry.dtype if entry else "none"
            try:
                tensors[i], keep = _arrays.tensor_of(_arrays.array_for(value, dtype), dtype)
            except (TypeError, ValueError, OverflowError) as error:
                raise TypeError(f"input {i}{f' ({entry.name})' if entry else ''}: {error}") from error
            held.append(keep)
        return tensors, held

    def _flat(self, inputs: Sequence[Any], count: int) -> list[Any]:
        """Arguments of the function that JAX lowered, flat and without those that it dropped; others are flat already."""
        tree = self._source.in_tree
        if tree is None or not inputs:
            return list(inputs)
        import jax

        leaves, structure = jax.tree_util.tree_flatten((tuple(inputs), {}))
        if structure != tree:
            return list(inputs)
        leaves = [jax.random.key_data(x) if _is_random_key(jax, x) else x for x in leaves]
        if self._source.kept is not None and len(leaves) != count:
            return [leaves[i] for i in self._source.kept]
        return leaves

    def _results(self, handle: ctypes.c_void_p) -> RunResult:
        tensor = _abi.Tensor()
        count = _abi.library.rdg_run_result_count(handle)
        processes = []
        for process in range(_abi.library.rdg_run_process_count(handle)):
            arrays = []
            for i in range(count):
                _abi.library.rdg_run_result_get(handle, process, i, tensor)
                arrays.append(_arrays.array_of(tensor))
            processes.append(tuple(arrays))
        return RunResult(processes, _abi.library.rdg_run_time_s(handle), self._source.out_tree)

    # ---- writing ---------------------------------------------------------------------------------------------------

    @overload
    def convert(self, form: TextForm = "pretty") -> str: ...
    @overload
    def convert(self, form: Literal["bytecode"], *, target: str | None = None, locations: bool = False) -> bytes: ...
    def convert(self, form: Form = "pretty", *, target: str | None = None, locations: bool = False) -> str | bytes:
        """See ``ridgeline.convert``."""
        if form != "bytecode" and (form not in _abi.FORM_NUMBERS or target is not None or locations):
            raise ValueError('form is "pretty", "generic" or, with target and locations, "bytecode"')
        source = self._source
        if source.path is not None:
            return self._converted(source.path, form, target, locations)
        with tempfile.NamedTemporaryFile(prefix="ridgeline-", suffix=".mlir") as file:
            file.write(source.content or b"")
            file.flush()
            try:
                return self._converted(file.name, form, target, locations)
            except RidgelineError as error:
                raise _renamed(error, file.name, self.name) from None

    def _converted(self, path: str, form: Form, target: str | None, locations: bool) -> str | bytes:
        options = self._load_options()
        with self._lock:
            if form == "bytecode":
                artifact = _abi.ArtifactOptions(encode(target), locations)
                return self._context.read("rdg_convert_artifact", encode(path), options, artifact)
            return text_of(self._context.read("rdg_convert", encode(path), options, _abi.FORM_NUMBERS[form]))


def _renamed(error: RidgelineError, path: str, name: str) -> RidgelineError:
    """The error of a program that lay in a file for a moment."""
    diagnostics = [
        Diagnostic(
            d.severity, d.code, d.message.replace(path, name), name if d.file == path else d.file, d.line, d.column
        )
        for d in error.diagnostics
    ]
    return RidgelineError(str(error).replace(path, name), diagnostics, error.status)
