/* Speed of the event-driven network: collectives on explicit devices and on classes of equal ones, and the event queue alone.
 *
 * Goals: 1,024 devices one by one, ten ring all-reduces of 1 MiB in 10 s (a published simulator needs 69.4 s and 382 MB on
 * like hardware); 4,096 devices with equal flows aggregated in 10 s; 5 million events per second and core.
 * Usage: bench_network; prints one line per case. One thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "cluster/collective_run.h"
#include "sim/sim_events.h"

enum { DEVICES_MAX = 16384, QUEUE_EVENTS = 20000000, QUEUE_LENGTH = 1024 };

static double cpu_s(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double peak_MB(void) {
  struct rusage usage;
  (void)getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss / 1024;
}

static const struct hw_dimension nvlink = {
    .name = "nvlink", .fabric = HW_FABRIC_SWITCH, .size = 8, .link_Bps = 450e9, .latency_s = 1e-6};
static const struct hw_dimension infiniband = {
    .name = "infiniband", .fabric = HW_FABRIC_FAT_TREE, .link_Bps = 50e9, .latency_s = 4e-6, .taper = 1};
static const struct hw_dimension flat = {
    .name = "flat", .fabric = HW_FABRIC_SWITCH, .link_Bps = 100e9, .latency_s = 1e-6};
static const struct hw_dimension torus = {.name = "ici", .fabric = HW_FABRIC_RING, .link_Bps = 50e9, .latency_s = 1e-6};

struct scene {
  struct hw_cluster cluster;
  struct hw_slice slice;
  uint32_t members[DEVICES_MAX];
};

static void add_dimension(struct scene *scene, struct hw_dimension dimension, uint32_t size) {
  uint32_t d = scene->cluster.dimension_count++;
  scene->cluster.dimensions[d] = dimension;
  scene->slice.size[d] = size;
  scene->slice.wraps[d] = true;
  scene->slice.devices = d == 0 ? size : scene->slice.devices * size;
  for (uint32_t i = d + 1; i < HW_DIMENSIONS_MAX; i++) {
    scene->slice.size[i] = 1;
  }
  for (uint32_t i = 0; i < scene->slice.devices; i++) {
    scene->members[i] = i;
  }
}

/* Groups of `size` devices along the dimensions from `first` on, whose members are listed in order in `members`. */
static struct collective_run_request request_of(const struct scene *scene, const uint32_t *members, uint32_t size,
                                                uint32_t first, uint32_t end, double bytes, const char *algorithm) {
  struct collective_run_request request = {.request = {.kind = WORK_ALL_REDUCE, .bytes = bytes},
                                           .algorithm = algorithm,
                                           .members = members,
                                           .group_count = (uint32_t)scene->slice.devices / size,
                                           .group_size = size};
  struct group_shape *shape = &request.request.shape;
  shape->size = size;
  shape->count = request.group_count;
  shape->is_regular = true;
  for (uint32_t d = 0; d < HW_DIMENSIONS_MAX; d++) {
    shape->extent[d] = d >= first && d < end ? scene->slice.size[d] : 1;
    shape->stride[d] = 1;
    shape->is_closed[d] = true;
  }
  return request;
}

static void run_case(const char *name, const struct scene *scene, const struct collective_run_request *requests,
                     size_t count, bool is_collapsed, int times) {
  struct diag_list diags;
  diag_init(&diags);
  struct collective_run_options options = {.is_collapsed = is_collapsed};
  struct collective_run_result result = {0};
  double start_s = cpu_s();
  for (int i = 0; i < times; i++) {
    if (collective_run(&scene->cluster, &scene->slice, requests, count, &options, &diags, NULL, &result) != STATUS_OK) {
      (void)printf("%s: %s\n", name, diags.entries.count > 0 ? diags.entries.data[0].message : "out of memory");
      diag_release(&diags);
      return;
    }
  }
  double seconds = cpu_s() - start_s, events = (double)result.network.events * times;
  (void)printf("%-58s %8.3f s  %5.1f M events/s  each: %9.0f events, %9.0f messages simulated of %11.0f, %5u classes, "
               "%7.1f MB, %.3f ms\n",
               name, seconds, events / seconds * 1e-6, (double)result.network.events, (double)result.simulated_messages,
               (double)result.network.messages, result.classes, (double)result.memory_bytes * 1e-6,
               (double)result.end_ps * 1e-9);
  diag_release(&diags);
}

