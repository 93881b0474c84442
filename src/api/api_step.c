/* Steps of distributed programs on clusters: options by name, one prediction per cluster, what is written of them. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_context.h"
#include "api/api_network.h"
#include "cluster/step.h"
#include "io/output_file.h"
#include "program/program_step.h"
#include "report/report_step.h"

enum { DEFAULT_TOP = 10, SLICE_TEXT = 96 };

struct step_row {
  const struct hw_cluster *cluster;
  const struct hw_chip *chip;
  struct hw_slice slice;
  char slice_text[SLICE_TEXT];
  struct hw_chip device; /* of the cluster, as a chip */
  struct program_step *run; /* NULL when refused early */
  struct step_result result;
  char *refusal; /* owned; NULL = predicted */
};

struct rdg_step {
  struct program *program; /* borrowed */
  const char *fidelity, *network;
  unsigned top;
  bool has_timeline;
  struct step_row *rows;
  size_t count;
};

/* ---- options ---- */

static const char *const overlaps[STEP_OVERLAP_COUNT] = {[STEP_OVERLAP_NONE] = "none",
                                                         [STEP_OVERLAP_AS_WRITTEN] = "as-written",
                                                         [STEP_OVERLAP_LATENCY_HIDING] = "latency-hiding",
                                                         [STEP_OVERLAP_EARLY_LATE] = "early-late"};
static const char *const networks[] = {"analytic", "event"};

/* Number of a name in a list; false and a diagnostic that lists them when it is none. */
static bool choose(rdg_context *ctx, const char *what, const char *name, const char *const *names, size_t count,
                   size_t *chosen) {
  struct strbuf text = {0};
  for (size_t i = 0; i < count; i++) {
    strbuf_printf(&text, "%s%s", i ? ", " : "", names[i]);
    if (strcmp(names[i], name) == 0) {
      *chosen = i;
      strbuf_release(&text);
      return true;
    }
  }
  diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "there is no %s '%s'; there are: %s", what, name,
            strbuf_text(&text));
  strbuf_release(&text);
  return false;
}

/* What the options ask for, by number. */
struct request {
  const rdg_step_options *options;
  const struct cost_model *model;
  struct cost_options cost;
  const enum step_overlap *overlap; /* NULL = not stated */
  enum step_overlap overlap_value;
  bool has_events; /* collectives on the event-driven network */
};

static rdg_status resolve(rdg_context *ctx, const rdg_step_options *options, struct request *request,
                          const char **network) {
  size_t overlap = 0, net = 0;
  const rdg_predict_options of_chip = {.fidelity = options->fidelity, .f32_as = options->f32_as};
  *request = (struct request){.options = options};
  rdg_status status = api_predict_options(ctx, &of_chip, &request->model, &request->cost);
  if (status != RDG_OK) {
    return status;
  }
  if ((options->overlap
       && !choose(ctx, "overlap", options->overlap, overlaps, sizeof overlaps / sizeof *overlaps, &overlap))
      || (options->network
          && !choose(ctx, "network", options->network, networks, sizeof networks / sizeof *networks, &net))) {
    return RDG_ERROR_INPUT;
  }
  if (!(options->straggler >= 0 && options->straggler < 1)) {
    diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "the spread of the devices' speeds is a fraction from 0 to 1");
    return RDG_ERROR_INPUT;
  }
  request->overlap_value = (enum step_overlap)overlap;
  request->overlap = options->overlap ? &request->overlap_value : NULL;
  request->has_events = net == 1;
  *network = networks[net];
  return RDG_OK;
}

/* ---- the run ---- */

/* Devices that the collectives of a graph name. */
static uint64_t devices_of_groups(const struct work_graph *graph) {
  uint64_t devices = 1;
  for (size_t i = 0; i < graph->members.count; i++) {
    uint64_t member = graph->members.data[i];
    devices = member != UINT32_MAX && member + 1 > devices ? member + 1 : devices;
  }
  for (size_t i = 0; i < graph->subgraphs.count; i++) {
    uint64_t inside = devices_of_groups(graph->subgraphs.data[i]);
    devices = inside > devices ? inside : devices;
  }
  return devices;
}

/* As many as the program states, else as its groups name. */
static uint64_t devices_of(const struct program *program) {
  uint64_t stated = program_step_devices(program);
  return stated > 1 ? stated : devices_of_groups(program->unfused);
}

