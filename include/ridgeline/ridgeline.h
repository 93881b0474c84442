/* Ridgeline: one machine-learning program, every chip.
 *
 * This is the whole public interface: opaque handles, C17, usable from C++17. The command line is written against it alone.
 *
 *     rdg_context *ctx = rdg_context_new(NULL);
 *     rdg_program *program = NULL;
 *     if (rdg_program_load(ctx, "model.mlir", NULL, &program) == RDG_OK) {
 *       const char *names[] = {"h100", "mi300x", "tpu-v5p"};
 *       rdg_prediction *prediction = NULL;
 *       if (rdg_predict(ctx, program, names, 3, NULL, &prediction) == RDG_OK) {
 *         for (size_t i = 0; i < rdg_prediction_count(prediction); i++) {
 *           rdg_estimate e;
 *           rdg_prediction_get(prediction, i, &e);
 *           printf("%s %.3f ms, bound by %s\n", e.chip_id, e.time_s * 1e3, e.bound_by);
 *         }
 *       }
 *       rdg_prediction_free(prediction);
 *     }
 *     fputs(rdg_diagnostics_text(ctx), stderr);
 *     rdg_program_free(program);
 *     rdg_context_free(ctx);
 *
 * Contract of all functions: nothing is printed, nothing exits, there is no global state. A failing call returns a status
 * and leaves the reason as diagnostics on the context. A context and what hangs on it belong to one thread at a time;
 * several contexts may be used in parallel. Texts returned as `const char *` live as long as the object they come from
 * (diagnostics: until the next call that clears them). Free order: predictions and steps, programs, context; arrays and results of
 * runs at any time.
 */
#ifndef RIDGELINE_RIDGELINE_H
#define RIDGELINE_RIDGELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The library is compiled with hidden visibility: what is declared here is all that it exports (docs/c-api.md). */
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* ---- status and diagnostics ------------------------------------------------------------------------------------- */

typedef enum rdg_status {
  RDG_OK = 0,
  RDG_ERROR_INPUT = 1, /* the program, chip file or argument is wrong; see the diagnostics */
  RDG_ERROR_MEMORY = 2, /* out of memory, or over a memory budget */
  RDG_ERROR_LIMIT = 3, /* another budget was reached */
  RDG_ERROR_IO = 4, /* a file could not be read or written */
  RDG_ERROR_UNSUPPORTED = 5 /* not possible with this chip, dtype or fidelity */
} rdg_status;

typedef enum rdg_severity { RDG_SEVERITY_ERROR, RDG_SEVERITY_WARNING, RDG_SEVERITY_NOTE } rdg_severity;

typedef struct rdg_diagnostic {
  rdg_severity severity;
  const char *code; /* stable, e.g. "E0201" */
  const char *file; /* NULL when the message has no place */
  unsigned line; /* 1-based; 0 = unknown */
  unsigned column; /* 1-based, in bytes */
  const char *message;
} rdg_diagnostic;

/* Version of the library, "0.1.0". */
const char *rdg_version(void);

/* ---- context ---------------------------------------------------------------------------------------------------- */

typedef struct rdg_context rdg_context;
typedef struct rdg_program rdg_program;
typedef struct rdg_prediction rdg_prediction;

typedef struct rdg_config {
  const char *hardware_directory; /* chip files; NULL = $RIDGELINE_HARDWARE, the source tree's, or the installed ones */
  size_t memory_budget_bytes; /* per program; 0 = from the input's size */
  unsigned error_limit; /* diagnostics kept per call; 0 = 20 */
} rdg_config;

/* `config` may be NULL. NULL only when memory is exhausted. */
rdg_context *rdg_context_new(const rdg_config *config);
void rdg_context_free(rdg_context *ctx);
size_t rdg_diagnostic_count(const rdg_context *ctx);
/* False when `i` is out of range. */
bool rdg_diagnostic_get(const rdg_context *ctx, size_t i, rdg_diagnostic *diagnostic);
/* All diagnostics as compilers print them: "file:line:column: error: message [E0201]", the line, a caret. */
const char *rdg_diagnostics_text(rdg_context *ctx);
void rdg_diagnostics_clear(rdg_context *ctx);

/* ---- output ----------------------------------------------------------------------------------------------------- */

/* Receives output in pieces; returns false to stop (the call then fails with RDG_ERROR_IO). */
typedef struct rdg_sink {
  bool (*write)(void *user, const char *text, size_t length);
  void *user;
} rdg_sink;

typedef enum rdg_format {
  RDG_FORMAT_TEXT, /* aligned tables for a terminal */
  RDG_FORMAT_JSON, /* docs/json.md is the schema */
  RDG_FORMAT_TRACE, /* Chrome trace JSON (chrome://tracing, ui.perfetto.dev); predictions and plans */
  RDG_FORMAT_PLAN, /* plans: the plan file, docs/plan-file.md */
  RDG_FORMAT_CHART, /* plans: an HTML page with charts */
  RDG_FORMAT_CORES /* plans: what the cores execute */
} rdg_format;

