/* Chips: what one accelerator can do, with the source of every number.
 *
 * A chip is one YAML file under hardware/<vendor>/; it may inherit a family under hardware/families/ or another chip, and
 * inherits the generic family of its kind when it names none. Reading a file
 * gives two views: the *facts* (every field as written, with unit, source, kind and disagreeing values), which
 * `chips show` prints, and the *typed* chip below, filled from the facts through the rows of hw_fields.def, which cost
 * models and simulators read. Units are SI; rates are dense, a fused multiply-add counts as two operations; bandwidths
 * are per direction; 0 means "not known" in the typed view.
 *
 * YAML form (docs/chips.md explains it):
 *   id: nvidia_h100_sxm
 *   name: NVIDIA H100 SXM5 80GB
 *   vendor: NVIDIA
 *   kind: gpu                      # gpu tpu npu icca dataflow cpu soc
 *   inherit: nvidia_hopper         # optional family or chip, by id; own fields override
 *   aliases: [h100]                # short names for --on
 *   sources:                       # cited by key below; "derived" is built in: arithmetic on other fields
 *     xla: {title: "XLA GpuTargetConfig h100_sxm.txtpb", url: "https://...", rank: tool}
 *   fields:
 *     mem.bw: {value: 3.35232e12, unit: B/s, kind: datasheet, source: xla, note: "2.619 GHz x 5120 bit x 2",
 *              chosen: "vendor number; ...",
 *              disputed: [{value: 3.43e12, kind: datasheet, source: neusight, note: "..."}]}
 */
#ifndef RIDGELINE_HW_HW_H
#define RIDGELINE_HW_HW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/dtype.h"
#include "base/status.h"
#include "base/vec.h"

enum hw_kind {
  HW_KIND_GPU,
  HW_KIND_TPU,
  HW_KIND_NPU,
  HW_KIND_ICCA,
  HW_KIND_DATAFLOW,
  HW_KIND_CPU,
  HW_KIND_SOC,
  HW_KIND_COUNT
};

/* Which compiler's fusion rules a chip's programs go through; see lower/lower.h. */
enum hw_fusion { HW_FUSION_NONE, HW_FUSION_GPU, HW_FUSION_TPU };

/* How trustworthy a number is. INFERRED carries its reasoning in the note. */
enum hw_fact_kind { HW_FACT_DATASHEET, HW_FACT_MEASURED, HW_FACT_INFERRED };

enum hw_value_kind { HW_VALUE_NUMBER, HW_VALUE_TEXT, HW_VALUE_LIST, HW_VALUE_MAP };

struct hw_value {
  enum hw_value_kind kind;
  double number; /* NUMBER */
  const char *text; /* NUMBER: as written; TEXT: the text; LIST and MAP: canonical YAML flow text */
};

/* One sourced statement. */
struct hw_fact {
  struct hw_value value;
  enum hw_fact_kind kind;
  const char *source_title;
  const char *source_url; /* "derived" for arithmetic on other fields */
  const char *note; /* may be NULL */
};

struct hw_field {
  const char *key; /* "mem.bw", "peak.bf16", ...; sorted within a chip */
  const char *unit;
  struct hw_fact fact; /* the chosen value */
  const char *chosen; /* why this one, when sources disagree; may be NULL */
  const struct hw_fact *disputed; /* the others */
  size_t disputed_count;
  const char *inherited_from; /* id of the family or chip, or NULL when the chip states it */
  const char *file; /* the file that states it */
  uint32_t line, column; /* of its key there */
};

/* Special functions with a rate of their own: results per second of the whole chip at f32. */
enum hw_function {
  HW_FUNCTION_EXP,
  HW_FUNCTION_LOG,
  HW_FUNCTION_RSQRT, /* sqrt as well */
  HW_FUNCTION_TANH, /* logistic as well */
  HW_FUNCTION_SIN, /* cosine, tangent as well */
  HW_FUNCTION_DIVIDE,
  HW_FUNCTION_POWER,
  HW_FUNCTION_ERF,
  HW_FUNCTION_OTHER, /* expm1, log1p, cbrt, atan2 and the rest */
  HW_FUNCTION_COUNT
};

