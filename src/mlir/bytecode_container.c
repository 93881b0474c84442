/* The container of MLIR bytecode: varints, sections, and the tables of strings, dialects, operation names, attributes,
 * types, properties and resources. Nothing is decoded here; sizes are checked against the bytes that are there.
 * Path: mlir_bytecode_read → here → bytecode_ir.c. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlir/bytecode_int.h"

/* ---- messages ------------------------------------------------------------------------------------------------------- */

static void report(struct bc_reader *r, enum diag_id id, const uint8_t *at, const char *format, va_list args) {
  if (!r->failed) {
    char message[400];
    vsnprintf(message, sizeof message, format, args);
    diag_file(r->diags, id, r->source.name, 0, 0, "byte %zu: %s", (size_t)(at - r->begin), message);
  }
  r->failed = true;
}

void bc_report(struct bc_reader *r, const uint8_t *at, const char *format, ...) {
  va_list args;
  va_start(args, format);
  report(r, DIAG_E0003_FORMAT, at, format, args);
  va_end(args);
}

void bc_report_limit(struct bc_reader *r, const uint8_t *at, const char *format, ...) {
  va_list args;
  va_start(args, format);
  r->limit = !r->failed;
  report(r, DIAG_E0005_LIMIT, at, format, args);
  va_end(args);
}

void bc_report_unknown(struct bc_reader *r, const uint8_t *at, const char *format, ...) {
  char what[200];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  if (r->has_artifact_version) {
    bc_report(r, at, "artifact of version %u.%u.%u has %s; this reader knows up to %d.%d.%d", r->artifact[0],
              r->artifact[1], r->artifact[2], what, VHLO_MAJOR, VHLO_MINOR, VHLO_PATCH);
  } else {
    bc_report(r, at, "%s is not known here (bytecode version %u of '%.60s')", what, r->version, r->producer);
  }
}

/* ---- numbers -------------------------------------------------------------------------------------------------------- */

/* The zero bits below the lowest one of the first byte say how many bytes follow; none set: eight follow. */
bool bc_varint_slow(struct bc_reader *r, struct bc_cursor *c, uint64_t *value) {
  *value = 0;
  if (c->at >= c->end) {
    return bc_truncated(r, c);
  }
  unsigned first = *c->at;
  unsigned more = first ? (unsigned)__builtin_ctz(first) : 8;
  if ((size_t)(c->end - c->at) < more + 1) {
    return bc_truncated(r, c);
  }
  uint64_t bits = 0;
  const uint8_t *bytes = first ? c->at : c->at + 1;
  for (unsigned i = 0, n = first ? more + 1 : 8; i < n; i++) {
    bits |= (uint64_t)bytes[i] << (8 * i);
  }
  *value = first ? bits >> (more + 1) : bits;
  c->at += more + 1;
  return true;
}

bool bc_svarint(struct bc_reader *r, struct bc_cursor *c, int64_t *value) {
  *value = 0;
  uint64_t raw;
  if (!bc_varint(r, c, &raw)) {
    return false;
  }
  *value = (int64_t)(raw >> 1 ^ (0 - (raw & 1)));
  return true;
}

bool bc_byte(struct bc_reader *r, struct bc_cursor *c, uint8_t *value) {
  *value = 0;
  if (c->at >= c->end) {
    return bc_truncated(r, c);
  }
  *value = *c->at++;
  return true;
}

bool bc_take(struct bc_reader *r, struct bc_cursor *c, uint64_t size, struct bc_cursor *part) {
  if (size > (uint64_t)(c->end - c->at)) {
    return bc_error(r, c->at, "a length of %llu bytes where %zu are left", (unsigned long long)size,
                    (size_t)(c->end - c->at));
  }
  *part = (struct bc_cursor){c->at, c->at + size};
  c->at += size;
  return true;
}

bool bc_blob(struct bc_reader *r, struct bc_cursor *c, struct bc_cursor *blob) {
  uint64_t size;
  return bc_varint(r, c, &size) && bc_take(r, c, size, blob);
}

