/* What the files of the roofline model share. One prediction first turns the chip into reciprocal rates (roofline_chip),
 * then walks the tasks of the graph without allocating: matrix unit (roofline_contract.c), memory (roofline_memory.c), the
 * other engines and the sum (roofline.c). docs/roofline.md states every formula with its source. */
#ifndef RIDGELINE_COST_ROOFLINE_H
#define RIDGELINE_COST_ROOFLINE_H

#include "cost/cost.h"
#include "kernel/kernel_convolution.h"
#include "kernel/kernel_fit.h"

enum { ROOFLINE_TILE_COUNT = 7, ROOFLINE_PARTS_COUNT = 48, ROOFLINE_ATTENTION_FORMATS = 2 };

/* One GEMM kernel that a GPU library could launch. */
struct roofline_tile {
  double m, n; /* output tile */
  double feed; /* operand elements it asks for per product, against the chip's own tile: ≥ 1 */
};

/* A chip as reciprocal rates: seconds per unit of work of the whole chip, efficiency included. */
struct roofline_chip {
  const struct hw_chip *hw;
  /* matrix products by type of the operands; rate 0 = refused */
  double matrix_flops[DTYPE_COUNT]; /* FLOP/s at matrix_efficiency and sustained clock */
  uint8_t matrix_as[DTYPE_COUNT]; /* type computed in */
  bool matrix_on_vector[DTYPE_COUNT]; /* no matrix unit takes the type: the vector engine does */
  double f32_flops[WORK_PRECISION_HIGHEST + 1]; /* F32 by precision, passes included */
  double f32_passes[WORK_PRECISION_HIGHEST + 1];
  uint8_t f32_as[WORK_PRECISION_HIGHEST + 1];
  double vector_s[DTYPE_COUNT]; /* per FLOP; 0 = refused */
  uint8_t vector_as[DTYPE_COUNT];
  bool is_vector_noted[DTYPE_COUNT]; /* runs in another type, or far slower than f32 */
  double integer_s[DTYPE_COUNT]; /* per operation */
  double function_s[WORK_FUNCTION_NONE + 1];
  double function_f64_s[WORK_FUNCTION_NONE + 1];
  double element_bytes[DTYPE_COUNT];
  double memory_s; /* per byte off chip */
  double memory_latency_s; /* of the first byte: memory_ramp_bytes at the published rate */
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
  double tile_area; /* outputs of the chip's own tile */
  double feed_s; /* of one operand byte of that tile, per product of its outputs: see tiles_init */
  double parts[ROOFLINE_PARTS_COUNT]; /* into how many the streamed rows may be split; systolic rule */
  unsigned parts_count;
  bool is_vector_known;
  struct kernel_constants gemm[KERNEL_FORMAT_COUNT]; /* `fit` NULL where nothing was fitted */
  struct kernel_constants pass[2]; /* element-wise kernels of 32 and of 16 bits */
  struct kernel_constants prefill[ROOFLINE_ATTENTION_FORMATS], decode[ROOFLINE_ATTENTION_FORMATS]; /* bf16, f16 */
  bool has_fits;
  struct kernel_interval unfitted; /* of tasks that data-sheet rules time */
};

void roofline_fits_init(struct roofline_chip *rc);
void roofline_attention_init(struct roofline_chip *rc);
void roofline_chip_init(struct roofline_chip *rc, const struct hw_chip *chip, const struct cost_options *options);

/* A matrix product to run. */
struct roofline_product {
  struct work_gemm gemm;
  double flop_count; /* operations that count: all of `passes`, padding and dilation left out */
  double
      passes; /* real products of that shape: 4 for complex numbers, several for algorithms that split the operands */
  double rate; /* FLOP/s of the type at matrix_efficiency */
  double element_bytes; /* of one operand element */
  double vector_s; /* per FLOP on the vector engine; 0 = not offered there */
  bool is_alone; /* the only product of its task: its kernel may be split in two launches */
};

/* What else the task of a product does, so that the kernel is chosen by the time of the whole task. */
struct roofline_load {
  double vector_s, other_s; /* vector engine; the slower of the others */
  double memory_s, cache_s;
  bool is_off_chip; /* some operand comes from memory */
};

/* How a matrix product is run, and why. */
struct roofline_gemm {
  double time_s; /* matrix unit alone */
  double vector_s; /* on the vector engine instead */
  double memory_floor_s; /* all cores together cannot ask for bytes faster */
  double reread_bytes; /* off-chip traffic beyond reading each operand once */
  double cache_bytes; /* partial sums of split-K */
  double extra_launches;
  double efficiency; /* of the peak of the type computed in */
  double passes;
  double tile_m, tile_n, split, waves; /* tiled rule */
  double folds, cycles; /* systolic rule: per unit */
  bool is_weight_stationary;
};

/* The best of the kernels the chip offers: the one with which the task is done first. */
void roofline_gemm_choose(const struct roofline_chip *rc, const struct roofline_product *product,
                          const struct roofline_load *load, struct roofline_gemm *out);
