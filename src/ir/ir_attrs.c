/* Interned attributes: equal content, equal handle. */
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

static struct ir_attr fail(struct ir_module *m) {
  m->out_of_memory = true;
  return (struct ir_attr){0};
}

static uint64_t hash_attr(const struct ir_attr_data *a, const uint32_t *list, size_t list_words) {
  uint64_t h = hash_mix(((uint64_t)a->kind << 8) | a->is_splat, (uint64_t)a->integer);
  h = hash_mix(h, ((uint64_t)a->type.id << 32) | a->text);
  h = hash_mix(h, ((uint64_t)a->text2 << 32) | a->list_count);
  h = list_words ? hash_mix(h, hash_bytes(list, list_words * sizeof *list)) : h;
  return a->data_size ? hash_mix(h, hash_bytes(a->data, a->data_size)) : h;
}

static bool same_attr(const struct ir_module *m, const struct ir_attr_data *old, const struct ir_attr_data *a,
                      const uint32_t *list, size_t list_words) {
  return old->kind == a->kind && old->is_splat == a->is_splat && old->integer == a->integer
         && old->type.id == a->type.id && old->text == a->text && old->text2 == a->text2
         && old->list_count == a->list_count && old->data_size == a->data_size
         && (!list_words || memcmp(m->lists.data + old->list_first, list, list_words * sizeof *list) == 0)
         && (!a->data_size || memcmp(old->data, a->data, a->data_size) == 0);
}

/* Interns; copies the list into the pool and the data into the arena when the attribute is new. */
static struct ir_attr intern_attr(struct ir_module *m, struct ir_attr_data *a, const uint32_t *list,
                                  size_t list_words) {
  uint64_t hash = hash_attr(a, list, list_words);
  uint32_t newest = 0;
  map_get(&m->attr_index, hash, &newest);
  for (uint32_t id = newest; id; id = m->attr_chain.data[id]) {
    if (same_attr(m, &m->attrs.data[id], a, list, list_words)) {
      return (struct ir_attr){id};
    }
  }
  if (list_words) {
    a->list_first = (uint32_t)m->lists.count;
    if (!vec_reserve(&m->lists, m->lists.count + list_words)) {
      return fail(m);
    }
    memcpy(m->lists.data + m->lists.count, list, list_words * sizeof *list);
    m->lists.count += list_words;
  }
  if (a->data_size) {
    uint8_t *copy = arena_alloc(&m->arena, a->data_size);
    if (!copy) {
      return fail(m);
    }
    memcpy(copy, a->data, a->data_size);
    a->data = copy;
  }
  uint32_t id = (uint32_t)m->attrs.count;
  if (!vec_reserve(&m->attrs, m->attrs.count + 1) || !vec_reserve(&m->attr_chain, m->attr_chain.count + 1)
      || !map_set(&m->attr_index, hash, id) || !vec_push(&m->attrs, *a) || !vec_push(&m->attr_chain, newest)) {
    return fail(m); /* both arrays keep one length */
  }
  return (struct ir_attr){id};
}

struct ir_attr ir_attr_bool(struct ir_module *m, bool value) {
  struct ir_attr_data a = {.kind = IR_ATTR_BOOL, .integer = value};
  return intern_attr(m, &a, NULL, 0);
}

struct ir_attr ir_attr_integer(struct ir_module *m, int64_t value, struct ir_type type) {
  struct ir_attr_data a = {.kind = IR_ATTR_INTEGER, .integer = value, .type = type};
  return intern_attr(m, &a, NULL, 0);
}

struct ir_attr ir_attr_float(struct ir_module *m, uint64_t bits, struct ir_type type) {
  struct ir_attr_data a = {.kind = IR_ATTR_FLOAT, .integer = (int64_t)bits, .type = type};
  return intern_attr(m, &a, NULL, 0);
}

struct ir_attr ir_attr_string(struct ir_module *m, const char *text, size_t length, struct ir_type type) {
  return ir_attr_text(m, IR_ATTR_STRING, text, length, type);
}

struct ir_attr ir_attr_text(struct ir_module *m, enum ir_attr_kind kind, const char *text, size_t length,
                            struct ir_type type) {
  struct ir_attr_data a = {.kind = (uint8_t)kind, .text = intern_add(&m->strings, text, length), .type = type};
  return a.text == UINT32_MAX ? fail(m) : intern_attr(m, &a, NULL, 0);
}

