/* Plan files: what is written reads back the same; sound plans are accepted; plans with one planted error are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan_check.h"
#include "plan_file_random.h"

#if defined(__SANITIZE_ADDRESS__)
enum { PLANTED = 1000 };
#else
enum { PLANTED = 10000 };
#endif
/* ---- planted errors ---- */

struct site {
  struct plan_random *random;
  struct plan *plan;
  struct plan_file_step *step; /* at random, and all that belongs to it */
  struct plan_operator *op;
  struct plan_tensor *tensors;
  struct plan_stage *stage;
  uint32_t index;
};

/* Beyond what rounding excuses. */
static int64_t noticeable(int64_t time_ps) {
  return 10 + time_ps / 1000000;
}

static bool is_loaded(const struct site *site) {
  return site->step->load_order != PLAN_NO_LOAD;
}

static struct plan_file_step *load_at(struct plan *plan, uint32_t order) {
  for (uint32_t i = 0; i < plan->file.step_count; i++) {
    if (plan->steps[i].load_order == order) {
      return &plan->steps[i];
    }
  }
  return NULL;
}

static bool wrong_hot_size(struct site *s) {
  s->step->cost.hot_bytes += plan_random_in(s->random, 0, 1) == 0 ? 1 : (uint64_t)-1;
  return true;
}
static bool wrong_cold_size(struct site *s) {
  s->step->load.cold_bytes -= 1;
  return is_loaded(s);
}
static bool wrong_resident(struct site *s) {
  s->step->at.resident_bytes -= 1;
  return true;
}
static bool wrong_live(struct site *s) {
  s->step->live_bytes += 1;
  return true;
}
static bool forgotten_value(struct site *s) { /* all that the step itself claims agrees */
  bool has_live = s->step->live_bytes >= 4;
  s->step->live_bytes -= has_live ? 4 : 0;
  s->step->at.resident_bytes -= has_live ? 4 : 0;
  return has_live;
}
static bool wrong_peak(struct site *s) {
  s->plan->file.totals.peak_bytes -= 1;
  return true;
}
static bool sram_overflow(struct site *s) {
  s->plan->file.chip.sram_bytes -= 4; /* 3 are spare */
  return true;
}
static bool overlapping_loads(struct site *s) {
  if (!is_loaded(s) || s->step->load_order == 0) {
    return false;
  }
  int64_t early_ps = noticeable(s->step->at.load_start_ps) + s->step->at.load_start_ps;
  early_ps -= load_at(s->plan, s->step->load_order - 1)->at.load_end_ps;
  s->step->at.load_start_ps -= early_ps;
  s->step->at.load_end_ps -= early_ps;
  return true;
}
static bool load_before_release(struct site *s) {
  if (!is_loaded(s) || s->step->release == 0) {
    return false;
  }
  int64_t released_ps = s->plan->steps[s->step->release - 1].at.end_ps;
  s->step->at.load_start_ps = released_ps - noticeable(released_ps);
  return true;
}
static bool short_load(struct site *s) {
  s->step->at.load_end_ps -= noticeable(s->step->at.load_end_ps);
  return is_loaded(s);
}
static bool start_before_load(struct site *s) {
  int64_t early_ps = s->step->at.start_ps - s->step->at.load_end_ps;
  early_ps += noticeable(s->step->at.start_ps);
  s->step->at.start_ps -= early_ps;
  s->step->at.end_ps -= early_ps;
  return is_loaded(s);
}
static bool early_start(struct site *s) {
  int64_t early_ps = noticeable(s->step->at.start_ps);
  s->step->at.start_ps -= early_ps;
  s->step->at.end_ps -= early_ps;
  return true;
}
static bool short_step(struct site *s) {
  s->step->at.end_ps -= noticeable(s->step->at.end_ps);
  return true;
}
static bool fast_compute(struct site *s) {
  s->step->cost.compute_ps -= noticeable(s->step->cost.compute_ps);
  return true;
}
static bool fast_distribution(struct site *s) {
  s->step->distribute_ps -= noticeable(s->step->distribute_ps);
  return s->step->distribute_ps > 0;
}
static bool wrong_makespan(struct site *s) {
  s->plan->file.totals.makespan_ps -= noticeable(s->plan->file.totals.makespan_ps);
  return true;
}
static bool wrong_busy(struct site *s) {
  s->plan->file.totals.memory_busy_ps += noticeable(s->plan->file.totals.memory_busy_ps);
  return true;
}
static bool bound_above(struct site *s) {
  int64_t above_ps = s->plan->file.totals.makespan_ps + 2;
  s->plan->file.bounds.flow_shop_ps = s->plan->file.bounds.chain_ps = above_ps;
  return true;
}
static bool wrong_resource_bound(struct site *s) {
  s->plan->file.resource.matrix_ps += noticeable(s->plan->file.resource.matrix_ps);
  return true;
}
/* A plan on the other grid with the same claims: an error unless all costs agree. */
static bool has_same_costs(struct site *s) {
  struct core_fault fault;
  struct plan found = *s->plan;
  const struct plan_file_step *step = s->step;
  repoint(&found);
  if (!plan_validate(&found.program, s->op, &step->execute, CORES, NULL, &fault)
      || !plan_validate_preload(&found.program, s->op, &step->preload, &step->execute, &fault)) {
    return false;
  }
  claim_costs(&found, s->index, step->live_bytes);
  const struct plan_file_step *other = &found.steps[s->index];
  return memcmp(&other->cost, &step->cost, sizeof step->cost) == 0
         && memcmp(&other->load, &step->load, sizeof step->load) == 0 && other->distribute_ps == step->distribute_ps;
}
static bool swapped_parts(struct site *s) {
  uint32_t a = (uint32_t)plan_random_in(s->random, 0, s->op->axis_count - 1u), b = (a + 1) % s->op->axis_count;
  uint32_t parts = s->step->execute.spatial[a];
  s->step->execute.spatial[a] = s->step->preload.spatial[a] = s->step->execute.spatial[b];
  s->step->execute.spatial[b] = s->step->preload.spatial[b] = parts;
  return parts != s->step->execute.spatial[a] && !has_same_costs(s);
}
static bool swapped_pieces(struct site *s) {
  uint16_t pieces[PLAN_AXES_MAX];
  memcpy(pieces, s->step->execute.temporal[0], sizeof pieces);
  memcpy(s->step->execute.temporal[0], s->step->execute.temporal[1], sizeof pieces);
  memcpy(s->step->execute.temporal[1], pieces, sizeof pieces);
  return memcmp(pieces, s->step->execute.temporal[0], sizeof pieces) != 0 && !has_same_costs(s);
}
static bool lost_elements(struct site *s) { /* fewer cores than the sizes were made for */
  uint32_t a = (uint32_t)plan_random_in(s->random, 0, s->op->axis_count - 1u), parts = s->step->execute.spatial[a];
  s->step->execute.spatial[a] = s->step->preload.spatial[a] = parts - 1;
  return parts > 1 && !has_same_costs(s);
}
static bool foreign_axis(struct site *s) {
  uint32_t slot = (uint32_t)plan_random_in(s->random, 0, 2);
  uint32_t axis = slot == 0 ? 1 : slot == 1 ? 0 : 2; /* of a product: [m k] lacks n, [k n] lacks m, [m n] lacks k */
  s->step->execute.temporal[slot][axis] = s->step->preload.temporal[slot][axis] = 2;
  return s->op->axis_count == 3;
}
static bool uneven_pieces(struct site *s) {
  uint32_t replicas = s->step->execute.spatial[1], prime = 2;
  while (replicas % prime == 0) {
    prime++;
  }
  s->step->execute.temporal[0][0] = s->step->preload.temporal[0][0] = (uint16_t)prime;
  s->step->execute.temporal[0][2] = s->step->preload.temporal[0][2] = 1;
  return s->op->axis_count == 3;
}
static bool coarse_preload(struct site *s) {
  uint16_t *hot = s->step->execute.temporal[1], *cold = s->step->preload.temporal[1];
  bool is_cut = s->op->axis_count == 3 && hot[2] > 1;
  cold[2] = 1;
  return is_cut;
}
static bool too_few_cores(struct site *s) {
  s->plan->file.chip.cores = (uint32_t)plan_partition_cores(&s->step->execute) - 1;
  return s->plan->file.chip.cores > 0;
}
static bool late_producer(struct site *s) {
  s->tensors[0].producer = (uint32_t)plan_random_in(s->random, s->index + 1, s->plan->file.step_count);
  return s->index > 0;
}
static bool no_producer(struct site *s) {
  s->tensors[0].producer = 0;
  return s->tensors[0].source == PLAN_SOURCE_CHIP;
}
static bool unequal_parts(struct site *s) { /* the operator before the parts is said to have made one as well */
  const struct plan_operator *ops = s->plan->operators;
  struct plan_tensor *input = &s->tensors[0];
  uint32_t first = input->producer > 0 ? plan_first_producer(input) : 0;
  if (first == 0) {
    return false;
  }
  const uint64_t *own = ops[input->producer - 1].extents, *other = ops[first - 1].extents;
  input->producer_parts = input->producer - first + 1;
  return own[0] * own[1] != other[0] * other[1]; /* the axes of an output */
}
static bool missing_part(struct site *s) { /* and with it a value that is live until it is read */
  uint64_t before[STEPS_MAX], after[STEPS_MAX];
  uint32_t count = s->plan->file.step_count;
  assert_int_equal(plan_program_live(&s->plan->program, CORES, before), STATUS_OK);
  bool has_parts = s->tensors[0].producer_parts > 1;
  s->tensors[0].producer_parts -= has_parts;
  assert_int_equal(plan_program_live(&s->plan->program, CORES, after), STATUS_OK);
  return has_parts && memcmp(before, after, count * sizeof before[0]) != 0;
}
static bool wrong_memory_bytes(struct site *s) {
  s->tensors[1].memory_bytes += 1000 + s->tensors[1].memory_bytes / 100;
  return true;
}
static bool computed_twice(struct site *s) { /* nobody sums the parts of the contraction axis */
  s->stage->reduced = 0;
  return s->op->axis_count == 3 && s->step->execute.spatial[2] > 1;
}
static bool missing_load(struct site *s) {
  if (!is_loaded(s) || s->step->load_order + 1 != s->plan->file.load_count) {
    return false;
  }
  s->step->load_order = PLAN_NO_LOAD;
  s->plan->file.load_count--;
  return true;
}
static bool load_twice(struct site *s) {
  struct plan_file_step *other = is_loaded(s) ? load_at(s->plan, s->step->load_order + 1) : NULL;
  s->step->load_order = other != NULL ? other->load_order : 0;
  return other != NULL;
}
static bool late_release(struct site *s) {
  s->step->release = s->index + 1;
  return is_loaded(s);
}
static bool early_release(struct site *s) { /* bytes that are in the SRAM for longer than is claimed */
  bool is_early = is_loaded(s) && s->step->release > 0 && s->step->release < s->index;
  s->step->release -= is_early;
  return is_early;
}
static bool fast_memory(struct site *s) {
  s->plan->file.chip.memory_Bps *= 2;
  return s->plan->file.load_count > 0;
}

