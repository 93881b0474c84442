"""NumPy arrays and the library's tensors. Types that NumPy lacks are those of ml_dtypes."""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING, Any

from . import _abi

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]

# MLIR's name -> (type of NumPy or None, type of ml_dtypes, type that holds its bits)
_TYPES: dict[str, tuple[str | None, str | None, str]] = {
    "i1": ("bool", None, "uint8"),
    "i2": (None, "int2", "int8"),
    "i4": (None, "int4", "int8"),
    "i8": ("int8", None, "int8"),
    "i16": ("int16", None, "int16"),
    "i32": ("int32", None, "int32"),
    "i64": ("int64", None, "int64"),
    "ui2": (None, "uint2", "uint8"),
    "ui4": (None, "uint4", "uint8"),
    "ui8": ("uint8", None, "uint8"),
    "ui16": ("uint16", None, "uint16"),
    "ui32": ("uint32", None, "uint32"),
    "ui64": ("uint64", None, "uint64"),
    "f4E2M1FN": (None, "float4_e2m1fn", "uint8"),
    "f6E2M3FN": (None, "float6_e2m3fn", "uint8"),
    "f6E3M2FN": (None, "float6_e3m2fn", "uint8"),
    "f8E3M4": (None, "float8_e3m4", "uint8"),
    "f8E4M3": (None, "float8_e4m3", "uint8"),
    "f8E4M3FN": (None, "float8_e4m3fn", "uint8"),
    "f8E4M3FNUZ": (None, "float8_e4m3fnuz", "uint8"),
    "f8E4M3B11FNUZ": (None, "float8_e4m3b11fnuz", "uint8"),
    "f8E5M2": (None, "float8_e5m2", "uint8"),
    "f8E5M2FNUZ": (None, "float8_e5m2fnuz", "uint8"),
    "f8E8M0FNU": (None, "float8_e8m0fnu", "uint8"),
    "f16": ("float16", None, "uint16"),
    "bf16": (None, "bfloat16", "uint16"),
    "tf32": ("float32", None, "uint32"),
    "f32": ("float32", None, "uint32"),
    "f64": ("float64", None, "uint64"),
    "complex<f32>": ("complex64", None, "uint64"),
    "complex<f64>": ("complex128", None, "complex128"),
    "index": ("int64", None, "int64"),
}


def need_numpy() -> Any:
    try:
        import numpy
    except ImportError as error:
        raise ImportError("ridgeline.run works on NumPy arrays: pip install numpy ml_dtypes") from error
    return numpy


def _ml_dtypes() -> Any:
    try:
        import ml_dtypes
    except ImportError:
        return None
    return ml_dtypes


def dtype_name(number: int) -> str:
    """MLIR's name of an element type."""
    return str(_abi.library.rdg_dtype_name(number).decode())


@functools.lru_cache(maxsize=None)
def numpy_dtype(name: str) -> np.dtype[Any]:
    """The type of arrays with such elements; without ml_dtypes, an integer type of the same width that holds the bits."""
    native, extension, bits = _TYPES[name]
    found = native or getattr(_ml_dtypes(), extension or "", bits)
    dtype: np.dtype[Any] = need_numpy().dtype(found)
    return dtype


def _is_stand_in(name: str) -> bool:
    """True when arrays of the type hold its bits only, as ml_dtypes is missing or too old to have it."""
    native, _, bits = _TYPES[name]
    return native is None and str(numpy_dtype(name)) == bits


def _number_of(name: str) -> int:
    return int(_abi.library.rdg_dtype_parse(name.encode()))


@functools.lru_cache(maxsize=None)
def _name_of(dtype: np.dtype[Any]) -> str:
    for name in _TYPES:
        if name not in ("tf32", "index") and numpy_dtype(name) == dtype and not _is_stand_in(name):
            return name
    raise TypeError(f"arrays of {dtype} are no tensors of a program")


def array_for(value: Any, name: str) -> Array:
    """``value`` as an array: what has a dtype keeps it, numbers and lists of them take that of the parameter, ``name``."""
    np = need_numpy()
    if not hasattr(value, "dtype") and name in _TYPES:
        if _is_stand_in(name):
            raise TypeError(f"numbers become {name} through ml_dtypes: pip install ml_dtypes, or give an array")
        value = np.asarray(value, numpy_dtype(name))
    array = np.asarray(value)
    contiguous: Array = np.require(array.astype(array.dtype.newbyteorder("="), copy=False), requirements="C")
    return contiguous


def tensor_of(array: Array, name: str) -> tuple[_abi.Tensor, tuple[Any, ...]]:
    """A tensor over the array's memory for a parameter of type ``name``, and what has to live as long."""
    is_bits = name in _TYPES and _is_stand_in(name) and str(array.dtype) == _TYPES[name][2]
    type_name = name if is_bits else _name_of(array.dtype)
    if type_name in ("i2", "i4"):
        array = array.astype("int8")  # sign-extended, whatever ml_dtypes keeps above the bits
    dims = (ctypes.c_int64 * array.ndim)(*array.shape)
    tensor = _abi.Tensor(_number_of(type_name), array.ndim, dims, array.ctypes.data, array.nbytes)
    return tensor, (array, dims)


def array_of(tensor: _abi.Tensor) -> Array:
    """A copy of the tensor."""
    np = need_numpy()
    name = dtype_name(tensor.dtype)
    dims = tuple(tensor.dims[i] for i in range(tensor.rank))
    is_narrow = name in ("i2", "i4")
    array: Array = np.empty(dims, "int8" if is_narrow else numpy_dtype(name))
    if array.nbytes != tensor.size_bytes:
        raise TypeError(f"elements of {name} take {tensor.size_bytes} bytes here, {array.nbytes} in NumPy")
    ctypes.memmove(array.ctypes.data, tensor.data, tensor.size_bytes)
    return array.astype(numpy_dtype(name)) if is_narrow else array
