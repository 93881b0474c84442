/* What of a step does not fit, in the user's terms. */
#include "base/checked.h"
#include "cluster/step_int.h"

static const char *const place_texts[STEP_PLACE_COUNT] = {"", " of the first chunk", " of the middle chunks",
                                                          " of the last chunk"};

static enum status refuse_part(struct diag_list *diags, const char *what, const char *where) {
  diag_file(diags, DIAG_E0315_STEP, NULL, 0, 0, "the program has no %s%s", what, where);
  return STATUS_INPUT;
}

static enum status check_counts(const struct step_program *p, const struct hw_slice *slice, struct diag_list *diags) {
  if (p->stages == 0 || p->chunks == 0 || p->microbatches == 0 || p->devices_per_stage == 0) {
    diag_file(diags, DIAG_E0315_STEP, NULL, 0, 0,
              "stages, chunks, micro-batches and devices of a step are at least 1, not %u, %u, %u and %llu", p->stages,
              p->chunks, p->microbatches, (unsigned long long)p->devices_per_stage);
    return STATUS_INPUT;
  }
  const uint64_t devices = sat_mul_u64(p->stages, p->devices_per_stage);
  if (devices > slice->devices) {
    diag_file(diags, DIAG_E0315_STEP, NULL, 0, 0,
              "the program runs on %llu devices (%u pipeline stages of %llu), the slice has %llu",
              (unsigned long long)devices, p->stages, (unsigned long long)p->devices_per_stage,
              (unsigned long long)slice->devices);
    return STATUS_INPUT;
  }
  if (slice->devices % p->stages != 0) {
    diag_file(diags, DIAG_E0315_STEP, NULL, 0, 0, "%u pipeline stages do not divide %llu devices", p->stages,
              (unsigned long long)slice->devices);
    return STATUS_INPUT;
  }
  if (sat_mul_u64(sat_mul_u64(p->stages, p->chunks), p->microbatches) > STEP_PASSES_MAX / 2) {
    diag_file(diags, DIAG_E0315_STEP, NULL, 0, 0,
              "a pipeline of %u stages, %u chunks and %u micro-batches has more than %d passes", p->stages, p->chunks,
              p->microbatches, (int)STEP_PASSES_MAX);
    return STATUS_LIMIT;
  }
  return STATUS_OK;
}

static bool has_part(const struct step_program *p, enum step_place place, enum step_role role) {
  return p->parts[place][role].graph != NULL;
}

/* Every pass of a chunk that comes up needs its function. */
static enum status check_chunk(const struct step_program *p, enum step_place place, bool has_backward,
                               struct diag_list *diags) {
  if (!has_part(p, place, STEP_FORWARD)) {
    return refuse_part(diags, "forward function", place_texts[place]);
  }
  bool is_last_enough = p->microbatches == 1 && has_part(p, place, STEP_BACKWARD_LAST);
  if (has_backward && !has_part(p, place, STEP_BACKWARD) && !is_last_enough) {
    return refuse_part(diags, "backward function", place_texts[place]);
  }
  return STATUS_OK;
}

enum status step_check(const struct step_program *p, const struct hw_slice *slice, struct diag_list *diags) {
  STATUS_TRY(check_counts(p, slice, diags));
  if (has_part(p, STEP_ONLY, STEP_WHOLE)) {
    return p->stages == 1 ? STATUS_OK : refuse_part(diags, "function per pipeline stage: it is one whole step", "");
  }
  if (p->chunks > 1 && p->schedule != STEP_INTERLEAVED) {
    return refuse_part(diags, "interleaved schedule, which several chunks per stage need", "");
  }
  bool has_backward = false, is_used[STEP_PLACE_COUNT] = {false};
  const struct step_pipeline_input places = {.stages = p->stages, .chunks = p->chunks};
  for (uint32_t s = 0; s < p->stages; s++) {
    for (uint32_t c = 0; c < p->chunks; c++) {
      enum step_place place = step_place_of(&places, s, c);
      is_used[place] = true;
      has_backward = has_backward || has_part(p, place, STEP_BACKWARD) || has_part(p, place, STEP_BACKWARD_LAST);
    }
  }
  for (int place = 0; place < STEP_PLACE_COUNT; place++) {
    if (is_used[place]) {
      STATUS_TRY(check_chunk(p, (enum step_place)place, has_backward, diags));
    }
  }
  return STATUS_OK;
}
