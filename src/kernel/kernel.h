/* How long one kernel takes: a shape, the facts of a chip and a handful of constants go in, a time with its parts comes out.
 *
 * The models are mechanistic (tiles and waves, split-K, occupancy, cache levels, launch), so that a constant fitted on one
 * set of shapes holds on others and, being an efficiency or a ratio, carries over to chips of the same family. The same
 * function serves all who need it: calibrate/ fits the constants on measured rows, measure/ scores them (validate), cost/
 * times the tasks of programs with them. Where nothing was fitted, `defaults` derives the constants from the chip's
 * data sheet. docs/kernels.md states every formula; constants are rows of a table per model.
 *
 * All quantities are doubles: seconds, bytes, elements. The functions are pure and do not allocate.
 */
#ifndef RIDGELINE_KERNEL_KERNEL_H
#define RIDGELINE_KERNEL_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "hw/hw.h"

enum kernel_class {
  KERNEL_GEMM,
  KERNEL_ATTENTION_PREFILL,
  KERNEL_ATTENTION_DECODE,
  KERNEL_GROUPED_GEMM, /* one MoE layer: routed expert GEMMs */
  KERNEL_ELEMENTWISE,
  KERNEL_SOFTMAX, /* rows reduced to a maximum and a sum, then rewritten */
  KERNEL_NORMALISATION, /* layer and RMS normalisation */
  KERNEL_CLASS_COUNT
};
/* "gemm", "attention_prefill", ...; used in profiles, calibration files and tables. */
const char *kernel_class_name(enum kernel_class class_of);
/* KERNEL_CLASS_COUNT for a name that is none. */
enum kernel_class kernel_class_find(const char *name);

/* What operands are stored and computed in: a row of kernel_formats.def. Constants are fitted per format. */
enum kernel_format {
#define KERNEL_FORMAT(id, name, dtype, a_bytes, b_bytes, c_bytes, summary) KERNEL_FORMAT_##id,
#include "kernel/kernel_formats.def"
#undef KERNEL_FORMAT
  KERNEL_FORMAT_COUNT
};
struct kernel_format_info {
  const char *name;
  enum dtype dtype; /* engine type whose rate applies */
  double a_bytes, b_bytes, c_bytes; /* per element: activations, weights (scales included), result */
  const char *summary;
};
const struct kernel_format_info *kernel_format_info(enum kernel_format format);
enum kernel_format kernel_format_find(const char *name); /* KERNEL_FORMAT_COUNT for a name that is none */

enum kernel_flag {
  /* Repeated on the same buffers, as benchmarks do: what fits the last on-chip level is found there. Without it operands
   * come from off-chip memory as the caller says in `cached_bytes`. */
  KERNEL_WARM = 1 << 0,
  /* Activations arrive in bf16 and are quantised by a kernel of its own that is part of the time (serving frameworks). */
  KERNEL_QUANTISES = 1 << 1,
  KERNEL_BIAS = 1 << 2, /* a GEMM that adds a bias vector in its epilogue */
};

struct kernel_gemm {
  double batch, m, n, k; /* C[batch, m, n] = A[batch, m, k] B[batch, k, n]; n is the weight's side where there is one */
};

struct kernel_attention {
  double batch; /* sequences */
  double queries; /* new tokens of one sequence; 1 in a decode step */
  double context; /* keys that each sequence has in all, the new ones included */
  double heads, kv_heads, head_dim;
  double window; /* keys a query may look back at; 0 = all */
  bool is_causal;
};

/* tokens x top_k rows go to `experts` experts, each hidden → 2 x inter (gate and up) → hidden; tensor parallelism divides
 * `inter`, expert parallelism the experts of this device. */
struct kernel_grouped {
  double tokens, hidden, inter, top_k, experts, tensor_parallel, expert_parallel;
  double skew; /* exponent of the power law of tokens over experts; 0 = balanced */
  bool is_plain; /* experts without a gate: hidden → inter → hidden */
};