/* ---- programs --------------------------------------------------------------------------------------------------- */

typedef struct rdg_load_options {
  const char *const *binds; /* dynamic dimensions: "arg0=32x?" (see --bind) */
  size_t bind_count;
  const char *entry; /* function to start in; NULL = main, else the only public one, else the first */
  bool only_to_run; /* check, but do not count: dynamic dimensions may stay open until rdg_run gives arguments. Such a
                     * program can be run and printed; what needs its counts refuses it. */
  size_t unit; /* of a file of several, rdg_program_units: the first is 1; 0 = the whole file */
} rdg_load_options;

/* Reads StableHLO text (plain, .gz or .zst; "-" is standard input), checks it and counts its work. Several errors are
 * reported per run. On success *program is owned by the caller. */
rdg_status rdg_program_load(rdg_context *ctx, const char *path, const rdg_load_options *options, rdg_program **program);
/* The same from memory; the text is copied. `name` stands for the file in diagnostics. */
rdg_status rdg_program_parse(rdg_context *ctx, const char *name, const char *text, size_t length,
                             const rdg_load_options *options, rdg_program **program);
void rdg_program_free(rdg_program *program);
/* Number of units of a file: the parts between lines that have "// -----", as test files of MLIR do. 1 when there is none. */
rdg_status rdg_program_units(rdg_context *ctx, const char *path, size_t *count);

typedef enum rdg_form { RDG_FORM_PRETTY, RDG_FORM_GENERIC } rdg_form;
/* Canonical text of the program. */
rdg_status rdg_program_print(rdg_context *ctx, const rdg_program *program, rdg_form form, rdg_sink sink);
/* Parses and prints without checking or counting: for programs that are only to be re-written. */
rdg_status rdg_convert(rdg_context *ctx, const char *path, const rdg_load_options *options, rdg_form form,
                       rdg_sink sink);

typedef struct rdg_artifact_options {
  const char *target; /* version of StableHLO that is to read it, "1.0.0"; NULL = the newest known. 0.9.0 to 1.20.0 */
  bool locations; /* write the locations of the program; off: all unknown */
} rdg_artifact_options;
/* A portable artifact of the program: MLIR bytecode of StableHLO's versioned dialect, for that version and newer ones. Reads
 * and writes without checking or counting, as rdg_convert. What the version, or any artifact, cannot hold is refused with a
 * diagnostic at its place. `artifact` may be NULL. */
rdg_status rdg_convert_artifact(rdg_context *ctx, const char *path, const rdg_load_options *options,
                                const rdg_artifact_options *artifact, rdg_sink sink);

/* The same of a loaded or generated program. */
rdg_status rdg_program_write_artifact(rdg_context *ctx, const rdg_program *program,
                                      const rdg_artifact_options *artifact, rdg_sink sink);

typedef struct rdg_totals {
  uint64_t matrix_flops, vector_flops, function_results, integer_ops; /* `true` convention, loops multiplied out */
  uint64_t read_bytes, write_bytes; /* unfused: every operation reads and writes memory */
  uint64_t operations; /* executed, loops multiplied out */
  uint64_t collectives, collective_bytes;
  uint64_t opaque_operations; /* of unknown cost, not in the sums */
  uint64_t peak_memory_bytes, argument_bytes, output_bytes;
  int64_t xla_flops, xla_transcendentals, xla_bytes; /* `xla` convention (HloCostAnalysis); -1 = unknown */
} rdg_totals;
rdg_status rdg_program_totals(rdg_context *ctx, const rdg_program *program, rdg_totals *totals);

/* ops, FLOPs, bytes, intensity, peak memory, collectives; per function and per operation kind. */
rdg_status rdg_inspect(rdg_context *ctx, const rdg_program *program, rdg_format format, rdg_sink sink);
/* The work graph: unfused when `chip` is NULL, else as that chip's compiler would fuse it. With `task` not NULL, one task
 * with every factor of its predicted time; needs a chip in text form. `task` is an address, the way from the outermost
 * graph: "3", or "1.0.3" for task 3 in subgraph 0 of task 1, a loop or conditional, whose explanation lists the tasks in
 * it. `format` is text or JSON. */
rdg_status rdg_explain(rdg_context *ctx, rdg_program *program, const char *chip, const char *task, rdg_format format,
                       rdg_sink sink);

/* ---- generated programs ----------------------------------------------------------------------------------------- */

typedef enum rdg_phase {
  RDG_PHASE_DEFAULT = 0, /* decode of language models, forward of others */
  RDG_PHASE_DECODE = 1, /* one new token per sequence, with a KV cache */
  RDG_PHASE_PREFILL = 2, /* a whole prompt */
  RDG_PHASE_FORWARD = 3 /* vision and diffusion: one evaluation */
} rdg_phase;