static const struct {
  const char *name;
  bool (*plant)(struct site *site); /* false: would be harmless here */
} errors[] = {
    {"hot size", wrong_hot_size},
    {"cold size", wrong_cold_size},
    {"resident bytes", wrong_resident},
    {"live bytes", wrong_live},
    {"a live value left out", forgotten_value},
    {"peak", wrong_peak},
    {"SRAM overflow", sram_overflow},
    {"overlapping loads", overlapping_loads},
    {"load before its release", load_before_release},
    {"short load", short_load},
    {"start before the load's end", start_before_load},
    {"early start", early_start},
    {"short step", short_step},
    {"fast compute", fast_compute},
    {"fast distribution", fast_distribution},
    {"makespan", wrong_makespan},
    {"busy time", wrong_busy},
    {"bound above the makespan", bound_above},
    {"resource bound", wrong_resource_bound},
    {"swapped parts", swapped_parts},
    {"swapped pieces", swapped_pieces},
    {"lost elements", lost_elements},
    {"factor on a foreign axis", foreign_axis},
    {"pieces that do not divide", uneven_pieces},
    {"preload state coarser than execute state", coarse_preload},
    {"too few cores", too_few_cores},
    {"late producer", late_producer},
    {"no producer", no_producer},
    {"parts of different sizes", unequal_parts},
    {"a part left out", missing_part},
    {"memory bytes", wrong_memory_bytes},
    {"computed twice", computed_twice},
    {"missing load", missing_load},
    {"two loads at one place", load_twice},
    {"late release", late_release},
    {"early release", early_release},
    {"fast memory", fast_memory},
};
enum { ERRORS = sizeof errors / sizeof errors[0] };