struct ir_attr ir_attr_type(struct ir_module *m, struct ir_type type) {
  struct ir_attr_data a = {.kind = IR_ATTR_TYPE, .type = type};
  return intern_attr(m, &a, NULL, 0);
}

struct ir_attr ir_attr_array(struct ir_module *m, const struct ir_attr *items, uint32_t count) {
  struct ir_attr_data a = {.kind = IR_ATTR_ARRAY, .list_count = count};
  return intern_attr(m, &a, (const uint32_t *)items, count);
}

/* Insertion sort by name text: dictionaries are short. Equal names: the later value wins. Returns the new count. */
static uint32_t sort_pairs(const struct ir_module *m, uint32_t *pairs, uint32_t count) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t name = pairs[2 * i], value = pairs[2 * i + 1];
    uint32_t at = n;
    while (at > 0 && pairs[2 * (at - 1)] != name && strcmp(ir_text(m, pairs[2 * (at - 1)]), ir_text(m, name)) > 0) {
      at--;
    }
    if (at > 0 && pairs[2 * (at - 1)] == name) {
      pairs[2 * (at - 1) + 1] = value;
      continue;
    }
    memmove(pairs + 2 * (at + 1), pairs + 2 * at, (size_t)(n - at) * 2 * sizeof *pairs);
    pairs[2 * at] = name;
    pairs[2 * at + 1] = value;
    n++;
  }
  return n;
}

struct ir_attr ir_attr_dict(struct ir_module *m, const uint32_t *pairs, uint32_t count) {
  uint32_t local[64] = {0};
  uint32_t *sorted = count <= 32 ? local : malloc((size_t)count * 2 * sizeof *sorted);
  if (!sorted) {
    return fail(m);
  }
  if (count) {
    memcpy(sorted, pairs, (size_t)count * 2 * sizeof *sorted);
  }
  struct ir_attr_data a = {.kind = IR_ATTR_DICT, .list_count = sort_pairs(m, sorted, count)};
  struct ir_attr attr = intern_attr(m, &a, sorted, (size_t)a.list_count * 2);
  if (sorted != local) {
    free(sorted);
  }
  return attr;
}

struct ir_attr ir_attr_struct(struct ir_module *m, const char *mnemonic, const uint32_t *pairs, uint32_t count) {
  struct ir_attr_data a = {.kind = IR_ATTR_STRUCT, .text = intern_add_cstr(&m->strings, mnemonic), .list_count = count};
  return a.text == UINT32_MAX ? fail(m) : intern_attr(m, &a, pairs, (size_t)count * 2);
}

struct ir_attr ir_attr_enum(struct ir_module *m, const char *mnemonic, size_t mnemonic_length, const char *value,
                            size_t value_length) {
  struct ir_attr_data a = {.kind = IR_ATTR_ENUM,
                           .text = intern_add(&m->strings, mnemonic, mnemonic_length),
                           .text2 = intern_add(&m->strings, value, value_length)};
  return a.text == UINT32_MAX || a.text2 == UINT32_MAX ? fail(m) : intern_attr(m, &a, NULL, 0);
}

unsigned ir_dense_element_size(enum dtype dtype) {
  unsigned bits = dtype_bits(dtype);
  return bits <= 8 ? 1 : (bits == 19 ? 4 : bits / 8);
}

/* True when all elements of `size` bytes are equal. */
static bool all_equal(const uint8_t *data, uint64_t total, uint64_t size) {
  return total > size && memcmp(data, data + size, total - size) == 0;
}

struct ir_attr ir_attr_dense(struct ir_module *m, struct ir_type type, const void *data, uint64_t size, bool is_splat) {
  enum dtype dtype = (enum dtype)ir_type_get(m, type)->dtype;
  uint64_t element = dtype == DTYPE_NONE ? sizeof(uint32_t) : ir_dense_element_size(dtype);
  bool splat = is_splat || size == element || all_equal(data, size, element);
  struct ir_attr_data a = {.kind = IR_ATTR_DENSE,
                           .type = type,
                           .is_splat = splat && size > 0,
                           .data = data,
                           .data_size = splat && size ? element : size};
  return intern_attr(m, &a, NULL, 0);
}

