"""What the questions are answered with: plain, frozen objects with the members of the library's JSON documents.

``docs/json.md`` of the repository is the schema. Times are seconds, sizes bytes, shares fractions of 1. Reals that do not
apply are NaN, so that they compare and plot; other members that may be missing are None.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ._table import Column, html_table, percent, quantity, text_table

if TYPE_CHECKING:
    from ._arrays import Array

Document = dict[str, Any]
T = TypeVar("T")


def _real(value: Any) -> float:
    return math.nan if value is None else float(value)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas() needs pandas, which is not installed") from error
    return pandas


# ---- predictions -------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Share:
    """A part of the predicted time."""

    time_s: float
    share: float
    """Of the whole time."""
    kernels: int | None = None
    """Launches; of classes of operations only."""


@dataclasses.dataclass(frozen=True)
class Operation:
    """Operations that are alike, added up."""

    name: str
    """With `` +3`` when three more operations are fused with it."""
    operation: str
    works_on: str
    """``b8 m128 n128 k64 bf16`` of matrix products, else a type."""
    op_class: str
    count: int
    time_s: float
    share: float
    bound_by: str
    flops: int
    matrix_flops: int
    bytes: int
    runs_as: str | None
    """The type it is computed in when the chip has no unit for its own."""
    first_at: str | None
    """Place of the first one in the program."""

    @classmethod
    def _from_json(cls, d: Document) -> Operation:
        return cls(**{f.name: d.get("class" if f.name == "op_class" else f.name) for f in dataclasses.fields(cls)})  # type: ignore[arg-type]


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes on the device while the program runs."""

    peak_bytes: int
    argument_bytes: int
    output_bytes: int
    constant_bytes: int
    temporary_peak_bytes: int
    peak_operation: str | None = None
    peak_at: str | None = None
    capacity_bytes: int | None = None
    fits: bool | None = None
    """None: the size of the chip's memory is not known."""

    @classmethod
    def _from_json(cls, d: Document) -> Memory:
        return cls(**{f.name: d.get(f.name) for f in dataclasses.fields(cls)})  # type: ignore[arg-type]


@dataclasses.dataclass(frozen=True)
class Fusion:
    """What the target's fusion changed."""

    kernels_before: int
    kernels_after: int
    bytes_before: int
    bytes_after: int
    time_before_s: float
    time_after_s: float
    gain: float

    @classmethod
    def _from_json(cls, d: Document) -> Fusion:
        return cls(**{f.name: d.get(f.name) for f in dataclasses.fields(cls)})  # type: ignore[arg-type]


@dataclasses.dataclass(frozen=True)
class Note:
    """A remark that belongs to an estimate."""

    code: str
    text: str
    count: int
    """Operations concerned."""


