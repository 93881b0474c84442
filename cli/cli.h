/* What the sub-commands share: option parsing, output, diagnostics, progress. One file per sub-command; this directory
 * includes the public header only. */
#ifndef RIDGELINE_CLI_CLI_H
#define RIDGELINE_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "ridgeline/ridgeline.h"

/* Exit statuses of every command. */
enum cli_exit { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

struct cli_command {
  const char *name;
  const char *summary;
  const char *usage; /* full help with examples */
  int (*run)(int argc, char **argv);
};

extern const struct cli_command cli_predict, cli_inspect, cli_explain, cli_convert, cli_chips, cli_validate,
    cli_calibrate, cli_profile, cli_run, cli_generate, cli_plan, cli_clusters, cli_collectives;

/* One option of a command. Exactly one of the targets is set. */
struct cli_option {
  const char *name; /* long name without dashes */
  char letter; /* short name or 0 */
  bool *flag; /* set to true */
  const char **text; /* takes a value, once */
  struct cli_list *list; /* takes a value each time; commas separate values when `commas` */
  bool commas;
};

struct cli_list {
  const char *items[512];
  size_t count;
  char *storage[64]; /* copies that were split at commas */
  size_t storage_count;
};

/* Parses options anywhere between the positional arguments. Returns CLI_OK, or CLI_USAGE after printing why. `positional`
 * receives at most `capacity` arguments; --help prints the command's help and sets *help. */
int cli_parse(const struct cli_command *command, int argc, char **argv, const struct cli_option *options,
              size_t option_count, const char **positional, size_t capacity, size_t *positional_count, bool *help);
void cli_list_release(struct cli_list *list);
/* What a command that reads a program says about it in its usage. */
#define CLI_PROGRAM_HELP                                                                                               \
  "PROGRAM is StableHLO text or bytecode, XLA's HLO text or ONNX, also as .gz or .zst; '-' reads standard input.\n"
/* "ridgeline predict: message" plus a hint to --help; returns CLI_USAGE. */
int cli_usage_error(const struct cli_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Output to standard output or, when `path` is set, to a file. A regular or new file appears only when everything was
 * written; links are followed; devices and pipes are written to as they are. */
struct cli_output {
  FILE *stream;
  const char *path; /* as given; NULL = standard output */
  char target[4096]; /* behind links */
  char temporary[4096]; /* renamed to `target` at the end, when `is_replaced` */
  bool is_replaced;
  bool is_closed; /* the reader of a pipe is gone */
  bool failed;
};
/* CLI_USAGE, and says so, when the name asks for what is not written; cli_output_open calls it, too. */
int cli_output_check(const char *path);
int cli_output_open(struct cli_output *output, const char *path);
rdg_sink cli_output_sink(struct cli_output *output);
/* What `-o FILE` asks for by its ending: .json JSON, .trace.json .trace .pftrace a trace (when `with_trace`), else text;
 * --json gives JSON in any file. */
rdg_format cli_output_format(const char *path, bool json, bool with_trace);
/* Closes; when `keep`, a file output takes its name, else it is removed. Returns CLI_OK or CLI_FAILED. */
int cli_output_close(struct cli_output *output, bool keep);

/* Prints the context's diagnostics on stderr and maps a status to an exit status. */
int cli_finish(rdg_context *ctx, rdg_status status);

/* Says on stderr what is being done, from one second on, while it lasts; silent when stderr is no terminal. */
struct cli_progress;
struct cli_progress *cli_progress_begin(const char *what);
void cli_progress_end(struct cli_progress *progress);

/* Reads a number from 1 to `most`, all of the text. */
bool cli_count(const char *text, uint64_t most, uint64_t *value);

/* Options of `predict --cluster` as given, NULL = not given (predict_step.c). */
struct cli_step {
  const char *devices, *shape, *overlap, *straggler, *network, *chakra, *chakra_ranks;
};
/* True when one of them is. */
bool cli_step_is_asked(const struct cli_step *step);
/* Predicts on the clusters, writes the report to `output` and execution traces where asked for. `options` has what --on takes,
 * too. */
int cli_predict_step(rdg_context *ctx, rdg_program *program, const struct cli_list *clusters,
                     const struct cli_step *step, const rdg_step_options *options, const char *output, bool json);
/* Says what is wrong with the numbers, before anything is read. */
int cli_step_check(const struct cli_command *command, const struct cli_step *step);

/* Element type of a model's weights as the library names it: "int8" is i8, "int4" i4. NULL gives NULL. */
const char *cli_weights(const char *text);

/* Loads the program named on the command line with progress. */
rdg_status cli_load(rdg_context *ctx, const char *path, const struct cli_list *binds, const char *entry,
                    rdg_program **program);

#endif
