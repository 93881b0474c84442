/* Which algorithm and protocol a library takes: a row per library, and of what the row allows the one that is fastest at that
 * size; NCCL and its kin choose by a cost model of the same form. One-shot and two-shot kernels are taken up to their sizes. */
#include <math.h>
#include <string.h>

#include "cluster/collective_algorithms.h"

const struct collective_algorithm *const collective_algorithms[] = {
    &collective_ring,
    &collective_tree,
    &collective_halving_doubling,
    &collective_direct,
    &collective_one_shot,
    &collective_nvls,
    &collective_nvls_tree,
    &collective_torus,
    &collective_hierarchical,
    &collective_permute,
    NULL,
};

const struct collective_algorithm *collective_algorithm_find(const char *name) {
  for (size_t i = 0; collective_algorithms[i] != NULL; i++) {
    if (strcmp(collective_algorithms[i]->name, name) == 0) {
      return collective_algorithms[i];
    }
  }
  return NULL;
}

enum { ALGORITHMS_MAX = 6 };

struct library_row {
  const char *name;
  bool has_protocols;
  const struct collective_algorithm *algorithms[ALGORITHMS_MAX]; /* for reductions and gathers */
};

/* The last row stands for libraries that are not listed. */
static const struct library_row libraries[] = {
    {"nccl", true, {&collective_ring, &collective_nvls, &collective_nvls_tree, &collective_tree}},
    {"rccl", true, {&collective_ring, &collective_direct, &collective_tree}},
    {"oneccl", true, {&collective_ring}},
    {"xla_tpu", false, {&collective_ring, &collective_torus, &collective_hierarchical}},
    {"neuron", false, {&collective_ring, &collective_torus, &collective_hierarchical, &collective_direct}},
    {"gcl", false, {&collective_ring, &collective_torus, &collective_hierarchical}},
    {"hccl", false, {&collective_ring, &collective_direct, &collective_hierarchical}},
    {"",
     false,
     {&collective_ring, &collective_halving_doubling, &collective_direct, &collective_torus, &collective_hierarchical,
      &collective_tree}},
};

static const struct library_row *library_of(const struct hw_cluster *cluster) {
  size_t last = sizeof libraries / sizeof libraries[0] - 1;
  for (size_t i = 0; i < last && cluster->library != NULL; i++) {
    if (strcmp(libraries[i].name, cluster->library) == 0) {
      return &libraries[i];
    }
  }
  return &libraries[last];
}

void collective_protocols_of(const struct hw_cluster *cluster, enum collective_protocol *first,
                             enum collective_protocol *last) {
  bool has_protocols = library_of(cluster)->has_protocols;
  *first = has_protocols ? COLLECTIVE_LL : COLLECTIVE_PLAIN;
  *last = has_protocols ? COLLECTIVE_SIMPLE : COLLECTIVE_PLAIN;
}

void collective_best_protocol(const struct collective_case *of, collective_protocol_time *time,
                              struct collective_result *result) {
  enum collective_protocol first, last;
  collective_protocols_of(of->cluster, &first, &last);
  struct collective_result best = {.time_s = INFINITY}, trial;
  double least = INFINITY;
  for (int protocol = (int)first; protocol <= (int)last; protocol++) {
    trial = (struct collective_result){.algorithm = result->algorithm};
    time(of, (enum collective_protocol)protocol, &trial);
    double weighed = protocol == COLLECTIVE_SIMPLE ? trial.time_s / of->constants[COLLECTIVE_EAGERNESS] : trial.time_s;
    if (weighed < least) {
      least = weighed;
      best = trial;
    }
  }
  *result = best;
}

/* NCCL hangs the ranks of a host on a tree as a chain, so one host has no use for it. */
static bool is_taken(const struct hw_cluster *cluster, const struct collective_constants *constants,
                     const struct collective_algorithm *algorithm, const struct group_shape *shape) {
  struct collective_levels levels;
  if (algorithm != &collective_tree || !library_of(cluster)->has_protocols) {
    return true;
  }
  collective_levels_of(cluster, shape, &levels);
  double unit = constants->values[COLLECTIVE_TREE_UNIT];
  return collective_inside_count(&levels) < levels.count || (unit > 1 && shape->size > unit);
}

/* The algorithm that is set by kind or size, or NULL. */
static const struct collective_algorithm *prescribed(const struct hw_cluster *cluster,
                                                     const struct collective_constants *constants,
                                                     const struct collective_request *request) {
  struct collective_levels levels;
  switch (request->kind) {
  case WORK_PERMUTE:
  case WORK_SEND_RECV:
    return &collective_permute;
  case WORK_ALL_TO_ALL:
    return &collective_direct;
  case WORK_COLLECTIVE_BROADCAST:
  case WORK_COLLECTIVE_REDUCE:
    return &collective_ring;
  default:
    break;
  }
  collective_levels_of(cluster, &request->shape, &levels);
  bool is_inside = levels.count == 1 && levels.list[0].fabric != HW_FABRIC_FAT_TREE;
  const double one_shot_max = constants->values[COLLECTIVE_ONE_SHOT_MAX];
  const double two_shot_max = constants->values[COLLECTIVE_TWO_SHOT_MAX];
  if (request->kind != WORK_ALL_REDUCE || !is_inside) {
    return NULL;
  }
  if (one_shot_max > 0 && request->bytes <= one_shot_max) {
    return &collective_one_shot;
  }
  if (two_shot_max > 0 && request->bytes <= two_shot_max) {
    return &collective_direct;
  }
  return NULL;
}

static void time_with(const struct collective_algorithm *algorithm, const struct hw_cluster *cluster,
                      const struct hw_slice *slice, const struct collective_constants *constants,
                      const struct collective_request *request, struct collective_result *result) {
  *result = (struct collective_result){.algorithm = algorithm->name, .protocol = ""};
  algorithm->time(cluster, slice, constants, request, result);
}

void collective_time(const struct hw_cluster *cluster, const struct hw_slice *slice,
                     const struct collective_constants *constants, const struct collective_request *request,
                     struct collective_result *result) {
  *result = (struct collective_result){.algorithm = "none", .protocol = ""};
  if (request->shape.size <= 1) {
    return;
  }
  const struct collective_algorithm *only = prescribed(cluster, constants, request);
  if (only != NULL) {
    time_with(only, cluster, slice, constants, request, result);
    return;
  }
  const struct library_row *library = library_of(cluster);
  struct collective_result best = {.time_s = INFINITY}, trial;
  for (int i = 0; i < ALGORITHMS_MAX && library->algorithms[i] != NULL; i++) {
    const struct collective_algorithm *algorithm = library->algorithms[i];
    if (algorithm->applies(cluster, slice, request) && is_taken(cluster, constants, algorithm, &request->shape)) {
      time_with(algorithm, cluster, slice, constants, request, &trial);
      best = trial.time_s < best.time_s ? trial : best;
    }
  }
  *result = best;
}
