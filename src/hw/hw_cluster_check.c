/* `clusters check`: what a file cannot show by itself. Errors are what no cluster can be like; warnings are numbers that
 * disagree with the chip. */
#include <stdio.h>

#include "hw/hw_cluster_internal.h"

struct check {
  const struct hw_cluster *cluster;
  struct diag_list *diags;
  bool is_good;
};

/* Where the cluster states a field: a message about it points there, or at the file when it has no such field. */
static struct hw_field place_of(const struct hw_cluster *cluster, const char *key) {
  const struct hw_field *field = hw_cluster_field(cluster, key);
  return field != NULL ? *field : (struct hw_field){.file = cluster->file};
}

static void refuse(struct check *c, const struct hw_dimension *dimension, const char *field, const char *why) {
  char key[128];
  (void)snprintf(key, sizeof key, "dimension.%s.%s", dimension->name, field);
  struct hw_field place = place_of(c->cluster, key);
  diag_file(c->diags, DIAG_E0303_VALUE, place.file, place.line, place.column, "'%s' %s", key, why);
  c->is_good = false;
}

static void check_dimension(struct check *c, uint32_t index) {
  const struct hw_dimension *d = &c->cluster->dimensions[index];
  bool is_tree = d->fabric == HW_FABRIC_FAT_TREE, is_ring = d->fabric == HW_FABRIC_RING;
  if (is_ring && d->wrap == HW_WRAP_AT_SIZE && d->wrap_size > d->size) {
    refuse(c, d, "wrap_size", "is larger than the dimension; it never closes");
  }
  if (!is_tree && (d->is_railed || d->leaf_units > 0 || d->taper > 0)) {
    refuse(c, d, "fabric", "is no fat_tree: taper, rails and leaf_units are of fat trees");
  }
  if (!is_ring && d->wrap_size > 0) {
    refuse(c, d, "wrap_size", "is of rings");
  }
  if (d->reduces && (is_ring || d->fabric == HW_FABRIC_MESH)) {
    refuse(c, d, "reduces", "is of switches; this fabric has none");
  }
  if (d->size == 0 && index + 1 < c->cluster->dimension_count) {
    refuse(c, d, "size", "is missing; only the outermost dimension joins any number");
  }
}

/* Named shapes lie within the dimensions and come smallest first, so that the first with a number is the usual one. */
static void check_shapes(struct check *c) {
  uint64_t previous = 0;
  for (const char *const *name = c->cluster->shapes; *name != NULL; name++) {
    struct hw_slice slice;
    if (hw_slice_of(c->cluster, 0, *name, c->diags, &slice) != STATUS_OK) {
      c->is_good = false;
      continue;
    }
    if (slice.devices < previous) {
      diag_file(c->diags, DIAG_E0303_VALUE, c->cluster->file, 0, 0,
                "shape '%s' is smaller than the one before it; 'shapes' are listed smallest first", *name);
      c->is_good = false;
    }
    previous = slice.devices;
  }
}

/* A node's links cannot carry more than the chip has; a device draws at least what its chip may. */
static void check_chip(struct check *c, const struct hw_chip *chip) {
  const struct hw_cluster *cluster = c->cluster;
  const struct hw_dimension *inner = &cluster->dimensions[0];
  double link_Bps = chip->link_Bps * cluster->chip_share, tdp_W = chip->tdp_W * cluster->chip_share;
  char key[128];
  (void)snprintf(key, sizeof key, "dimension.%s.link_bw", inner->name);
  if (chip->link_Bps > 0 && cluster->chip_share >= 1 && inner->fabric != HW_FABRIC_RING
      && inner->link_Bps > link_Bps * 1.03) {
    struct hw_field place = place_of(cluster, key);
    diag_file(c->diags, DIAG_W0309_INCONSISTENT, place.file, place.line, place.column,
              "'%s' is %.4g B/s, and the links of '%s' carry %.4g B/s", key, inner->link_Bps, chip->id, link_Bps);
  }
  if (cluster->device_power_W > 0 && cluster->device_power_W < tdp_W * 0.97) {
    struct hw_field place = place_of(cluster, "device.power");
    diag_file(c->diags, DIAG_W0309_INCONSISTENT, place.file, place.line, place.column,
              "'device.power' is %.4g W, and '%s' alone may draw %.4g W", cluster->device_power_W, chip->id, tdp_W);
  }
  if (chip->missing != NULL) {
    diag_file(c->diags, DIAG_W0310_CANNOT_PREDICT, cluster->file, 0, 0, "'%s' cannot be predicted; its chip lacks %s",
              cluster->id, chip->missing);
  }
}

enum status hw_cluster_check(const struct hw_cluster *cluster, const struct hw_database *chips,
                             struct diag_list *diags) {
  struct check check = {.cluster = cluster, .diags = diags, .is_good = true};
  for (uint32_t i = 0; i < cluster->dimension_count; i++) {
    check_dimension(&check, i);
  }
  check_shapes(&check);
  const struct hw_chip *chip = hw_database_find(chips, cluster->chip, diags);
  if (chip != NULL) {
    check_chip(&check, chip);
  }
  return check.is_good && chip != NULL ? STATUS_OK : STATUS_INPUT;
}
