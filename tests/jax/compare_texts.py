"""Reads and prints MLIR texts with ridgeline and with MLIR itself (jaxlib), and compares.

For every piece of every text: what MLIR reads is read; MLIR reads the same program out of both printed forms; both forms are
what MLIR prints, byte for byte; what MLIR refuses for its syntax is refused. Differences that have a reason are in
EXCUSED_PRINT and EXCUSED_READ. Texts: tests/golden/mlir, tests/fuzz/corpus/text, text_cases.py, and the corpus of the data
folder (one piece in --every; --all: every one)."""
import argparse
import collections
import gzip
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile

try:
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
except ImportError:
    ir = None

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Operations of dialects that are read but that have only the generic form here.
GENERIC_ONLY = r'"(arith\.(constant|cmpi|select)|cf\.\w+|scf\.\w+|shape\.const_shape|tensor\.(dim|empty|extract|from_elements|insert_slice))"'

# (regular expression on "our line | MLIR's line", where a printed form first differs; why)
EXCUSED_PRINT = [
    (r"\| [#!]\w+ = ", "MLIR names affine maps, distinct attributes, locations and large tuples by aliases; here they are written out"),
    (GENERIC_ONLY + ".* \\| ", "printed in the generic form"),
    (r"(overflowFlags|fastmath) = ", "defaults of arith operations, which MLIR states in the generic form"),
    (r'"stablehlo\.while".*\| .*= stablehlo\.while', "types that differ between operands and arguments, which MLIR's pretty form loses"),
    (r"result_tilings", "an attribute of StableHLO 1.18; jaxlib has 1.17"),
    (r"device_ids=\[0\]>", "MLIR drops the device ids of a mesh that are 0, 1, 2, ..."),
    (r"mhlo\.(infeed|outfeed)", "MLIR drops attributes that these operations do not have"),
    (r"vhlo\.float_v1<|result_layout = #vhlo", "VHLO attributes are kept as text"),
    (r'call_target_name = "[^"]*" : ', "a string with a type, which MLIR's pretty form loses"),
    (r"complex<(f16|bf16|i\d+)>|dense<.*: vector<|[<x](si|ui|i)\d+>} |f80|f128|sparse<", "elements of types that the IR does not have are kept as text"),
    (r"!quant\.", "jaxlib has no quant dialect and keeps its types as written"),
    (r'"return"\(\)', "a name without its dialect"),
    (r"<\{\w*\}>", "of an operation of an unknown dialect only the names say which attributes are properties"),
    (r"memref<.*affine_map<\(d0\) -> \(d0\)>>", "MLIR drops a layout that is the identity"),
]

# (regular expression on MLIR's message and the line that it is about, why the text is read here)
EXCUSED_READ = [
    (r"[Ss]dy", "attributes of sdy are kept as balanced text; their versions differ"),
    (r"elements hex data size is invalid", "older text packs eight i1 into a byte"),
    (r"expected operation name in quotes", "dumps end in '----- END OF MLIR MODULE -----'"),
    (r"VHLO|vhlo", "attributes of VHLO are kept as text"),
    (r"undefined symbol alias id", "an alias may be used before its definition"),
    (r"(true|false) : i1", "a type behind true and false, as older text has"),
    (r"unexpected character\n\ufeff", "a byte order mark"),
    (r"mhlo\.topk.*is_stable", "a clause of a later version of mhlo"),
]

# (regular expression on our message, why the text is refused although MLIR reads it)
EXCUSED_REFUSED = [
    (r"E0108", "a pretty form of another dialect"),
    (r"binary data|bytecode where text", "NUL bytes, which no text has"),
    (r"an operation name consists of", "other characters in the name of an operation of an unknown dialect"),
    (r"quant\.uniform", "jaxlib has no quant dialect and takes any text for its types"),
]