static void print_messages(const struct diag_list *diags) {
  for (size_t i = 0; i < diags->entries.count; i++) {
    print_error("  %s\n", diags->entries.data[i].message);
  }
}

/* Through text, as a user's file is. */
static enum status check_text(const struct plan *plan, struct diag_list *diags) {
  struct strbuf text = {0}, again = {0};
  struct plan_file file;
  assert_int_equal(plan_file_write(&plan->file, &text), STATUS_OK);
  enum status status = plan_file_read("plan.json", text.data, text.length, diags, &file);
  if (status == STATUS_OK) {
    assert_int_equal(plan_file_write(&file, &again), STATUS_OK);
    assert_string_equal(strbuf_text(&again), strbuf_text(&text));
    status = plan_check(&file, "plan.json", diags);
  }
  plan_file_release(&file);
  strbuf_release(&text);
  strbuf_release(&again);
  return status;
}

static enum status check_plan(const struct plan *plan, bool as_text, bool is_sound) {
  struct diag_list diags;
  diag_init(&diags);
  enum status status = as_text ? check_text(plan, &diags) : plan_check(&plan->file, NULL, &diags);
  if (is_sound && status != STATUS_OK) {
    print_messages(&diags);
  }
  assert_int_equal(status == STATUS_OK, diags.error_count == 0);
  for (size_t i = 0; i < diags.entries.count; i++) {
    assert_int_equal(diags.entries.data[i].id, DIAG_E0806_PLAN_FILE);
  }
  diag_release(&diags);
  return status;
}

