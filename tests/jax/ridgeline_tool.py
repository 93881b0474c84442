"""The built ridgeline as the scripts of this folder call it: one program at a time, through files in a scratch folder."""
import json
import pathlib
import subprocess

# Warnings that are true statements about a program: a custom call of unknown cost, a loop of unknown length, a program for
# several devices.
EXPECTED_WARNINGS = ("[W0402]", "[W0403]", "[W0406]")


class Refused(Exception):
    """The tool did not accept a program that is right."""


class Tool:
    def __init__(self, path, scratch):
        self.path = path
        self.scratch = pathlib.Path(scratch)
        self.help = self.run("convert", "--help")[1].decode()

    def run(self, *arguments):
        done = subprocess.run([self.path, *arguments], capture_output=True, check=False)
        return done.returncode, done.stdout, done.stderr.decode()

    def file(self, program):
        """Name of a file with the program: text or bytes."""
        path = self.scratch / ("program.mlir" if isinstance(program, str) else "program.mlir.bc")
        path.write_bytes(program.encode() if isinstance(program, str) else program)
        return str(path)

    def convert(self, program, *options):
        """What `convert` writes, as bytes; without a message, else Refused."""
        status, out, err = self.run("convert", self.file(program), *options)
        if status != 0 or err:
            raise Refused(f"convert {' '.join(options)}: {err.strip()[:400]}")
        return out

    def text(self, program, form="generic"):
        return self.convert(program, "--form", form).decode()

    def inspect(self, program, binds=()):
        """(document, what it said that no right program should get)."""
        status, out, err = self.run("inspect", self.file(program), "--json", *(f"--bind={bind}" for bind in binds))
        if status != 0:
            raise Refused(f"inspect: {err.strip()[:400]}")
        heads = [line.rstrip() for line in err.splitlines() if line.rstrip().endswith("]")]
        return json.loads(out), [h for h in heads if not h.endswith(EXPECTED_WARNINGS)]

    def can_write(self, form):
        """Whether this build's `convert` knows the form."""
        return form in self.help
