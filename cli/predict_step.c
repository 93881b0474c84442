/* ridgeline predict --cluster: a step of a distributed program on clusters. */
#include <stdint.h>
#include <stdlib.h>

#include "cli.h"

/* ---- options ---- */

static bool read_share(const char *text, double *value) {
  char *end = NULL;
  *value = strtod(text, &end);
  return *text != '\0' && *end == '\0' && *value >= 0 && *value < 1;
}

int cli_step_check(const struct cli_command *command, const struct cli_step *step) {
  uint64_t count;
  double share;
  if (step->devices && !cli_count(step->devices, UINT64_MAX, &count)) {
    return cli_usage_error(command, "--devices takes a number of devices, not '%s'", step->devices);
  }
  if (step->straggler && !read_share(step->straggler, &share)) {
    return cli_usage_error(command, "--straggler takes a fraction from 0 to 1, such as 0.02, not '%s'",
                           step->straggler);
  }
  if (step->chakra_ranks && !cli_count(step->chakra_ranks, UINT64_MAX, &count)) {
    return cli_usage_error(command, "--chakra-ranks takes a number of ranks, not '%s'", step->chakra_ranks);
  }
  if (step->chakra_ranks && !step->chakra) {
    return cli_usage_error(command, "--chakra-ranks goes with --chakra DIR");
  }
  return CLI_OK;
}

bool cli_step_is_asked(const struct cli_step *step) {
  return step->devices || step->shape || step->overlap || step->straggler || step->network || step->chakra
         || step->chakra_ranks;
}

/* ---- output ---- */

static int write_step(rdg_context *ctx, const rdg_step *step, const char *path, rdg_format format) {
  struct cli_output output;
  int status = cli_output_open(&output, path);
  if (status != CLI_OK) {
    return status;
  }
  rdg_status written = rdg_step_write(ctx, step, format, cli_output_sink(&output));
  status = cli_finish(ctx, written);
  int closed = cli_output_close(&output, written == RDG_OK);
  return status == CLI_OK ? closed : status;
}

static int write_chakra(rdg_context *ctx, const rdg_step *result, const struct cli_step *step) {
  rdg_chakra_options options = {0};
  if (step->chakra_ranks) {
    cli_count(step->chakra_ranks, UINT64_MAX, &options.ranks);
  }
  struct cli_progress *progress = cli_progress_begin("writing execution traces");
  rdg_status status = rdg_step_write_chakra(ctx, result, step->chakra, &options);
  cli_progress_end(progress);
  return cli_finish(ctx, status);
}

int cli_predict_step(rdg_context *ctx, rdg_program *program, const struct cli_list *clusters,
                     const struct cli_step *step, const rdg_step_options *asked, const char *output, bool json) {
  rdg_step_options options = *asked;
  rdg_format format = cli_output_format(output, json, true);
  options.network = step->network;
  options.overlap = step->overlap;
  options.shape = step->shape;
  options.timeline = format == RDG_FORMAT_TRACE || step->chakra;
  if (step->devices) {
    cli_count(step->devices, UINT64_MAX, &options.devices);
  }
  if (step->straggler) {
    read_share(step->straggler, &options.straggler);
  }
  rdg_step *result = NULL;
  struct cli_progress *progress = cli_progress_begin("predicting");
  rdg_status status = rdg_step_predict(ctx, program, clusters->items, clusters->count, &options, &result);
  cli_progress_end(progress);
  int exit_status = cli_finish(ctx, status);
  if (exit_status == CLI_OK) {
    exit_status = write_step(ctx, result, output, format);
  }
  if (exit_status == CLI_OK && step->chakra) {
    exit_status = write_chakra(ctx, result, step);
  }
  rdg_step_free(result);
  return exit_status;
}