static bool plant(struct plan_random *random, uint32_t error, struct plan *plan) {
  struct site site = {.random = random, .plan = plan};
  site.index = (uint32_t)plan_random_in(random, 0, plan->file.step_count - 1u);
  site.step = &plan->steps[site.index];
  site.op = &plan->operators[site.index];
  site.tensors = &plan->tensors[site.op->tensor_first];
  site.stage = &plan->stages[site.op->stage_first];
  return errors[error].plant(&site);
}

static void test_planted_errors(void **state) {
  (void)state;
  struct plan_random random = plan_random_of(7);
  static struct plan sound, broken;
  uint32_t planted = 0, missed = 0, of[ERRORS] = {0};
  for (uint32_t i = 0; planted < PLANTED; i++) {
    struct plan_program made;
    random_plan(&random, &sound, &made);
    assert_int_equal(check_plan(&sound, i % 8 == 0, true), STATUS_OK);
    uint32_t error = i % ERRORS;
    for (uint32_t tries = 0; tries < 4; tries++) {
      broken = sound;
      repoint(&broken);
      if (plant(&random, error, &broken)) {
        bool is_missed = check_plan(&broken, i % 8 == 1, false) != STATUS_INPUT;
        if (is_missed) {
          print_error("plan %u: '%s' is not seen\n", i, errors[error].name);
        }
        missed += is_missed;
        planted++;
        of[error]++;
        break;
      }
    }
    plan_program_release(&made);
  }
  for (uint32_t e = 0; e < ERRORS; e++) {
    assert_true(of[e] > 0);
  }
  print_message("%u plans with a planted error of %u kinds, %u missed\n", planted, (unsigned)ERRORS, missed);
  assert_int_equal(missed, 0);
}