typedef struct rdg_generate_options {
  rdg_phase phase;
  uint32_t batch; /* 0 = 1 */
  uint32_t
      sequence; /* entries of the KV cache, the new token's included; of the prompt; 0 = 2,048, or fewer positions */
  const char *activations; /* "f16", "bf16" or "f32"; NULL = "bf16" */
  const char *weights; /* the same, or "i8", "i4": weight-only, a scale per output column; NULL = as activations */
  uint32_t layers; /* only the first so many; 0 = all */
  uint32_t divide; /* heads, hidden, feed-forward and vocabulary sizes divided by this, for checks; 0 = 1 */
  bool more_positions; /* a table of learned positions that is too short is made long enough, instead of refused */
} rdg_generate_options;

/* A step of a model of published sizes as StableHLO, with the checks and counts of a loaded program (docs/generate.md).
 * `options` may be NULL. On success *program is owned by the caller. */
rdg_status rdg_generate(rdg_context *ctx, const char *model, const rdg_generate_options *options,
                        rdg_program **program);
/* How a training step of a language model is spread over devices, and whose kernels it is made of (docs/generate.md). Degrees
 * of 0 are 1; devices = data x tensor x context x pipeline, and experts are spread over `expert` of the data ranks. */
typedef struct rdg_training_options {
  const char *framework; /* "megatron", "xla" or "eager"; NULL = "megatron" */
  const char *recompute; /* "none", "selective", "full" or "contractions"; NULL = "none" */
  const char *attention; /* "flash", "fused" (scores in memory, one kernel of softmax) or "plain"; NULL = "flash" */
  const char *sharded; /* over data ranks: "nothing", "optimizer", "gradients" or "parameters"; NULL = "nothing" */
  const char *optimizer; /* "adam" or "sgd"; NULL = "adam" */
  const char *activations; /* "f16", "bf16" or "f32"; NULL = "bf16" */
  const char *products; /* of linear layers: "f8E4M3FN" or "f4E2M1FN"; NULL = as activations */
  const char *gradients; /* "f32", or as activations; NULL = "f32" */
  uint32_t sequence; /* 0 = 2,048 */
  uint32_t global_batch; /* sequences per step, all devices; 0 = one micro-batch on each data rank */
  uint32_t micro_batch; /* sequences of one pass on one data rank */
  uint32_t data, tensor, context, pipeline, expert;
  uint32_t virtual_stages; /* chunks per pipeline stage */
  uint32_t shard_ranks; /* data ranks that share one copy; 0 = all */
  uint32_t layers; /* only so many; 0 = all */
  double dropout;
  bool sequence_parallel; /* norms and sums over the tensor ranks, too */
  bool causal_half; /* flash attention leaves the masked half out */
  bool clip_gradients;
  bool overlap_gradients, overlap_parameters, overlap_tensor; /* exchanges beside computation */
} rdg_training_options;

/* A training step, as rdg_generate: one function @main, or, with a pipeline or several micro-batches, a function for every
 * place in the pipeline and role in the step ("first_forward", "last_update"). `options` may be NULL. */
rdg_status rdg_generate_training(rdg_context *ctx, const char *model, const rdg_training_options *options,
                                 rdg_program **program);
/* The models that there are, with sizes and sources; text or JSON. */
rdg_status rdg_generate_list(rdg_context *ctx, rdg_format format, rdg_sink sink);

/* ---- tensors ---------------------------------------------------------------------------------------------------- */

/* Element types. Numbers are stable; new types are appended. */
typedef enum rdg_dtype {
  RDG_DTYPE_NONE = 0, /* unknown: bytes without a meaning */
  RDG_DTYPE_I1 = 1,
  RDG_DTYPE_I2 = 2,
  RDG_DTYPE_I4 = 3,
  RDG_DTYPE_I8 = 4,
  RDG_DTYPE_I16 = 5,
  RDG_DTYPE_I32 = 6,
  RDG_DTYPE_I64 = 7,
  RDG_DTYPE_UI2 = 8,
  RDG_DTYPE_UI4 = 9,
  RDG_DTYPE_UI8 = 10,
  RDG_DTYPE_UI16 = 11,
  RDG_DTYPE_UI32 = 12,
  RDG_DTYPE_UI64 = 13,
  RDG_DTYPE_F4E2M1FN = 14,
  RDG_DTYPE_F6E2M3FN = 15,
  RDG_DTYPE_F6E3M2FN = 16,
  RDG_DTYPE_F8E3M4 = 17,
  RDG_DTYPE_F8E4M3 = 18,
  RDG_DTYPE_F8E4M3FN = 19,
  RDG_DTYPE_F8E4M3FNUZ = 20,
  RDG_DTYPE_F8E4M3B11FNUZ = 21,
  RDG_DTYPE_F8E5M2 = 22,
  RDG_DTYPE_F8E5M2FNUZ = 23,
  RDG_DTYPE_F8E8M0FNU = 24,
  RDG_DTYPE_F16 = 25,
  RDG_DTYPE_BF16 = 26,
  RDG_DTYPE_TF32 = 27,
  RDG_DTYPE_F32 = 28,
  RDG_DTYPE_F64 = 29,
  RDG_DTYPE_C64 = 30, /* complex<f32> */
  RDG_DTYPE_C128 = 31, /* complex<f64> */
  RDG_DTYPE_INDEX = 32
} rdg_dtype;
/* MLIR's spelling, "bf16"; "none" for numbers that are no type. Static storage. */
const char *rdg_dtype_name(rdg_dtype dtype);
/* The inverse; RDG_DTYPE_NONE when unknown. */
rdg_dtype rdg_dtype_parse(const char *name);
/* Bytes that one element takes in a tensor; 0 for RDG_DTYPE_NONE. */
size_t rdg_dtype_size(rdg_dtype dtype);

