#!/usr/bin/env python3
"""Compares which programs Ridgeline's checks and MLIR's verifier accept, and which result types both infer.

Programs are those of tests/errors/constraints (every StableHLO operation in generic form) with their marked mistakes, and
random mutations of the valid ones: types, shapes, dimensions of unknown size, attributes, numbers of operands, regions.
Quantized types are left out: MLIR's quant dialect is not part of jaxlib.

Usage: compare_verifier.py CHECK_PIECES [--count N] [--seed N] [--verbose]
Exit status: 0 no unexplained disagreement, 1 there is one, 77 JAX is not installed and --skip-code was given (else 0).
"""
import argparse
import collections
import pathlib
import random
import re
import subprocess
import sys
import tempfile

try:
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
except ImportError:
    ir = None

CASES = pathlib.Path(__file__).resolve().parent.parent / "errors" / "constraints"

# Refused here, accepted by MLIR: (operation, number or text in our message, reason). The specification decides.
STRICTER = [
    ("dynamic_conv", r"\(C\d+\)", "MLIR looks only at the padding operand of dynamic_conv"),
    ("dynamic_broadcast_in_dim", r"\(C[57]\)", "MLIR does not compare the length of the shape operand with the result"),
    ("dynamic_iota", r"\(C2\)", "MLIR does not compare the length of the shape operand with the result"),
    ("dynamic_reshape", r"\(C[24]\)", "MLIR does not compare numbers of elements"),
    ("rng_bit_generator", r"\(C[12]\)", "MLIR leaves the state to the backend"),
    ("scatter", r"\(C6\)", "MLIR asks only that the body can take the elements"),
    ("reduce", r"\(C2\)", "MLIR asks only that the body can take the elements"),
    ("reduce_window", r"\(C3\)", "MLIR asks only that the body can take the elements"),
    ("select_and_scatter", r"\(C[13]\)", "MLIR asks only that the body can take the elements"),
    ("all_gather", r"\(C5\)", "MLIR checks the channel of reductions only"),
    ("reduce_scatter", r"\(C1\)", "MLIR asks only that the result is a part of the operand"),
    ("case", r"\(C1\)", "MLIR accepts a case without branches"),
    ("reduce_window|reduce", r"as many initial values as inputs", "MLIR halves an odd number of operands"),
    ("scatter", r"elements of input \d+ cannot be promoted", "MLIR looks at the updates only; the formula names the inputs"),
    ("all_reduce|reduce", r"\((C5|C6|C7)\)", "MLIR compares bodies with the first operand and up to unknown sizes"),
    ("if|case", r"\(C[34]\)", "MLIR compares results with the first branch that has known sizes"),
    ("scatter", r"\(I2\)", "the specification has no predicates as indices"),
    ("scatter", r"expected n inputs, indices", "MLIR divides any number of operands"),
    ("dynamic_iota", r"elements this operation does not take", "the specification has no predicates here"),
    ("reduce_scatter", r"\(C7\)", "MLIR does not compare the arguments of this body with its result"),
    ("reduce_window", r"\(C13\)", "MLIR does not look at the initial values of this body"),
    ("select_and_scatter", r"\(C(9|10)\)", "MLIR asks only that the elements can be promoted"),
    ("bitcast_convert", r"\(C1\)", "MLIR compares sizes of elements only when they differ"),
    ("einsum|unary_einsum|torch_index_select|real_dynamic_slice", "", "MLIR checks kinds of operands only"),
]

# Accepted here, refused by MLIR: (operation, text in MLIR's message, reason).
LOOSER = [
    ("send|outfeed", r"must be variadic of ranked tensor", "HLO passes tuples to send and outfeed"),
    ("collective_broadcast", r"requires a single operand", "several operands are newer than jaxlib"),
    ("optimization_barrier", r"requires the same type for operand and result", "a size that one side leaves open fits"),
    ("dynamic_slice|dynamic_update_slice", r"must be variadic of 0D tensor", "older programs have one vector of indices"),
    ("dot_general", r"expected '(allow_|num_|rhs_|lhs_|accum)", "fields of an algorithm may be left out"),
    ("tuple|async_start|async_done", r"are incompatible with return type", "a size that one side leaves open fits"),
    ("set_dimension_size", r"are incompatible with return type", "bounds of other dimensions are not compared"),
    ("dynamic_pad", r"have same type", "the specification does not tie the types of the amounts"),
    ("custom_call|while|tuple|get_tuple_element|optimization_barrier", r"must be (variadic|nested tuple) .*xindex>|tensor<index>", "index passes through"),
    ("", r"unregistered operation 'stablehlo\.collective_reduce'", "newer than jaxlib"),
]


