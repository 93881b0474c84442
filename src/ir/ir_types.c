/* Interned types and what follows from them: element counts and sizes. */
#include <string.h>

#include "base/checked.h"
#include "ir/ir.h"

static struct ir_type fail(struct ir_module *m) {
  m->out_of_memory = true;
  return (struct ir_type){0};
}

/* Stores `type` under `hash`; the chain links types of equal hash. */
static struct ir_type add_type(struct ir_module *m, uint64_t hash, const struct ir_type_data *type) {
  uint32_t id = (uint32_t)m->types.count;
  uint32_t previous = 0;
  map_get(&m->type_index, hash, &previous);
  if (!vec_reserve(&m->types, m->types.count + 1) || !vec_reserve(&m->type_chain, m->type_chain.count + 1)
      || !map_set(&m->type_index, hash, id) || !vec_push(&m->types, *type) || !vec_push(&m->type_chain, previous)) {
    return fail(m); /* both arrays keep one length */
  }
  return (struct ir_type){id};
}

static uint64_t hash_header(const struct ir_type_data *t) {
  uint64_t h = hash_mix(t->kind, t->dtype);
  h = hash_mix(h, ((uint64_t)t->rank << 32) | t->element.id);
  h = hash_mix(h, ((uint64_t)t->encoding.id << 32) | t->text);
  return hash_mix(h, ((uint64_t)t->count << 32) | t->input_count);
}

static bool same_header(const struct ir_type_data *a, const struct ir_type_data *b) {
  return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank && a->element.id == b->element.id
         && a->encoding.id == b->encoding.id && a->text == b->text && a->count == b->count
         && a->input_count == b->input_count;
}

/* Interns a type whose tail is either `dims` (rank of them) or `list` (count of them), or nothing. */
static struct ir_type intern_type(struct ir_module *m, struct ir_type_data *t, const int64_t *dims,
                                  const struct ir_type *list) {
  size_t dims_size = dims ? (size_t)t->rank * sizeof *dims : 0;
  size_t list_size = list ? (size_t)t->count * sizeof *list : 0;
  uint64_t hash = hash_header(t);
  hash = dims_size ? hash_mix(hash, hash_bytes(dims, dims_size)) : hash;
  hash = list_size ? hash_mix(hash, hash_bytes(list, list_size)) : hash;
  uint32_t id = 0;
  map_get(&m->type_index, hash, &id);
  for (; id; id = m->type_chain.data[id]) {
    const struct ir_type_data *old = &m->types.data[id];
    if (same_header(old, t) && (!dims_size || memcmp(m->dims.data + old->first, dims, dims_size) == 0)
        && (!list_size || memcmp(m->lists.data + old->first, list, list_size) == 0)) {
      return (struct ir_type){id};
    }
  }
  if (dims_size) {
    t->first = (uint32_t)m->dims.count;
    if (!vec_reserve(&m->dims, m->dims.count + t->rank)) {
      return fail(m);
    }
    memcpy(m->dims.data + m->dims.count, dims, dims_size);
    m->dims.count += t->rank;
  }
  if (list_size) {
    t->first = (uint32_t)m->lists.count;
    if (!vec_reserve(&m->lists, m->lists.count + t->count)) {
      return fail(m);
    }
    memcpy(m->lists.data + m->lists.count, list, list_size);
    m->lists.count += t->count;
  }
  return add_type(m, hash, t);
}

struct ir_type ir_type_scalar(const struct ir_module *m, enum dtype dtype) {
  return m->scalar_types[dtype];
}

static struct ir_type shaped(struct ir_module *m, enum ir_type_kind kind, struct ir_type element, const int64_t *dims,
                             uint32_t rank, struct ir_attr encoding) {
  struct ir_type_data t = {.kind = (uint8_t)kind,
                           .dtype = ir_type_get(m, element)->dtype,
                           .rank = (uint16_t)rank,
                           .element = element,
                           .encoding = encoding};
  return intern_type(m, &t, dims, NULL);
}

struct ir_type ir_type_tensor(struct ir_module *m, struct ir_type element, const int64_t *dims, uint32_t rank,
                              struct ir_attr encoding) {
  return shaped(m, IR_TYPE_TENSOR, element, dims, rank, encoding);
}

struct ir_type ir_type_memref(struct ir_module *m, struct ir_type element, const int64_t *dims, uint32_t rank,
                              struct ir_attr encoding) {
  return shaped(m, IR_TYPE_MEMREF, element, dims, rank, encoding);
}

struct ir_type ir_type_unranked(struct ir_module *m, struct ir_type element) {
  return shaped(m, IR_TYPE_UNRANKED, element, NULL, 0, (struct ir_attr){0});
}

