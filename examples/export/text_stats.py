"""Counts operations and floating-point work in StableHLO text as JAX prints it.

This is an independent check on the example programs, not a general parser. It relies
on JAX printing one operation per line, and on its loops counting up from zero by one.
A loop's body is multiplied by its trip count and a function by its calls.

Conventions: a multiply-add is two FLOPs; any other floating-point operation is one per
result element; comparisons, selections, conversions and data movement are none.
Convolutions are counted twice over: `convolution` takes every kernel tap at every output
position, `convolution_useful` leaves out taps that hit padding or dilation holes.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import math
import pathlib
import re
from typing import Iterator

from common import decompress

UNCOUNTED = {
    "broadcast_in_dim", "compare", "concatenate", "constant", "convert", "dynamic_slice",
    "dynamic_update_slice", "gather", "iota", "is_finite", "pad", "reshape", "return",
    "custom_call", "reverse", "select", "slice", "sort", "top_k", "transpose", "while",
}
ELEMENTWISE = {
    "abs", "add", "cosine", "divide", "erfc", "exponential", "log", "logistic", "maximum", "minimum", "multiply",
    "negate", "power", "rsqrt", "sine", "sqrt", "square", "subtract", "tanh",
}

FUNCTION = re.compile(r"\s*func\.func \w+ @([\w.]+)\(")
CALL = re.compile(r"\bcall @([\w.]+)\(")
OPERATION = re.compile(r"^(?:%[\w:]+ = )?\"?(?:stablehlo|chlo)\.(\w+)")
TENSOR = re.compile(r"tensor<((?:\d+x)*)(\w+)>")
BOUND = re.compile(r"(%\w+) = stablehlo\.constant dense<(\d+)> : tensor<i\d+>")

Type = tuple[tuple[int, ...], str]


def types(text: str) -> list[Type]:
    return [(tuple(int(d) for d in dims.split("x")[:-1]), element)
            for dims, element in TENSOR.findall(text)]


def numbers(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"-?\d+", text)]


def floating(element: str) -> bool:
    return element.startswith(("f", "bf"))


def signature(line: str) -> tuple[list[Type], list[Type]]:
    """Operand and result types, from after the last ' : '."""
    text = line.rsplit(" : ", 1)[1]
    if "->" in text:
        operands, results = text.split("->")
        return types(operands), types(results)
    return types(text), types(text)


def dot_flops(line: str) -> int:
    (left, _), (result, _) = signature(line)[0][0], signature(line)[1][0]
    contracted = re.search(r" contracting_dims = \[([\d, ]*)\]", line)
    depth = math.prod(left[d] for d in numbers(contracted[1])) if contracted else 1
    return 2 * math.prod(result) * depth


def convolution_flops(line: str) -> tuple[int, int]:
    ((image, _), (kernel, _)), ((result, _),) = signature(line)
    layouts = re.search(r"dim_numbers = \[(.*?)\]x\[(.*?)\]->\[(.*?)\]", line)
    left, right, out = (text.split(", ") for text in layouts.groups())

    def window(name: str, default: int, size: int) -> list[int]:
        found = re.search(rf"\b{name} = (\[\[.*?\]\]|\[.*?\])", line)
        return numbers(found[1]) if found else [default] * size

    spatial = [name for name in out if name.isdigit()]
    rank = len(spatial)
    strides, pads = window("stride", 1, rank), window("pad", 0, 2 * rank)
    holes, spread = window("lhs_dilate", 1, rank), window("rhs_dilate", 1, rank)

    all_taps = useful_taps = 1
    for index, name in enumerate(spatial):
        taps, positions = kernel[right.index(name)], result[out.index(name)]
        extent = (image[left.index(name)] - 1) * holes[index] + 1
        all_taps *= taps * positions
        useful_taps *= sum(
            0 <= place < extent and place % holes[index] == 0
            for position, tap in itertools.product(range(positions), range(taps))
            for place in [position * strides[index] + tap * spread[index] - pads[2 * index]])
    others = 2 * result[out.index("b")] * result[out.index("f")] * kernel[right.index("i")]
    return others * all_taps, others * useful_taps


class Statistics(collections.Counter):
    """Keys are ("ops", name) and ("flops", kind)."""

    def add(self, other: Statistics, times: int) -> None:
        for key, value in other.items():
            self[key] += value * times

    def operation(self, name: str, line: str, times: int) -> None:
        """Accounts for one operation; a line with its regions left out."""
        self["ops", name] += times
        if name in UNCOUNTED:
            return
        operands, results = signature(line)
        if not floating(results[0][1]):
            return
        size = math.prod(results[0][0])
        if name == "dot_general":
            self["flops", "dot"] += dot_flops(line) * times
        elif name == "ragged_dot":  # every row meets one group's matrix
            self["flops", "dot"] += 2 * size * operands[0][0][1] * times
        elif name == "convolution":
            everything, useful = convolution_flops(line)
            self["flops", "convolution"] += everything * times
            self["flops", "convolution_useful"] += useful * times
        elif name == "reduce":
            self["flops", "other"] += (math.prod(operands[0][0]) - size) * times
        elif name == "reduce_window":
            window = re.search(r"window_dimensions = array<i64: ([\d, ]+)>", line)
            self["flops", "other"] += size * (math.prod(numbers(window[1])) - 1) * times
        elif name == "scatter":
            self["flops", "other"] += math.prod(operands[-1][0]) * times
        elif name == "select_and_scatter":
            self["flops", "other"] += math.prod(operands[1][0]) * times
        elif name in ELEMENTWISE:
            self["flops", "other"] += size * times
        else:
            raise ValueError(f"no rule for {name}")

    @property
    def dot(self) -> int:
        return self["flops", "dot"]

    @property
    def convolution(self) -> int:
        return self["flops", "convolution"]

    @property
    def total(self) -> int:
        """All FLOPs, convolutions in full."""
        return self.dot + self.convolution + self["flops", "other"]


def trip_count(condition: list[str]) -> int:
    constants = dict(match.groups() for line in condition if (match := BOUND.search(line)))
    compare = next(line for line in condition if "stablehlo.compare" in line)
    limit = re.search(r"compare\s+LT, %\w+, (%\w+)", compare)
    return int(constants[limit[1]])


def read_block(lines: Iterator[str], statistics: Statistics, calls: collections.Counter,
               times: int) -> None:
    """Reads up to the line that closes the block."""
    for line in map(str.strip, lines):
        if line.startswith("}"):
            return
        if line == "cond {":
            trips = trip_count(list(itertools.takewhile(lambda s: s.strip() != "} do {", lines)))
            read_block(lines, statistics, calls, times * trips)
            continue
        if called := CALL.search(line):
            calls[called[1]] += times
            continue
        if operation := OPERATION.match(line):
            if line.endswith("({"):  # The types follow the region.
                tail = next(s for s in lines if s.strip().startswith("})"))
                line += tail.strip()
            statistics.operation(operation[1], line, times)


def count(text: str) -> Statistics:
    own: dict[str, tuple[Statistics, collections.Counter]] = {}
    lines = iter(text.splitlines())
    for line in lines:
        if function := FUNCTION.match(line):
            own[function[1]] = Statistics(), collections.Counter()
            read_block(lines, *own[function[1]], times=1)

    def resolve(name: str) -> Statistics:
        statistics, calls = own[name]
        total = Statistics(statistics)
        for callee, times in calls.items():
            total.add(resolve(callee), times)
        return total

    return resolve("main")


def main() -> None:
    parser = argparse.ArgumentParser(description="Prints the work in *.mlir.zst files.")
    parser.add_argument("files", metavar="FILE", nargs="+", type=pathlib.Path)
    parser.add_argument("--ops", action="store_true", help="print the operations executed, too")
    options = parser.parse_args()
    for path in options.files:
        statistics = count(decompress(path))
        print(path.name)
        for (kind, name), value in sorted(statistics.items()):
            if kind == "flops" or options.ops:
                print(f"  {kind:5} {name:20} {value:>24,}")
        print(f"  flops {'total':20} {statistics.total:>24,}")


if __name__ == "__main__":
    main()