# ---- programs ----

class Program:
    def __init__(self, op, label, text, where):
        self.op, self.label, self.text, self.where = op, label, text, where


def without_region(text, index):
    begin, end = text.index("({"), text.index("})")
    parts = text[begin + 2:end].split("}, {")
    del parts[index]
    return text[:begin] + ("({" + "}, {".join(parts) + "})" if parts else "") + text[end + 2:]


def edited(text, edits):
    """The edits that spec_cases.h describes."""
    for edit in edits.split(" ;; "):
        region = re.match(r"without region (\d)", edit)
        if region:
            text = without_region(text, int(region[1]))
        elif " =>" in edit:
            old, _, new = edit.partition(" =>")
            text = text.replace(old, new[1:] if new.startswith(" ") else new)
        else:
            name = edit.partition(" = ")[0]
            text = re.sub(r"(?m)^" + re.escape(name) + r" = .*$", lambda _: edit, text)
    return text


def read_blocks(path):
    """(operations, program text, [(label, edits)]) of one file."""
    ops, body, cases, heading = [], [], [], False
    for line in path.read_text(encoding="utf-8").split("\n"):
        starts = line.startswith("== ")
        if starts and not heading and ops:
            yield ops, "\n".join(body), cases
            ops, body, cases = [], [], []
        if starts:
            ops += line[3:].split()
        elif line.startswith("-- "):
            cases.append(tuple(line[3:].split(": ", 1)))
        elif ops and line and not line.startswith("#"):
            body.append(line)
        heading = starts
    yield ops, "\n".join(body), cases


def read_programs():
    for path in sorted(CASES.glob("*.txt")):
        for ops, body, cases in read_blocks(path):
            for op in ops:
                text = body.replace("$op", op)
                if "!quant" in text:
                    continue
                yield Program(op, None, text, path.name)
                for label, edits in cases:
                    broken = edited(text, edits)
                    if "!quant" not in broken:
                        yield Program(op, label, broken, path.name)


# ---- mutations ----

ELEMENTS = ["f32", "f64", "f16", "bf16", "i1", "i8", "i32", "i64", "ui8", "ui32", "complex<f32>", "f8E5M2", "index"]


def mutate_dimension(text, rng):
    places = [m for m in re.finditer(r"(?<=[<x])(\d+|\?)(?=x)", text)]
    if not places:
        return None
    m = rng.choice(places)
    new = rng.choice(["?", "0", "1", str(rng.randint(2, 9)), str(int(m[0]) + 1) if m[0] != "?" else "3"])
    return text[:m.start()] + new + text[m.end():]


def mutate_rank(text, rng):
    places = [m for m in re.finditer(r"tensor<((?:(?:\d+|\?)x)*)", text)]
    if not places:
        return None
    m = rng.choice(places)
    dims = re.findall(r"\d+|\?", m[1])
    if dims and rng.random() < 0.5:
        del dims[rng.randrange(len(dims))]
    else:
        dims.insert(rng.randint(0, len(dims)), rng.choice(["1", "2", "?"]))
    return text[:m.start(1)] + "".join(d + "x" for d in dims) + text[m.end(1):]


def mutate_element(text, rng):
    places = [m for m in re.finditer(r"(?<=[<x])(f32|f64|f16|i32|i64|i1|ui32|ui64|complex<f\d\d>)(?=[>,])", text)]
    if not places:
        return None
    m = rng.choice(places)
    return text[:m.start()] + rng.choice(ELEMENTS) + text[m.end():]


def mutate_number(text, rng):
    places = [m for m in re.finditer(r"(?<== )-?\d+(?= : i)|(?<=[\[ ])-?\d+(?=[,\]>])", text)]
    if not places:
        return None
    m = rng.choice(places)
    return text[:m.start()] + str(int(m[0]) + rng.choice([-2, -1, 1, 2, 7])) + text[m.end():]


def mutate_list(text, rng):
    places = [m for m in re.finditer(r"array<i64: ([-\d, ]+)>|(?<=s = )\[([-\d, ]*)\]", text)]
    if not places:
        return None
    m = rng.choice(places)
    group = 1 if m[1] is not None else 2
    items = [i for i in m[group].split(", ") if i]
    if items and rng.random() < 0.5:
        del items[rng.randrange(len(items))]
    elif items and rng.random() < 0.5:
        rng.shuffle(items)
    else:
        items.append(str(rng.randint(0, 3)))
    if group == 1 and not items:
        return text[:m.start()] + "array<i64>" + text[m.end():]
    return text[:m.start(group)] + ", ".join(items) + text[m.end(group):]


