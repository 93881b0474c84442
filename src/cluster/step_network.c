/* Prices of a step's collectives: how their groups lie in the slice, once per different list, and their time, once per
 * different request. Also what communication takes from compute. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cluster/step_int.h"

static const struct step_library {
  const char *name;
  double cores, memory_bytes;
  enum step_streams streams;
} libraries[] = {
#define STEP_LIBRARY(library, cores, memory, streams, source) {library, cores, memory, STEP_STREAMS_##streams},
#include "cluster/step_contention.def"
#undef STEP_LIBRARY
};

static const struct step_library *library_of(const struct hw_cluster *cluster) {
  for (size_t i = 1; cluster->library != NULL && i < sizeof libraries / sizeof libraries[0]; i++) {
    if (strcmp(libraries[i].name, cluster->library) == 0) {
      return &libraries[i];
    }
  }
  return &libraries[0];
}

void step_contention_of(const struct hw_cluster *cluster, const struct hw_chip *device,
                        struct step_contention *contention) {
  enum { NEVER_MORE_PERCENT = 50 }; /* of the cores of a small chip */
  const struct step_library *library = library_of(cluster);
  double cores = library->cores;
  *contention = (struct step_contention){.memory_bytes = library->memory_bytes};
  hw_cluster_number(cluster, "contention.cores", &cores);
  hw_cluster_number(cluster, "contention.memory", &contention->memory_bytes);
  contention->core_share = device->cores > 0 ? fmin(cores / device->cores, NEVER_MORE_PERCENT / 100.0) : 0;
}

void step_device_of(const struct hw_cluster *cluster, const struct hw_chip *chip, struct hw_chip *device) {
  const double share = cluster->chip_share > 0 ? cluster->chip_share : 1;
  *device = *chip;
  for (int d = 0; d < DTYPE_COUNT; d++) {
    device->matrix_flops[d] *= share;
    device->vector_flops[d] *= share;
  }
  for (int f = 0; f < HW_FUNCTION_COUNT; f++) {
    device->function_rate[f] *= share;
  }
  double *const scaled[] = {&device->cores,     &device->memory_size_bytes, &device->memory_Bps,
                            &device->cache_Bps, &device->cache_size_bytes,  &device->scratch_Bps,
                            &device->link_Bps,  &device->scratch_size_bytes};
  for (size_t i = 0; i < sizeof scaled / sizeof scaled[0]; i++) {
    *scaled[i] *= share;
  }
}

sim_time_ps step_ps(double seconds) {
  const double ps = seconds * 1e12;
  if (!(ps > 0)) {
    return 0;
  }
  return ps < 9e18 ? (sim_time_ps)(ps + 0.5) : (sim_time_ps)9e18;
}

void step_network_init(struct step_network *network, const struct hw_cluster *cluster, const struct hw_slice *slice,
                       const struct hw_chip *device, const struct step_options *options, struct arena *arena,
                       struct diag_list *diags) {
  *network = (struct step_network){.cluster = cluster,
                                   .slice = slice,
                                   .device = device,
                                   .pricing = options->pricing,
                                   .streams = library_of(cluster)->streams,
                                   .arena = arena,
                                   .diags = diags};
  collective_constants_of(cluster, &network->constants);
  step_contention_of(cluster, device, &network->contention);
}

void step_network_release(struct step_network *network) {
  vec_release(&network->prices);
  map_release(&network->by_hash);
}

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

static uint64_t request_hash(const struct collective_request *request) {
  const struct group_shape *shape = &request->shape;
  uint64_t hash = mix(mix(mix(1, (uint64_t)request->kind), (uint64_t)request->bytes), shape->size);
  hash = mix(mix(hash, shape->count), shape->is_regular);
  for (size_t d = 0; d < HW_DIMENSIONS_MAX; d++) {
    hash = mix(mix(hash, shape->extent[d]), shape->stride[d]);
    hash = mix(mix(mix(hash, shape->is_closed[d]), shape->siblings[d]), request->hops[d]);
    hash = mix(hash, request->sharing[d]);
  }
  return hash;
}

static bool same_request(const struct collective_request *a, const struct collective_request *b) {
  bool is_same = a->kind == b->kind && a->bytes == b->bytes && a->shape.size == b->shape.size
                 && a->shape.count == b->shape.count && a->shape.is_regular == b->shape.is_regular;
  for (size_t d = 0; d < HW_DIMENSIONS_MAX && is_same; d++) {
    is_same = a->shape.extent[d] == b->shape.extent[d] && a->shape.stride[d] == b->shape.stride[d]
              && a->shape.is_closed[d] == b->shape.is_closed[d] && a->shape.siblings[d] == b->shape.siblings[d]
              && a->hops[d] == b->hops[d] && a->sharing[d] == b->sharing[d];
  }
  return is_same;
}

/* What follows from the time: the stream, and the traffic on the device's own memory. */
static void finish_price(const struct step_network *network, struct step_price *price) {
  double sent_bytes = 0;
  price->stream = 1;
  for (uint32_t d = 0; d < HW_DIMENSIONS_MAX; d++) {
    if (price->result.sent_bytes[d] > 0) {
      price->dimensions |= (uint8_t)(1u << d);
      price->stream = network->streams == STEP_STREAMS_DIMENSIONS ? (uint8_t)(d + 1) : 1;
      sent_bytes += price->result.sent_bytes[d];
    }
  }
  const double capacity_bytes = price->result.time_s * network->device->memory_Bps;
  if (network->device->has_off_chip && capacity_bytes > 0) {
    price->memory_share = fmin(sent_bytes * network->contention.memory_bytes / capacity_bytes, 0.9);
  }
  price->time_ps = step_ps(price->result.time_s);
}

