/* Which engine type a dtype is computed in, and at what rate: the last step of filling a chip, and the two questions cost
 * models ask. A chip states the rates it has and, in its family's runs_as maps, what its compiler does with the others;
 * what neither says follows the defaults below. */
#include <string.h>

#include "hw/hw_internal.h"

/* Engine types: the name in chip files, the dtype that stands for it in the rate tables, and what it is computed in when
 * the chip neither has a rate nor says otherwise (REFUSED, VECTOR, or another engine type). */
#define REFUSED DTYPE_NONE
static const struct engine_type {
  const char *name;
  uint8_t dtype;
  uint8_t matrix_default;
  uint8_t vector_default;
} engine_types[] = {
    {"f64", DTYPE_F64, HW_RUNS_VECTOR, REFUSED},
    {"f32", DTYPE_F32, HW_RUNS_VECTOR, REFUSED},
    {"tf32", DTYPE_TF32, DTYPE_F32, DTYPE_F32},
    {"bf16", DTYPE_BF16, DTYPE_F32, DTYPE_F32},
    {"f16", DTYPE_F16, DTYPE_BF16, DTYPE_F32},
    {"fp8", DTYPE_F8E4M3FN, DTYPE_F16, DTYPE_F32},
    {"fp6", DTYPE_F6E2M3FN, DTYPE_F8E4M3FN, DTYPE_F32},
    {"fp4", DTYPE_F4E2M1FN, DTYPE_F8E4M3FN, DTYPE_F32},
    {"int64", DTYPE_I64, HW_RUNS_VECTOR, DTYPE_I32},
    {"int32", DTYPE_I32, HW_RUNS_VECTOR, DTYPE_F32},
    {"int16", DTYPE_I16, DTYPE_I32, DTYPE_I32},
    {"int8", DTYPE_I8, DTYPE_I32, DTYPE_I32},
    {"int4", DTYPE_I4, DTYPE_I8, DTYPE_I32},
    {"bool", DTYPE_I1, DTYPE_I8, DTYPE_I32},
    {"c64", DTYPE_C64, DTYPE_F32, DTYPE_F32},
    {"c128", DTYPE_C128, DTYPE_F64, DTYPE_F64},
};
enum { ENGINE_TYPE_COUNT = sizeof engine_types / sizeof engine_types[0] };

static const char *const engine_type_name_list[ENGINE_TYPE_COUNT] = {"f64",  "f32",  "tf32",  "bf16",  "f16",   "fp8",
                                                                     "fp6",  "fp4",  "int64", "int32", "int16", "int8",
                                                                     "int4", "bool", "c64",   "c128"};

static const uint8_t engine_type_of[DTYPE_COUNT] = {
    [DTYPE_I1] = DTYPE_I1,
    [DTYPE_I2] = DTYPE_I4,
    [DTYPE_I4] = DTYPE_I4,
    [DTYPE_I8] = DTYPE_I8,
    [DTYPE_I16] = DTYPE_I16,
    [DTYPE_I32] = DTYPE_I32,
    [DTYPE_I64] = DTYPE_I64,
    [DTYPE_UI2] = DTYPE_I4,
    [DTYPE_UI4] = DTYPE_I4,
    [DTYPE_UI8] = DTYPE_I8,
    [DTYPE_UI16] = DTYPE_I16,
    [DTYPE_UI32] = DTYPE_I32,
    [DTYPE_UI64] = DTYPE_I64,
    [DTYPE_F4E2M1FN] = DTYPE_F4E2M1FN,
    [DTYPE_F6E2M3FN] = DTYPE_F6E2M3FN,
    [DTYPE_F6E3M2FN] = DTYPE_F6E2M3FN,
    [DTYPE_F8E3M4] = DTYPE_F8E4M3FN,
    [DTYPE_F8E4M3] = DTYPE_F8E4M3FN,
    [DTYPE_F8E4M3FN] = DTYPE_F8E4M3FN,
    [DTYPE_F8E4M3FNUZ] = DTYPE_F8E4M3FN,
    [DTYPE_F8E4M3B11FNUZ] = DTYPE_F8E4M3FN,
    [DTYPE_F8E5M2] = DTYPE_F8E4M3FN,
    [DTYPE_F8E5M2FNUZ] = DTYPE_F8E4M3FN,
    [DTYPE_F8E8M0FNU] = DTYPE_F8E4M3FN,
    [DTYPE_F16] = DTYPE_F16,
    [DTYPE_BF16] = DTYPE_BF16,
    [DTYPE_TF32] = DTYPE_TF32,
    [DTYPE_F32] = DTYPE_F32,
    [DTYPE_F64] = DTYPE_F64,
    [DTYPE_C64] = DTYPE_C64,
    [DTYPE_C128] = DTYPE_C128,
    [DTYPE_INDEX] = DTYPE_I64,
};

