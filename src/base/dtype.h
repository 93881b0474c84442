/* Element types of tensors: the rows of dtype.def as an enum with O(1) facts. */
#ifndef RIDGELINE_BASE_DTYPE_H
#define RIDGELINE_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dtype {
#define RDG_DTYPE(id, name, bits, storage, cls, e, m) DTYPE_##id,
#include "base/dtype.def"
#undef RDG_DTYPE
  DTYPE_COUNT
};

enum dtype_class {
  DTYPE_CLASS_NONE,
  DTYPE_CLASS_BOOL,
  DTYPE_CLASS_SINT,
  DTYPE_CLASS_UINT,
  DTYPE_CLASS_FLOAT,
  DTYPE_CLASS_COMPLEX,
  DTYPE_CLASS_INDEX
};

/* The MLIR spelling; static storage. */
const char *dtype_name(enum dtype dtype);
/* Inverse of dtype_name over (text, length); DTYPE_NONE when unknown. O(1): dispatches on length and bytes. */
enum dtype dtype_parse(const char *text, size_t length);
unsigned dtype_bits(enum dtype dtype);
unsigned dtype_storage_bits(enum dtype dtype);
enum dtype_class dtype_class_of(enum dtype dtype);
unsigned dtype_exponent_bits(enum dtype dtype);
unsigned dtype_mantissa_bits(enum dtype dtype);
/* True for float and complex types. */
bool dtype_is_floating(enum dtype dtype);
/* True for bool, signed, unsigned and index types. */
bool dtype_is_integral(enum dtype dtype);
/* Bytes that `count` packed elements take in device memory; saturates at UINT64_MAX. */
uint64_t dtype_size_bytes(enum dtype dtype, uint64_t count);

#endif
