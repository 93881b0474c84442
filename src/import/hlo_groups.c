/* Groups of devices of a collective: listed, as transposed numbers, or along axes of a mesh; all become lists.
 * Source of the forms: what XLA's HLO parser takes and prints (jaxlib 0.10.2). See hlo_build.h. */
#include "import/hlo_build.h"

static bool bad_groups(struct hlo_builder *b, struct hlo_span text, const char *example) {
  return hlo_fail(b, DIAG_E0105_ATTRIBUTE, text.text, "expected groups of devices, like %s, found '%.*s'", example,
                  (int)(text.length < 80 ? text.length : 80), text.text);
}

enum { DEVICES_MAX = 1 << 20 };

static bool listed_groups(struct hlo_builder *b, struct hlo_span text, int64_t *rows, int64_t *columns) {
  struct hlo_cursor c = hlo_cursor_of(text);
  VEC(uint32_t) starts = {0};
  bool ok = hlo_try(&c, '{');
  b->ints.count = 0;
  while (ok && hlo_peek(&c) != '}') {
    int64_t id;
    ok = hlo_try(&c, '{') && hlo_ok(b, vec_push(&starts, (uint32_t)b->ints.count));
    while (ok && hlo_peek(&c) != '}') {
      ok = hlo_integer(&c, &id) && hlo_ok(b, vec_push(&b->ints, id));
      (void)hlo_try(&c, ',');
    }
    ok = ok && hlo_try(&c, '}');
    (void)hlo_try(&c, ',');
  }
  uint32_t widest = 0;
  for (size_t i = 0; i < starts.count && ok; i++) {
    uint32_t end = i + 1 < starts.count ? starts.data[i + 1] : (uint32_t)b->ints.count;
    widest = end - starts.data[i] > widest ? end - starts.data[i] : widest;
  }
  size_t total = starts.count * widest;
  if (ok && total > DEVICES_MAX) {
    ok = hlo_fail(b, DIAG_E0005_LIMIT, text.text, "more than %d devices", DEVICES_MAX);
  } else if (!ok) {
    ok = bad_groups(b, text, "{{0,1},{2,3}}");
  } else if (total > b->ints.count) {
    ok = hlo_ok(b, vec_reserve(&b->ints, total));
    size_t from = b->ints.count;
    b->ints.count = ok ? total : from;
    for (size_t i = starts.count; i-- > 0 && ok;) {
      size_t length = from - starts.data[i];
      memmove(b->ints.data + i * widest, b->ints.data + starts.data[i], length * sizeof *b->ints.data);
      from = starts.data[i];
      for (size_t k = length; k < widest; k++) {
        b->ints.data[i * widest + k] = -1;
      }
    }
  }
  *rows = (int64_t)starts.count;
  *columns = widest;
  vec_release(&starts);
  return ok;
}

enum { IOTA_RANK_MAX = 32 };

/* [a,b,c] */
static bool iota_list(struct hlo_cursor *c, int64_t *values, uint32_t *count) {
  *count = 0;
  bool is_round = hlo_try(c, '(');
  if (!is_round && !hlo_try(c, '[')) {
    return false;
  }
  do {
    if (*count == IOTA_RANK_MAX || !hlo_integer(c, &values[*count])) {
      return false;
    }
    ++*count;
  } while (hlo_try(c, ','));
  return hlo_try(c, is_round ? ')' : ']');
}

/* Numbers 0, 1, ... in an array of `dims`, transposed by `order`. */
static bool iota_numbers(struct hlo_builder *b, const int64_t *dims, const int64_t *order, uint32_t rank,
                         int64_t total) {
  int64_t strides[IOTA_RANK_MAX], index[IOTA_RANK_MAX] = {0}, step = 1;
  for (uint32_t i = rank; i-- > 0;) {
    strides[i] = step;
    step *= dims[i];
  }
  b->ints.count = 0;
  if (!vec_reserve(&b->ints, (size_t)total)) {
    return hlo_ok(b, false);
  }
  for (int64_t n = 0; n < total; n++) {
    int64_t id = 0;
    for (uint32_t i = 0; i < rank; i++) {
      id += index[i] * strides[order[i]];
    }
    b->ints.data[b->ints.count++] = id;
    for (uint32_t i = rank; i-- > 0;) {
      if (++index[i] < dims[order[i]]) {
        break;
      }
      index[i] = 0;
    }
  }
  return true;
}