struct hw_fit; /* hw_calibration.h */

struct hw_chip {
  const char *id, *name, *vendor, *family; /* family: what it inherits, NULL when nothing */
  const char *const *lineage; /* the family or chip inherited, what that inherits, ...; NULL-terminated */
  const char *defaults; /* the generic family in the lineage when no file names one to inherit; NULL else */
  enum hw_kind kind;
  enum hw_fusion fusion;
  const char *file;

  /* engines: FLOP/s (OP/s for integers) of the whole chip, indexed by enum dtype; 0 = the engine does not take it.
   * matrix_flops is the rate of a matrix product with such inputs wherever the chip runs it: a GPU without an f32 matrix
   * unit has its vector rate there. Engine types: F8E4M3FN stands for all 8-bit floats, F6E2M3FN for 6-bit floats, I8 and
   * I4 for small integers, I64 for index; hw_engine_type gives the engine type of any dtype. */
  double matrix_flops[DTYPE_COUNT];
  double vector_flops[DTYPE_COUNT];
  /* The type each input type is computed in on the engine when it has no rate of its own (a row of `runs_as`);
   * DTYPE_NONE = refused. Identity where the engine has the rate. Resolved after loading. */
  uint8_t matrix_runs_as[DTYPE_COUNT];
  uint8_t vector_runs_as[DTYPE_COUNT];
  /* What a DEFAULT-precision f32 dot is computed in: F32, TF32 (NVIDIA from Ampere on) or BF16 (TPUs); HIGH and HIGHEST
   * take `f32_high_passes` / `f32_highest_passes` passes of that type (1 where the type is F32 itself). */
  enum dtype f32_default_as;
  double f32_high_passes, f32_highest_passes;
  double function_rate[HW_FUNCTION_COUNT]; /* results/s of the whole chip, f32; 0 = derive from vector_flops */

  double clock_Hz, matrix_clock_Hz, vector_clock_Hz;
  double cores; /* SMs, CUs, TensorCores, tiles */
  double matrix_units_per_core;
  double matrix_rows, matrix_columns; /* systolic array or instruction footprint, elements */
  double tile_m, tile_n, tile_k; /* output tile of the usual large GEMM kernel; 0 = systolic rule */

  double memory_size_bytes, memory_Bps; /* off-chip */
  double cache_size_bytes, cache_Bps; /* last on-chip level shared by all cores (L2, VMEM) */
  double scratch_size_bytes, scratch_Bps; /* sum over cores of per-core SRAM */
  /* false: the SRAM is the only memory and programs must fit it; memory_* then repeat scratch_*, so that a cost model
   * needs no second path */
  bool has_off_chip;
  double link_Bps, tdp_W, sustained_clock_fraction;

  double launch_s; /* device-side cost of one kernel in a stream or compiled program */
  double dispatch_s; /* once per program execution */
  double matrix_efficiency; /* fraction of peak a large well-shaped GEMM reaches (measured) */
  double memory_efficiency; /* fraction of peak a large stream reaches (measured) */
  double memory_ramp_bytes; /* latency, as bytes at memory_Bps: on top of every transfer */
  /* what fills cache_Bps and memory_ramp_bytes where no file states them: times memory_Bps */
  double cache_bw_factor, memory_latency_s;
  double vector_efficiency; /* fraction of vector_flops that unfused element-wise code reaches */

  const struct hw_field *fields; /* sorted by key */
  size_t field_count;
  const char *const *aliases;
  size_t alias_count;
  const struct hw_fit *const *fits; /* hw_calibration.h: own ones first, then those of the lineage, nearest first */
  size_t fit_count;
  const char *missing; /* comma-separated keys that prediction needs and the chip lacks; NULL when it predicts */
};

struct hw_database {
  struct arena arena;
  VEC(struct hw_chip) chips; /* sorted by id */
  VEC(const struct hw_fit *) fits; /* hw_calibration.h: sorted by device, class, format */
};