/* A tensor as plain memory: row-major, little-endian, without gaps. Types narrower than a byte take one byte per element:
 * i1 is 0 or 1, signed integers are sign-extended, unsigned ones and floats have zeros above their bits. `data` needs no
 * alignment. A scalar has rank 0 and one element. */
typedef struct rdg_tensor {
  rdg_dtype dtype;
  uint32_t rank;
  const int64_t *dims; /* `rank` of them; may be NULL when rank is 0 */
  const void *data;
  size_t size_bytes; /* of the data */
} rdg_tensor;

/* Named tensors that belong together: what a file holds, or what a text spells. */
typedef struct rdg_arrays rdg_arrays;
/* Reads a .npy file (one array) or a .npz archive (stored or deflated entries), recognised by content, also .gz and .zst;
 * "-" is standard input. Fortran order is transposed and big-endian swapped. Elements of another kind (objects, text, dates,
 * records) are refused; the opaque ones that the types of ml_dtypes are saved as (V1, V2, f1) come as RDG_DTYPE_NONE with
 * their bytes. Not more than `memory_budget_bytes` (0 = 8 GiB) are taken for the file and its arrays. */
rdg_status rdg_arrays_read(rdg_context *ctx, const char *path, uint64_t memory_budget_bytes, rdg_arrays **arrays);
/* Reads attributes as in a program: "[dense<[1, 2]> : tensor<2xi32>, dense<0.5> : tensor<f32>]", with or without the
 * brackets. The names are empty. */
rdg_status rdg_arrays_parse(rdg_context *ctx, const char *text, rdg_arrays **arrays);
size_t rdg_arrays_count(const rdg_arrays *arrays);
/* Tensor `i`, valid as long as `arrays`, and its name without ".npy" ("" for a .npy file); `name` may be NULL. False when
 * `i` is out of range. */
bool rdg_arrays_get(const rdg_arrays *arrays, size_t i, const char **name, rdg_tensor *tensor);
void rdg_arrays_free(rdg_arrays *arrays);
/* Writes a file that numpy.load reads: .npz by its ending, with `names` (NULL = arr_0, arr_1, ...), else .npy, which takes
 * one tensor. The file appears whole or not at all. Types that numpy has not are written as ml_dtypes saves them (V1, V2);
 * integers narrower than a byte as i1 and u1. */
rdg_status rdg_arrays_write(rdg_context *ctx, const char *path, const char *const *names, const rdg_tensor *tensors,
                            size_t count);

/* ---- running ---------------------------------------------------------------------------------------------------- */

/* What the entry function takes and gives. Tuples stand for their parts in order, at any depth, and tokens for nothing:
 * inputs and results of a run are numbered alike. */
typedef struct rdg_signature_entry {
  const char *name; /* "arg0", or what the framework named it (jax.arg_info); of results "arr_0" */
  const char *type; /* as the program spells it: "tensor<?x4xf32>", "tensor<2x!quant.uniform<i8:f32, 0.1>>" */
  rdg_dtype dtype; /* of the elements; the storage type when quantized */
  uint32_t rank;
  const int64_t *dims; /* -1 = dynamic */
} rdg_signature_entry;
size_t rdg_program_input_count(const rdg_program *program);
size_t rdg_program_output_count(const rdg_program *program);
/* False when `i` is out of range. Texts live as long as the program. */
bool rdg_program_input(const rdg_program *program, size_t i, rdg_signature_entry *entry);
bool rdg_program_output(const rdg_program *program, size_t i, rdg_signature_entry *entry);

typedef enum rdg_fill {
  RDG_FILL_NONE, /* an input without data is an error */
  RDG_FILL_ZERO,
  RDG_FILL_RANDOM /* floats uniform in [-1, 1), integers in 0 to 9 as far as the type goes */
} rdg_fill;

typedef struct rdg_run_options {
  uint64_t memory_budget_bytes; /* of live values, of all processes together; 0 = 8 GiB */
  uint64_t operation_budget; /* elementary operations, of all processes together; 0 = 10^13 */
  unsigned max_depth; /* of calls and regions; 0 = 200 */
  unsigned replicas, partitions; /* run on every device of a grid, in parallel; 0 = 1. At most 1,024 processes */
  bool inputs_per_process; /* inputs holds those of process 0 (replica 0, partition 0), then of process 1 (replica 0,
                            * partition 1), ...; false: all processes get the same */
  bool plain; /* only the definitions, no fast kernels: slow, and the meaning that the fast ones are tested against */
  rdg_fill fill; /* inputs that are missing at the end, or whose `data` is NULL (dims count when the type is dynamic) */
  uint64_t seed; /* of RDG_FILL_RANDOM; equal seeds give equal values */
  const rdg_sink *print; /* receives what the program prints (interpreter.print); NULL = dropped */
} rdg_run_options;

