#!/usr/bin/env python3
"""Writes execution traces with the tool and reads them with read_chakra.py: of the programs beside this file, and of the
workloads where the data is there. Then damages a trace and looks whether the reader notices.

Usage: run_chakra.py RIDGELINE [DATA_DIR]
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import read_chakra

HERE = pathlib.Path(__file__).resolve().parent
READER = HERE / "read_chakra.py"
# program, executions of its exchanges, devices
PROGRAMS = [("exchange.mlir", 1, 4), ("layers.mlir", 5, 2)]
WORKLOADS = [("test_split_replica_groups.mlir", 1, 4), ("gen_llama3-100m_4dev.mlir", 1, 4),
             ("resnet_50_train_step_4_devices_1024_batch.mlir", 1, 4)]


def write(tool, program, devices, folder, overlap):
    done = subprocess.run([tool, "predict", program, "--cluster", "dgx_h100", "--devices", str(devices), "--overlap", overlap,
                           "--chakra", folder], capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else [f"{program.name}: exit {done.returncode}: {done.stderr.strip()[-500:]}"]


def read(folder, program, times):
    done = subprocess.run([sys.executable, READER, folder, program, str(times)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.strip()


def check(tool, program, times, devices, overlap):
    with tempfile.TemporaryDirectory() as folder:
        problems = write(tool, program, devices, folder, overlap)
        if problems:
            return problems
        status, text = read(folder, program, times)
        files = len(list(pathlib.Path(folder).glob("*.et")))
        problems = [] if files == devices else [f"{program.name}: {files} files for {devices} devices"]
        print(f"{program.name}, overlap {overlap}: {text.splitlines()[-1]}")
        return problems + ([] if status == 0 else [f"{program.name}, overlap {overlap}:\n{text}"])


def damage(name, change):
    """One byte string for another in the first rank's file; the length stays."""
    def apply(folder):
        path = next(pathlib.Path(folder).glob("*.0.et"))
        data = path.read_bytes()
        changed = change(data)
        assert changed != data, name
        path.write_bytes(changed)
    return name, apply


def size_varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


# exchange.mlir: an all-gather of 16 KiB from each, a reduce-scatter of 128 KiB
DAMAGES = [
    damage("a byte is missing", lambda data: data[:-1]),
    damage("the all-gather has the size of its result", lambda data: data.replace(
        b"comm_size\x48" + size_varint(16384), b"comm_size\x48" + size_varint(32768), 1)),
    damage("the reduce-scatter has the size of its result", lambda data: data.replace(
        b"comm_size\x48" + size_varint(131072), b"comm_size\x48" + size_varint(65536), 1)),
    damage("a message has another tag", lambda data: data.replace(b"comm_tag\x38\x00", b"comm_tag\x38\x01", 1)),
    damage("a node depends on itself", lambda data: re.sub(rb"(?<=dot_general\x18\x04\x2a\x01)\x01", b"\x02", data,
                                                          count=1)),
    damage("a computation belongs to the host", lambda data: data.replace(b"is_cpu_op\xd8\x01\x00",
                                                                         b"is_cpu_op\xd8\x01\x01", 1)),
]


def check_pipeline(tool):
    """Two stages: messages between them match, no rank waits for ever, and per rank there are four micro-batches' worth: an
    all-reduce of 8 KiB in each pass, one of 16 KiB in the update, 8 KiB sent for each of the four."""
    problems = []
    program = HERE / "pipeline.mlir"
    for overlap in ("none", "as-written", "latency-hiding"):
        with tempfile.TemporaryDirectory() as folder:
            problems += write(tool, program, 4, folder, overlap)
            done = subprocess.run([sys.executable, READER, folder], capture_output=True, text=True, check=False)
            print(f"pipeline.mlir, overlap {overlap}: {done.stdout.strip().splitlines()[-1]}")
            problems += [] if done.returncode == 0 else [f"pipeline.mlir, overlap {overlap}:\n{done.stdout}"]
            for path in sorted(pathlib.Path(folder).glob("*.et")):
                nodes = read_chakra.Rank(path).nodes
                reduced = sorted(n["comm_size"] for n in nodes if n.type == read_chakra.COLL)
                sent = [n["comm_size"] for n in nodes if n.type == read_chakra.SEND]
                if reduced != [8192] * 8 + [16384] or sent != [8192] * 4:
                    problems.append(f"{path.name}: reduces {reduced}, sends {sent}")
    return problems


def check_reader(tool):
    problems = []
    program = HERE / "exchange.mlir"
    for name, apply in DAMAGES:
        with tempfile.TemporaryDirectory() as folder:
            problems += write(tool, program, 4, folder, "none")
            apply(folder)
            if read(folder, program, 1)[0] == 0:
                problems.append(f"the reader does not notice that {name}")
    return problems


def main():
    tool = sys.argv[1]
    problems = []
    for name, times, devices in PROGRAMS:
        for overlap in ("none", "as-written", "latency-hiding"):
            problems += check(tool, HERE / name, times, devices, overlap)
    data = pathlib.Path(sys.argv[2]) / "workloads" if len(sys.argv) > 2 else None
    for name, times, devices in WORKLOADS:
        if data and (data / name).exists():
            problems += check(tool, data / name, times, devices, "none")
        else:
            print(f"{name}: skipped: no data")
    problems += check_pipeline(tool)
    problems += check_reader(tool)
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
