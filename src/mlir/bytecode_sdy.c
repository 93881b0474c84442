/* Attributes of the sdy dialect (shardings) in bytecode, as the canonical text that the text parser keeps (op_attrs.h): one
 * blank after a comma, none elsewhere, no "#sdy.sharding" within lists. Path: bytecode_entry.c → here.
 *
 * The parts of a sharding are attributes of their own. Each is held as a text of its own, "#sdy<name(...)>" or the like, of
 * which the frame goes when it becomes part of another one. */
#include <string.h>

#include "mlir/bytecode_int.h"

static bool put_string(struct bc_reader *r, struct bc_cursor *c, struct strbuf *out) {
  const struct bc_string *text;
  if (!bc_string(r, c, &text)) {
    return false;
  }
  bc_put_quoted(text->text, text->length, out);
  return true;
}

/* Another sdy attribute, without its frame. */
static bool put_attr(struct bc_reader *r, struct ir_attr attr, const uint8_t *at, struct strbuf *out) {
  size_t start = out->length;
  if (ir_attr_get(r->m, attr)->kind != IR_ATTR_OPAQUE) {
    return bc_error(r, at, "expected a part of a sharding, found another attribute");
  }
  if (!bc_put_attr_text(r, at, attr, out)) {
    return false;
  }
  for (size_t i = 0; i < SDY_CODE_COUNT; i++) {
    size_t length = strlen(bc_sdy_frames[i].prefix), tail = strlen(bc_sdy_frames[i].suffix), have = out->length - start;
    if (have >= length + tail && have > length && memcmp(out->data + start, bc_sdy_frames[i].prefix, length) == 0
        && out->data[start + length] != '_') {
      memmove(out->data + start, out->data + start + length, have - length);
      out->length -= length + tail;
      break;
    }
  }
  return true;
}

static bool put_part(struct bc_reader *r, struct bc_cursor *c, struct strbuf *out) {
  struct ir_attr attr;
  const uint8_t *at = c->at;
  return bc_attr(r, c, &attr) && put_attr(r, attr, at, out);
}

/* Count and parts, parted by ", ", between brackets. */
static bool put_list(struct bc_reader *r, struct bc_cursor *c, const char *open, const char *close,
                     struct strbuf *out) {
  uint32_t count;
  if (!bc_count(r, c, &count, "parts")) {
    return false;
  }
  strbuf_puts(out, open);
  for (uint32_t i = 0; i < count; i++) {
    strbuf_puts(out, i ? ", " : "");
    if (!put_part(r, c, out)) {
      return false;
    }
  }
  strbuf_puts(out, close);
  return true;
}

/* The same when there are any. */
static bool put_clause(struct bc_reader *r, struct bc_cursor *c, const char *open, const char *close,
                       struct strbuf *out) {
  struct bc_cursor peek = *c;
  uint64_t count;
  if (!bc_varint(r, &peek, &count)) {
    return false;
  }
  if (count == 0) {
    *c = peek;
    return true;
  }
  return put_list(r, c, open, close, out);
}

static bool manual_axes(struct bc_reader *r, struct bc_cursor *c, struct strbuf *out) {
  uint32_t count;
  if (!bc_count(r, c, &count, "axes")) {
    return false;
  }
  strbuf_putc(out, '{');
  for (uint32_t i = 0; i < count; i++) {
    struct ir_attr name;
    strbuf_puts(out, i ? ", " : "");
    if (!bc_attr_kind(r, c, IR_ATTR_STRING, "the name of an axis", &name)) {
      return false;
    }
    uint32_t text = ir_attr_get(r->m, name)->text;
    bc_put_quoted(ir_text(r->m, text), intern_length(&r->m->strings, text), out);
  }
  strbuf_putc(out, '}');
  return true;
}

/* <["x"=2, "y"=4], device_ids=[...]> */
static bool mesh(struct bc_reader *r, struct bc_cursor *c, struct strbuf *out) {
  if (!put_list(r, c, "<[", "]", out) || !bc_svarints(r, c)) {
    return false;
  }
  for (size_t i = 0; i < r->dims.count; i++) {
    strbuf_puts(out, i ? ", " : ", device_ids=[");
    strbuf_put_i64(out, r->dims.data[i]);
  }
  strbuf_puts(out, r->dims.count ? "]>" : ">");
  return true;
}

