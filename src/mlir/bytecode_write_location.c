/* Locations for bytecode that is written, from the canonical text that the module keeps of them: "file":1:2, "name"(…),
 * callsite(… at …), fused[…]. Path: bytecode_write_ir.c → here → entries. Codes and fields: BuiltinDialectBytecode.td.
 * The metadata of fused<metadata>[…] is left out. */
#include "mlir/bytecode_write_int.h"

/* Ranges within a file; before, a location was one place. */
static const char ranges_since[] = "1.8.4";

static struct bw_ref finish(struct bw_writer *w, size_t mark) {
  return bw_finish(w, mark, BW_ATTRIBUTE, BW_BUILTIN, 0);
}

static struct bw_ref parse(struct bw_writer *w, struct bw_text *t);

/* line:column, and " to :column" or " to line:column", behind the name of a file. */
static struct bw_ref file(struct bw_writer *w, struct bw_text *t, struct bw_ref name) {
  size_t mark = w->stack.count;
  int64_t line, column, last_line, last_column = 0;
  if (!bw_integer(w, t, &line) || !bw_expect(w, t, ":") || !bw_integer(w, t, &column)) {
    return bw_drop(w, mark);
  }
  bool is_range = bw_skip(t, " to "), is_line = bw_skip(t, ":");
  last_line = line;
  if (is_range
      && ((!is_line && (!bw_integer(w, t, &last_line) || !bw_expect(w, t, ":"))) || !bw_integer(w, t, &last_column))) {
    return bw_drop(w, mark);
  }
  is_range = is_range && w->target >= vhlo_version_of(ranges_since);
  bw_varint(w, is_range ? BUILTIN_LOC_FILE_RANGE : BUILTIN_LOC_FILE);
  bw_reference(w, name);
  if (is_range) {
    bw_varint(w, is_line ? 3 : 4);
  }
  bw_varint(w, (uint64_t)line);
  bw_varint(w, (uint64_t)column);
  if (is_range && !is_line) {
    bw_varint(w, (uint64_t)last_line);
  }
  if (is_range) {
    bw_varint(w, (uint64_t)last_column);
  }
  return finish(w, mark);
}

/* A name, and in brackets the location that has it. */
static struct bw_ref named(struct bw_writer *w, struct bw_text *t) {
  size_t mark = w->stack.count, length;
  const char *text;
  if (!bw_quoted(w, t, &text, &length)) {
    return bw_drop(w, mark);
  }
  struct bw_ref name = bw_builtin_string(w, text, length), child = w->unknown_location;
  if (bw_skip(t, ":")) {
    return file(w, t, name);
  }
  if (bw_skip(t, "(") && (!(child = parse(w, t)).id || !bw_expect(w, t, ")"))) {
    return bw_drop(w, mark);
  }
  bw_varint(w, BUILTIN_LOC_NAME);
  bw_reference(w, name);
  bw_reference(w, child);
  return finish(w, mark);
}

static struct bw_ref call_site(struct bw_writer *w, struct bw_text *t) {
  size_t mark = w->stack.count;
  struct bw_ref callee = parse(w, t), caller = {0};
  if (!callee.id || !bw_expect(w, t, " at ") || !(caller = parse(w, t)).id || !bw_expect(w, t, ")")) {
    return bw_drop(w, mark);
  }
  bw_varint(w, BUILTIN_LOC_CALL_SITE);
  bw_reference(w, callee);
  bw_reference(w, caller);
  return finish(w, mark);
}

/* <…> with what is quoted and bracketed within. */
static void skip_metadata(struct bw_text *t) {
  int depth = 0;
  bool is_quoted = false;
  do {
    char c = *t->at++;
    is_quoted ^= c == '"';
    depth += is_quoted ? 0 : (c == '<') - (c == '>' && t->at[-2] != '-');
  } while (t->at < t->end && depth > 0);
}

static struct bw_ref fused(struct bw_writer *w, struct bw_text *t) {
  size_t mark = w->stack.count;
  uint64_t count = 0;
  if (t->at < t->end && *t->at == '<') {
    skip_metadata(t);
  }
  bw_varint(w, BUILTIN_LOC_FUSED);
  bw_varint(w, 0);
  if (!bw_expect(w, t, "[")) {
    return bw_drop(w, mark);
  }
  while (!bw_skip(t, "]")) {
    struct bw_ref part = {0};
    if ((count && !bw_expect(w, t, ", ")) || !(part = parse(w, t)).id) {
      return bw_drop(w, mark);
    }
    bw_reference(w, part);
    count++;
  }
  bw_set(w, mark + 1, count);
  return finish(w, mark);
}

static struct bw_ref parse(struct bw_writer *w, struct bw_text *t) {
  if (!bw_deeper(w)) {
    return (struct bw_ref){0};
  }
  struct bw_ref made = bw_skip(t, "unknown")     ? w->unknown_location
                       : bw_skip(t, "callsite(") ? call_site(w, t)
                       : bw_skip(t, "fused")     ? fused(w, t)
                                                 : named(w, t);
  w->depth--;
  return made;
}

struct bw_ref bw_location_attr(struct bw_writer *w, const char *text, size_t length) {
  struct bw_text t = {text, text + length, false};
  struct bw_ref made = parse(w, &t);
  return made.id && t.at != t.end ? bw_refused(w, "the location %.60s", text) : made;
}

struct bw_ref bw_location(struct bw_writer *w, struct ir_attr location) {
  return location.id && w->locations ? bw_builtin_attr(w, location) : w->unknown_location;
}

bool bw_make_unknown_location(struct bw_writer *w) {
  size_t mark = w->stack.count;
  bw_varint(w, BUILTIN_LOC_UNKNOWN);
  w->unknown_location = finish(w, mark);
  return w->unknown_location.id != 0;
}
