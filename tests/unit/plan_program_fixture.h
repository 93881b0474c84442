/* Plan programs from work graphs in text form, for the tests of plan_program*. */
#ifndef RIDGELINE_TESTS_PLAN_PROGRAM_FIXTURE_H
#define RIDGELINE_TESTS_PLAN_PROGRAM_FIXTURE_H

#include "plan/plan_program.h"
#include "work_fixture.h"

/* Reads a text that must be planned, and checks the program's invariants. The caller releases it. */
static inline struct plan_program program_from(const char *text, bool views, bool fuse) {
  struct work_graph *graph = sealed_from(text);
  struct plan_read_options options = {.views = views, .fuse = fuse};
  struct plan_program program;
  struct diag_list diags;
  diag_init(&diags);
  enum status status = plan_program_read(graph, &options, &diags, &program);
  if (status == STATUS_OK) {
    status = plan_program_check(&program, &diags);
  }
  if (status != STATUS_OK) {
    fail_msg("%s", diags.entries.count > 0 ? diags.entries.data[0].message : "no message");
  }
  diag_release(&diags);
  work_graph_free(graph);
  return program;
}

static inline const struct plan_operator *op_at(const struct plan_program *program, uint32_t i) {
  assert_true(i < program->operators.count);
  return &program->operators.data[i];
}

static inline const struct plan_tensor *tensor_at(const struct plan_program *program, uint32_t op, uint32_t i) {
  assert_true(i < op_at(program, op)->tensor_count);
  return &program->tensors.data[op_at(program, op)->tensor_first + i];
}

static inline const struct plan_tensor *output_of(const struct plan_program *program, uint32_t op) {
  return tensor_at(program, op, op_at(program, op)->tensor_count - 1u);
}

static inline const struct plan_stage *plan_stage_at(const struct plan_program *program, uint32_t op, uint32_t i) {
  assert_true(i < op_at(program, op)->stage_count);
  return &program->stages.data[op_at(program, op)->stage_first + i];
}

/* Extents along a mask, multiplied. */
static inline uint64_t points_along(const struct plan_operator *op, plan_axis_mask mask) {
  uint64_t points = 1;
  for (uint32_t a = 0; a < op->axis_count; a++) {
    points *= (mask >> a & 1) != 0 ? op->extents[a] : 1;
  }
  return points;
}

#endif
