/* Elements of tensors as numbers that arithmetic is done in, and back. Path: the operations read pieces of tensors, compute
 * on doubles or 64-bit integers, and write pieces. */
#include <math.h>
#include <string.h>

#include "base/minifloat.h"
#include "interp/interp_int.h"

/* ---- integers --------------------------------------------------------------------------------------------------------- */

#define READ_INTS(type)                                                                                                \
  do {                                                                                                                 \
    const type *from = (const type *)(const void *)v->data + first;                                                    \
    for (uint64_t i = 0; i < count; i++) {                                                                             \
      out[i] = (int64_t)from[i];                                                                                       \
    }                                                                                                                  \
  } while (0)

/* i2, i4, ui2, ui4 and i1: one byte holds the low bits. */
static void read_narrow(const struct interp_value *v, uint64_t first, uint64_t count, int64_t *out) {
  unsigned bits = dtype_bits((enum dtype)v->dtype);
  unsigned mask = (1u << bits) - 1, sign = 1u << (bits - 1);
  bool is_signed = dtype_class_of((enum dtype)v->dtype) == DTYPE_CLASS_SINT;
  for (uint64_t i = 0; i < count; i++) {
    unsigned raw = v->data[first + i] & mask;
    out[i] = is_signed && (raw & sign) ? (int64_t)raw - (int64_t)(mask + 1) : (int64_t)raw;
  }
}

void interp_read_int(const struct interp_value *v, uint64_t first, uint64_t count, int64_t *out) {
  switch ((enum dtype)v->dtype) {
  case DTYPE_I8:
    READ_INTS(int8_t);
    break;
  case DTYPE_I16:
    READ_INTS(int16_t);
    break;
  case DTYPE_I32:
    READ_INTS(int32_t);
    break;
  case DTYPE_UI8:
    READ_INTS(uint8_t);
    break;
  case DTYPE_UI16:
    READ_INTS(uint16_t);
    break;
  case DTYPE_UI32:
    READ_INTS(uint32_t);
    break;
  case DTYPE_I64:
  case DTYPE_UI64:
  case DTYPE_INDEX:
    if (count > 0) {
      memcpy(out, v->data + first * sizeof *out, count * sizeof *out);
    }
    break;
  default:
    read_narrow(v, first, count, out);
  }
}

#define WRITE_INTS(type)                                                                                               \
  do {                                                                                                                 \
    type *to = (type *)(void *)v->data + first;                                                                        \
    for (uint64_t i = 0; i < count; i++) {                                                                             \
      to[i] = (type)(uint64_t)in[i];                                                                                   \
    }                                                                                                                  \
  } while (0)

/* Sub-byte integers keep their sign in the byte, as constants do. */
static void write_narrow(struct interp_value *v, uint64_t first, uint64_t count, const int64_t *in) {
  unsigned bits = dtype_bits((enum dtype)v->dtype);
  unsigned mask = (1u << bits) - 1, sign = 1u << (bits - 1);
  bool is_signed = dtype_class_of((enum dtype)v->dtype) == DTYPE_CLASS_SINT;
  for (uint64_t i = 0; i < count; i++) {
    unsigned raw = (unsigned)((uint64_t)in[i] & mask);
    v->data[first + i] = (uint8_t)(is_signed && (raw & sign) ? raw | ~mask : raw);
  }
}

void interp_write_int(struct interp_value *v, uint64_t first, uint64_t count, const int64_t *in) {
  switch ((enum dtype)v->dtype) {
  case DTYPE_I8:
  case DTYPE_UI8:
    WRITE_INTS(uint8_t);
    break;
  case DTYPE_I16:
  case DTYPE_UI16:
    WRITE_INTS(uint16_t);
    break;
  case DTYPE_I32:
  case DTYPE_UI32:
    WRITE_INTS(uint32_t);
    break;
  case DTYPE_I64:
  case DTYPE_UI64:
  case DTYPE_INDEX:
    if (count > 0) {
      memcpy(v->data + first * sizeof *in, in, count * sizeof *in);
    }
    break;
  default:
    write_narrow(v, first, count, in);
  }
}

int64_t interp_int_at(const struct interp_value *v, uint64_t i) {
  int64_t value;
  interp_read_int(v, i, 1, &value);
  return value;
}

/* ---- floats ------------------------------------------------------------------------------------------------------------ */

static float bf16_to_float(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

static void read_small_floats(const struct interp_value *v, uint64_t first, uint64_t count, double *out) {
  unsigned bytes = interp_element_bytes(v);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t bits = 0;
    memcpy(&bits, v->data + (first + i) * bytes, bytes);
    out[i] = minifloat_decode((enum dtype)v->dtype, bits);
  }
}