struct ir_type ir_type_list(struct ir_module *m, enum ir_type_kind kind, const struct ir_type *types, uint32_t count,
                            uint32_t input_count) {
  struct ir_type_data t = {.kind = (uint8_t)kind, .count = count, .input_count = input_count};
  for (uint32_t i = 0; i < count; i++) {
    uint32_t leaves = ir_type_leaf_count(m, types[i]);
    t.leaf_count = leaves > UINT32_MAX - t.leaf_count ? UINT32_MAX : t.leaf_count + leaves;
    t.size_bytes = sat_add_u64(t.size_bytes, ir_type_size_bytes(m, types[i]));
  }
  return intern_type(m, &t, NULL, types);
}

static struct ir_type text_type(struct ir_module *m, enum ir_type_kind kind, const char *text, size_t length) {
  struct ir_type_data t = {.kind = (uint8_t)kind, .text = intern_add(&m->strings, text, length)};
  return t.text == UINT32_MAX ? fail(m) : intern_type(m, &t, NULL, NULL);
}

struct ir_type ir_type_opaque(struct ir_module *m, const char *text, size_t length) {
  return text_type(m, IR_TYPE_OPAQUE, text, length);
}

struct ir_type ir_type_token(struct ir_module *m, const char *text, size_t length) {
  return text_type(m, IR_TYPE_TOKEN, text, length);
}

struct ir_type ir_type_quantized(struct ir_module *m, const struct ir_quant *quant) {
  struct ir_type_data t = {.kind = IR_TYPE_QUANTIZED, .dtype = quant->storage, .text = quant->text};
  uint64_t hash = hash_header(&t);
  uint32_t id = 0;
  map_get(&m->type_index, hash, &id);
  for (; id; id = m->type_chain.data[id]) {
    if (same_header(&m->types.data[id], &t)) { /* the canonical text says everything */
      return (struct ir_type){id};
    }
  }
  struct ir_quant copy = *quant;
  double *scales = arena_alloc(&m->arena, quant->count * sizeof *scales);
  int64_t *zero_points = arena_alloc(&m->arena, quant->count * sizeof *zero_points);
  if (!scales || !zero_points) {
    return fail(m);
  }
  if (quant->count) {
    memcpy(scales, quant->scales, quant->count * sizeof *scales);
    memcpy(zero_points, quant->zero_points, quant->count * sizeof *zero_points);
  }
  copy.scales = scales;
  copy.zero_points = zero_points;
  t.quant = (uint32_t)m->quants.count;
  if (!vec_push(&m->quants, copy)) {
    return fail(m);
  }
  return add_type(m, hash, &t);
}

bool ir_type_is_static(const struct ir_module *m, struct ir_type type) {
  const struct ir_type_data *t = ir_type_get(m, type);
  if (t->kind != IR_TYPE_TENSOR && t->kind != IR_TYPE_MEMREF) {
    return false;
  }
  for (uint32_t i = 0; i < t->rank; i++) {
    if (m->dims.data[t->first + i] == IR_DYNAMIC) {
      return false;
    }
  }
  return true;
}

uint64_t ir_type_element_count(const struct ir_module *m, struct ir_type type) {
  if (!ir_type_is_static(m, type)) {
    return 0;
  }
  const struct ir_type_data *t = ir_type_get(m, type);
  uint64_t count = 1;
  for (uint32_t i = 0; i < t->rank; i++) {
    uint64_t dim = (uint64_t)m->dims.data[t->first + i];
    if (dim == 0) {
      return 0;
    }
    count = sat_mul_u64(count, dim);
  }
  return count;
}

uint64_t ir_type_size_bytes(const struct ir_module *m, struct ir_type type) {
  const struct ir_type_data *t = ir_type_get(m, type);
  if (t->kind == IR_TYPE_TUPLE || t->kind == IR_TYPE_FUTURE) {
    return t->size_bytes;
  }
  if (t->kind == IR_TYPE_SCALAR) {
    return dtype_size_bytes((enum dtype)t->dtype, 1);
  }
  return t->dtype == DTYPE_NONE ? 0 : dtype_size_bytes((enum dtype)t->dtype, ir_type_element_count(m, type));
}

uint32_t ir_type_leaf_count(const struct ir_module *m, struct ir_type type) {
  const struct ir_type_data *t = ir_type_get(m, type);
  switch (t->kind) {
  case IR_TYPE_SCALAR:
  case IR_TYPE_QUANTIZED:
  case IR_TYPE_TENSOR:
  case IR_TYPE_MEMREF:
  case IR_TYPE_UNRANKED:
    return 1;
  case IR_TYPE_TUPLE:
  case IR_TYPE_FUTURE:
    return t->leaf_count;
  default:
    return 0;
  }
}