/* Identifier with a flag for alignment, length, alignment and its padding, body. */
bool bc_section(struct bc_reader *r, struct bc_cursor *c, unsigned *id, struct bc_cursor *body) {
  const uint8_t *at = c->at;
  uint8_t tag;
  uint64_t size, alignment;
  if (!bc_byte(r, c, &tag) || !bc_varint(r, c, &size)) {
    return false;
  }
  *id = tag & 0x7Fu;
  if (*id >= BC_SECTION_COUNT) {
    return bc_error(r, at, "there is no section %u", *id);
  }
  if (tag & 0x80) {
    if (!bc_varint(r, c, &alignment)) {
      return false;
    }
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
      return bc_error(r, at, "an alignment of %llu bytes", (unsigned long long)alignment);
    }
    while (((uint64_t)(c->at - r->begin) & (alignment - 1)) != 0) {
      uint8_t padding;
      if (!bc_byte(r, c, &padding)) {
        return false;
      }
      if (padding != 0xCB) {
        return bc_error(r, c->at - 1, "expected padding, found 0x%02x", padding);
      }
    }
  }
  return bc_take(r, c, size, body);
}

/* ---- strings -------------------------------------------------------------------------------------------------------- */

bool bc_intern(struct bc_reader *r, const char *text, size_t length, uint32_t *id) {
  *id = intern_add(&r->m->strings, text, length);
  if (*id == UINT32_MAX) {
    *id = 0;
    return bc_memory(r);
  }
  return true;
}

bool bc_string_id(struct bc_reader *r, uint32_t index, uint32_t *id) {
  struct bc_string *string = &r->strings[index];
  if (string->id == 0 && !bc_intern(r, string->text, string->length, &string->id)) {
    return false;
  }
  *id = string->id;
  return true;
}

bool bc_string(struct bc_reader *r, struct bc_cursor *c, const struct bc_string **string) {
  uint32_t index;
  if (!bc_index(r, c, r->string_count, "string", &index)) {
    return false;
  }
  *string = &r->strings[index];
  return true;
}

/* Lengths, of the last string first, then the bytes of the first string first; each with its terminating 0. */
static bool read_strings(struct bc_reader *r) {
  struct bc_cursor c = r->sections[BC_STRINGS];
  uint32_t count;
  if (!bc_count(r, &c, &count, "strings")) {
    return false;
  }
  r->strings = arena_calloc(&r->scratch, count, sizeof *r->strings);
  if (r->strings == NULL) {
    return bc_memory(r);
  }
  const uint8_t *end = c.end;
  for (uint32_t i = count; i > 0; i--) {
    const uint8_t *at = c.at;
    uint64_t size;
    if (!bc_varint(r, &c, &size)) {
      return false;
    }
    size_t left = c.at < end ? (size_t)(end - c.at) : 0; /* the lengths may run into the strings */
    if (size == 0 || size > left) {
      return bc_error(r, at, "a string of %llu bytes where %zu are left", (unsigned long long)size, left);
    }
    end -= size;
    if (end[size - 1] != 0) {
      return bc_error(r, end + size - 1, "a string that does not end with 0");
    }
    r->strings[i - 1] = (struct bc_string){.text = (const char *)end, .length = (uint32_t)size - 1};
  }
  r->string_count = count;
  return c.at == end || bc_error(r, c.at, "the strings do not take up all of their section");
}

/* ---- dialects and operation names ------------------------------------------------------------------------------------- */

static uint8_t dialect_kind(const struct bc_string *name) {
  static const struct {
    const char *name;
    uint8_t kind;
  } rows[] = {
      {"builtin", BC_BUILTIN}, {"vhlo", BC_VHLO}, {"sdy", BC_SDY}, {"stablehlo", BC_STABLEHLO}, {"chlo", BC_CHLO}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(name->text, rows[i].name) == 0) {
      return rows[i].kind;
    }
  }
  return BC_OTHER;
}

static bool read_dialect(struct bc_reader *r, struct bc_cursor *c, struct bc_dialect *dialect) {
  const uint8_t *at = c->at;
  uint64_t name;
  if (!bc_varint(r, c, &name)) {
    return false;
  }
  bool is_versioned = r->version >= BC_VERSION_DIALECT_VERSIONS && (name & 1);
  name = r->version >= BC_VERSION_DIALECT_VERSIONS ? name >> 1 : name;
  if (name >= r->string_count) {
    return bc_error(r, at, "string %llu of %u", (unsigned long long)name, r->string_count);
  }
  *dialect = (struct bc_dialect){(uint32_t)name, dialect_kind(&r->strings[name])};
  unsigned id = BC_DIALECT_VERSIONS;
  struct bc_cursor body;
  return !is_versioned
         || (bc_section(r, c, &id, &body)
             && (id == BC_DIALECT_VERSIONS
                 || bc_error(r, at, "section %u where the version of a dialect belongs", id)));
}