static enum status price_of(struct step_network *network, const struct collective_request *request, uint32_t *index) {
  uint32_t known = 0;
  uint64_t hash = request_hash(request);
  while (map_get(&network->by_hash, hash, &known)) {
    if (same_request(&network->prices.data[known - 1].request, request)) {
      *index = known - 1;
      return STATUS_OK;
    }
    hash++; /* another request has this hash */
  }
  struct step_price price = {.request = *request};
  if (network->pricing != NULL) {
    network->pricing->time(network->pricing->context, request, &price.result);
  } else {
    collective_time(network->cluster, network->slice, &network->constants, request, &price.result);
  }
  finish_price(network, &price);
  *index = (uint32_t)network->prices.count;
  return vec_push(&network->prices, price) && map_set(&network->by_hash, hash, *index + 1) ? STATUS_OK : STATUS_MEMORY;
}

/* The name of the operation that first uses these groups. */
static const char *label_of(const struct work_graph *graph, uint32_t groups) {
  for (size_t i = 0; i < graph->tasks.count; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    if (task->collective != 0 && graph->collectives.data[task->collective - 1].groups == groups) {
      return intern_text(graph->strings, task->label);
    }
  }
  return "collective";
}

static enum status shapes_of(const struct step_network *network, const struct work_graph *graph, uint64_t devices,
                             struct group_shape *shapes) {
  for (size_t g = 0; g < graph->groups.count; g++) {
    const struct work_groups *groups = &graph->groups.data[g];
    if (groups->member_count == 0) {
      group_shape_strided(network->cluster, network->slice, groups->size != 0 ? groups->size : devices, 1, &shapes[g]);
      continue;
    }
    STATUS_TRY(group_shape_of(network->cluster, network->slice, groups, graph->members.data + groups->member_first,
                              label_of(graph, (uint32_t)g + 1), network->diags, &shapes[g]));
  }
  return STATUS_OK;
}

static enum status price_graph(struct step_network *network, const struct work_graph *graph, uint64_t devices,
                               unsigned depth, struct step_prices *prices) {
  uint32_t *of = arena_calloc(network->arena, graph->collectives.count + 1, sizeof *of);
  struct step_prices *inside = arena_calloc(network->arena, graph->subgraphs.count + 1, sizeof *inside);
  struct group_shape *shapes = arena_calloc(network->arena, graph->groups.count + 1, sizeof *shapes);
  if (of == NULL || inside == NULL || shapes == NULL) {
    return STATUS_MEMORY;
  }
  if (depth > STEP_DEPTH_MAX) {
    return STATUS_LIMIT;
  }
  STATUS_TRY(shapes_of(network, graph, devices, shapes));
  for (size_t i = 0; i < graph->collectives.count; i++) {
    const struct work_collective *collective = &graph->collectives.data[i];
    struct group_shape alone, *shape = &alone;
    if (collective->groups != 0) {
      shape = &shapes[collective->groups - 1];
    } else {
      uint64_t size = collective->group_size != 0 ? collective->group_size : devices;
      group_shape_strided(network->cluster, network->slice, size, 1, shape);
    }
    struct collective_request request;
    memset(&request, 0, sizeof request);
    collective_request_of(collective, shape, &request);
    STATUS_TRY(price_of(network, &request, &of[i]));
  }
  *prices = (struct step_prices){.of = of, .inside = inside};
  for (size_t i = 0; i < graph->subgraphs.count; i++) {
    STATUS_TRY(price_graph(network, graph->subgraphs.data[i], devices, depth + 1, &inside[i]));
  }
  return STATUS_OK;
}

enum status step_network_price(struct step_network *network, const struct work_graph *graph, uint64_t devices,
                               struct step_prices *prices) {
  return price_graph(network, graph, devices, 0, prices);
}

enum status step_network_message(struct step_network *network, uint64_t bytes, uint64_t distance, uint32_t *price) {
  const struct work_collective send = {.kind = WORK_SEND_RECV,
                                       .flags = WORK_COLLECTIVE_SENDS,
                                       .group_count = 1,
                                       .group_size = 2,
                                       .bytes_per_rank = bytes,
                                       .input_bytes = bytes,
                                       .output_bytes = bytes};
  struct group_shape shape;
  struct collective_request request;
  memset(&request, 0, sizeof request);
  group_shape_strided(network->cluster, network->slice, 2, distance, &shape);
  collective_request_of(&send, &shape, &request);
  return price_of(network, &request, price);
}

enum status step_network_note(const struct step_network *network, struct step_result *result) {
  for (uint32_t d = 0; d < network->cluster->dimension_count; d++) {
    uint32_t count = 0;
    for (size_t i = 0; i < network->prices.count; i++) {
      const struct step_price *price = &network->prices.data[i];
      count += price->result.sent_bytes[d] > 0
               && group_shape_is_open(network->cluster, network->slice, &price->request.shape, d);
    }
    char text[200];
    snprintf(
        text, sizeof text,
        "the slice is open along %.40s (%u devices): no link joins the last to the first, so that rings over it run "
        "as lines; %u sort%s of collectives go%s along it",
        network->cluster->dimensions[d].name, network->slice->size[d], count, count == 1 ? "" : "s",
        count == 1 ? "es" : "");
    char *kept = count > 0 ? arena_strndup(&result->arena, text, strlen(text)) : NULL;
    struct work_note note = {.id = DIAG_W0505_OPEN_AXIS, .text = kept, .count = count};
    if (count > 0 && (kept == NULL || !vec_push(&result->notes, note))) {
      return STATUS_MEMORY;
    }
  }
  return STATUS_OK;
}
