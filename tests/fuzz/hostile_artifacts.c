/* Hostile bytecode (hostile_cases.def): a good artifact with one thing changed, and all lengths around it right, so that
 * nothing but that thing is wrong; and lengths that lie, where they are the thing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "artifact_parts.h"
#include "hostile_texts.h"

/* one_addition.mlir.bc: attributes 0 unknown location, 1 [], 2 type of the function, 3 "main", 4 "public"; types 0 f32,
 * 1 tensor<4xf32>, 2 (tensor<4xf32>) -> tensor<4xf32>; dialects 0 builtin, 1 vhlo; operations module, func, add, return. */
enum { OP_FUNC = 1, OP_ADD, ATTR_ARG_ATTRS = 1, ATTR_NAME = 3, TYPE_F32 = 0, TYPE_TENSOR = 1, TYPE_FUNCTION = 2 };
enum { DIALECT_BUILTIN, DIALECT_VHLO };
/* Codes of VhloBytecode.cpp and BuiltinDialectBytecode.td. */
enum { VHLO_ARRAY = 1, VHLO_TENSOR_ATTR = 15, VHLO_FUNCTION = 8, VHLO_TENSOR = 20, VHLO_TUPLE = 23 };
enum { BUILTIN_DICTIONARY = 1, BUILTIN_CALL_SITE = 10, BUILTIN_NAME_LOC = 14 };
enum { MASK_ATTRS = 1, MASK_REGIONS = 16, MASK_USE_LISTS = 32 };
enum { DEEP = 10000, DOUBLINGS = 64 };

static void check(bool is_good) {
  if (!is_good) {
    (void)fprintf(stderr, "the artifact that hostile ones are made from cannot be read\n");
    abort();
  }
}

static void open_artifact(struct artifact *a) {
  static uint8_t data[4096];
  FILE *file = fopen(RDG_SOURCE_DIR "/tests/fuzz/corpus/bytecode/one_addition.mlir.bc", "rb");
  check(file != NULL);
  size_t size = fread(data, 1, sizeof data, file);
  (void)fclose(file);
  check(artifact_take_apart(a, data, size) && a->attr_count == 5 && a->entries.count == 8 && a->ops.count == 4
        && a->sections[ARTIFACT_IR].is_apart && a->sections[ARTIFACT_STRINGS].is_apart);
}

static void write_artifact(struct artifact *a, struct strbuf *out) {
  size_t size = artifact_write(a, NULL, SIZE_MAX);
  uint8_t *data = malloc(size);
  check(data != NULL && artifact_write(a, data, size) == size);
  strbuf_add(out, (const char *)data, size);
  free(data);
  artifact_release(a);
}