static bool read_op_name(struct bc_reader *r, struct bc_cursor *c, uint32_t dialect) {
  const uint8_t *at = c->at;
  uint64_t name;
  if (!bc_varint(r, c, &name)) {
    return false;
  }
  struct bc_op_name op = {.dialect = dialect, .is_registered = true};
  if (r->version >= BC_VERSION_PROPERTIES) {
    op.is_registered = name & 1;
    name >>= 1;
  }
  if (name >= r->string_count) {
    return bc_error(r, at, "string %llu of %u", (unsigned long long)name, r->string_count);
  }
  op.name = (uint32_t)name;
  return vec_push(&r->names, op) ? true : bc_memory(r);
}

/* Dialect and the number of things that belong to it. */
static bool read_group(struct bc_reader *r, struct bc_cursor *c, uint32_t *dialect, uint32_t *count) {
  return bc_index(r, c, r->dialect_count, "dialect", dialect) && bc_count(r, c, count, "entries");
}

static bool read_dialects(struct bc_reader *r) {
  struct bc_cursor c = r->sections[BC_DIALECTS];
  uint64_t names;
  uint32_t count;
  if (!bc_count(r, &c, &count, "dialects")) {
    return false;
  }
  r->dialects = arena_calloc(&r->scratch, count, sizeof *r->dialects);
  if (r->dialects == NULL) {
    return bc_memory(r);
  }
  for (uint32_t i = 0; i < count; i++) {
    if (!read_dialect(r, &c, &r->dialects[i])) {
      return false;
    }
  }
  r->dialect_count = count;
  if (count > UINT16_MAX) {
    return bc_limit(r, c.at, "%u dialects", count);
  }
  if (r->version >= BC_VERSION_KNOWN_LOCATIONS && !bc_varint(r, &c, &names)) {
    return false; /* a hint how many operation names come */
  }
  while (c.at < c.end) {
    uint32_t dialect;
    if (!read_group(r, &c, &dialect, &count)) {
      return false;
    }
    for (uint32_t i = 0; i < count; i++) {
      if (!read_op_name(r, &c, dialect)) {
        return false;
      }
    }
  }
  return true;
}

/* ---- attributes and types ----------------------------------------------------------------------------------------------- */

static bool read_entry(struct bc_reader *r, struct bc_cursor *c, struct bc_cursor *data, uint32_t dialect,
                       struct bc_entry *entry) {
  uint64_t size;
  struct bc_cursor part;
  if (!bc_varint(r, c, &size) || !bc_take(r, data, size >> 1, &part)) {
    return false;
  }
  *entry = (struct bc_entry){
      .data = part.at, .size = (uint32_t)(part.end - part.at), .dialect = (uint16_t)dialect, .is_custom = size & 1};
  return true;
}

/* Room for about as many attributes and types as were announced: most become one each. */
static bool reserve_entries(struct bc_reader *r) {
  enum { MOST = 1 << 16 };
  struct ir_module *m = r->m;
  size_t attrs = r->attr_count < MOST ? r->attr_count : MOST, types = r->type_count < MOST ? r->type_count : MOST;
  return (vec_reserve(&m->attrs, m->attrs.count + attrs) && vec_reserve(&m->attr_chain, m->attrs.count + attrs)
          && map_reserve(&m->attr_index, attrs) && vec_reserve(&m->types, m->types.count + types)
          && vec_reserve(&m->type_chain, m->types.count + types) && map_reserve(&m->type_index, types))
         || bc_memory(r);
}

/* The offset section has a size for each attribute, then for each type, in groups of one dialect; the entries follow each
 * other in the other section. */
