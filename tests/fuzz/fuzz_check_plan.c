/* What holds of every graph that the planner reads: it is refused with a message, or all ways of reading it (views, fusion,
 * splits) give sound programs of the same operations. */
#include "fuzz_check.h"
#include "plan/plan_program.h"

enum { MAX_OPERATORS = 4000, WAYS = 4 };

struct reading {
  double matrix_flop, vector_flop;
  uint64_t merged; /* operators of the unfused graph */
  bool has_joined_product; /* a factor of an operand may have become one of the result */
};

static bool check_refusal(enum status status, const struct diag_list *diags, struct strbuf *why) {
  enum diag_id wanted = status == STATUS_LIMIT ? DIAG_E0808_PLAN_LIMIT : DIAG_E0801_NOT_PLANNED;
  if (status == STATUS_MEMORY) {
    return true;
  }
  for (size_t i = 0; i < diags->entries.count; i++) {
    if (diags->entries.data[i].id == wanted) {
      return true;
    }
  }
  strbuf_printf(why, "the planner refuses without a reason (status %d)", status);
  return false;
}

static bool check_reading(const struct plan_program *program, struct diag_list *diags, struct reading *reading,
                          struct strbuf *why) {
  if (plan_program_check(program, diags) != STATUS_OK) {
    strbuf_printf(why, "unsound plan program: %s",
                  diags->entries.count > 0 ? diags->entries.data[diags->entries.count - 1].message : "?");
    return false;
  }
  *reading = (struct reading){program->matrix_flop, program->vector_flop, 0, false};
  for (size_t i = 0; i < program->operators.count; i++) {
    const struct plan_operator *op = &program->operators.data[i];
    reading->merged += op->merged;
    for (uint32_t s = 0; s < op->stage_count && op->stage_count > 1; s++) {
      reading->has_joined_product |= program->stages.data[op->stage_first + s].kind == PLAN_STAGE_MATRIX;
    }
  }
  return true;
}

static bool is_close(double a, double b, double relative) {
  double difference = a - b, limit = relative * (1 + b);
  return difference <= limit && difference >= -limit;
}

/* Splits what loads more than half of what operators load on average; the program's work stays. */
static bool check_split(struct plan_program *program, struct diag_list *diags, struct strbuf *why) {
  struct reading before, after;
  uint64_t memory_bytes = program->memory_bytes;
  if (!check_reading(program, diags, &before, why)) {
    return false;
  }
  if (plan_program_split(program, memory_bytes / (2 * program->operators.count + 1), 2 * MAX_OPERATORS) != STATUS_OK
      || plan_program_seal(program) != STATUS_OK) {
    return true; /* no memory */
  }
  if (!check_reading(program, diags, &after, why)) {
    return false;
  }
  if (program->memory_bytes != memory_bytes || !is_close(after.matrix_flop, before.matrix_flop, 1e-9)
      || !is_close(after.vector_flop, before.vector_flop, 1e-9)) {
    strbuf_puts(why, "splitting changes the work of a program");
    return false;
  }
  return true;
}

bool fuzz_check_plan(const struct work_graph *graph, struct strbuf *why) {
  struct reading readings[WAYS];
  bool is_good = true, is_read = true;
  for (int way = 0; way < WAYS && is_good && is_read; way++) {
    struct plan_read_options options = {
        .views = (way & 1) != 0, .fuse = (way & 2) != 0, .max_operators = MAX_OPERATORS};
    struct plan_program program;
    struct diag_list diags;
    diag_init(&diags);
    enum status status = plan_program_read(graph, &options, &diags, &program);
    is_read = status == STATUS_OK;
    is_good = is_read ? check_reading(&program, &diags, &readings[way], why) : check_refusal(status, &diags, why);
    if (!is_read && way > 1 && status == STATUS_INPUT) {
      strbuf_puts(why, "fusion refuses what can be read without it");
      is_good = false;
    }
    is_good = is_good && (!is_read || check_split(&program, &diags, why));
    plan_program_release(&program);
    diag_release(&diags);
  }
  for (int way = 1; way < WAYS && is_good && is_read; way++) {
    const struct reading *a = &readings[way], *b = &readings[way & 1];
    bool is_same = is_close(a->vector_flop, b->vector_flop, 1e-9) || a->has_joined_product;
    if (a->matrix_flop != readings[0].matrix_flop || a->merged != b->merged || !is_same) {
      strbuf_puts(why, "reading with views or fusion changes the work of a program");
      is_good = false;
    }
  }
  return is_good;
}
