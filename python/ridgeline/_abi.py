"""The C interface as ctypes sees it: what of ridgeline.h this package uses, and where the library is.

The header is the documentation; names here are its names without ``rdg_``. ``tests/test_abi.py`` holds every structure and
number against ``tests/abi/public_layout.def`` of the repository.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
from ctypes import (
    POINTER,
    Structure,
    c_bool,
    c_char_p,
    c_double,
    c_int,
    c_int64,
    c_size_t,
    c_uint,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

# ---- numbers -----------------------------------------------------------------------------------------------------------

STATUS_NAMES = ("ok", "input", "memory", "limit", "io", "unsupported")
SEVERITY_NAMES = ("error", "warning", "note")
FORMAT_TEXT, FORMAT_JSON, FORMAT_TRACE, FORMAT_PLAN, FORMAT_CHART, FORMAT_CORES = range(6)
FORM_NUMBERS = {"pretty": 0, "generic": 1}
FILL_NUMBERS = {"none": 0, "zero": 1, "random": 2}

# ---- structures --------------------------------------------------------------------------------------------------------

WRITE_FUNCTION = ctypes.CFUNCTYPE(c_bool, c_void_p, c_void_p, c_size_t)


class Config(Structure):
    _fields_ = [("hardware_directory", c_char_p), ("memory_budget_bytes", c_size_t), ("error_limit", c_uint)]


class DiagnosticStruct(Structure):
    _fields_ = [
        ("severity", c_int),
        ("code", c_char_p),
        ("file", c_char_p),
        ("line", c_uint),
        ("column", c_uint),
        ("message", c_char_p),
    ]


class Sink(Structure):
    _fields_ = [("write", WRITE_FUNCTION), ("user", c_void_p)]


class LoadOptions(Structure):
    _fields_ = [
        ("binds", POINTER(c_char_p)),
        ("bind_count", c_size_t),
        ("entry", c_char_p),
        ("only_to_run", c_bool),
        ("unit", c_size_t),
    ]


class ArtifactOptions(Structure):
    _fields_ = [("target", c_char_p), ("locations", c_bool)]


class Tensor(Structure):
    _fields_ = [
        ("dtype", c_int),
        ("rank", c_uint32),
        ("dims", POINTER(c_int64)),
        ("data", c_void_p),
        ("size_bytes", c_size_t),
    ]


class SignatureEntry(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_char_p),
        ("dtype", c_int),
        ("rank", c_uint32),
        ("dims", POINTER(c_int64)),
    ]


class RunOptions(Structure):
    _fields_ = [
        ("memory_budget_bytes", c_uint64),
        ("operation_budget", c_uint64),
        ("max_depth", c_uint),
        ("replicas", c_uint),
        ("partitions", c_uint),
        ("inputs_per_process", c_bool),
        ("plain", c_bool),
        ("fill", c_int),
        ("seed", c_uint64),
        ("print", POINTER(Sink)),
    ]


class PredictOptions(Structure):
    _fields_ = [("fidelity", c_char_p), ("f32_as", c_char_p), ("without_fusion", c_bool), ("top", c_uint)]


class StepOptions(Structure):
    _fields_ = [
        ("fidelity", c_char_p),
        ("f32_as", c_char_p),
        ("network", c_char_p),
        ("overlap", c_char_p),
        ("shape", c_char_p),
        ("devices", c_uint64),
        ("straggler", c_double),
        ("timeline", c_bool),
        ("top", c_uint),
    ]


PROGRESS_FUNCTION = ctypes.CFUNCTYPE(None, c_void_p, c_uint64, c_uint64)


class ChakraOptions(Structure):
    _fields_ = [("name", c_char_p), ("ranks", c_uint64), ("progress", PROGRESS_FUNCTION), ("user", c_void_p)]


class PlanOptions(Structure):
    _fields_ = [
        ("policies", POINTER(c_char_p)),
        ("policy_count", c_size_t),
        ("published", c_bool),
        ("without", POINTER(c_char_p)),
        ("without_count", c_size_t),
        ("ablation", c_bool),
        ("what_if_s", c_double),
        ("budget", c_uint64),
        ("threads", c_uint),
        ("operators", c_uint),
    ]


STRUCTURES: dict[str, type[Structure]] = {
    "rdg_config": Config,
    "rdg_diagnostic": DiagnosticStruct,
    "rdg_sink": Sink,
    "rdg_load_options": LoadOptions,
    "rdg_artifact_options": ArtifactOptions,
    "rdg_tensor": Tensor,
    "rdg_signature_entry": SignatureEntry,
    "rdg_run_options": RunOptions,
    "rdg_predict_options": PredictOptions,
    "rdg_step_options": StepOptions,
    "rdg_chakra_options": ChakraOptions,
    "rdg_plan_options": PlanOptions,
}

# ---- functions ---------------------------------------------------------------------------------------------------------

_HANDLE = c_void_p
_OUT = POINTER(c_void_p)
_LOAD = POINTER(LoadOptions)
_NAMES = POINTER(c_char_p)

FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "rdg_version": (c_char_p, ()),
    "rdg_context_new": (_HANDLE, (POINTER(Config),)),
    "rdg_context_free": (None, (_HANDLE,)),
    "rdg_diagnostic_count": (c_size_t, (_HANDLE,)),
    "rdg_diagnostic_get": (c_bool, (_HANDLE, c_size_t, POINTER(DiagnosticStruct))),
    "rdg_diagnostics_text": (c_char_p, (_HANDLE,)),
    "rdg_program_load": (c_int, (_HANDLE, c_char_p, _LOAD, _OUT)),
    "rdg_program_parse": (c_int, (_HANDLE, c_char_p, c_char_p, c_size_t, _LOAD, _OUT)),
    "rdg_program_free": (None, (_HANDLE,)),
    "rdg_convert": (c_int, (_HANDLE, c_char_p, _LOAD, c_int, Sink)),
    "rdg_convert_artifact": (c_int, (_HANDLE, c_char_p, _LOAD, POINTER(ArtifactOptions), Sink)),
    "rdg_inspect": (c_int, (_HANDLE, _HANDLE, c_int, Sink)),
    "rdg_explain": (c_int, (_HANDLE, _HANDLE, c_char_p, c_char_p, c_int, Sink)),
    "rdg_dtype_name": (c_char_p, (c_int,)),
    "rdg_dtype_parse": (c_int, (c_char_p,)),
    "rdg_dtype_size": (c_size_t, (c_int,)),
    "rdg_program_input_count": (c_size_t, (_HANDLE,)),
    "rdg_program_output_count": (c_size_t, (_HANDLE,)),
    "rdg_program_input": (c_bool, (_HANDLE, c_size_t, POINTER(SignatureEntry))),
    "rdg_program_output": (c_bool, (_HANDLE, c_size_t, POINTER(SignatureEntry))),
    "rdg_run": (c_int, (_HANDLE, _HANDLE, POINTER(RunOptions), POINTER(Tensor), c_size_t, _OUT)),
    "rdg_run_process_count": (c_size_t, (_HANDLE,)),
    "rdg_run_result_count": (c_size_t, (_HANDLE,)),
    "rdg_run_result_get": (c_bool, (_HANDLE, c_size_t, c_size_t, POINTER(Tensor))),
    "rdg_run_time_s": (c_double, (_HANDLE,)),
    "rdg_run_result_free": (None, (_HANDLE,)),
    "rdg_chips_list": (c_int, (_HANDLE, c_int, Sink)),
    "rdg_chip_show": (c_int, (_HANDLE, c_char_p, c_int, Sink)),
    "rdg_predict": (c_int, (_HANDLE, _HANDLE, _NAMES, c_size_t, POINTER(PredictOptions), _OUT)),
    "rdg_prediction_write": (c_int, (_HANDLE, _HANDLE, c_int, Sink)),
    "rdg_prediction_free": (None, (_HANDLE,)),
    "rdg_step_predict": (c_int, (_HANDLE, _HANDLE, _NAMES, c_size_t, POINTER(StepOptions), _OUT)),
    "rdg_step_write": (c_int, (_HANDLE, _HANDLE, c_int, Sink)),
    "rdg_step_write_chakra": (c_int, (_HANDLE, _HANDLE, c_char_p, POINTER(ChakraOptions))),
    "rdg_step_free": (None, (_HANDLE,)),
    "rdg_plan_run": (c_int, (_HANDLE, _HANDLE, c_char_p, POINTER(PlanOptions), _OUT)),
    "rdg_plan_write": (c_int, (_HANDLE, _HANDLE, c_int, Sink)),
    "rdg_plan_check_file": (c_int, (_HANDLE, c_char_p, Sink)),
    "rdg_plan_free": (None, (_HANDLE,)),
}

# ---- the library -------------------------------------------------------------------------------------------------------

INTERFACE = "0.1"
"""The SONAME's version: the layouts above are those of this one."""


def _library_path() -> str:
    """``$RIDGELINE_LIBRARY``, the library in this package, or what the system's loader finds."""
    stated = os.environ.get("RIDGELINE_LIBRARY")
    if stated:
        return stated
    packaged = pathlib.Path(__file__).resolve().parent / "lib" / "libridgeline.so"
    return str(packaged) if packaged.exists() else f"libridgeline.so.{INTERFACE}"


def _load() -> ctypes.CDLL:
    path = _library_path()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"{error}. The library uses libyaml, jansson, SQLite, libzip, zlib, zstd and, where it was built with it, "
            "LAPACKE of the system; 'pip install ./python' in a clone of Ridgeline builds it, and $RIDGELINE_LIBRARY "
            "names another one"
        ) from error
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    version = library.rdg_version().decode()
    if version.split(".")[:2] != INTERFACE.split("."):
        raise ImportError(f"{path} is Ridgeline {version}; this package speaks the interface of {INTERFACE}")
    return library


library = _load()
version: str = library.rdg_version().decode()
