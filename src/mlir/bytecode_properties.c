/* Properties of operations in bytecode, and the form that the text parser gives to attributes. Path: bytecode_ir.c → here,
 * once per combination of operation and attributes. Facts: bytecode_properties.def; those of VHLO: vhlo_versions.def. */
#include <string.h>

#include "mlir/bytecode_int.h"
#include "mlir/op_attrs.h"

/* The names of op_attrs.def in one text. */
static const char *required_attrs(struct bc_reader *r, enum ir_opcode opcode) {
  size_t count, length = 1;
  const struct mlir_op_attr *attrs = mlir_op_attrs(opcode, &count);
  for (size_t i = 0; i < count; i++) {
    length += strlen(attrs[i].name) + 1;
  }
  char *text = arena_alloc(&r->scratch, length), *end = text;
  if (text == NULL) {
    return NULL;
  }
  *end = '\0';
  for (size_t i = 0; i < count; i++) {
    end = stpcpy(end, attrs[i].name);
    end = stpcpy(end, i + 1 < count ? " " : "");
  }
  return text;
}

const char *bc_properties_of(struct bc_reader *r, const char *name, enum ir_opcode opcode) {
  const char *known = bc_known_properties(name);
  if (known) {
    return known;
  }
  return strncmp(name, "sdy.", 4) == 0 && opcode != IR_OP_UNKNOWN ? required_attrs(r, opcode) : NULL;
}

/* ---- what is known of attributes -------------------------------------------------------------------------------------- */

static enum bc_presence presence_of(char mark) {
  return mark == '?' ? BC_OPTIONAL : mark == '+' ? BC_NEWER : mark == '#' ? BC_GROUP_SIZES : BC_ALWAYS;
}

void bc_describe_attr(const struct bc_reader *r, const struct bc_op_name *name, struct bc_op_attr *out) {
  const char *text = ir_text(r->m, out->id);
  if (strchr(text, '.') != NULL) {
    return; /* attributes of other dialects have no rows */
  }
  out->row = mlir_op_attr_find((enum ir_opcode)name->opcode, text);
  if (name->vhlo) {
    bc_describe_vhlo_attr(name, text, out);
  }
}

/* A word of bc_op_name.attrs. */
static bool know_property(struct bc_reader *r, const struct bc_op_name *name, const char *word, size_t length,
                          struct bc_op_attr *out) {
  *out = (struct bc_op_attr){.presence = (uint8_t)presence_of(*word)};
  size_t mark = out->presence != BC_ALWAYS, tail = 0;
  if (out->presence == BC_GROUP_SIZES) {
    out->group_count = (uint8_t)(word[length - 1] - '0');
    tail = 2; /* ":2" */
  }
  if (!bc_intern(r, word + mark, length - mark - tail, &out->id)) {
    return false;
  }
  bc_describe_attr(r, name, out);
  return true;
}

bool bc_know_attrs(struct bc_reader *r, struct bc_op_name *name) {
  size_t words = 0, length;
  const char *list = name->attrs, *word;
  if (name->vhlo) {
    bc_find_defaults(name);
  }
  while (list && vhlo_next_word(&list, &length) != NULL) {
    words++;
  }
  name->known = arena_alloc(&r->scratch, (words + vhlo_struct_row_count) * sizeof *name->known);
  if (name->known == NULL) {
    return bc_memory(r);
  }
  list = name->attrs;
  while (list && (word = vhlo_next_word(&list, &length)) != NULL) {
    if (!know_property(r, name, word, length, &name->known[name->known_count++])) {
      return false;
    }
  }
  name->property_count = name->known_count;
  for (size_t i = 0; name->vhlo && i < vhlo_struct_row_count; i++) {
    const char *made = vhlo_struct_rows[i].name;
    if (vhlo_struct_rows[i].opcode == name->opcode
        && !know_property(r, name, made, strlen(made), &name->known[name->known_count++])) {
      return false;
    }
  }
  return true;
}

const struct bc_op_attr *bc_known_attr(const struct bc_reader *r, const struct bc_op_name *name, uint32_t id,
                                       size_t place, struct bc_op_attr *other) {
  if (place < name->known_count && name->known[place].id == id) {
    return &name->known[place];
  }
  for (uint32_t i = 0; i < name->known_count; i++) {
    if (name->known[i].id == id) {
      return &name->known[i];
    }
  }
  *other = (struct bc_op_attr){.id = id};
  bc_describe_attr(r, name, other);
  return other;
}

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

/* Sizes of `count` groups: all of them, or pairs of index and value for those that are not 0, packed into one number each
 * (DialectBytecodeReader::readSparseArray). */
