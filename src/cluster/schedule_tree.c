/* The double binary tree: two trees over all ranks, each with half of the data; who is inside one is (almost always) a leaf
 * of the other, so that every rank sends and receives the buffer about twice. Chunks go up to the root behind each other and
 * are added on the way; then they come down behind each other. Across nodes the trees are over nodes, once for every rank of a
 * node with a part of the data, so that all network cards work; the other ranks of a node hang below it in a tree. */
#include <stdlib.h>

#include "cluster/schedule.h"

/* Parent in the in-order binary tree over 0 .. ranks-1: rank 0 is the root, and a rank whose lowest one bit is b lies at
 * height log2 b. */
static uint32_t in_order_parent(uint32_t rank, uint32_t ranks) {
  uint32_t bit = rank & (0u - rank), parent = (rank ^ bit) | bit << 1;
  return parent < ranks ? parent : rank ^ bit;
}

/* The trees of one channel. Below each place hangs a tree of the ranks of its node; without nodes that is its root only. */
struct tree {
  uint32_t places, number; /* number: 0, 1 */
  uint32_t inner, channel; /* ranks of a node; the one that is in the tree */
  uint32_t lane; /* of messages up; down: the next one */
  uint64_t bytes;
  const uint32_t *depth; /* of a place; place 0 is the root */
  uint32_t height;
  const uint32_t *inner_depth; /* the same of ranks of a node; 0 is the one in the tree */
  uint32_t inner_height;
};

/* Rank at a place of a tree, `below` in its node. The second tree is the first one mirrored, or shifted by one where
 * the number is odd. */
static uint32_t rank_at(const struct tree *tree, uint32_t place, uint32_t below) {
  uint32_t mirrored = tree->places % 2 == 0 ? tree->places - 1 - place : (place + 1) % tree->places;
  return (tree->number == 0 ? place : mirrored) * tree->inner + (tree->channel + below) % tree->inner;
}

static uint32_t measure_depth(uint32_t places, uint32_t *depth) {
  uint32_t height = 0;
  for (uint32_t place = 0; place < places; place++) {
    depth[place] = 0;
    for (uint32_t at = place; at != 0; at = in_order_parent(at, places)) {
      depth[place]++;
    }
    height = depth[place] > height ? depth[place] : height;
  }
  return height;
}

static void begin_step(struct collective_schedule *schedule, const struct tree *tree, bool is_up, bool is_turn) {
  schedule_step(schedule, COLLECTIVE_LIST, tree->lane + !(is_up || is_turn), tree->lane + !is_up)->reduces = is_up;
}

static void edge(struct collective_schedule *schedule, const struct tree *tree, bool is_up, uint32_t low,
                 uint32_t high) {
  schedule_message(schedule, is_up ? low : high, is_up ? high : low, tree->bytes);
}

/* All messages between depth - 1 and depth. The root turns round: what it sends down waits for what has come up. */
static void level(struct collective_schedule *schedule, const struct tree *tree, uint32_t depth, bool is_up) {
  begin_step(schedule, tree, is_up, depth == 1);
  for (uint32_t place = 1; place < tree->places; place++) {
    if (tree->depth[place] == depth) {
      edge(schedule, tree, is_up, rank_at(tree, place, 0), rank_at(tree, in_order_parent(place, tree->places), 0));
    }
  }
}

/* The same inside the nodes. */
static void inner_level(struct collective_schedule *schedule, const struct tree *tree, uint32_t depth, bool is_up) {
  bool has_turn = !is_up && depth == 1; /* at the root's node */
  for (int turn = 0; turn <= (int)has_turn; turn++) {
    begin_step(schedule, tree, is_up, turn == 1);
    for (uint32_t place = 0; place < tree->places; place++) {
      for (uint32_t below = 1; below < tree->inner; below++) {
        if (tree->inner_depth[below] == depth && (!has_turn || (place == 0) == (turn == 1))) {
          edge(schedule, tree, is_up, rank_at(tree, place, below),
               rank_at(tree, place, in_order_parent(below, tree->inner)));
        }
      }
    }
  }
}

/* All chunks up, then all down. */
static void pipeline(struct collective_schedule *schedule, const struct tree *tree, uint32_t chunks) {
  size_t first = schedule->steps.count;
  for (uint32_t depth = tree->inner_height; depth > 0; depth--) {
    inner_level(schedule, tree, depth, true);
  }
  for (uint32_t depth = tree->height; depth > 0; depth--) {
    level(schedule, tree, depth, true);
  }
  schedule_repeat(schedule, first, chunks);
  first = schedule->steps.count;
  for (uint32_t depth = 1; depth <= tree->height; depth++) {
    level(schedule, tree, depth, false);
  }
  for (uint32_t depth = 1; depth <= tree->inner_height; depth++) {
    inner_level(schedule, tree, depth, false);
  }
  schedule_repeat(schedule, first, chunks);
}

enum status schedule_tree(const struct hw_cluster *cluster, const struct hw_slice *slice,
                          const struct collective_request *request, struct collective_schedule *schedule) {
  (void)slice;
  struct schedule_axis axes[HW_DIMENSIONS_MAX];
  uint32_t count = schedule_axes(cluster, request, axes);
  bool has_nodes = count > 1 && cluster->dimensions[axes[count - 1].dimension].fabric == HW_FABRIC_FAT_TREE
                   && request->shape.is_regular;
  uint32_t inner = has_nodes ? axes[count - 1].stride : 1, places = schedule->ranks / inner;
  if (request->kind != WORK_ALL_REDUCE) {
    return STATUS_OK; /* no steps: not done */
  }
  uint32_t *depth = malloc(((size_t)places + inner) * sizeof *depth);
  if (depth == NULL) {
    return STATUS_MEMORY;
  }
  struct tree tree = {.places = places, .inner = inner, .depth = depth, .inner_depth = depth + places};
  tree.height = measure_depth(places, depth);
  tree.inner_height = measure_depth(inner, depth + places);
  uint32_t chunks = schedule_chunks(schedule, request, tree.height + tree.inner_height, 2 * inner);
  tree.bytes = schedule_part(request, (uint64_t)chunks * 2 * inner);
  for (tree.channel = 0; tree.channel < inner; tree.channel++) {
    for (tree.number = 0; tree.number < 2; tree.number++) {
      tree.lane = 4 * tree.channel + 2 * tree.number;
      pipeline(schedule, &tree, chunks);
    }
  }
  free(depth);
  return schedule_end(schedule);
}