typedef struct rdg_run_result rdg_run_result;

/* Runs the entry function on `count` inputs, which are copied; `options` may be NULL. An input fits when its type and shape
 * are those of the parameter, RDG_DTYPE_NONE when the bytes per element are, i8 and ui8 also for narrower integers when
 * every value is in range. A program that would need more than a budget is refused before it starts where that can be seen,
 * else when it gets there (E0704, with the number). A check in the program that fails (E0703) fails the run. On RDG_OK
 * *result is owned by the caller; it does not depend on the program any more. */
rdg_status rdg_run(rdg_context *ctx, const rdg_program *program, const rdg_run_options *options,
                   const rdg_tensor *inputs, size_t count, rdg_run_result **result);
/* Processes that ran: replicas x partitions; number replica * partitions + partition. */
size_t rdg_run_process_count(const rdg_run_result *result);
/* Results per process. */
size_t rdg_run_result_count(const rdg_run_result *result);
/* Result `i` of a process; what *tensor points to lives as long as `result`. False when out of range. */
bool rdg_run_result_get(const rdg_run_result *result, size_t process, size_t i, rdg_tensor *tensor);
double rdg_run_time_s(const rdg_run_result *result); /* of the run alone, without reading and checking */
/* All results: as StableHLO's reference interpreter prints values, or JSON. Of tensors with more than `limit` elements (0 =
 * no limit) text shows the outer three of each end of a dimension, and JSON leaves the values out. */
rdg_status rdg_run_result_write(rdg_context *ctx, const rdg_run_result *result, uint64_t limit, rdg_format format,
                                rdg_sink sink);
void rdg_run_result_free(rdg_run_result *result);

/* ---- chips ------------------------------------------------------------------------------------------------------ */

rdg_status rdg_chips_list(rdg_context *ctx, rdg_format format, rdg_sink sink);
/* Every field with unit, source and kind. `chip`: id, alias or the path of a YAML file, here and below. */
rdg_status rdg_chip_show(rdg_context *ctx, const char *chip, rdg_format format, rdg_sink sink);
/* Recomputes peaks from counts x rate x clock and bounds all numbers; NULL = all chips. One chip is also checked for what
 * prediction needs and for keys that look misspelt. Findings are diagnostics, and in JSON part of the document. */
rdg_status rdg_chip_check(rdg_context *ctx, const char *chip, rdg_format format, rdg_sink sink);
rdg_status rdg_chips_compare(rdg_context *ctx, const char *const *chips, size_t count, rdg_format format,
                             rdg_sink sink);

/* ---- clusters --------------------------------------------------------------------------------------------------- */

/* Clusters that programs of several devices run on: chips, how they are joined, and the library that communicates
 * (docs/clusters.md). */
rdg_status rdg_clusters_list(rdg_context *ctx, rdg_format format, rdg_sink sink);
/* Dimensions, named slices, and every field with unit, source and kind. `cluster`: id, alias or the path of a YAML file, here
 * and below. */
rdg_status rdg_cluster_show(rdg_context *ctx, const char *cluster, rdg_format format, rdg_sink sink);
/* Bounds all numbers and compares them with those of the chip; NULL = all clusters. Findings are diagnostics, and in JSON
 * part of the document. */
rdg_status rdg_cluster_check(rdg_context *ctx, const char *cluster, rdg_format format, rdg_sink sink);

/* ---- prediction ------------------------------------------------------------------------------------------------- */

typedef struct rdg_predict_options {
  const char *fidelity; /* "roofline"; NULL = "roofline" */
  const char *f32_as; /* what DEFAULT-precision f32 contractions run as: "f32", "tf32", "bf16"; NULL = the chip's own */
  bool without_fusion; /* predict the program operation by operation */
  unsigned top; /* operations listed per chip in the text; 0 = 5 */
} rdg_predict_options;

/* Predicts one execution on each chip; `chips` are ids, aliases, YAML paths or groups ("@gpu", "@demo"). A chip that
 * refuses the program is in the result with its reason. Loading a program once and predicting many times is the fast way:
 * fused graphs are kept with the program. */
rdg_status rdg_predict(rdg_context *ctx, rdg_program *program, const char *const *chips, size_t count,
                       const rdg_predict_options *options, rdg_prediction **prediction);
void rdg_prediction_free(rdg_prediction *prediction);