/* `[dims]`, optionally `T(order)`; `total` devices. */
static bool iota_dims(struct hlo_cursor *c, int64_t *dims, int64_t *order, uint32_t *rank, int64_t *total) {
  uint32_t order_count = 0, seen = 0;
  bool ok = iota_list(c, dims, rank);
  *total = 1;
  for (uint32_t i = 0; ok && i < *rank; i++) {
    order[i] = i;
    ok = dims[i] > 0 && dims[i] <= DEVICES_MAX / *total;
    *total = ok ? *total * dims[i] : *total;
  }
  if (ok && hlo_try(c, 'T')) {
    ok = iota_list(c, order, &order_count) && order_count == *rank;
  }
  for (uint32_t i = 0; ok && i < *rank; i++) {
    ok = order[i] >= 0 && order[i] < (int64_t)*rank && (seen & (1u << order[i])) == 0;
    seen |= ok ? 1u << order[i] : 0;
  }
  return ok;
}

/* [groups,size]<=[dims]T(order) */
static bool iota_groups(struct hlo_builder *b, struct hlo_span text, int64_t *rows, int64_t *columns) {
  struct hlo_cursor c = hlo_cursor_of(text);
  int64_t groups[IOTA_RANK_MAX], dims[IOTA_RANK_MAX], order[IOTA_RANK_MAX], total;
  uint32_t count, rank;
  bool ok = iota_list(&c, groups, &count) && count == 2 && hlo_try_word(&c, "<=")
            && iota_dims(&c, dims, order, &rank, &total) && hlo_peek(&c) == '\0';
  ok = ok && groups[0] > 0 && groups[1] > 0 && groups[0] <= DEVICES_MAX && groups[1] <= DEVICES_MAX
       && groups[0] * groups[1] == total;
  if (!ok) {
    return bad_groups(b, text, "[2,4]<=[8] or {{0,1},{2,3}}");
  }
  *rows = groups[0];
  *columns = groups[1];
  return iota_numbers(b, dims, order, rank, total);
}

/* ---- groups along axes of a mesh ---- */

enum { MESH_AXES_MAX = 16 };

/* An axis, or the part `(before)size` of one that a group runs along. */
struct mesh_axis {
  struct hlo_span name;
  int64_t before, size;
};

struct mesh {
  struct mesh_axis axes[MESH_AXES_MAX], parts[MESH_AXES_MAX];
  uint32_t axis_count, part_count;
  int64_t total;
};

/* 'x' */
static bool axis_name(struct hlo_cursor *c, struct hlo_span *name) {
  if (!hlo_try(c, '\'')) {
    return false;
  }
  const char *end = memchr(c->at, '\'', (size_t)(c->end - c->at));
  *name = (struct hlo_span){c->at, end != NULL ? (size_t)(end - c->at) : 0};
  c->at = end != NULL ? end + 1 : c->end;
  return name->length > 0;
}

/* mesh['x'=2,'y'=4] */
static bool mesh_axes(struct hlo_cursor *c, struct mesh *mesh) {
  if (!hlo_try_word(c, "mesh") || !hlo_try(c, '[')) {
    return false;
  }
  do {
    struct mesh_axis axis = {.before = 1};
    if (mesh->axis_count == MESH_AXES_MAX || !axis_name(c, &axis.name) || !hlo_try(c, '=')
        || !hlo_integer(c, &axis.size) || axis.size <= 0 || axis.size > DEVICES_MAX / mesh->total) {
      return false;
    }
    mesh->total *= axis.size;
    mesh->axes[mesh->axis_count++] = axis;
  } while (hlo_try(c, ','));
  return hlo_try(c, ']');
}

/* The axis of a part by its name; the part of a whole axis gets its size. */
static bool find_axis(const struct mesh *mesh, struct mesh_axis *part) {
  for (uint32_t i = 0; i < mesh->axis_count; i++) {
    const struct mesh_axis *axis = &mesh->axes[i];
    if (axis->name.length == part->name.length && memcmp(axis->name.text, part->name.text, part->name.length) == 0) {
      part->name = axis->name; /* found by its address from here on */
      part->size = part->size == 0 ? axis->size : part->size;
      return part->before > 0 && part->size > 0 && part->before <= axis->size && part->size <= axis->size
             && axis->size % (part->before * part->size) == 0;
    }
  }
  return false;
}

/* {'x','y':(1)2} */
static bool mesh_parts(struct hlo_cursor *c, struct mesh *mesh) {
  if (!hlo_try(c, '{')) {
    return false;
  }
  do {
    struct mesh_axis part = {.before = 1};
    if (mesh->part_count == MESH_AXES_MAX || !axis_name(c, &part.name)) {
      return false;
    }
    bool is_part = hlo_try(c, ':');
    if (is_part
        && (!hlo_try(c, '(') || !hlo_integer(c, &part.before) || !hlo_try(c, ')') || !hlo_integer(c, &part.size)
            || part.size <= 0)) {
      return false;
    }
    if (!find_axis(mesh, &part)) {
      return false;
    }
    mesh->parts[mesh->part_count++] = part;
  } while (hlo_try(c, ','));
  return hlo_try(c, '}') && hlo_peek(c) == '\0';
}

