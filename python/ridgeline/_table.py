"""Aligned tables for terminals and notebooks, and numbers with three figures and a unit."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

_SI = (
    (1e18, "E"),
    (1e15, "P"),
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
)


def quantity(value: float | None, unit: str) -> str:
    """``quantity(0.0037, "s")`` is ``"3.70 ms"``; what is not known is ``"-"``."""
    if value is None or not math.isfinite(value):
        return "-"
    if value == 0:
        return f"0 {unit}".rstrip()
    scale, prefix = next(((s, p) for s, p in _SI if abs(value) >= s * 0.9995), _SI[-1])
    if unit == "B" and scale < 1:
        scale, prefix = 1.0, ""
    scaled = value / scale
    digits = max(0, 2 - int(math.floor(math.log10(abs(scaled) * 1.0005)))) if scaled else 0
    if scale == 1.0 and float(value).is_integer():
        digits = 0
    return f"{scaled:.{min(digits, 2)}f} {prefix}{unit}".rstrip()


def percent(share: float | None) -> str:
    return "-" if share is None or not math.isfinite(share) else f"{share * 100:.0f} %"


Column = tuple[str, str]
"""Title and alignment: ``"<"`` or ``">"``."""


def text_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    widths = [max([len(title)] + [len(row[i]) for row in rows]) for i, (title, _) in enumerate(columns)]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(f"{cell:{columns[i][1]}{widths[i]}}" for i, cell in enumerate(cells)).rstrip()

    return "\n".join([line([title for title, _ in columns]), "  ".join("-" * w for w in widths), *map(line, rows)])


def html_table(columns: Sequence[Column], rows: Sequence[Sequence[str]], caption: str) -> str:
    def cells(tag: str, texts: Sequence[str]) -> str:
        sides = ("left" if align == "<" else "right" for _, align in columns)
        return "".join(f'<{tag} style="text-align:{side}">{html.escape(t)}</{tag}>' for t, side in zip(texts, sides))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = cells("th", [title for title, _ in columns])
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