typedef struct rdg_estimate {
  const char *chip_id, *chip_name, *vendor;
  double time_s; /* NaN when refused */
  double low_s, high_s; /* 90 % interval of time_s, see docs/calibration.md; NaN when refused */
  double fitted_share, inherited_share; /* of time_s: kernels measured on this chip, on others of its family */
  double unfused_time_s; /* without the target's fusion */
  const char *bound_by; /* what most of the time is bound by; "none" when nothing in the program is timed */
  double bound_share; /* of the time */
  double matrix_utilisation;
  uint64_t peak_memory_bytes, capacity_bytes;
  bool
      capacity_known; /* false: no memory size is published; capacity_bytes is 0 and `fits` false without being a verdict */
  bool fits, refused;
  uint64_t kernels; /* launches, loops multiplied out */
  uint64_t collectives, collective_bytes; /* not in the time */
  const char *reason; /* why it was refused; NULL otherwise */
} rdg_estimate;
size_t rdg_prediction_count(const rdg_prediction *prediction);
bool rdg_prediction_get(const rdg_prediction *prediction, size_t i, rdg_estimate *estimate);
/* Table with explanation, JSON, or the predicted timeline (RDG_FORMAT_TRACE). */
rdg_status rdg_prediction_write(rdg_context *ctx, const rdg_prediction *prediction, rdg_format format, rdg_sink sink);

/* ---- steps of distributed programs -------------------------------------------------------------------------------- */

/* One step of a program of several devices on clusters (docs/step.md): streams of computation and communication, the
 * collectives of the cluster's library on its links, pipeline schedules, memory per device. */
typedef struct rdg_step rdg_step;

typedef struct rdg_step_options {
  const char *fidelity; /* of computation: "roofline"; NULL = "roofline" */
  const char *f32_as; /* as in rdg_predict_options */
  const char *network; /* of communication: "analytic" or "event"; NULL = "analytic" */
  const char *
      overlap; /* "none", "as-written", "early-late", "latency-hiding"; NULL = what the program states, else its compiler's */
  const char *shape; /* slice of the cluster, "4x4x8", innermost dimension first; NULL = the usual one */
  uint64_t devices; /* 0 = as many as the program states */
  double straggler; /* spread of the devices' speeds: standard deviation as a fraction, 0.02; 0 = all alike */
  bool timeline; /* keep what the streams do: for RDG_FORMAT_TRACE and execution traces */
  unsigned top; /* collectives listed per cluster in the text; 0 = 10 */
} rdg_step_options;

/* Predicts a step on each cluster; `clusters` are ids, aliases or YAML paths. `options` may be NULL. A cluster that cannot run
 * the program (too few devices, groups or stages that do not fit it) is in the result with its reason; when none can, the
 * call fails and the diagnostics say why. On RDG_OK *step is owned by the caller; it is to be freed before the program. */
rdg_status rdg_step_predict(rdg_context *ctx, rdg_program *program, const char *const *clusters, size_t count,
                            const rdg_step_options *options, rdg_step **step);
void rdg_step_free(rdg_step *step);

/* NaN where the program or the cluster's file says nothing, and when refused. */
typedef struct rdg_step_estimate {
  const char *cluster_id, *cluster_name, *chip_id;
  const char *slice; /* "8 x 16" devices along the dimensions, innermost first */
  uint64_t devices;
  double time_s;
  double low_s, high_s; /* 90 % interval of time_s */
  double compute_s, exposed_s, bubble_s, straggler_s, dispatch_s; /* of the busiest device; they add up to time_s */
  double communication_s; /* hidden or not */
  double contention_s; /* part of the others: communication and computation slow each other down */
  double mfu, hfu; /* model and hardware FLOPs / (time x peak) */
  double tokens_per_s, samples_per_s; /* all devices, here and below */
  double energy_J, price_usd; /* of the step */
  uint64_t memory_bytes, capacity_bytes; /* of the fullest device; 0 = not known */
  bool fits; /* no verdict when capacity_bytes is 0 */
  bool refused;
  const char *reason; /* why it was refused; NULL otherwise */
} rdg_step_estimate;
/* In the order of `clusters`. */
size_t rdg_step_count(const rdg_step *step);
bool rdg_step_get(const rdg_step *step, size_t i, rdg_step_estimate *estimate);
/* Table with explanation, JSON, or the timeline of the fastest (RDG_FORMAT_TRACE, needs `timeline`). */
rdg_status rdg_step_write(rdg_context *ctx, const rdg_step *step, rdg_format format, rdg_sink sink);

typedef struct rdg_chakra_options {
  const char *name; /* files are <name>.<rank>.et; NULL = the program's name without directory and endings */
  uint64_t ranks; /* the first so many; 0 = all */
  /* Called after every file; may be NULL. */
  void (*progress)(void *user, uint64_t done, uint64_t total);
  void *user;
} rdg_chakra_options;
/* Writes execution traces of the fastest cluster's step in the schema of MLCommons Chakra, and comm_group.json, into a
 * directory, which is created (docs/traces.md). Needs `timeline` for pipelines. `options` may be NULL. */
rdg_status rdg_step_write_chakra(rdg_context *ctx, const rdg_step *step, const char *directory,
                                 const rdg_chakra_options *options);