enum dtype hw_engine_type(enum dtype dtype) {
  return (enum dtype)engine_type_of[dtype];
}

enum dtype hw_engine_type_parse(const char *name) {
  for (size_t i = 0; i < ENGINE_TYPE_COUNT; i++) {
    if (strcmp(engine_types[i].name, name) == 0) {
      return (enum dtype)engine_types[i].dtype;
    }
  }
  return DTYPE_NONE;
}

const char *const *hw_engine_type_names(size_t *count) {
  *count = ENGINE_TYPE_COUNT;
  return engine_type_name_list;
}

static const struct engine_type *row_of(enum dtype dtype) {
  for (size_t i = 0; i < ENGINE_TYPE_COUNT; i++) {
    if (engine_types[i].dtype == (uint8_t)dtype) {
      return &engine_types[i];
    }
  }
  return NULL;
}

/* Follows the vector map from `dtype` to a type with a rate; bounded, because a file may write a cycle. */
static uint8_t resolve_vector(const struct hw_chip *chip, const uint8_t *stated, uint8_t dtype) {
  for (size_t step = 0; step <= ENGINE_TYPE_COUNT && dtype != DTYPE_NONE; step++) {
    if (chip->vector_flops[dtype] > 0) {
      return dtype;
    }
    const struct engine_type *row = row_of((enum dtype)dtype);
    dtype = stated[dtype] != HW_RUNS_DEFAULT ? stated[dtype] : row != NULL ? row->vector_default : DTYPE_NONE;
  }
  return DTYPE_NONE;
}

/* The same for matrix products; a type that lands on the vector engine gets that engine's rate in matrix_flops. */
static uint8_t resolve_matrix(struct hw_chip *chip, const uint8_t *stated, uint8_t dtype) {
  for (size_t step = 0; step <= ENGINE_TYPE_COUNT && dtype != DTYPE_NONE; step++) {
    if (chip->matrix_flops[dtype] > 0) {
      return dtype;
    }
    const struct engine_type *row = row_of((enum dtype)dtype);
    uint8_t next = stated[dtype] != HW_RUNS_DEFAULT ? stated[dtype] : row != NULL ? row->matrix_default : DTYPE_NONE;
    if (next == HW_RUNS_VECTOR) {
      uint8_t vector = chip->vector_runs_as[dtype];
      if (vector != DTYPE_NONE && !(chip->matrix_flops[vector] > 0)) {
        chip->matrix_flops[vector] = chip->vector_flops[vector];
      }
      return vector;
    }
    dtype = next;
  }
  return DTYPE_NONE;
}

void hw_rates_resolve(struct hw_chip *chip) {
  uint8_t matrix_stated[DTYPE_COUNT], vector_stated[DTYPE_COUNT];
  memcpy(matrix_stated, chip->matrix_runs_as, sizeof matrix_stated);
  memcpy(vector_stated, chip->vector_runs_as, sizeof vector_stated);
  for (size_t i = 0; i < ENGINE_TYPE_COUNT; i++) {
    uint8_t dtype = engine_types[i].dtype;
    chip->vector_runs_as[dtype] = resolve_vector(chip, vector_stated, dtype);
  }
  for (size_t i = 0; i < ENGINE_TYPE_COUNT; i++) {
    uint8_t dtype = engine_types[i].dtype;
    chip->matrix_runs_as[dtype] = resolve_matrix(chip, matrix_stated, dtype);
  }
  for (size_t dtype = 0; dtype < DTYPE_COUNT; dtype++) {
    chip->vector_runs_as[dtype] = chip->vector_runs_as[engine_type_of[dtype]];
    chip->matrix_runs_as[dtype] = chip->matrix_runs_as[engine_type_of[dtype]];
  }
  chip->vector_runs_as[DTYPE_NONE] = DTYPE_NONE;
  chip->matrix_runs_as[DTYPE_NONE] = DTYPE_NONE;
}

bool hw_chip_matrix_rate(const struct hw_chip *chip, enum dtype dtype, double *flops, enum dtype *runs_as) {
  *runs_as = (enum dtype)chip->matrix_runs_as[dtype];
  *flops = chip->matrix_flops[*runs_as];
  return *runs_as != DTYPE_NONE;
}

bool hw_chip_vector_rate(const struct hw_chip *chip, enum dtype dtype, double *flops, enum dtype *runs_as) {
  *runs_as = (enum dtype)chip->vector_runs_as[dtype];
  *flops = chip->vector_flops[*runs_as];
  return *runs_as != DTYPE_NONE;
}