static bool group_sizes(struct bc_reader *r, struct bc_cursor *c, uint32_t count, struct ir_attr *attr) {
  enum { GROUPS_MAX = 16, INDEX_BITS_MAX = 8 };
  int32_t sizes[GROUPS_MAX] = {0};
  const uint8_t *at = c->at;
  uint64_t header, index_bits = 0;
  if (!bc_varint(r, c, &header)) {
    return false;
  }
  bool is_sparse = header & 1;
  if (header >> 1 > count || count > GROUPS_MAX) {
    return bc_error(r, at, "%llu groups of operands or results of %u", (unsigned long long)(header >> 1), count);
  }
  if (is_sparse && header >> 1 && !bc_varint(r, c, &index_bits)) {
    return false;
  }
  for (uint64_t i = 0; i < header >> 1; i++) {
    uint64_t value, index = i;
    if (!bc_varint(r, c, &value)) {
      return false;
    }
    if (is_sparse && index_bits <= INDEX_BITS_MAX) {
      index = value & ((1u << index_bits) - 1);
      value >>= index_bits;
    }
    if (index >= count || value > INT32_MAX || index_bits > INDEX_BITS_MAX) {
      return bc_error(r, at, "a group of %llu operands or results", (unsigned long long)value);
    }
    sizes[index] = (int32_t)value;
  }
  *attr = ir_attr_dense_array(r->m, ir_type_scalar(r->m, DTYPE_I32), sizes, count);
  return bc_made(r, *attr);
}

/* `is_old`: attributes of newer releases are not there. */
static bool read_property(struct bc_reader *r, struct bc_cursor *c, const struct bc_op_attr *property, bool is_old) {
  struct ir_attr attr = {0};
  bool ok = true;
  switch ((enum bc_presence)property->presence) {
  case BC_ALWAYS:
    ok = bc_attr(r, c, &attr);
    break;
  case BC_OPTIONAL:
    ok = bc_optional_attr(r, c, &attr);
    break;
  case BC_NEWER:
    ok = is_old || bc_optional_attr(r, c, &attr);
    break;
  case BC_GROUP_SIZES:
    ok = r->version < BC_VERSION_GROUP_SIZES ? bc_attr(r, c, &attr) : group_sizes(r, c, property->group_count, &attr);
    break;
  }
  return ok && (attr.id == 0 || bc_push_pair(r, property->id, attr));
}

/* True when there are fewer numbers than properties, and one of these is of newer releases only. */
static bool lacks_newer(const struct bc_op_name *name, struct bc_cursor c) {
  size_t numbers = 0;
  if (strchr(name->attrs, '+') == NULL) {
    return false;
  }
  while (c.at < c.end) { /* the low zero bits of the first byte say how many follow */
    unsigned more = *c.at ? (unsigned)__builtin_ctz(*c.at) : 8;
    c.at += (size_t)(c.end - c.at) > more ? more + 1 : (size_t)(c.end - c.at);
    numbers++;
  }
  return numbers < name->property_count;
}

bool bc_push_properties(struct bc_reader *r, const struct bc_op_name *name, uint32_t index, const uint8_t *at) {
  if (index >= r->property_count) {
    return bc_error(r, at, "properties %u of %u", index, r->property_count);
  }
  struct bc_blob blob = r->properties[index];
  struct bc_cursor c = {blob.data, blob.data + blob.size};
  if (!name->is_registered) {
    uint32_t dict;
    return bc_index(r, &c, r->attr_count, "attribute", &dict) && bc_push_dictionary(r, dict, at);
  }
  if (name->attrs == NULL) {
    return bc_unknown(r, at, "the properties of operation '%.80s'", ir_text(r->m, name->id));
  }
  /* group sizes stand behind the attributes, or before version 6 are one of them */
  bool is_old = lacks_newer(name, c);
  for (uint32_t i = 0; i < 2 * name->property_count; i++) {
    const struct bc_op_attr *property = &name->known[i % name->property_count];
    bool is_last = property->presence == BC_GROUP_SIZES && r->version >= BC_VERSION_GROUP_SIZES;
    if (is_last == (i >= name->property_count) && !read_property(r, &c, property, is_old)) {
      return false;
    }
  }
  return c.at == c.end
         || bc_error(r, c.at, "%zu bytes too many in the properties of '%s'", (size_t)(c.end - c.at),
                     ir_text(r->m, name->id));
}

bool bc_plain_op_attrs(struct bc_reader *r, const struct bc_op_name *name, size_t first) {
  size_t kept = first;
  for (size_t i = first; i < r->pairs.count; i += 2) {
    uint32_t id = r->pairs.data[i];
    struct ir_attr attr = {r->pairs.data[i + 1]};
    struct bc_op_attr other;
    const struct mlir_op_attr *row = bc_known_attr(r, name, id, (i - first) / 2, &other)->row;
    if (row && row->form != MLIR_FORM_ANY
        && !bc_to_array(r, row->form == MLIR_FORM_I64_ARRAY ? DTYPE_I64 : DTYPE_I1, &attr)) {
      return false;
    }
    attr = mlir_attr_from_number(r->m, row, attr);
    if (!mlir_attr_is_default(r->m, row, attr, &r->m->out_of_memory)) {
      r->pairs.data[kept++] = id;
      r->pairs.data[kept++] = attr.id;
    }
  }
  r->pairs.count = kept;
  return true;
}
