/* Messages of onnx.proto → structs, by the rows of onnx_fields.def. A message is walked twice: the first walk counts the
 * entries of its lists, the second fills them, so that lists are arrays of their very length. */
#include "import/onnx_proto.h"

#include <string.h>

enum field_kind { INT, FLOAT, SPAN, MESSAGE, INTS, FLOATS, DOUBLES, SPANS, MESSAGES };

enum message_id {
  MESSAGE_none,
#define ONNX_FIELD(message, number, kind, member, of)
#define ONNX_MESSAGE(name, fields) MESSAGE_##name,
#include "import/onnx_fields.def"
#undef ONNX_MESSAGE
#undef ONNX_FIELD
  MESSAGE_COUNT
};

struct field_row {
  uint8_t number, kind, message;
  uint16_t offset;
};

enum { FIELDS_MAX = 12 }; /* with the row that ends the list */

struct message_row {
  const char *name;
  size_t size;
  struct field_row fields[FIELDS_MAX];
};

static const struct message_row messages[MESSAGE_COUNT] = {
#define ONNX_FIELD(message, number, kind, member, of)                                                                  \
  {number, kind, MESSAGE_##of, offsetof(struct onnx_##message, member)},
#define ONNX_MESSAGE(name, ...) [MESSAGE_##name] = {#name, sizeof(struct onnx_##name), {__VA_ARGS__}},
#include "import/onnx_fields.def"
#undef ONNX_MESSAGE
#undef ONNX_FIELD
};

typedef ONNX_LIST(void) any_list;
typedef ONNX_LIST(struct onnx_node) some_list;
_Static_assert(sizeof(any_list) == sizeof(some_list), "lists have one layout");

struct reader {
  const struct source *source;
  struct arena *arena;
  struct diag_list *diags;
  enum status status;
  unsigned depth, max_depth;
};

static bool fail(struct reader *r, enum status status, enum diag_id id, const char *at, const char *what,
                 const char *message) {
  size_t offset = (size_t)(at - r->source->text);
  r->status = status;
  diag_file(r->diags, id, r->source->name, 0, 0, "not a sound ONNX file: %s '%s' at byte %zu", what, message, offset);
  return false;
}

static bool fail_memory(struct reader *r) {
  r->status = STATUS_MEMORY;
  diag_file(r->diags, DIAG_E0005_LIMIT, r->source->name, 0, 0,
            "the model needs more memory than its budget of %zu bytes", r->arena->budget_bytes);
  return false;
}

static const struct field_row *find_field(const struct message_row *row, uint32_t number) {
  for (const struct field_row *field = row->fields; field->number != 0; field++) {
    if (field->number == number) {
      return field;
    }
  }
  return NULL;
}

static bool is_number_list(uint8_t kind) {
  return kind == INTS || kind == FLOATS || kind == DOUBLES;
}

static size_t element_size(const struct field_row *field) {
  static const size_t sizes[] = {[INTS] = sizeof(int64_t),
                                 [FLOATS] = sizeof(float),
                                 [DOUBLES] = sizeof(double),
                                 [SPANS] = sizeof(struct onnx_span)};
  return field->kind == MESSAGES ? messages[field->message].size : sizes[field->kind];
}

/* Wire types that a field of this kind may have. */
static bool is_wire_allowed(uint8_t kind, enum onnx_wire wire) {
  static const uint8_t single[] = {[INT] = ONNX_VARINT,      [FLOAT] = ONNX_FIXED32, [SPAN] = ONNX_BYTES,
                                   [MESSAGE] = ONNX_BYTES,   [INTS] = ONNX_VARINT,   [FLOATS] = ONNX_FIXED32,
                                   [DOUBLES] = ONNX_FIXED64, [SPANS] = ONNX_BYTES,   [MESSAGES] = ONNX_BYTES};
  return wire == single[kind] || (wire == ONNX_BYTES && is_number_list(kind));
}

/* Entries that one occurrence adds; -1 when a packed list is damaged. */
static int64_t entry_count(const struct field_row *field, const struct onnx_wire_field *wire) {
  if (wire->wire != ONNX_BYTES || !is_number_list(field->kind)) {
    return 1;
  }
  size_t size = field->kind == FLOATS ? 4 : 8;
  if (field->kind != INTS) {
    return wire->bytes.length % size == 0 ? (int64_t)(wire->bytes.length / size) : -1;
  }
  int64_t count = 0;
  for (size_t i = 0; i < wire->bytes.length; i++) {
    count += (uint8_t)wire->bytes.text[i] < 0x80;
  }
  return wire->bytes.length > 0 && (uint8_t)wire->bytes.text[wire->bytes.length - 1] >= 0x80 ? -1 : count;
}

/* First walk: lists get their arrays, with count 0. */
static bool allocate_lists(struct reader *r, const struct message_row *row, struct onnx_span bytes, char *message) {
  size_t counts[FIELDS_MAX] = {0};
  struct onnx_cursor c = onnx_cursor_of(bytes);
  struct onnx_wire_field wire;
  for (const char *at = c.at; onnx_wire_next(&c, &wire); at = c.at) {
    const struct field_row *field = find_field(row, wire.number);
    if (field == NULL) {
      continue;
    }
    if (!is_wire_allowed(field->kind, wire.wire)) {
      return fail(r, STATUS_INPUT, DIAG_E0003_FORMAT, at, "a field of the wrong wire type in", row->name);
    }
    int64_t count = entry_count(field, &wire);
    if (count < 0) {
      return fail(r, STATUS_INPUT, DIAG_E0003_FORMAT, at, "a damaged list in", row->name);
    }
    counts[field - row->fields] += (size_t)count;
  }
  if (c.at != c.end) {
    return fail(r, STATUS_INPUT, DIAG_E0003_FORMAT, c.at, "a damaged or truncated field in", row->name);
  }
  for (size_t i = 0; i < FIELDS_MAX && row->fields[i].number != 0; i++) {
    if (row->fields[i].kind < INTS || counts[i] == 0) {
      continue;
    }
    any_list list = {arena_calloc(r->arena, counts[i], element_size(&row->fields[i])), 0};
    if (list.items == NULL) {
      return fail_memory(r);
    }
    memcpy(message + row->fields[i].offset, &list, sizeof list);
  }
  return true;
}

static bool read_message(struct reader *r, uint8_t id, struct onnx_span bytes, char *message);

/* Stores one number at `to`. */
static void store_number(uint8_t kind, uint64_t bits, char *to) {
  if (kind == FLOATS || kind == FLOAT) {
    uint32_t narrow = (uint32_t)bits;
    memcpy(to, &narrow, sizeof narrow);
  } else {
    memcpy(to, &bits, sizeof bits);
  }
}

static bool store_packed(const struct field_row *field, struct onnx_span bytes, any_list *list) {
  size_t size = element_size(field);
  char *to = (char *)list->items + list->count * size;
  struct onnx_cursor c = onnx_cursor_of(bytes);
  while (c.at < c.end) {
    uint64_t bits;
    if (field->kind == INTS) {
      if (!onnx_varint(&c, &bits)) {
        return false;
      }
    } else {
      bits = field->kind == FLOATS ? onnx_fixed32(c.at) : onnx_fixed64(c.at);
      c.at += size;
    }
    store_number(field->kind, bits, to);
    to += size;
    list->count++;
  }
  return true;
}

static bool store_entry(struct reader *r, const struct field_row *field, const struct onnx_wire_field *wire,
                        char *member) {
  any_list list;
  memcpy(&list, member, sizeof list);
  char *to = (char *)list.items + list.count * element_size(field);
  bool ok = true;
  if (is_number_list(field->kind) && wire->wire == ONNX_BYTES) {
    ok = store_packed(field, wire->bytes, &list)
         || fail(r, STATUS_INPUT, DIAG_E0003_FORMAT, wire->bytes.text, "a damaged list in field",
                 messages[field->message].name != NULL ? messages[field->message].name : "of numbers");
  } else {
    list.count++;
    if (field->kind == MESSAGES) {
      ok = read_message(r, field->message, wire->bytes, to);
    } else if (field->kind == SPANS) {
      memcpy(to, &wire->bytes, sizeof wire->bytes);
    } else {
      store_number(field->kind, wire->bits, to);
    }
  }
  memcpy(member, &list, sizeof list);
  return ok;
}

static bool store_field(struct reader *r, const struct field_row *field, const struct onnx_wire_field *wire,
                        char *member) {
  if (field->kind >= INTS) {
    return store_entry(r, field, wire, member);
  }
  if (field->kind == SPAN) {
    memcpy(member, &wire->bytes, sizeof wire->bytes);
    return true;
  }
  if (field->kind != MESSAGE) {
    store_number(field->kind, wire->bits, member);
    return true;
  }
  char *child = arena_calloc(r->arena, 1, messages[field->message].size);
  if (child == NULL) {
    return fail_memory(r);
  }
  memcpy(member, &child, sizeof child); /* the last one counts */
  return read_message(r, field->message, wire->bytes, child);
}

static bool read_message(struct reader *r, uint8_t id, struct onnx_span bytes, char *message) {
  const struct message_row *row = &messages[id];
  if (r->depth >= r->max_depth) {
    return fail(r, STATUS_LIMIT, DIAG_E0005_LIMIT, bytes.text, "nested too deeply is", row->name);
  }
  if (!allocate_lists(r, row, bytes, message)) {
    return false;
  }
  r->depth++;
  bool ok = true;
  uint32_t present = 0;
  struct onnx_cursor c = onnx_cursor_of(bytes);
  struct onnx_wire_field wire;
  while (ok && onnx_wire_next(&c, &wire)) {
    const struct field_row *field = find_field(row, wire.number);
    if (field != NULL) {
      present |= 1u << field->number;
      ok = store_field(r, field, &wire, message + field->offset);
    }
  }
  memcpy(message, &present, sizeof present);
  r->depth--;
  return ok;
}

struct onnx_model *onnx_proto_read(const struct source *source, unsigned max_depth, struct arena *arena,
                                   struct diag_list *diags, enum status *status) {
  struct reader r = {.source = source, .arena = arena, .diags = diags, .max_depth = max_depth};
  struct onnx_model *model = arena_calloc(arena, 1, sizeof *model);
  if (model == NULL) {
    (void)fail_memory(&r);
    *status = r.status;
    return NULL;
  }
  bool ok = read_message(&r, MESSAGE_model, (struct onnx_span){source->text, source->length}, (char *)model);
  *status = r.status;
  return ok ? model : NULL;
}

bool onnx_span_is(struct onnx_span span, const char *text) {
  return strlen(text) == span.length && memcmp(span.text, text, span.length) == 0;
}