static struct artifact_bytes encode(struct artifact *a, const uint64_t *values, size_t count) {
  uint8_t *bytes = arena_alloc(&a->arena, count * ARTIFACT_NUMBER_MAX);
  check(bytes != NULL);
  size_t size = 0;
  for (size_t i = 0; i < count; i++) {
    size += artifact_put_number(bytes + size, values[i]);
  }
  return (struct artifact_bytes){bytes, size};
}
#define ENCODE(a, ...)                                                                                                 \
  encode(a, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* Both return the index of what they add. */
static uint64_t add_type(struct artifact *a, struct artifact_bytes bytes) {
  const struct artifact_part part = {bytes, DIALECT_VHLO, true};
  check(vec_push(&a->entries, part));
  return a->entries.count - a->attr_count - 1;
}

static uint64_t add_attr(struct artifact *a, uint64_t dialect, struct artifact_bytes bytes) {
  const struct artifact_part part = {bytes, dialect, true};
  check(vec_push(&a->entries, part));
  struct artifact_part *place = a->entries.data + a->attr_count;
  memmove(place + 1, place, (a->entries.count - 1 - a->attr_count) * sizeof *place);
  *place = part;
  return a->attr_count++;
}

static void set_attr(struct artifact *a, size_t index, struct artifact_bytes bytes) {
  a->entries.data[index].bytes = bytes;
}

static void set_type(struct artifact *a, size_t index, struct artifact_bytes bytes) {
  a->entries.data[a->attr_count + index].bytes = bytes;
}

static void insert_tokens(struct artifact *a, size_t at, const struct artifact_token *tokens, size_t count) {
  check(vec_reserve(&a->tokens, a->tokens.count + count));
  memmove(a->tokens.data + at + count, a->tokens.data + at, (a->tokens.count - at) * sizeof *tokens);
  memcpy(a->tokens.data + at, tokens, count * sizeof *tokens);
  a->tokens.count += count;
}

/* Gives the function an attribute "main" with this value. */
static void use_attr(struct artifact *a, uint64_t value) {
  uint64_t dictionary = add_attr(a, DIALECT_BUILTIN, ENCODE(a, BUILTIN_DICTIONARY, 1, ATTR_NAME, value));
  size_t first = a->ops.data[OP_FUNC].first;
  const struct artifact_token token = {ARTIFACT_NUMBER, dictionary};
  a->tokens.data[first + 1].value |= MASK_ATTRS;
  insert_tokens(a, first + 3, &token, 1);
}

/* The function takes and returns a value of this type. */
static void use_type(struct artifact *a, uint64_t type) {
  set_type(a, TYPE_FUNCTION, ENCODE(a, VHLO_FUNCTION, 1, type, 1, type));
}

/* ---- attributes, types, locations --------------------------------------------------------------------------------- */

/* Each of `count` types is a tuple of `width` times the one before. */
static void nest_types(struct strbuf *out, int count, uint64_t width) {
  struct artifact a;
  open_artifact(&a);
  uint64_t type = TYPE_TENSOR;
  for (int i = 0; i < count; i++) {
    type = add_type(&a, width == 1 ? ENCODE(&a, VHLO_TUPLE, 1, type) : ENCODE(&a, VHLO_TUPLE, 2, type, type));
  }
  use_type(&a, type);
  write_artifact(&a, out);
}

void hostile_bytecode_type_chain(struct strbuf *out) {
  nest_types(out, DEEP, 1);
}

void hostile_bytecode_type_doubling(struct strbuf *out) {
  nest_types(out, DOUBLINGS, 2);
}

static void nest_attrs(struct strbuf *out, int count, uint64_t width) {
  struct artifact a;
  open_artifact(&a);
  uint64_t attr = ATTR_ARG_ATTRS;
  for (int i = 0; i < count; i++) {
    attr = add_attr(&a, DIALECT_VHLO,
                    width == 1 ? ENCODE(&a, VHLO_ARRAY, 1, attr) : ENCODE(&a, VHLO_ARRAY, 2, attr, attr));
  }
  use_attr(&a, attr);
  write_artifact(&a, out);
}

void hostile_bytecode_attr_chain(struct strbuf *out) {
  nest_attrs(out, DEEP, 1);
}

void hostile_bytecode_attr_doubling(struct strbuf *out) {
  nest_attrs(out, DOUBLINGS, 2);
}

static void nest_locations(struct strbuf *out, int count, bool is_doubling) {
  struct artifact a;
  open_artifact(&a);
  uint64_t location = 0;
  for (int i = 0; i < count; i++) {
    location = add_attr(&a, DIALECT_BUILTIN,
                        is_doubling ? ENCODE(&a, BUILTIN_CALL_SITE, location, location)
                                    : ENCODE(&a, BUILTIN_NAME_LOC, ATTR_NAME, location));
  }
  a.tokens.data[a.ops.data[OP_ADD].first + 2].value = location;
  write_artifact(&a, out);
}

void hostile_bytecode_location_chain(struct strbuf *out) {
  nest_locations(out, DEEP, false);
}

void hostile_bytecode_location_doubling(struct strbuf *out) {
  nest_locations(out, DOUBLINGS, true);
}

void hostile_bytecode_type_cycle(struct strbuf *out) {
  struct artifact a;
  open_artifact(&a);
  uint64_t first = add_type(&a, ENCODE(&a, VHLO_TUPLE, 1, 4));
  (void)add_type(&a, ENCODE(&a, VHLO_TUPLE, 1, first));
  use_type(&a, first);
  write_artifact(&a, out);
}

void hostile_bytecode_attr_cycle(struct strbuf *out) {
  struct artifact a;
  open_artifact(&a);
  uint64_t first = add_attr(&a, DIALECT_VHLO, ENCODE(&a, VHLO_ARRAY, 1, 6));
  (void)add_attr(&a, DIALECT_VHLO, ENCODE(&a, VHLO_ARRAY, 1, first));
  set_attr(&a, ATTR_ARG_ATTRS, ENCODE(&a, VHLO_ARRAY, 1, first));
  write_artifact(&a, out);
}

void hostile_bytecode_wide_tuple(struct strbuf *out) {
  enum { WIDTH = 1000000 };
  struct artifact a;
  open_artifact(&a);
  uint64_t *values = calloc(WIDTH + 2, sizeof *values);
  check(values != NULL);
  values[0] = VHLO_TUPLE;
  values[1] = WIDTH;
  use_type(&a, add_type(&a, encode(&a, values, WIDTH + 2)));
  free(values);
  write_artifact(&a, out);
}

void hostile_bytecode_many_entries(struct strbuf *out) {
  struct artifact a;
  open_artifact(&a);
  for (int i = 0; i < 300000; i++) {
    (void)add_type(&a, ENCODE(&a, VHLO_TUPLE, 2, 0, 1));
  }
  write_artifact(&a, out);
}

/* ---- elements ------------------------------------------------------------------------------------------------------ */

/* Dimensions are signed: zigzag. */
static void put_dense(struct strbuf *out, uint64_t dim, uint64_t blob_size) {
  struct artifact a;
  open_artifact(&a);
  uint64_t type = add_type(&a, ENCODE(&a, VHLO_TENSOR, 3, 2 * dim, 2 * dim, 2 * dim, TYPE_F32));
  struct artifact_bytes head = ENCODE(&a, VHLO_TENSOR_ATTR, type, blob_size);
  uint8_t *bytes = arena_calloc(&a.arena, head.size + (size_t)blob_size, 1);
  check(bytes != NULL);
  memcpy(bytes, head.data, head.size);
  use_attr(&a, add_attr(&a, DIALECT_VHLO, (struct artifact_bytes){bytes, head.size + (size_t)blob_size}));
  write_artifact(&a, out);
}

void hostile_bytecode_splat_10_18(struct strbuf *out) {
  put_dense(out, 1000000, 4);
}

void hostile_bytecode_splat_2_186(struct strbuf *out) {
  put_dense(out, 1ull << 62, 4);
}

void hostile_bytecode_elements_missing(struct strbuf *out) {
  put_dense(out, 1000000, 12);
}

/* ---- operations ---------------------------------------------------------------------------------------------------- */

void hostile_bytecode_deep_regions(struct strbuf *out) {
  enum { TOKENS = 7 };
  /* a module of one region, not isolated, with one block of one operation */
  static const struct artifact_token level[TOKENS] = {
      {ARTIFACT_NUMBER, 0}, {ARTIFACT_BYTE, MASK_REGIONS}, {ARTIFACT_NUMBER, 0}, {ARTIFACT_NUMBER, 2},
      {ARTIFACT_NUMBER, 1}, {ARTIFACT_NUMBER, 0},          {ARTIFACT_NUMBER, 2}};
  struct artifact a;
  open_artifact(&a);
  for (int i = 0; i < DEEP; i++) {
    insert_tokens(&a, a.ops.data[OP_ADD].first, level, TOKENS);
  }
  write_artifact(&a, out);
}

void hostile_bytecode_many_ops(struct strbuf *out) {
  enum { OPS = 300000 };
  struct artifact a;
  open_artifact(&a);
  const struct artifact_op op = a.ops.data[OP_ADD];
  size_t length = op.end - op.first;
  struct artifact_token *tokens = malloc(OPS * length * sizeof *tokens);
  check(tokens != NULL);
  for (size_t i = 0; i < OPS; i++) {
    memcpy(tokens + i * length, a.tokens.data + op.first, length * sizeof *tokens);
  }
  a.tokens.data[op.count].value += 2 * OPS;
  a.tokens.data[op.count - 1].value += OPS; /* values of the region */
  insert_tokens(&a, op.first, tokens, OPS * length);
  free(tokens);
  write_artifact(&a, out);
}

/* One token of the IR section says something else; `offset` from the head of the operation. */
static void change_token(struct strbuf *out, size_t op, size_t offset, uint64_t value) {
  struct artifact a;
  open_artifact(&a);
  a.tokens.data[a.ops.data[op].first + offset].value = value;
  write_artifact(&a, out);
}

/* Head (3), properties, regions, section, blocks, values. */
void hostile_bytecode_regions_lie(struct strbuf *out) {
  change_token(out, OP_FUNC, 4, 1ull << 41);
}

void hostile_bytecode_blocks_lie(struct strbuf *out) {
  change_token(out, OP_FUNC, 6, 1ull << 40);
}

void hostile_bytecode_values_lie(struct strbuf *out) {
  change_token(out, OP_FUNC, 7, 1ull << 40);
}

/* Head (3), properties, results, type, operands. */
void hostile_bytecode_results_lie(struct strbuf *out) {
  change_token(out, OP_ADD, 3, 1ull << 33);
}

void hostile_bytecode_operands_lie(struct strbuf *out) {
  change_token(out, OP_ADD, 5, UINT64_MAX);
}

void hostile_bytecode_use_lists_lie(struct strbuf *out) {
  struct artifact a;
  open_artifact(&a);
  const struct artifact_token token = {ARTIFACT_NUMBER, 1ull << 50};
  a.tokens.data[a.ops.data[OP_ADD].first + 1].value |= MASK_USE_LISTS;
  insert_tokens(&a, a.ops.data[OP_ADD].end, &token, 1);
  write_artifact(&a, out);
}

/* ---- the container ------------------------------------------------------------------------------------------------- */

static void change_version(struct strbuf *out, uint64_t version) {
  struct artifact a;
  open_artifact(&a);
  a.version = version;
  write_artifact(&a, out);
}

void hostile_bytecode_version_7(struct strbuf *out) {
  change_version(out, 7);
}

void hostile_bytecode_version_2_60(struct strbuf *out) {
  change_version(out, 1ull << 60);
}

void hostile_bytecode_two_of_a_section(struct strbuf *out) {
  struct artifact a;
  open_artifact(&a);
  check(vec_push(&a.order, ARTIFACT_STRINGS));
  write_artifact(&a, out);
}

/* A section whose body is one number: of strings, entries, properties. */
static void replace_section(struct strbuf *out, enum artifact_section id, uint64_t number) {
  struct artifact a;
  open_artifact(&a);
  a.sections[id].is_apart = false;
  a.sections[id].body = ENCODE(&a, number, number);
  write_artifact(&a, out);
}

void hostile_bytecode_strings_lie(struct strbuf *out) {
  replace_section(out, ARTIFACT_STRINGS, 1ull << 60);
}

void hostile_bytecode_entries_lie(struct strbuf *out) {
  replace_section(out, ARTIFACT_OFFSETS, 1ull << 60);
}

void hostile_bytecode_properties_lie(struct strbuf *out) {
  replace_section(out, ARTIFACT_PROPERTIES, UINT64_MAX);
}

void hostile_bytecode_dialects_lie(struct strbuf *out) {
  replace_section(out, ARTIFACT_DIALECTS, 1ull << 32);
}

void hostile_bytecode_long_name(struct strbuf *out) {
  enum { LENGTH = 1 << 20, STRING_ADD = 4 };
  struct artifact a;
  open_artifact(&a);
  uint8_t *name = arena_alloc(&a.arena, LENGTH);
  check(name != NULL);
  memset(name, 'a', LENGTH);
  name[LENGTH - 1] = '\0';
  a.strings.data[STRING_ADD].bytes = (struct artifact_bytes){name, LENGTH};
  write_artifact(&a, out);
}

/* One blob of dialect 0: string 0, `size` bytes, in data that announces another alignment and length. */
static void put_resource(struct strbuf *out, uint64_t alignment, uint64_t length) {
  struct artifact a;
  open_artifact(&a);
  a.sections[ARTIFACT_RESOURCES].body = ENCODE(&a, alignment, length, 0, 0, 0);
  size_t size = a.sections[ARTIFACT_RESOURCES].body.size;
  struct artifact_bytes head = ENCODE(&a, 0, 0, 1, 0, size);
  uint8_t *bytes = arena_calloc(&a.arena, head.size + 1, 1); /* the kind behind it: 0, a blob */
  check(bytes != NULL);
  memcpy(bytes, head.data, head.size);
  a.sections[ARTIFACT_RESOURCE_OFFSETS].body = (struct artifact_bytes){bytes, head.size + 1};
  check(vec_push(&a.order, ARTIFACT_RESOURCES) && vec_push(&a.order, ARTIFACT_RESOURCE_OFFSETS));
  write_artifact(&a, out);
}

void hostile_bytecode_resource_alignment(struct strbuf *out) {
  put_resource(out, 1ull << 31, 1);
}

void hostile_bytecode_resource_length(struct strbuf *out) {
  put_resource(out, 1, 1ull << 62);
}

/* Header, a tag, and numbers behind it. */
static void put_section_head(struct strbuf *out, unsigned tag, const uint64_t *values, size_t count) {
  static const uint8_t header[] = {'M', 'L', 0xEF, 'R', 13, 'x', 0};
  uint8_t bytes[ARTIFACT_NUMBER_MAX], byte = (uint8_t)tag;
  strbuf_add(out, (const char *)header, sizeof header);
  strbuf_add(out, (const char *)&byte, 1);
  for (size_t i = 0; i < count; i++) {
    strbuf_add(out, (const char *)bytes, artifact_put_number(bytes, values[i]));
  }
}

void hostile_bytecode_section_lies(struct strbuf *out) {
  put_section_head(out, ARTIFACT_STRINGS, (const uint64_t[]){UINT64_MAX}, 1);
}

void hostile_bytecode_alignment_2_62(struct strbuf *out) {
  put_section_head(out, ARTIFACT_STRINGS | 0x80, (const uint64_t[]){0, 1ull << 62}, 2);
}

void hostile_bytecode_alignment_3(struct strbuf *out) {
  put_section_head(out, ARTIFACT_STRINGS | 0x80, (const uint64_t[]){0, 3}, 2);
}

void hostile_bytecode_section_127(struct strbuf *out) {
  put_section_head(out, 127, (const uint64_t[]){0}, 1);
}