typedef struct rdg_collectives_options {
  const char *const *kinds; /* "all_reduce", "all_gather", ...; none = all_reduce */
  size_t kind_count;
  const uint64_t *sizes; /* bytes of the full buffer of a rank; none = 1 KiB to 1 GiB in factors of 32 */
  size_t size_count;
  const char *shape; /* as in rdg_step_options */
  uint64_t devices; /* of the slice; 0 = one instance of the innermost dimension */
  uint32_t ranks, stride; /* of a group; 0 = all devices, and neighbours */
  bool events; /* also on the event-driven network */
} rdg_collectives_options;
/* What a collective takes by every algorithm that the cluster's library has, and which one it takes; text or JSON.
 * `options` may be NULL. */
rdg_status rdg_collectives(rdg_context *ctx, const char *cluster, const rdg_collectives_options *options,
                           rdg_format format, rdg_sink sink);

/* ---- planning ----------------------------------------------------------------------------------------------------- */

/* Plans for chips of many cores with private memory that are joined by a network (docs/plan.md): how every operator lies on
 * the cores, and when its data is loaded. */
typedef struct rdg_plan rdg_plan;

typedef struct rdg_plan_options {
  const char *const *policies; /* "joint", "basic", "static", "dyn", "full", "ideal", "exact", "exact-mip"; "all": those
                                * that can plan a program of this size; none = joint */
  size_t policy_count;
  bool published; /* the published operator graph and machine: nothing fused, slices copied, no trees, no overlap */
  const char *const
      *without; /* ingredients left out: "views", "fusion", "split", "tree", "overlap", "idle-cores", "reorder" */
  size_t without_count;
  bool ablation; /* also plans with each ingredient left out */
  double what_if_s; /* also finds the least SRAM and memory bandwidth that reach this time; 0 = not asked */
  uint64_t budget; /* search operations per policy; 0 = its default */
  unsigned threads; /* 0 = 1; results do not depend on it */
  unsigned operators; /* slowest sorts of operators in the text, with the layers; 0 = neither */
} rdg_plan_options;

/* `chip`: id, alias or path of a YAML file; NULL = "ipu". `options` may be NULL. A policy without a schedule is in the result
 * with its reason; RDG_ERROR_UNSUPPORTED when no policy has one, RDG_ERROR_INPUT when the chip lacks what planning needs or
 * an operator fits in no partition. On RDG_OK *plan is owned by the caller; it does not depend on the program any more. */
rdg_status rdg_plan_run(rdg_context *ctx, const rdg_program *program, const char *chip, const rdg_plan_options *options,
                        rdg_plan **plan);
void rdg_plan_free(rdg_plan *plan);

/* One policy. What is a share of time is a share of `time_s`; NaN and 0 when refused. */
typedef struct rdg_plan_row {
  const char *policy;
  double time_s;
  double gap_plan_space, gap_resources; /* time_s / bound - 1 */
  double memory_utilisation, link_utilisation, matrix_utilisation;
  double wait_load_s, wait_links_s; /* cores wait for a load; steps take longer because loads use the links as well */
  uint64_t peak_sram_bytes; /* of one core */
  double search_s; /* wall clock */
  bool reference; /* a yardstick, no schedule of a real chip */
  bool refused, complete; /* complete: nothing was cut by the budget */
  const char *reason; /* why it was refused; NULL otherwise */
} rdg_plan_row;
size_t rdg_plan_row_count(const rdg_plan *plan);
/* False when `i` is out of range. Texts live as long as the plan. */
bool rdg_plan_row_get(const rdg_plan *plan, size_t i, rdg_plan_row *row);

typedef struct rdg_plan_summary {
  const char *chip_id;
  const char *chosen; /* policy that files, traces and charts are about */
  uint64_t cores, sram_bytes; /* of one core, without the reserve */
  uint64_t operators, layers, memory_bytes; /* operators as planned; bytes that the program moves to and from memory */
  double matrix_flops, vector_flops;
  double plan_space_bound_s; /* no plan of the enumerated plan space is faster */
  double resource_bound_s; /* no plan whatever is faster */
  double compile_s; /* wall clock */
} rdg_plan_summary;
void rdg_plan_summarize(const rdg_plan *plan, rdg_plan_summary *summary);

/* Text: the table of policies; JSON: the same and more, docs/json.md; and the formats that are for plans, of the policy
 * `chosen`. */
rdg_status rdg_plan_write(rdg_context *ctx, const rdg_plan *plan, rdg_format format, rdg_sink sink);
/* Recomputes memory, dependencies and times of a plan file from the file alone and says what it found, as text.
 * RDG_ERROR_INPUT with a diagnostic for every rule that the plan breaks. */
rdg_status rdg_plan_check_file(rdg_context *ctx, const char *path, rdg_sink sink);
/* Name and one-line summary of policy `i`, static storage; false past the last one. */
bool rdg_plan_policy(size_t i, const char **name, const char **summary);