@dataclasses.dataclass(frozen=True)
class Estimate:
    """One execution of the program on one chip."""

    chip: str
    name: str
    vendor: str
    refused: bool
    """The chip cannot run the program, or not enough is known about the chip: ``reason``, and no times."""
    reason: str | None
    time_s: float
    low_s: float
    """With ``high_s`` the 90 % interval: where nine of ten measurements are expected."""
    high_s: float
    times_fastest: float
    """``time_s`` / that of the fastest chip."""
    bound_by: str | None
    """What bounds most of the time: ``"matrix"``, ``"memory"``, ``"launch"``, ..."""
    bound_share: float
    mfu: float
    """Matrix FLOPs / (``time_s`` x peak of their type)."""
    unfused_time_s: float
    dispatch_s: float
    fitted_share: float
    """Of ``time_s``: kernels with constants fitted to measurements of the chip itself."""
    inherited_share: float
    """The same of others of its family."""
    kernels: int
    flops: float
    bytes: float
    collectives: int
    """In the program, but not in the time."""
    collective_bytes: int
    opaque_operations: int
    """Of unknown cost, not in the time."""
    time_by_bound: Mapping[str, Share]
    time_by_class: Mapping[str, Share]
    fusion: Fusion | None
    operations: tuple[Operation, ...]
    """Most time first."""
    operations_left_out: int
    memory: Memory | None
    notes: tuple[Note, ...]
    _document: Document = dataclasses.field(repr=False, compare=False, default_factory=dict)

    @classmethod
    def _from_json(cls, d: Document) -> Estimate:
        interval = d.get("interval") or {}
        return cls(
            chip=d["chip"],
            name=d["name"],
            vendor=d["vendor"],
            refused=d["refused"],
            reason=d.get("reason"),
            time_s=_real(d.get("time_s")),
            low_s=_real(interval.get("low_s")),
            high_s=_real(interval.get("high_s")),
            times_fastest=_real(d.get("times_fastest")),
            bound_by=d.get("bound_by"),
            bound_share=_real(d.get("bound_share")),
            mfu=_real(d.get("matrix_utilisation")),
            unfused_time_s=_real(d.get("unfused_time_s")),
            dispatch_s=_real(d.get("dispatch_s")),
            fitted_share=_real(d.get("fitted_share")),
            inherited_share=_real(d.get("inherited_share")),
            kernels=d.get("kernels", 0),
            flops=_real(d.get("flops")),
            bytes=_real(d.get("bytes")),
            collectives=d.get("collectives", 0),
            collective_bytes=d.get("collective_bytes", 0),
            opaque_operations=d.get("opaque_operations", 0),
            time_by_bound={k: Share(v["time_s"], v["share"]) for k, v in d.get("time_by_bound", {}).items()},
            time_by_class={
                k: Share(v["time_s"], v["share"], v["kernels"]) for k, v in d.get("time_by_class", {}).items()
            },
            fusion=Fusion._from_json(d["fusion"]) if d.get("fusion") else None,
            operations=tuple(Operation._from_json(o) for o in d.get("operations", ())),
            operations_left_out=d.get("operations_left_out", 0),
            memory=Memory._from_json(d["memory"]) if d.get("memory") else None,
            notes=tuple(Note(n["code"], n["text"], n["count"]) for n in d.get("notes", ())),
            _document=d,
        )

    @property
    def interval(self) -> tuple[float, float]:
        """``(low_s, high_s)``."""
        return self.low_s, self.high_s

    @property
    def fits(self) -> bool | None:
        """Whether the program fits the chip's memory; None when that is not known."""
        return self.memory.fits if self.memory else None

    def to_dict(self) -> Document:
        """The estimate as in the JSON document, with every member that the library gave."""
        return copy.deepcopy(self._document)

    def to_pandas(self) -> Any:
        """The operations as a ``pandas.DataFrame``."""
        return _pandas().DataFrame([dataclasses.asdict(o) for o in self.operations])

    def _flat(self) -> Document:
        row = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        for nested in ("time_by_bound", "time_by_class", "fusion", "operations", "memory", "notes", "_document"):
            del row[nested]
        row["fits"] = self.fits
        row["peak_memory_bytes"] = self.memory.peak_bytes if self.memory else None
        row["capacity_bytes"] = self.memory.capacity_bytes if self.memory else None
        return row

    def __str__(self) -> str:
        if self.refused:
            return f"{self.chip}: refused, {self.reason}"
        return f"{self.chip}: {quantity(self.time_s, 's')} ({_interval(self)}), bound by {self.bound_by}"

    def __repr__(self) -> str:
        return f"<Estimate {self}>"


def _interval(e: Estimate) -> str:
    return f"{quantity(e.low_s, 's')} – {quantity(e.high_s, 's')}" if math.isfinite(e.low_s) else "-"


_PREDICTION_COLUMNS: tuple[Column, ...] = (
    ("chip", "<"),
    ("vendor", "<"),
    ("time", ">"),
    ("90 % interval", ">"),
    ("vs fastest", ">"),
    ("bound by", "<"),
    ("MFU", ">"),
    ("kernels", ">"),
    ("peak / memory", ">"),
    ("fits", "<"),
)


def _prediction_row(e: Estimate) -> list[str]:
    peak = quantity(e.memory.peak_bytes, "B") if e.memory else "-"
    capacity = quantity(e.memory.capacity_bytes, "B") if e.memory else "-"
    fits = {True: "yes", False: "NO", None: "-"}[e.fits]
    if e.refused:
        return [e.chip, e.vendor, "-", "-", "-", f"refused: {e.reason}", "-", "-", f"{peak} / {capacity}", fits]
    ratio = f"{e.times_fastest:.2f}×" if math.isfinite(e.times_fastest) else "-"
    bound = f"{e.bound_by} {percent(e.bound_share)}"
    return [
        e.chip,
        e.vendor,
        quantity(e.time_s, "s"),
        _interval(e),
        ratio,
        bound,
        percent(e.mfu),
        str(e.kernels),
        f"{peak} / {capacity}",
        fits,
    ]


