"""Plans for chips of many cores with private memory: what ``ridgeline plan`` prints, as objects."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, overload

from ._results import Document, _pandas, _real
from ._table import Column, html_table, percent, quantity, text_table


@dataclasses.dataclass(frozen=True)
class Policy:
    """One policy's schedule, by its times."""

    policy: str
    reference: bool
    """A yardstick: no schedule of a real chip."""
    refused: bool
    reason: str | None
    time_s: float
    """NaN when refused, as the members below."""
    gap_plan_space: float
    """``time_s`` / the bound of the plan space - 1."""
    gap_resources: float
    """``time_s`` / the bound of any plan whatever - 1."""
    memory_utilisation: float
    link_utilisation: float
    matrix_utilisation: float
    wait_load_s: float
    """The cores wait for a load."""
    wait_links_s: float
    """Steps take longer, because loads use the links as well."""
    peak_sram_bytes: int | None
    """Of one core."""
    complete: bool
    """Nothing was cut by a budget."""
    search_s: float

    @classmethod
    def _from_json(cls, d: Document) -> Policy:
        return cls(
            policy=d["policy"],
            reference=d["reference"],
            refused=d["refused"],
            reason=d["reason"],
            time_s=_real(d.get("time_s")),
            gap_plan_space=_real(d.get("gap_plan_space")),
            gap_resources=_real(d.get("gap_resources")),
            memory_utilisation=_real(d.get("memory_utilisation")),
            link_utilisation=_real(d.get("link_utilisation")),
            matrix_utilisation=_real(d.get("matrix_utilisation")),
            wait_load_s=_real(d.get("wait_load_s")),
            wait_links_s=_real(d.get("wait_links_s")),
            peak_sram_bytes=d.get("peak_sram_bytes"),
            complete=bool(d.get("complete", False)),
            search_s=_real(d["search_s"]),
        )


@dataclasses.dataclass(frozen=True)
class Ingredient:
    """One row of the ablation: joint with something left out."""

    ingredient: str
    time_s: float
    plan_space_s: float
    """No plan of that variant is faster."""


_COLUMNS: tuple[Column, ...] = (
    ("policy", "<"),
    ("time", ">"),
    ("over plans'", ">"),
    ("over resources'", ">"),
    ("memory", ">"),
    ("links", ">"),
    ("matrix", ">"),
    ("SRAM peak", ">"),
)


def _row(p: Policy) -> list[str]:
    name = p.policy + (" *" if p.reference else "")
    if p.refused:
        return [name, "refused", "", "", "", "", "", ""]
    sram = "-" if p.peak_sram_bytes is None else f"{p.peak_sram_bytes / 1024:.0f} KiB"
    shares = (p.gap_plan_space, p.gap_resources, p.memory_utilisation, p.link_utilisation, p.matrix_utilisation)
    return [name, quantity(p.time_s, "s"), *map(percent, shares), sram]


@dataclasses.dataclass(frozen=True, repr=False)
class Plan(Sequence[Policy]):
    """The policies that were asked for, in the order of tables. Prints as a table; ``plan["joint"]`` is that policy's."""

    program: str
    chip: str
    ridgeline_version: str
    policies: tuple[Policy, ...]
    chosen: str | None
    """The policy that ``trace``, ``chart`` and ``file`` are about."""
    operators: int
    """As planned: after simplification."""
    layers: int
    memory_bytes: int
    plan_space_bound_s: float
    """No plan of the enumerated plan space is faster."""
    resource_bound_s: float
    """No plan whatever is faster."""
    ablation: tuple[Ingredient, ...]
    compile_s: float = dataclasses.field(compare=False)
    report: str = dataclasses.field(compare=False)
    """What ``ridgeline plan`` prints."""
    trace: str = dataclasses.field(compare=False)
    """The timeline as a Chrome trace (JSON text), for ui.perfetto.dev."""
    chart: str = dataclasses.field(compare=False)
    """An HTML page with charts."""
    file: str = dataclasses.field(compare=False)
    """The plan file (JSON text), which ``ridgeline plan --check`` takes."""
    _document: Document = dataclasses.field(compare=False)

    @classmethod
    def from_json(cls, document: Document, report: str = "", trace: str = "", chart: str = "", file: str = "") -> Plan:
        """From a document of ``ridgeline plan --json``."""
        graph, bounds = document["graph"], document["bounds"]
        return cls(
            program=document["program"],
            chip=document["on"]["chip"],
            ridgeline_version=document["ridgeline_version"],
            policies=tuple(Policy._from_json(p) for p in document["policies"]),
            chosen=document["chosen"],
            operators=graph["operators"],
            layers=graph["layers"],
            memory_bytes=graph["memory_bytes"],
            plan_space_bound_s=_real(bounds["plan_space"]["time_s"]),
            resource_bound_s=_real(bounds["resources"]["time_s"]),
            ablation=tuple(
                Ingredient(a["ingredient"], _real(a["time_s"]), _real(a["plan_space_s"]))
                for a in document["ablation"] or ()
            ),
            compile_s=_real(document["compile_s"]),
            report=report,
            trace=trace,
            chart=chart,
            file=file,
            _document=document,
        )

    def __len__(self) -> int:
        return len(self.policies)

    @overload
    def __getitem__(self, index: int | str) -> Policy: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Policy, ...]: ...
    def __getitem__(self, index: int | str | slice) -> Policy | tuple[Policy, ...]:
        if isinstance(index, str):
            for policy in self.policies:
                if policy.policy == index:
                    return policy
            raise KeyError(f"{index!r}: planned with are {', '.join(p.policy for p in self.policies)}")
        return self.policies[index]

    def __iter__(self) -> Iterator[Policy]:
        return iter(self.policies)

    @property
    def time_s(self) -> float:
        """Of the chosen policy."""
        return self[self.chosen].time_s if self.chosen else math.nan

    def to_dict(self) -> Document:
        """The JSON document."""
        return copy.deepcopy(self._document)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row per policy."""
        return _pandas().DataFrame([dataclasses.asdict(p) for p in self.policies])

    def _caption(self) -> str:
        return (
            f"{self.program} on {self.chip}: {self.operators} operators; no plan of the plan space is faster than "
            f"{quantity(self.plan_space_bound_s, 's')}, none whatever than {quantity(self.resource_bound_s, 's')}"
        )

    def __str__(self) -> str:
        return f"{self._caption()}\n\n" + text_table(_COLUMNS, [_row(p) for p in self.policies])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(_COLUMNS, [_row(p) for p in self.policies], self._caption())
