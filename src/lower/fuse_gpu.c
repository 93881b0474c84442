/* Fusion rules of XLA's GPU backend: loop fusion, input fusion into reductions, tiled transposes with a prologue and an
 * epilogue, library matrix products with the epilogues and casts that cuBLASLt, cuDNN and Triton take.
 * docs/fusion.md names the source of each rule. */
#include "lower/lower_fuse.h"

static bool is_single(const struct fuse_level *level, const struct fuse_node *node, uint32_t label) {
  return label != 0 && node->member_count == 1 && fuse_node_task(level, node)->label == label;
}

/* The last two dimensions change places and nothing else: a flag of a library matrix product. */
static bool is_matrix_transpose(const struct fuse_level *level, const struct fuse_node *node) {
  const struct work_task *task = fuse_node_task(level, node);
  if (node->member_count != 1 || task->kind != WORK_TRANSPOSE || task->stage_count != 1) {
    return false;
  }
  const struct work_graph *graph = level->graph;
  const struct work_stage *stage = &graph->stages.data[task->stage_first];
  const struct work_access *read = &graph->accesses.data[stage->access_first];
  uint32_t rank = read->map_count;
  if (stage->access_count != 2 || rank < 2) {
    return false;
  }
  const int16_t *map = graph->maps.data + read->map_first;
  for (uint32_t d = 0; d + 2 < rank; d++) {
    if (map[d] != (int16_t)d) {
      return false;
    }
  }
  return map[rank - 2] == (int16_t)(rank - 1) && map[rank - 1] == (int16_t)(rank - 2);
}

/* A piece of a stacked tensor that lies in one stretch of memory: of the leading dimensions one element, of the others all.
 * A matrix product takes it by its address. */
static bool is_stacked_slice(const struct fuse_level *level, const struct fuse_node *node) {
  const struct work_task *task = fuse_node_task(level, node);
  const struct work_graph *graph = level->graph;
  if (node->member_count != 1 || (task->kind != WORK_SLICE && task->kind != WORK_DYNAMIC_SLICE) || task->read_count < 1
      || task->access_count != task->read_count + 1u) {
    return false;
  }
  const struct work_access *border = graph->accesses.data + task->access_first;
  const struct work_tensor *whole = &graph->tensors.data[border[0].tensor];
  const struct work_tensor *piece = &graph->tensors.data[border[task->read_count].tensor];
  const int64_t *from = graph->dims.data + whole->dims_first, *to = graph->dims.data + piece->dims_first;
  bool is_cut = true;
  for (uint32_t d = 0; d < whole->rank && whole->rank == piece->rank; d++) {
    is_cut &= to[d] == 1;
    if (!is_cut && to[d] != from[d]) {
      return false;
    }
  }
  return whole->rank == piece->rank && whole->rank > 1;
}

static bool is_product(const struct fuse_level *level, const struct fuse_node *node, bool takes_slices) {
  return node->role == FUSE_MATRIX && !node->writes_in_place
         && (!takes_slices || fuse_node_task(level, node)->kind == WORK_MATMUL);
}

static bool gpu_can_fuse(const struct fuse_level *level, const struct fuse_node *producer,
                         const struct fuse_node *consumer) {
  switch (producer->role) {
  case FUSE_LOOP:
    return consumer->role != FUSE_MATRIX;
  case FUSE_REDUCE: /* one hero per kernel; an epilogue that is more than a cast is left to the consumer */
    return is_single(level, consumer, level->label_convert);
  case FUSE_TRANSPOSE:
    return consumer->role == FUSE_LOOP && consumer->loop_elements == producer->loop_elements;
  default:
    return false;
  }
}

static bool gpu_can_join(const struct fuse_node *a, const struct fuse_node *b) {
  bool is_loop_shaped =
      (a->role == FUSE_LOOP || a->role == FUSE_REDUCE) && (b->role == FUSE_LOOP || b->role == FUSE_REDUCE);
  if (!is_loop_shaped || a->loop_elements != b->loop_elements) {
    return false;
  }
  return !(a->role == FUSE_REDUCE && b->role == FUSE_REDUCE) || a->output_elements == b->output_elements;
}

/* Epilogues of one product: a bias or residual, then a rectifier, then a cast, each at most once and in any order that
 * the program has. */