@dataclasses.dataclass(frozen=True, repr=False)
class Prediction(Sequence[Estimate]):
    """Estimates of one program, the fastest first and refused ones last. Prints as a table; ``prediction["nvidia_h100_sxm"]``
    is that chip's."""

    program: str
    fidelity: str
    ridgeline_version: str
    estimates: tuple[Estimate, ...]
    report: str = dataclasses.field(compare=False)
    """The table with its explanation per chip, as ``ridgeline predict`` prints it."""
    _document: Document = dataclasses.field(compare=False)

    @classmethod
    def from_json(cls, document: Document, report: str = "") -> Prediction:
        """From a document of ``ridgeline predict --json``."""
        estimates = tuple(Estimate._from_json(e) for e in document["estimates"])
        return cls(
            document["program"], document["fidelity"], document["ridgeline_version"], estimates, report, document
        )

    def __len__(self) -> int:
        return len(self.estimates)

    @overload
    def __getitem__(self, index: int | str) -> Estimate: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Estimate, ...]: ...
    def __getitem__(self, index: int | str | slice) -> Estimate | tuple[Estimate, ...]:
        if isinstance(index, str):
            for estimate in self.estimates:
                if estimate.chip == index:
                    return estimate
            raise KeyError(f"{index!r}: predicted are {', '.join(e.chip for e in self.estimates)}")
        return self.estimates[index]

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    @property
    def fastest(self) -> Estimate | None:
        """None when all chips refuse the program."""
        return self.estimates[0] if self.estimates and not self.estimates[0].refused else None

    def to_dict(self) -> Document:
        """The JSON document."""
        return copy.deepcopy(self._document)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row per chip. ``Estimate.to_pandas`` has the operations."""
        return _pandas().DataFrame([e._flat() for e in self.estimates])

    def _caption(self) -> str:
        return f"{self.program}, {self.fidelity} (Ridgeline {self.ridgeline_version})"

    def __str__(self) -> str:
        return f"{self._caption()}\n\n" + text_table(_PREDICTION_COLUMNS, [_prediction_row(e) for e in self.estimates])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(_PREDICTION_COLUMNS, [_prediction_row(e) for e in self.estimates], self._caption())


# ---- inspection --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class OperationKind:
    """All operations of a name in the program."""

    operation: str
    op_class: str
    count: int
    flops: int
    bytes: int
    reference_share: float
    first_at: str | None


@dataclasses.dataclass(frozen=True)
class Collective:
    kind: str
    group_size: int | None
    """None: all devices."""
    count: int
    bytes_per_rank: int


@dataclasses.dataclass(frozen=True)
class Loop:
    operation: str
    trips: int | None
    """None: unknown, one assumed."""
    runs: int
    depth: int
    at: str | None


@dataclasses.dataclass(frozen=True)
class Function:
    """A function's counts in the convention of XLA's HloCostAnalysis; None = unknown."""

    function: str
    operations: int
    xla_flops: int | None
    xla_transcendentals: int | None
    xla_bytes: int | None


def _rows(kind: type[T], rows: Sequence[Document]) -> tuple[T, ...]:
    names = [f.name for f in dataclasses.fields(kind)]  # type: ignore[arg-type]
    return tuple(kind(**{n: r.get("class" if n == "op_class" else n) for n in names}) for r in rows)


_INSPECTION_COLUMNS: tuple[Column, ...] = (
    ("operation", "<"),
    ("class", "<"),
    ("count", ">"),
    ("FLOPs", ">"),
    ("bytes", ">"),
    ("share", ">"),
    ("first at", "<"),
)


@dataclasses.dataclass(frozen=True, repr=False)
class Inspection:
    """What a program does, whatever it runs on: loops multiplied out, every operation reading and writing memory."""

    program: str
    executed_operations: int
    flops: int
    matrix_flops: int
    vector_flops: int
    function_results: int
    integer_ops: int
    read_bytes: int
    write_bytes: int
    flops_per_byte: float
    collective_bytes: int
    opaque_operations: int
    loops_of_unknown_length: int
    memory: Memory
    operations: tuple[OperationKind, ...]
    """Most time first."""
    collectives: tuple[Collective, ...]
    loops: tuple[Loop, ...]
    functions: tuple[Function, ...]
    report: str = dataclasses.field(compare=False)
    """As ``ridgeline inspect`` prints it."""
    _document: Document = dataclasses.field(compare=False)

    @classmethod
    def from_json(cls, document: Document, report: str = "") -> Inspection:
        """From a document of ``ridgeline inspect --json``."""
        totals = document["totals"]
        units = {name: unit["operations"] for name, unit in totals["units"].items()}
        return cls(
            program=document["program"],
            executed_operations=totals["operations"],
            flops=totals["flops"],
            matrix_flops=units.get("matrix", 0),
            vector_flops=units.get("vector", 0),
            function_results=units.get("function", 0),
            integer_ops=units.get("integer", 0),
            read_bytes=totals["read_bytes"],
            write_bytes=totals["write_bytes"],
            flops_per_byte=_real(totals["flops_per_byte"]),
            collective_bytes=totals["collective_bytes"],
            opaque_operations=totals["opaque_operations"],
            loops_of_unknown_length=totals["loops_of_unknown_length"],
            memory=Memory._from_json(document["memory"]),
            operations=_rows(OperationKind, document["operations"]),
            collectives=_rows(Collective, document["collectives"]),
            loops=_rows(Loop, document["loops"]),
            functions=_rows(Function, document["functions"]),
            report=report,
            _document=document,
        )

    def to_dict(self) -> Document:
        """The JSON document."""
        return copy.deepcopy(self._document)

    def to_pandas(self) -> Any:
        """The kinds of operations as a ``pandas.DataFrame``."""
        return _pandas().DataFrame([dataclasses.asdict(o) for o in self.operations])

    def _caption(self) -> str:
        traffic = quantity(self.read_bytes + self.write_bytes, "B")
        return (
            f"{self.program}: {quantity(self.flops, 'FLOP')}, {traffic} moved unfused, {self.executed_operations} operations, "
            f"{quantity(self.memory.peak_bytes, 'B')} at the peak"
        )

    def _table(self) -> list[list[str]]:
        return [
            [
                o.operation,
                o.op_class,
                str(o.count),
                quantity(o.flops, ""),
                quantity(o.bytes, "B"),
                percent(o.reference_share),
                o.first_at or "-",
            ]
            for o in self.operations
        ]

    def __str__(self) -> str:
        return f"{self._caption()}\n\n" + text_table(_INSPECTION_COLUMNS, self._table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(_INSPECTION_COLUMNS, self._table(), self._caption())


# ---- chips -------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Chip:
    """A chip that Ridgeline knows. Figures are per second, bytes, Hz or W; those that are not published are missing."""

    id: str
    name: str
    vendor: str
    kind: str
    family: str | None
    year: int | None
    aliases: tuple[str, ...]
    predicts: bool
    """Enough is known for a prediction; else ``missing`` says what is not."""
    missing: str | None
    figures: Mapping[str, float] = dataclasses.field(repr=False, hash=False)
    """``matrix_bf16``, ``memory_rate``, ``memory_bytes``, ``power``, ...: docs/json.md."""

    @classmethod
    def _members(cls, d: Document) -> Document:
        figures = {k: float(v) for k, v in (d.get("figures") or {}).items() if v is not None}
        members = {n: d.get(n) for n in ("id", "name", "vendor", "kind", "family", "year", "predicts", "missing")}
        return {**members, "aliases": tuple(d.get("aliases") or ()), "figures": figures}


@dataclasses.dataclass(frozen=True)
class Field:
    """A fact about a chip, with where it is from."""

    key: str
    value: float | str
    unit: str | None
    kind: str
    """``"datasheet"``, ``"measured"`` or ``"inferred"``."""
    source: str | None
    url: str | None
    note: str | None
    inherited_from: str | None
    chosen: str | None
    """Why this value, when sources disagree."""
    disputed: tuple[Mapping[str, Any], ...]
    """What other sources say."""


@dataclasses.dataclass(frozen=True)
class ChipSheet(Chip):
    """A chip with every fact that is known about it."""

    fields: Mapping[str, Field] = dataclasses.field(default_factory=dict, repr=False, hash=False)
    fits: tuple[Mapping[str, Any], ...] = dataclasses.field(default=(), repr=False, hash=False)
    """What was fitted to measurements, per class of kernels and format."""
    report: str = dataclasses.field(default="", repr=False, compare=False)
    """As ``ridgeline chips show`` prints it."""

    @classmethod
    def from_json(cls, document: Document, report: str = "") -> ChipSheet:
        """From a document of ``ridgeline chips show --json``."""
        fields = {}
        for f in document["fields"]:
            unit = None if f["unit"] == "-" else f["unit"]
            rest = {n: f.get(n) for n in ("kind", "source", "url", "note", "inherited_from", "chosen")}
            fields[f["key"]] = Field(f["key"], f["value"], unit, disputed=tuple(f.get("disputed") or ()), **rest)
        members = cls._members(document["chip"])
        return cls(**members, fields=fields, fits=tuple(document.get("fits") or ()), report=report)

    def __str__(self) -> str:
        return self.report or repr(self)


_CHIP_COLUMNS: tuple[Column, ...] = (
    ("chip", "<"),
    ("name", "<"),
    ("vendor", "<"),
    ("kind", "<"),
    ("bf16", ">"),
    ("memory", ">"),
    ("bandwidth", ">"),
    ("power", ">"),
    ("predicts", "<"),
)


def _chip_row(chip: Chip) -> list[str]:
    figure = chip.figures.get
    return [
        chip.id,
        chip.name,
        chip.vendor,
        chip.kind,
        quantity(figure("matrix_bf16"), "FLOP/s"),
        quantity(figure("memory_bytes"), "B"),
        quantity(figure("memory_rate"), "B/s"),
        "-" if figure("power") is None else f"{figure('power'):.0f} W",
        "yes" if chip.predicts else f"no: {chip.missing}",
    ]


class Chips(Sequence[Chip]):
    """Chips by id. Prints as a table; ``chips["h100"]`` takes aliases as well."""

    def __init__(self, chips: Sequence[Chip]) -> None:
        self._chips = tuple(chips)

    @classmethod
    def from_json(cls, document: Document) -> Chips:
        """From a document of ``ridgeline chips list --json``."""
        return cls([Chip(**Chip._members(d)) for d in document["chips"]])

    def __len__(self) -> int:
        return len(self._chips)

    @overload
    def __getitem__(self, index: int | str) -> Chip: ...
    @overload
    def __getitem__(self, index: slice) -> Chips: ...
    def __getitem__(self, index: int | str | slice) -> Chip | Chips:
        if isinstance(index, str):
            for chip in self._chips:
                if index == chip.id or index in chip.aliases:
                    return chip
            raise KeyError(index)
        return Chips(self._chips[index]) if isinstance(index, slice) else self._chips[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Chips) and self._chips == other._chips

    __hash__ = None  # type: ignore[assignment]

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row per chip and its figures."""
        rows = []
        for chip in self._chips:
            row = {f.name: getattr(chip, f.name) for f in dataclasses.fields(chip) if f.name != "figures"}
            rows.append({**row, **chip.figures})
        return _pandas().DataFrame(rows)

    def __str__(self) -> str:
        return text_table(_CHIP_COLUMNS, [_chip_row(c) for c in self._chips])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(_CHIP_COLUMNS, [_chip_row(c) for c in self._chips], f"{len(self)} chips")


