/* Core programs made from random sound plans: invariants, totals that equal the plan's, what every core does, and the
 * verifier's refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/plan_check.h"
#include "plan/plan_core_program.h"
#include "plan/plan_cost.h"
#include "plan_file_random.h"

enum { PLANS = 300 };

static void make(struct plan_random *random, struct plan *plan, struct plan_program *made, uint64_t sram_bytes,
                 struct core_program *program) {
  struct diag_list diags;
  diag_init(&diags);
  random_plan(random, plan, made);
  plan->file.chip.sram_bytes = sram_bytes;
  assert_int_equal(plan_core_program(&plan->file, &diags, program), STATUS_OK);
  enum status status = core_program_verify(program, &diags);
  for (size_t i = 0; i < diags.entries.count; i++) {
    print_error("%s\n", diags.entries.data[i].message);
  }
  assert_int_equal(status, STATUS_OK);
  diag_release(&diags);
}

/* Bytes of the rotation loops as the cost model's definition has them: each loop g - 1 shifts per round of those outside. */
static uint64_t shifted_bytes(const struct plan *plan, uint32_t step) {
  const struct plan_operator *op = &plan->operators[step];
  struct plan_rotation loops[PLAN_ROTATIONS_MAX];
  struct core_grid grid;
  uint64_t bytes[PLAN_ROTATED_MAX] = {0}, sum = 0, outer = 1;
  struct plan_slots slots = plan_slots_of(&plan->program, op);
  plan_partition_grid(&plan->program, op, &plan->steps[step].execute, &grid);
  for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
    if (slots.tensor[s] < op->tensor_count) {
      bytes[s] = 2 * core_grid_piece_elements(&grid, slots.tensor[s]);
    }
  }
  uint32_t count = plan_rotations_of(&plan->steps[step].execute, op->axis_count, bytes, loops);
  for (uint32_t l = 0; l < count; l++) {
    sum += outer * (loops[l].axis_factor - 1) * loops[l].bytes;
    outer *= loops[l].axis_factor;
  }
  return sum;
}

static void test_totals(void **state) {
  (void)state;
  struct plan_random random = plan_random_of(21);
  static struct plan plan;
  for (uint32_t i = 0; i < PLANS; i++) {
    struct plan_program made;
    struct core_program program;
    struct core_totals totals;
    make(&random, &plan, &made, 1 << 22, &program);
    core_program_sum(&program, &totals);
    uint64_t cold = 0, shifted = 0;
    for (uint32_t s = 0; s < plan.file.step_count; s++) {
      cold += plan.steps[s].load.cold_bytes;
      shifted += shifted_bytes(&plan, s);
    }
    assert_int_equal(totals.memory_bytes, plan.program.memory_bytes);
    assert_true(
        !plan.file.chip.has_memory
        || (totals.preload_bytes <= cold && cold < totals.preload_bytes + PLAN_WORD_BYTES * program.buffers.count));
    assert_int_equal(totals.rotate_bytes, shifted);
    assert_true(totals.peak_bytes <= plan.file.totals.peak_bytes);
    core_program_release(&program);
    plan_program_release(&made);
  }
}

/* All cores of all iterations compute each point of each operator once, as far as sums can tell; what arrives in a rotation is
 * what the partner had. */
