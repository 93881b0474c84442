"""Diagnostics, and the exception and the warning that carry them."""

from __future__ import annotations

import dataclasses
import os
import sys
import warnings
from collections.abc import Sequence

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One message about a program, a chip file or an argument, and its place."""

    severity: str
    """``"error"``, ``"warning"`` or ``"note"``."""
    code: str
    """A stable id, ``"E0201"``."""
    message: str
    file: str | None = None
    """None when the message has no place."""
    line: int | None = None
    """From 1; None = unknown."""
    column: int | None = None
    """From 1, in bytes; None = unknown."""

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return f"{place + ': ' if place else ''}{self.message} [{self.code}]"


class RidgelineError(Exception):
    """A call failed. ``str()`` is what a compiler would print: every message with its place, its line and a caret."""

    diagnostics: tuple[Diagnostic, ...]
    """All messages of the call, errors, warnings and notes, in order."""
    status: str
    """``"input"`` (the program, chip file or argument is wrong), ``"memory"`` and ``"limit"`` (a budget was reached),
    ``"io"`` (a file could not be read) or ``"unsupported"`` (not possible with this program or chip)."""

    def __init__(self, text: str, diagnostics: Sequence[Diagnostic] = (), status: str = "input") -> None:
        super().__init__(text)
        self.diagnostics = tuple(diagnostics)
        self.status = status

    def __reduce__(self) -> tuple[type[RidgelineError], tuple[str, tuple[Diagnostic, ...], str]]:
        return type(self), (str(self), self.diagnostics, self.status)


class RidgelineWarning(UserWarning):
    """Something about the program or a chip that the numbers depend on. ``diagnostic`` has its parts."""

    diagnostic: Diagnostic

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(str(diagnostic))
        self.diagnostic = diagnostic


def warn(diagnostics: Sequence[Diagnostic]) -> None:
    """Python warnings of a call that succeeded, at the line of the caller's code outside of this package. Errors among them
    are about parts that were left out, such as a bad file among the chip files."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    for diagnostic in diagnostics:
        if diagnostic.severity != "note":
            warnings.warn(RidgelineWarning(diagnostic), stacklevel=level)
