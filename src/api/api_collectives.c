/* Algorithms of collectives on a cluster, side by side. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_context.h"
#include "api/api_network.h"
#include "cluster/collective.h"
#include "report/report_collectives.h"

/* Kinds that groups execute by algorithms. */
static const enum work_collective_kind kinds[] = {WORK_ALL_REDUCE, WORK_ALL_GATHER,           WORK_REDUCE_SCATTER,
                                                  WORK_ALL_TO_ALL, WORK_COLLECTIVE_BROADCAST, WORK_COLLECTIVE_REDUCE};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

static const uint64_t default_sizes[] = {1 << 10, 1 << 15, 1 << 20, 1 << 25, 1 << 30};
enum { DEFAULT_SIZE_COUNT = sizeof default_sizes / sizeof *default_sizes };

struct job {
  const rdg_collectives_options *options;
  const struct hw_cluster *cluster;
  struct hw_slice slice;
  struct collective_constants constants;
  struct group_shape shape;
  VEC(struct report_collective_time) rows;
};

static bool find_kind(rdg_context *ctx, const char *name, enum work_collective_kind *kind) {
  struct strbuf text = {0};
  for (int i = 0; i < KIND_COUNT; i++) {
    if (strcmp(name, work_collective_name(kinds[i])) == 0) {
      *kind = kinds[i];
      strbuf_release(&text);
      return true;
    }
    strbuf_printf(&text, "%s%s", i ? ", " : "", work_collective_name(kinds[i]));
  }
  diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "there is no collective '%s' to time; there are: %s", name,
            strbuf_text(&text));
  strbuf_release(&text);
  return false;
}

/* ---- one kind at one size ---- */

/* The same messages on the event-driven network. */
static void run_events(struct job *job, const struct collective_request *request, struct report_collective_time *row) {
  struct diag_list diags;
  diag_init(&diags);
  enum status status = api_event_time(job->cluster, &job->slice, &job->constants, request, &row->result, &diags,
                                      &row->event_s, &row->events);
  if (status != STATUS_OK) {
    row->event_s = (double)NAN;
    row->why = status == STATUS_LIMIT         ? "too many messages"
               : status == STATUS_UNSUPPORTED ? "no messages"
                                              : "not run on these groups";
  }
  diag_release(&diags);
}

static bool add_row(struct job *job, const struct collective_request *request, const struct collective_result *result,
                    bool is_chosen) {
  struct report_collective_time row = {.kind = request->kind,
                                       .bytes = (uint64_t)request->bytes,
                                       .is_chosen = is_chosen,
                                       .result = *result,
                                       .event_s = (double)NAN};
  if (job->options->events) {
    run_events(job, request, &row);
  }
  return vec_push(&job->rows, row);
}

/* The library's choice first, then the other algorithms that apply. */
static enum status time_one(struct job *job, enum work_collective_kind kind, uint64_t bytes) {
  struct collective_request request = {.kind = kind, .bytes = (double)bytes, .shape = job->shape};
  struct collective_result chosen = {0};
  collective_time(job->cluster, &job->slice, &job->constants, &request, &chosen);
  bool ok = add_row(job, &request, &chosen, true);
  for (size_t i = 0; ok && collective_algorithms[i]; i++) {
    const struct collective_algorithm *algorithm = collective_algorithms[i];
    bool is_chosen = chosen.algorithm && strcmp(algorithm->name, chosen.algorithm) == 0;
    if (!is_chosen && algorithm->applies(job->cluster, &job->slice, &request)) {
      struct collective_result result = {.algorithm = algorithm->name, .protocol = ""};
      algorithm->time(job->cluster, &job->slice, &job->constants, &request, &result);
      ok = add_row(job, &request, &result, false);
    }
  }
  return ok ? STATUS_OK : STATUS_MEMORY;
}

static rdg_status time_all(rdg_context *ctx, struct job *job) {
  const rdg_collectives_options *o = job->options;
  size_t size_count = o->size_count ? o->size_count : DEFAULT_SIZE_COUNT;
  for (size_t k = 0; k < (o->kind_count ? o->kind_count : 1); k++) {
    enum work_collective_kind kind = WORK_ALL_REDUCE;
    if (o->kind_count && !find_kind(ctx, o->kinds[k], &kind)) {
      return RDG_ERROR_INPUT;
    }
    for (size_t s = 0; s < size_count; s++) {
      enum status status = time_one(job, kind, o->size_count ? o->sizes[s] : default_sizes[s]);
      if (status != STATUS_OK) {
        return api_status(status);
      }
    }
  }
  return RDG_OK;
}

/* ---- where ---- */

/* One instance of the innermost dimension, or the smallest named slice where it may have any size. */
static uint64_t usual_devices(const struct hw_cluster *cluster) {
  return cluster->dimensions[0].size > 0 ? cluster->dimensions[0].size : 8;
}

static rdg_status place(rdg_context *ctx, struct job *job) {
  const rdg_collectives_options *o = job->options;
  uint64_t devices = o->devices ? o->devices : o->shape ? 0 : usual_devices(job->cluster);
  enum status status = hw_slice_of(job->cluster, devices, o->shape, &ctx->diags, &job->slice);
  if (status != STATUS_OK) {
    return api_status(status);
  }
  uint64_t stride = o->stride ? o->stride : 1, ranks = o->ranks ? o->ranks : job->slice.devices / stride;
  if (ranks < 2 || ranks > job->slice.devices / stride || job->slice.devices % (ranks * stride) != 0) {
    diag_file(&ctx->diags, DIAG_E0314_SLICE, NULL, 0, 0,
              "groups of %" PRIu64 " ranks, every %" PRIu64 "th device, do not divide %" PRIu64 " devices", ranks,
              stride, job->slice.devices);
    return RDG_ERROR_INPUT;
  }
  group_shape_strided(job->cluster, &job->slice, ranks, stride, &job->shape);
  collective_constants_of(job->cluster, &job->constants);
  return RDG_OK;
}

static rdg_status write_report(rdg_context *ctx, const struct job *job, rdg_format format, rdg_sink sink) {
  struct report_collectives report = {.version = rdg_version(),
                                      .cluster = job->cluster,
                                      .slice = &job->slice,
                                      .ranks = job->shape.size,
                                      .stride = job->options->stride ? job->options->stride : 1,
                                      .has_events = job->options->events,
                                      .rows = job->rows.data,
                                      .count = job->rows.count};
  struct strbuf out = {0};
  enum status status = STATUS_OK;
  if (format == RDG_FORMAT_JSON) {
    status = report_collectives_json(&report, &out);
  } else {
    report_collectives_text(&report, &out);
  }
  if (status != STATUS_OK) {
    strbuf_release(&out);
    return api_result(ctx, api_status(status));
  }
  return api_flush(ctx, &out, sink);
}

rdg_status rdg_collectives(rdg_context *ctx, const char *cluster, const rdg_collectives_options *options,
                           rdg_format format, rdg_sink sink) {
  static const rdg_collectives_options defaults = {0};
  struct job job = {.options = options ? options : &defaults};
  api_begin(ctx);
  rdg_status status = api_find_cluster(ctx, cluster, &job.cluster);
  if (status == RDG_OK) {
    status = place(ctx, &job);
  }
  if (status == RDG_OK) {
    status = time_all(ctx, &job);
  }
  if (status == RDG_OK) {
    status = write_report(ctx, &job, format, sink);
  }
  vec_release(&job.rows);
  return api_result(ctx, status);
}
