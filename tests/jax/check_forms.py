"""Forms of one program against MLIR: what JAX writes (text, bytecode in memory, portable artifacts of the newest and the
oldest version that can hold the program) must be one program for ridgeline, and what ridgeline writes must be that
program for MLIR.

A portable artifact does not hold everything that text does: attributes with their default value come back as absent. MLIR
itself says what an artifact holds: it reads the artifact and prints it, and ridgeline's reading of the artifact must equal
its reading of that text. Bytecode in memory holds everything, so there the text is JAX's own."""
import contextlib
import functools
import io
import os

from jax._src.interpreters import mlir
from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from ridgeline_tool import Refused

# Versions of VHLO at which an operation or type was added or changed, and the oldest one.
OTHER_DIALECTS_SINCE = (1, 11, 0)  # sdy, chlo
VERSIONS = ["0.9.0"] + [f"0.{i}.0" for i in range(10, 21)] + [f"1.{i}.0" for i in range(0, 21)]


def as_numbers(version):
    return tuple(int(part) for part in version.split("."))


@functools.cache
def versions():
    """Those that this jaxlib can write, oldest first, its own last."""
    current = stablehlo.get_current_version()
    return [v for v in VERSIONS if as_numbers(v) < as_numbers(current)] + [current]


def print_module(module, generic=False):
    return module.operation.get_asm(print_generic_op_form=generic, enable_debug_info=False)


def mlir_print(text, generic=False):
    """The text that MLIR prints for a program, text or bytecode; raises when MLIR does not accept it."""
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        module.operation.verify()
        return print_module(module, generic)


def write_bytecode(module):
    out = io.BytesIO()
    module.operation.write_bytecode(out)
    return out.getvalue()


@contextlib.contextmanager
def no_messages():
    """MLIR writes to the standard error itself what a version lacks."""
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def artifact(bytecode, version):
    """The portable artifact of a version, or None when it cannot hold the program. Other dialects (sdy, chlo) ride
    along."""
    with no_messages():
        try:
            module = ir.Module.parse(bytecode)  # anew, since it becomes VHLO in place
            return stablehlo.serialize_portable_artifact(module, version, True)
        except Exception:  # whatever MLIR raises: this version lacks something
            return None


def jax_artifact(bytecode):
    """The same as jax.export makes it: CHLO is expanded into StableHLO and constants are moved before."""
    return _jax.mlir.serialize_portable_artifact(bytecode, versions()[-1], True)


def oldest_artifact(bytecode):
    """(version, artifact) of the oldest version that can hold the program; newer ones can as well."""
    low, high = 0, len(versions()) - 1
    found = None
    while low < high:
        middle = (low + high) // 2
        data = artifact(bytecode, versions()[middle])
        if data is None:
            low = middle + 1
        else:
            high, found = middle, (versions()[middle], data)
    return found


def artifact_text(data):
    """What MLIR reads out of an artifact; raises when it cannot."""
    with mlir.make_ir_context() as context:
        return print_module(_jax.mlir.deserialize_portable_artifact(data, context))


def text_of_own(data):
    """The same for an artifact that MLIR wrote; None for one that it then does not accept."""
    with no_messages():
        try:
            return artifact_text(data)
        except Exception:  # whatever MLIR raises
            return None


def first_difference(a, b):
    for x, y in zip(a.splitlines(), b.splitlines()):
        if x != y:
            return f"{x.strip()[:150]} | {y.strip()[:150]}"
    return "one is longer"


def normal(text):
    """Lines without repeated spaces: releases of StableHLO differ in them (`compare  EQ`)."""
    return [" ".join(line.split()) for line in text.strip().splitlines()]


class FormCheck:
    """All forms of one program; `problems` has the checks that apply."""

    def __init__(self, tool, text, given_artifact=None):
        self.tool = tool
        self.text = text
        self.given_artifact = given_artifact
        self.problems = {}
        self.own_text = {}  # our text by form

    def note(self, check, problem):
        """Counts a check as made; a problem makes it fail."""
        self.problems.setdefault(check, [])
        if problem:
            self.problems[check].append(problem)

    def run(self):
        with mlir.make_ir_context():
            module = ir.Module.parse(self.text)
            self.pretty, self.generic = print_module(module), print_module(module, generic=True)
            self.check_written("MLIR reads", "pretty", self.pretty)
            self.check_written("MLIR reads", "generic", self.generic)
            bytecode = write_bytecode(module)
            self.check_read("bytecode", bytecode, self.text, "bytecode in memory")
            self.check_artifacts(bytecode)
        return self.problems

    def check_written(self, check, form, theirs):
        """Our text of a form: MLIR must read the same program out of it."""
        try:
            out = self.own_text[form] = self.tool.text(self.text, form)
        except Refused as error:
            self.note(check, str(error))
            return
        try:
            again = mlir_print(out)
        except Exception as error:  # whatever MLIR raises is its verdict
            self.note(check, f"MLIR does not accept our {form} form: {str(error)[:400]}")
            return
        same = again == self.pretty
        self.note(check, None if same else f"MLIR reads another program out of our {form} form: "
                                           f"{first_difference(again, self.pretty)}")
        self.note("identical text", None if normal(out) == normal(theirs)
                  else f"our {form} form: {first_difference(out, theirs)}")

    def check_read(self, check, data, text, what):
        """Bytes and text must be the same program to us."""
        try:
            ours = self.tool.text(data)
            wanted = self.own_text["generic"] if text is self.text and "generic" in self.own_text else self.tool.text(text)
        except Refused as error:
            self.note(check, f"{what}: {error}")
            return
        self.note(check, None if ours == wanted else f"{what}: {first_difference(ours, wanted)}")

    def check_artifacts(self, bytecode):
        """Artifacts of this jaxlib's version and of the oldest that can hold the program: read, and written by us."""
        current = versions()[-1]
        made = [("artifact", current, artifact(bytecode, current)),
                ("oldest", *(oldest_artifact(bytecode) or (None, None)))]
        for check, version, data in made:
            held = text_of_own(data) if data is not None else None
            if held is not None:
                self.check_read(check, data, held, f"artifact of {version}")
                self.check_own_artifact(version, held)
        data = jax_artifact(bytecode)
        held = text_of_own(data)
        if held is not None:
            self.check_read("artifact", data, held, "artifact by way of jax.export")
        if self.given_artifact is not None:
            self.check_read("artifact", self.given_artifact, artifact_text(self.given_artifact), "artifact of jax.export")

    def check_own_artifact(self, version, held):
        """The artifact that we write for a version: MLIR must read out of it what it reads out of its own. Programs with
        CHLO are not written, those with sdy not for versions that did not promise to hold other dialects."""
        is_older = as_numbers(version) < OTHER_DIALECTS_SINCE
        if not self.tool.can_write("--form bytecode") or "chlo." in self.text or (is_older and "sdy." in self.text):
            return
        check = "our artifact"
        try:
            ours = self.tool.convert(self.text, "--form", "bytecode", "--target", version)
        except Refused as error:
            self.note(check, f"{version}: {error}")
            return
        try:
            again = artifact_text(ours)
        except Exception as error:  # whatever MLIR raises is its verdict
            self.note(check, f"MLIR does not accept our artifact of {version}: {str(error)[:400]}")
            return
        self.note(check, None if again == held else f"artifact of {version}: {first_difference(again, held)}")