static void explicit_devices(void) {
  struct scene *scene = calloc(1, sizeof *scene);
  if (scene == NULL) {
    return;
  }
  add_dimension(scene, flat, 1024);
  struct collective_run_request ring = request_of(scene, scene->members, 1024, 0, 1, 1 << 20, "ring");
  run_case("1,024 devices one by one, 10 ring all-reduces of 1 MiB", scene, &ring, 1, false, 10);
  ring.request.bytes = (1 << 20) + 512 * 1024 + 77;
  struct collective_run_request both[2] = {ring, ring};
  both[1].request.bytes = 3 << 20;
  both[0].group_count = both[1].group_count = 4;
  both[0].group_size = both[1].group_size = both[0].request.shape.extent[0] = both[1].request.shape.extent[0] = 256;
  run_case("1,024 one by one, two rings of 256 over the same links", scene, both, 2, false, 2);
  struct collective_run_request all = request_of(scene, scene->members, 1024, 0, 1, 1 << 20, "direct");
  all.request.kind = WORK_ALL_TO_ALL;
  run_case("1,024 one by one, all-to-all at once", scene, &all, 1, false, 1);
  free(scene);
}

static void classes_of_devices(void) {
  struct scene *scene = calloc(1, sizeof *scene);
  uint32_t *across = calloc(DEVICES_MAX, sizeof *across);
  if (scene == NULL || across == NULL) {
    return;
  }
  add_dimension(scene, nvlink, 8);
  add_dimension(scene, infiniband, 512);
  for (uint32_t i = 0; i < 4096; i++) { /* groups of devices of equal number in their nodes */
    across[i] = i % 512 * 8 + i / 512;
  }
  struct collective_run_request whole = request_of(scene, scene->members, 4096, 0, 2, 1 << 28, "hierarchical");
  run_case("4,096 devices in nodes of 8, hierarchical", scene, &whole, 1, true, 1);
  whole.algorithm = "ring";
  run_case("4,096 devices in nodes of 8, 8 rings", scene, &whole, 1, true, 1);
  whole.algorithm = "halving_doubling";
  run_case("4,096 devices in nodes of 8, halving-doubling", scene, &whole, 1, true, 1);
  struct collective_run_request step[3] = {request_of(scene, scene->members, 8, 0, 1, 1 << 26, "ring"),
                                           request_of(scene, across, 512, 1, 2, 1 << 26, "ring"),
                                           request_of(scene, across, 512, 1, 2, 1 << 24, "ring")};
  step[2].request.kind = WORK_ALL_GATHER;
  run_case("4,096: 512 groups of 8, 2 x 8 groups of 512 at once", scene, step, 3, true, 1);
  free(across);
  memset(scene, 0, sizeof *scene);
  add_dimension(scene, flat, 4096);
  struct collective_run_request ring = request_of(scene, scene->members, 4096, 0, 1, 1 << 20, "ring");
  run_case("4,096 devices, ring", scene, &ring, 1, true, 1);
  memset(scene, 0, sizeof *scene);
  for (int d = 0; d < 3; d++) {
    add_dimension(scene, torus, 16);
  }
  struct collective_run_request rings = request_of(scene, scene->members, 4096, 0, 3, 1 << 28, "torus");
  run_case("4,096 devices, torus 16 x 16 x 16", scene, &rings, 1, true, 1);
  run_case("4,096 devices one by one, torus 16 x 16 x 16", scene, &rings, 1, false, 1);
  free(scene);
}

/* A queue of constant length: each event that is handled makes another one, a random time later. */
static void queue_alone(uint32_t spread, const char *name) {
  struct sim_queue *queue = sim_queue_new();
  uint32_t seed = 1;
  struct sim_event event = {0};
  double start_s = cpu_s();
  for (uint32_t i = 0; queue != NULL && i < QUEUE_LENGTH; i++) {
    seed = seed * 1664525u + 1013904223u;
    (void)sim_queue_push(queue, (struct sim_event){(seed >> 8) % spread, 0, i});
  }
  for (uint32_t i = 0; queue != NULL && i < QUEUE_EVENTS && sim_queue_pop(queue, &event); i++) {
    seed = seed * 1664525u + 1013904223u;
    event.time_ps += (seed >> 8) % spread;
    (void)sim_queue_push(queue, event);
  }
  double seconds = cpu_s() - start_s;
  (void)printf("%-58s %8.3f s  %5.1f M events/s\n", name, seconds, QUEUE_EVENTS / seconds * 1e-6);
  sim_queue_free(queue);
}

int main(void) {
  queue_alone(1u << 20, "queue of 1,024, all times different, push and pop");
  queue_alone(8, "queue of 1,024, 8 times, push and pop");
  explicit_devices();
  classes_of_devices();
  (void)printf("peak memory %.0f MB\n", peak_MB());
  return 0;
}
