/* Classes of devices and links that nothing tells apart, by colour refinement.
 *
 * Nodes begin with the colour of their delay and calls. A link's colour is the multiset of messages over it, each with its
 * step and its sender's colour; a node's next colour is its own, its messages out with their receivers' colours and links'
 * colours, and its messages in. When no class splits any more the partition is equitable: each link of a class carries equally
 * many messages of each class, so progressive filling gives the members of a class the same rate, and by induction over time
 * they start and end together. */
#include <stdlib.h>
#include <string.h>

#include "cluster/collective_run_int.h"

/* splitmix64's finalizer (Steele, Lea and Flood, OOPSLA 2014) */
uint64_t run_hash(uint64_t a, uint64_t b) {
  uint64_t x = a + 0x9e3779b97f4a7c15u * (b + 1);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

struct refinement {
  struct run *run;
  uint64_t *colour, *next; /* of nodes */
  uint64_t *link_colour; /* sum over its messages */
  uint64_t step_key;
  bool is_list; /* messages of a list are told apart by their bytes only */
  bool is_downward;
};

/* Key of a message for its sender and receiver. */
static uint64_t message_key(const struct refinement *r, uint32_t message, uint64_t bytes) {
  return run_hash(run_hash(r->step_key, bytes), r->is_list ? 0 : message);
}

static bool colour_links(void *context, uint32_t from, uint32_t to, uint32_t message, uint64_t bytes) {
  struct refinement *r = context;
  uint32_t links[FABRIC_ROUTE_MAX];
  uint32_t count = fabric_route(&r->run->fabric, from, to, r->is_downward, links);
  uint64_t key = run_hash(message_key(r, message, bytes), r->colour[from]);
  for (uint32_t i = 0; count != UINT32_MAX && i < count; i++) {
    r->link_colour[links[i]] += run_hash(key, 1);
  }
  return true;
}

/* Links of different sorts are never alike, whatever they carry. */
static void clear_links(struct refinement *r) {
  for (uint32_t i = 0; i < r->run->fabric.link_count; i++) {
    r->link_colour[i] = run_hash(fabric_link_sort(&r->run->fabric, i), 3);
  }
}

static bool colour_nodes(void *context, uint32_t from, uint32_t to, uint32_t message, uint64_t bytes) {
  struct refinement *r = context;
  uint32_t links[FABRIC_ROUTE_MAX];
  uint32_t count = fabric_route(&r->run->fabric, from, to, r->is_downward, links);
  uint64_t key = message_key(r, message, bytes), way = 0;
  for (uint32_t i = 0; count != UINT32_MAX && i < count; i++) {
    way += run_hash(r->link_colour[links[i]], 2);
  }
  r->next[from] += run_hash(run_hash(key, r->colour[to]), way);
  r->next[to] += run_hash(run_hash(key, r->colour[from]), way + 1);
  return true;
}

static void visit_all(struct refinement *r, run_visit *visit) {
  for (uint32_t p = 0; p < r->run->part_count; p++) {
    const struct run_part *part = &r->run->parts[p];
    for (size_t s = 0; s < part->schedule.steps.count; s++) {
      const struct collective_step *step = &part->schedule.steps.data[s];
      if (!run_step_is_copy(&part->schedule, s)) {
        r->step_key = run_hash(p, s);
        r->is_list = step->pattern == COLLECTIVE_LIST;
        r->is_downward = step->delivers % 2 == 1;
        (void)run_visit_step(part, step, visit, r);
      }
    }
  }
}

static void first_colours(struct refinement *r) {
  const struct run *run = r->run;
  const struct collective_run_options *options = run->options;
  for (uint32_t node = 0; node < run->node_count; node++) {
    double delay_s = options->device_delay_s != NULL && node < run->fabric.devices ? options->device_delay_s[node] : 0;
    uint64_t bits;
    memcpy(&bits, &delay_s, sizeof bits);
    r->colour[node] = run_hash(bits, node >= run->fabric.devices);
  }
  for (size_t i = 0; i < options->call_count; i++) {
    uint64_t *colour = &r->colour[options->calls[i].device];
    *colour = run_hash(*colour, options->calls[i].request);
  }
}

/* Numbers of equal colours: who is first with one, and how many have it. Returns how many colours there are; 0 when memory is
 * exhausted. */
static uint32_t count_colours(const uint64_t *colours, uint32_t count, uint32_t *representative, uint32_t *size) {
  struct map first = {0};
  uint32_t classes = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t who = i;
    size[i] = 0;
    if (!map_get(&first, colours[i], &who)) {
      classes++;
      if (!map_set(&first, colours[i], i)) {
        classes = 0;
        break;
      }
    }
    representative[i] = who;
    size[who]++;
  }
  map_release(&first);
  return classes;
}

