/* One step: checks the program against the slice, runs every part on the streams of a device, the pipeline over the stages,
 * and adds up. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "cluster/step_int.h"

static bool is_whole(const struct step_program *program) {
  return program->parts[STEP_ONLY][STEP_WHOLE].graph != NULL;
}

/* ---- parts ---- */

/* How far gathers may be ahead of their readers: what the part leaves of nine tenths of the memory. */
static uint64_t gather_budget(const struct step_runner *r, const struct work_graph *graph) {
  double left = 0.9 * r->network.device->memory_size_bytes - (double)graph->memory.peak_bytes;
  return left > 0 ? (uint64_t)left : 0;
}

static enum status run_parts(struct step_runner *r) {
  const struct step_program *p = r->program;
  struct step_prices prices[STEP_PLACE_COUNT][STEP_ROLE_COUNT];
  for (int place = 0; place < STEP_PLACE_COUNT; place++) {
    for (int role = 0; role < STEP_ROLE_COUNT; role++) {
      const struct work_graph *graph = p->parts[place][role].graph;
      if (graph != NULL) {
        STATUS_TRY(step_network_price(&r->network, graph, p->devices_per_stage, &prices[place][role]));
      }
    }
  }
  if (p->stages > 1) {
    STATUS_TRY(step_network_message(&r->network, p->boundary_bytes, p->devices_per_stage, &r->next_price));
    STATUS_TRY(
        step_network_message(&r->network, p->boundary_bytes, p->devices_per_stage * (p->stages - 1), &r->wrap_price));
  }
  for (int place = 0; place < STEP_PLACE_COUNT; place++) {
    for (int role = 0; role < STEP_ROLE_COUNT; role++) {
      const struct step_part *part = &p->parts[place][role];
      if (part->graph != NULL) {
        const struct step_lane_options options = {.overlap = p->overlap,
                                                  .keep_spans = r->options->keep_spans,
                                                  .gather_budget_bytes = gather_budget(r, part->graph)};
        STATUS_TRY(step_lane_run(&r->network, part->graph, part->times, &prices[place][role], &options, &r->scratch,
                                 &r->lanes[place][role]));
      }
    }
  }
  return STATUS_OK;
}

/* ---- stages ---- */

static sim_time_ps message_ps(const struct step_runner *r, uint32_t price) {
  return price != UINT32_MAX ? r->network.prices.data[price].time_ps : 0;
}

static enum status run_stages(struct step_runner *r) {
  const struct step_program *p = r->program;
  struct step_pipeline_input input = {.stages = p->stages,
                                      .chunks = p->chunks,
                                      .microbatches = p->microbatches,
                                      .schedule = p->schedule,
                                      .waits_for_sends = p->waits_for_sends,
                                      .next_ps = message_ps(r, r->next_price),
                                      .wrap_ps = message_ps(r, r->wrap_price)};
  for (int place = 0; place < STEP_PLACE_COUNT; place++) {
    for (int role = 0; role < STEP_ROLE_COUNT; role++) {
      int stands_for = step_stands_for(p, place, role);
      input.time_ps[place][role] = r->lanes[place][stands_for].time_ps;
      input.tail_ps[place] = r->lanes[place][STEP_BACKWARD_LAST].tail_ps;
      input.has_backward = input.has_backward || p->parts[place][STEP_BACKWARD].graph != NULL
                           || p->parts[place][STEP_BACKWARD_LAST].graph != NULL;
    }
  }
  STATUS_TRY(step_pipeline_run(&input, &r->scratch, r->diags, &r->pipeline));
  uint32_t busiest = 0;
  for (uint32_t s = 1; s < p->stages; s++) {
    if (r->pipeline.stages[s].work_ps > r->pipeline.stages[busiest].work_ps) {
      busiest = s;
    }
  }
  const struct step_pipeline_stage *stage = &r->pipeline.stages[busiest];
  memcpy(r->passes, stage->passes, sizeof r->passes);
  r->hidden_ps = stage->hidden_ps;
  r->result->bubble_s = step_seconds(stage->bubble_ps);
  r->result->exposed_s = step_seconds(stage->sends_ps);
  r->result->exposed_by_kind_s[WORK_SEND_RECV] = r->result->exposed_s;
  return STATUS_OK;
}

