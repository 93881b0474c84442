/* Operators that load more than their part of the SRAM become several in a row (plan_program_split).
 * Path: plan_read.c, or tests by hand → here → plan_program_seal.c. */
#include "base/checked.h"
#include "plan/plan_program.h"

/* So many operators may stand for one; a decode step has up to a few hundred sequences. */
enum { PARTS_MAX = 64 };

struct cut {
  uint32_t axis, parts; /* parts 1: the operator stays as it is */
};

static const struct plan_tensor *tensors_of(const struct plan_program *program, const struct plan_operator *op) {
  return &program->tensors.data[op->tensor_first];
}

static uint64_t loaded_bytes(const struct plan_program *program, const struct plan_operator *op) {
  uint64_t bytes = 0;
  for (uint32_t t = 0; t + 1u < op->tensor_count; t++) {
    bytes = sat_add_u64(bytes, tensors_of(program, op)[t].memory_bytes);
  }
  return bytes;
}

/* Axes along which the parts need nothing of each other, do nothing twice and load nothing twice. */
static plan_axis_mask free_axes(const struct plan_program *program, const struct plan_operator *op) {
  plan_axis_mask axes = tensors_of(program, op)[op->tensor_count - 1u].axes;
  for (uint32_t t = 0; t + 1u < op->tensor_count; t++) {
    const struct plan_tensor *tensor = &tensors_of(program, op)[t];
    axes &= tensor->source == PLAN_SOURCE_MEMORY ? tensor->axes : axes;
  }
  for (uint32_t s = 0; s < op->stage_count; s++) {
    const struct plan_stage *stage = &program->stages.data[op->stage_first + s];
    axes &= (plan_axis_mask)(stage->axes & ~stage->reduced);
  }
  return axes;
}

/* Equal parts, also in bytes: they are one sort. */
static bool is_divisor(const struct plan_program *program, const struct plan_operator *op, uint32_t axis,
                       uint32_t parts) {
  bool divides = op->extents[axis] % parts == 0;
  for (uint32_t t = 0; t < op->tensor_count && divides; t++) {
    divides = tensors_of(program, op)[t].memory_bytes % parts == 0;
  }
  return divides;
}

/* Fewest parts along one axis that load at most `most` bytes each; the most there can be when no number of them does. */
static struct cut cut_along(const struct plan_program *program, const struct plan_operator *op, uint32_t axis,
                            uint64_t most) {
  uint64_t bytes = loaded_bytes(program, op);
  struct cut cut = {axis, 1};
  for (uint32_t parts = 2; parts <= PARTS_MAX && bytes / cut.parts > most; parts++) {
    cut.parts = is_divisor(program, op, axis, parts) ? parts : cut.parts;
  }
  return cut;
}

/* Of an axis of a product, the order in which axes are tried: those of its batch, its rows, its columns. Parts along the
 * batch read nothing in common, others gather the operand that lacks the axis once each. */
enum { BATCH, ROWS, COLUMNS, ROLES };

static uint32_t role_of(const struct plan_program *program, const struct plan_operator *op, uint32_t axis) {
  uint32_t role = BATCH;
  for (uint32_t s = 0; s < op->stage_count; s++) {
    const struct plan_stage *stage = &program->stages.data[op->stage_first + s];
    if (stage->kind == PLAN_STAGE_MATRIX) {
      bool is_left = (stage->left >> axis & 1) != 0, is_right = (stage->right >> axis & 1) != 0;
      role = is_left && is_right ? BATCH : is_left ? ROWS : COLUMNS;
    }
  }
  return role;
}

/* The first axis that suffices; of several that do not, the one with the smallest parts. */
static struct cut choose_cut(const struct plan_program *program, const struct plan_operator *op, uint64_t most) {
  struct cut best = {0, 1};
  uint64_t bytes = loaded_bytes(program, op);
  if (bytes <= most) {
    return best;
  }
  plan_axis_mask axes = free_axes(program, op);
  for (uint32_t role = 0; role < ROLES; role++) {
    for (uint32_t a = 0; a < op->axis_count && bytes / best.parts > most; a++) {
      if ((axes >> a & 1) != 0 && role_of(program, op, a) == role) {
        struct cut cut = cut_along(program, op, a, most);
        best = cut.parts > best.parts ? cut : best;
      }
    }
  }
  return best;
}