static void read_ints_as_real(const struct interp_value *v, uint64_t first, uint64_t count, double *out) {
  bool is_unsigned = dtype_class_of((enum dtype)v->dtype) == DTYPE_CLASS_UINT;
  int64_t piece[INTERP_CHUNK];
  for (uint64_t done = 0; done < count; done += INTERP_CHUNK) {
    uint64_t n = count - done < INTERP_CHUNK ? count - done : INTERP_CHUNK;
    interp_read_int(v, first + done, n, piece);
    for (uint64_t i = 0; i < n; i++) {
      out[done + i] = is_unsigned ? (double)(uint64_t)piece[i] : (double)piece[i];
    }
  }
}

void interp_read_real(const struct interp_value *v, uint64_t first, uint64_t count, double *out) {
  if (interp_is_integral(v)) {
    read_ints_as_real(v, first, count, out);
    return;
  }
  switch ((enum dtype)v->dtype) {
  case DTYPE_F64:
    if (count > 0) {
      memcpy(out, v->data + first * sizeof *out, count * sizeof *out);
    }
    break;
  case DTYPE_F32: {
    const float *from = (const float *)(const void *)v->data + first;
    for (uint64_t i = 0; i < count; i++) {
      out[i] = from[i];
    }
    break;
  }
  case DTYPE_BF16: {
    const uint16_t *from = (const uint16_t *)(const void *)v->data + first;
    for (uint64_t i = 0; i < count; i++) {
      out[i] = bf16_to_float(from[i]);
    }
    break;
  }
  default:
    read_small_floats(v, first, count, out);
  }
}

/* Rounds once: what the step by way of f32 loses leaves its last bit set, so that nothing becomes a tie. */
static uint16_t bf16_from_double(double x) {
  float narrow = (float)x;
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  if ((double)narrow != x) {
    if (isnan(x)) {
      return (uint16_t)minifloat_encode(DTYPE_BF16, x);
    }
    bits = (bits - (fabs((double)narrow) > fabs(x))) | 1;
  }
  return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

void interp_write_real(struct interp_value *v, uint64_t first, uint64_t count, const double *in) {
  switch ((enum dtype)v->dtype) {
  case DTYPE_F64:
    if (count > 0) {
      memcpy(v->data + first * sizeof *in, in, count * sizeof *in);
    }
    break;
  case DTYPE_F32: {
    float *to = (float *)(void *)v->data + first;
    for (uint64_t i = 0; i < count; i++) {
      to[i] = (float)in[i];
    }
    break;
  }
  case DTYPE_BF16: {
    uint16_t *to = (uint16_t *)(void *)v->data + first;
    for (uint64_t i = 0; i < count; i++) {
      to[i] = bf16_from_double(in[i]);
    }
    break;
  }
  default: {
    unsigned bytes = interp_element_bytes(v);
    for (uint64_t i = 0; i < count; i++) {
      uint64_t bits = minifloat_encode((enum dtype)v->dtype, in[i]);
      memcpy(v->data + (first + i) * bytes, &bits, bytes);
    }
  }
  }
}

/* ---- complex ----------------------------------------------------------------------------------------------------------- */

void interp_read_complex(const struct interp_value *v, uint64_t first, uint64_t count, double *out) {
  if (v->dtype == DTYPE_C128) {
    if (count > 0) {
      memcpy(out, v->data + first * 16, count * 16);
    }
  } else if (v->dtype == DTYPE_C64) {
    const float *from = (const float *)(const void *)v->data + 2 * first;
    for (uint64_t i = 0; i < 2 * count; i++) {
      out[i] = from[i];
    }
  } else {
    interp_read_real(v, first, count, out);
    for (uint64_t i = count; i-- > 0;) {
      out[2 * i] = out[i];
      out[2 * i + 1] = 0;
    }
  }
}

void interp_write_complex(struct interp_value *v, uint64_t first, uint64_t count, const double *in) {
  if (v->dtype == DTYPE_C128) {
    if (count > 0) {
      memcpy(v->data + first * 16, in, count * 16);
    }
  } else {
    float *to = (float *)(void *)v->data + 2 * first;
    for (uint64_t i = 0; i < 2 * count; i++) {
      to[i] = (float)in[i];
    }
  }
}

/* ---- indices ----------------------------------------------------------------------------------------------------------- */

void interp_strides(const int64_t *dims, uint32_t rank, int64_t *strides) {
  int64_t stride = 1;
  for (uint32_t i = rank; i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
}

bool interp_next_index(const int64_t *dims, uint32_t rank, int64_t *index) {
  for (uint32_t i = rank; i-- > 0;) {
    if (++index[i] < dims[i]) {
      return true;
    }
    index[i] = 0;
  }
  return false;
}