# Of MLIR's messages, those about syntax. All others come from verifiers, some of which run inside the parser.
SYNTAX = re.compile(r"error: \"-\":\d+:\d+: (custom op '\S+' )?(expected ('.'|'->'|valid|operation name|attribute|integer|elements|\S+ (type|keyword|identifier))|unexpected|undefined|redefinition of (SSA|block)|unbalanced|invalid (character|block)|\S+ identifier expected)")
FOREIGN = re.compile(r"Dialect `|unregistered operation|found in dialect")

# Operations of dialects that jaxlib does not have; MLIR is given our generic form of such a text.
LOCAL_LINE = re.compile(r'^\s*(%[^=]*= )?"?(check|interpreter)\..*$', re.MULTILINE)
LOCAL_PRETTY = re.compile(r"^\s*(%[^=]*= )?(check|interpreter)\.\w", re.MULTILINE)


def context():
    c = mlir.make_ir_context()
    c.allow_unregistered_dialects = True
    return c


class Tool:
    """The built ridgeline."""

    def __init__(self, path, scratch):
        self.path = path
        self.file = pathlib.Path(scratch) / f"piece_{os.getpid()}.mlir"

    def print(self, form):
        done = subprocess.run([self.path, "convert", str(self.file), "--form", form], capture_output=True, check=False)
        if done.returncode < 0:
            raise RuntimeError(f"ridgeline ended by signal {-done.returncode}")
        return (done.stdout if done.returncode == 0 else None), done.stderr.decode(errors="replace")

    def forms(self, text):
        """(pretty, generic, message): None for both when the text is refused."""
        self.file.write_bytes(text)
        pretty, message = self.print("pretty")
        generic = self.print("generic")[0] if pretty is not None else None
        return pretty, generic, message


def mlir_read(text):
    """(module, message)"""
    try:
        with context():
            return ir.Module.parse(text), ""
    except (ir.MLIRError, ValueError, TypeError) as error:
        return None, str(error)


def printed(module, generic=False):
    return comparable(module.operation.get_asm(print_generic_op_form=generic))


def comparable(text):
    """Without what jaxlib does not know, and what MLIR makes different on each reading."""
    text = text if isinstance(text, str) else text.decode(errors="surrogateescape")
    text = re.sub(r"dense_resource<(\"?[\w ]+?)_\d+(\"?)>", r"dense_resource<\1\2>", text)
    text = re.sub(r"#sparse_tensor.encoding<\{\s*map = ([^}]*?)\s*\}>", r"#sparse_tensor.encoding<{map = \1}>", text)
    text = re.sub(r"\n\{-#.*", "\n", text, flags=re.DOTALL)
    return LOCAL_LINE.sub("LOCAL", text).rstrip("\n")


def first_difference(ours, theirs):
    for x, y in zip(ours.splitlines(), theirs.splitlines()):
        if x != y:
            at = next((i for i, (a, b) in enumerate(zip(x, y)) if a != b), min(len(x), len(y)))
            return f"{x.strip()} | {y.strip()}", f"{x[max(0, at - 40):at + 80].strip()} | {y[max(0, at - 40):at + 80].strip()}"
    return "one is longer", "one is longer"


def line_of(text, problem):
    """The line that a message of MLIR is about."""
    place = re.search(r'"-":(\d+):', problem)
    lines = text.decode(errors="replace").splitlines()
    return lines[int(place[1]) - 1] if place and int(place[1]) <= len(lines) else ""


def excuse(rows, text):
    return next((why for pattern, why in rows if re.search(pattern, text)), None)


