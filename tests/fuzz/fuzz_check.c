/* Properties of graphs and predictions (fuzz_check.h). */
#include "fuzz_check.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"

/* Inputs of a fuzzer are small: a budget that a doubling structure reaches soon. */
enum { PARSE_BUDGET_BYTES = 64 << 20 };

bool fuzz_chips_load(struct fuzz_chips *chips) {
  struct diag_list diags;
  diag_init(&diags);
  enum status status = hw_database_load(&chips->database, RDG_SOURCE_DIR "/hardware", &diags);
  chips->gpu = hw_database_find(&chips->database, "nvidia_h100_sxm", &diags);
  chips->tpu = hw_database_find(&chips->database, "google_tpu_v5p", &diags);
  diag_release(&diags);
  return status == STATUS_OK && chips->gpu != NULL && chips->tpu != NULL;
}

void fuzz_chips_release(struct fuzz_chips *chips) {
  hw_database_release(&chips->database);
}

static void first_message(const struct diag_list *diags, struct strbuf *out) {
  if (diags->entries.count > 0) {
    diag_format(&diags->entries.data[0], out);
  }
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

/* The text without the comments that sealing adds. */
static void print_without_comments(const struct work_graph *graph, struct strbuf *out) {
  struct strbuf full = {0};
  work_graph_print(graph, &full);
  const char *text = strbuf_text(&full);
  bool in_comment = false, in_string = false;
  for (size_t i = 0; i < full.length; i++) {
    char c = text[i];
    in_string = c == '\n' ? false : (c == '"' && !in_comment) ? !in_string : in_string;
    in_comment = c == '\n' ? false : in_comment || (c == ';' && !in_string);
    if (!in_comment) {
      while (c == '\n' && out->length > 0 && out->data[out->length - 1] == ' ') {
        out->length--;
      }
      strbuf_putc(out, c);
    }
  }
  strbuf_release(&full);
}

static bool check_graph_text(const struct work_graph *graph, struct strbuf *why) {
  struct strbuf text = {0}, second = {0};
  print_without_comments(graph, &text);
  struct source source = {.name = "graph", .text = strbuf_text(&text), .length = text.length};
  struct diag_list diags;
  diag_init(&diags);
  struct work_graph *again = NULL;
  bool is_good = work_graph_parse(&source, &diags, &again) == STATUS_OK;
  if (!is_good) {
    strbuf_puts(why, "the text of a graph is refused: ");
    first_message(&diags, why);
  } else {
    print_without_comments(again, &second);
    is_good = strcmp(strbuf_text(&text), strbuf_text(&second)) == 0;
    if (!is_good) {
      strbuf_printf(why, "the text of a graph is no fixed point:\n%s\n--- then\n%s", strbuf_text(&text),
                    strbuf_text(&second));
    }
  }
  work_graph_free(again);
  diag_release(&diags);
  strbuf_release(&text);
  strbuf_release(&second);
  return is_good;
}

enum fuzz_outcome fuzz_check_graph(const struct work_graph *graph, struct strbuf *why) {
  struct diag_list diags;
  diag_init(&diags);
  bool is_good = work_graph_verify(graph, &diags) == STATUS_OK;
  if (!is_good) {
    strbuf_puts(why, "a graph does not verify: ");
    first_message(&diags, why);
  }
  diag_release(&diags);
  return is_good && check_graph_text(graph, why) && fuzz_check_plan(graph, why) ? FUZZ_ACCEPTED : FUZZ_BROKEN;
}

static void add_sums(struct fuzz_sums *sums, const struct fuzz_sums *more, uint64_t times) {
  sums->matrix_flops = sat_add_u64(sums->matrix_flops, sat_mul_u64(more->matrix_flops, times));
  sums->border_bytes = sat_add_u64(sums->border_bytes, sat_mul_u64(more->border_bytes, times));
  sums->launches = sat_add_u64(sums->launches, sat_mul_u64(more->launches, times));
}

static struct fuzz_sums sum_task(const struct work_graph *graph, const struct work_task *task) {
  struct fuzz_sums sums = {.border_bytes = sat_add_u64(task->read_bytes, task->write_bytes),
                           .launches = !work_kind_info((enum work_kind)task->kind)->is_free};
  for (uint32_t i = 0; i < task->demand_count; i++) {
    const struct work_demand_entry *entry = &graph->demands.data[task->demand_first + i];
    if (entry->engine == WORK_ENGINE_MATRIX) {
      sums.matrix_flops = sat_add_u64(sums.matrix_flops, entry->ops);
    }
  }
  return sums;
}

struct fuzz_sums fuzz_sum(const struct work_graph *graph) {
  struct fuzz_sums sums = {0};
  for (size_t i = 0; i < graph->tasks.count; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    struct fuzz_sums one = sum_task(graph, task);
    add_sums(&sums, &one, 1);
    for (uint32_t k = 0; k < task->subgraph_count; k++) {
      struct fuzz_sums inside = fuzz_sum(graph->subgraphs.data[task->subgraph_first + k]);
      add_sums(&sums, &inside, task->kind == WORK_LOOP ? task->trip_count : 1);
    }
  }
  return sums;
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

static bool check_fused(const struct work_graph *unfused, const struct work_graph *fused, const char *chip,
                        struct strbuf *why) {
  if (fuzz_check_graph(fused, why) != FUZZ_ACCEPTED) {
    strbuf_printf(why, " (fused for %s)", chip);
    return false;
  }
  struct fuzz_sums before = fuzz_sum(unfused), after = fuzz_sum(fused);
  if (after.matrix_flops != before.matrix_flops) {
    strbuf_printf(why, "fusion for %s turns %" PRIu64 " matrix FLOPs into %" PRIu64, chip, before.matrix_flops,
                  after.matrix_flops);
    return false;
  }
  if (after.launches > before.launches) {
    strbuf_printf(why, "fusion for %s turns %" PRIu64 " launches into %" PRIu64, chip, before.launches, after.launches);
    return false;
  }
  /* docs/fusion.md: less than 1 KiB of scalars may be added per fusion; a fusion saves at least one launch */
  uint64_t slack = sat_mul_u64(1024, before.launches - after.launches);
  if (after.border_bytes > sat_add_u64(before.border_bytes, slack)) {
    strbuf_printf(why, "fusion for %s turns %" PRIu64 " border bytes into %" PRIu64, chip, before.border_bytes,
                  after.border_bytes);
    return false;
  }
  return true;
}

static bool is_sound(double value) {
  return isfinite(value) && value >= 0;
}

static bool check_result(const struct program_estimate *estimate, struct strbuf *why) {
  const struct work_result *result = &estimate->result;
  const char *chip = estimate->chip->id;
  if (result->is_refused) {
    return true;
  }
  bool is_good = is_sound(result->time_s) && is_sound(result->dispatch_s) && is_sound(result->flops)
                 && is_sound(result->bytes) && is_sound(result->matrix_utilisation);
  for (int i = 0; i < WORK_BOUND_COUNT; i++) {
    is_good = is_good && is_sound(result->bound_s[i]);
  }
  for (int i = 0; i < WORK_CLASS_COUNT; i++) {
    is_good = is_good && is_sound(result->class_s[i]);
  }
  for (size_t i = 0; i < estimate->graph->tasks.count; i++) {
    is_good = is_good && is_sound(result->root.tasks[i].time_s);
  }
  if (!is_good) {
    strbuf_printf(why, "an estimate for %s is not a finite time: %g s, %g FLOPs, %g bytes, utilisation %g", chip,
                  result->time_s, result->flops, result->bytes, result->matrix_utilisation);
  } else if (result->matrix_utilisation > 1.0 + 1e-9) {
    strbuf_printf(why, "more matrix FLOPs than the peak of %s: utilisation %g", chip, result->matrix_utilisation);
    is_good = false;
  }
  return is_good;
}

static bool check_estimate(struct program *program, const struct hw_chip *chip, struct strbuf *why) {
  struct cost_options options = {.f32_as = DTYPE_NONE};
  struct program_estimate estimate;
  enum status status = program_estimate(program, chip, &cost_roofline, &options, false, &estimate);
  bool is_good = true;
  if (status != STATUS_OK) {
    strbuf_printf(why, "no estimate for %s: status %d", chip->id, (int)status);
    is_good = false;
  } else if (estimate.refusal == NULL) {
    is_good = check_fused(program->unfused, estimate.graph, chip->id, why) && check_result(&estimate, why);
  }
  program_estimate_release(&estimate);
  return is_good;
}

enum fuzz_outcome fuzz_check_program(const struct fuzz_chips *chips, const char *text, size_t length,
                                     uint64_t *matrix_flops, struct strbuf *why) {
  struct program_options options = {.memory_budget_bytes = PARSE_BUDGET_BYTES};
  struct diag_list diags;
  diag_init(&diags);
  struct program *program = NULL;
  enum status status = program_parse("input", text, length, &options, &diags, &program);
  enum fuzz_outcome outcome = status == STATUS_OK ? FUZZ_ACCEPTED : FUZZ_REFUSED;
  if (!fuzz_check_status(status, &diags, why)) {
    outcome = FUZZ_BROKEN;
  } else if (outcome == FUZZ_REFUSED) {
    first_message(&diags, why);
  } else if (fuzz_check_graph(program->unfused, why) != FUZZ_ACCEPTED || !check_estimate(program, chips->gpu, why)
             || !check_estimate(program, chips->tpu, why)) {
    outcome = FUZZ_BROKEN;
  } else {
    *matrix_flops = fuzz_sum(program->unfused).matrix_flops;
  }
  program_free(program);
  diag_release(&diags);
  return outcome;
}
