/* Links and routes of a slice. */
#include "cluster/collective_fabric.h"

#include <math.h>
#include <string.h>

static sim_time_ps to_ps(double seconds) {
  return seconds > 0 ? (sim_time_ps)llround(seconds * 1e12) : 0;
}

static uint32_t coordinate(const struct fabric *fabric, uint32_t device, uint32_t d) {
  const struct fabric_dimension *dimension = &fabric->dimensions[d];
  return (uint32_t)(device / dimension->inner % dimension->size);
}

static bool is_star(const struct hw_dimension *dimension) {
  return dimension->fabric == HW_FABRIC_SWITCH || dimension->fabric == HW_FABRIC_FAT_TREE;
}

/* Leaf switch of a device in a fat tree. */
static uint32_t leaf_of(const struct fabric *fabric, uint32_t device, uint32_t d) {
  const struct fabric_dimension *dimension = &fabric->dimensions[d];
  uint64_t whole = dimension->inner * dimension->size; /* devices of one instance of the tree */
  uint32_t leaves = (dimension->size + dimension->leaf_units - 1) / dimension->leaf_units;
  uint32_t leaf = coordinate(fabric, device, d) / dimension->leaf_units;
  uint32_t rails = fabric->cluster->dimensions[d].is_railed ? (uint32_t)dimension->inner : 1;
  uint32_t rail = (uint32_t)(device % rails), instance = (uint32_t)(device / whole);
  return (instance * leaves + leaf) * rails + rail;
}

static bool add_links(struct fabric *fabric, uint32_t d, double capacity_Bps, sim_time_ps latency_ps) {
  struct fabric_dimension *dimension = &fabric->dimensions[d];
  const struct hw_dimension *given = &fabric->cluster->dimensions[d];
  dimension->links = fabric->link_count;
  dimension->links_per_device = given->fabric == HW_FABRIC_MESH ? dimension->size : 2;
  for (uint32_t device = 0; device < fabric->devices; device++) {
    for (uint32_t i = 0; i < dimension->links_per_device; i++) {
      bool is_down = is_star(given) && i == 1;
      if (sim_link_add(fabric->network, capacity_Bps, is_down ? 0 : latency_ps) == UINT32_MAX) {
        return false;
      }
    }
  }
  fabric->link_count += fabric->devices * dimension->links_per_device;
  return true;
}

/* Two links for every leaf: up to the spine, down from it. */
static bool add_spine(struct fabric *fabric, uint32_t d, double capacity_Bps) {
  struct fabric_dimension *dimension = &fabric->dimensions[d];
  const struct hw_dimension *given = &fabric->cluster->dimensions[d];
  dimension->spine = UINT32_MAX;
  dimension->leaf_units =
      given->leaf_units == 0 || given->leaf_units > dimension->size ? dimension->size : given->leaf_units;
  bool has_leaves = dimension->leaf_units < dimension->size || (given->is_railed && dimension->inner > 1);
  if (given->fabric != HW_FABRIC_FAT_TREE || given->taper <= 0 || given->taper >= 1 || !has_leaves) {
    return true;
  }
  double below = (double)dimension->leaf_units * (given->is_railed ? 1 : (double)dimension->inner);
  uint32_t leaves = leaf_of(fabric, fabric->devices - 1, d) + 1;
  dimension->spine = fabric->link_count;
  for (uint32_t i = 0; i < 2 * leaves; i++) {
    if (sim_link_add(fabric->network, capacity_Bps * below * given->taper, 0) == UINT32_MAX) {
      return false;
    }
  }
  fabric->link_count += 2 * leaves;
  return true;
}

enum status fabric_build(struct fabric *fabric, struct sim_network *network, const struct hw_cluster *cluster,
                         const struct hw_slice *slice, bool has_latency) {
  *fabric = (struct fabric){.cluster = cluster,
                            .slice = slice,
                            .network = network,
                            .devices = (uint32_t)slice->devices,
                            .dimension_count = cluster->dimension_count};
  uint64_t inner = 1;
  for (uint32_t d = 0; d < cluster->dimension_count; d++) {
    const struct hw_dimension *given = &cluster->dimensions[d];
    fabric->dimensions[d].inner = inner;
    fabric->dimensions[d].size = slice->size[d];
    inner *= slice->size[d];
    double capacity_Bps = given->link_Bps;
    if (slice->size[d] == 1) {
      fabric->dimensions[d].spine = UINT32_MAX;
      continue;
    }
    if (given->fabric == HW_FABRIC_MESH) {
      uint32_t all = given->size > slice->size[d] ? given->size : slice->size[d];
      capacity_Bps /= all - 1;
    }
    if (!add_links(fabric, d, capacity_Bps, has_latency ? to_ps(given->latency_s) : 0)
        || !add_spine(fabric, d, capacity_Bps)) {
      return STATUS_MEMORY;
    }
  }
  return STATUS_OK;
}

uint32_t fabric_dimension(const struct fabric *fabric, uint32_t from, uint32_t to) {
  uint32_t outermost = 0;
  for (uint32_t d = 1; d < fabric->dimension_count && from < fabric->devices && to < fabric->devices; d++) {
    outermost = coordinate(fabric, from, d) != coordinate(fabric, to, d) ? d : outermost;
  }
  return outermost;
}

