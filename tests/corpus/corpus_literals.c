/* numpy literals as the .io.txt files hold them: `name = value` lines, of which inputs, expected_outputs and nr_devices are
 * read; values are tuples of array(nested lists, dtype=..., shape=...). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "corpus_triples.h"
#include "interp/interp_int.h"

enum { MAX_RANK = 8 };

/* One array while it is read. */
struct literal {
  const char *at;
  VEC(double) numbers; /* pairs: real and imaginary part */
  int64_t dims[MAX_RANK];
  uint32_t rank;
  bool has_point, has_imaginary, is_bool;
};

static const struct {
  const char *name;
  enum dtype dtype;
} dtype_names[] = {
    {"float16", DTYPE_F16}, {"float32", DTYPE_F32},   {"float64", DTYPE_F64},     {"bfloat16", DTYPE_BF16},
    {"int8", DTYPE_I8},     {"int16", DTYPE_I16},     {"int32", DTYPE_I32},       {"int64", DTYPE_I64},
    {"uint8", DTYPE_UI8},   {"uint16", DTYPE_UI16},   {"uint32", DTYPE_UI32},     {"uint64", DTYPE_UI64},
    {"bool", DTYPE_I1},     {"complex64", DTYPE_C64}, {"complex128", DTYPE_C128},
};

static void skip_blanks(const char **at) {
  *at += strspn(*at, " \t\r\n");
}

static bool take(const char **at, const char *word) {
  skip_blanks(at);
  bool is_there = strncmp(*at, word, strlen(word)) == 0;
  *at += is_there ? strlen(word) : 0;
  return is_there;
}

/* ---- numbers ---------------------------------------------------------------------------------------------------------- */

static bool take_real(struct literal *l, double *out) {
  skip_blanks(&l->at);
  char *end;
  *out = strtod(l->at, &end);
  for (const char *c = l->at; c < end; c++) {
    l->has_point |= strchr(".einEIN", *c) != NULL;
  }
  bool ok = end != l->at;
  l->at = end;
  return ok;
}

/* 1, -2.5e-3, nan, True, 1.+2.j, 3j; numpy pads inside of complex numbers. */
static bool take_number(struct literal *l) {
  double parts[2] = {0, 0};
  bool is_true = take(&l->at, "True");
  if (is_true || take(&l->at, "False")) {
    l->is_bool = true;
    parts[0] = is_true;
  } else {
    if (!take_real(l, &parts[0])) {
      return false;
    }
    if (take(&l->at, "j")) {
      parts[1] = parts[0];
      parts[0] = 0;
      l->has_imaginary = true;
    } else if (skip_blanks(&l->at), *l->at == '+' || *l->at == '-') {
      double sign = *l->at++ == '-' ? -1 : 1;
      if (!take_real(l, &parts[1]) || !take(&l->at, "j")) {
        return false;
      }
      parts[1] *= sign;
      l->has_imaginary = true;
    }
  }
  return vec_push(&l->numbers, parts[0]) && vec_push(&l->numbers, parts[1]);
}

/* A list of depth `axis`, whose length is dims[axis], the first time it is met. */
static bool take_list(struct literal *l, uint32_t axis) {
  int64_t count = 0;
  if (!take(&l->at, "[")) {
    return axis == l->rank && take_number(l);
  }
  if (axis >= MAX_RANK) {
    return false;
  }
  bool is_new = axis == l->rank;
  if (is_new) {
    l->dims[l->rank++] = -1;
  }
  while (!take(&l->at, "]")) {
    if (!take_list(l, axis + 1)) {
      return false;
    }
    count++;
    take(&l->at, ",");
  }
  bool fits = l->dims[axis] == -1 || l->dims[axis] == count;
  l->dims[axis] = count;
  return fits;
}

/* ---- arrays ------------------------------------------------------------------------------------------------------------ */