# ---- running -----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Signature:
    """An input or a result of a program."""

    name: str
    type: str
    """As the program spells it: ``tensor<?x4xf32>``."""
    dtype: str
    """Of the elements, in MLIR's spelling."""
    shape: tuple[int | None, ...]
    """None = dynamic."""


class RunResult(tuple["Array", ...]):
    """The results of process 0 as NumPy arrays, flat and in order; ``processes`` has those of all."""

    processes: tuple[tuple[Array, ...], ...]
    """Per replica and partition, number replica * partitions + partition."""
    time_s: float
    """Of the run alone, on this machine."""

    def __new__(cls, processes: Sequence[tuple[Array, ...]], time_s: float, out_tree: Any = None) -> RunResult:
        self = super().__new__(cls, processes[0])
        self.processes = tuple(processes)
        self.time_s = time_s
        self._out_tree = out_tree
        return self

    _out_tree: Any

    @property
    def tree(self) -> Any:
        """The results as the function that JAX lowered returns them."""
        if self._out_tree is None:
            raise TypeError("the program does not come from JAX: its results are flat")
        import jax

        return jax.tree_util.tree_unflatten(self._out_tree, list(self))

    def __getnewargs__(self) -> tuple[tuple[tuple[Array, ...], ...], float, Any]:
        return self.processes, self.time_s, self._out_tree
