/* Fusion rules of XLA's TPU backend as far as they are public: a dot or convolution is the root of a fusion that computes
 * its operands (prologue) and takes in what becomes of its result (epilogue) while the tiles fit VMEM; reductions fuse with
 * producers; transposes ride along as layout changes; kernels of equal shape share a pass. Compilers of other chips that
 * stream tiles through a large scratch memory (Trainium, Gaudi) are described by the same rules. docs/fusion.md. */
#include "lower/lower_fuse.h"

static bool tpu_can_fuse(const struct fuse_level *level, const struct fuse_node *producer,
                         const struct fuse_node *consumer) {
  (void)level;
  switch (producer->role) {
  case FUSE_LOOP:
    return true;
  case FUSE_MATRIX:
  case FUSE_REDUCE: /* epilogue over the results, element by element */
    return consumer->role == FUSE_LOOP && consumer->output_elements == producer->output_elements
           && consumer->loop_elements == producer->output_elements;
  default:
    return false;
  }
}

static bool is_tile_shaped(const struct fuse_node *node) {
  return node->role == FUSE_LOOP || node->role == FUSE_REDUCE || node->role == FUSE_MATRIX;
}

static bool tpu_can_join(const struct fuse_node *a, const struct fuse_node *b) {
  if (!is_tile_shaped(a) || !is_tile_shaped(b) || a->loop_elements != b->loop_elements) {
    return false;
  }
  if (a->role == FUSE_REDUCE && b->role == FUSE_REDUCE) {
    return a->reduced_elements == b->reduced_elements; /* either may have other outputs beside */
  }
  return !(a->role == FUSE_MATRIX && b->role == FUSE_MATRIX);
}

/* A v5e-class chip: 0.8 TB/s, about 1 us between kernels, 4 TFLOP/s in the vector unit. */
const struct fuse_rules fuse_rules_tpu = {
    .name = "tpu",
    .roles =
        {
            [WORK_MATMUL] = FUSE_MATRIX,
            [WORK_CONVOLUTION] = FUSE_MATRIX,
            [WORK_ELEMENTWISE] = FUSE_LOOP,
            [WORK_BROADCAST] = FUSE_LOOP,
            [WORK_IOTA] = FUSE_LOOP,
            [WORK_CONSTANT] = FUSE_LOOP,
            [WORK_TRANSPOSE] = FUSE_LOOP,
            [WORK_COPY] = FUSE_LOOP,
            [WORK_SLICE] = FUSE_LOOP,
            [WORK_DYNAMIC_SLICE] = FUSE_LOOP,
            [WORK_DYNAMIC_UPDATE_SLICE] = FUSE_UPDATE,
            [WORK_CONCATENATE] = FUSE_LOOP,
            [WORK_PAD] = FUSE_LOOP,
            [WORK_REVERSE] = FUSE_LOOP,
            [WORK_REDUCE] = FUSE_REDUCE,
        },
    .max_row_elements = 65536,
    .launch_s = 1.0e-6,
    .memory_Bps = 0.8e12,
    .vector_ops = 4.0e12,
    .function_adds_ops = 4.0e12 / 20,
    .integer_ops = 2.0e12,
    .max_operands = 96,
    .repeats_broadcasts = false, /* tiles are kept in VMEM and broadcast from there */
    .can_fuse = tpu_can_fuse,
    .can_join = tpu_can_join,
};
