/* Micro-batches over the stages of a pipeline: every stage does its passes in the order of the schedule, each as soon as its
 * input is there. The times follow exactly, as longest paths over (stage, pass); devices of a stage are one.
 *
 * Orders: GPipe (Huang et al. 2019): all forward, then all backward. 1F1B (PipeDream-flush, Narayanan et al. 2021): stage s of
 * p warms up with p - s - 1 forward passes. Interleaved 1F1B (Narayanan et al. 2021): micro-batches go through the chunks in
 * groups of p; warm-up 2 (p - s - 1) + (v - 1) p passes, all of them when there are only p micro-batches. */
#include <string.h>

#include "base/checked.h"
#include "cluster/step_int.h"

struct pipeline {
  const struct step_pipeline_input *input;
  struct step_pipeline *out;
  uint64_t forwards; /* passes forward of one stage: micro-batches x chunks */
  sim_time_ps *forward_end, *backward_end; /* by (microbatch x chunks + chunk) x stages + stage; UINT64_MAX = not yet */
  uint64_t *next; /* per stage: its next pass */
  sim_time_ps *free_ps; /* per stage: end of the last pass, sends of it included */
  sim_time_ps *ended_ps; /* per stage: end of the last pass */
};

enum step_place step_place_of(const struct step_pipeline_input *input, uint32_t stage, uint32_t chunk) {
  bool is_first = stage == 0 && chunk == 0;
  bool is_last = stage + 1 == input->stages && chunk + 1 == input->chunks;
  return is_first && is_last ? STEP_ONLY : is_first ? STEP_FIRST : is_last ? STEP_LAST : STEP_MIDDLE;
}

/* The k-th forward pass of a stage; backward passes go through the chunks from the last. */
static void interleaved_pass(const struct step_pipeline_input *in, uint64_t k, bool is_forward,
                             struct step_pass *pass) {
  const uint64_t group_passes = (uint64_t)in->stages * in->chunks;
  const uint64_t group = k / group_passes, first = group * in->stages;
  const uint64_t left = in->microbatches - first;
  const uint64_t members = left < in->stages ? left : in->stages; /* of the last group */
  const uint64_t within = k - group * group_passes;
  const uint32_t chunk = (uint32_t)(within / members);
  pass->microbatch = (uint32_t)(first + within % members);
  pass->chunk = is_forward ? chunk : in->chunks - 1 - chunk;
}

static uint64_t warm_up_of(const struct step_pipeline_input *in, uint32_t stage, uint64_t forwards) {
  const uint64_t after = in->stages - stage - 1;
  uint64_t warm_up = forwards;
  if (in->schedule == STEP_1F1B) {
    warm_up = after;
  } else if (in->schedule == STEP_INTERLEAVED && in->microbatches > in->stages) {
    warm_up = 2 * after + (uint64_t)(in->chunks - 1) * in->stages;
  }
  return warm_up < forwards ? warm_up : forwards;
}

/* Appends the k-th pass of its direction. */
static void put_pass(const struct pipeline *p, struct step_pass *pass, bool is_forward, uint64_t k) {
  const struct step_pipeline_input *in = p->input;
  memset(pass, 0, sizeof *pass);
  interleaved_pass(in, k, is_forward, pass);
  bool is_last = pass->microbatch + 1 == in->microbatches;
  pass->role = (uint8_t)(is_forward ? STEP_FORWARD : is_last ? STEP_BACKWARD_LAST : STEP_BACKWARD);
}

static void order_stage(const struct pipeline *p, uint32_t stage) {
  const struct step_pipeline_input *in = p->input;
  struct step_pass *pass = p->out->passes + (size_t)stage * p->out->passes_per_stage;
  const uint64_t warm_up = in->has_backward ? warm_up_of(in, stage, p->forwards) : p->forwards;
  uint64_t backward = 0;
  for (uint64_t k = 0; k < p->forwards; k++) {
    put_pass(p, pass++, true, k);
    if (k >= warm_up) {
      put_pass(p, pass++, false, backward++);
    }
  }
  while (in->has_backward && backward < p->forwards) {
    put_pass(p, pass++, false, backward++);
  }
}

static size_t slot_of(const struct pipeline *p, uint32_t microbatch, uint32_t chunk, uint32_t stage) {
  return ((size_t)microbatch * p->input->chunks + chunk) * p->input->stages + stage;
}