/* A program whose spreading is only annotated is the whole on every device. */
static enum status check_partitioned(const struct program *program, struct diag_list *diags) {
  const struct work_graph *graph = program->unfused;
  if (graph->partitions <= 1 || graph->is_partitioned) {
    return STATUS_OK;
  }
  diag_file(diags, DIAG_E0408_GROUPS, program->source.name, 0, 0,
            "the program is written for %" PRIu32
            " devices, but not partitioned: its operations are those of the whole; "
            "export it with explicit collectives, as XLA's SPMD partitioner or shard_map leave it",
            graph->partitions);
  return STATUS_UNSUPPORTED;
}

static enum status check_devices(const struct program *program, const struct step_row *row, struct diag_list *diags) {
  uint64_t written_for = devices_of(program), devices = row->slice.devices;
  if (written_for <= 1 || devices == written_for) {
    return STATUS_OK;
  }
  diag_file(diags, DIAG_E0314_SLICE, NULL, 0, 0,
            "the program is written for %" PRIu64 " devices, the slice of %s has %" PRIu64 "%s", written_for,
            row->cluster->id, devices, devices > written_for ? ": its groups leave out the others" : "");
  return STATUS_INPUT;
}

/* Sorts of collectives that the event-driven network did not time. */
static void note_fallen_back(const struct api_event_pricing *events, struct step_result *result) {
  struct strbuf text = {0};
  if (events->fallen_back > 0) {
    strbuf_printf(&text,
                  "%" PRIu64 " of %" PRIu64 " sorts of collectives have the closed form's time: messages between "
                  "two devices, irregular groups, or an algorithm without messages",
                  events->fallen_back, events->priced);
    char *kept = arena_strndup(&result->arena, strbuf_text(&text), text.length);
    struct work_note note = {.id = DIAG_W0503_NOT_TIMED, .text = kept, .count = 1};
    (void)(kept && vec_push(&result->notes, note));
  }
  strbuf_release(&text);
}

static enum status run_row(struct program *program, const struct request *request, struct diag_list *diags,
                           struct step_row *row) {
  struct api_event_pricing events;
  api_event_pricing_init(&events, row->cluster, &row->slice);
  const struct step_options of_run = {.pricing = request->has_events ? &events.pricing : NULL,
                                      .straggler_sigma = request->options->straggler,
                                      .keep_spans = request->options->timeline};
  const struct program_step_options of_program = {
      .model = request->model, .cost = request->cost, .devices = row->slice.devices};
  step_device_of(row->cluster, row->chip, &row->device);
  STATUS_TRY(program_step_read(program, &row->device, &of_program, diags, &row->run));
  if (row->run->refusal) {
    diag_file(diags, DIAG_E0308_MISSING_FIELD, NULL, 0, 0, "%s: %s", row->chip->id, row->run->refusal);
    return STATUS_UNSUPPORTED;
  }
  row->run->step.overlap = request->overlap ? *request->overlap : row->run->step.overlap;
  STATUS_TRY(step_run(&row->run->step, row->cluster, &row->slice, &row->device, &of_run, diags, &row->result));
  if (request->has_events) {
    note_fallen_back(&events, &row->result);
  }
  return STATUS_OK;
}

static enum status predict_row(rdg_context *ctx, struct program *program, const struct request *request,
                               struct diag_list *diags, struct step_row *row) {
  row->chip = hw_database_find(&ctx->chips, row->cluster->chip, diags);
  if (!row->chip) {
    return STATUS_INPUT;
  }
  uint64_t devices = request->options->devices ? request->options->devices : devices_of(program);
  STATUS_TRY(hw_slice_of(row->cluster, devices, request->options->shape, diags, &row->slice));
  hw_slice_text(&row->slice, row->cluster, row->slice_text, sizeof row->slice_text);
  STATUS_TRY(check_partitioned(program, diags));
  STATUS_TRY(check_devices(program, row, diags));
  return run_row(program, request, diags, row);
}

/* Passes what one cluster's prediction said on to the context: all of it when it is the only one, else warnings. */
static void pass_on(rdg_context *ctx, const struct diag_list *diags, bool with_errors) {
  for (size_t i = 0; i < diags->entries.count; i++) {
    const struct diag *d = &diags->entries.data[i];
    if (with_errors || d->severity != DIAG_ERROR) {
      diag_file(&ctx->diags, d->id, d->file, d->line, d->column, "%s", d->message);
    }
  }
}

