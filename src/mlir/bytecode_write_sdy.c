/* Attributes of the sdy dialect (shardings) for bytecode that is written, from the canonical text that the module keeps
 * (op_attrs.h). Path: bytecode_write_builtin.c → here → entries. Codes and fields: shardy's bytecode.td.
 *
 * A text is parsed from left to right; each part of a sharding is an entry of its own. The texts are not of the module's
 * making alone, so that everything is checked. */
#include <stdlib.h>

#include "mlir/bytecode_write_int.h"

static struct bw_ref finish(struct bw_writer *w, size_t mark) {
  return bw_finish(w, mark, BW_ATTRIBUTE, BW_SDY, 0);
}

/* ---- lists ---------------------------------------------------------------------------------------------------------- */

typedef struct bw_ref (*part_parser)(struct bw_writer *w, struct bw_text *t);

/* Pushes the number of parts between the brackets, and the parts. */
static bool push_list(struct bw_writer *w, struct bw_text *t, const char *open, const char *close, part_parser parse) {
  size_t count_at = w->stack.count;
  uint64_t count = 0;
  bw_varint(w, 0);
  if (!bw_expect(w, t, open)) {
    return false;
  }
  while (!bw_skip(t, close)) {
    if (count && !bw_expect(w, t, ", ")) {
      return false;
    }
    struct bw_ref part = parse(w, t);
    if (!part.id) {
      return false;
    }
    bw_reference(w, part);
    count++;
  }
  bw_set(w, count_at, count);
  return !w->out_of_memory;
}

/* The same for what may be absent. */
static bool push_clause(struct bw_writer *w, struct bw_text *t, const char *open, part_parser parse) {
  if ((size_t)(t->end - t->at) < strlen(open) || memcmp(t->at, open, strlen(open)) != 0) {
    bw_varint(w, 0);
    return true;
  }
  return push_list(w, t, open, "}", parse);
}

/* ---- axes ----------------------------------------------------------------------------------------------------------- */

static struct bw_ref axis_name(struct bw_writer *w, struct bw_text *t) {
  const char *text;
  size_t length;
  return bw_quoted(w, t, &text, &length) ? bw_builtin_string(w, text, length) : (struct bw_ref){0};
}

/* (1)2 */
static struct bw_ref sub_axis(struct bw_writer *w, struct bw_text *t) {
  size_t mark = w->stack.count;
  int64_t before, size;
  if (!bw_expect(w, t, "(") || !bw_integer(w, t, &before) || !bw_expect(w, t, ")") || !bw_integer(w, t, &size)) {
    return bw_drop(w, mark);
  }
  bw_varint(w, SDY_SUB_AXIS);
  bw_svarint(w, before);
  bw_svarint(w, size);
  return finish(w, mark);
}

/* "x" or "x":(1)2 */
static struct bw_ref axis_ref(struct bw_writer *w, struct bw_text *t) {
  size_t mark = w->stack.count, length;
  const char *text;
  struct bw_ref sub = {0};
  if (!bw_quoted(w, t, &text, &length) || (bw_skip(t, ":") && !(sub = sub_axis(w, t)).id)) {
    return bw_drop(w, mark);
  }
  bw_varint(w, SDY_AXIS_REF);
  bw_string(w, text, length);
  bw_flagged(w, sub);
  return finish(w, mark);
}

/* {"x", "y", ?}p1 */
static struct bw_ref dimension(struct bw_writer *w, struct bw_text *t) {
  size_t mark = w->stack.count;
  uint64_t count = 0;
  bool is_closed = true;
  int64_t priority;
  bw_varint(w, SDY_DIMENSION);
  bw_varint(w, 0);
  if (!bw_expect(w, t, "{")) {
    return bw_drop(w, mark);
  }
  while (is_closed && !bw_skip(t, "}")) {
    if (count && !bw_expect(w, t, ", ")) {
      return bw_drop(w, mark);
    }
    if (bw_skip(t, "?")) {
      is_closed = false;
      break;
    }
    struct bw_ref axis = axis_ref(w, t);
    if (!axis.id) {
      return bw_drop(w, mark);
    }
    bw_reference(w, axis);
    count++;
  }
  bool has_priority = (is_closed || bw_expect(w, t, "}")) && bw_skip(t, "p");
  if (w->why.length || w->out_of_memory || (has_priority && !bw_integer(w, t, &priority))) {
    return bw_drop(w, mark);
  }
  bw_set(w, mark + 1, count);
  bw_byte(w, is_closed);
  bw_varint(w, has_priority ? (uint64_t)priority << 1 | 1 : 0);
  return finish(w, mark);
}

