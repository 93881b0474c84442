/* Element types: constant tables over dtype.def, and the inverse of their names for the type parser. */
#include "base/dtype.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"

struct dtype_row {
  const char *name;
  uint8_t bits;
  uint8_t storage_bits;
  uint8_t class_;
  uint8_t exponent_bits;
  uint8_t mantissa_bits;
};

static const struct dtype_row rows[DTYPE_COUNT] = {
#define RDG_DTYPE(id, name, bits, storage, cls, e, m) {name, bits, storage, DTYPE_CLASS_##cls, e, m},
#include "base/dtype.def"
#undef RDG_DTYPE
};

static const struct dtype_row *row_of(enum dtype dtype) {
  assert((unsigned)dtype < DTYPE_COUNT);
  return &rows[dtype];
}

const char *dtype_name(enum dtype dtype) {
  return row_of(dtype)->name;
}

unsigned dtype_bits(enum dtype dtype) {
  return row_of(dtype)->bits;
}

unsigned dtype_storage_bits(enum dtype dtype) {
  return row_of(dtype)->storage_bits;
}

enum dtype_class dtype_class_of(enum dtype dtype) {
  return (enum dtype_class)row_of(dtype)->class_;
}

unsigned dtype_exponent_bits(enum dtype dtype) {
  return row_of(dtype)->exponent_bits;
}

unsigned dtype_mantissa_bits(enum dtype dtype) {
  return row_of(dtype)->mantissa_bits;
}

bool dtype_is_floating(enum dtype dtype) {
  enum dtype_class class_ = dtype_class_of(dtype);
  return class_ == DTYPE_CLASS_FLOAT || class_ == DTYPE_CLASS_COMPLEX;
}

bool dtype_is_integral(enum dtype dtype) {
  enum dtype_class class_ = dtype_class_of(dtype);
  return class_ == DTYPE_CLASS_BOOL || class_ == DTYPE_CLASS_SINT || class_ == DTYPE_CLASS_UINT
         || class_ == DTYPE_CLASS_INDEX;
}

uint64_t dtype_size_bytes(enum dtype dtype, uint64_t count) {
  /* eights of elements take exactly storage_bits bytes, so only the remainder needs rounding */
  uint64_t storage_bits = row_of(dtype)->storage_bits;
  return sat_add_u64(sat_mul_u64(count / 8, storage_bits), ceil_div_u64(count % 8 * storage_bits, 8));
}

/* Names of up to four bytes as integers, so that a name is one switch. */
#define KEY(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

static enum dtype parse_short(const char *text, size_t length) {
  if (length == 0 || text[length - 1] == '\0') { /* a NUL would pass for padding */
    return DTYPE_NONE;
  }
  unsigned char b[4] = {0};
  for (size_t i = 0; i < length; i++) {
    b[i] = (unsigned char)text[i];
  }
  switch (KEY(b[0], b[1], b[2], b[3])) {
  case KEY('f', '3', '2', 0):
    return DTYPE_F32;
  case KEY('b', 'f', '1', '6'):
    return DTYPE_BF16;
  case KEY('f', '1', '6', 0):
    return DTYPE_F16;
  case KEY('f', '6', '4', 0):
    return DTYPE_F64;
  case KEY('t', 'f', '3', '2'):
    return DTYPE_TF32;
  case KEY('i', '1', 0, 0):
    return DTYPE_I1;
  case KEY('i', '2', 0, 0):
    return DTYPE_I2;
  case KEY('i', '4', 0, 0):
    return DTYPE_I4;
  case KEY('i', '8', 0, 0):
    return DTYPE_I8;
  case KEY('i', '1', '6', 0):
    return DTYPE_I16;
  case KEY('i', '3', '2', 0):
    return DTYPE_I32;
  case KEY('i', '6', '4', 0):
    return DTYPE_I64;
  case KEY('u', 'i', '2', 0):
    return DTYPE_UI2;
  case KEY('u', 'i', '4', 0):
    return DTYPE_UI4;
  case KEY('u', 'i', '8', 0):
    return DTYPE_UI8;
  case KEY('u', 'i', '1', '6'):
    return DTYPE_UI16;
  case KEY('u', 'i', '3', '2'):
    return DTYPE_UI32;
  case KEY('u', 'i', '6', '4'):
    return DTYPE_UI64;
  default:
    return DTYPE_NONE;
  }
}

static enum dtype match(const char *text, enum dtype dtype) {
  const char *name = rows[dtype].name;
  return memcmp(name, text, strlen(name)) == 0 ? dtype : DTYPE_NONE;
}

enum dtype dtype_parse(const char *text, size_t length) {
  if (length <= 4) {
    return parse_short(text, length);
  }
  switch (length) {
  case 5:
    return match(text, DTYPE_INDEX);
  case 6:
    return match(text, text[3] == '3' ? DTYPE_F8E3M4 : text[3] == '4' ? DTYPE_F8E4M3 : DTYPE_F8E5M2);
  case 8:
    if (text[1] == '8') {
      return match(text, DTYPE_F8E4M3FN);
    }
    return match(text, text[3] == '3' ? DTYPE_F6E3M2FN : text[1] == '4' ? DTYPE_F4E2M1FN : DTYPE_F6E2M3FN);
  case 9:
    return match(text, DTYPE_F8E8M0FNU);
  case 10:
    return match(text, text[3] == '4' ? DTYPE_F8E4M3FNUZ : DTYPE_F8E5M2FNUZ);
  case 12:
    return match(text, text[9] == '3' ? DTYPE_C64 : DTYPE_C128);
  case 13:
    return match(text, DTYPE_F8E4M3B11FNUZ);
  default:
    return DTYPE_NONE;
  }
}