static const char *first_error(const struct diag_list *diags) {
  for (size_t i = 0; i < diags->entries.count; i++) {
    if (diags->entries.data[i].severity == DIAG_ERROR) {
      return diags->entries.data[i].message;
    }
  }
  return "cannot be predicted";
}

static enum status predict_rows(rdg_context *ctx, rdg_step *step, const struct request *request) {
  size_t refused = 0;
  enum status last = STATUS_OK;
  for (size_t i = 0; i < step->count; i++) {
    struct diag_list diags;
    diag_init(&diags);
    enum status status = predict_row(ctx, step->program, request, &diags, &step->rows[i]);
    bool is_refusal = status == STATUS_INPUT || status == STATUS_UNSUPPORTED;
    if (is_refusal) {
      step->rows[i].refusal = strdup(first_error(&diags));
      refused++;
      last = status;
    }
    pass_on(ctx, &diags, !is_refusal || step->count == 1);
    diag_release(&diags);
    if ((status != STATUS_OK && !is_refusal) || (is_refusal && !step->rows[i].refusal)) {
      return is_refusal ? STATUS_MEMORY : status;
    }
  }
  if (refused < step->count) {
    return STATUS_OK;
  }
  for (size_t i = 0; step->count > 1 && i < step->count; i++) {
    diag_file(&ctx->diags, DIAG_E0314_SLICE, NULL, 0, 0, "%s: %s", step->rows[i].cluster->id, step->rows[i].refusal);
  }
  return last;
}

static rdg_status find_clusters(rdg_context *ctx, const char *const *names, size_t count, rdg_step *step) {
  for (size_t i = 0; i < count; i++) {
    const struct hw_cluster *cluster;
    rdg_status status = api_find_cluster(ctx, names[i], &cluster);
    if (status != RDG_OK) {
      return status;
    }
    bool is_known = false;
    for (size_t k = 0; k < step->count; k++) {
      is_known |= step->rows[k].cluster == cluster;
    }
    if (!is_known) {
      step->rows[step->count].cluster = cluster;
      step_result_init(&step->rows[step->count++].result);
    }
  }
  return RDG_OK;
}

rdg_status rdg_step_predict(rdg_context *ctx, rdg_program *program, const char *const *names, size_t count,
                            const rdg_step_options *options, rdg_step **out) {
  static const rdg_step_options defaults = {0};
  struct request request;
  api_begin(ctx);
  *out = NULL;
  if (!api_has_counts(ctx, program)) {
    return RDG_ERROR_UNSUPPORTED;
  }
  rdg_step *step = calloc(1, sizeof *step);
  struct step_row *rows = calloc(count ? count : 1, sizeof *rows);
  if (!step || !rows) {
    free(step);
    free(rows);
    return api_result(ctx, RDG_ERROR_MEMORY);
  }
  options = options ? options : &defaults;
  step->rows = rows;
  step->program = program->program;
  step->top = options->top ? options->top : DEFAULT_TOP;
  step->has_timeline = options->timeline;
  rdg_status status = resolve(ctx, options, &request, &step->network);
  if (status == RDG_OK) {
    step->fidelity = request.model->name;
    status = find_clusters(ctx, names, count, step);
  }
  if (status == RDG_OK && step->count == 0) {
    diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "no cluster is named");
    status = RDG_ERROR_INPUT;
  }
  if (status == RDG_OK) {
    status = api_status(predict_rows(ctx, step, &request));
  }
  if (status != RDG_OK) {
    rdg_step_free(step);
    return api_result(ctx, status);
  }
  *out = step;
  return RDG_OK;
}

void rdg_step_free(rdg_step *step) {
  if (!step) {
    return;
  }
  for (size_t i = 0; i < step->count; i++) {
    step_result_release(&step->rows[i].result);
    program_step_free(step->rows[i].run);
    free(step->rows[i].refusal);
  }
  free(step->rows);
  free(step);
}

/* ---- what it says ---- */

size_t rdg_step_count(const rdg_step *step) {
  return step->count;
}

static uint64_t whole_bytes(double bytes) {
  return bytes > 0 && bytes < 9e18 ? (uint64_t)bytes : 0;
}