static void check_cores(const struct core_program *program) {
  uint64_t computed[STEPS_MAX] = {0};
  for (uint32_t k = 0; k < program->instructions.count; k++) {
    const struct core_instruction *i = &program->instructions.data[k];
    const struct core_grid *grid = &program->operators.data[i->op].grid;
    uint64_t shared = 0;
    for (uint64_t c = 0; c < program->cores; c++) {
      struct core_action action;
      core_program_core(program, c, k, &action);
      shared += action.has_share ? action.last - action.first : 0;
      if (i->kind == CORE_COMPUTE && action.is_active) {
        uint64_t volume = 1;
        for (uint32_t a = 0; a < grid->axis_count; a++) {
          volume *= action.high[a] - action.low[a];
        }
        computed[i->op] += volume;
      }
      if (i->kind == CORE_ROTATE && action.is_active) {
        uint32_t tensor = program->buffers.data[i->buffer - 1].tensor, counts[CORE_LOOPS_MAX];
        uint32_t partner[CORE_AXES_MAX];
        uint64_t low, high;
        assert_true(action.has_partner && action.partner < core_grid_cores(grid) && action.partner != c);
        core_grid_coordinates(grid, action.partner, partner);
        core_operator_counts(program, i->op, i->repeat, counts);
        for (uint32_t a = 0; a < grid->axis_count; a++) {
          if ((grid->tensors[tensor].axes >> a & 1) != 0) {
            core_rings_range(grid, &program->rings.data[program->operators.data[i->op].rings], partner, counts, tensor,
                             a, &low, &high);
            assert_int_equal(low, action.low[a]);
            assert_int_equal(high, action.high[a]);
          }
        }
      }
    }
    if (i->kind == CORE_STORE || i->kind == CORE_REDUCE) { /* shares are the whole output */
      uint64_t elements = 1;
      for (uint32_t a = 0; a < grid->axis_count; a++) {
        elements *= (grid->tensors[grid->tensor_count - 1].axes >> a & 1) != 0 ? grid->extents[a] : 1;
      }
      assert_int_equal(shared, elements);
    }
  }
  for (uint32_t op = 0; op < program->operators.count; op++) {
    const struct core_grid *grid = &program->operators.data[op].grid;
    uint64_t points = 1;
    for (uint32_t a = 0; a < grid->axis_count; a++) {
      points *= grid->extents[a];
    }
    assert_int_equal(computed[op], points);
  }
}

static void test_cores(void **state) {
  (void)state;
  struct plan_random random = plan_random_of(5);
  static struct plan plan;
  for (uint32_t i = 0; i < PLANS / 10; i++) {
    struct plan_program made;
    struct core_program program;
    make(&random, &plan, &made, 1 << 22, &program);
    check_cores(&program);
    core_program_release(&program);
    plan_program_release(&made);
  }
}

static enum status status_of(const struct plan *plan, bool as_program) {
  struct core_program program;
  struct diag_list diags;
  diag_init(&diags);
  enum status status = STATUS_OK;
  if (as_program) {
    status = plan_core_program(&plan->file, &diags, &program);
    status = status == STATUS_OK ? core_program_verify(&program, &diags) : status;
    core_program_release(&program);
    assert_true(status == STATUS_OK || diags.entries.data[0].id == DIAG_E0809_CORE_PROGRAM);
    assert_true(status == STATUS_OK || strstr(diags.entries.data[0].message, "bytes of SRAM per core") != NULL);
  } else {
    status = plan_check(&plan->file, NULL, &diags);
  }
  diag_release(&diags);
  return status;
}

/* What the checker accepts fits, also to the byte; less than lies there while an operator computes never does. */
static void test_placement(void **state) {
  (void)state;
  struct plan_random random = plan_random_of(9);
  static struct plan plan;
  for (uint32_t i = 0; i < 10 * PLANS; i++) {
    struct plan_program made;
    struct core_program program;
    struct core_totals totals;
    make(&random, &plan, &made, 1 << 22, &program);
    core_program_sum(&program, &totals);
    plan.file.chip.sram_bytes = plan.file.totals.peak_bytes;
    assert_int_equal(status_of(&plan, false), STATUS_OK);
    assert_int_equal(status_of(&plan, true), STATUS_OK);
    plan.file.chip.sram_bytes = plan.file.totals.peak_bytes - 1;
    assert_int_equal(status_of(&plan, false), STATUS_INPUT);
    plan.file.chip.sram_bytes = totals.peak_bytes - 1;
    assert_int_equal(status_of(&plan, true), STATUS_INPUT);
    core_program_release(&program);
    plan_program_release(&made);
  }
}

/* ---- refusals ---- */

static struct core_instruction *first_of(struct core_program *program, enum core_instruction_kind kind) {
  for (size_t k = 0; k < program->instructions.count; k++) {
    if (program->instructions.data[k].kind == kind) {
      return &program->instructions.data[k];
    }
  }
  return NULL;
}

