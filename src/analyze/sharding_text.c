/* Reader of sharding texts. Forms that it does not know end it quietly: checks pass over them. */
#include "analyze/sharding_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_blanks(const char *at) {
  while (at != NULL && *at == ' ') {
    at++;
  }
  return at;
}

/* Behind `word`, NULL when something else stands there. */
static const char *expect(const char *at, const char *word) {
  at = skip_blanks(at);
  size_t length = strlen(word);
  return at != NULL && strncmp(at, word, length) == 0 ? at + length : NULL;
}

static const char *read_number(const char *at, int64_t *out) {
  char *end;
  at = skip_blanks(at);
  if (at == NULL || !(isdigit((unsigned char)*at) || *at == '-')) {
    return NULL;
  }
  *out = strtoll(at, &end, 10);
  return end != at ? end : NULL; /* a '-' alone is no number */
}

static const char *read_quoted(const char *at, struct sharding_name *out) {
  at = expect(at, "\"");
  const char *end = at != NULL ? strchr(at, '"') : NULL;
  if (end == NULL) {
    return NULL;
  }
  *out = (struct sharding_name){at, (uint32_t)(end - at)};
  return end + 1;
}

bool sharding_name_is(struct sharding_name a, struct sharding_name b) {
  return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

/* Numbers up to `]`; whether they are 0 ... n - 1 in some order (of up to 4096: more pass). */
static const char *read_ids(const char *at, bool *is_iota) {
  enum { IDS_MAX = 4096 };
  static const uint64_t one = 1;
  uint64_t seen[IDS_MAX / 64] = {0};
  int64_t id, largest = -1;
  uint32_t count = 0;
  *is_iota = true;
  while (at != NULL && expect(at, "]") == NULL) {
    at = read_number(at, &id);
    if (at == NULL) {
      return NULL;
    }
    count++;
    largest = id > largest ? id : largest;
    if (id < 0) {
      *is_iota = false;
    } else if (id < IDS_MAX) {
      *is_iota &= (seen[id / 64] & (one << (id % 64))) == 0;
      seen[id / 64] |= one << (id % 64);
    }
    const char *next = expect(at, ",");
    at = next != NULL ? next : at;
  }
  *is_iota &= largest < (int64_t)count || largest >= IDS_MAX;
  return expect(at, "]");
}

const char *sharding_read_mesh(const char *at, struct sharding_mesh *out) {
  memset(out, 0, sizeof *out);
  at = expect(at, "<[");
  while (at != NULL && expect(at, "]") == NULL) {
    if (out->count == SHARDING_MAX_AXES) {
      return NULL;
    }
    at = read_quoted(at, &out->names[out->count]);
    at = read_number(expect(at, "="), &out->sizes[out->count]);
    out->count++;
    const char *next = expect(at, ",");
    at = next != NULL ? next : at;
  }
  at = expect(at, "]");
  const char *ids = expect(expect(at, ","), "device_ids=[");
  if (ids != NULL) {
    out->has_ids = true;
    at = read_ids(ids, &out->is_iota);
  }
  return expect(at, ">");
}

static const char *read_axis(const char *at, struct sharding_axis *axis) {
  *axis = (struct sharding_axis){0};
  at = read_quoted(at, &axis->name);
  const char *part = expect(at, ":(");
  if (part == NULL) {
    return at;
  }
  axis->is_part = true;
  return read_number(expect(read_number(part, &axis->pre), ")"), &axis->size);
}

const char *sharding_read_names(const char *at, struct sharding_list *list, struct sharding_axis *axes,
                                uint32_t *axis_count) {
  *list = (struct sharding_list){.first = *axis_count};
  at = expect(at, "{");
  while (at != NULL && expect(at, "}") == NULL) {
    const char *open = expect(at, "?");
    if (open != NULL) {
      list->is_open = true;
      at = open;
    } else {
      if (*axis_count == SHARDING_MAX_AXES) {
        return NULL;
      }
      at = read_axis(at, &axes[*axis_count]);
      *axis_count += 1;
      list->count++;
    }
    const char *next = expect(at, ",");
    at = next != NULL ? next : at;
  }
  return expect(at, "}");
}

static const char *read_mesh_of(const char *at, struct sharding *out) {
  const char *inlined = expect(at, "mesh");
  if (inlined != NULL) {
    return sharding_read_mesh(inlined, &out->inlined);
  }
  at = expect(at, "@");
  if (at == NULL) {
    return NULL;
  }
  if (*at == '"') {
    return read_quoted(at, &out->mesh);
  }
  size_t length = strcspn(at, ",> ");
  out->mesh = (struct sharding_name){at, (uint32_t)length};
  return length > 0 ? at + length : NULL;
}

static const char *read_dims(const char *at, struct sharding *out) {
  at = expect(at, "[");
  while (at != NULL && expect(at, "]") == NULL) {
    if (out->dim_count == SHARDING_MAX_DIMS) {
      return NULL;
    }
    struct sharding_list *dim = &out->dims[out->dim_count++];
    at = sharding_read_names(at, dim, out->axes, &out->axis_count);
    if (at != NULL && *at == 'p') {
      int64_t priority;
      dim->has_priority = true;
      at = read_number(at + 1, &priority);
    }
    const char *next = expect(at, ",");
    at = next != NULL ? next : at;
  }
  return expect(at, "]");
}

const char *sharding_read(const char *at, struct sharding *out) {
  out->mesh = (struct sharding_name){"", 0};
  out->axis_count = out->dim_count = 0;
  out->replicated = out->unreduced = (struct sharding_list){0};
  at = read_dims(expect(read_mesh_of(expect(at, "<"), out), ","), out);
  for (const char *more = expect(at, ","); more != NULL; more = expect(at, ",")) {
    const char *replicated = expect(more, "replicated="), *unreduced = expect(more, "unreduced=");
    at = replicated != NULL  ? sharding_read_names(replicated, &out->replicated, out->axes, &out->axis_count)
         : unreduced != NULL ? sharding_read_names(unreduced, &out->unreduced, out->axes, &out->axis_count)
                             : NULL;
  }
  return expect(at, ">");
}