static bool read_entries(struct bc_reader *r) {
  struct bc_cursor c = r->sections[BC_ENTRY_OFFSETS], data = r->sections[BC_ENTRIES];
  uint32_t attrs, types;
  if (!bc_count(r, &c, &attrs, "attributes") || !bc_count(r, &c, &types, "types")) {
    return false;
  }
  uint64_t total = (uint64_t)attrs + types;
  struct bc_entry *entries = arena_calloc(&r->scratch, total, sizeof *entries);
  if (entries == NULL) {
    return bc_memory(r);
  }
  for (uint64_t n = 0; n < total;) {
    uint32_t dialect, count;
    const uint8_t *at = c.at;
    if (!read_group(r, &c, &dialect, &count)) {
      return false;
    }
    if (count > total - n || (n < attrs && count > attrs - n)) {
      return bc_error(r, at, "%u entries where %llu are left", count,
                      (unsigned long long)(n < attrs ? attrs - n : total - n));
    }
    for (uint32_t i = 0; i < count; i++) {
      if (!read_entry(r, &c, &data, dialect, &entries[n++])) {
        return false;
      }
    }
  }
  r->attrs = entries;
  r->attr_count = attrs;
  r->types = entries + attrs;
  r->type_count = types;
  return reserve_entries(r);
}

static bool read_properties(struct bc_reader *r) {
  struct bc_cursor c = r->sections[BC_PROPERTIES];
  if (c.at == NULL) {
    return true;
  }
  uint32_t count;
  if (!bc_count(r, &c, &count, "properties")) {
    return false;
  }
  r->properties = arena_calloc(&r->scratch, count, sizeof *r->properties);
  if (r->properties == NULL) {
    return bc_memory(r);
  }
  for (uint32_t i = 0; i < count; i++) {
    struct bc_cursor blob;
    if (!bc_blob(r, &c, &blob)) {
      return false;
    }
    r->properties[i] = (struct bc_blob){blob.at, (uint32_t)(blob.end - blob.at)};
  }
  r->property_count = count;
  return true;
}

/* ---- resources ---------------------------------------------------------------------------------------------------------- */

/* A blob as the text form has it: "0x", alignment in four little-endian bytes, data. */
static bool keep_resource(struct bc_reader *r, uint32_t name, struct bc_cursor value) {
  static const char digits[] = "0123456789ABCDEF";
  uint64_t alignment, size;
  struct bc_cursor data;
  if (!bc_varint(r, &value, &alignment) || !bc_varint(r, &value, &size)) {
    return false;
  }
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > UINT32_MAX) {
    return bc_error(r, value.at, "an alignment of %llu bytes", (unsigned long long)alignment);
  }
  uint64_t padding = (0 - (uint64_t)(value.at - r->begin)) & (alignment - 1);
  if (!bc_take(r, &value, padding, &data) || !bc_take(r, &value, size, &data)) {
    return false;
  }
  size_t length = 2 * (size_t)size + 12;
  char *text = arena_alloc(&r->m->arena, length);
  if (text == NULL) {
    return bc_memory(r);
  }
  char *out = text;
  memcpy(out, "\"0x", 3);
  out += 3;
  for (unsigned i = 0; i < 4; i++) {
    unsigned byte = (unsigned)(alignment >> (8 * i)) & 0xFF;
    *out++ = digits[byte >> 4];
    *out++ = digits[byte & 15];
  }
  for (; data.at < data.end; data.at++) {
    *out++ = digits[*data.at >> 4];
    *out++ = digits[*data.at & 15];
  }
  *out++ = '"';
  struct ir_attr attr = ir_attr_text(r->m, IR_ATTR_OPAQUE, text, length, (struct ir_type){0});
  return bc_made(r, attr)
         && (vec_push(&r->m->resources, name) && vec_push(&r->m->resources, attr.id) ? true : bc_memory(r));
}