uint32_t fabric_link_sort(const struct fabric *fabric, uint32_t link) {
  uint32_t sort = 0;
  for (uint32_t d = 0; d < fabric->dimension_count; d++) {
    const struct fabric_dimension *dimension = &fabric->dimensions[d];
    bool is_mesh = fabric->cluster->dimensions[d].fabric == HW_FABRIC_MESH;
    if (dimension->links_per_device > 0 && link >= dimension->links) {
      bool is_spine = link >= dimension->spine;
      sort = d << 2 | (uint32_t)is_spine << 1
             | (is_mesh ? 0 : (link - (is_spine ? dimension->spine : dimension->links)) % 2);
    }
  }
  return sort;
}

/* A route under way: where it has come to, and its links. */
struct way {
  const struct fabric *fabric;
  uint32_t at, count;
  uint32_t *links;
  bool is_lost;
};

static void take(struct way *way, uint32_t link) {
  if (way->count == FABRIC_ROUTE_MAX) {
    way->is_lost = true;
    return;
  }
  way->links[way->count++] = link;
}

static uint32_t port(const struct fabric *fabric, uint32_t d, uint32_t device, uint32_t direction) {
  const struct fabric_dimension *dimension = &fabric->dimensions[d];
  return dimension->links + device * dimension->links_per_device + direction;
}

static void cross_star(struct way *way, uint32_t d, uint32_t to) {
  const struct fabric_dimension *dimension = &way->fabric->dimensions[d];
  take(way, port(way->fabric, d, way->at, 0));
  if (dimension->spine != UINT32_MAX) {
    uint32_t from_leaf = leaf_of(way->fabric, way->at, d), to_leaf = leaf_of(way->fabric, to, d);
    if (from_leaf != to_leaf) {
      take(way, dimension->spine + 2 * from_leaf);
      take(way, dimension->spine + 2 * to_leaf + 1);
    }
  }
  take(way, port(way->fabric, d, to, 1));
  way->at = to;
}

/* Neighbour by neighbour. */
static void cross_ring(struct way *way, uint32_t d, uint32_t target, bool is_downward) {
  const struct fabric_dimension *dimension = &way->fabric->dimensions[d];
  uint32_t size = dimension->size, x = coordinate(way->fabric, way->at, d);
  uint32_t up = (target + size - x) % size, down = size - up;
  bool goes_down = way->fabric->slice->wraps[d] ? down < up || (down == up && is_downward) : target < x;
  while (x != target && !way->is_lost) {
    take(way, port(way->fabric, d, way->at, goes_down));
    uint32_t next = goes_down ? (x + size - 1) % size : (x + 1) % size;
    way->at = (uint32_t)(way->at - x * dimension->inner + next * dimension->inner);
    x = next;
  }
}

static void cross_mesh(struct way *way, uint32_t d, uint32_t target) {
  const struct fabric_dimension *dimension = &way->fabric->dimensions[d];
  uint32_t x = coordinate(way->fabric, way->at, d);
  take(way, port(way->fabric, d, way->at, target));
  way->at = (uint32_t)(way->at - x * dimension->inner + target * dimension->inner);
}

uint32_t fabric_route(const struct fabric *fabric, uint32_t from, uint32_t to, bool is_downward,
                      uint32_t links[FABRIC_ROUTE_MAX]) {
  if (from >= fabric->devices || to >= fabric->devices) { /* an adder: one port of the innermost switch */
    uint32_t device = from < fabric->devices ? from : to;
    if (device >= fabric->devices || fabric->dimensions[0].size < 2
        || fabric->cluster->dimensions[0].fabric != HW_FABRIC_SWITCH) {
      return UINT32_MAX;
    }
    links[0] = port(fabric, 0, device, device == to);
    return 1;
  }
  struct way way = {.fabric = fabric, .at = from, .links = links};
  uint32_t star = UINT32_MAX;
  for (uint32_t d = 0; d < fabric->dimension_count; d++) {
    bool differs = coordinate(fabric, from, d) != coordinate(fabric, to, d);
    star = differs && is_star(&fabric->cluster->dimensions[d]) ? d : star;
  }
  if (star != UINT32_MAX) { /* reaches any device below and beside it; what is outside keeps its coordinates */
    uint64_t whole = fabric->dimensions[star].inner * fabric->dimensions[star].size;
    cross_star(&way, star, (uint32_t)(from / whole * whole + to % whole));
  }
  for (uint32_t d = 0; d < fabric->dimension_count && !way.is_lost; d++) {
    uint32_t target = coordinate(fabric, to, d);
    if (coordinate(fabric, way.at, d) == target) {
      continue;
    }
    if (fabric->cluster->dimensions[d].fabric == HW_FABRIC_RING) {
      cross_ring(&way, d, target, is_downward);
    } else {
      cross_mesh(&way, d, target);
    }
  }
  return way.is_lost ? UINT32_MAX : way.count;
}