/* ---- sums ---- */

/* Takes from the exposed communication what other passes hide of the tails: from each row its share. */
static void hide_tails(const struct step_runner *r, struct step_lane *total) {
  sim_time_ps tails_ps = 0;
  for (int place = 0; place < STEP_PLACE_COUNT; place++) {
    tails_ps += r->lanes[place][STEP_BACKWARD_LAST].tail_ps * r->passes[place][STEP_BACKWARD_LAST];
  }
  const double share = tails_ps > 0 ? (double)r->hidden_ps / (double)tails_ps : 0;
  for (int place = 0; place < STEP_PLACE_COUNT && share > 0; place++) {
    const struct step_lane *lane = &r->lanes[place][STEP_BACKWARD_LAST];
    for (size_t i = 0; i < lane->row_count; i++) {
      const double passes = (double)r->passes[place][STEP_BACKWARD_LAST];
      const sim_time_ps hidden_ps = (sim_time_ps)(share * passes * (double)lane->rows[i].tail_ps);
      total->rows[i].exposed_ps -= hidden_ps;
      total->exposed_by_kind_ps[r->network.prices.data[i].request.kind] -= hidden_ps;
    }
  }
  total->exposed_ps -= r->hidden_ps;
}

/* Passes and messages of the busiest stage → compute, exposed, rows. */
static enum status add_up(struct step_runner *r) {
  struct step_result *result = r->result;
  struct step_lane total = {.row_count = r->network.prices.count};
  total.rows = arena_calloc(&r->scratch, total.row_count + 1, sizeof *total.rows);
  if (total.rows == NULL) {
    return STATUS_MEMORY;
  }
  for (int place = 0; place < STEP_PLACE_COUNT; place++) {
    for (int role = 0; role < STEP_ROLE_COUNT; role++) {
      uint64_t passes = r->passes[place][role];
      int stands_for = step_stands_for(r->program, place, role);
      const struct step_lane *lane = &r->lanes[place][stands_for];
      const struct step_part *part = &r->program->parts[place][stands_for];
      if (part->graph == NULL || passes == 0) {
        continue;
      }
      step_lane_add(&total, lane, passes);
      double compute_s = step_seconds(lane->compute_ps) * (double)passes;
      r->low_s += compute_s * (part->low > 0 ? part->low : 1);
      r->high_s += compute_s * (part->high > 0 ? part->high : 1);
    }
  }
  hide_tails(r, &total);
  result->compute_s = step_seconds(total.compute_ps);
  result->exposed_s += step_seconds(total.exposed_ps);
  result->contention_s = step_seconds(total.contention_ps);
  result->communication_s = step_seconds(total.busy_ps);
  for (size_t k = 0; k < STEP_COLLECTIVE_KINDS; k++) {
    result->exposed_by_kind_s[k] += step_seconds(total.exposed_by_kind_ps[k]);
  }
  for (size_t i = 0; i < total.row_count; i++) {
    const struct step_price *price = &r->network.prices.data[i];
    const struct step_lane_row *lane_row = &total.rows[i];
    if (lane_row->count == 0) {
      continue;
    }
    struct step_collective_row row = {.kind = price->request.kind,
                                      .group_size = price->request.shape.size,
                                      .bytes = price->request.bytes,
                                      .count = lane_row->count,
                                      .time_s = price->result.time_s * (double)lane_row->count,
                                      .exposed_s = step_seconds(lane_row->exposed_ps),
                                      .algorithm = price->result.algorithm != NULL ? price->result.algorithm : "",
                                      .protocol = price->result.protocol != NULL ? price->result.protocol : ""};
    if (!vec_push(&result->collectives, row)) {
      return STATUS_MEMORY;
    }
    for (size_t d = 0; d < HW_DIMENSIONS_MAX; d++) {
      result->sent_bytes[d] += price->result.sent_bytes[d] * (double)lane_row->count;
    }
  }
  result->memory.buffer_bytes = (double)total.gathered_bytes;
  return STATUS_OK;
}

