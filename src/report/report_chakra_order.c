/* In which order a stage does its forward and backward passes: read off the spans of the simulated step, so that traces and
 * prediction cannot differ. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "report/report_chakra_int.h"

static int by_stage_and_start(const void *left, const void *right) {
  const struct step_span *a = *(const struct step_span *const *)left, *b = *(const struct step_span *const *)right;
  if (a->stage != b->stage) {
    return a->stage < b->stage ? -1 : 1;
  }
  if (a->start_ps != b->start_ps) {
    return a->start_ps < b->start_ps ? -1 : 1;
  }
  return a < b ? -1 : 1; /* as they were recorded */
}

/* Spans of tasks, sorted; `count` of them. NULL when memory is exhausted. */
static const struct step_span **sorted_spans(const struct step_result *result, size_t *count) {
  const struct step_span **spans = malloc((result->spans.count + 1) * sizeof *spans);
  *count = 0;
  for (size_t i = 0; spans && i < result->spans.count; i++) {
    if (result->spans.data[i].task != UINT32_MAX) {
      spans[(*count)++] = &result->spans.data[i];
    }
  }
  if (spans) {
    qsort(spans, *count, sizeof *spans, by_stage_and_start);
  }
  return spans;
}

static size_t slot_of(const struct step_program *program, const struct step_span *span) {
  return ((size_t)span->chunk * STEP_ROLE_COUNT + span->role) * program->microbatches + span->microbatch;
}

static bool is_in_range(const struct step_program *program, const struct step_span *span) {
  return span->stage < program->stages && span->chunk < program->chunks && span->microbatch < program->microbatches
         && span->role < STEP_ROLE_COUNT && span->place < STEP_PLACE_COUNT;
}

/* Each pass once, where its first span is. */
static bool collect(struct chakra_order *order, const struct step_program *program, const struct step_span **spans,
                    size_t count, uint8_t *is_seen, size_t slots) {
  size_t at = 0;
  bool ok = true;
  for (uint32_t stage = 0; ok && stage < program->stages; stage++) {
    ok = vec_push(&order->first, order->passes.count);
    memset(is_seen, 0, slots);
    for (; ok && at < count && spans[at]->stage <= stage; at++) {
      const struct step_span *span = spans[at];
      if (is_in_range(program, span) && !is_seen[slot_of(program, span)]) {
        is_seen[slot_of(program, span)] = 1;
        ok = vec_push(&order->passes, ((struct chakra_pass){span->place, span->role, span->chunk, span->microbatch}));
      }
    }
  }
  return ok && vec_push(&order->first, order->passes.count);
}

static enum status order_of_spans(struct chakra_order *order, const struct step_program *program,
                                  const struct step_result *result) {
  size_t slots = (size_t)sat_mul_u64((uint64_t)program->chunks * STEP_ROLE_COUNT, program->microbatches), count;
  uint8_t *is_seen = calloc(slots ? slots : 1, 1);
  const struct step_span **spans = sorted_spans(result, &count);
  bool ok = is_seen && spans && collect(order, program, spans, count, is_seen, slots);
  free(spans);
  free(is_seen);
  if (!ok) {
    return STATUS_MEMORY;
  }
  for (uint32_t stage = 0; stage < program->stages; stage++) {
    if (order->first.data[stage] == order->first.data[stage + 1]) {
      return STATUS_INPUT;
    }
  }
  return STATUS_OK;
}

static bool is_one_pass(const struct step_program *program) {
  return program->stages <= 1 && program->chunks <= 1 && program->parts[STEP_ONLY][STEP_WHOLE].graph != NULL;
}

enum status chakra_order_of(struct chakra_order *order, const struct step_program *program,
                            const struct step_result *result) {
  if (!is_one_pass(program)) {
    return result ? order_of_spans(order, program, result) : STATUS_INPUT;
  }
  struct chakra_pass whole = {.place = STEP_ONLY, .role = STEP_WHOLE};
  bool ok = vec_push(&order->passes, whole) && vec_push(&order->first, 0) && vec_push(&order->first, 1);
  return ok ? STATUS_OK : STATUS_MEMORY;
}

void chakra_order_release(struct chakra_order *order) {
  vec_release(&order->passes);
  vec_release(&order->first);
}