/* One pass over rows: element-wise kernels, softmax, normalisation. */
struct kernel_pass {
  double rows, columns; /* elements = rows x columns; element-wise kernels may say rows = 1 */
  double reads, writes; /* whole arrays read and written; 0.5 = half of one */
  double vector_flops; /* arithmetic per element */
  uint8_t function; /* enum hw_function that each element takes once; HW_FUNCTION_COUNT = none */
};

struct kernel_shape {
  enum kernel_class class_of;
  enum kernel_format format;
  uint32_t flags; /* enum kernel_flag */
  /* Of a kernel inside a program (not KERNEL_WARM): of the operands' bytes those that are on chip already, and bytes that
   * fused neighbours read and write beyond the operands and the result. 0 for a kernel on its own. */
  double cached_bytes, extra_bytes;
  /* Of a pass over a three-dimensional array: its outermost extent, of which `rows` is a multiple; 0 = not known, as 1.
   * Layouts of TPUs put any two of the extents on registers. */
  double planes;
  union {
    struct kernel_gemm gemm;
    struct kernel_attention attention;
    struct kernel_grouped grouped;
    struct kernel_pass pass;
  };
};

struct kernel_time {
  double time_s;
  /* What each resource alone would take; the model says how they combine. */
  double matrix_s, vector_s, memory_s, cache_s, launch_s;
  double off_chip_bytes;
  double tile_m, tile_n, split, waves; /* the kernel chosen, for explanations; 0 where they do not apply */
};

enum { KERNEL_CONSTANT_MAX = 24 };

struct kernel_constant {
  const char *name; /* as in calibration files: "matrix_efficiency" */
  /* "fraction", "s", "B", "-"; "choice": which kernel a back end launches, set by `defaults`, not fitted */
  const char *unit;
  double lower, upper; /* the fit stays inside; both > 0 are searched on a logarithmic scale */
  const char *meaning;
};

struct kernel_model {
  const char *name; /* "gemm_tiled" */
  const char *summary;
  const struct kernel_constant *constants;
  unsigned constant_count;
  /* True when the model describes kernels of that class and format on that chip. */
  bool (*applies)(enum kernel_class class_of, enum kernel_format format, const struct hw_chip *chip);
  /* Constants from the data sheet alone, for a chip without a fit and as the start of a fit. Inside the bounds. */
  void (*defaults)(const struct hw_chip *chip, enum kernel_class class_of, enum kernel_format format, double *values);
  /* Requires a shape with all extents from 1 to 2^63 and a chip that predicts (hw_chip.missing == NULL). Always finite and
   * > 0. */
  void (*time)(const struct hw_chip *chip, const struct kernel_shape *shape, const double *values,
               struct kernel_time *out);
};

/* All models, NULL-terminated; of several that apply the first is used. */
extern const struct kernel_model *const kernel_models[];
extern const struct kernel_model kernel_gemm_lanes; /* f32 on GPUs: kernel_gemm_lanes.c; before gemm_tiled */
extern const struct kernel_model kernel_gemm_tiled; /* GPUs: kernel_gemm_tiled.c */
extern const struct kernel_model kernel_gemm_systolic; /* TPUs and the like: kernel_gemm_systolic.c */
extern const struct kernel_model kernel_attention; /* kernel_attention.c */
extern const struct kernel_model kernel_grouped_gemm; /* kernel_grouped.c */
extern const struct kernel_model kernel_pass_lanes; /* TPUs and the like: kernel_pass_lanes.c; before pass */
extern const struct kernel_model kernel_pass; /* kernel_pass.c */
/* NULL when no model describes such kernels on that chip. */
const struct kernel_model *kernel_model_for(enum kernel_class class_of, enum kernel_format format,
                                            const struct hw_chip *chip);
/* Number of the constant in its model, or -1. */
int kernel_constant_find(const struct kernel_model *model, const char *name);

/* Floating-point operations of the shape's products (multiply-add = 2; attention: both products, masked part left out) and
 * the bytes it has to move at least. What a plain roofline needs. */
double kernel_flops(const struct kernel_shape *shape);
double kernel_bytes(const struct kernel_shape *shape);

#endif