/* Refines until nothing splits. */
static bool refine(struct refinement *r) {
  struct run *run = r->run;
  size_t link_count = run->fabric.link_count;
  uint32_t before = 0, classes = count_colours(r->colour, run->node_count, run->representative, run->class_size);
  while (classes != before) {
    clear_links(r);
    visit_all(r, colour_links);
    memcpy(r->next, r->colour, run->node_count * sizeof *r->next);
    visit_all(r, colour_nodes);
    for (uint32_t i = 0; i < run->node_count; i++) {
      r->colour[i] = run_hash(r->colour[i], r->next[i]);
    }
    before = classes;
    classes = count_colours(r->colour, run->node_count, run->representative, run->class_size);
    if (classes == 0 || classes > run->node_count / 2) {
      return classes != 0; /* nothing gained */
    }
  }
  clear_links(r);
  visit_all(r, colour_links);
  return classes != 0
         && count_colours(r->link_colour, (uint32_t)link_count, run->link_representative, run->link_class_size) != 0;
}

static void everyone_alone(struct run *run) {
  for (uint32_t i = 0; i < run->node_count; i++) {
    run->representative[i] = i;
    run->class_size[i] = 1;
  }
  free(run->link_class_size);
  free(run->link_representative);
  run->link_class_size = run->link_representative = NULL;
  run->classes = run->fabric.devices;
}

static uint32_t count_classes(const struct run *run) {
  uint32_t classes = 0;
  for (uint32_t i = 0; i < run->fabric.devices; i++) {
    classes += run->representative[i] == i;
  }
  return classes;
}

enum status run_find_classes(struct run *run) {
  size_t nodes = run->node_count, links = run->fabric.link_count;
  run->class_size = malloc(nodes * sizeof *run->class_size);
  run->representative = malloc(nodes * sizeof *run->representative);
  if (run->class_size == NULL || run->representative == NULL) {
    return STATUS_MEMORY;
  }
  if (!run->options->is_collapsed) {
    everyone_alone(run);
    return STATUS_OK;
  }
  run->link_class_size = malloc((links + 1) * sizeof *run->link_class_size);
  run->link_representative = malloc((links + 1) * sizeof *run->link_representative);
  struct refinement r = {.run = run,
                         .colour = malloc(nodes * sizeof *r.colour),
                         .next = malloc(nodes * sizeof *r.next),
                         .link_colour = malloc((links + 1) * sizeof *r.link_colour)};
  bool is_done = run->link_class_size != NULL && run->link_representative != NULL && r.colour != NULL && r.next != NULL
                 && r.link_colour != NULL;
  if (is_done) {
    first_colours(&r);
    is_done = refine(&r);
  }
  free(r.colour);
  free(r.next);
  free(r.link_colour);
  if (!is_done) {
    return STATUS_MEMORY;
  }
  run->classes = count_classes(run);
  if (run->classes > run->fabric.devices / 2) {
    everyone_alone(run);
  }
  return STATUS_OK;
}
