/* What follows from operators, tensors and stages: sorts, repeated layers, sums, the bytes that live values take.
 * Path: plan_read*.c, or tests by hand → here → plan_sets (one plan set per sort), policies (one decision per layer). */
#include <string.h>

#include "base/checked.h"
#include "base/intern.h"
#include "base/map.h"
#include "plan/plan_program.h"

static uint64_t points_of(const struct plan_operator *op, plan_axis_mask mask) {
  uint64_t points = 1;
  for (uint32_t a = 0; a < op->axis_count && a < PLAN_AXES_MAX; a++) {
    points = (mask >> a & 1) != 0 ? sat_mul_u64(points, op->extents[a]) : points;
  }
  return points;
}

/* ---- sorts ---- */

static bool is_same_tensor(const struct plan_tensor *a, const struct plan_tensor *b) {
  return a->axes == b->axes && a->element_bits == b->element_bits && a->source == b->source
         && a->is_output == b->is_output && a->is_view == b->is_view && a->memory_bytes == b->memory_bytes;
}

static bool is_same_stage(const struct plan_stage *a, const struct plan_stage *b) {
  return a->kind == b->kind && a->axes == b->axes && a->reduced == b->reduced && a->left == b->left
         && a->right == b->right && a->result_bits == b->result_bits && a->operations == b->operations;
}

static bool is_alike(const struct plan_program *program, const struct plan_operator *a, const struct plan_operator *b) {
  bool same = a->axis_count == b->axis_count && a->tensor_count == b->tensor_count && a->stage_count == b->stage_count;
  for (uint32_t i = 0; i < a->axis_count && same; i++) {
    same = a->extents[i] == b->extents[i];
  }
  for (uint32_t i = 0; i < a->tensor_count && same; i++) {
    same = is_same_tensor(&program->tensors.data[a->tensor_first + i], &program->tensors.data[b->tensor_first + i]);
  }
  for (uint32_t i = 0; i < a->stage_count && same; i++) {
    same = is_same_stage(&program->stages.data[a->stage_first + i], &program->stages.data[b->stage_first + i]);
  }
  return same;
}

static uint64_t operator_hash(const struct plan_program *program, const struct plan_operator *op) {
  uint64_t h = hash_mix(op->axis_count, (uint64_t)op->tensor_count << 8 | op->stage_count);
  for (uint32_t i = 0; i < op->axis_count; i++) {
    h = hash_mix(h, op->extents[i]);
  }
  for (uint32_t i = 0; i < op->tensor_count; i++) {
    const struct plan_tensor *t = &program->tensors.data[op->tensor_first + i];
    h = hash_mix(h, (uint64_t)t->axes << 32 | (uint64_t)t->element_bits << 8 | (uint64_t)t->source << 1 | t->is_view);
    h = hash_mix(h, t->memory_bytes);
  }
  for (uint32_t i = 0; i < op->stage_count; i++) {
    const struct plan_stage *s = &program->stages.data[op->stage_first + i];
    h = hash_mix(h, (uint64_t)s->axes << 48 | (uint64_t)s->reduced << 32 | (uint64_t)s->left << 16 | s->right);
    h = hash_mix(h, (uint64_t)s->kind << 32 | (uint64_t)s->result_bits << 16 | s->operations);
  }
  return h;
}

/* Sorts number from 0 in the order of their first operator. */
static bool number_sorts(struct plan_program *program) {
  struct map first_of = {0}; /* hash -> operator */
  bool ok = true;
  program->sort_count = 0;
  for (uint32_t i = 0; i < program->operators.count && ok; i++) {
    struct plan_operator *op = &program->operators.data[i];
    uint64_t hash = operator_hash(program, op);
    uint32_t first;
    bool is_found = false;
    while (!is_found && map_get(&first_of, hash, &first)) {
      is_found = is_alike(program, op, &program->operators.data[first]);
      hash += !is_found; /* another sort with this hash: try the next key */
    }
    op->sort = is_found ? program->operators.data[first].sort : program->sort_count++;
    ok = is_found || map_set(&first_of, hash, i);
  }
  map_release(&first_of);
  return ok;
}

/* ---- layers ---- */

enum { PERIODS_TRIED = 32, LAYER_OPERATORS_MIN = 2 };

struct repetition {
  uint32_t first, period, count; /* operators first .. first + period * count - 1 */
};

/* The longest run in which sorts repeat with this period; two repetitions at least. */
static struct repetition longest_run(const struct plan_program *program, uint32_t period) {
  const struct plan_operator *ops = program->operators.data;
  struct repetition best = {0, period, 0};
  uint32_t n = (uint32_t)program->operators.count, run = 0;
  for (uint32_t i = 0; period + i < n; i++) {
    run = ops[i].sort == ops[i + period].sort ? run + 1 : 0;
    uint32_t count = run / period + 1;
    if (count > 1 && count > best.count) {
      best.count = count;
      best.first = i + 1 - run;
    }
  }
  return best;
}

/* Distances between operators of one sort and the next of it are the candidates; the most frequent ones are tried. A layer
 * holds products of several sizes, so its period is that of its rarest sort: each sort votes with the largest distance
 * that it repeats. */