/* Where the input of a pass comes from: its end there, and how long the message takes. False: it needs none. */
static bool source_of(const struct pipeline *p, uint32_t stage, const struct step_pass *pass, sim_time_ps *end_ps,
                      sim_time_ps *message_ps) {
  const struct step_pipeline_input *in = p->input;
  const bool is_forward = pass->role == STEP_FORWARD;
  const uint32_t last = in->stages - 1;
  uint32_t from = is_forward ? stage - 1 : stage + 1, chunk = pass->chunk;
  *message_ps = in->next_ps;
  if (is_forward ? stage == 0 : stage == last) {
    if (is_forward ? chunk == 0 : chunk + 1 == in->chunks) {
      *end_ps = is_forward ? 0 : p->forward_end[slot_of(p, pass->microbatch, chunk, stage)];
      *message_ps = 0;
      return false;
    }
    from = is_forward ? last : 0;
    chunk = is_forward ? chunk - 1 : chunk + 1;
    *message_ps = in->stages > 1 ? in->wrap_ps : 0;
  }
  *end_ps = (is_forward ? p->forward_end : p->backward_end)[slot_of(p, pass->microbatch, chunk, from)];
  return true;
}

/* Whether a pass's result goes to another stage, and how long that takes. */
static bool sends(const struct pipeline *p, uint32_t stage, const struct step_pass *pass, sim_time_ps *message_ps) {
  const struct step_pipeline_input *in = p->input;
  const bool is_forward = pass->role == STEP_FORWARD;
  const bool at_end = is_forward ? stage + 1 == in->stages : stage == 0;
  const bool is_last_chunk = is_forward ? pass->chunk + 1 == in->chunks : pass->chunk == 0;
  *message_ps = at_end ? in->wrap_ps : in->next_ps;
  return in->stages > 1 && !(at_end && is_last_chunk);
}

/* Runs one pass. False when its input is not there yet. */
static bool run_pass(struct pipeline *p, uint32_t stage, struct step_pass *pass) {
  const struct step_pipeline_input *in = p->input;
  struct step_pipeline_stage *to = &p->out->stages[stage];
  sim_time_ps source_ps = 0, message_ps = 0, send_ps = 0;
  const bool is_received = source_of(p, stage, pass, &source_ps, &message_ps);
  if (source_ps == UINT64_MAX) {
    return false;
  }
  /* blocking messages: the transfer begins when both sides are there, sends and receives of one gap together */
  sim_time_ps ready_ps = source_ps;
  if (is_received && in->waits_for_sends && p->ended_ps[stage] > ready_ps) {
    ready_ps = p->ended_ps[stage];
  }
  const sim_time_ps arrival_ps = sat_add_u64(ready_ps, message_ps);
  const sim_time_ps free_ps = p->free_ps[stage];
  pass->start_ps = arrival_ps > free_ps ? arrival_ps : free_ps;
  sim_time_ps waited_from_ps = ready_ps > free_ps ? ready_ps : free_ps;
  to->bubble_ps += waited_from_ps - free_ps;
  to->sends_ps += pass->start_ps - waited_from_ps;
  const enum step_place place = step_place_of(in, stage, pass->chunk);
  const sim_time_ps tail_ps = pass->role == STEP_BACKWARD_LAST ? in->tail_ps[place] : 0;
  const sim_time_ps time_ps = in->time_ps[place][pass->role] - tail_ps;
  pass->end_ps = sat_add_u64(pass->start_ps, time_ps);
  to->work_ps += time_ps;
  to->passes[place][pass->role]++;
  p->ended_ps[stage] = p->free_ps[stage] = pass->end_ps;
  if (sends(p, stage, pass, &send_ps)) {
    to->sends++;
    if (in->waits_for_sends) {
      p->free_ps[stage] = sat_add_u64(pass->end_ps, send_ps);
      to->sends_ps += send_ps;
    }
  }
  sim_time_ps *ends = pass->role == STEP_FORWARD ? p->forward_end : p->backward_end;
  ends[slot_of(p, pass->microbatch, pass->chunk, stage)] = pass->end_ps;
  if (tail_ps > 0) { /* one after the other, beside what comes next */
    sim_time_ps from_ps = to->exchanged_ps > pass->end_ps ? to->exchanged_ps : pass->end_ps;
    to->exchanged_ps = sat_add_u64(from_ps, tail_ps);
    to->hidden_ps += tail_ps;
  }
  return true;
}

/* All passes: stage after stage as far as each gets, again until all are done. False when no stage gets any further. */
static bool run_passes(struct pipeline *p) {
  const uint64_t per_stage = p->out->passes_per_stage;
  uint64_t left = per_stage * p->input->stages;
  while (left > 0) {
    const uint64_t before = left;
    for (uint32_t i = 0; i < 2 * p->input->stages; i++) { /* there and back: both directions of messages */
      uint32_t stage = i < p->input->stages ? i : 2 * p->input->stages - 1 - i;
      struct step_pass *passes = p->out->passes + (size_t)stage * per_stage;
      while (p->next[stage] < per_stage && run_pass(p, stage, &passes[p->next[stage]])) {
        p->next[stage]++;
        left--;
      }
    }
    if (left == before) {
      return false;
    }
  }
  return true;
}