/* Messages between stages as a row of their own. */
static enum status add_messages(struct step_runner *r) {
  uint64_t sends = 0;
  for (uint32_t s = 0; s < r->program->stages && r->pipeline.stages != NULL; s++) {
    sends = r->pipeline.stages[s].sends > sends ? r->pipeline.stages[s].sends : sends;
  }
  if (sends == 0 || r->next_price == UINT32_MAX) {
    return STATUS_OK;
  }
  const struct step_price *price = &r->network.prices.data[r->next_price];
  const double time_s = price->result.time_s * (double)sends;
  struct step_collective_row row = {.kind = WORK_SEND_RECV,
                                    .group_size = 2,
                                    .bytes = price->request.bytes,
                                    .count = sends,
                                    .time_s = time_s,
                                    .exposed_s = fmin(r->result->exposed_by_kind_s[WORK_SEND_RECV], time_s),
                                    .algorithm = price->result.algorithm != NULL ? price->result.algorithm : "",
                                    .protocol = price->result.protocol != NULL ? price->result.protocol : ""};
  r->result->communication_s += time_s;
  for (size_t d = 0; d < HW_DIMENSIONS_MAX; d++) {
    r->result->sent_bytes[d] += price->result.sent_bytes[d] * (double)sends;
  }
  return vec_push(&r->result->collectives, row) ? STATUS_OK : STATUS_MEMORY;
}

/* FLOPs of the busiest stage's device, and the peak of the type that has most matrix FLOPs. */
static double add_flops(struct step_runner *r) {
  double by_dtype[DTYPE_COUNT] = {0};
  for (int place = 0; place < STEP_PLACE_COUNT; place++) {
    for (int role = 0; role < STEP_ROLE_COUNT; role++) {
      int stands_for = step_stands_for(r->program, place, role);
      const struct work_graph *graph = r->program->parts[place][stands_for].graph;
      const double passes = (double)r->passes[place][role];
      if (graph == NULL || passes <= 0) {
        continue;
      }
      struct work_total total;
      work_graph_total(graph, &total);
      r->result->hardware_flops += passes
                                   * ((double)total.ops[WORK_ENGINE_MATRIX] + (double)total.ops[WORK_ENGINE_VECTOR]
                                      + (double)total.ops[WORK_ENGINE_FUNCTION]);
      for (int d = 0; d < DTYPE_COUNT; d++) {
        by_dtype[d] += passes * (double)total.ops_by_dtype[WORK_ENGINE_MATRIX][d];
      }
    }
  }
  int most = 0;
  for (int d = 1; d < DTYPE_COUNT; d++) {
    most = by_dtype[d] > by_dtype[most] ? d : most;
  }
  const struct hw_chip *device = r->network.device;
  enum dtype wanted = most == DTYPE_F32 ? device->f32_default_as : (enum dtype)most, runs_as = DTYPE_NONE;
  double peak = 0;
  return by_dtype[most] > 0 && hw_chip_matrix_rate(device, wanted, &peak, &runs_as) ? peak : 0;
}

/* Share of communication's price that its 90 % interval reaches to either side: the goal that fitted collectives meet over
 * all sizes on tables they have not seen (docs/collectives.md). */
static const double communication_spread = 0.2;

/* Compute may be off as a whole, communication as a whole, each for its own reasons: the halves add as squares. Bubbles and
 * stragglers move with compute. */
static void set_interval(struct step_runner *r) {
  struct step_result *result = r->result;
  const double follows = result->compute_s > 0 ? 1 + (result->bubble_s + result->straggler_s) / result->compute_s : 1;
  const double communication_s = communication_spread * result->exposed_s;
  result->low_s = result->time_s - hypot((result->compute_s - r->low_s) * follows, communication_s);
  result->high_s = result->time_s + hypot((r->high_s - result->compute_s) * follows, communication_s);
}