static rdg_step_estimate estimate_of(const struct step_row *row) {
  const struct step_result *r = &row->result;
  return (rdg_step_estimate){.cluster_id = row->cluster->id,
                             .cluster_name = row->cluster->name,
                             .chip_id = row->cluster->chip,
                             .slice = row->slice_text,
                             .devices = r->devices,
                             .time_s = r->time_s,
                             .low_s = r->low_s,
                             .high_s = r->high_s,
                             .compute_s = r->compute_s,
                             .exposed_s = r->exposed_s,
                             .bubble_s = r->bubble_s,
                             .straggler_s = r->straggler_s,
                             .dispatch_s = r->dispatch_s,
                             .communication_s = r->communication_s,
                             .contention_s = r->contention_s,
                             .mfu = r->mfu,
                             .hfu = r->hfu,
                             .tokens_per_s = r->tokens_per_s,
                             .samples_per_s = r->samples_per_s,
                             .energy_J = r->energy_J,
                             .price_usd = r->price_usd,
                             .memory_bytes = whole_bytes(r->memory.total_bytes),
                             .capacity_bytes = whole_bytes(r->memory.capacity_bytes),
                             .fits = r->memory.capacity_bytes > 0 && r->memory.fits};
}

static rdg_step_estimate refusal_of(const struct step_row *row) {
  const double nan = (double)NAN;
  return (rdg_step_estimate){.cluster_id = row->cluster->id,
                             .cluster_name = row->cluster->name,
                             .chip_id = row->cluster->chip,
                             .slice = row->slice_text,
                             .time_s = nan,
                             .low_s = nan,
                             .high_s = nan,
                             .compute_s = nan,
                             .exposed_s = nan,
                             .bubble_s = nan,
                             .straggler_s = nan,
                             .dispatch_s = nan,
                             .communication_s = nan,
                             .contention_s = nan,
                             .mfu = nan,
                             .hfu = nan,
                             .tokens_per_s = nan,
                             .samples_per_s = nan,
                             .energy_J = nan,
                             .price_usd = nan,
                             .refused = true,
                             .reason = row->refusal};
}

bool rdg_step_get(const rdg_step *step, size_t i, rdg_step_estimate *estimate) {
  if (i >= step->count) {
    return false;
  }
  *estimate = step->rows[i].refusal ? refusal_of(&step->rows[i]) : estimate_of(&step->rows[i]);
  return true;
}

/* ---- output ---- */

static struct report_step_row *report_rows(const rdg_step *step) {
  struct report_step_row *rows = calloc(step->count, sizeof *rows);
  for (size_t i = 0; rows && i < step->count; i++) {
    const struct step_row *row = &step->rows[i];
    rows[i] = (struct report_step_row){.cluster = row->cluster,
                                       .slice = &row->slice,
                                       .chip = row->chip,
                                       .program = row->run ? &row->run->step : NULL,
                                       .result = row->refusal ? NULL : &row->result,
                                       .refusal = row->refusal};
  }
  return rows;
}

static rdg_status need_timeline(rdg_context *ctx, const rdg_step *step) {
  if (step->has_timeline) {
    return RDG_OK;
  }
  diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0,
            "the step was predicted without its timeline: set `timeline` of the options");
  return RDG_ERROR_INPUT;
}

rdg_status rdg_step_write(rdg_context *ctx, const rdg_step *step, rdg_format format, rdg_sink sink) {
  api_begin(ctx);
  rdg_status status = format == RDG_FORMAT_TRACE ? need_timeline(ctx, step) : RDG_OK;
  struct report_step_row *rows = report_rows(step);
  if (status != RDG_OK || !rows) {
    free(rows);
    return api_result(ctx, status != RDG_OK ? status : RDG_ERROR_MEMORY);
  }
  struct report_step report = {.program = step->program->source.name,
                               .version = rdg_version(),
                               .fidelity = step->fidelity,
                               .network = step->network,
                               .source = &step->program->source,
                               .rows = rows,
                               .count = step->count,
                               .top = step->top};
  struct strbuf out = {0};
  enum status written = STATUS_OK;
  if (format == RDG_FORMAT_JSON) {
    written = report_step_json(&report, &out);
  } else if (format == RDG_FORMAT_TRACE) {
    written = report_step_trace(&report, &out);
  } else {
    report_step_text(&report, &out);
  }
  free(rows);
  if (written != STATUS_OK) {
    strbuf_release(&out);
    return api_result(ctx, api_status(written));
  }
  return api_flush(ctx, &out, sink);
}

/* ---- execution traces ---- */

/* All ranks together may have so many bytes; the user bounds the ranks of larger ones. */
static const uint64_t chakra_bytes_max = (uint64_t)8 << 30;