/* ---- malformed files ---- */

static void expect_message(const char *text, const char *part) {
  struct diag_list diags;
  struct plan_file file;
  diag_init(&diags);
  assert_int_equal(plan_file_read("plan.json", text, strlen(text), &diags, &file), STATUS_INPUT);
  assert_int_equal(diags.error_count, 1);
  if (strstr(diags.entries.data[0].message, part) == NULL) {
    print_error("%s\n", diags.entries.data[0].message);
  }
  assert_non_null(strstr(diags.entries.data[0].message, part));
  plan_file_release(&file);
  diag_release(&diags);
}

/* The text with the first `old` after `anchor` replaced. */
static void expect_edit(const struct strbuf *text, const char *anchor, const char *old, const char *replacement,
                        const char *part) {
  struct strbuf edited = {0};
  const char *from = strstr(strbuf_text(text), anchor);
  const char *place = from != NULL ? strstr(from, old) : NULL;
  assert_non_null(place);
  strbuf_add(&edited, text->data, (size_t)(place - text->data));
  strbuf_puts(&edited, replacement);
  strbuf_puts(&edited, place + strlen(old));
  expect_message(strbuf_text(&edited), part);
  strbuf_release(&edited);
}

static void test_malformed(void **state) {
  (void)state;
  struct plan_random random = plan_random_of(3);
  static struct plan plan;
  struct plan_program made;
  struct strbuf text = {0};
  random_plan(&random, &plan, &made);
  assert_int_equal(plan_file_write(&plan.file, &text), STATUS_OK);
  expect_message("", "");
  expect_message("[]", "an object expected");
  expect_message("{}", "format: missing");
  expect_edit(&text, "\"format\"", "plan/1", "plan/2", "ridgeline-plan/2");
  expect_edit(&text, "\"steps\"", "\"start_ps\":", "\"start_ps\":-1", "steps[0].load.start_ps: -1");
  expect_edit(&text, "\"steps\"", "\"order\":", "\"place\":", "steps[0].load.order: missing");
  expect_edit(&text, "\"steps\"", "\"temporal\":[[", "\"temporal\":[[70000,", "steps[0].temporal[0]: ");
  expect_edit(&text, "\"chip\"", "\"cores\":64", "\"cores\":1e300", "chip.cores: a whole number expected");
  expect_edit(&text, "\"operators\"", "\"extents\":[", "\"extents\":[0,", "0 is not from 1");
  expect_edit(&text, "\"operators\"", "\"memory\"", "\"disk\"", "operators[0].tensors[0]: \"disk\"");
  expect_edit(&text, "\"operators\"", "\"axes\":[", "\"axes\":[9,", "operators[0].tensors[0].axes: 9 is not from 0 to");
  expect_edit(&text, "\"steps\":[", "{", "{},{", "steps for");
  strbuf_release(&text);
  plan_program_release(&made);
}