typedef struct rdg_plan_compat_options {
  uint32_t layers; /* no operator is preloaded further ahead than about one layer; 0 = as the sequence repeats itself */
  bool legal; /* tensors are cut along their own axes only; the published search mixes axes up */
  bool equal_constants; /* all designs with the same link rate and threshold, in both modes of contention */
  double
      threshold; /* Dyn: share of the link time that loads may take; 0 = the published ones, of which the best counts */
  uint32_t execution_kib; /* Static: its execution space; 0 = the best of a sweep */
  uint32_t sweep_kib; /* step of the sweep; 0 = 10, with equal constants 50 */
} rdg_plan_compat_options;
/* The published planner's own numbers from its operator lists, formulas and constants (docs/plan-compat.md): the CSV of
 * operators and the sequence of their ids. `options` may be NULL; text or JSON. */
rdg_status rdg_plan_compat(rdg_context *ctx, const char *operators_path, const char *sequence_path,
                           const rdg_plan_compat_options *options, rdg_format format, rdg_sink sink);

/* ---- validation ------------------------------------------------------------------------------------------------- */

typedef struct rdg_validate_options {
  const char *data_directory; /* measured tables; NULL = $RIDGELINE_DATA or ../shared/data */
  rdg_format format; /* text or JSON */
  const char *chip; /* only this chip, id or alias; NULL = all. Suites that take no filter refuse it */
  const char *class_name; /* only this class of kernels ("gemm"); NULL = all. Likewise */
  const rdg_sink *page; /* also receives an HTML page with charts, of suites that have one; may be NULL */
} rdg_validate_options;

/* Scores predictions against measurements and writes a report. `options` may be NULL. Absent data gives RDG_ERROR_IO and a
 * diagnostic that says "no data". The libraries inside the page are read from $RIDGELINE_CHARTS, the source tree's
 * share/charts or the installed one; where they are missing the call fails before it measures anything. */
rdg_status rdg_validate(rdg_context *ctx, const char *suite, const rdg_validate_options *options, rdg_sink sink);
/* Name and one-line summary of suite `i`, static storage; false past the last one. */
bool rdg_validate_suite(size_t i, const char **name, const char **summary);

/* ---- calibration ------------------------------------------------------------------------------------------------ */

typedef struct rdg_calibrate_options {
  const char *profile; /* measured profile (SQLite); NULL = the published tables that the mapping files name */
  const char *data_directory; /* of those tables; NULL = $RIDGELINE_DATA or ../shared/data */
  const char *mapping_directory; /* NULL = $RIDGELINE_MEASUREMENTS, the source tree's, or the installed ones */
  const char *output_directory; /* one YAML file per chip and family is written here; NULL = none */
  const char *device; /* only this chip or family; NULL = all that have rows, here and below */
  const char *class_name; /* "gemm"; "collectives": constants of communication, one file per family of clusters */
  const char *format; /* "bf16" */
  const char *date; /* "2026-11-30", written into the files; NULL = today */
  size_t max_rows; /* per fit; 0 = 3000 */
  unsigned threads; /* 0 = one per core; results do not depend on it */
  rdg_format report; /* text or JSON */
  /* Called after every fit, from one thread at a time; may be NULL. */
  void (*progress)(void *user, const char *what, size_t done, size_t total);
  void *user;
} rdg_calibrate_options;

/* Fits the constants of kernel models to measured rows that may be fitted and writes what chips below `output_directory`
 * are then predicted with, and a report to `sink`. `options` may be NULL. A file that is there keeps the fits of classes and
 * formats that were not asked for. */
rdg_status rdg_calibrate(rdg_context *ctx, const rdg_calibrate_options *options, rdg_sink sink);
/* The folder that chips of this context take their constants from: where to write so that they are used. Valid as long as
 * the context. */
const char *rdg_calibration_directory(rdg_context *ctx);

/* ---- measured profiles -------------------------------------------------------------------------------------------- */

typedef struct rdg_profile_import_options {
  const char *const
      *files; /* mapping files (.yaml) and CSV files in the columns of an export; none = all mapping files */
  size_t file_count;
  const char *mapping_directory; /* NULL = $RIDGELINE_MEASUREMENTS, the source tree's, or the installed ones */
  const char *data_directory; /* of the tables that mapping files name; NULL = $RIDGELINE_DATA or ../shared/data */
} rdg_profile_import_options;

typedef struct rdg_profile_import_result {
  uint64_t rows; /* added */
  uint64_t absent_tables; /* named in a mapping file, but not there: a warning each */
} rdg_profile_import_result;

/* Puts measured rows into the profile `path`, an SQLite file (docs/profiles.md), and creates it when there is none. What it
 * has of the same source (of a CSV: and device) is replaced; a file that fails leaves it as it was. `options` and `result` may be NULL. */
rdg_status rdg_profile_import(rdg_context *ctx, const char *path, const rdg_profile_import_options *options,
                              rdg_profile_import_result *result);
/* All operators, or all programs, as CSV. */
rdg_status rdg_profile_export(rdg_context *ctx, const char *path, bool programs, rdg_sink sink);
/* Rows per source, device, operator, format and split, with licence and use; text or JSON. */
rdg_status rdg_profile_show(rdg_context *ctx, const char *path, rdg_format format, rdg_sink sink);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
