"""Steps of distributed programs on clusters: what ``ridgeline predict --cluster`` prints, as objects."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, overload

from ._results import Document, Note, _pandas, _real
from ._table import Column, html_table, percent, quantity, text_table


@dataclasses.dataclass(frozen=True)
class StepCollective:
    """Collectives of a step that are alike, per device."""

    kind: str
    group_size: int
    bytes: float
    """Full buffer of a rank, one execution."""
    count: int
    algorithm: str | None
    protocol: str | None
    time_s: float
    """Of all executions."""
    exposed_s: float
    """Of that, what nothing hides."""

    @classmethod
    def _from_json(cls, d: Document) -> StepCollective:
        return cls(**{f.name: d[f.name] for f in dataclasses.fields(cls)})


@dataclasses.dataclass(frozen=True)
class StepMemory:
    """Bytes on the fullest device. The parts add up to the total."""

    parameters_bytes: float
    gradients_bytes: float
    optimizer_bytes: float
    activations_bytes: float
    temporaries_bytes: float
    buffers_bytes: float
    """Of communication."""
    reserve_bytes: float
    """Runtime and fragmentation."""
    total_bytes: float
    capacity_bytes: float | None
    fits: bool | None

    @classmethod
    def _from_json(cls, d: Document) -> StepMemory:
        return cls(**{f.name: d[f.name] for f in dataclasses.fields(cls)})


@dataclasses.dataclass(frozen=True)
class StepEstimate:
    """One step on one cluster. NaN where the program or the cluster says nothing, and when refused."""

    cluster: str
    name: str
    chip: str
    refused: bool
    reason: str | None
    slice: str | None
    """``"8 x 16"`` devices along the dimensions, innermost first."""
    devices: int | None
    time_s: float
    interval: tuple[float, float] | None
    """90 % of measurements are expected in it."""
    compute_s: float
    exposed_s: float
    """Communication that nothing hides; with the others here it adds up to ``time_s`` of the busiest device."""
    bubble_s: float
    straggler_s: float
    dispatch_s: float
    exposed_by_kind: dict[str, float]
    communication_s: float
    """Hidden or not."""
    contention_s: float
    overlap: str | None
    mfu: float
    hfu: float
    tokens_per_s: float
    samples_per_s: float
    energy_J: float
    price_usd: float
    memory: StepMemory | None
    collectives: tuple[StepCollective, ...]
    notes: tuple[Note, ...]

    @classmethod
    def _from_json(cls, d: Document) -> StepEstimate:
        causes, interval, memory = d.get("time_by_cause", {}), d.get("interval"), d.get("memory")
        return cls(
            cluster=d["cluster"],
            name=d["name"],
            chip=d["chip"],
            refused=d["refused"],
            reason=d["reason"],
            slice=d.get("slice"),
            devices=d.get("devices"),
            time_s=_real(d["time_s"]),
            interval=(interval["low_s"], interval["high_s"]) if interval else None,
            compute_s=_real(causes.get("compute_s")),
            exposed_s=_real(causes.get("exposed_s")),
            bubble_s=_real(causes.get("bubble_s")),
            straggler_s=_real(causes.get("straggler_s")),
            dispatch_s=_real(causes.get("dispatch_s")),
            exposed_by_kind={key.removesuffix("_s"): value for key, value in d.get("exposed_by_kind", {}).items()},
            communication_s=_real(d.get("communication_s")),
            contention_s=_real(d.get("contention_s")),
            overlap=d.get("overlap"),
            mfu=_real(d.get("mfu")),
            hfu=_real(d.get("hfu")),
            tokens_per_s=_real(d.get("tokens_per_s")),
            samples_per_s=_real(d.get("samples_per_s")),
            energy_J=_real(d.get("energy_J")),
            price_usd=_real(d.get("price_usd")),
            memory=StepMemory._from_json(memory) if memory else None,
            collectives=tuple(StepCollective._from_json(c) for c in d.get("collectives", ())),
            notes=tuple(Note(n["code"] or "", n["text"], n["count"]) for n in d["notes"]),
        )


_COLUMNS: tuple[Column, ...] = (
    ("cluster", "<"),
    ("slice", "<"),
    ("time", ">"),
    ("compute", ">"),
    ("exposed", ">"),
    ("bubble", ">"),
    ("MFU", ">"),
    ("tokens/s", ">"),
    ("memory", ">"),
    ("fits", "<"),
)


def _row(e: StepEstimate) -> list[str]:
    if e.memory is None or e.refused:
        return [e.cluster, "refused", *[""] * 7, e.reason or ""]
    shares = (e.compute_s / e.time_s, e.exposed_s / e.time_s, e.bubble_s / e.time_s, e.mfu)
    fits = {True: "yes", False: "no", None: "unknown"}[e.memory.fits]
    return [
        e.cluster,
        e.slice or "",
        quantity(e.time_s, "s"),
        *map(percent, shares),
        quantity(e.tokens_per_s, ""),
        quantity(e.memory.total_bytes, "B"),
        fits,
    ]


@dataclasses.dataclass(frozen=True, repr=False)
class Step(Sequence[StepEstimate]):
    """A step on the clusters that were asked for, the fastest first. Prints as a table; ``step["dgx_h100"]`` is that one's."""

    program: str
    fidelity: str
    network: str
    ridgeline_version: str
    estimates: tuple[StepEstimate, ...]
    report: str = dataclasses.field(compare=False)
    """What ``ridgeline predict --cluster`` prints."""
    trace: str = dataclasses.field(compare=False)
    """The timeline of the fastest as a Chrome trace (JSON text), for ui.perfetto.dev."""
    _document: Document = dataclasses.field(compare=False)

    @classmethod
    def from_json(cls, document: Document, report: str = "", trace: str = "") -> Step:
        """From a document of ``ridgeline predict --cluster --json``."""
        return cls(
            program=document["program"],
            fidelity=document["fidelity"],
            network=document["network"],
            ridgeline_version=document["ridgeline_version"],
            estimates=tuple(StepEstimate._from_json(e) for e in document["steps"]),
            report=report,
            trace=trace,
            _document=document,
        )

    def __len__(self) -> int:
        return len(self.estimates)

    @overload
    def __getitem__(self, index: int | str) -> StepEstimate: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[StepEstimate, ...]: ...
    def __getitem__(self, index: int | str | slice) -> StepEstimate | tuple[StepEstimate, ...]:
        if isinstance(index, str):
            for estimate in self.estimates:
                if estimate.cluster == index:
                    return estimate
            raise KeyError(f"{index!r}: predicted on are {', '.join(e.cluster for e in self.estimates)}")
        return self.estimates[index]

    def __iter__(self) -> Iterator[StepEstimate]:
        return iter(self.estimates)

    @property
    def fastest(self) -> StepEstimate:
        return self.estimates[0]

    def to_dict(self) -> Document:
        """The JSON document."""
        return copy.deepcopy(self._document)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row per cluster."""
        left_out = {"memory", "collectives", "notes", "exposed_by_kind"}
        rows = [{k: v for k, v in dataclasses.asdict(e).items() if k not in left_out} for e in self.estimates]
        return _pandas().DataFrame(rows)

    def _caption(self) -> str:
        return f"{self.program}: one step, {self.fidelity}, {self.network} network"

    def __str__(self) -> str:
        return f"{self._caption()}\n\n" + text_table(_COLUMNS, [_row(e) for e in self.estimates])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(_COLUMNS, [_row(e) for e in self.estimates], self._caption())