/* Random damage to bytes: an answer, whatever it is. */
static void test_damage(void **state) {
  (void)state;
  struct plan_random random = plan_random_of(11);
  static struct plan plan;
  uint32_t readable = 0;
  for (uint32_t i = 0; i < PLANTED / 10; i++) {
    struct plan_program made;
    struct strbuf text = {0};
    struct diag_list diags;
    struct plan_file file;
    random_plan(&random, &plan, &made);
    assert_int_equal(plan_file_write(&plan.file, &text), STATUS_OK);
    static const char digits[] = "0123456789";
    for (uint32_t k = 0; k < 1 + i % 4; k++) {
      size_t at = (size_t)plan_random_in(&random, 0, text.length - 1);
      bool is_digit = text.data[at] >= '0' && text.data[at] <= '9';
      text.data[at] = is_digit ? digits[plan_random_in(&random, 0, 9)] : (char)plan_random_in(&random, 32, 126);
    }
    diag_init(&diags);
    if (plan_file_read("plan.json", text.data, text.length, &diags, &file) == STATUS_OK) {
      readable++;
      (void)plan_check(&file, "plan.json", &diags);
    } else {
      assert_true(diags.error_count == 1);
    }
    plan_file_release(&file);
    diag_release(&diags);
    strbuf_release(&text);
    plan_program_release(&made);
  }
  assert_true(readable > 0 && readable < PLANTED / 10);
}

/* Steps whose pieces all nest and take long to look at: an answer in bounded time, and none of another size. */
static void test_budget(void **state) {
  (void)state;
  enum { STEPS = 4000, PIECES = 1 << 15 };
  const uint16_t axes[] = {5, 6, 3}; /* of m, n, k */
  struct plan_program program;
  struct plan_file file = {.program = &program, .chip = test_chip(), .step_count = STEPS};
  struct diag_list diags;
  struct plan_partition cut;
  diag_init(&diags);
  plan_program_init(&program);
  file.chip.cores = PIECES;
  file.steps = calloc(STEPS, sizeof *file.steps);
  assert_non_null(file.steps);
  for (uint32_t a = 0; a < PLAN_AXES_MAX; a++) {
    cut.spatial[a] = a == 1 ? PIECES : 1;
    cut.temporal[0][a] = a == 2 ? PIECES : 1; /* the first tensor along k: it lacks n */
    cut.temporal[1][a] = cut.temporal[2][a] = 1;
  }
  for (uint32_t i = 0; i < STEPS; i++) {
    struct plan_operator op = {.axis_count = 3, .tensor_count = 3, .stage_count = 1, .merged = 1, .layer = UINT32_MAX};
    op.extents[0] = op.extents[1] = op.extents[2] = PIECES;
    op.tensor_first = (uint32_t)program.tensors.count;
    op.stage_first = (uint32_t)program.stages.count;
    for (uint32_t t = 0; t < 3; t++) {
      struct plan_tensor tensor = {
          .axes = axes[t], .element_bits = 16, .source = PLAN_SOURCE_MEMORY, .is_output = t == 2};
      assert_true(vec_push(&program.tensors, tensor));
    }
    struct plan_stage stage = {
        .kind = PLAN_STAGE_MATRIX, .axes = 7, .reduced = 4, .left = 5, .right = 6, .operations = 1};
    assert_true(vec_push(&program.stages, stage) && vec_push(&program.operators, op));
    file.steps[i].execute = file.steps[i].preload = cut;
  }
  assert_int_equal(plan_check(&file, "plan.json", &diags), STATUS_LIMIT);
  assert_int_equal(diags.entries.data[0].id, DIAG_E0808_PLAN_LIMIT);
  file.step_count = 16; /* as many as are looked at; their claims are all wrong */
  assert_int_equal(plan_check(&file, "plan.json", &diags), STATUS_INPUT);
  diag_release(&diags);
  free(file.steps);
  plan_program_release(&program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_planted_errors),
      cmocka_unit_test(test_malformed),
      cmocka_unit_test(test_damage),
      cmocka_unit_test(test_budget),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