/* One axis as factors at whose ends its parts begin and end. `place` receives the factor of each part. */
static bool split_axis(const struct mesh *mesh, const struct mesh_axis *axis, int64_t *dims, uint32_t *rank,
                       uint32_t *place) {
  for (int64_t done = 1; done < axis->size || axis->size == 1;) {
    int64_t next = axis->size;
    for (uint32_t i = 0; i < mesh->part_count; i++) {
      const struct mesh_axis *part = &mesh->parts[i];
      if (part->name.text == axis->name.text) {
        next = part->before > done && part->before < next ? part->before : next;
        next = part->before * part->size > done && part->before * part->size < next ? part->before * part->size : next;
      }
    }
    if (*rank == IOTA_RANK_MAX || next % done != 0) {
      return false;
    }
    for (uint32_t i = 0; i < mesh->part_count; i++) {
      const struct mesh_axis *part = &mesh->parts[i];
      if (part->name.text == axis->name.text && part->before == done && part->before * part->size == next) {
        place[i] = *rank;
      }
    }
    dims[(*rank)++] = next / done;
    if (next == axis->size) {
      break;
    }
    done = next;
  }
  return true;
}

/* (0,2,1,3) or ([2,2]T(1,0)): the devices in the order of the mesh, onto b->ints. */
static bool mesh_devices(struct hlo_builder *b, struct hlo_cursor *c, const struct mesh *mesh) {
  int64_t dims[IOTA_RANK_MAX], order[IOTA_RANK_MAX], total, id;
  uint32_t rank;
  b->ints.count = 0;
  bool ok = hlo_try(c, '(');
  if (ok && hlo_peek(c) == '[') {
    return iota_dims(c, dims, order, &rank, &total) && hlo_try(c, ')') && total == mesh->total
           && iota_numbers(b, dims, order, rank, total);
  }
  do {
    ok = ok && hlo_integer(c, &id) && (int64_t)b->ints.count < mesh->total && hlo_ok(b, vec_push(&b->ints, id));
  } while (ok && hlo_try(c, ','));
  return ok && hlo_try(c, ')') && (int64_t)b->ints.count == mesh->total;
}

/* mesh['x'=2,'y'=4][, device_ids=(...)] {'y'}: groups run along the named axes, the first of them slowest. */
static bool mesh_groups(struct hlo_builder *b, struct hlo_span text, int64_t *rows, int64_t *columns) {
  struct hlo_cursor c = hlo_cursor_of(text);
  struct mesh mesh = {.total = 1};
  int64_t dims[IOTA_RANK_MAX], order[IOTA_RANK_MAX];
  uint32_t rank = 0, count = 0, place[MESH_AXES_MAX], used = 0;
  VEC(int64_t) devices = {0};
  bool ok = mesh_axes(&c, &mesh);
  if (ok && hlo_try(&c, ',')) {
    ok = hlo_try_word(&c, "device_ids") && hlo_try(&c, '=') && mesh_devices(b, &c, &mesh)
         && hlo_ok(b, vec_reserve(&devices, b->ints.count));
    for (size_t i = 0; ok && i < b->ints.count; i++) {
      devices.data[devices.count++] = b->ints.data[i];
    }
  }
  ok = ok && mesh_parts(&c, &mesh);
  memset(place, 0xff, sizeof place);
  for (uint32_t i = 0; ok && i < mesh.axis_count; i++) {
    ok = split_axis(&mesh, &mesh.axes[i], dims, &rank, place);
  }
  *columns = 1;
  for (uint32_t i = 0; ok && i < mesh.part_count; i++) {
    ok = place[i] < rank && (used & 1u << place[i]) == 0;
    used |= ok ? 1u << place[i] : 0;
    *columns *= mesh.parts[i].size;
  }
  for (uint32_t i = 0; ok && i < rank; i++) {
    if ((used & 1u << i) == 0) {
      order[count++] = i;
    }
  }
  for (uint32_t i = 0; ok && i < mesh.part_count; i++) {
    order[count++] = place[i];
  }
  if (ok) {
    *rows = mesh.total / *columns;
    ok = iota_numbers(b, dims, order, rank, mesh.total);
    for (size_t i = 0; ok && devices.count > 0 && i < b->ints.count; i++) {
      b->ints.data[i] = devices.data[b->ints.data[i]];
    }
  } else if (!b->hlo->is_out_of_memory) {
    (void)bad_groups(b, text, "mesh['x'=2,'y'=4] {'y'}");
  }
  vec_release(&devices);
  return ok;
}

bool hlo_read_groups(struct hlo_builder *b, struct hlo_span text, int64_t *rows, int64_t *columns) {
  *rows = *columns = 0;
  b->ints.count = 0;
  if (text.length == 0) {
    return true;
  }
  return text.text[0] == '['   ? iota_groups(b, text, rows, columns)
         : text.text[0] == 'm' ? mesh_groups(b, text, rows, columns)
                               : listed_groups(b, text, rows, columns);
}
