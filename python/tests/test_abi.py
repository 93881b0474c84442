"""ctypes' layouts against the rows that C is held to."""

from __future__ import annotations

import ctypes
import pathlib
import re

import pytest
from ridgeline import _abi, _arrays

LAYOUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "abi" / "public_layout.def"
ROWS = LAYOUT.read_text(encoding="utf-8") if LAYOUT.exists() else ""

pytestmark = pytest.mark.skipif(not ROWS, reason="the repository around the package is not there")


@pytest.mark.parametrize("name", _abi.STRUCTURES)
def test_structures_are_laid_out_as_in_c(name: str) -> None:
    structure = _abi.STRUCTURES[name]
    size = re.search(rf"STRUCT\({name}, (\d+)\)", ROWS)
    members = re.findall(rf"MEMBER\({name}, (\w+), (\d+)\)", ROWS)
    assert size and int(size.group(1)) == ctypes.sizeof(structure)
    assert [(m, getattr(structure, m).offset) for m, *_ in structure._fields_] == [(m, int(o)) for m, o in members]


@pytest.mark.parametrize(
    ("prefix", "numbers"),
    [
        ("RDG_(?:ERROR_)?(?=OK|INPUT|MEMORY|LIMIT|IO|UNSUPPORTED)", dict(zip(_abi.STATUS_NAMES, range(6)))),
        ("RDG_SEVERITY_", dict(zip(_abi.SEVERITY_NAMES, range(3)))),
        (
            "RDG_FORMAT_",
            {
                "text": _abi.FORMAT_TEXT,
                "json": _abi.FORMAT_JSON,
                "trace": _abi.FORMAT_TRACE,
                "plan": _abi.FORMAT_PLAN,
                "chart": _abi.FORMAT_CHART,
                "cores": _abi.FORMAT_CORES,
            },
        ),
        ("RDG_FORM_", _abi.FORM_NUMBERS),
        ("RDG_FILL_", _abi.FILL_NUMBERS),
    ],
)
def test_numbers_are_those_of_c(prefix: str, numbers: dict[str, int]) -> None:
    rows = re.findall(rf"ENUM\({prefix}([A-Z]+), (\d+)\)", ROWS)
    assert {name.lower(): int(number) for name, number in rows} == numbers


def test_every_element_type_has_a_row() -> None:
    numbers = [int(n) for n in re.findall(r"ENUM\(RDG_DTYPE_\w+, (\d+)\)", ROWS)]
    assert {_arrays.dtype_name(n) for n in numbers} - {"none"} == set(_arrays._TYPES)


def test_every_function_used_is_on_the_list_of_exported_symbols() -> None:
    exported = (LAYOUT.parent / "symbols.txt").read_text(encoding="utf-8")
    assert [name for name in _abi.FUNCTIONS if f"\n{name}@@" not in exported] == []
