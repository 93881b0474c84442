/* Slices: which devices of a cluster a program runs on, and which rings close there. A number of devices fills dimensions
 * innermost first; consecutive rings are filled together, as one box. */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/strbuf.h"
#include "hw/hw_cluster_internal.h"

/* More devices than any program has; no number up to it has more than 504 divisors. */
enum { DEVICES_MAX = 1 << 24, DIVISORS_MAX = 512, NEAREST_SEARCH = 4096 };

bool hw_shape_parse(const char *text, uint32_t size[HW_DIMENSIONS_MAX], uint32_t *count) {
  *count = 0;
  while (*count < HW_DIMENSIONS_MAX) {
    uint64_t number = 0;
    text += strspn(text, " ");
    if (*text < '1' || *text > '9') {
      return false;
    }
    for (; *text >= '0' && *text <= '9'; text++) {
      number = number * 10 + (uint64_t)(*text - '0');
      if (number > DEVICES_MAX) {
        return false;
      }
    }
    size[(*count)++] = (uint32_t)number;
    text += strspn(text, " ");
    if (*text == '\0') {
      return true;
    }
    if (*text != 'x' && *text != 'X') {
      return false;
    }
    text++;
  }
  return false;
}

uint32_t hw_cluster_inner_count(const struct hw_cluster *cluster) {
  return cluster->chip_share < 1 && cluster->dimension_count > 1 ? 1 : 0;
}

/* ---- rings ---- */

/* A run of consecutive ring dimensions [first, first + count). */
struct box {
  const struct hw_cluster *cluster;
  uint32_t first, count;
  uint64_t capacity; /* devices */
  uint32_t unit; /* sizes are multiples of it */
  uint32_t best[HW_DIMENSIONS_MAX], trial[HW_DIMENSIONS_MAX];
  uint64_t best_sum; /* 0: none found */
  uint32_t divisors[DIVISORS_MAX]; /* of the number of devices */
  size_t divisor_count;
};

static struct box box_at(const struct hw_cluster *cluster, uint32_t first) {
  struct box box = {.cluster = cluster, .first = first, .capacity = 1, .unit = 1};
  for (uint32_t d = first; d < cluster->dimension_count && cluster->dimensions[d].fabric == HW_FABRIC_RING; d++) {
    box.capacity = sat_mul_u64(box.capacity, cluster->dimensions[d].size);
    box.count++;
  }
  return box;
}

/* The first named shape of the cluster with so many devices. Names count from the first dimension outside the chip. */
static bool find_named(const struct box *box, uint64_t devices, uint32_t *size) {
  for (const char *const *name = box->cluster->shapes; *name != NULL; name++) {
    uint32_t named[HW_DIMENSIONS_MAX], count;
    if (!hw_shape_parse(*name, named, &count) || count > box->count) {
      continue;
    }
    uint64_t product = 1;
    for (uint32_t i = 0; i < box->count; i++) {
      size[i] = i < count ? named[i] : 1;
      product = sat_mul_u64(product, size[i]);
    }
    if (product == devices) {
      return true;
    }
  }
  return false;
}

/* Divisors of `number`, which is at most DEVICES_MAX, in ascending order; returns how many. */
static size_t divisors_of(uint32_t number, uint32_t divisors[DIVISORS_MAX]) {
  size_t count = 0;
  for (uint32_t i = 1; i <= number / i; i++) {
    if (number % i == 0) {
      divisors[count++] = i;
    }
  }
  for (size_t i = count; i-- > 0;) {
    if (divisors[i] != number / divisors[i]) {
      divisors[count++] = number / divisors[i];
    }
  }
  return count;
}

/* Tries every factorisation of `rest` over the dimensions from `i` on; the least sum of sizes is the most cubic. Of equal
 * ones the first stays, whose inner sizes are smallest. At most HW_DIMENSIONS_MAX levels. */
static void try_factors(struct box *box, uint32_t i, uint32_t rest, uint64_t sum) {
  if (i >= HW_DIMENSIONS_MAX || (box->best_sum > 0 && sum >= box->best_sum)) {
    return;
  }
  uint32_t maximum = box->cluster->dimensions[box->first + i].size;
  if (i + 1 >= box->count) {
    box->trial[i] = rest;
    if (rest <= maximum && rest % box->unit == 0 && (box->best_sum == 0 || sum + rest < box->best_sum)) {
      box->best_sum = sum + rest;
      memcpy(box->best, box->trial, sizeof box->best);
    }
    return;
  }
  for (size_t k = 0; k < box->divisor_count && box->divisors[k] <= maximum; k++) {
    uint32_t size = box->divisors[k];
    if (size % box->unit == 0 && rest % size == 0) {
      box->trial[i] = size;
      try_factors(box, i + 1, rest / size, sum + size);
    }
  }
}

