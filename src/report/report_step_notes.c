/* What the numbers of a step say in words, and the tables of its parts. Path: step_result → here → text and JSON. */
#include <math.h>

#include "report/report_step_int.h"

/* ---- parts of the time ---- */

static double compute_s(const struct step_result *r) {
  return r->compute_s;
}
static double exposed_s(const struct step_result *r) {
  return r->exposed_s;
}
static double bubble_s(const struct step_result *r) {
  return r->bubble_s;
}
static double straggler_s(const struct step_result *r) {
  return r->straggler_s;
}
static double dispatch_s(const struct step_result *r) {
  return r->dispatch_s;
}

const struct report_step_cause report_step_causes[] = {
    {"compute", "computation", compute_s},   {"exposed", "exposed communication", exposed_s},
    {"bubble", "pipeline bubble", bubble_s}, {"straggler", "waiting for the slowest", straggler_s},
    {"dispatch", "dispatch", dispatch_s},
};
const size_t report_step_cause_count = sizeof report_step_causes / sizeof *report_step_causes;

/* ---- parts of the memory ---- */

static double parameters(const struct step_memory *m) {
  return m->parameter_bytes;
}
static double gradients(const struct step_memory *m) {
  return m->gradient_bytes;
}
static double optimizer(const struct step_memory *m) {
  return m->optimizer_bytes;
}
static double activations(const struct step_memory *m) {
  return m->activation_bytes;
}
static double temporaries(const struct step_memory *m) {
  return m->temporary_bytes;
}
static double buffers(const struct step_memory *m) {
  return m->buffer_bytes;
}
static double reserve(const struct step_memory *m) {
  return m->reserve_bytes;
}

const struct report_step_memory_part report_step_memory_parts[] = {
    {"parameters", "parameters", parameters, "spread over more devices: FSDP, tensor or pipeline parallelism"},
    {"gradients", "gradients", gradients, "ZeRO-2, or a narrower type"},
    {"optimizer", "optimizer state", optimizer, "ZeRO-1, or a narrower type"},
    {"activations", "activations", activations, "recomputation, smaller micro-batches, sequence parallelism"},
    {"temporaries", "temporaries", temporaries, "smaller micro-batches"},
    {"buffers", "communication buffers", buffers, "smaller buckets"},
    {"reserve", "runtime and fragmentation", reserve, NULL},
};
const size_t report_step_memory_part_count = sizeof report_step_memory_parts / sizeof *report_step_memory_parts;

/* ---- names ---- */

const char *report_step_overlap_name(enum step_overlap overlap) {
  static const char *const names[STEP_OVERLAP_COUNT] = {[STEP_OVERLAP_NONE] = "none",
                                                        [STEP_OVERLAP_AS_WRITTEN] = "as-written",
                                                        [STEP_OVERLAP_LATENCY_HIDING] = "latency-hiding",
                                                        [STEP_OVERLAP_EARLY_LATE] = "early-late"};
  return names[overlap];
}

const char *report_step_role_name(enum step_role role) {
  static const char *const names[STEP_ROLE_COUNT] = {[STEP_WHOLE] = "step",
                                                     [STEP_FORWARD] = "forward",
                                                     [STEP_BACKWARD] = "backward",
                                                     [STEP_BACKWARD_LAST] = "backward",
                                                     [STEP_UPDATE] = "update"};
  return names[role];
}

const struct step_part *report_step_part(const struct step_program *program, unsigned place, unsigned role) {
  const struct step_part *part = &program->parts[place][role];
  return !part->graph && role == STEP_BACKWARD_LAST ? &program->parts[place][STEP_BACKWARD] : part;
}

const char *report_step_schedule_name(enum step_schedule schedule) {
  static const char *const names[] = {[STEP_GPIPE] = "gpipe", [STEP_1F1B] = "1f1b", [STEP_INTERLEAVED] = "interleaved"};
  return names[schedule];
}

/* ---- remarks ---- */

/* Below this share of the step, exposed communication is no reason to look at the network. */
static const double small_share = 0.01;

static void put_share(struct strbuf *text, double part_s, double whole_s) {
  report_time(text, part_s);
  strbuf_puts(text, " (");
  report_percent(text, whole_s > 0 ? part_s / whole_s : 0);
  strbuf_puts(text, " of the step)");
}

static enum work_collective_kind most_exposed(const struct step_result *r) {
  int most = 0;
  for (int k = 1; k < STEP_COLLECTIVE_KINDS; k++) {
    most = r->exposed_by_kind_s[k] > r->exposed_by_kind_s[most] ? k : most;
  }
  return (enum work_collective_kind)most;
}