def mutate_attribute(text, rng):
    places = [m for m in re.finditer(r"(?<=[{ ])\w+ = (?:array<[^>]*>|-?\d+ : i\d+|true|false|dense<[^>]*> : tensor<\w+>)(?:, )?",
                                     text)]
    if not places:
        return None
    m = rng.choice(places)
    if rng.random() < 0.5:
        return re.sub(r", }", "}", text[:m.start()] + text[m.end():])
    return text[:m.start()] + re.sub(r"i64|i32", lambda t: "i32" if t[0] == "i64" else "i64", m[0]) + text[m.end():]


def mutate_operands(text, rng):
    m = re.search(r'"stablehlo\.[\w-]+"\(([^)]*)\)', text)
    signature = None
    for signature in re.finditer(r": \(([^)]*)\) ->", text):
        pass
    if not m or not signature or signature.start() < m.end():
        return None
    values, types = [v for v in m[1].split(", ") if v], [t for t in signature[1].split(", ") if t]
    if len(values) != len(types) or not values:
        return None
    i = rng.randrange(len(values))
    if rng.random() < 0.5:
        del values[i], types[i]
    else:
        values.insert(i, values[i])
        types.insert(i, types[i])
    text = text[:signature.start(1)] + ", ".join(types) + text[signature.end(1):]
    return text[:m.start(1)] + ", ".join(values) + text[m.end(1):]


def mutate_region(text, rng):
    if "({" not in text:
        return None
    kind = rng.randrange(3)
    if kind == 0:
        return without_region(text, 0)
    if kind == 1:
        return re.sub(r"\((%a: !\w+), (%b: !\w+)", r"(\2, \1" if rng.random() < 0.5 else r"(\1", text, count=1)
    return re.sub(r'"stablehlo.return"\((%\w+)(, %\w+)?\) : \((![\w]+)(, ![\w]+)?\)', r'"stablehlo.return"(\1, \1) : (\3, \3)', text,
                  count=1)


MUTATIONS = [mutate_dimension, mutate_dimension, mutate_rank, mutate_element, mutate_element, mutate_number, mutate_number,
             mutate_list, mutate_attribute, mutate_operands, mutate_region]


def spelled_out(text):
    """Aliases replaced by their types, so that one use can change alone."""
    for name, value in re.findall(r"(?m)^(!\w+) = (.*)$", text):
        text = re.sub(re.escape(name) + r"\b", lambda _: value, re.sub(r"(?m)^" + re.escape(name) + r" = .*\n", "", text))
    return text


def mutated(valid, count, rng):
    made = 0
    while made < count:
        base = rng.choice(valid)
        text = spelled_out(base.text) if rng.random() < 0.5 else base.text
        for _ in range(rng.choice([1, 1, 1, 2])):
            text = rng.choice(MUTATIONS)(text, rng) or text
        if text != base.text:
            made += 1
            yield Program(base.op, None, text, "mutation")


# ---- verdicts ----

class Upstream:
    def __init__(self):
        self.context = mlir.make_ir_context()

    def complaint(self, text):
        """None when MLIR accepts the module, else its first message."""
        messages = []
        with self.context:
            handler = self.context.attach_diagnostic_handler(lambda d: (messages.append(str(d.message)), True)[1])
            try:
                ir.Module.parse(text).operation.verify()
                return None
            except Exception as error:  # MLIRError and ValueError, by the kind of mistake
                lines = [line for line in str(error).split("\n") if "error:" in line]
                return (messages + lines + [str(error)])[0]
            finally:
                handler.detach()


