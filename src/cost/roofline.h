/* What the files of the roofline model share. One prediction first turns the chip into reciprocal rates (roofline_chip),
 * then walks the tasks of the graph without allocating: matrix unit (roofline_contract.c), memory (roofline_memory.c), the
 * other engines and the sum (roofline.c). docs/roofline.md states every formula with its source. */
#ifndef RIDGELINE_COST_ROOFLINE_H
#define RIDGELINE_COST_ROOFLINE_H

#include "cost/cost.h"

enum { ROOFLINE_TILE_COUNT = 7 };

/* One GEMM kernel that a GPU library could launch. */
struct roofline_tile {
  double m, n; /* output tile */
  double slowdown; /* time of a tile / time at the matrix rate, ≥ 1: the operands come in slower than they are used */
};

/* A chip as reciprocal rates: seconds per unit of work of the whole chip, efficiency included. */
struct roofline_chip {
  const struct hw_chip *hw;
  /* matrix products by type of the operands; rate 0 = refused */
  double matrix_flops[DTYPE_COUNT]; /* FLOP/s at matrix_efficiency and sustained clock */
  uint8_t matrix_as[DTYPE_COUNT]; /* type computed in */
  bool matrix_on_vector[DTYPE_COUNT]; /* no matrix unit takes the type: the vector engine does */
  double f32_flops[WORK_PRECISION_HIGHEST + 1]; /* F32 by precision, passes included */
  uint8_t f32_as[WORK_PRECISION_HIGHEST + 1];
  double vector_s[DTYPE_COUNT]; /* per FLOP; 0 = refused */
  uint8_t vector_as[DTYPE_COUNT];
  double integer_s[DTYPE_COUNT]; /* per operation */
  double function_s[WORK_FUNCTION_NONE + 1];
  double function_f64_factor;
  double element_bytes[DTYPE_COUNT];
  double memory_s; /* per byte off chip */
  double memory_latency_s; /* of the first byte: memory_ramp_bytes at the full rate */
  double cache_s; /* per byte of the shared on-chip level; 0 = not modelled */
  double resident_bytes; /* what of that level a working set may fill */
  double launch_s;
  double fill_s; /* start and end of a matrix kernel's pipeline */
  double core_Bps; /* off-chip bytes that one core can have in flight */
  double cores;
  double granule_bytes; /* smallest off-chip access */
  bool is_tiled; /* GPU rule for matrix products; else systolic */
  double matrix_units, array_rows, array_columns;
  struct roofline_tile tiles[ROOFLINE_TILE_COUNT];
  unsigned tile_count;
  bool is_vector_known;
};

void roofline_chip_init(struct roofline_chip *rc, const struct hw_chip *chip, const struct cost_options *options);

/* How a matrix product is run, and why. */
struct roofline_gemm {
  double time_s; /* matrix unit alone */
  double memory_floor_s; /* cores without a tile cannot ask for bytes */
  double reread_bytes; /* off-chip traffic beyond reading each operand once */
  double cache_bytes; /* partial sums of split-K */
  double extra_launches;
  double efficiency; /* of the peak of the type computed in */
  double tile_m, tile_n, split, waves; /* tiled rule */
  double folds, cycles; /* systolic rule: per unit */
  bool is_weight_stationary;
};

/* The best of the kernels the chip offers. `flop_count` are the operations that count (padding and dilation left out);
 * `rate` FLOP/s of the type at matrix_efficiency; `element_bytes` of one operand element. */
void roofline_gemm_choose(const struct roofline_chip *rc, const struct work_gemm *gemm, double flop_count, double rate,
                          double element_bytes, struct roofline_gemm *out);
/* One kernel of the tiled rule. */
void roofline_gemm_tiled(const struct roofline_chip *rc, const struct work_gemm *gemm, const struct roofline_tile *tile,
                         double split, double rate, double element_bytes, struct roofline_gemm *out);
/* Cycles of one array that runs `folds` weight tiles of an R x C array over m rows each. Without double buffering the
 * formula of SCALE-Sim: folds (2R + C + m - 2); with it, loading hides behind the previous fold. */
double roofline_systolic_cycles(double folds, double m, double rows, double columns, bool is_double_buffered);

/* Off-chip and cache traffic of a task's border. */
struct roofline_traffic {
  double off_chip_bytes;
  double cache_bytes; /* all bytes through the shared level */
  double time_s, cache_time_s;
};
void roofline_traffic_of(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_task *task,
                         struct roofline_traffic *traffic);
/* Seconds for that many bytes from off-chip memory, ramp included. */
double roofline_memory_time(const struct roofline_chip *rc, double bytes);

/* Everything about one task; `result` is as in work_result.h, zeroed by the callee. */
struct roofline_task {
  struct work_task_result result;
  double off_chip_bytes;
  double matrix_flops;
  uint8_t matrix_dtype; /* type computed in */
  uint8_t matrix_wanted; /* type of the program */
  uint8_t refused; /* dtype that the chip does not take; NONE else */
  uint8_t narrowed; /* vector dtype computed in a narrower one; NONE else */
};
/* Not for loops and conditionals: those take the time of their subgraphs. */
void roofline_task_estimate(const struct roofline_chip *rc, const struct work_graph *graph,
                            const struct work_task *task, struct roofline_task *out);
/* The chosen kernel of one contraction stage; false when the stage is none or the type is refused. */
bool roofline_stage_gemm(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_stage *stage,
                         struct roofline_gemm *out, enum dtype *wanted, enum dtype *runs_as, double *flop_count);

void roofline_explain(const struct work_graph *graph, uint32_t task, const struct hw_chip *chip,
                      const struct cost_options *options, struct strbuf *out);

#endif