static void become_barrier(struct core_instruction *i) {
  if (i != NULL) {
    *i = (struct core_instruction){.kind = CORE_BARRIER};
  }
}

/* Damages a program; false where it has nothing to damage. */
static bool damage(struct core_program *program, uint32_t kind) {
  struct core_instruction *i = NULL;
  switch (kind) {
  case 0: /* not waited for */
    become_barrier(i = first_of(program, CORE_WAIT));
    return i != NULL;
  case 1: /* an iteration without its rotation */
    become_barrier(i = first_of(program, CORE_ROTATE));
    return i != NULL;
  case 2: /* an iteration left out */
    become_barrier(first_of(program, CORE_COMPUTE));
    return true;
  case 3: /* never freed */
    become_barrier(first_of(program, CORE_FREE));
    return true;
  case 4: /* freed before use */
    first_of(program, CORE_COMPUTE)->kind = CORE_FREE;
    return true;
  case 5: /* beyond the SRAM */
    program->segments.data[0].offset_bytes = program->sram_bytes - program->segments.data[0].size_bytes + 1;
    return true;
  case 6: /* two buffers of one operator at one place */
    i = first_of(program, CORE_COMPUTE);
    program->buffers.data[i->buffer - 1].segment_first = program->buffers.data[i->buffer - 2].segment_first;
    return true;
  case 7:
    first_of(program, CORE_DISTRIBUTE)->source = 0;
    return true;
  case 8:
    first_of(program, CORE_WAIT)->target = (uint32_t)program->instructions.count;
    return true;
  case 9:
    program->instructions.data[0].kind = CORE_INSTRUCTION_KIND_COUNT;
    return true;
  case 10: /* fewer cores than the grid has */
    program->cores = (uint32_t)core_grid_cores(&program->operators.data[0].grid) - 1;
    return true;
  case 11: /* the pieces of another grid */
    program->rings.data[0].digit_count++;
    return true;
  case 12: /* an input that nobody brings */
    become_barrier(first_of(program, CORE_GATHER));
    return true;
  default: /* the same buffer again */
    i = first_of(program, CORE_ALLOCATE);
    program->instructions.data[program->instructions.count - 1] = *i;
    return true;
  }
}

static void test_refusals(void **state) {
  (void)state;
  enum { KINDS = 14 };
  struct plan_random random = plan_random_of(2);
  static struct plan plan;
  uint32_t refused[KINDS] = {0};
  for (uint32_t i = 0; i < 10 * KINDS; i++) {
    struct plan_program made;
    struct core_program program;
    struct diag_list diags;
    make(&random, &plan, &made, 1 << 22, &program);
    diag_init(&diags);
    if (first_of(&program, CORE_GATHER) != NULL && damage(&program, i % KINDS)) {
      if (core_program_verify(&program, &diags) != STATUS_INPUT) {
        print_error("damage %u is not seen\n", i % KINDS);
        fail();
      }
      assert_true(diags.error_count > 0 && diags.entries.data[0].id == DIAG_E0809_CORE_PROGRAM);
      refused[i % KINDS]++;
    }
    core_program_release(&program);
    plan_program_release(&made);
    diag_release(&diags);
  }
  for (uint32_t k = 0; k < KINDS; k++) {
    assert_true(refused[k] > 0);
  }
}

static void test_text(void **state) {
  (void)state;
  struct plan_random random = plan_random_of(4);
  static struct plan plan;
  struct plan_program made;
  struct core_program program;
  struct strbuf text = {0};
  make(&random, &plan, &made, 1 << 22, &program);
  core_program_print(&program, &text);
  size_t lines = 0;
  for (size_t i = 0; i < text.length; i++) {
    lines += text.data[i] == '\n';
  }
  assert_int_equal(lines, 1 + program.operators.count + program.buffers.count + program.instructions.count);
  strbuf_release(&text);
  core_program_release(&program);
  plan_program_release(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_totals),   cmocka_unit_test(test_cores), cmocka_unit_test(test_placement),
      cmocka_unit_test(test_refusals), cmocka_unit_test(test_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