struct ir_attr ir_attr_dense_array(struct ir_module *m, struct ir_type element, const void *data, uint32_t count) {
  struct ir_attr_data a = {.kind = IR_ATTR_DENSE_ARRAY,
                           .type = element,
                           .list_count = count,
                           .data = data,
                           .data_size =
                               (uint64_t)count * ir_dense_element_size((enum dtype)ir_type_get(m, element)->dtype)};
  return intern_attr(m, &a, NULL, 0);
}

struct ir_attr ir_attr_i64s(struct ir_module *m, const int64_t *values, uint32_t count) {
  return ir_attr_dense_array(m, ir_type_scalar(m, DTYPE_I64), values, count);
}

struct ir_attr ir_attr_field(const struct ir_module *m, struct ir_attr attr, const char *name) {
  const struct ir_attr_data *a = ir_attr_get(m, attr);
  if (a->kind == IR_ATTR_DICT || a->kind == IR_ATTR_STRUCT) {
    const uint32_t *pairs = m->lists.data + a->list_first;
    for (uint32_t i = 0; i < a->list_count; i++) {
      if (strcmp(ir_text(m, pairs[2 * i]), name) == 0) {
        return (struct ir_attr){pairs[2 * i + 1]};
      }
    }
  }
  return (struct ir_attr){0};
}

uint64_t ir_attr_length(const struct ir_module *m, struct ir_attr attr) {
  const struct ir_attr_data *a = ir_attr_get(m, attr);
  switch (a->kind) {
  case IR_ATTR_ARRAY:
  case IR_ATTR_DENSE_ARRAY:
    return a->list_count;
  case IR_ATTR_DENSE:
    return ir_type_element_count(m, a->type);
  default:
    return 0;
  }
}

int64_t ir_attr_int_at(const struct ir_module *m, struct ir_attr attr, uint64_t i) {
  const struct ir_attr_data *a = ir_attr_get(m, attr);
  if (a->kind == IR_ATTR_ARRAY) {
    return i < a->list_count ? ir_attr_get(m, (struct ir_attr){m->lists.data[a->list_first + i]})->integer : 0;
  }
  enum dtype dtype = (enum dtype)ir_type_get(m, a->type)->dtype;
  uint64_t size = ir_dense_element_size(dtype);
  uint64_t offset = a->is_splat ? 0 : i * size;
  if (!a->data || offset + size > a->data_size || size > 8) {
    return 0;
  }
  uint64_t bits = 0;
  memcpy(&bits, a->data + offset, size);
  bool is_signed = dtype_class_of(dtype) == DTYPE_CLASS_SINT;
  unsigned width = (unsigned)size * 8;
  return is_signed && width < 64 ? (int64_t)(bits << (64 - width)) >> (64 - width) : (int64_t)bits;
}

uint32_t ir_attr_bounds(const struct ir_module *m, struct ir_attr encoding, int64_t *bounds, uint32_t capacity) {
  static const char *const openings[] = {"#stablehlo.bounds<", "#mhlo.type_extensions<bounds = ["};
  const struct ir_attr_data *data = ir_attr_get(m, encoding);
  const char *text = data->kind == IR_ATTR_OPAQUE ? ir_text(m, data->text) : "";
  uint32_t count = 0;
  for (size_t i = 0; i < sizeof openings / sizeof openings[0]; i++) {
    size_t length = strlen(openings[i]);
    if (strncmp(text, openings[i], length) != 0) {
      continue;
    }
    for (text += length; *text == '?' || *text == '-' || (*text >= '0' && *text <= '9'); text += strspn(text, ", ")) {
      bool is_none = *text == '?' || *text == '-'; /* older text has negative numbers */
      int64_t bound = 0;
      text += is_none;
      for (; *text >= '0' && *text <= '9'; text++) {
        bound = bound > (INT64_MAX - 9) / 10 ? INT64_MAX : bound * 10 + (*text - '0');
      }
      bound = is_none ? IR_DYNAMIC : bound;
      if (count < capacity) {
        bounds[count] = bound;
      }
      count++;
    }
    return count;
  }
  return 0;
}
