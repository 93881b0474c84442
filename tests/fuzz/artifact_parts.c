/* See artifact_parts.h. Reading goes section by section; writing makes each body anew from its parts. */
#include "artifact_parts.h"

#include <string.h>

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

/* The zeros below the lowest set bit of the first byte say how many bytes follow; all zeros: eight, as they are. */
size_t artifact_get_number(const uint8_t *data, size_t size, uint64_t *value) {
  size_t length = 1;
  while (size > 0 && length < ARTIFACT_NUMBER_MAX && (data[0] >> (length - 1) & 1) == 0) {
    length++;
  }
  if (length > size) {
    return 0;
  }
  *value = 0;
  for (size_t i = length; i-- > (length == ARTIFACT_NUMBER_MAX ? 1 : 0);) {
    *value = *value << 8 | data[i];
  }
  *value = length == ARTIFACT_NUMBER_MAX ? *value : *value >> length;
  return length;
}

size_t artifact_put_number(uint8_t out[ARTIFACT_NUMBER_MAX], uint64_t value) {
  size_t length = 1;
  while (length < ARTIFACT_NUMBER_MAX && value >> (7 * length) != 0) {
    length++;
  }
  bool is_long = length == ARTIFACT_NUMBER_MAX;
  uint64_t bits = is_long ? value : (value << 1 | 1) << (length - 1);
  out[0] = is_long ? 0 : (uint8_t)bits;
  for (size_t i = 1; i < length; i++) {
    out[i] = (uint8_t)(bits >> (8 * (is_long ? i - 1 : i)));
  }
  return length;
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

static bool get(struct artifact_bytes *in, uint64_t *value) {
  size_t length = artifact_get_number(in->data, in->size, value);
  in->data += length;
  in->size -= length;
  return length > 0;
}

static bool take(struct artifact_bytes *in, uint64_t size, struct artifact_bytes *part) {
  if (size > in->size) {
    return false;
  }
  *part = (struct artifact_bytes){in->data, (size_t)size};
  in->data += size;
  in->size -= (size_t)size;
  return true;
}

static bool get_section(const uint8_t *begin, struct artifact_bytes *in, unsigned *id, uint64_t *alignment,
                        struct artifact_bytes *body) {
  struct artifact_bytes padding;
  uint64_t size;
  if (!take(in, 1, body) || !get(in, &size)) {
    return false;
  }
  *id = body->data[0] & 0x7F;
  *alignment = 0;
  if (body->data[0] & 0x80) {
    if (!get(in, alignment) || *alignment == 0 || (*alignment & (*alignment - 1)) != 0
        || !take(in, (0 - (uint64_t)(in->data - begin)) & (*alignment - 1), &padding)) {
      return false;
    }
  }
  return take(in, size, body);
}

/* Lengths, of the last string first, then the strings from the first one on. */
static bool read_strings(struct artifact *a) {
  struct artifact_bytes in = a->sections[ARTIFACT_STRINGS].body;
  uint64_t count, size;
  if (!get(&in, &count) || count > in.size || !vec_reserve(&a->strings, count + 1)) {
    return false;
  }
  for (uint64_t i = count; i-- > 0;) {
    if (!get(&in, &size)) {
      return false;
    }
    a->strings.data[i] = (struct artifact_part){.bytes = {NULL, (size_t)size}};
  }
  for (uint64_t i = 0; i < count; i++) {
    struct artifact_bytes *bytes = &a->strings.data[i].bytes;
    if (!take(&in, bytes->size, bytes)) {
      return false;
    }
  }
  a->strings.count = (size_t)count;
  return in.size == 0;
}

/* Groups of a dialect and the sizes of its entries: attributes, then types. */
static bool read_entries(struct artifact *a) {
  struct artifact_bytes in = a->sections[ARTIFACT_OFFSETS].body, data = a->sections[ARTIFACT_ENTRIES].body;
  uint64_t attrs, types, dialect, count, size;
  if (!get(&in, &attrs) || !get(&in, &types) || attrs > in.size || types > in.size) {
    return false;
  }
  a->attr_count = (size_t)attrs;
  while (in.size > 0) {
    if (!get(&in, &dialect) || !get(&in, &count)) {
      return false;
    }
    for (; count > 0; count--) {
      struct artifact_part part = {.dialect = dialect};
      if (!get(&in, &size) || !take(&data, size >> 1, &part.bytes)) {
        return false;
      }
      part.is_custom = size & 1;
      if (!vec_push(&a->entries, part)) {
        return false;
      }
    }
  }
  return a->entries.count == attrs + types && data.size == 0;
}

static bool read_properties(struct artifact *a) {
  struct artifact_bytes in = a->sections[ARTIFACT_PROPERTIES].body;
  uint64_t count, size;
  if (in.data == NULL || !get(&in, &count)) { /* from version 5 on */
    return false;
  }
  for (; count > 0; count--) {
    struct artifact_part part = {0};
    if (!get(&in, &size) || !take(&in, size, &part.bytes) || !vec_push(&a->properties, part)) {
      return false;
    }
  }
  return in.size == 0;
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

enum { MASK_ATTRS = 1, MASK_RESULTS = 2, MASK_OPERANDS = 4, MASK_SUCCESSORS = 8, MASK_REGIONS = 16, MASK_USES = 32 };
enum { MASK_PROPERTIES = 64 };
/* Regions within regions; sections within sections, whose lengths are counted anew on every level (put_tokens). */
enum { DEPTH_MAX = 100, SECTIONS_MAX = 6 };

static bool push(struct artifact *a, enum artifact_token_kind kind, uint64_t value) {
  struct artifact_token token = {(uint8_t)kind, value};
  return vec_push(&a->tokens, token);
}

static bool number(struct artifact *a, struct artifact_bytes *in, uint64_t *value) {
  return get(in, value) && push(a, ARTIFACT_NUMBER, *value);
}

static bool byte(struct artifact *a, struct artifact_bytes *in, uint8_t *value) {
  struct artifact_bytes part;
  if (!take(in, 1, &part)) {
    return false;
  }
  *value = part.data[0];
  return push(a, ARTIFACT_BYTE, *value);
}

static bool numbers(struct artifact *a, struct artifact_bytes *in, uint64_t count) {
  bool ok = count <= in->size;
  for (uint64_t value; ok && count > 0; count--) {
    ok = number(a, in, &value);
  }
  return ok;
}

static bool counted(struct artifact *a, struct artifact_bytes *in) {
  uint64_t count;
  return number(a, in, &count) && numbers(a, in, count);
}

/* The order of the uses of `values` values. */
static bool use_lists(struct artifact *a, struct artifact_bytes *in, uint64_t values) {
  uint64_t lists = 1, header;
  bool ok = values <= 1 || (number(a, in, &lists) && lists <= in->size);
  for (; ok && lists > 0; lists--) {
    ok = (values <= 1 || number(a, in, &header)) && number(a, in, &header) && numbers(a, in, header >> 1);
  }
  return ok;
}

static bool block(struct artifact *a, struct artifact_bytes *in, unsigned depth);

static bool regions(struct artifact *a, struct artifact_bytes *in, unsigned depth) {
  uint64_t header, alignment, blocks;
  struct artifact_bytes body = {0};
  const uint8_t *begin = in->data;
  unsigned id;
  if (depth > DEPTH_MAX || !number(a, in, &header)) {
    return false;
  }
  bool is_section = (header & 1) && a->version >= 2;
  a->open_sections += is_section;
  if (a->open_sections > SECTIONS_MAX) {
    return false;
  }
  if (is_section
      && (!get_section(begin, in, &id, &alignment, &body) || alignment != 0 || !push(a, ARTIFACT_OPEN, id))) {
    return false;
  }
  struct artifact_bytes *from = is_section ? &body : in;
  bool ok = header >> 1 <= from->size;
  for (uint64_t i = 0; ok && i < header >> 1; i++) {
    uint64_t values;
    ok = number(a, from, &blocks) && blocks <= from->size && (blocks == 0 || number(a, from, &values));
    for (; ok && blocks > 0; blocks--) {
      ok = block(a, from, depth + 1);
    }
  }
  a->open_sections -= is_section;
  return ok && (!is_section || (body.size == 0 && push(a, ARTIFACT_CLOSE, 0)));
}

static bool op(struct artifact *a, struct artifact_bytes *in, size_t count, unsigned depth) {
  uint64_t value, results = 0;
  uint8_t mask;
  size_t index = a->ops.count;
  struct artifact_op entry = {.first = a->tokens.count, .count = count};
  bool ok = vec_push(&a->ops, entry) && number(a, in, &value) && byte(a, in, &mask) && number(a, in, &value)
            && (!(mask & MASK_ATTRS) || number(a, in, &value)) && (!(mask & MASK_PROPERTIES) || number(a, in, &value))
            && (!(mask & MASK_RESULTS) || (number(a, in, &results) && numbers(a, in, results)))
            && (!(mask & MASK_OPERANDS) || counted(a, in)) && (!(mask & MASK_SUCCESSORS) || counted(a, in))
            && (!(mask & MASK_USES) || use_lists(a, in, results)) && (!(mask & MASK_REGIONS) || regions(a, in, depth));
  if (ok) {
    a->ops.data[index].end = a->tokens.count;
  }
  return ok;
}

static bool arguments(struct artifact *a, struct artifact_bytes *in) {
  uint64_t count, type, location;
  uint8_t has_uses = 0;
  bool ok = number(a, in, &count) && count <= in->size;
  for (uint64_t i = 0; ok && i < count; i++) {
    ok = number(a, in, &type) && ((a->version >= 4 && (type & 1) == 0) || number(a, in, &location));
  }
  return ok && (a->version < 3 || (byte(a, in, &has_uses) && (!has_uses || use_lists(a, in, count))));
}

static bool block(struct artifact *a, struct artifact_bytes *in, unsigned depth) {
  size_t count = a->tokens.count;
  uint64_t header;
  bool ok = number(a, in, &header) && header >> 1 <= in->size && (!(header & 1) || arguments(a, in));
  for (header >>= 1; ok && header > 0; header--) {
    ok = op(a, in, count, depth);
  }
  return ok;
}

static bool read_ir(struct artifact *a) {
  struct artifact_bytes in = a->sections[ARTIFACT_IR].body;
  return block(a, &in, 0) && in.size == 0;
}

bool artifact_take_apart(struct artifact *a, const uint8_t *data, size_t size) {
  *a = (struct artifact){0};
  arena_init(&a->arena, 0);
  struct artifact_bytes in = {data, size};
  if (!take(&in, 4, &a->producer) || memcmp(data, "ML\xEFR", 4) != 0 || !get(&in, &a->version)) {
    return false;
  }
  const uint8_t *end = memchr(in.data, 0, in.size);
  if (end == NULL || !take(&in, (uint64_t)(end + 1 - in.data), &a->producer)) {
    return false;
  }
  while (in.size > 0) {
    unsigned id;
    uint64_t alignment;
    struct artifact_bytes body;
    if (!get_section(data, &in, &id, &alignment, &body) || id >= ARTIFACT_SECTION_COUNT || a->sections[id].is_there
        || !vec_push(&a->order, (uint8_t)id)) {
      return false;
    }
    a->sections[id].body = body;
    a->sections[id].alignment = alignment;
    a->sections[id].is_there = true;
  }
  a->sections[ARTIFACT_STRINGS].is_apart = read_strings(a);
  a->sections[ARTIFACT_OFFSETS].is_apart = a->sections[ARTIFACT_ENTRIES].is_apart = read_entries(a);
  a->sections[ARTIFACT_PROPERTIES].is_apart = read_properties(a);
  a->sections[ARTIFACT_IR].is_apart = read_ir(a);
  if (!a->sections[ARTIFACT_IR].is_apart) { /* the last operation is a part of one */
    vec_clear(&a->ops);
    vec_clear(&a->tokens);
  }
  return true;
}

void artifact_release(struct artifact *a) {
  arena_release(&a->arena);
  vec_release(&a->order);
  vec_release(&a->strings);
  vec_release(&a->entries);
  vec_release(&a->properties);
  vec_release(&a->tokens);
  vec_release(&a->ops);
}

/* ---- writing ------------------------------------------------------------------------------------------------------ */

/* Without data it only counts, so that a length can be written before its body. */
struct writer {
  uint8_t *data;
  size_t size, max;
};

static void put_bytes(struct writer *w, const void *data, size_t size) {
  if (w->data != NULL && size > 0 && size <= w->max - (w->size < w->max ? w->size : w->max)) {
    memcpy(w->data + w->size, data, size);
  }
  w->size += size;
}

static void put_number(struct writer *w, uint64_t value) {
  uint8_t bytes[ARTIFACT_NUMBER_MAX];
  put_bytes(w, bytes, artifact_put_number(bytes, value));
}

static void put_parts(struct writer *w, const struct artifact_part *parts, size_t count) {
  for (size_t i = 0; i < count; i++) {
    put_bytes(w, parts[i].bytes.data, parts[i].bytes.size);
  }
}

static void put_strings(struct writer *w, const struct artifact *a) {
  put_number(w, a->strings.count);
  for (size_t i = a->strings.count; i-- > 0;) {
    put_number(w, a->strings.data[i].bytes.size);
  }
  put_parts(w, a->strings.data, a->strings.count);
}

static void put_offsets(struct writer *w, const struct artifact *a) {
  size_t attrs = a->attr_count < a->entries.count ? a->attr_count : a->entries.count;
  put_number(w, attrs);
  put_number(w, a->entries.count - attrs);
  for (size_t first = 0, end; first < a->entries.count; first = end) {
    const struct artifact_part *parts = a->entries.data;
    size_t limit = first < attrs ? attrs : a->entries.count;
    for (end = first + 1; end < limit && parts[end].dialect == parts[first].dialect;) {
      end++;
    }
    put_number(w, parts[first].dialect);
    put_number(w, end - first);
    for (size_t i = first; i < end; i++) {
      put_number(w, (uint64_t)parts[i].bytes.size << 1 | parts[i].is_custom);
    }
  }
}

static void put_properties(struct writer *w, const struct artifact *a) {
  put_number(w, a->properties.count);
  for (size_t i = 0; i < a->properties.count; i++) {
    put_number(w, a->properties.data[i].bytes.size);
    put_parts(w, &a->properties.data[i], 1);
  }
}

/* Tokens up to the end or the one that closes this section; returns the index behind them. */
static size_t put_tokens(struct writer *w, const struct artifact *a, size_t i) {
  for (; i < a->tokens.count; i++) {
    const struct artifact_token *token = &a->tokens.data[i];
    uint8_t value = (uint8_t)token->value;
    if (token->kind == ARTIFACT_CLOSE) {
      return i + 1;
    }
    if (token->kind == ARTIFACT_NUMBER) {
      put_number(w, token->value);
      continue;
    }
    put_bytes(w, &value, 1);
    if (token->kind == ARTIFACT_OPEN) {
      struct writer length = {0};
      (void)put_tokens(&length, a, i + 1);
      put_number(w, length.size);
      i = put_tokens(w, a, i + 1) - 1;
    }
  }
  return i;
}

static void put_body(struct writer *w, const struct artifact *a, unsigned id) {
  if (!a->sections[id].is_apart) {
    put_bytes(w, a->sections[id].body.data, a->sections[id].body.size);
  } else if (id == ARTIFACT_STRINGS) {
    put_strings(w, a);
  } else if (id == ARTIFACT_ENTRIES) {
    put_parts(w, a->entries.data, a->entries.count);
  } else if (id == ARTIFACT_OFFSETS) {
    put_offsets(w, a);
  } else if (id == ARTIFACT_PROPERTIES) {
    put_properties(w, a);
  } else {
    (void)put_tokens(w, a, 0);
  }
}

size_t artifact_write(const struct artifact *a, uint8_t *out, size_t max_size) {
  static const uint8_t filler = 0xCB;
  struct writer w = {out, 0, max_size};
  put_bytes(&w, "ML\xEFR", 4);
  put_number(&w, a->version);
  put_bytes(&w, a->producer.data, a->producer.size);
  for (size_t i = 0; i < a->order.count; i++) {
    unsigned id = a->order.data[i];
    uint64_t alignment = a->sections[id].alignment;
    struct writer length = {0};
    put_body(&length, a, id);
    uint8_t tag = (uint8_t)(id | (alignment != 0 ? 0x80 : 0));
    put_bytes(&w, &tag, 1);
    put_number(&w, length.size);
    if (alignment != 0) {
      put_number(&w, alignment);
      while (w.size <= max_size && (w.size & (alignment - 1)) != 0) {
        put_bytes(&w, &filler, 1);
      }
    }
    put_body(&w, a, id);
  }
  return w.size <= max_size ? w.size : 0;
}
