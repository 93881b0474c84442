/* Small clusters, made by hand, and collectives over them. Include cmocka.h first. */
#ifndef RIDGELINE_TESTS_FABRIC_FIXTURE_H
#define RIDGELINE_TESTS_FABRIC_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "cluster/collective_run.h"
#include "cluster/schedule.h"

enum { FIXTURE_DEVICES = 4096 };

struct fabric_fixture {
  struct hw_cluster cluster;
  struct hw_slice slice;
  uint32_t members[FIXTURE_DEVICES]; /* 0, 1, 2, ... */
};

static const struct hw_dimension fixture_switch = {
    .name = "nvlink", .fabric = HW_FABRIC_SWITCH, .link_Bps = 400e9, .latency_s = 1e-6};
static const struct hw_dimension fixture_mesh = {
    .name = "xgmi", .fabric = HW_FABRIC_MESH, .link_Bps = 350e9, .latency_s = 1e-6};
static const struct hw_dimension fixture_ring = {
    .name = "ici", .fabric = HW_FABRIC_RING, .link_Bps = 50e9, .latency_s = 1e-6, .wrap = HW_WRAP_ALWAYS};
static const struct hw_dimension fixture_line = {
    .name = "ici", .fabric = HW_FABRIC_RING, .link_Bps = 50e9, .latency_s = 1e-6, .wrap = HW_WRAP_NEVER};
static const struct hw_dimension fixture_tree = {
    .name = "infiniband", .fabric = HW_FABRIC_FAT_TREE, .link_Bps = 50e9, .latency_s = 4e-6, .taper = 1};

/* Adds a dimension of `size`, all of it in the slice. */
static void fixture_add(struct fabric_fixture *f, struct hw_dimension dimension, uint32_t size) {
  uint32_t d = f->cluster.dimension_count++;
  dimension.size = size;
  f->cluster.dimensions[d] = dimension;
  f->slice.size[d] = size;
  f->slice.wraps[d] = dimension.fabric == HW_FABRIC_RING && dimension.wrap == HW_WRAP_ALWAYS;
  f->slice.devices = d == 0 ? size : f->slice.devices * size;
  for (uint32_t i = d + 1; i < HW_DIMENSIONS_MAX; i++) {
    f->slice.size[i] = 1;
  }
  for (uint32_t i = 0; i < f->slice.devices; i++) {
    f->members[i] = i;
  }
}

/* A collective over all devices. */
static struct collective_run_request fixture_all(const struct fabric_fixture *f, enum work_collective_kind kind,
                                                 double bytes, const char *algorithm) {
  struct collective_run_request all = {.request = {.kind = kind, .bytes = bytes},
                                       .algorithm = algorithm,
                                       .members = f->members,
                                       .group_count = 1,
                                       .group_size = (uint32_t)f->slice.devices};
  struct group_shape *shape = &all.request.shape;
  shape->size = all.group_size;
  shape->count = 1;
  shape->is_regular = true;
  for (uint32_t d = 0; d < HW_DIMENSIONS_MAX; d++) {
    shape->extent[d] = d < f->cluster.dimension_count ? f->slice.size[d] : 1;
    shape->stride[d] = 1;
    shape->is_closed[d] = f->slice.wraps[d];
    shape->siblings[d] = 1;
  }
  return all;
}

__attribute__((unused)) static sim_time_ps fixture_run(const struct fabric_fixture *f,
                                                       const struct collective_run_request *requests, size_t count,
                                                       const struct collective_run_options *options,
                                                       struct collective_run_result *result) {
  struct diag_list diags;
  diag_init(&diags);
  enum status status = collective_run(&f->cluster, &f->slice, requests, count, options, &diags, NULL, result);
  if (diags.entries.count > 0) {
    print_message("%s\n", diags.entries.data[0].message);
  }
  assert_int_equal(status, STATUS_OK);
  diag_release(&diags);
  return result->end_ps;
}

#endif
