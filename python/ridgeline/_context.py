"""Contexts of the library. One belongs to one call or one program at a time; idle ones keep their chips for the next."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from . import _abi
from ._errors import Diagnostic, RidgelineError, warn


def text_of(raw: bytes | None) -> str:
    return (raw or b"").decode("utf-8", "replace")


class Writer:
    """A sink that hands every piece to ``take`` and keeps an exception of it for after the call."""

    def __init__(self, take: Callable[[bytes], object]) -> None:
        self.error: BaseException | None = None

        def write(_user: int | None, text: int | None, length: int) -> bool:
            try:
                take(ctypes.string_at(text, length) if text else b"")
            except BaseException as error:  # must not cross C
                self.error = error
            return self.error is None

        self._function = _abi.WRITE_FUNCTION(write)  # lives as long as the sink
        self.sink = _abi.Sink(self._function, None)


class Context:
    """An ``rdg_context``. Not for two threads at once."""

    def __init__(self) -> None:
        handle = _abi.library.rdg_context_new(None)
        if not handle:
            raise MemoryError("no memory for a context of Ridgeline")
        self.handle = handle
        self.environment = _environment()

    def close(self) -> None:
        _abi.library.rdg_context_free(self.handle)

    def diagnostics(self) -> list[Diagnostic]:
        found = []
        d = _abi.DiagnosticStruct()
        for i in range(_abi.library.rdg_diagnostic_count(self.handle)):
            _abi.library.rdg_diagnostic_get(self.handle, i, d)
            found.append(
                Diagnostic(
                    severity=_abi.SEVERITY_NAMES[d.severity],
                    code=text_of(d.code),
                    message=text_of(d.message),
                    file=text_of(d.file) if d.file else None,
                    line=d.line or None,
                    column=d.column or None,
                )
            )
        return found

    def call(self, name: str, *arguments: Any) -> list[Diagnostic]:
        """A function of the library with this context first. Raises what failed. What it returns is for ``warn``, once what
        the call made is in safe hands: a warning may be an exception."""
        status = getattr(_abi.library, name)(self.handle, *arguments)
        found = self.diagnostics()
        if status != 0:
            text = text_of(_abi.library.rdg_diagnostics_text(self.handle)).rstrip()
            name_of_status = _abi.STATUS_NAMES[status]
            raise RidgelineError(text or f"{name} failed: {name_of_status}", found, name_of_status)
        return found

    def read(self, name: str, *arguments: Any) -> bytes:
        """The same for functions whose last parameter is a sink: what they wrote."""
        pieces: list[bytes] = []
        writer = Writer(pieces.append)
        warn(self.call(name, *arguments, writer.sink))
        return b"".join(pieces)


_LIMIT = 8
_idle: list[Context] = []
_idle_for = ""
_lock = threading.Lock()


def _environment() -> str:
    """What contexts read once: with another one they are not to be used again."""
    return os.environ.get("RIDGELINE_HARDWARE", "")


def take() -> Context:
    """A context for the caller alone, until ``give``."""
    global _idle_for
    stale: list[Context] = []
    with _lock:
        if _idle_for != _environment():
            stale, _idle[:] = _idle[:], []
            _idle_for = _environment()
        context = _idle.pop() if _idle else None
    for old in stale:
        old.close()
    return context or Context()


def give(context: Context) -> None:
    with _lock:
        keep = len(_idle) < _LIMIT and context.environment == _idle_for
        if keep:
            _idle.append(context)
    if not keep:
        context.close()


@contextmanager
def borrowed() -> Iterator[Context]:
    context = take()
    try:
        yield context
    finally:
        give(context)
