/* Lower bounds that hold for any plan on any partition: no resource of the chip is faster than its peak. Work that a plan
 * may avoid (copies, gathers, barriers, padding, exchange) is left out. */
#include <math.h>

#include "plan/plan_result.h"

static int64_t seconds_ps(double time_s) {
  double time_ps = floor(time_s * 1e12);
  return time_ps < 0x1p62 ? (int64_t)time_ps : PLAN_UNREACHABLE;
}

static int64_t largest(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Best rate relative to f16 of any type that holds an operand of `bits`. */
static double best_rate(const struct plan_chip *chip, uint32_t bits) {
  double rate = 0;
  for (int type = 0; type < DTYPE_COUNT; type++) {
    if (dtype_bits((enum dtype)type) >= bits) {
      rate = fmax(rate, chip->matrix_rate_factor[type]);
    }
  }
  return rate > 0 ? rate : 1;
}

static double points_of(const struct plan_operator *op, plan_axis_mask axes) {
  double points = 1;
  for (uint32_t a = 0; a < op->axis_count; a++) {
    points *= (axes >> a & 1) != 0 ? (double)op->extents[a] : 1.0;
  }
  return points;
}

/* Operands of a product may have been computed by earlier stages; the narrowest that the operator names bounds the rate. */
static uint32_t narrowest_bits(const struct plan_program *program, const struct plan_operator *op) {
  uint32_t bits = 64;
  for (uint32_t t = 0; t + 1 < op->tensor_count; t++) {
    uint32_t tensor_bits = program->tensors.data[op->tensor_first + t].element_bits;
    bits = tensor_bits < bits ? tensor_bits : bits;
  }
  return bits;
}

struct work_cycles {
  double matrix, vector; /* of one core, if it did everything */
};

static double vector_cycles(const struct plan_chip *chip, enum plan_stage_kind kind) {
  double cycles = chip->stages[kind].per_element;
  if (kind == PLAN_STAGE_ELEMENTWISE && chip->elementwise_long_cycles > 0) {
    cycles = fmin(cycles, chip->elementwise_long_cycles);
  }
  return cycles;
}

static void add_cycles(const struct plan_program *program, const struct plan_chip *chip, const struct plan_operator *op,
                       struct work_cycles *cycles) {
  double block = chip->matrix_rows * chip->matrix_depth * chip->matrix_columns;
  for (uint32_t s = 0; s < op->stage_count; s++) {
    const struct plan_stage *stage = &program->stages.data[op->stage_first + s];
    double points = points_of(op, stage->axes);
    if (stage->kind == PLAN_STAGE_MATRIX) {
      cycles->matrix += points / block * chip->matrix_block_cycles / best_rate(chip, narrowest_bits(program, op));
    } else if (stage->kind != PLAN_STAGE_COPY && stage->kind != PLAN_STAGE_GATHER) {
      cycles->vector += points * stage->operations * vector_cycles(chip, (enum plan_stage_kind)stage->kind);
    }
  }
}

static uint64_t bytes_read(const struct plan_program *program, const struct plan_operator *op) {
  uint64_t bytes = 0;
  for (uint32_t t = 0; t < op->tensor_count; t++) {
    const struct plan_tensor *tensor = &program->tensors.data[op->tensor_first + t];
    bytes += tensor->is_output ? 0 : tensor->memory_bytes;
  }
  return bytes;
}

void plan_resource_bound_of(const struct plan_program *program, const struct plan_chip *chip,
                            struct plan_resource_bound *bound) {
  *bound = (struct plan_resource_bound){0};
  double rate_Hz = chip->clock_Hz * chip->cores;
  struct work_cycles total = {0}, tail = {0}; /* tail: from the last operator that loads on */
  uint64_t read_bytes = 0;
  for (size_t i = 0; i < program->operators.count; i++) {
    const struct plan_operator *op = &program->operators.data[i];
    uint64_t bytes = bytes_read(program, op);
    read_bytes += bytes;
    tail = bytes > 0 ? (struct work_cycles){0} : tail;
    add_cycles(program, chip, op, &total);
    add_cycles(program, chip, op, &tail);
  }
  bound->matrix_ps = seconds_ps(total.matrix / rate_Hz);
  bound->vector_ps = seconds_ps(total.vector / rate_Hz);
  bound->link_ps = seconds_ps((double)read_bytes / (chip->link_Bps * chip->cores));
  double tail_s = fmax(tail.matrix, tail.vector) / rate_Hz;
  if (chip->has_memory) {
    bound->memory_ps = seconds_ps((double)program->memory_bytes / chip->memory_Bps);
    bound->first_load_ps = seconds_ps((double)read_bytes / chip->memory_Bps + tail_s);
  }
  bound->bound_ps = largest(largest(largest(bound->memory_ps, bound->link_ps), bound->first_load_ps),
                            largest(bound->matrix_ps, bound->vector_ps));
}
