/* Reductions by one operation on two elements: reduce over any dimensions, and reduce_window. The operation is applied to many
 * positions of the result at once; at each position elements are folded in the order of indices, so the results are those of
 * the definition bit for bit. Windows become a reduction over a copy of the operand with its padding.
 * Path: interp_reduce.c → here → loops of interp_fast_loops.c. */
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "interp/interp_elementwise.h"
#include "interp/interp_fast.h"
#include "interp/interp_fast_groups.h"
#include "interp/interp_view.h"

enum { LANES = 512, STEPS = 16, SHARES_MAX = 8 };
/* Elements below which a thread costs more than it saves. */
static const uint64_t SHARE_ELEMENTS = 100000;

/* result[l] = fold over s of data[lanes[l] + steps[s]]. */
struct folding {
  struct group_node node;
  const uint8_t *data, *initial;
  uint8_t *result;
  const int64_t *lanes, *steps; /* offsets in elements */
  uint64_t lane_count, step_count, shares;
  unsigned bytes; /* of an element */
};

#define GATHER(type)                                                                                                   \
  do {                                                                                                                 \
    const type *source = (const type *)(const void *)from;                                                             \
    type *target = (type *)(void *)to;                                                                                 \
    for (uint64_t l = 0; l < count; l++) {                                                                             \
      target[l] = source[lanes[l]];                                                                                    \
    }                                                                                                                  \
  } while (0)

static void gather(uint8_t *to, const uint8_t *from, const int64_t *lanes, uint64_t count, unsigned bytes) {
  switch (bytes) {
  case 1:
    GATHER(uint8_t);
    break;
  case 2:
    GATHER(uint16_t);
    break;
  case 4:
    GATHER(uint32_t);
    break;
  default:
    GATHER(uint64_t);
  }
}

/* Lanes that lie one after the other in the operand. */
static uint64_t run_length(const int64_t *lanes, uint64_t count) {
  uint64_t run = 1;
  while (run < count && lanes[run] - lanes[run - 1] == 1) {
    run++;
  }
  return run;
}

/* A piece of the lanes through all steps. Lanes that are far apart are gathered: their elements of several steps lie near
 * each other, so the steps of a gathering take turns. */
static void fold_piece(const struct folding *f, uint64_t first, uint64_t count) {
  uint64_t buffer[LANES];
  const int64_t *lanes = f->lanes + first;
  uint8_t *to = f->result + first * f->bytes;
  bool is_run = run_length(lanes, count) == count;
  for (uint64_t l = 0; l < count; l++) {
    memcpy(to + l * f->bytes, f->initial, f->bytes);
  }
  for (uint64_t s = 0; s < f->step_count; s++) {
    const uint8_t *from = f->data + (f->steps[s] + (is_run ? lanes[0] : 0)) * (int64_t)f->bytes;
    if (!is_run) {
      gather((uint8_t *)buffer, from, lanes, count, f->bytes);
    }
    const void *in[GROUP_INPUTS] = {to, is_run ? (const void *)from : buffer, to};
    f->node.loop(&f->node, in, to, count);
  }
}

static void fold_share(void *user, size_t share) {
  const struct folding *f = user;
  uint64_t end = f->lane_count * (share + 1) / f->shares;
  for (uint64_t first = f->lane_count * share / f->shares; first < end;) {
    uint64_t count = end - first < LANES ? end - first : LANES, run = run_length(f->lanes + first, count);
    count = run >= STEPS ? run : count; /* short runs are gathered together */
    fold_piece(f, first, count);
    first += count;
  }
}

static void fold(struct folding *f) {
  uint64_t shares = f->lane_count * f->step_count / SHARE_ELEMENTS + 1;
  shares = shares < SHARES_MAX ? shares : SHARES_MAX;
  f->shares = shares < f->lane_count ? shares : f->lane_count;
  if (f->shares > 1) {
    parallel_for(f->shares, 0, fold_share, f);
  } else if (f->shares == 1) {
    fold_share(f, 0);
  }
}

/* The loop of a body that is one operation, on the element type of operand, initial value and result. */
static bool find_loop(struct interp_call *call, struct folding *f) {
  const struct interp_value *from = call->operands[0], *initial = call->operands[1];
  struct ir_type type = ir_value_type(call->module, ir_op_result(call->module, call->op, 0));
  struct interp_body body;
  interp_body_init(&body, call->frame, call->op, 0);
  if (body.opcode == IR_OP_UNKNOWN || call->result_count != 1 || from->quant || initial->quant
      || initial->dtype != from->dtype || initial->count != 1 || ir_type_get(call->module, type)->dtype != from->dtype
      || interp_is_complex(from) || call->frame->lanes > 0) {
    return false;
  }
  f->node = (struct group_node){.opcode = (uint16_t)interp_elementwise_opcode(body.opcode),
                                .input_dtype = from->dtype,
                                .dtype = from->dtype,
                                .input_count = 2};
  f->node.loop = interp_fast_loop(&f->node);
  f->initial = initial->data;
  f->bytes = interp_element_bytes(from);
  return f->node.loop != NULL;
}

