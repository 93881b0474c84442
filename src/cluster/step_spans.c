/* When every task of a step runs, on one device of every stage: for traces. */
#include <string.h>

#include "base/checked.h"
#include "cluster/step_int.h"

static enum status copy_span(struct step_runner *r, const struct step_span *of, sim_time_ps start_ps, uint32_t stage,
                             const struct step_pass *pass, int place) {
  struct step_span span = *of;
  span.start_ps = sat_add_u64(span.start_ps, start_ps);
  span.end_ps = sat_add_u64(span.end_ps, start_ps);
  span.microbatch = pass->microbatch;
  span.stage = (uint16_t)stage;
  span.chunk = (uint16_t)pass->chunk;
  span.role = pass->role;
  span.place = (uint8_t)place;
  return vec_push(&r->result->spans, span) ? STATUS_OK : STATUS_MEMORY;
}

/* A pass as its tasks; beyond STEP_SPANS_MAX spans as one. */
static enum status put_pass(struct step_runner *r, uint32_t stage, const struct step_pass *pass, int place) {
  enum { STEP_SPANS_MAX = 1 << 22 };
  const int role = step_stands_for(r->program, place, pass->role);
  const struct step_lane *lane = &r->lanes[place][role];
  struct step_pass as = *pass;
  as.role = (uint8_t)role;
  if (r->result->spans.count + lane->spans.count > STEP_SPANS_MAX) {
    const struct step_span whole = {.end_ps = pass->end_ps - pass->start_ps};
    return copy_span(r, &whole, pass->start_ps, stage, &as, place);
  }
  for (size_t i = 0; i < lane->spans.count; i++) {
    STATUS_TRY(copy_span(r, &lane->spans.data[i], pass->start_ps, stage, &as, place));
  }
  return STATUS_OK;
}

/* One device of every stage: passes, waiting between them, the update. */
enum status step_put_spans(struct step_runner *r) {
  if (r->pipeline.stages == NULL) {
    const struct step_pass whole = {.role = STEP_WHOLE};
    return put_pass(r, 0, &whole, STEP_ONLY);
  }
  const struct step_pipeline_input places = {.stages = r->program->stages, .chunks = r->program->chunks};
  for (uint32_t s = 0; s < r->program->stages; s++) {
    const struct step_pass *passes = r->pipeline.passes + (size_t)s * r->pipeline.passes_per_stage;
    sim_time_ps end_ps = 0;
    for (uint64_t i = 0; i < r->pipeline.passes_per_stage; i++) {
      const int place = (int)step_place_of(&places, s, passes[i].chunk);
      if (passes[i].start_ps > end_ps) {
        const struct step_span waiting = {.end_ps = passes[i].start_ps - end_ps, .task = UINT32_MAX};
        STATUS_TRY(copy_span(r, &waiting, end_ps, s, &passes[i], place));
      }
      STATUS_TRY(put_pass(r, s, &passes[i], place));
      end_ps = passes[i].end_ps;
    }
    const sim_time_ps exchanged_ps = r->pipeline.stages[s].exchanged_ps;
    end_ps = exchanged_ps > end_ps ? exchanged_ps : end_ps;
    for (uint32_t c = 0; c < r->program->chunks; c++) {
      const int place = (int)step_place_of(&places, s, c);
      const struct step_pass update = {
          .role = STEP_UPDATE, .chunk = c, .start_ps = end_ps, .end_ps = end_ps + r->lanes[place][STEP_UPDATE].time_ps};
      STATUS_TRY(put_pass(r, s, &update, place));
      end_ps = update.end_ps;
    }
  }
  return STATUS_OK;
}