/* Loads every chip below `directory` (hardware/). Bad files are reported on `diags` and left out; the status is
 * STATUS_INPUT then, and the database holds the good ones. */
enum status hw_database_load(struct hw_database *db, const char *directory, struct diag_list *diags);
void hw_database_release(struct hw_database *db);
/* Loads one chip file (for --on path/to/chip.yaml); what it inherits is looked up below `directory`. The chip lives in the arena
 * of `db`, which must be a loaded or zeroed database; it does not join `chips`, so that pointers into those stay valid. */
enum status hw_chip_load(struct hw_database *db, const char *path, const char *directory, struct diag_list *diags,
                         const struct hw_chip **chip);
/* The same from a text in memory; nothing of `source` is kept. */
enum status hw_chip_parse(struct hw_database *db, const struct source *source, const char *directory,
                          struct diag_list *diags, const struct hw_chip **chip);
/* By id, alias, or an id without its vendor ("h100_sxm"); case-insensitive, '-' equal to '_'. NULL and E0307 with near
 * names when unknown; `diags` may be NULL. */
const struct hw_chip *hw_database_find(const struct hw_database *db, const char *name, struct diag_list *diags);
/* A named group: "@all", "@gpu", "@tpu" and the other kinds, "@<vendor>", "@<family>", "@demo" (those of the README).
 * Writes up to `capacity` chips that predict, in id order (the list's order for @demo); returns how many there are, 0 for
 * an unknown group. A family's group holds the chips of the families below it as well. */
size_t hw_database_group(const struct hw_database *db, const char *group, const struct hw_chip **chips,
                         size_t capacity);
/* The group with the name nearest to `group`, for messages; NULL when none is near. Without '@'. */
const char *hw_database_near_group(const struct hw_database *db, const char *group);
const struct hw_field *hw_chip_field(const struct hw_chip *chip, const char *key);
/* The value of a numeric fact; false when it is absent or not a number. */
bool hw_chip_number(const struct hw_chip *chip, const char *key, double *value);
/* True when the chip inherits the family or chip of that id, directly or not. */
bool hw_chip_is_a(const struct hw_chip *chip, const char *family);

/* The engine type that stands for `dtype` in the rate tables; DTYPE_NONE for NONE. */
enum dtype hw_engine_type(enum dtype dtype);
/* Rates. `runs_as` receives the type actually computed in. False = the chip refuses the type. */
bool hw_chip_matrix_rate(const struct hw_chip *chip, enum dtype dtype, double *flops, enum dtype *runs_as);
bool hw_chip_vector_rate(const struct hw_chip *chip, enum dtype dtype, double *flops, enum dtype *runs_as);

/* One published peak against counts x rate x clock. */
struct hw_check {
  const char *key; /* "peak.bf16" */
  const char *formula; /* "cores x matrix.units_per_core x ... ", static storage */
  double published; /* the chosen value of `key` */
  double computed;
};
/* Writes up to `capacity` comparisons that the chip's fields allow; returns how many there are. */
size_t hw_chip_peaks(const struct hw_chip *chip, struct hw_check *checks, size_t capacity);
/* Recomputes published peaks (W0309 when they differ by more than 3 %) and bounds numbers against each other (E0303).
 * STATUS_INPUT when there was an error. */
enum status hw_chip_check(const struct hw_chip *chip, struct diag_list *diags);
/* Warns of what keeps the chip from predicting (W0310) and of own keys that nothing reads but that look like keys that are
 * read (W0311). Keys that a chip of `known` has are facts in use; `known` may be NULL. */
void hw_chip_check_keys(const struct hw_chip *chip, const struct hw_database *known, struct diag_list *diags);
/* True when the field comes from the defaults of the chip's kind. */
bool hw_field_is_default(const struct hw_chip *chip, const struct hw_field *field);

const char *hw_kind_name(enum hw_kind kind);
const char *hw_fact_kind_name(enum hw_fact_kind kind);

#endif