/* The update, and the end of the step for everyone. */
static void finish_stages(struct pipeline *p) {
  const struct step_pipeline_input *in = p->input;
  for (uint32_t s = 0; s < in->stages; s++) {
    struct step_pipeline_stage *stage = &p->out->stages[s];
    if (stage->exchanged_ps > p->free_ps[s]) { /* what of the exchange nothing hid */
      const sim_time_ps waited_ps = stage->exchanged_ps - p->free_ps[s];
      stage->work_ps += waited_ps;
      stage->hidden_ps -= waited_ps;
      p->free_ps[s] = stage->exchanged_ps;
    }
    for (uint32_t c = 0; c < in->chunks; c++) {
      const enum step_place place = step_place_of(in, s, c);
      stage->work_ps += in->time_ps[place][STEP_UPDATE];
      stage->passes[place][STEP_UPDATE]++;
      p->free_ps[s] = sat_add_u64(p->free_ps[s], in->time_ps[place][STEP_UPDATE]);
    }
    p->out->end_ps = p->free_ps[s] > p->out->end_ps ? p->free_ps[s] : p->out->end_ps;
  }
  for (uint32_t s = 0; s < in->stages; s++) {
    p->out->stages[s].bubble_ps += p->out->end_ps - p->free_ps[s];
  }
}

static void count_in_flight(struct pipeline *p) {
  for (uint32_t s = 0; s < p->input->stages; s++) {
    const struct step_pass *passes = p->out->passes + (size_t)s * p->out->passes_per_stage;
    uint32_t now = 0;
    for (uint64_t i = 0; i < p->out->passes_per_stage; i++) {
      now = passes[i].role == STEP_FORWARD ? now + 1 : now - 1;
      p->out->stages[s].in_flight = now > p->out->stages[s].in_flight ? now : p->out->stages[s].in_flight;
    }
  }
}

static bool allocate(struct pipeline *p, struct arena *arena) {
  const size_t stages = p->input->stages;
  const size_t slots = (size_t)p->forwards * stages;
  p->out->stages = arena_calloc(arena, stages, sizeof *p->out->stages);
  p->out->passes = arena_calloc(arena, stages * (size_t)p->out->passes_per_stage, sizeof *p->out->passes);
  p->forward_end = arena_calloc(arena, slots, sizeof *p->forward_end);
  p->backward_end = arena_calloc(arena, slots, sizeof *p->backward_end);
  p->next = arena_calloc(arena, stages, sizeof *p->next);
  p->free_ps = arena_calloc(arena, stages, sizeof *p->free_ps);
  p->ended_ps = arena_calloc(arena, stages, sizeof *p->ended_ps);
  if (!p->out->stages || !p->out->passes || !p->forward_end || !p->backward_end || !p->next || !p->free_ps
      || !p->ended_ps) {
    return false;
  }
  memset(p->forward_end, 0xff, slots * sizeof *p->forward_end);
  memset(p->backward_end, 0xff, slots * sizeof *p->backward_end);
  return true;
}

enum status step_pipeline_run(const struct step_pipeline_input *input, struct arena *arena, struct diag_list *diags,
                              struct step_pipeline *out) {
  memset(out, 0, sizeof *out);
  struct pipeline p = {.input = input, .out = out};
  p.forwards = (uint64_t)input->microbatches * input->chunks;
  out->passes_per_stage = sat_mul_u64(p.forwards, input->has_backward ? 2 : 1);
  if (sat_mul_u64(out->passes_per_stage, input->stages) > STEP_PASSES_MAX) {
    diag_file(diags, DIAG_E0315_STEP, NULL, 0, 0,
              "a pipeline of %u stages, %u chunks and %u micro-batches has more than %d passes", input->stages,
              input->chunks, input->microbatches, (int)STEP_PASSES_MAX);
    return STATUS_LIMIT;
  }
  if (!allocate(&p, arena)) {
    return STATUS_MEMORY;
  }
  for (uint32_t s = 0; s < input->stages; s++) {
    order_stage(&p, s);
  }
  if (!run_passes(&p)) {
    diag_file(
        diags, DIAG_E0315_STEP, NULL, 0, 0,
        "stages of the pipeline wait for each other: %u micro-batches in groups of %u stages leave a group of %u; "
        "an interleaved schedule needs a multiple",
        input->microbatches, input->stages, input->microbatches % input->stages);
    return STATUS_INPUT;
  }
  finish_stages(&p);
  count_in_flight(&p);
  return STATUS_OK;
}