static void take_epilogue(struct fuse_level *level, uint32_t product) {
  bool has_add = false, has_maximum = false, has_convert = false;
  for (;;) {
    struct fuse_node *node = &level->nodes[product];
    uint32_t user;
    if (node->is_pinned || node->is_needed || fuse_node_users(level, node, &user, 1) != 1) {
      return;
    }
    struct fuse_node *consumer = &level->nodes[user];
    bool *slot = is_single(level, consumer, level->label_add)       ? &has_add
                 : is_single(level, consumer, level->label_maximum) ? &has_maximum
                 : is_single(level, consumer, level->label_convert) ? &has_convert
                                                                    : NULL;
    if (slot == NULL || *slot || consumer->role != FUSE_LOOP || consumer->is_pinned
        || consumer->output_elements != node->output_elements) {
      return;
    }
    *slot = true;
    fuse_into(level, product, user);
    fuse_retire(level, product);
    product = user;
  }
}

/* Casts, matrix transposes and slices of an operand whose every reader is a product. */
static void take_prologue(struct fuse_level *level, uint32_t index) {
  enum { MAX_PRODUCTS = 4 };
  const struct fuse_node *node = &level->nodes[index];
  bool is_cast = is_single(level, node, level->label_convert);
  bool is_slice = !is_cast && is_stacked_slice(level, node);
  if ((!is_cast && !is_slice && !is_matrix_transpose(level, node)) || node->is_pinned || node->is_needed) {
    return;
  }
  uint32_t users[MAX_PRODUCTS];
  uint32_t count = fuse_node_users(level, node, users, MAX_PRODUCTS);
  if (count == 0 || count > MAX_PRODUCTS) {
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (!is_product(level, &level->nodes[users[i]], is_slice)) {
      return;
    }
  }
  /* several products that each read the wide source can move more than the cast and its narrow result */
  if (count * node->read_bytes > node->read_bytes + (count + 1) * node->write_bytes) {
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    fuse_into(level, index, users[i]);
  }
  fuse_retire(level, index);
}

static void gpu_library_calls(struct fuse_level *level) {
  for (uint32_t i = (uint32_t)level->graph->tasks.count; i-- > 0;) {
    if (level->is_alive[i]) {
      take_prologue(level, i);
    }
  }
  for (uint32_t i = 0; i < level->graph->tasks.count && !level->out_of_memory; i++) {
    if (level->is_alive[i] && level->nodes[i].role == FUSE_MATRIX) {
      take_epilogue(level, i);
    }
  }
}

/* An A100-class chip: 1.3 us per kernel in a graph, 2 TB/s, 19.5 TFLOP/s of multiply-adds, integers on half the lanes. */
const struct fuse_rules fuse_rules_gpu = {
    .name = "gpu",
    .roles =
        {
            [WORK_MATMUL] = FUSE_MATRIX,
            [WORK_CONVOLUTION] = FUSE_MATRIX,
            [WORK_ELEMENTWISE] = FUSE_LOOP,
            [WORK_BROADCAST] = FUSE_LOOP,
            [WORK_IOTA] = FUSE_LOOP,
            [WORK_CONSTANT] = FUSE_LOOP,
            [WORK_TRANSPOSE] = FUSE_TRANSPOSE,
            [WORK_COPY] = FUSE_LOOP,
            [WORK_SLICE] = FUSE_LOOP,
            [WORK_DYNAMIC_SLICE] = FUSE_LOOP,
            [WORK_DYNAMIC_UPDATE_SLICE] = FUSE_UPDATE,
            [WORK_CONCATENATE] = FUSE_LOOP,
            [WORK_PAD] = FUSE_LOOP,
            [WORK_REVERSE] = FUSE_LOOP,
            [WORK_REDUCE] = FUSE_REDUCE,
            [WORK_REDUCE_WINDOW] = FUSE_LOOP,
            [WORK_GATHER] = FUSE_LOOP,
            [WORK_SCATTER] = FUSE_SCATTER,
        },
    .max_row_elements = 32768,
    .launch_s = 1.3e-6,
    .memory_Bps = 2.0e12,
    .vector_ops = 1.0e13,
    .function_adds_ops = 9.75e12 / 20, /* a special function is about 20 additions */
    .integer_ops = 5.0e12,
    .max_operands = 96,
    .repeats_broadcasts = true,
    .can_fuse = gpu_can_fuse,
    .can_join = gpu_can_join,
    .library_calls = gpu_library_calls,
};