/* ---- meshes and shardings ------------------------------------------------------------------------------------------- */

/* "x"=2 */
static struct bw_ref mesh_axis(struct bw_writer *w, struct bw_text *t) {
  size_t mark = w->stack.count, length;
  const char *text;
  int64_t size;
  if (!bw_quoted(w, t, &text, &length) || !bw_expect(w, t, "=") || !bw_integer(w, t, &size)) {
    return bw_drop(w, mark);
  }
  bw_varint(w, SDY_MESH_AXIS);
  bw_string(w, text, length);
  bw_svarint(w, size);
  return finish(w, mark);
}

/* Numbers parted by ", " up to the bracket: pushes their count and them. */
static bool push_numbers(struct bw_writer *w, struct bw_text *t, const char *close) {
  size_t count_at = w->stack.count;
  uint64_t count = 0;
  bw_varint(w, 0);
  while (!bw_skip(t, close)) {
    int64_t value;
    if ((count && !bw_expect(w, t, ", ")) || !bw_integer(w, t, &value)) {
      return false;
    }
    bw_svarint(w, value);
    count++;
  }
  bw_set(w, count_at, count);
  return !w->out_of_memory;
}

/* <["x"=2, "y"=4], device_ids=[...]> */
static struct bw_ref mesh(struct bw_writer *w, struct bw_text *t) {
  size_t mark = w->stack.count;
  bw_varint(w, SDY_MESH);
  if (!push_list(w, t, "<[", "]", mesh_axis)) {
    return bw_drop(w, mark);
  }
  if (!bw_skip(t, ", device_ids=[")) {
    bw_varint(w, 0);
  } else if (!push_numbers(w, t, "]")) {
    return bw_drop(w, mark);
  }
  return bw_expect(w, t, ">") ? finish(w, mark) : bw_drop(w, mark);
}

/* @mesh or a mesh itself */
static struct bw_ref mesh_or_name(struct bw_writer *w, struct bw_text *t) {
  const char *name = t->at + 1;
  size_t length;
  if (bw_skip(t, "mesh")) {
    return mesh(w, t);
  }
  if (!bw_expect(w, t, "@")) {
    return (struct bw_ref){0};
  }
  if (t->at < t->end && *t->at == '"') {
    return bw_quoted(w, t, &name, &length) ? bw_builtin_symbol(w, name, length) : (struct bw_ref){0};
  }
  while (t->at < t->end && *t->at != ',' && *t->at != '>') {
    t->at++;
  }
  length = (size_t)(t->at - name);
  name = arena_strndup(&w->scratch, name, length);
  w->out_of_memory |= name == NULL;
  return name ? bw_builtin_symbol(w, name, length) : (struct bw_ref){0};
}

/* <@mesh, [{"x"}, {}], replicated={"y"}, unreduced={"z"}> */
static struct bw_ref sharding(struct bw_writer *w, struct bw_text *t) {
  static const char unreduced[] = ", unreduced={";
  size_t mark = w->stack.count;
  struct bw_ref mesh_ref = {0};
  bw_varint(w, SDY_SHARDING);
  if (!bw_expect(w, t, "<") || !(mesh_ref = mesh_or_name(w, t)).id) {
    return bw_drop(w, mark);
  }
  bw_reference(w, mesh_ref);
  if (!push_list(w, t, ", [", "]", dimension) || !push_clause(w, t, ", replicated={", axis_ref)) {
    return bw_drop(w, mark);
  }
  if ((size_t)(t->end - t->at) >= sizeof unreduced && memcmp(t->at, unreduced, sizeof unreduced - 1) == 0) {
    bw_set(w, mark, SDY_SHARDING_UNREDUCED);
    t->has_unreduced = true;
    if (!push_list(w, t, unreduced, "}", axis_ref)) {
      return bw_drop(w, mark);
    }
  }
  return bw_expect(w, t, ">") ? finish(w, mark) : bw_drop(w, mark);
}

