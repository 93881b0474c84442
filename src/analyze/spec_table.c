/* Inputs of operations by opcode: the rows of spec.def as arrays. Path: verify_inputs.c checks operations against them. */
#include "analyze/spec_table.h"

#include <stddef.h>
#include <string.h>

#include "analyze/analyze_int.h"

#define UNWRAP(...) __VA_ARGS__
#define AT(i) PLACE_AT, i
#define REST(i) PLACE_REST, i
#define BUT_LAST PLACE_BUT_LAST, 0
#define LAST PLACE_LAST, 0
#define FIRST_HALF PLACE_FIRST_HALF, 0
#define SECOND_HALF PLACE_SECOND_HALF, 0
#define SCATTER_INPUTS PLACE_SCATTER_INPUTS, 0
#define SCATTER_INDICES PLACE_SCATTER_INDICES, 0
#define SCATTER_UPDATES PLACE_SCATTER_UPDATES, 0
#define ANY_RANK SPEC_ANY_RANK
#define INDEX_RANK SPEC_INDEX_RANK
#define STATIC SPEC_STATIC
#define STATIC_VECTOR SPEC_STATIC_VECTOR

#define V(n, place, classes, rank, name) {n, SPEC_TENSOR, place, rank, classes, name},
#define K(n, place, kinds, name) {n, SPEC_KIND, place, ANY_RANK, kinds, name},
#define A(n, kind, name) {n, SPEC_ATTRIBUTE, PLACE_NONE, 0, 0, SPEC_##kind, name},
#define F(n, region, name) {n, SPEC_FUNCTION, PLACE_NONE, region, 0, 0, name},
#define P(n, name) {n, SPEC_PART, PLACE_NONE, 0, 0, 0, name},
#define O(place, classes, rank, name) {0, SPEC_RESULT, place, rank, classes, name},

/* every list ends with a row without a name, since an operation may have none */
#define SPEC_OP(opcode, inputs, constraints)                                                                           \
  static const struct spec_input inputs_##opcode[] = {UNWRAP inputs{0, 0, 0, 0, 0, 0, NULL}};
#define SPEC_ELEMENT(name, constraints)
#include "analyze/spec.def"
#undef SPEC_OP

static const struct {
  const struct spec_input *inputs;
  uint32_t count;
} rows[IR_OP_COUNT] = {
#define SPEC_OP(opcode, inputs, constraints)                                                                           \
  [IR_OP_##opcode] = {inputs_##opcode, sizeof inputs_##opcode / sizeof inputs_##opcode[0] - 1},
#include "analyze/spec.def"
#undef SPEC_OP
};

const struct spec_input *spec_inputs(enum ir_opcode opcode, uint32_t *count) {
  *count = (unsigned)opcode < IR_OP_COUNT ? rows[opcode].count : 0;
  return *count > 0 ? rows[opcode].inputs : NULL;
}

unsigned spec_label(enum ir_opcode opcode, const char *name) {
  uint32_t count;
  const struct spec_input *inputs = spec_inputs(opcode, &count);
  for (uint32_t i = 0; i < count; i++) {
    if (strcmp(inputs[i].name, name) == 0) {
      return inputs[i].label;
    }
  }
  return 0;
}

unsigned spec_region_label(enum ir_opcode opcode, uint32_t region) {
  uint32_t count;
  const struct spec_input *inputs = spec_inputs(opcode, &count);
  for (uint32_t i = 0; i < count; i++) {
    if (inputs[i].what == SPEC_FUNCTION && inputs[i].first == region) {
      return inputs[i].label;
    }
  }
  return 0;
}

const char *spec_enum_words(const char *attribute) {
  static const char *const words[][2] = {
      {"comparison_direction", "EQ NE GE GT LE LT"}, {"compare_type", "NOTYPE FLOAT TOTALORDER SIGNED UNSIGNED"},
      {"fft_type", "FFT IFFT RFFT IRFFT"},           {"rng_distribution", "UNIFORM NORMAL"},
      {"rng_algorithm", "DEFAULT THREE_FRY PHILOX"}, {"transpose_a", "NO_TRANSPOSE TRANSPOSE ADJOINT"}};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(words[i][0], attribute) == 0) {
      return words[i][1];
    }
  }
  return NULL;
}