static bool take_shape(struct literal *l) {
  l->rank = 0;
  if (!take(&l->at, "(")) {
    return false;
  }
  while (!take(&l->at, ")")) {
    double dim;
    if (l->rank == MAX_RANK || !take_real(l, &dim)) {
      return false;
    }
    l->dims[l->rank++] = (int64_t)dim;
    take(&l->at, ",");
  }
  return true;
}

static bool take_dtype(struct literal *l, enum dtype *dtype) {
  size_t length = strcspn(l->at, ",) \n");
  for (size_t i = 0; i < sizeof dtype_names / sizeof *dtype_names; i++) {
    if (strlen(dtype_names[i].name) == length && strncmp(l->at, dtype_names[i].name, length) == 0) {
      *dtype = dtype_names[i].dtype;
      l->at += length;
      return true;
    }
  }
  return false;
}

/* The value of an array whose numbers and type are known. */
static struct interp_value *make_value(const struct literal *l, enum dtype dtype) {
  struct interp_value *v = interp_tensor_new(dtype, l->dims, l->rank);
  if (!v || v->count * 2 != l->numbers.count) {
    interp_release(v);
    return NULL;
  }
  for (uint64_t i = 0; i < v->count; i++) {
    const double *parts = &l->numbers.data[2 * i];
    int64_t integer;
    if (interp_is_integral(v)) {
      integer = (int64_t)parts[0];
      interp_write_int(v, i, 1, &integer);
    } else if (interp_is_complex(v)) {
      interp_write_complex(v, i, 1, parts);
    } else {
      interp_write_real(v, i, 1, parts);
    }
  }
  return v;
}

/* array(list or number[, shape=(...)][, dtype=name]); without a dtype numpy's own for such numbers. */
static struct interp_value *take_array(const char **at) {
  struct literal l = {.at = *at};
  struct interp_value *v = NULL;
  bool ok = take(&l.at, "array") && take(&l.at, "(") && take_list(&l, 0);
  bool has_point = l.has_point;
  enum dtype dtype = l.is_bool ? DTYPE_I1 : l.has_imaginary ? DTYPE_C128 : has_point ? DTYPE_F64 : DTYPE_I64;
  while (ok && take(&l.at, ",") && (skip_blanks(&l.at), *l.at != ')')) {
    ok = take(&l.at, "dtype=") ? take_dtype(&l, &dtype) : take(&l.at, "shape=") && take_shape(&l);
  }
  if (ok && take(&l.at, ")")) {
    v = make_value(&l, dtype);
  }
  *at = l.at;
  vec_release(&l.numbers);
  return v;
}

static bool take_tuple(const char **at, struct triple_values *values) {
  if (!take(at, "(")) {
    return false;
  }
  while (!take(at, ")")) {
    if (values->count == TRIPLE_VALUES || !(values->values[values->count] = take_array(at))) {
      return false;
    }
    values->count++;
    take(at, ",");
  }
  return true;
}

/* ---- the file ---------------------------------------------------------------------------------------------------------- */

/* Behind `name =` at the start of a line; NULL when there is none. */
static const char *find_field(const char *text, const char *name) {
  for (const char *line = text; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    const char *at = line;
    if (strncmp(at, name, strlen(name)) == 0 && (at += strlen(name), take(&at, "="))) {
      return at;
    }
  }
  return NULL;
}

bool triple_record_parse(const char *text, struct triple_record *record, char *reason) {
  const char *inputs = find_field(text, "inputs"), *expected = find_field(text, "expected_outputs");
  const char *devices = find_field(text, "nr_devices");
  *record = (struct triple_record){.devices = devices ? atoi(devices) : 1};
  bool ok = inputs && take_tuple(&inputs, &record->inputs) && expected && take_tuple(&expected, &record->expected);
  if (!ok) {
    snprintf(reason, TRIPLE_REASON, "the literals are not understood");
  }
  return ok && record->devices > 0;
}

void triple_values_release(struct triple_values *values) {
  for (uint32_t i = 0; i < values->count; i++) {
    interp_release(values->values[i]);
  }
  values->count = 0;
}