/* "x" or "x":(1)2 */
static bool axis_ref(struct bc_reader *r, struct bc_cursor *c, struct strbuf *out) {
  uint64_t index;
  const uint8_t *at = c->at;
  if (!put_string(r, c, out) || !bc_varint(r, c, &index)) {
    return false;
  }
  if ((index & 1) == 0) {
    return true; /* no sub-axis */
  }
  struct ir_attr sub;
  strbuf_putc(out, ':');
  if (index >> 1 > UINT32_MAX || !bc_attr_at(r, (uint32_t)(index >> 1), at, &sub)) {
    return index >> 1 > UINT32_MAX ? bc_error(r, at, "attribute %llu", (unsigned long long)(index >> 1)) : false;
  }
  return put_attr(r, sub, at, out);
}

/* {"x", "y", ?}p1 */
static bool dimension(struct bc_reader *r, struct bc_cursor *c, struct strbuf *out) {
  uint8_t is_closed;
  uint64_t priority;
  size_t start = out->length;
  if (!put_list(r, c, "{", "", out) || !bc_byte(r, c, &is_closed) || !bc_varint(r, c, &priority)) {
    return false;
  }
  if (!is_closed) {
    strbuf_puts(out, out->length > start + 1 ? ", ?" : "?");
  }
  strbuf_putc(out, '}');
  if (priority & 1) {
    strbuf_printf(out, "p%llu", (unsigned long long)(priority >> 1));
  }
  return true;
}

/* <@mesh, [{"x"}, {}], replicated={"y"}, unreduced={"z"}> */
static bool sharding(struct bc_reader *r, struct bc_cursor *c, uint64_t code, struct strbuf *out) {
  static const char *const reductions[] = {"sum", "max", "min"};
  const uint8_t *at = c->at;
  struct ir_attr mesh_attr;
  if (!bc_attr(r, c, &mesh_attr)) {
    return false;
  }
  enum ir_attr_kind kind = (enum ir_attr_kind)ir_attr_get(r->m, mesh_attr)->kind;
  if (kind == IR_ATTR_SYMBOL) {
    strbuf_puts(out, "<");
    mlir_print_attr(r->m, mesh_attr, out);
  } else {
    struct bc_cursor again = {at, c->end};
    strbuf_puts(out, "<mesh");
    if (!put_part(r, &again, out)) {
      return false;
    }
  }
  if (!put_list(r, c, ", [", "]", out) || !put_clause(r, c, ", replicated={", "}", out)) {
    return false;
  }
  if (code != SDY_SHARDING && !put_clause(r, c, ", unreduced={", "}", out)) {
    return false;
  }
  int64_t reduction = 0;
  if (code == SDY_SHARDING_REDUCTION) {
    if (!bc_svarint(r, c, &reduction)) {
      return false;
    }
    if (reduction < 0 || reduction > 2) {
      return bc_unknown(r, at, "sdy reduction %lld", (long long)reduction);
    }
    if (reduction) {
      return bc_unknown(r, at, "a sharding that is reduced by %s", reductions[reduction]);
    }
  }
  strbuf_putc(out, '>');
  return true;
}

/* ---- op_sharding_rule ----------------------------------------------------------------------------------------------- */

/* Name of a factor: i to z, then z_1, z_2 ... */
static bool put_factor(struct bc_reader *r, const uint8_t *at, int64_t factor, struct strbuf *out) {
  if (factor < 0) {
    return bc_error(r, at, "factor %lld of a sharding rule", (long long)factor);
  }
  if (factor < 18) {
    strbuf_putc(out, (char)('i' + factor));
  } else {
    strbuf_printf(out, "z_%lld", (long long)factor - 17);
  }
  return true;
}

/* [i, jk] : the factors of one dimension stand together */
static bool dim_mapping(struct bc_reader *r, struct bc_cursor *c, struct strbuf *out) {
  const uint8_t *at = c->at;
  if (!bc_svarints(r, c)) {
    return false;
  }
  if (r->dims.count == 0) {
    return bc_error(r, at, "a dimension of a sharding rule without factors");
  }
  bool ok = true;
  for (size_t i = 0; ok && i < r->dims.count; i++) {
    ok = put_factor(r, at, r->dims.data[i], out);
  }
  return ok;
}