/* Resources of one group; those of dialects have a handle each, in order. */
static bool read_resource_group(struct bc_reader *r, struct bc_cursor *c, struct bc_cursor *data, bool is_dialect) {
  uint32_t owner, count;
  if (!bc_index(r, c, is_dialect ? r->dialect_count : r->string_count, "owner of resources", &owner)
      || !bc_count(r, c, &count, "resources")) {
    return false;
  }
  enum { RESOURCE_BLOB };
  for (uint32_t i = 0; i < count; i++) {
    uint32_t key, name;
    uint64_t size;
    uint8_t kind;
    struct bc_cursor value;
    if (!bc_index(r, c, r->string_count, "string", &key) || !bc_varint(r, c, &size) || !bc_byte(r, c, &kind)
        || !bc_take(r, data, size, &value)) {
      return false;
    }
    if (!is_dialect) {
      continue;
    }
    if (!bc_string_id(r, key, &name)) {
      return false;
    }
    if (!vec_push(&r->resources, name)) {
      return bc_memory(r);
    }
    if (kind == RESOURCE_BLOB && r->dialects[owner].kind == BC_BUILTIN && value.at < value.end
        && !keep_resource(r, name, value)) {
      return false;
    }
  }
  return true;
}

static bool read_resources(struct bc_reader *r) {
  struct bc_cursor c = r->sections[BC_RESOURCE_OFFSETS], data = r->sections[BC_RESOURCES];
  uint64_t external;
  if (c.at == NULL) {
    return true;
  }
  if (data.at == NULL) {
    data = (struct bc_cursor){c.end, c.end};
  }
  if (!bc_varint(r, &c, &external)) {
    return false;
  }
  for (; c.at<c.end; external -= external> 0) {
    if (!read_resource_group(r, &c, &data, external == 0)) {
      return false;
    }
  }
  return true;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------------ */

/* "StableHLO_v1.2.3" */
static void read_artifact_version(struct bc_reader *r) {
  static const char prefix[] = "StableHLO_v";
  const char *text = r->producer;
  if (strncmp(text, prefix, sizeof prefix - 1) != 0) {
    return;
  }
  text += sizeof prefix - 1;
  for (int i = 0; i < 3; i++) {
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (end == text || number > 100000 || (i < 2 && *end != '.')) {
      return;
    }
    r->artifact[i] = (unsigned)number;
    text = end + 1;
  }
  r->has_artifact_version = true;
}

static bool read_header(struct bc_reader *r, struct bc_cursor *c) {
  uint64_t version;
  c->at += 4; /* magic number */
  if (!bc_varint(r, c, &version)) {
    return false;
  }
  if (version > BC_VERSION_LAST) {
    return bc_error(r, r->begin + 4, "bytecode of version %llu; this reader knows 0 to %d", (unsigned long long)version,
                    BC_VERSION_LAST);
  }
  r->version = (unsigned)version;
  const uint8_t *end = memchr(c->at, 0, (size_t)(c->end - c->at));
  if (end == NULL) {
    return bc_truncated(r, c);
  }
  r->producer = (const char *)c->at;
  c->at = end + 1;
  read_artifact_version(r);
  if (r->has_artifact_version && r->artifact[0] > VHLO_MAJOR) {
    return bc_error(r, (const uint8_t *)r->producer, "artifact of version %u.%u.%u, this reader knows up to %d.%d.%d",
                    r->artifact[0], r->artifact[1], r->artifact[2], VHLO_MAJOR, VHLO_MINOR, VHLO_PATCH);
  }
  return true;
}

static bool read_sections(struct bc_reader *r, struct bc_cursor *c) {
  static const char *const names[BC_SECTION_COUNT] = {"strings",   "dialects",         "attributes",
                                                      "offsets",   "operations",       "resources",
                                                      "resources", "dialect versions", "properties"};
  while (c->at < c->end) {
    const uint8_t *at = c->at;
    unsigned id;
    struct bc_cursor body;
    if (!bc_section(r, c, &id, &body)) {
      return false;
    }
    if (r->sections[id].at != NULL) {
      return bc_error(r, at, "a second section of %s", names[id]);
    }
    r->sections[id] = body;
  }
  for (unsigned id = BC_STRINGS; id <= BC_IR; id++) {
    if (r->sections[id].at == NULL) {
      return bc_error(r, c->end, "the section of %s is missing", names[id]);
    }
  }
  return true;
}

bool bc_container_read(struct bc_reader *r) {
  struct bc_cursor c = {r->begin, r->begin + r->source.length};
  return read_header(r, &c) && read_sections(r, &c) && read_strings(r) && read_properties(r) && read_dialects(r)
         && read_resources(r) && read_entries(r);
}
