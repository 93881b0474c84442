/* Inside of the public handles; shared by the files of api/ only. */
#ifndef RIDGELINE_API_API_CONTEXT_H
#define RIDGELINE_API_API_CONTEXT_H

#include "base/arena.h"
#include "base/diag.h"
#include "hw/hw_cluster.h"
#include "program/program.h"
#include "ridgeline/ridgeline.h"

struct rdg_context {
  char *hardware_directory; /* NULL = search */
  size_t memory_budget_bytes;
  struct diag_list diags;
  struct strbuf diag_text;
  struct hw_database chips;
  bool chips_loaded;
  struct hw_clusters clusters;
  bool clusters_loaded;
  char calibration_directory[4096]; /* filled on first use */
  char beside[4096]; /* share/ridgeline of this installation (api_find_installation); "" when it is none */
  char installed_hardware[4096 + 16]; /* hardware/ in there, or "" */
};

/* Inputs or outputs of the entry function: the leaves of its types without tokens. */
struct api_signature {
  rdg_signature_entry *entries; /* texts and dims in the program's arena */
  struct ir_type *types; /* of the entries */
  size_t count;
};

struct rdg_program {
  struct program *program;
  struct arena arena;
  struct api_signature inputs, outputs;
};

/* Fills in the signatures; false when memory is exhausted. More than API_MAX_LEAVES leaves: left empty, not to be run. */
enum { API_MAX_LEAVES = 65536 };
bool api_sign(rdg_program *program);
/* The handle of a program, which it owns from here on, also on failure. */
rdg_status api_wrap(struct program *program, rdg_program **out);
/* True when the program has its counts; else a diagnostic. */
bool api_has_counts(rdg_context *ctx, const rdg_program *program);

/* Translates; internal and public numbers agree. */
rdg_status api_status(enum status status);
/* The folder share/ridgeline of the prefix that the shared library, or else the running program, is installed in: an
 * installation may be moved as a whole. False, and `share` is "", when it is not installed. */
bool api_find_installation(char *share, size_t size);
/* Where chip files are read from. */
const char *api_hardware_directory(const rdg_context *ctx);
/* A folder installed beside the chip files of the running program, in `path`; NULL when the environment variable says
 * otherwise or the program is not an installed one: the callee then searches. */
const char *api_installed_folder(const rdg_context *ctx, const char *variable, const char *name, char *path,
                                 size_t size);
/* Loads the chip files on first use; bad files are diagnostics and left out. */
rdg_status api_need_chips(rdg_context *ctx);
/* Resolves an id, alias or path of a YAML file. */
rdg_status api_find_chip(rdg_context *ctx, const char *name, const struct hw_chip **chip);
/* Resolves names and groups into chips without repetition; the array is the caller's to free. */
rdg_status api_find_chips(rdg_context *ctx, const char *const *names, size_t count, const struct hw_chip ***chips,
                          size_t *chip_count);
/* The same for clusters (api_clusters.c): loads their files and those of chips on first use, and finds one of them. */
rdg_status api_need_clusters(rdg_context *ctx);
rdg_status api_find_cluster(rdg_context *ctx, const char *name, const struct hw_cluster **cluster);
/* True when `name` is the path of a YAML file, not an id. */
bool api_is_path(const char *name);
/* The model and its options that predictions are made with; a diagnostic when a name is none. `options` may be NULL. */
rdg_status api_predict_options(rdg_context *ctx, const rdg_predict_options *options, const struct cost_model **model,
                               struct cost_options *cost_options);
/* Writes the buffer out and releases it. */
rdg_status api_flush(rdg_context *ctx, struct strbuf *out, rdg_sink sink);
/* The same when `status` is RDG_OK; else releases the buffer and passes the status on. */
rdg_status api_finish(rdg_context *ctx, rdg_status status, struct strbuf *out, rdg_sink sink);
/* Passes a status on; a failure that nobody gave a reason for (memory, limits) gets its diagnostic. */
rdg_status api_result(rdg_context *ctx, rdg_status status);
/* Forgets the diagnostics of earlier calls: every public call that can fail starts with it. */
void api_begin(rdg_context *ctx);

#endif