static bool find_periods(const struct plan_program *program, uint32_t *periods, uint32_t *count) {
  uint32_t n = (uint32_t)program->operators.count;
  uint32_t *last = calloc(program->sort_count + 1, sizeof *last), *votes = calloc((size_t)n + 1, sizeof *votes);
  bool ok = last != NULL && votes != NULL;
  for (uint32_t i = 0; i < n && ok; i++) {
    uint32_t *previous = &last[program->operators.data[i].sort];
    votes[*previous != 0 ? i + 1 - *previous : 0]++;
    *previous = i + 1;
  }
  *count = 0;
  while (ok && *count < PERIODS_TRIED) {
    uint32_t best = 0;
    for (uint32_t p = 1; p < n; p++) {
      best = votes[p] > (best == 0 ? 0 : votes[best]) ? p : best;
    }
    if (best == 0) {
      break;
    }
    votes[best] = 0;
    periods[(*count)++] = best;
  }
  free(last);
  free(votes);
  return ok;
}

/* Most operators covered; among equals the shortest period. Periods of one operator are no layers unless nothing else
 * repeats. */
static bool find_layers(struct plan_program *program) {
  uint32_t periods[PERIODS_TRIED], count;
  struct repetition best = {0, 0, 0};
  if (!find_periods(program, periods, &count)) {
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    struct repetition run = longest_run(program, periods[i]);
    uint64_t covered = (uint64_t)run.count * run.period, most = (uint64_t)best.count * best.period;
    if (run.count > 1 && run.period >= LAYER_OPERATORS_MIN
        && (covered > most || (covered == most && run.period < best.period))) {
      best = run;
    }
  }
  program->layer_count = best.count > 1 ? best.count : 1;
  for (uint32_t i = 0; i < program->operators.count; i++) {
    bool is_inside = best.count > 1 && i >= best.first && i - best.first < best.period * best.count;
    program->operators.data[i].layer = is_inside ? (i - best.first) / best.period : UINT32_MAX;
  }
  return true;
}

/* ---- sums ---- */

static void sum_up(struct plan_program *program) {
  program->matrix_flop = program->vector_flop = 0;
  program->memory_bytes = 0;
  for (size_t i = 0; i < program->operators.count; i++) {
    const struct plan_operator *op = &program->operators.data[i];
    for (uint32_t s = 0; s < op->stage_count; s++) {
      const struct plan_stage *stage = &program->stages.data[op->stage_first + s];
      double points = (double)points_of(op, stage->axes), operations = stage->operations;
      if (stage->kind == PLAN_STAGE_MATRIX) {
        program->matrix_flop += 2 * points * operations;
      } else if (stage->kind == PLAN_STAGE_REDUCE) {
        points -= (double)points_of(op, (plan_axis_mask)(stage->axes & ~stage->reduced));
        program->vector_flop += points * operations;
      } else if (stage->kind != PLAN_STAGE_COPY && stage->kind != PLAN_STAGE_GATHER) {
        program->vector_flop += points * operations;
      }
    }
    for (uint32_t t = 0; t < op->tensor_count; t++) {
      uint64_t bytes = program->tensors.data[op->tensor_first + t].memory_bytes;
      program->memory_bytes = sat_add_u64(program->memory_bytes, bytes);
    }
  }
}

/* ---- liveness ---- */

/* Step of the last reader of each value on the chip; 0: none. Readers come after producers. */
static void find_last_readers(const struct plan_program *program, uint32_t *last) {
  for (uint32_t i = 0; i < program->operators.count; i++) {
    const struct plan_operator *op = &program->operators.data[i];
    for (uint32_t t = 0; t + 1u < op->tensor_count; t++) {
      const struct plan_tensor *tensor = &program->tensors.data[op->tensor_first + t];
      bool is_made = tensor->source == PLAN_SOURCE_CHIP && tensor->producer > 0 && tensor->producer <= i;
      for (uint32_t p = is_made ? plan_first_producer(tensor) : i; p < i && p < tensor->producer; p++) {
        last[p] = i;
      }
    }
  }
}

/* Of the result of an operator, per core. */
static uint64_t share_bytes(const struct plan_program *program, const struct plan_operator *op, uint32_t cores) {
  const struct plan_tensor *output = &program->tensors.data[op->tensor_first + op->tensor_count - 1u];
  uint64_t elements = ceil_div_u64(points_of(op, output->axes), cores);
  return plan_word_bytes(ceil_div_u64(sat_mul_u64(elements, output->element_bits), 8));
}

enum status plan_program_live(const struct plan_program *program, uint32_t cores, uint64_t *live) {
  size_t n = program->operators.count;
  uint32_t *last = calloc(n + 1, sizeof *last);
  uint64_t *ended = calloc(n + 1, sizeof *ended); /* by the last reader: bytes that it frees */
  enum status status = last != NULL && ended != NULL ? STATUS_OK : STATUS_MEMORY;
  if (status == STATUS_OK) {
    find_last_readers(program, last);
  }
  uint64_t there = 0; /* made before the operator, not freed before it */
  for (uint32_t i = 0; i < n && status == STATUS_OK; i++) {
    const struct plan_operator *op = &program->operators.data[i];
    uint64_t share = share_bytes(program, op, cores);
    bool is_kept = last[i] > 0 || program->tensors.data[op->tensor_first + op->tensor_count - 1u].memory_bytes > 0;
    uint64_t at_end = there - ended[i] + (is_kept ? share : 0);
    live[i] = there > at_end ? there : at_end;
    there = last[i] > 0 ? at_end : there - ended[i];
    ended[last[i]] += last[i] > 0 ? share : 0;
  }
  free(last);
  free(ended);
  return status;
}

enum status plan_program_seal(struct plan_program *program) {
  if (!number_sorts(program) || !find_layers(program)) {
    return STATUS_MEMORY;
  }
  sum_up(program);
  return STATUS_OK;
}