/* One kernel of the tiled rule: fills time_s, tile, split, waves, cache_bytes, extra_launches. */
void roofline_gemm_tiled(const struct roofline_chip *rc, const struct roofline_product *product,
                         const struct roofline_tile *tile, double split, struct roofline_gemm *out);
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
  uint8_t matrix_precision; /* enum work_precision, of f32 products */
  uint8_t refused; /* dtype that the chip does not take; NONE else */
  struct kernel_interval interval; /* factors of the time */
  bool is_timed_by_model; /* of kernel/, with fitted constants; else by data-sheet rules */
  const struct kernel_constants *pass; /* of an element-wise or attention kernel, in the roofline_chip; else NULL */
  bool is_fitted, is_inherited; /* timed with constants measured on the chip, on another one of its family */
  uint64_t vector_dtypes; /* bit per dtype whose arithmetic runs in another type, or far slower than f32 */
};
/* Not for loops and conditionals: those take the time of their subgraphs. */
void roofline_task_estimate(const struct roofline_chip *rc, const struct work_graph *graph,
                            const struct work_task *task, struct roofline_task *out);
/* What a contraction stage is to a chip. */
struct roofline_stage_work {
  enum dtype wanted, runs_as; /* `wanted` NONE: the stage is no contraction */
  uint8_t precision; /* enum work_precision */
  double flop_count;
  double products; /* real products: 4 for complex numbers */
  double passes; /* how often the unit runs: products times the passes of the type */
  double rate; /* FLOP/s, passes of the type included; 0 = refused */
};
/* False when the stage is no contraction or the type is refused. */
bool roofline_stage_product(const struct roofline_chip *rc, const struct work_graph *graph,
                            const struct work_stage *stage, struct roofline_stage_work *out);

/* A task timed by a kernel model whose constants were fitted. */
struct roofline_fitted {
  const struct kernel_constants *constants;
  struct kernel_shape shape;
  struct roofline_stage_work product;
  bool is_convolution;
  bool is_implicit; /* a convolution on matrix units of a GPU: `convolution` says which, `shape` is its product */
  struct kernel_convolution convolution;
  const struct kernel_constants *alternate; /* of convolutions: the same units, measured in the other 16-bit type */
};
/* False when the task is not one matrix product of a type that was measured on the chip or its family. */
bool roofline_fitted_shape(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_task *task,
                           const struct roofline_traffic *traffic, struct roofline_fitted *out);
/* Sets the product, and the convolution that it is, of a stage whose constants are chosen. False where convolutions run as
 * plain products. */
bool roofline_convolution_shape(const struct roofline_chip *rc, const struct work_graph *graph,
                                const struct work_stage *stage, struct roofline_fitted *fitted);
void roofline_convolution_kernel(const struct roofline_chip *rc, const struct roofline_fitted *fitted,
                                 struct kernel_time *out);
/* The kernel of such a task alone. */
void roofline_fitted_kernel(const struct roofline_chip *rc, const struct roofline_fitted *fitted,
                            struct kernel_time *out);
/* Times such a task: resources, time, interval. The engines of `out` are filled already. */
bool roofline_fitted_task(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_task *task,
                          const struct roofline_traffic *traffic, struct roofline_task *out);

/* The same for element-wise kernels. False when the task is none or such kernels were not measured. */
bool roofline_fitted_pass(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_task *task,
                          const struct roofline_traffic *traffic, struct roofline_task *out);

/* Attention without a measured kernel on a systolic array: heads are the depth or the width of all its products, forward and
 * backward, and one narrower than the array leaves the rest of it idle. */
void roofline_narrow_heads(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_task *task,
                           struct roofline_task *out);
/* The same for attention, forward and backward. False when the task is none or no such kernel was measured. */
bool roofline_fitted_attention(const struct roofline_chip *rc, const struct work_graph *graph,
                               const struct work_task *task, const struct roofline_traffic *traffic,
                               struct roofline_task *out);

/* What one contraction stage asks of the matrix unit. */
struct roofline_contraction {
  enum dtype wanted, runs_as; /* `wanted` NONE: the stage is no contraction */
  double flop_count;
  struct roofline_gemm gemm;
};
/* The chosen kernel of one contraction stage; false when the stage is none or the type is refused. `is_alone`: no other
 * stage of the task is a contraction. */
bool roofline_stage_gemm(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_stage *stage,
                         const struct roofline_load *load, bool is_alone, struct roofline_contraction *out);
/* All but the products of a task: engines, and traffic, as the load that its products meet. */
void roofline_task_load(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_task *task,
                        struct roofline_task *out, struct roofline_load *load, struct roofline_traffic *traffic);
/* Stages with operations of the matrix unit. */
unsigned roofline_count_products(const struct work_graph *graph, const struct work_task *task);
void roofline_explain(const struct work_graph *graph, uint32_t task, const struct hw_chip *chip,
                      const struct cost_options *options, struct strbuf *out);

#endif