static uint64_t product(const int64_t *dims, uint32_t rank) {
  uint64_t count = 1;
  for (uint32_t d = 0; d < rank; d++) {
    count *= (uint64_t)dims[d];
  }
  return count;
}

/* Folds `data` into result 0 of the given dimensions. */
static enum interp_fast fold_into_result(struct interp_call *call, struct folding *f, const uint8_t *data,
                                         const struct interp_strided *lanes, const struct interp_strided *steps) {
  f->lane_count = product(lanes->dims, lanes->rank);
  f->step_count = product(steps->dims, steps->rank);
  f->data = data;
  uint64_t offsets = f->lane_count + f->step_count;
  int64_t *memory = interp_fast_has_room(call, offsets * sizeof *memory) ? malloc(offsets * sizeof *memory) : NULL;
  if (!memory) {
    return INTERP_FAST_NOT_MINE;
  }
  f->lanes = memory;
  f->steps = interp_fast_offsets(lanes->dims, lanes->strides, lanes->rank, memory);
  interp_fast_offsets(steps->dims, steps->strides, steps->rank, memory + f->lane_count);
  struct interp_value *to =
      interp_spend(call, 2 * f->lane_count * f->step_count) ? interp_result(call, 0, lanes->dims, lanes->rank) : NULL;
  if (to) {
    f->result = to->data;
    fold(f);
  }
  free(memory);
  return to ? INTERP_FAST_DONE : INTERP_FAST_FAILED;
}

enum interp_fast interp_fast_reduce(struct interp_call *call, const struct interp_strided *lanes,
                                    const struct interp_strided *steps) {
  struct folding f;
  if (call->frame->process->run->options.plain || call->operands[0]->count == 0 || !find_loop(call, &f)) {
    return INTERP_FAST_NOT_MINE;
  }
  return fold_into_result(call, &f, call->operands[0]->data, lanes, steps);
}

/* The operand with its holes and padding filled with the initial value; NULL after a message. */
static struct interp_value *pad(struct interp_call *call, const struct interp_window *w, const int64_t *dims) {
  const struct interp_value *from = call->operands[0];
  struct interp_value *padded = interp_scratch(call, (enum dtype)from->dtype, dims, w->rank);
  if (padded) {
    struct interp_view to = interp_view_of(padded), all = interp_view_of(from);
    interp_fill(padded, call->operands[1]);
    for (uint32_t d = 0; d < w->rank; d++) {
      to.base += w->low[d] * to.strides[d];
      to.strides[d] *= w->base_dilation[d];
    }
    interp_view_copy(padded, &to, from, &all, from->dims, w->rank);
  }
  return padded;
}

enum interp_fast interp_fast_reduce_window(struct interp_call *call, const struct interp_window *w) {
  const struct interp_value *from = call->operands[0];
  struct folding f;
  int64_t dims[INTERP_MAX_RANK], strides[INTERP_MAX_RANK], lane_strides[INTERP_MAX_RANK], step_strides[INTERP_MAX_RANK];
  uint64_t count = 1;
  bool is_padded = false, is_inside = true;
  for (uint32_t d = 0; d < w->rank; d++) {
    int64_t own = from->dims[d] == 0 ? 0 : (from->dims[d] - 1) * w->base_dilation[d] + 1;
    int64_t reach = (w->positions[d] - 1) * w->stride[d] + (w->size[d] - 1) * w->dilation[d] + 1;
    dims[d] = w->low[d] + own > reach ? w->low[d] + own : reach; /* what the windows reach, at least the operand */
    is_padded |= dims[d] != from->dims[d] || w->base_dilation[d] != 1;
    is_inside &= w->low[d] >= 0 && w->positions[d] > 0;
    count = dims[d] <= 0 || __builtin_mul_overflow(count, (uint64_t)dims[d], &count) ? UINT64_MAX : count;
  }
  if (!is_inside || from->count == 0 || count > UINT64_MAX / 64 || !interp_fast_has_room(call, 16 * count)
      || !find_loop(call, &f)) {
    return INTERP_FAST_NOT_MINE;
  }
  struct interp_value *padded = is_padded ? pad(call, w, dims) : NULL;
  if (is_padded && !padded) {
    return INTERP_FAST_FAILED;
  }
  interp_strides(dims, w->rank, strides);
  for (uint32_t d = 0; d < w->rank; d++) {
    lane_strides[d] = strides[d] * w->stride[d];
    step_strides[d] = strides[d] * w->dilation[d];
  }
  const struct interp_strided lanes = {w->positions, lane_strides, w->rank}, steps = {w->size, step_strides, w->rank};
  enum interp_fast outcome = fold_into_result(call, &f, (padded ? padded : from)->data, &lanes, &steps);
  interp_release(padded);
  return outcome;
}
