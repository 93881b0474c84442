/* Lifetime and invariants of plan programs. Path: plan_read*.c, or tests by hand → here → plan_sets. */
#include "plan/plan_program.h"

#include <string.h>

void plan_program_init(struct plan_program *program) {
  memset(program, 0, sizeof *program);
  arena_init(&program->arena, 0);
  program->strings = arena_alloc(&program->arena, sizeof *program->strings);
  if (program->strings != NULL && !intern_init(program->strings, &program->arena)) {
    program->strings = NULL;
  }
}

void plan_program_release(struct plan_program *program) {
  if (program->strings != NULL) {
    intern_release(program->strings);
  }
  vec_release(&program->operators);
  vec_release(&program->tensors);
  vec_release(&program->stages);
  vec_release(&program->shares);
  arena_release(&program->arena);
  memset(program, 0, sizeof *program);
}

struct checker {
  const struct plan_program *program;
  struct diag_list *diags;
  uint32_t op;
  bool is_sound;
};

static void require(struct checker *checker, bool holds, const char *rule) {
  if (!holds) {
    checker->is_sound = false;
    diag_at(checker->diags, DIAG_E0802_PLAN_PROGRAM, NULL, 0, "operator %u: %s", checker->op, rule);
  }
}

static plan_axis_mask all_axes(const struct plan_operator *op) {
  return (plan_axis_mask)((1u << op->axis_count) - 1);
}

/* The operators that made a tensor in parts are alike; they come before this one. */
static bool has_equal_parts(const struct plan_program *program, const struct plan_tensor *tensor) {
  bool are_equal = tensor->producer_parts <= tensor->producer;
  for (uint32_t p = are_equal ? plan_first_producer(tensor) : tensor->producer; p < tensor->producer; p++) {
    are_equal &= program->operators.data[p].sort == program->operators.data[tensor->producer - 1].sort;
  }
  return are_equal;
}

static void check_producers(struct checker *checker, const struct plan_tensor *tensor) {
  bool is_before = tensor->producer <= checker->op;
  require(checker, is_before, "a producer comes before");
  if (is_before && tensor->producer_parts > 1) {
    require(checker, tensor->producer > 0 && has_equal_parts(checker->program, tensor),
            "parts of a value are made by operators that are alike");
    require(checker, tensor->is_view || tensor->source == PLAN_SOURCE_MEMORY, "what comes in parts is a view");
  }
}

static void check_tensor(struct checker *checker, const struct plan_operator *op, uint32_t index) {
  const struct plan_tensor *tensor = &checker->program->tensors.data[op->tensor_first + index];
  bool is_last = index + 1 == op->tensor_count;
  require(checker, (tensor->axes & ~all_axes(op)) == 0, "a tensor has an axis that the operator lacks");
  require(checker, tensor->element_bits > 0, "a tensor's elements have no size");
  require(checker, tensor->is_output == is_last, "the output is the last tensor and only that");
  require(checker, tensor->source == PLAN_SOURCE_MEMORY || tensor->source == PLAN_SOURCE_CHIP,
          "a tensor comes from nowhere");
  if (is_last) {
    require(checker, tensor->source == PLAN_SOURCE_CHIP && tensor->producer == 0 && !tensor->is_view,
            "the output is made here, whole");
    return;
  }
  check_producers(checker, tensor);
  if (tensor->source == PLAN_SOURCE_CHIP) {
    require(checker, tensor->producer != 0, "an input from the chip needs a producer");
    require(checker, tensor->memory_bytes == 0, "an input from the chip loads nothing");
  } else {
    require(checker, !tensor->is_view, "a view is of a value on the chip");
  }
}

static void check_stage(struct checker *checker, const struct plan_operator *op, uint32_t index) {
  const struct plan_stage *stage = &checker->program->stages.data[op->stage_first + index];
  bool is_matrix = stage->kind == PLAN_STAGE_MATRIX;
  require(checker, stage->kind < PLAN_STAGE_KIND_COUNT, "a stage is of no known kind");
  require(checker, (stage->axes & ~all_axes(op)) == 0, "a stage has an axis that the operator lacks");
  require(checker, (stage->reduced & ~stage->axes) == 0, "a stage sums an axis that it does not run along");
  require(checker, ((stage->left | stage->right) & ~stage->axes) == 0, "an operand has an axis that its product lacks");
  require(checker, is_matrix || (stage->left == 0 && stage->right == 0), "only products have two sides");
  require(checker, stage->operations > 0 && stage->result_bits > 0, "a stage does nothing");
}

static void check_operator(struct checker *checker) {
  const struct plan_program *program = checker->program;
  const struct plan_operator *op = &program->operators.data[checker->op];
  bool has_room = op->axis_count >= 1 && op->axis_count <= PLAN_AXES_MAX && op->tensor_count >= 1
                  && op->tensor_count <= PLAN_TENSORS_MAX && op->stage_count >= 1 && op->stage_count <= PLAN_STAGES_MAX;
  require(checker, has_room, "it has 1 to 8 axes, 1 to 16 tensors, 1 to 24 stages");
  bool is_inside =
      op->tensor_first <= program->tensors.count && op->tensor_count <= program->tensors.count - op->tensor_first
      && op->stage_first <= program->stages.count && op->stage_count <= program->stages.count - op->stage_first;
  require(checker, is_inside, "its tensors or stages lie outside the program");
  if (!has_room || !is_inside) {
    return;
  }
  for (uint32_t a = 0; a < op->axis_count; a++) {
    require(checker, op->extents[a] > 0, "an axis is empty");
  }
  for (uint32_t i = 0; i < op->tensor_count; i++) {
    check_tensor(checker, op, i);
  }
  for (uint32_t i = 0; i < op->stage_count; i++) {
    check_stage(checker, op, i);
  }
  require(checker, op->layer == UINT32_MAX || op->layer < program->layer_count, "its layer is none of the program's");
  require(checker, op->sort < program->sort_count, "its sort is none of the program's");
  require(checker, op->merged >= 1, "it stands for no operation");
}

enum status plan_program_check(const struct plan_program *program, struct diag_list *diags) {
  struct checker checker = {program, diags, 0, true};
  for (uint32_t i = 0; i < program->operators.count; i++) {
    checker.op = i;
    check_operator(&checker);
  }
  return checker.is_sound ? STATUS_OK : STATUS_INPUT;
}
