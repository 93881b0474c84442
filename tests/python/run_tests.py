#!/usr/bin/env python3
"""python/tests against the library of this build, in the first environment that has pytest: that of './dev python', else the
one this runs in. Tests that need NumPy, pandas or JAX say so where these are missing.
Usage: run_tests.py SOURCE_DIR LIBRARY      exit status 77 (skipped) without pytest
"""

import os
import pathlib
import subprocess
import sys


def main():
    source, library = pathlib.Path(sys.argv[1]), sys.argv[2]
    own = source / "build/python-venv/bin/python"
    python = str(own) if own.exists() else sys.executable
    if subprocess.run([python, "-c", "import pytest"], capture_output=True, check=False).returncode:
        print("skipped: no pytest; './dev python' makes an environment with it")
        sys.exit(77)
    environment = {
        **os.environ,
        "RIDGELINE_LIBRARY": library,
        "PYTHONPATH": str(source / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", str(source / "python/tests")]
    sys.exit(subprocess.run(command, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