/* The most cubic box of so many devices whose sizes are multiples of `unit`. */
static bool find_cubic(struct box *box, uint64_t devices, uint32_t unit, uint32_t *size) {
  box->unit = unit;
  box->best_sum = 0;
  box->divisor_count = divisors_of((uint32_t)devices, box->divisors);
  try_factors(box, 0, (uint32_t)devices, 0);
  memcpy(size, box->best, box->count * sizeof *size);
  return box->best_sum > 0;
}

/* Sizes of a box of so many devices: a named shape, else the most cubic one. Where shapes are named, only boxes made of
 * whole building blocks (HW_WRAP_MULTIPLES) come in other shapes. */
static bool box_shape(struct box *box, uint64_t devices, uint32_t *size) {
  if (find_named(box, devices, size)) {
    return true;
  }
  const struct hw_dimension *first = &box->cluster->dimensions[box->first];
  bool is_in_blocks = first->wrap == HW_WRAP_MULTIPLES;
  if (box->cluster->shapes[0] != NULL && !is_in_blocks) {
    return false;
  }
  return find_cubic(box, devices, box->cluster->shapes[0] != NULL ? first->wrap_size : 1, size);
}

/* ---- shapes ---- */

/* The slice of the sizes, the first of them along dimension `first`; inner ones are taken whole. */
static bool place_shape(const struct hw_cluster *cluster, const uint32_t *size, uint32_t count, uint32_t first,
                        struct hw_slice *slice) {
  *slice = (struct hw_slice){.devices = 1};
  for (uint32_t d = 0; d < HW_DIMENSIONS_MAX; d++) {
    uint32_t inner = d < first ? cluster->dimensions[d].size : 1;
    slice->size[d] = d >= first && d - first < count ? size[d - first] : inner;
    slice->devices = sat_mul_u64(slice->devices, slice->size[d]);
  }
  return first + count <= cluster->dimension_count;
}

/* The first named shape of the cluster with so many devices. */
static bool place_named(const struct hw_cluster *cluster, uint64_t devices, struct hw_slice *slice) {
  for (const char *const *name = cluster->shapes; *name != NULL; name++) {
    uint32_t size[HW_DIMENSIONS_MAX], count;
    if (hw_shape_parse(*name, size, &count) && place_shape(cluster, size, count, hw_cluster_inner_count(cluster), slice)
        && slice->devices == devices) {
      return true;
    }
  }
  return false;
}

/* ---- filling ---- */

/* Fills the rings at `d`; a program larger than one box takes the fewest equal boxes, at least half as large as they could
 * be. False when there is no such box. */
static bool fill_box(const struct hw_cluster *cluster, uint32_t d, uint64_t *rest, struct hw_slice *slice,
                     uint32_t *count) {
  struct box box = box_at(cluster, d);
  *count = box.count;
  uint64_t least = ceil_div_u64(*rest, box.capacity);
  uint64_t most = d + box.count < cluster->dimension_count && least > 1 ? 2 * least : least;
  for (uint64_t boxes = least; boxes <= most; boxes++) {
    if (*rest % boxes == 0 && box_shape(&box, *rest / boxes, &slice->size[d])) {
      *rest = boxes;
      return true;
    }
  }
  return false;
}

/* Sets sizes: those of a named shape, else dimensions are filled innermost first. False when `devices` fills nothing. */
static bool fill(const struct hw_cluster *cluster, uint64_t devices, struct hw_slice *slice) {
  *slice = (struct hw_slice){.devices = devices};
  for (uint32_t d = 0; d < HW_DIMENSIONS_MAX; d++) {
    slice->size[d] = 1;
  }
  uint64_t rest = devices;
  struct hw_slice named;
  if (place_named(cluster, devices, &named)) {
    *slice = named;
    return true;
  }
  for (uint32_t d = 0; d < cluster->dimension_count && rest > 1;) {
    const struct hw_dimension *dimension = &cluster->dimensions[d];
    if (dimension->fabric == HW_FABRIC_RING) {
      uint32_t count;
      if (!fill_box(cluster, d, &rest, slice, &count)) {
        return false;
      }
      d += count;
      continue;
    }
    bool is_last = dimension->size == 0 || rest <= dimension->size;
    if (!is_last && rest % dimension->size != 0) {
      return false;
    }
    slice->size[d] = is_last ? (uint32_t)rest : dimension->size;
    rest = is_last ? 1 : rest / dimension->size;
    d++;
  }
  return rest == 1;
}

