"""Writes the seeds of the fuzz target `onnx`: one small model per operator of onnx_ops_cases.py, and of the five models the
smallest versions. usage: write_corpus.py FOLDER"""
import pathlib
import sys

from compare_ops import model_of
from onnx_models import bert, llama
from onnx_ops_cases import CASES


def main():
    folder, seen = pathlib.Path(sys.argv[1]), set()
    folder.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        key = (case.kind, case.domain)
        if key in seen:
            continue
        seen.add(key)
        name = (case.domain + "." if case.domain else "") + case.kind
        (folder / f"{name}.onnx").write_bytes(model_of(case).SerializeToString())
    for name, model in (("bert", bert(width=4, heads=2, layers=1, vocab=4)), ("llama", llama(width=8, layers=1, hidden=4, vocab=4))):
        (folder / f"model_{name}.onnx").write_bytes(model[0].SerializeToString())


if __name__ == "__main__":
    main()