static void set_rates(struct step_runner *r, double peak) {
  const struct step_program *p = r->program;
  const struct hw_cluster *cluster = r->network.cluster;
  struct step_result *result = r->result;
  const double devices = (double)result->devices, time_s = result->time_s;
  const bool is_known = time_s > 0 && peak > 0;
  result->mfu = is_known && p->model_flops > 0 ? p->model_flops / devices / time_s / peak : (double)NAN;
  result->hfu = is_known ? result->hardware_flops / time_s / peak : (double)NAN;
  result->tokens_per_s = p->tokens > 0 && time_s > 0 ? p->tokens / time_s : (double)NAN;
  result->samples_per_s = p->samples > 0 && time_s > 0 ? p->samples / time_s : (double)NAN;
  result->energy_J = cluster->device_power_W > 0 ? cluster->device_power_W * devices * time_s : (double)NAN;
  result->price_usd =
      cluster->device_price_usd_h > 0 ? cluster->device_price_usd_h * devices * time_s / 3600 : (double)NAN;
}

double step_slowest_of(uint64_t n) {
  if (n < 2) {
    return 0;
  }
  /* quantile of the standard normal by bisection of its distribution function */
  const double wanted = ((double)n - 0.375) / ((double)n + 0.25);
  double low = 0, high = 40;
  for (int i = 0; i < 64; i++) {
    const double middle = 0.5 * (low + high);
    /* 1 - erfc(x / sqrt 2) / 2 keeps its digits in the tail when compared from the other side */
    if (0.5 * erfc(middle / sqrt(2)) > 1 - wanted) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return 0.5 * (low + high);
}

static enum status run(struct step_runner *r) {
  struct step_result *result = r->result;
  STATUS_TRY(step_check(r->program, r->slice, r->diags));
  STATUS_TRY(run_parts(r));
  if (is_whole(r->program)) {
    r->passes[STEP_ONLY][STEP_WHOLE] = 1;
  } else {
    STATUS_TRY(run_stages(r));
  }
  STATUS_TRY(add_up(r));
  STATUS_TRY(add_messages(r));
  result->devices = r->program->stages * r->program->devices_per_stage;
  result->dispatch_s = r->network.device->dispatch_s;
  result->straggler_s = result->compute_s * r->options->straggler_sigma * step_slowest_of(result->devices);
  result->time_s = result->compute_s + result->exposed_s + result->bubble_s + result->dispatch_s + result->straggler_s;
  set_rates(r, add_flops(r));
  set_interval(r);
  uint64_t gathered_bytes = (uint64_t)result->memory.buffer_bytes;
  step_memory_of(r->program, &r->network, is_whole(r->program) ? NULL : &r->pipeline, gathered_bytes, &result->memory);
  STATUS_TRY(step_network_note(&r->network, result));
  return r->options->keep_spans ? step_put_spans(r) : STATUS_OK;
}

enum status step_run(const struct step_program *program, const struct hw_cluster *cluster, const struct hw_slice *slice,
                     const struct hw_chip *chip, const struct step_options *options, struct diag_list *diags,
                     struct step_result *result) {
  static const struct step_options none = {0};
  struct step_runner r = {.program = program,
                          .slice = slice,
                          .options = options != NULL ? options : &none,
                          .diags = diags,
                          .next_price = UINT32_MAX,
                          .wrap_price = UINT32_MAX,
                          .result = result};
  arena_init(&r.scratch, 0);
  step_network_init(&r.network, cluster, slice, chip, r.options, &r.scratch, diags);
  enum status status = run(&r);
  step_network_release(&r.network);
  for (int place = 0; place < STEP_PLACE_COUNT; place++) {
    for (int role = 0; role < STEP_ROLE_COUNT; role++) {
      step_lane_release(&r.lanes[place][role]);
    }
  }
  arena_release(&r.scratch);
  return status;
}