static bool is_within(const struct hw_cluster *cluster, uint64_t devices) {
  return devices <= DEVICES_MAX && (cluster->max_devices == 0 || devices <= cluster->max_devices);
}

/* "; 8 and 16 devices do" after a number that fills nothing. */
static void put_nearest(const struct hw_cluster *cluster, uint64_t devices, struct strbuf *out) {
  struct hw_slice ignored;
  uint64_t below = 0, above = 0;
  for (uint64_t n = devices - 1; n > 0 && n + NEAREST_SEARCH > devices && below == 0; n--) {
    below = fill(cluster, n, &ignored) ? n : 0;
  }
  for (uint64_t n = devices + 1; is_within(cluster, n) && n < devices + NEAREST_SEARCH && above == 0; n++) {
    above = fill(cluster, n, &ignored) ? n : 0;
  }
  if (below > 0 && above > 0) {
    strbuf_printf(out, "; %llu and %llu devices do", (unsigned long long)below, (unsigned long long)above);
  } else if (below > 0 || above > 0) {
    unsigned long long only = below > 0 ? below : above;
    strbuf_printf(out, "; %llu device%s", only, only == 1 ? " does" : "s do");
  }
}

/* A shape that takes the number all the same; nothing when there is none. */
static void put_shape_hint(const struct hw_cluster *cluster, uint64_t devices, struct strbuf *out) {
  const struct hw_dimension *first = &cluster->dimensions[0];
  if (first->fabric == HW_FABRIC_RING) {
    struct box box = box_at(cluster, 0);
    uint32_t size[HW_DIMENSIONS_MAX];
    for (uint32_t i = 0; find_cubic(&box, devices, 1, size) && i < box.count; i++) {
      strbuf_printf(out, "%s%u", i > 0 ? "x" : "; a shape of your own is given as ", size[i]);
    }
    return;
  }
  uint64_t least = first->size > 0 ? ceil_div_u64(devices, first->size) : 1;
  for (uint64_t groups = least; groups <= 2 * least && cluster->dimension_count > 1; groups++) {
    if (devices % groups == 0) {
      strbuf_printf(out, "; a shape like %llux%llu takes part of each group", (unsigned long long)(devices / groups),
                    (unsigned long long)groups);
      return;
    }
  }
}

static void report_number(const struct hw_cluster *cluster, uint64_t devices, struct diag_list *diags) {
  struct strbuf nearest = {0}, hint = {0};
  put_nearest(cluster, devices, &nearest);
  put_shape_hint(cluster, devices, &hint);
  const struct hw_dimension *first = &cluster->dimensions[0];
  if (first->fabric != HW_FABRIC_RING && first->size > 0 && devices % first->size != 0) {
    diag_at(diags, DIAG_E0314_SLICE, NULL, 0, "%llu devices do not fill whole groups of %u ('%s' of %s)%s%s",
            (unsigned long long)devices, first->size, first->name, cluster->id, strbuf_text(&nearest),
            strbuf_text(&hint));
  } else {
    diag_at(diags, DIAG_E0314_SLICE, NULL, 0, "%llu devices fill no slice of %s%s%s", (unsigned long long)devices,
            cluster->id, strbuf_text(&nearest), strbuf_text(&hint));
  }
  strbuf_release(&nearest);
  strbuf_release(&hint);
}

/* ---- shapes that are asked for ---- */

/* What is wrong with a shape, in words; "" when it fits. */
static void judge_shape(const struct hw_cluster *cluster, const struct hw_slice *slice, uint64_t asked,
                        struct strbuf *out) {
  for (uint32_t d = 0; d < cluster->dimension_count; d++) {
    const struct hw_dimension *dimension = &cluster->dimensions[d];
    if (dimension->size > 0 && slice->size[d] > dimension->size) {
      strbuf_printf(out, "it has %u along '%s', which joins at most %u", slice->size[d], dimension->name,
                    dimension->size);
      return;
    }
  }
  if (!is_within(cluster, slice->devices)) {
    strbuf_printf(out, "it has %llu devices, and there are at most %llu", (unsigned long long)slice->devices,
                  (unsigned long long)(cluster->max_devices > 0 ? cluster->max_devices : DEVICES_MAX));
  } else if (asked > 0 && slice->devices != asked) {
    strbuf_printf(out, "it has %llu devices, not %llu", (unsigned long long)slice->devices, (unsigned long long)asked);
  }
}

