/* Shapes of HLO text: f32[2,3]{1,0:T(8,128)}, tuples of them, token[], opaque[]. See hlo.h. */
#include "import/hlo.h"

#define TYPE_NAME(text, dtype)                                                                                         \
  { text, DTYPE_##dtype }
static const struct {
  const char *name;
  enum dtype dtype;
} element_types[] = {
    TYPE_NAME("f32", F32),
    TYPE_NAME("bf16", BF16),
    TYPE_NAME("s32", I32),
    TYPE_NAME("pred", I1),
    TYPE_NAME("f16", F16),
    TYPE_NAME("f64", F64),
    TYPE_NAME("u32", UI32),
    TYPE_NAME("s64", I64),
    TYPE_NAME("u64", UI64),
    TYPE_NAME("s8", I8),
    TYPE_NAME("u8", UI8),
    TYPE_NAME("s16", I16),
    TYPE_NAME("u16", UI16),
    TYPE_NAME("s4", I4),
    TYPE_NAME("u4", UI4),
    TYPE_NAME("s2", I2),
    TYPE_NAME("u2", UI2),
    TYPE_NAME("c64", C64),
    TYPE_NAME("c128", C128),
    TYPE_NAME("f8e4m3fn", F8E4M3FN),
    TYPE_NAME("f8e5m2", F8E5M2),
    TYPE_NAME("f8e4m3fnuz", F8E4M3FNUZ),
    TYPE_NAME("f8e5m2fnuz", F8E5M2FNUZ),
    TYPE_NAME("f8e4m3b11fnuz", F8E4M3B11FNUZ),
    TYPE_NAME("f8e4m3", F8E4M3),
    TYPE_NAME("f8e3m4", F8E3M4),
    TYPE_NAME("f8e8m0fnu", F8E8M0FNU),
    TYPE_NAME("f4e2m1fn", F4E2M1FN),
};
#undef TYPE_NAME
enum { ELEMENT_TYPES = sizeof element_types / sizeof element_types[0], RANK_MAX = 64 };

static enum dtype element_type(struct hlo_span name) {
  for (size_t i = 0; i < ELEMENT_TYPES; i++) {
    if (hlo_span_is(name, element_types[i].name)) {
      return element_types[i].dtype;
    }
  }
  return DTYPE_NONE;
}

static bool unknown_type(struct hlo_module *hlo, struct hlo_span name) {
  const char *names[ELEMENT_TYPES];
  char text[32];
  for (size_t i = 0; i < ELEMENT_TYPES; i++) {
    names[i] = element_types[i].name;
  }
  int length = name.length < sizeof text ? (int)name.length : (int)sizeof text - 1;
  memcpy(text, name.text, (size_t)length);
  text[length] = '\0';
  const char *near = length > 0 ? nearest_name(text, names, ELEMENT_TYPES) : NULL;
  return hlo_error(hlo, DIAG_E0104_TYPE, name.text, "expected a shape%s%s%s", near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
}

/* [2,<=3,?] */
static bool read_dims(struct hlo_module *hlo, struct hlo_cursor *c, struct hlo_shape *shape) {
  int64_t dims[RANK_MAX];
  if (!hlo_try(c, '[')) {
    return hlo_error(hlo, DIAG_E0104_TYPE, c->at, "expected '[' and the dimensions");
  }
  while (hlo_peek(c) != ']') {
    if (shape->rank == RANK_MAX) {
      return hlo_error(hlo, DIAG_E0005_LIMIT, c->at, "a shape of more than %d dimensions", RANK_MAX);
    }
    if (shape->rank > 0 && !hlo_try(c, ',')) {
      return hlo_error(hlo, DIAG_E0104_TYPE, c->at, "expected ',' or ']' after a dimension");
    }
    int64_t *dim = &dims[shape->rank++];
    if (hlo_try(c, '?')) {
      *dim = IR_DYNAMIC;
      continue;
    }
    if (hlo_try_word(c, "<=")) {
      shape->bounded |= (uint64_t)1 << (shape->rank - 1);
    }
    const char *at = c->at;
    if (!hlo_integer(c, dim) || *dim < 0 || *dim == INT64_MAX) {
      return hlo_error(hlo, DIAG_E0104_TYPE, at, "expected a dimension");
    }
  }
  c->at++;
  int64_t *copy = arena_alloc(&hlo->arena, shape->rank * sizeof *copy);
  if (copy == NULL) {
    return hlo_memory(hlo);
  }
  memcpy(copy, dims, shape->rank * sizeof *copy);
  shape->dims = copy;
  return true;
}

/* Onto the shape, unless it is row-major. */
static bool keep_layout(struct hlo_module *hlo, struct hlo_shape *shape, const int64_t *order, uint32_t count) {
  bool is_usual = true;
  for (uint32_t i = 0; i < count; i++) {
    is_usual = is_usual && order[i] == (int64_t)(count - 1 - i);
  }
  if (is_usual) {
    return true;
  }
  int64_t *copy = arena_alloc(&hlo->arena, count * sizeof *copy);
  if (copy == NULL) {
    return hlo_memory(hlo);
  }
  memcpy(copy, order, count * sizeof *copy);
  shape->layout = copy;
  return true;
}

/* {1,0:T(8,128)S(1)} directly behind the dimensions; a blank before '{' begins something else. */
static bool read_layout(struct hlo_module *hlo, struct hlo_cursor *c, struct hlo_shape *shape) {
  if (c->at >= c->end || *c->at != '{') {
    return true;
  }
  const char *at = c->at;
  struct hlo_span text = hlo_balanced(c);
  if (text.length == 0) {
    return hlo_error(hlo, DIAG_E0103_EOF, at, "this layout never ends");
  }
  struct hlo_cursor inside = {text.text + 1, text.text + text.length - 1};
  int64_t order[RANK_MAX], dim;
  uint64_t seen = 0;
  uint32_t count = 0;
  while (hlo_integer(&inside, &dim)) {
    if (count == shape->rank || dim < 0 || dim >= (int64_t)shape->rank || (seen >> dim & 1) != 0) {
      return hlo_error(hlo, DIAG_E0104_TYPE, at, "this layout does not name each dimension once");
    }
    seen |= (uint64_t)1 << dim;
    order[count++] = dim;
    if (!hlo_try(&inside, ',')) {
      break;
    }
  }
  if (count > 0 && count < shape->rank) {
    return hlo_error(hlo, DIAG_E0104_TYPE, at, "this layout names %u dimensions of %u", count, shape->rank);
  }
  return keep_layout(hlo, shape, order, count);
}

static const struct hlo_shape *shape_at(struct hlo_module *hlo, struct hlo_cursor *c, unsigned depth);

static bool read_tuple(struct hlo_module *hlo, struct hlo_cursor *c, struct hlo_shape *shape, unsigned depth) {
  VEC(const struct hlo_shape *) parts = {0};
  bool ok = true;
  while (ok && hlo_peek(c) != ')') {
    if (parts.count > 0 && !hlo_try(c, ',')) {
      ok = hlo_error(hlo, DIAG_E0104_TYPE, c->at, "expected ',' or ')' after a part of a tuple");
      break;
    }
    const struct hlo_shape *part = shape_at(hlo, c, depth + 1);
    ok = part != NULL && (vec_push(&parts, part) || hlo_memory(hlo));
  }
  if (ok) {
    c->at++;
    const struct hlo_shape **copy = arena_alloc(&hlo->arena, parts.count * sizeof *copy);
    uint32_t *first = arena_alloc(&hlo->arena, parts.count * sizeof *first);
    ok = copy != NULL && first != NULL ? true : hlo_memory(hlo);
    for (size_t i = 0; i < parts.count && ok; i++) {
      copy[i] = parts.data[i];
      first[i] = shape->leaf_count;
      shape->leaf_count += copy[i]->leaf_count;
    }
    shape->count = (uint32_t)parts.count;
    shape->parts = copy;
    shape->first_leaf = first;
  }
  vec_release(&parts);
  return ok;
}

static const struct hlo_shape *shape_at(struct hlo_module *hlo, struct hlo_cursor *c, unsigned depth) {
  struct hlo_shape shape = {.leaf_count = 1};
  hlo_skip(c);
  shape.text.text = c->at;
  bool ok;
  if (depth > hlo->max_depth) {
    ok = hlo_error(hlo, DIAG_E0005_LIMIT, c->at, "shapes are nested deeper than %u", hlo->max_depth);
  } else if (hlo_try(c, '(')) {
    shape.kind = HLO_SHAPE_TUPLE;
    shape.leaf_count = 0;
    ok = read_tuple(hlo, c, &shape, depth);
  } else {
    struct hlo_span name = hlo_name(c);
    bool is_token = hlo_span_is(name, "token"), is_opaque = hlo_span_is(name, "opaque");
    shape.kind = is_token ? HLO_SHAPE_TOKEN : is_opaque ? HLO_SHAPE_OPAQUE : HLO_SHAPE_ARRAY;
    shape.dtype = (uint8_t)element_type(name);
    ok = is_token || is_opaque || shape.dtype != DTYPE_NONE ? read_dims(hlo, c, &shape) && read_layout(hlo, c, &shape)
                                                            : unknown_type(hlo, name);
  }
  struct hlo_shape *made = ok ? arena_alloc(&hlo->arena, sizeof *made) : NULL;
  if (made == NULL) {
    if (ok) {
      (void)hlo_memory(hlo);
    }
    return NULL;
  }
  shape.text.length = (size_t)(c->at - shape.text.text);
  *made = shape;
  return made;
}

const struct hlo_shape *hlo_parse_shape(struct hlo_module *hlo, struct hlo_cursor *c) {
  return shape_at(hlo, c, 0);
}