def ours(tool, texts, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "pieces.mlir"
        path.write_text("\n// -----\n".join(texts), encoding="utf-8")
        done = subprocess.run([tool, *options, str(path)], capture_output=True, text=True, check=True)
    answers = [line.split("\t") for line in done.stdout.split("\n")[:-1]]
    if len(answers) != len(texts):
        sys.exit(f"{len(answers)} answers for {len(texts)} programs")
    return answers


def explained(table, op, message):
    for pattern, text, _ in table:
        if re.fullmatch(pattern or ".*", op) and re.search(text, message):
            return True
    return False


def compare_verdicts(tool, programs, upstream, verbose):
    tally = collections.Counter()
    answers = ours(tool, [p.text for p in programs])
    for program, answer in zip(programs, answers):
        theirs = upstream.complaint(program.text)
        mine = None if answer[0] == "ok" else answer[3]
        kind = ("accepted" if mine is None else "refused") if (mine is None) == (theirs is None) else "differ"
        if kind == "differ":
            known = explained(STRICTER, program.op, mine) if theirs is None else explained(LOOSER, program.op, theirs)
            kind = "explained" if known else "unexplained"
            if not known or verbose:
                print(f"{kind}: {program.op} ({program.where} {program.label or ''})\n  MLIR: {theirs}\n  here: {mine}")
            if not known:
                print("    " + program.text.replace("\n", "\n    "))
        tally[kind] += 1
    return tally


# ---- inference ----

def unknown(type_text):
    """The same rank and elements, all sizes unknown."""
    return re.sub(r"(?<=[<x])\d+(?=x)", "?", type_text)


def is_as_known(mine, theirs):
    """The same type, or one with more known sizes: MLIR looks at one operand where several say a size. Bounds are left out."""
    mine, theirs = (re.sub(r", #stablehlo.bounds<[^>]*>", "", t) for t in (mine, theirs))
    pattern = re.escape(theirs).replace(r"\?", r"(\?|\d+)")
    return re.fullmatch(pattern, mine) is not None


def inferred_upstream(operation):
    """Types that MLIR infers for an operation from its operands, attributes and regions; None when it does not."""
    try:
        with operation.context, operation.location:
            made = ir.Operation.create(operation.name, operands=list(operation.operands), infer_type=True,
                                       attributes={a.name: a.attr for a in operation.attributes},
                                       regions=0) if not len(operation.regions) else None
        return None if made is None else [str(r.type) for r in made.results]
    except Exception:  # no inference interface, or it refuses
        return None


def resize_everywhere(text, rng):
    """One size becomes another one, or unknown, in all types that have it."""
    sizes = sorted(set(re.findall(r"(?<=[<x])\d+(?=x)", text)))
    if not sizes:
        return text
    old = rng.choice(sizes)
    return re.sub(r"(?<=[<x])" + old + r"(?=x)", rng.choice(["?", str(rng.randint(1, 12))]), text)


def resized(valid, count, rng, upstream):
    """Valid programs, and valid ones whose operands have other sizes, some of them unknown."""
    yield from valid
    for _ in range(count):
        base = rng.choice(valid)
        text = spelled_out(base.text)
        for _ in range(rng.randint(1, 3)):
            text = resize_everywhere(text, rng) if rng.random() < 0.7 else mutate_dimension(text, rng) or text
        if upstream.complaint(text) is None:
            yield Program(base.op, None, text, "resized")


def compare_types(tool, valid, upstream):
    """Results are written with unknown sizes; what inference makes of them is what MLIR infers."""
    tally = collections.Counter()
    texts, expected = [], []
    for program in valid:
        if program.op == "tuple":  # sizes inside of tuples are not refined
            continue
        text = spelled_out(program.text)
        with upstream.context:
            module = ir.Module.parse(text)
            operation = next((o for o in module.body.operations[0].regions[0].blocks[0].operations
                              if o.operation.name == "stablehlo." + program.op), None)
            types = inferred_upstream(operation.operation) if operation is not None else None
        if not types or any("tensor" not in t for t in types):
            continue
        head, arrow, tail = text.rpartition(" -> ")
        texts.append(head + arrow + unknown(tail.partition("\n")[0]) + "\n" + tail.partition("\n")[2])
        expected.append((program, types))
    for (program, types), answer in zip(expected, ours(tool, texts, "--types")):
        mine = answer[1:] if answer[0] == "ok" else answer
        mine = mine[-len(types):]
        same = len(mine) == len(types) and all(is_as_known(a, b) for a, b in zip(mine, types))
        tally["same" if same else "other"] += 1
        if not same:
            print(f"types of {program.op}: MLIR infers {types}, here {mine}")
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool", help="the built check_pieces")
    parser.add_argument("--count", type=int, default=5000, help="number of mutated programs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="print explained disagreements too")
    parser.add_argument("--skip-code", type=int, default=0, help="exit status when JAX is not installed")
    arguments = parser.parse_args()
    if ir is None:
        print("skipped: JAX is not installed")
        return arguments.skip_code
    upstream = Upstream()
    programs = list(read_programs())
    valid = [p for p in programs if p.label is None and p.op != "collective_reduce"]
    tally = compare_verdicts(arguments.tool, programs, upstream, arguments.verbose)
    print("marked programs:", dict(tally))
    rng = random.Random(arguments.seed)
    more = compare_verdicts(arguments.tool, list(mutated(valid, arguments.count, rng)), upstream, arguments.verbose)
    print("mutated programs:", dict(more))
    types = compare_types(arguments.tool, list(resized(valid, arguments.count, rng, upstream)), upstream)
    print("inferred types:", dict(types))
    return 1 if tally["unexplained"] + more["unexplained"] + types["other"] > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