/* ---- sharding rules ------------------------------------------------------------------------------------------------- */

/* Name of a factor: i to z, then z_1, z_2 ... */
static bool factor(struct bw_text *t, int64_t *value) {
  if (t->at >= t->end || *t->at < 'i' || *t->at > 'z') {
    return false;
  }
  *value = *t->at++ - 'i';
  if (t->end - t->at > 1 && t->at[0] == '_' && t->at[1] >= '0' && t->at[1] <= '9') {
    char *end;
    *value += strtoll(t->at + 1, &end, 10);
    t->at = end;
  }
  return true;
}

/* jk : the factors of one dimension stand together */
static struct bw_ref dim_mapping(struct bw_writer *w, struct bw_text *t) {
  size_t mark = w->stack.count;
  int64_t value;
  uint64_t count = 0;
  bw_varint(w, SDY_DIM_MAPPING);
  bw_varint(w, 0);
  for (; factor(t, &value); count++) {
    bw_svarint(w, value);
  }
  bw_set(w, mark + 1, count);
  return count ? finish(w, mark) : (bw_expect(w, t, "a factor"), bw_drop(w, mark));
}

static struct bw_ref tensor_mapping(struct bw_writer *w, struct bw_text *t) {
  size_t mark = w->stack.count;
  bw_varint(w, SDY_TENSOR_MAPPING);
  return push_list(w, t, "[", "]", dim_mapping) ? finish(w, mark) : bw_drop(w, mark);
}

/* name={i, j}: pushes the count and the factors */
static bool push_factors(struct bw_writer *w, struct bw_text *t, const char *name) {
  size_t count_at = w->stack.count;
  uint64_t count = 0;
  int64_t value;
  bw_varint(w, 0);
  if (!bw_skip(t, name)) {
    return true;
  }
  do {
    if (!factor(t, &value)) {
      return bw_expect(w, t, "a factor");
    }
    bw_svarint(w, value);
    count++;
  } while (bw_skip(t, ", "));
  bw_set(w, count_at, count);
  return !w->out_of_memory && bw_expect(w, t, "}");
}

/* {i=8, j=4}: the sizes in the order of the factors. They stand behind the mappings, but come first. */
static bool push_sizes(struct bw_writer *w, struct bw_text *t) {
  size_t count_at = w->stack.count;
  uint64_t count = 0;
  bw_varint(w, 0);
  while (!bw_skip(t, "}")) {
    int64_t name, size;
    if ((count && !bw_expect(w, t, ", ")) || !factor(t, &name) || !bw_expect(w, t, "=") || !bw_integer(w, t, &size)) {
      return bw_expect(w, t, "a size of a factor");
    }
    bw_svarint(w, size);
    count++;
  }
  bw_set(w, count_at, count);
  return !w->out_of_memory;
}

/* ([i, j])->([i, j]) {i=8, j=8} reduction={j}, custom */
static struct bw_ref rule(struct bw_writer *w, struct bw_text *t) {
  size_t mark = w->stack.count;
  struct bw_text mappings = *t;
  const char *sizes = memchr(t->at, '{', (size_t)(t->end - t->at));
  bw_varint(w, SDY_RULE);
  t->at = sizes ? sizes + 1 : t->end;
  if (sizes == NULL || !push_sizes(w, t) || !push_list(w, &mappings, "(", ")", tensor_mapping)
      || !push_list(w, &mappings, "->(", ")", tensor_mapping) || !push_factors(w, t, " reduction={")
      || !push_factors(w, t, " need_replication={") || !push_factors(w, t, " permutation={")
      || !push_factors(w, t, " blocked_propagation={")) {
    bw_refuse(w, "a sharding rule without sizes");
    return bw_drop(w, mark);
  }
  bw_byte(w, bw_skip(t, ", custom"));
  return finish(w, mark);
}