static enum status take_shape(const struct hw_cluster *cluster, uint64_t devices, const char *shape,
                              struct diag_list *diags, struct hw_slice *slice) {
  uint32_t size[HW_DIMENSIONS_MAX], count;
  if (!hw_shape_parse(shape, size, &count)) {
    diag_at(diags, DIAG_E0314_SLICE, NULL, 0, "'%s' is not a shape; one is written like 4x4x8, innermost first", shape);
    return STATUS_INPUT;
  }
  struct strbuf why = {0}, first_why = {0};
  bool is_good = false;
  /* where devices are cores, vendors' shapes count chips; else, and failing that, devices */
  for (uint32_t inner = hw_cluster_inner_count(cluster) + 1; inner-- > 0 && !is_good;) {
    strbuf_clear(&why);
    if (!place_shape(cluster, size, count, inner, slice)) {
      strbuf_printf(&why, "it has %u dimensions, the cluster %u", count, cluster->dimension_count - inner);
    } else {
      judge_shape(cluster, slice, devices, &why);
    }
    is_good = why.length == 0;
    if (first_why.length == 0) {
      strbuf_puts(&first_why, strbuf_text(&why));
    }
  }
  if (!is_good) {
    diag_at(diags, DIAG_E0314_SLICE, NULL, 0, "%s has no slice of shape %s: %s", cluster->id, shape,
            strbuf_text(&first_why));
  }
  strbuf_release(&why);
  strbuf_release(&first_why);
  return is_good ? STATUS_OK : STATUS_INPUT;
}

/* ---- which rings close ---- */

static void close_rings(const struct hw_cluster *cluster, struct hw_slice *slice) {
  bool are_multiples = true;
  for (uint32_t d = 0; d < cluster->dimension_count; d++) {
    const struct hw_dimension *dimension = &cluster->dimensions[d];
    if (dimension->fabric == HW_FABRIC_RING && dimension->wrap == HW_WRAP_MULTIPLES) {
      are_multiples = are_multiples && slice->size[d] % dimension->wrap_size == 0;
    }
  }
  for (uint32_t d = 0; d < cluster->dimension_count; d++) {
    const struct hw_dimension *dimension = &cluster->dimensions[d];
    bool closes = dimension->wrap == HW_WRAP_ALWAYS
                  || (dimension->wrap == HW_WRAP_AT_SIZE && slice->size[d] == dimension->wrap_size)
                  || (dimension->wrap == HW_WRAP_MULTIPLES && are_multiples);
    slice->wraps[d] = closes && dimension->fabric == HW_FABRIC_RING && slice->size[d] > 1;
  }
}

static void report_too_many(const struct hw_cluster *cluster, uint64_t devices, struct diag_list *diags) {
  if (devices > DEVICES_MAX) {
    diag_at(diags, DIAG_E0314_SLICE, NULL, 0, "%llu devices are more than the %d that a program may have",
            (unsigned long long)devices, (int)DEVICES_MAX);
  } else {
    diag_at(diags, DIAG_E0314_SLICE, NULL, 0, "%s has at most %llu devices; the program needs %llu", cluster->id,
            (unsigned long long)cluster->max_devices, (unsigned long long)devices);
  }
}

enum status hw_slice_of(const struct hw_cluster *cluster, uint64_t devices, const char *shape, struct diag_list *diags,
                        struct hw_slice *slice) {
  if (shape != NULL) {
    STATUS_TRY(take_shape(cluster, devices, shape, diags, slice));
  } else if (devices == 0) {
    diag_at(diags, DIAG_E0314_SLICE, NULL, 0, "a program runs on one device at least");
    return STATUS_INPUT;
  } else if (!is_within(cluster, devices)) {
    report_too_many(cluster, devices, diags);
    return STATUS_INPUT;
  } else if (!fill(cluster, devices, slice)) {
    report_number(cluster, devices, diags);
    return STATUS_INPUT;
  }
  close_rings(cluster, slice);
  return STATUS_OK;
}

void hw_slice_coordinates(const struct hw_slice *slice, uint64_t device, uint32_t coordinates[HW_DIMENSIONS_MAX]) {
  for (uint32_t d = 0; d < HW_DIMENSIONS_MAX; d++) {
    coordinates[d] = (uint32_t)(device % slice->size[d]);
    device /= slice->size[d];
  }
}

void hw_slice_text(const struct hw_slice *slice, const struct hw_cluster *cluster, char *text, size_t capacity) {
  uint32_t count = cluster->dimension_count;
  while (count > 1 && slice->size[count - 1] == 1) {
    count--;
  }
  size_t length = 0;
  for (uint32_t d = 0; d < count && length < capacity; d++) {
    int written = snprintf(text + length, capacity - length, "%s%u", d > 0 ? " x " : "", slice->size[d]);
    length += written > 0 ? (size_t)written : 0;
  }
}