static const struct step_row *fastest(const rdg_step *step) {
  const struct step_row *best = NULL;
  for (size_t i = 0; i < step->count; i++) {
    const struct step_row *row = &step->rows[i];
    if (!row->refusal && (!best || row->result.time_s < best->result.time_s)) {
      best = row;
    }
  }
  return best;
}

/* The program's name without its directory and endings. */
static void put_stem(struct strbuf *out, const char *name) {
  static const char *const endings[] = {".zst", ".gz", ".bc", ".mlir", ".txt", ".hlo", ".onnx"};
  const char *slash = strrchr(name, '/');
  name = slash ? slash + 1 : name;
  size_t length = strlen(name);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    size_t end = strlen(endings[i]);
    if (length > end && strncmp(name + length - end, endings[i], end) == 0) {
      length -= end;
    }
  }
  strbuf_add(out, name, length);
}

struct chakra_job {
  struct report_chakra *chakra;
  const char *directory, *name;
  uint64_t ranks;
  const rdg_chakra_options *options;
};

static enum status write_rank(const struct chakra_job *job, uint64_t rank, struct strbuf *text,
                              struct diag_list *diags) {
  struct strbuf path = {0};
  strbuf_clear(text);
  strbuf_printf(&path, "%s/%s.%" PRIu64 ".et", job->directory, job->name, rank);
  enum status status = report_chakra_rank(job->chakra, rank, diags, text);
  if (status == STATUS_OK && rank == 0 && text->length > chakra_bytes_max / job->ranks) {
    diag_file(diags, DIAG_E0005_LIMIT, NULL, 0, 0,
              "execution traces of %" PRIu64 " ranks with %zu bytes each are more than %" PRIu64
              " GiB; --chakra-ranks N writes those of the first N",
              job->ranks, text->length, chakra_bytes_max >> 30);
    status = STATUS_LIMIT;
  }
  if (status == STATUS_OK) {
    status = path.failed ? STATUS_MEMORY : output_file_write(strbuf_text(&path), text->data, text->length, diags);
  }
  strbuf_release(&path);
  return status;
}

static enum status write_ranks(const struct chakra_job *job, struct diag_list *diags) {
  struct strbuf text = {0}, path = {0};
  enum status status = STATUS_OK;
  for (uint64_t rank = 0; rank < job->ranks && status == STATUS_OK; rank++) {
    status = write_rank(job, rank, &text, diags);
    if (status == STATUS_OK && job->options->progress) {
      job->options->progress(job->options->user, rank + 1, job->ranks);
    }
  }
  if (status == STATUS_OK) {
    strbuf_clear(&text);
    report_chakra_groups(job->chakra, &text);
    strbuf_printf(&path, "%s/comm_group.json", job->directory);
    status = text.failed || path.failed ? STATUS_MEMORY
                                        : output_file_write(strbuf_text(&path), text.data, text.length, diags);
  }
  strbuf_release(&text);
  strbuf_release(&path);
  return status;
}

static enum status write_chakra(const rdg_step *step, const struct step_row *row, const char *directory,
                                const rdg_chakra_options *options, struct diag_list *diags) {
  struct report_chakra_options of_report = {step->program->source.name, rdg_version(), row->result.devices};
  struct strbuf name = {0};
  if (options->name) {
    strbuf_puts(&name, options->name);
  } else {
    put_stem(&name, step->program->source.name);
  }
  struct chakra_job job = {
      .directory = directory, .name = strbuf_text(&name), .ranks = row->result.devices, .options = options};
  job.ranks = options->ranks && options->ranks < job.ranks ? options->ranks : job.ranks;
  enum status status = name.failed ? STATUS_MEMORY : output_directory_make(directory, diags);
  if (status == STATUS_OK) {
    status = report_chakra_new(&of_report, &row->run->step, &row->result, diags, &job.chakra);
  }
  if (status == STATUS_OK) {
    status = write_ranks(&job, diags);
  }
  report_chakra_free(job.chakra);
  strbuf_release(&name);
  return status;
}

rdg_status rdg_step_write_chakra(rdg_context *ctx, const rdg_step *step, const char *directory,
                                 const rdg_chakra_options *options) {
  static const rdg_chakra_options defaults = {0};
  api_begin(ctx);
  const struct step_row *row = fastest(step);
  if (!row) {
    diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "no cluster can run the program: there is nothing to trace");
    return RDG_ERROR_INPUT;
  }
  return api_result(ctx, api_status(write_chakra(step, row, directory, options ? options : &defaults, &ctx->diags)));
}