/* ---- the program anew ---- */

/* start[i]: first part of operator i in the new program; start[count]: operators there. So the parts of the operators
 * from `first` to `last` are those from start[first] to start[last + 1] - 1. */
static void renumber(struct plan_tensor *tensor, const uint32_t *start) {
  if (tensor->producer > 0) {
    uint32_t first = start[plan_first_producer(tensor)];
    tensor->producer = start[tensor->producer];
    tensor->producer_parts = tensor->producer - first;
    tensor->is_view |= tensor->producer_parts > 1 && tensor->source == PLAN_SOURCE_CHIP;
  }
}

static bool add_part(const struct plan_program *from, uint32_t index, struct cut cut, const uint32_t *start,
                     struct plan_program *to) {
  struct plan_operator op = from->operators.data[index];
  bool is_good = true;
  for (uint32_t t = 0; t < op.tensor_count && is_good; t++) {
    struct plan_tensor tensor = tensors_of(from, &op)[t];
    renumber(&tensor, start);
    tensor.memory_bytes /= cut.parts;
    bool is_cut = cut.parts > 1 && (tensor.axes >> cut.axis & 1) != 0;
    tensor.is_view |= is_cut && !tensor.is_output && tensor.source == PLAN_SOURCE_CHIP;
    is_good = vec_push(&to->tensors, tensor);
  }
  for (uint32_t s = 0; s < op.stage_count && is_good; s++) {
    is_good = vec_push(&to->stages, from->stages.data[op.stage_first + s]);
  }
  op.extents[cut.axis] /= cut.parts;
  op.tensor_first = (uint32_t)to->tensors.count - op.tensor_count;
  op.stage_first = (uint32_t)to->stages.count - op.stage_count;
  return is_good && vec_push(&to->operators, op);
}

static bool add_parts(const struct plan_program *from, const struct cut *cuts, const uint32_t *start,
                      struct plan_program *to) {
  bool is_good = true;
  for (uint32_t i = 0; i < from->operators.count && is_good; i++) {
    for (uint32_t p = 0; p < cuts[i].parts && is_good; p++) {
      is_good = add_part(from, i, cuts[i], start, to);
    }
  }
  return is_good;
}

/* `to` has only the lists; the old ones end. */
static void take_lists(struct plan_program *program, struct plan_program *to) {
  struct plan_program old = *program;
  program->operators = to->operators;
  program->tensors = to->tensors;
  program->stages = to->stages;
  to->operators = old.operators;
  to->tensors = old.tensors;
  to->stages = old.stages;
}

static bool split_all(struct plan_program *program, const struct cut *cuts, const uint32_t *start) {
  struct plan_program made = {0};
  bool is_good = add_parts(program, cuts, start, &made);
  if (is_good) {
    take_lists(program, &made);
  }
  vec_release(&made.operators);
  vec_release(&made.tensors);
  vec_release(&made.stages);
  return is_good;
}

enum status plan_program_split(struct plan_program *program, uint64_t split_bytes, uint32_t max_operators) {
  uint32_t count = (uint32_t)program->operators.count, spare = max_operators > count ? max_operators - count : 0;
  struct cut *cuts = calloc(count + 1u, sizeof *cuts);
  uint32_t *start = calloc(count + 1u, sizeof *start);
  bool is_good = cuts != NULL && start != NULL;
  for (uint32_t i = 0; i < count && is_good; i++) {
    cuts[i] = choose_cut(program, &program->operators.data[i], split_bytes);
    cuts[i].parts = cuts[i].parts - 1 <= spare ? cuts[i].parts : 1;
    spare -= cuts[i].parts - 1;
    start[i + 1] = start[i] + cuts[i].parts;
  }
  if (is_good && start[count] > count) {
    is_good = split_all(program, cuts, start);
  }
  if (is_good) {
    is_good = vec_push(&program->shares, ((struct plan_step_share){"splits", count, start[count]}));
  }
  free(cuts);
  free(start);
  return is_good ? STATUS_OK : STATUS_MEMORY;
}