/* ---- the whole ------------------------------------------------------------------------------------------------------ */

/* {"x"}:0->1 */
static struct bw_ref all_to_all(struct bw_writer *w, struct bw_text *t) {
  size_t mark = w->stack.count;
  int64_t source, target;
  bw_varint(w, SDY_ALL_TO_ALL);
  if (!push_list(w, t, "{", "}", axis_ref) || !bw_expect(w, t, ":") || !bw_integer(w, t, &source)
      || !bw_expect(w, t, "->") || !bw_integer(w, t, &target)) {
    return bw_drop(w, mark);
  }
  bw_svarint(w, source);
  bw_svarint(w, target);
  return finish(w, mark);
}

static struct bw_ref axis_ref_list(struct bw_writer *w, struct bw_text *t) {
  size_t mark = w->stack.count;
  bw_varint(w, SDY_AXIS_REF_LIST);
  return push_list(w, t, "{", "}", axis_ref) ? finish(w, mark) : bw_drop(w, mark);
}

/* A code and a list. */
static struct bw_ref list_of(struct bw_writer *w, struct bw_text *t, enum bc_sdy_attr code) {
  static const struct {
    const char *open, *close;
    part_parser parse;
  } rows[SDY_CODE_COUNT] = {[SDY_MANUAL_AXES] = {"{", "}", axis_name},
                            [SDY_SHARDING_PER_VALUE] = {"[", "]", sharding},
                            [SDY_AXIS_REF_LISTS] = {"[", "]", axis_ref_list},
                            [SDY_ALL_TO_ALL_LIST] = {"[", "]", all_to_all}};
  size_t mark = w->stack.count;
  bw_varint(w, code);
  if (!push_list(w, t, rows[code].open, rows[code].close, rows[code].parse)) {
    return bw_drop(w, mark);
  }
  if (code == SDY_SHARDING_PER_VALUE && t->has_unreduced) {
    bw_set(w, mark, SDY_SHARDING_PER_VALUE_UNREDUCED);
  }
  return finish(w, mark);
}

static struct bw_ref body(struct bw_writer *w, struct bw_text *t, enum bc_sdy_attr code) {
  static const part_parser parsers[SDY_CODE_COUNT] = {[SDY_MESH_AXIS] = mesh_axis,
                                                      [SDY_MESH] = mesh,
                                                      [SDY_SUB_AXIS] = sub_axis,
                                                      [SDY_AXIS_REF] = axis_ref,
                                                      [SDY_DIMENSION] = dimension,
                                                      [SDY_SHARDING] = sharding,
                                                      [SDY_DIM_MAPPING] = dim_mapping,
                                                      [SDY_RULE] = rule,
                                                      [SDY_TENSOR_MAPPING] = tensor_mapping,
                                                      [SDY_AXIS_REF_LIST] = axis_ref_list,
                                                      [SDY_ALL_TO_ALL] = all_to_all};
  return parsers[code] ? parsers[code](w, t) : list_of(w, t, code);
}

struct bw_ref bw_sdy_attr(struct bw_writer *w, const char *text, size_t length) {
  struct bw_text t = {text, text + length, false};
  for (int code = 0; code < SDY_SHARDING_UNREDUCED; code++) {
    const struct sdy_frame *frame = &bc_sdy_frames[code];
    if (!bw_skip(&t, frame->prefix)) {
      continue;
    }
    if (t.at < t.end && *t.at == '_') { /* of a longer name */
      t.at = text;
      continue;
    }
    struct bw_ref ref = body(w, &t, (enum bc_sdy_attr)code);
    if (ref.id && (!bw_expect(w, &t, frame->suffix) || t.at != t.end)) {
      return bw_refused(w, "the attribute %.60s", text);
    }
    return ref;
  }
  return bw_text_entry(w, BW_ATTRIBUTE, BW_SDY, text, length); /* one that has no code */
}