static bool put_factors(struct bc_reader *r, struct bc_cursor *c, const char *name, struct strbuf *out) {
  const uint8_t *at = c->at;
  bool ok = bc_svarints(r, c);
  for (size_t i = 0; ok && i < r->dims.count; i++) {
    strbuf_puts(out, i ? ", " : name);
    ok = put_factor(r, at, r->dims.data[i], out);
  }
  strbuf_puts(out, ok && r->dims.count ? "}" : "");
  return ok;
}

/* ([i, j])->([i, j]) {i=8, j=8} reduction={j}, custom */
static bool rule(struct bc_reader *r, struct bc_cursor *c, struct strbuf *out) {
  struct strbuf sizes = {0};
  uint8_t is_custom;
  bool ok = bc_svarints(r, c);
  for (size_t i = 0; ok && i < r->dims.count; i++) {
    strbuf_puts(&sizes, i ? ", " : "");
    (void)put_factor(r, c->at, (int64_t)i, &sizes); /* never negative */
    strbuf_putc(&sizes, '=');
    strbuf_put_i64(&sizes, r->dims.data[i]);
  }
  ok = ok && put_list(r, c, "(", ")->", out) && put_list(r, c, "(", ")", out);
  strbuf_puts(out, " {");
  strbuf_add(out, strbuf_text(&sizes), sizes.length);
  strbuf_putc(out, '}');
  ok = ok && (!sizes.failed || bc_memory(r));
  strbuf_release(&sizes);
  ok = ok && put_factors(r, c, " reduction={", out) && put_factors(r, c, " need_replication={", out)
       && put_factors(r, c, " permutation={", out) && put_factors(r, c, " blocked_propagation={", out)
       && bc_byte(r, c, &is_custom);
  if (ok && is_custom) {
    strbuf_puts(out, ", custom");
  }
  return ok;
}

/* ---- the whole -------------------------------------------------------------------------------------------------------- */

static bool two_numbers(struct bc_reader *r, struct bc_cursor *c, const char *format, struct strbuf *out) {
  int64_t a, b;
  if (!bc_svarint(r, c, &a) || !bc_svarint(r, c, &b)) {
    return false;
  }
  for (; *format; format++) {
    if (*format == '#') {
      strbuf_put_i64(out, a);
      a = b;
    } else {
      strbuf_putc(out, *format);
    }
  }
  return true;
}

static bool mesh_axis(struct bc_reader *r, struct bc_cursor *c, struct strbuf *out) {
  int64_t size;
  if (!put_string(r, c, out) || !bc_svarint(r, c, &size)) {
    return false;
  }
  strbuf_putc(out, '=');
  strbuf_put_i64(out, size);
  return true;
}

static bool body(struct bc_reader *r, struct bc_cursor *c, uint64_t code, struct strbuf *out) {
  switch (code) {
  case SDY_MANUAL_AXES:
    return manual_axes(r, c, out);
  case SDY_MESH_AXIS:
    return mesh_axis(r, c, out);
  case SDY_MESH:
    return mesh(r, c, out);
  case SDY_SUB_AXIS:
    return two_numbers(r, c, "(#)#", out);
  case SDY_AXIS_REF:
    return axis_ref(r, c, out);
  case SDY_DIMENSION:
    return dimension(r, c, out);
  case SDY_SHARDING:
  case SDY_SHARDING_UNREDUCED:
  case SDY_SHARDING_REDUCTION:
    return sharding(r, c, code, out);
  case SDY_DIM_MAPPING:
    return dim_mapping(r, c, out);
  case SDY_RULE:
    return rule(r, c, out);
  case SDY_AXIS_REF_LIST:
    return put_list(r, c, "{", "}", out);
  case SDY_ALL_TO_ALL:
    return put_list(r, c, "{", "}:", out) && two_numbers(r, c, "#->#", out);
  default: /* lists of the above */
    return put_list(r, c, "[", "]", out);
  }
}

bool bc_sdy_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  const uint8_t *at = c->at;
  uint64_t code;
  if (!bc_varint(r, c, &code)) {
    return false;
  }
  if (code > SDY_SHARDING_REDUCTION) {
    return bc_unknown(r, at, "sdy attribute %llu", (unsigned long long)code);
  }
  struct strbuf text = {0};
  strbuf_puts(&text, bc_sdy_frames[code].prefix);
  bool ok = body(r, c, code, &text);
  strbuf_puts(&text, bc_sdy_frames[code].suffix);
  ok = ok && bc_text_attr(r, at, IR_ATTR_OPAQUE, &text, attr);
  strbuf_release(&text);
  return ok;
}
