#!/usr/bin/env python3
"""Installs the build, moves the installation, and uses it as a stranger does: the C example through the CMake package and
through pkg-config, and the tool. What runs must find its chip files in the moved place.

Usage: check_installation.py BUILD_DIR SOURCE_DIR LIBDIR C_COMPILER
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def run(*command, **environment):
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nstatus {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def check_example(program, prefix, libdir, how):
    """What the example prints: a prediction per chip, then max(x w + b, 0), worked out by hand."""
    out = run(program, LD_LIBRARY_PATH=str(prefix / libdir))
    chips = [line.split()[0] for line in out.splitlines()[:3]]
    values = [float(number) for number in re.findall(r"-?\d\.\d+e[+-]\d+", out)]
    # x w = [[-2, 5], [-2, 11]]; with b = [1, -1] [[-1, 4], [-1, 10]], of which what is negative becomes 0
    if chips != ["nvidia_h100_sxm", "amd_mi300x", "google_tpu_v5p"] or values != [0, 4, 0, 10]:
        sys.exit(f"the example built with {how} printed\n{out}")
    # chip files come from beside the library: without them there is no chip
    hidden = prefix / "share/ridgeline/hardware"
    hidden.rename(hidden.with_name("away"))
    (hidden / "families").mkdir(parents=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(prefix / libdir)}
    empty = subprocess.run([program], capture_output=True, env=environment, check=False)
    shutil.rmtree(hidden)
    hidden.with_name("away").rename(hidden)
    if empty.returncode == 0:
        sys.exit("the moved library reads chip files from elsewhere than its own prefix")


def main():
    build, source, libdir, compiler = sys.argv[1:]
    os.environ.pop("RIDGELINE_HARDWARE", None)
    with tempfile.TemporaryDirectory() as scratch_name:
        scratch = pathlib.Path(scratch_name)
        run("cmake", "--install", build, "--prefix", scratch / "first")
        prefix = scratch / "moved"
        (scratch / "first").rename(prefix)

        example = pathlib.Path(source) / "examples/c"
        run(
            "cmake",
            "-S",
            example,
            "-B",
            scratch / "b",
            f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_C_COMPILER={compiler}",
        )
        run("cmake", "--build", scratch / "b")
        check_example(scratch / "b/predict_and_run", prefix, libdir, "CMake")

        if shutil.which("pkg-config"):
            os.environ["PKG_CONFIG_PATH"] = str(prefix / libdir / "pkgconfig")
            flags = run("pkg-config", "--cflags", "--libs", "ridgeline").split()
            version = run("pkg-config", "--modversion", "ridgeline").strip()
            run(
                compiler,
                "-std=c11",
                "-pedantic-errors",
                "-Wall",
                "-Werror",
                example / "predict_and_run.c",
                *flags,
                "-o",
                scratch / "pc",
            )
            check_example(scratch / "pc", prefix, libdir, "pkg-config")
            if version not in run(prefix / "bin/ridgeline", "--version"):
                sys.exit(f"pkg-config says {version}, ridgeline --version something else")
        else:
            print("skipped: no pkg-config")
        if "nvidia_h100_sxm" not in run(prefix / "bin/ridgeline", "chips", "list"):
            sys.exit("the moved tool does not find its chips")
    print("a moved installation works")


if __name__ == "__main__":
    main()
