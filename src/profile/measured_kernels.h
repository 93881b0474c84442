/* Measured operators as kernel shapes: what calibrate fits and validate scores. Path: mapping files + published tables →
 * profile (store) → these rows. */
#ifndef RIDGELINE_PROFILE_MEASURED_KERNELS_H
#define RIDGELINE_PROFILE_MEASURED_KERNELS_H

#include "hw/hw.h"
#include "kernel/kernel.h"
#include "store/store.h"

struct measured_kernel {
  const struct hw_chip *chip;
  struct kernel_shape shape;
  double latency_s, spread_s;
  uint8_t split; /* enum store_split */
  uint8_t fold; /* 0..4 of the hash of the shape's text, for every split; see store_fold */
  bool may_fit;
  uint16_t source; /* index into sources */
};

struct measured_kernels {
  struct arena arena;
  VEC(struct measured_kernel) rows; /* sorted by chip id, class, format, then as read */
  VEC(const char *) sources;
  uint64_t skipped; /* rows of unknown devices, classes or formats, with an impossible shape, or without a time */
};

/* Reads all operators of a profile. Unknown devices, classes and formats are counted and said once each (W0603). */
enum status measured_kernels_load(struct measured_kernels *kernels, struct store *profile,
                                  const struct hw_database *chips, struct diag_list *diags);
void measured_kernels_release(struct measured_kernels *kernels);

/* A shape from its JSON text: keys are the members of the structs of kernel.h ("m", "n", "k", "batch"; "queries",
 * "context", "heads", "kv_heads", "head_dim", "window", "causal"; "tokens", "hidden", ...; "rows", "columns", "reads",
 * "writes", "vector_flops", "function"), plus "warm", "quantises", "bias" (0 or 1). Absent members have the value that
 * changes nothing (batch 1, window 0). False when a needed extent is missing, below 1 or above 1e15. */
bool measured_shape_parse(enum kernel_class class_of, enum kernel_format format, const char *json,
                          struct kernel_shape *shape);

enum { MEASURED_SHAPE_KEY_MAX = 16 };
/* The keys that shapes of a class may have; is_needed[i]: without names[i] there is no shape. Returns how many. */
unsigned measured_shape_keys(enum kernel_class class_of, const char *names[MEASURED_SHAPE_KEY_MAX],
                             bool is_needed[MEASURED_SHAPE_KEY_MAX]);
/* "exp", "rsqrt", ...: the names that "function" may have beside the number of enum hw_function; HW_FUNCTION_COUNT for
 * "none" and names that are none. */
enum hw_function measured_function_find(const char *name);

/* The published tables of one source into a profile, as its mapping file says (measurements/<source>.yaml;
 * docs/profiles.md). Paths in it are relative to `data_directory`. Operators that the profile has of the source are
 * replaced; after a failure the profile is as before. *added and *absent are added to; a table that is absent is W0604. */
enum status profile_import_mapping(struct store *profile, const char *mapping_path, const char *data_directory,
                                   uint64_t *added, uint64_t *absent, struct diag_list *diags);
/* All mapping files of a directory, sorted by name. */
enum status profile_import_all(struct store *profile, const char *mapping_directory, const char *data_directory,
                               uint64_t *added, uint64_t *absent, struct diag_list *diags);
/* Plain CSV in the columns of store_operator and store_program; docs/profiles.md. Import tells operators from programs by
 * the heading and replaces the rows that the profile has of the sources in the file. */
enum status profile_export_csv(struct store *profile, bool programs, struct strbuf *out, struct diag_list *diags);
enum status profile_import_csv(struct store *profile, const char *path, uint64_t *added, struct diag_list *diags);
/* What a profile holds: rows per source, device, op, format and split, with licence and use. */
enum status profile_show(struct store *profile, bool as_json, struct strbuf *out, struct diag_list *diags);

#endif
