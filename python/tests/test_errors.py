"""What is wrong is raised with its place; what is doubtful is a warning at the caller's line."""

from __future__ import annotations

import pathlib
import pickle
import threading
import warnings

import pytest
import ridgeline
from conftest import MATMUL, WRONG, unary


def test_errors_have_places(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "wrong.mlir"
    path.write_text(WRONG, encoding="utf-8")
    for program, name in ((path, str(path)), (WRONG, "<program>")):
        with pytest.raises(ridgeline.RidgelineError) as caught:
            ridgeline.predict(program, on="h100")
        error = caught.value
        first = error.diagnostics[0]
        assert error.status == "input" and first.severity == "error" and first.code.startswith("E")
        assert (first.file, first.line) == (name, 2) and first.column
        assert f"{name}:2:" in str(error) and "\n  return %a" in str(error)  # the line that is meant
        assert str(first).startswith(f"{name}:2:{first.column}: ")
        assert pickle.loads(pickle.dumps(error)).diagnostics == error.diagnostics


def test_all_wrong_chips_are_named() -> None:
    with pytest.raises(ridgeline.RidgelineError) as caught:
        ridgeline.predict(MATMUL, on=["h1000", "h100", "mi300y"])
    assert [d.message.split("'")[1] for d in caught.value.diagnostics] == ["h1000", "mi300y"]
    assert "did you mean 'h100'" in str(caught.value)


def test_missing_files() -> None:
    with pytest.raises(ridgeline.RidgelineError, match="missing.mlir") as caught:
        ridgeline.inspect("missing.mlir")
    assert caught.value.status == "io"


def test_conversion_names_the_program_and_not_a_scratch_file() -> None:
    with pytest.raises(ridgeline.RidgelineError) as caught:
        ridgeline.convert("module @broken {\n  func.func @main( {\n}\n")
    assert {d.file for d in caught.value.diagnostics} == {"broken"} and "/tmp" not in str(caught.value)


def test_warnings_point_at_the_caller() -> None:
    two = unary("tanh", "f32").replace("@main", "@f") + unary("tanh", "f32").replace("@main", "@g")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ridgeline.inspect(two)
    (warning,) = caught
    assert issubclass(warning.category, ridgeline.RidgelineWarning) and warning.filename == __file__
    assert isinstance(warning.message, ridgeline.RidgelineWarning) and warning.message.diagnostic.code.startswith("W")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ridgeline.RidgelineWarning)
        with pytest.raises(ridgeline.RidgelineWarning):
            ridgeline.inspect(two)
        assert ridgeline.inspect(MATMUL).flops > 0  # and nothing is left behind


def test_threads_do_not_share_what_they_do() -> None:
    shared = ridgeline.Program(MATMUL)
    want = shared.predict("h100,mi300x")
    failures: list[object] = []

    def work(number: int) -> None:
        try:
            for _ in range(5):
                if shared.predict("h100,mi300x") != want or ridgeline.predict(MATMUL, on="h100,mi300x") != want:
                    failures.append(number)
                with pytest.raises(ridgeline.RidgelineError) as caught:
                    ridgeline.inspect(WRONG.replace("main", f"f{number}"))
                if len(caught.value.diagnostics) != 1:
                    failures.append(caught.value)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_texts_for_c_have_no_nul() -> None:
    for call in (
        lambda: ridgeline.inspect("a\0b.mlir"),
        lambda: ridgeline.predict(MATMUL, on="h100\0"),
        lambda: ridgeline.predict(MATMUL, on="h100", entry="ma\0in"),
    ):
        with pytest.raises(ValueError, match="NUL|null"):
            call()
    with pytest.raises(ridgeline.RidgelineError):  # of a program itself it is a byte like others
        ridgeline.inspect("module {\0\n}")