/* Users of simulators wonder why every topology gives the same time: say when the network does not matter, and why. */
static void say_network(const struct step_result *r, struct strbuf *text) {
  double hidden_s = r->communication_s - r->exposed_s;
  if (!(r->communication_s > 0)) {
    strbuf_puts(text, r->devices > 1
                          ? "the network does not matter here: the program has no communication between devices"
                          : "the network does not matter here: there is one device");
  } else if (r->exposed_s <= small_share * r->time_s) {
    strbuf_puts(text, "the network hardly matters here: of ");
    report_time(text, r->communication_s);
    strbuf_puts(text, " of communication ");
    put_share(text, r->exposed_s, r->time_s);
    strbuf_puts(text,
                hidden_s > small_share * r->time_s ? " is exposed, the rest runs beside computation" : " is exposed");
  } else {
    enum work_collective_kind kind = most_exposed(r);
    strbuf_puts(text, "exposed communication takes ");
    put_share(text, r->exposed_s, r->time_s);
    strbuf_printf(text, ", most of it %s with ", work_collective_name(kind));
    report_time(text, r->exposed_by_kind_s[kind]);
    if (hidden_s > small_share * r->time_s) {
      strbuf_puts(text, "; another ");
      report_time(text, hidden_s);
      strbuf_puts(text, " runs beside computation");
    } else {
      strbuf_puts(text, "; next to none of it runs beside computation");
    }
  }
}

/* The bubble of a schedule without delays: stages - 1 of micro-batches + stages - 1 passes, per chunk. */
static void say_bubble(const struct step_program *program, const struct step_result *r, struct strbuf *text) {
  if (!(r->bubble_s > small_share * r->time_s) || program->stages < 2) {
    return;
  }
  double bubble = (program->stages - 1.0) / program->chunks;
  strbuf_puts(text, "the pipeline waits ");
  put_share(text, r->bubble_s, r->time_s);
  strbuf_printf(text, ": %u stages, %u micro-batches, ", program->stages, program->microbatches);
  strbuf_printf(text, "%s schedule; without delays it were ", report_step_schedule_name(program->schedule));
  report_percent(text, bubble / (bubble + program->microbatches));
  strbuf_puts(text, ", and more micro-batches lower it");
}

static void say_contention(const struct step_result *r, struct strbuf *text) {
  if (r->contention_s > small_share * r->time_s) {
    strbuf_puts(text, "communication and computation slow each other down by ");
    put_share(text, r->contention_s, r->time_s);
  }
}

static void say_fit(const struct step_memory *m, struct strbuf *text) {
  double over = m->total_bytes - m->capacity_bytes;
  if (!(m->capacity_bytes > 0) || m->fits || !(over > 0)) {
    return;
  }
  strbuf_puts(text, "does not fit: ");
  report_si(text, over, "B");
  strbuf_puts(text, " too much on the fullest device; it would fit");
  bool has_any = false;
  for (size_t i = 0; i < report_step_memory_part_count; i++) {
    const struct report_step_memory_part *part = &report_step_memory_parts[i];
    double bytes = part->value(m);
    if (!part->remedy || bytes <= over) {
      continue;
    }
    strbuf_printf(text, "%s with %s of ", has_any ? ", or" : "", part->heading);
    report_si(text, bytes - over, "B");
    strbuf_puts(text, " instead of ");
    report_si(text, bytes, "B");
    strbuf_printf(text, " (%s)", part->remedy);
    has_any = true;
  }
  if (!has_any) {
    strbuf_puts(text, " on devices with ");
    report_si(text, m->total_bytes, "B");
    strbuf_puts(text, ", or spread over more of them: no single part is as large as what is too much");
  }
}

static void pass_on(struct strbuf *text, report_note_sink *sink, void *user) {
  if (text->length > 0) {
    sink(user, "", strbuf_text(text), 1);
  }
  strbuf_clear(text);
}

void report_step_notes(const struct report_step_row *row, report_note_sink *sink, void *user) {
  const struct step_result *r = row->result;
  struct strbuf text = {0};
  if (!r) {
    return;
  }
  for (size_t i = 0; i < r->notes.count; i++) {
    sink(user, diag_code(r->notes.data[i].id), r->notes.data[i].text, r->notes.data[i].count);
  }
  say_network(r, &text);
  pass_on(&text, sink, user);
  say_bubble(row->program, r, &text);
  pass_on(&text, sink, user);
  say_contention(r, &text);
  pass_on(&text, sink, user);
  say_fit(&r->memory, &text);
  pass_on(&text, sink, user);
  strbuf_release(&text);
}