def compare(tool, text):
    """[(kind, detail or excuse, is excused)] of one piece."""
    pretty, generic, message = tool.forms(text)
    has_local = bool(LOCAL_PRETTY.search(text.decode(errors="replace")))
    module, problem = mlir_read(generic if has_local and generic else text)
    if module is None:
        if pretty is None or FOREIGN.search(problem) or not SYNTAX.search(problem):
            return []
        why = excuse(EXCUSED_READ, f"{problem}\n{line_of(text, problem)}")
        return [("read, not by MLIR", why or problem[:300], why is not None)]
    if pretty is None:
        why = excuse(EXCUSED_REFUSED, message)
        return [("refused, not by MLIR", why or message[:300], why is not None)]
    found = []

    def differ(kind, ours, theirs):
        if ours != theirs:
            line, short = first_difference(ours, theirs)
            why = excuse(EXCUSED_PRINT, line)
            found.append((kind, why or short, why is not None))

    want, want_generic = printed(module), None
    for form, ours in (("pretty", pretty), ("generic", generic)):
        if LOCAL_PRETTY.search(ours.decode(errors="replace")):
            continue
        again, problem = mlir_read(ours)
        if again is None:
            why = "a name without its dialect" if b'"return"(' in text else None
            found.append((f"MLIR refuses our {form} form", why or problem[:300], why is not None))
            continue
        differ(f"MLIR reads another program out of our {form} form", printed(again), want)
        if form == "pretty":
            want_generic = printed(again, generic=True)  # without defaults that the text states; ours drops them
    differ("pretty form", comparable(pretty), want)
    differ("generic form", comparable(generic), want_generic or printed(module, generic=True))
    return found


def pieces(path):
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    for i, piece in enumerate(re.split(rb"(?m)^// -----.*$", data)):
        if piece.strip():
            yield f"{path}#{i}", piece


def texts(options):
    for folder in ("tests/golden/mlir", "tests/fuzz/corpus/text"):
        for path in sorted((ROOT / folder).iterdir()):
            if path.suffix == ".mlir":
                yield from pieces(path)
    import text_cases

    yield from text_cases.cases()
    corpus = pathlib.Path(options.data) / "corpus"
    if not corpus.is_dir():
        print("skipped: no data")
        return
    number = 0
    for path in sorted(corpus.rglob("*.mlir")) + (sorted(corpus.rglob("*.mlir.gz")) if options.all else []):
        for piece in pieces(path):
            number += 1
            if options.all or (number % options.every == 0 and len(piece[1]) < 200_000):
                yield piece


def compare_all(path, work):
    """Results in the order of `work`. In a child process: MLIR ends the process at some wrong programs."""
    position = 0
    while position < len(work):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            with tempfile.TemporaryDirectory() as scratch, os.fdopen(writer, "wb") as out:
                tool = Tool(path, scratch)
                for name, text in work[position:]:
                    pickle.dump((name, compare(tool, text)), out)
                    out.flush()
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as results:
            try:
                while True:
                    yield pickle.load(results)
                    position += 1
            except EOFError:
                pass
        os.waitpid(child, 0)
        if position < len(work):
            yield work[position][0], [("MLIR ends at it", "not compared", True)]
            position += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ridgeline")
    parser.add_argument("files", nargs="*", help="only these texts")
    parser.add_argument("--all", action="store_true", help="every piece of the corpus")
    parser.add_argument("--every", type=int, default=100, metavar="N", help="one of N pieces of the corpus")
    parser.add_argument("--data", default=os.environ.get("RIDGELINE_DATA", str(ROOT.parent / "shared" / "data")))
    parser.add_argument("--verbose", action="store_true", help="show what is excused, too")
    parser.add_argument("--skip-code", type=int, default=0, metavar="N", help="exit status without JAX")
    options = parser.parse_args()
    if ir is None:
        print("skipped: no JAX")
        return options.skip_code
    work = [p for f in options.files for p in pieces(pathlib.Path(f))] if options.files else list(texts(options))
    count = clean = 0
    excused, failed = collections.Counter(), []
    for name, found in compare_all(os.path.abspath(options.ridgeline), work):
        count += 1
        clean += not found
        for kind, detail, is_excused in found:
            if is_excused:
                excused[f"{kind}: {detail}"] += 1
            else:
                failed.append(f"FAILED {name}: {kind}: {detail}")
            if options.verbose:
                print(f"{name}: {kind}: {detail}")
    for reason, times in sorted(excused.items()):
        print(f"{times:6} {reason}")
    print("\n".join(failed[:100]))
    print(f"{count} pieces, {clean} without any difference, {len(failed)} differences without a reason")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
