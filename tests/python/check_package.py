#!/usr/bin/env python3
"""The Python package as a stranger gets it: a clean environment, `pip install ./python`, a table of chips.

Nothing but pip and what it fetches to build with is in the environment: no NumPy, no JAX. The library must find its chip files
in the package and nowhere else.
Usage: check_package.py SOURCE_DIR BUILD_DIR      the library is compiled below BUILD_DIR, and kept for the next time
Exit status 77 (skipped) where environments cannot be made or the build tools of Python cannot be fetched.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import venv

SKIPPED = 77
UNREACHABLE = ("No matching distribution found", "Could not find a version", "Connection", "timed out", "Retrying")

USE = """
import pathlib, ridgeline
program = '''func.func @main(%a: tensor<512x512xbf16>, %b: tensor<512x512xbf16>) -> tensor<512x512xbf16> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xbf16>
  return %0 : tensor<512x512xbf16>
}'''
prediction = ridgeline.predict(program, on=["h100", "tpu-v5p"])
print(prediction)
assert {e.chip for e in prediction} == {"nvidia_h100_sxm", "google_tpu_v5p"}
# no chip multiplies faster than its peak, 989 TFLOP/s on H100
assert prediction["nvidia_h100_sxm"].time_s > 2 * 512**3 / 989e12
package = pathlib.Path(ridgeline.__file__).parent
assert (package / "py.typed").exists()
hardware = package / "share/ridgeline/hardware"
hardware.rename(hardware.with_name("away"))
(hardware / "families").mkdir(parents=True)
try:
    ridgeline.Program(program).predict("h100")  # a context that has read its chips still has them
    import subprocess, sys
    alone = subprocess.run([sys.executable, "-c", "import ridgeline; ridgeline.chip('h100')"], capture_output=True, text=True)
    assert alone.returncode and "RidgelineError" in alone.stderr, "chips come from elsewhere than the package"
finally:
    (hardware / "families").rmdir()
    hardware.rmdir()
    hardware.with_name("away").rename(hardware)
try:
    ridgeline.run(program)
except ImportError as error:
    assert "numpy" in str(error)
else:
    raise AssertionError("run() without NumPy")
"""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def main():
    source, build = (pathlib.Path(p).resolve() for p in sys.argv[1:])
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("RIDGELINE_", "PYTHON"))}
    with tempfile.TemporaryDirectory() as scratch:
        try:
            venv.create(pathlib.Path(scratch) / "venv", with_pip=True)
        except (Exception, SystemExit) as error:
            skip(f"no environment can be made (python3-venv?): {error}")
        python = pathlib.Path(scratch) / "venv/bin/python"
        command = [
            python,
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "-C",
            f"build-dir={build}",
            source / "python",
        ]
        installed = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=scratch, check=False)
        output = installed.stdout + installed.stderr
        if installed.returncode and any(word in output for word in UNREACHABLE) and "CMake Error" not in output:
            skip("pip cannot fetch scikit-build-core, which builds the wheel")
        if installed.returncode:
            sys.exit(output)
        used = subprocess.run([python, "-c", USE], text=True, env=environment, cwd=scratch, check=False)
        sys.exit(used.returncode)


if __name__ == "__main__":
    main()
