/* Fits the constants of collective_constants.def to the train rows of measured tables, family by family: ring and switch
 * constants on gathers and reductions, then those of all-to-all, of messages, of kernels beside the library and of networks,
 * which depend on different constants. Launches of the harnesses come from all families together, so rounds alternate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit_solver.h"
#include "measure/measure_collectives.h"

/* Which rows a stage looks at, and the constants it moves. */
enum stage_rows { STAGE_RINGS, STAGE_ALL_TO_ALL, STAGE_MESSAGES, STAGE_KERNELS, STAGE_NETWORK };
struct stage {
  enum stage_rows rows;
  unsigned count;
  enum collective_constant ids[FIT_PARAMETER_MAX];
};
static const struct stage stages[] = {
    {STAGE_RINGS, 21, {COLLECTIVE_EAGERNESS,    COLLECTIVE_CROWDING,     COLLECTIVE_RINGS_2,
                       COLLECTIVE_RINGS_3,      COLLECTIVE_RINGS_4,      COLLECTIVE_RINGS_5,
                       COLLECTIVE_RINGS_6,      COLLECTIVE_RINGS_7,      COLLECTIVE_RINGS_8,
                       COLLECTIVE_LAUNCH,       COLLECTIVE_LL_STEP,      COLLECTIVE_LL_EFFICIENCY,
                       COLLECTIVE_LL128_START,  COLLECTIVE_LL128_STEP,   COLLECTIVE_LL128_EFFICIENCY,
                       COLLECTIVE_SIMPLE_START, COLLECTIVE_SIMPLE_STEP,  COLLECTIVE_SIMPLE_EFFICIENCY,
                       COLLECTIVE_COPY,         COLLECTIVE_NVLS_LATENCY, COLLECTIVE_NVLS_EFFICIENCY}},
    {STAGE_ALL_TO_ALL,
     9,
     {COLLECTIVE_DIRECT_EAGERNESS, COLLECTIVE_DIRECT_LATENCY, COLLECTIVE_DIRECT_STEP, COLLECTIVE_DIRECT_LL_EFFICIENCY,
      COLLECTIVE_DIRECT_FEW_START, COLLECTIVE_DIRECT_FEW_EFFICIENCY, COLLECTIVE_DIRECT_START,
      COLLECTIVE_DIRECT_EFFICIENCY, COLLECTIVE_DIRECT_COPY}},
    {STAGE_MESSAGES,
     6,
     {COLLECTIVE_PERMUTE_LATENCY, COLLECTIVE_PERMUTE_LL_EFFICIENCY, COLLECTIVE_PERMUTE_START,
      COLLECTIVE_PERMUTE_CHANNEL, COLLECTIVE_PERMUTE_PART, COLLECTIVE_PERMUTE_EFFICIENCY}},
    {STAGE_KERNELS,
     4,
     {COLLECTIVE_SHOT_LAUNCH, COLLECTIVE_SHOT_BARRIER, COLLECTIVE_SHOT_EFFICIENCY, COLLECTIVE_ONE_SHOT_EFFICIENCY}},
    {STAGE_NETWORK, 2, {COLLECTIVE_PERMUTE_NETWORK_STEP, COLLECTIVE_PERMUTE_NETWORK_EFFICIENCY}},
};
enum { STAGE_COUNT = sizeof stages / sizeof stages[0], LEAST_ROWS = 12, ROWS_OF_GROUP = 60, LARGE_WEIGHT = 3 };

static const struct bound {
  double value, lower, upper;
} bounds[COLLECTIVE_CONSTANT_COUNT] = {
#define COLLECTIVE_CONSTANT(id, key, unit, value, lower, upper, meaning) {value, lower, upper},
#include "cluster/collective_constants.def"
#undef COLLECTIVE_CONSTANT
};

static bool stage_takes(enum stage_rows rows, const struct measured_collective *row) {
  enum work_collective_kind kind = row->request.kind;
  bool is_message = kind == WORK_PERMUTE || kind == WORK_SEND_RECV;
  bool has_kernel = row->two_shot_max > 0;
  if (rows == STAGE_NETWORK || row->is_network) {
    return rows == STAGE_NETWORK && row->is_network;
  }
  switch (rows) {
  case STAGE_RINGS:
    return !has_kernel && !is_message && kind != WORK_ALL_TO_ALL;
  case STAGE_ALL_TO_ALL:
    return kind == WORK_ALL_TO_ALL;
  case STAGE_MESSAGES:
    return is_message;
  default:
    return has_kernel && row->request.bytes <= row->two_shot_max;
  }
}

/* ---- one stage ---- */

struct sample {
  const struct measured_collective **rows;
  double *weights;
  size_t count;
  const struct stage *stage;
  const struct collective_harness *harness;
  bool is_shared; /* the switch is a tree of shared bridges: the innermost dimension adds nothing and is PCIe */
  int starts; /* of the search */
  struct collective_constants constants;
};

static bool is_rings(enum collective_constant id) {
  return id >= COLLECTIVE_RINGS_2 && id <= COLLECTIVE_RINGS_8;
}

static bool is_linear(enum collective_constant id) {
  return id == COLLECTIVE_CROWDING || is_rings(id);
}

/* Logarithmic between the bounds, where a lower bound of 0 stands for 0.1 us; a power is linear. */
static double from_unit(enum collective_constant id, double x) {
  if (is_linear(id)) {
    return bounds[id].upper * x;
  }
  double lower = bounds[id].lower > 0 ? bounds[id].lower : 1e-7;
  return lower * pow(bounds[id].upper / lower, x);
}

static double to_unit(enum collective_constant id, double value) {
  if (is_linear(id)) {
    return value / bounds[id].upper;
  }
  double lower = bounds[id].lower > 0 ? bounds[id].lower : 1e-7;
  return fmin(1, fmax(0, log(fmax(value, lower) / lower) / log(bounds[id].upper / lower)));
}

static void residuals_of(const void *user, const double *parameters, double *residuals) {
  const struct sample *sample = user;
  struct collective_constants constants = sample->constants;
  for (unsigned i = 0; i < sample->stage->count; i++) {
    constants.values[sample->stage->ids[i]] = from_unit(sample->stage->ids[i], parameters[i]);
  }
  for (size_t i = 0; i < sample->count; i++) {
    const struct measured_collective *row = sample->rows[i];
    double time_s = collective_with_harness(row, sample->harness, collective_row_time(row, &constants));
    residuals[i] = log(time_s / row->measured_s);
  }
}

/* Pseudo-random numbers in [-1, 1] for further starts (Numerical Recipes' generator). */
static double next_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (double)(*state >> 8) / (1 << 23) - 1;
}

/* Constants that no row of the sample depends on: of switches that add nothing, of crossbars, of complete meshes. */
static bool is_idle(const struct sample *sample, enum collective_constant id) {
  bool is_of_switch = id == COLLECTIVE_NVLS_LATENCY || id == COLLECTIVE_NVLS_EFFICIENCY;
  bool adds = false, is_cube = true;
  for (size_t i = 0; i < sample->count; i++) {
    const struct hw_dimension *inner = &sample->rows[i]->cluster->dimensions[0];
    adds = adds || inner->reduces;
    is_cube = is_cube && inner->fabric == HW_FABRIC_MESH && inner->size > 4;
  }
  return (is_of_switch && !adds) || (id == COLLECTIVE_CROWDING && !sample->is_shared) || (is_rings(id) && !is_cube);
}

static enum status fit_stage(struct sample *sample) {
  enum { ITERATIONS = 40, SEARCHES = 600 };
  double steps[FIT_PARAMETER_MAX];
  struct fit_problem problem = {.parameter_count = sample->stage->count,
                                .row_count = sample->count,
                                .weights = sample->weights,
                                .steps = steps,
                                .residuals = residuals_of,
                                .user = sample};
  struct fit_state best = {.loss = (double)INFINITY};
  uint32_t random = 12345;
  for (unsigned i = 0; i < FIT_PARAMETER_MAX; i++) {
    bool is_fixed = i < sample->stage->count && is_idle(sample, sample->stage->ids[i]);
    steps[i] = is_fixed ? 0 : 0.01;
  }
  for (int start = 0; start < sample->starts; start++) {
    struct fit_state state = {0};
    for (unsigned i = 0; i < sample->stage->count; i++) {
      double at = to_unit(sample->stage->ids[i], sample->constants.values[sample->stage->ids[i]]);
      double away = start > 0 && steps[i] > 0 ? 0.15 * next_random(&random) : 0;
      state.parameters[i] = steps[i] > 0 ? fmin(0.98, fmax(0.02, at + away)) : at;
    }
    STATUS_TRY(fit_levenberg_marquardt(&problem, ITERATIONS, &state));
    STATUS_TRY(fit_pattern_search(&problem, SEARCHES, &state));
    best = state.loss < best.loss ? state : best;
  }
  for (unsigned i = 0; i < sample->stage->count; i++) {
    sample->constants.values[sample->stage->ids[i]] = from_unit(sample->stage->ids[i], best.parameters[i]);
  }
  return STATUS_OK;
}

/* ---- rows ---- */

static bool is_group(const struct measured_collective *a, const struct measured_collective *b) {
  return a->machine == b->machine && a->request.kind == b->request.kind && a->dtype == b->dtype
         && a->request.shape.size == b->request.shape.size && a->is_network == b->is_network;
}

typedef bool row_filter(const struct measured_collective *row, const void *user);

/* Train rows of a stage: of a machine, operation, group size and type at most ROWS_OF_GROUP, spread over its sizes; every
 * machine and operation weighs the same, and rows of 1 MB and more weigh more: below it the launch tells, which harnesses
 * measure with 10 to 50 % of noise. Tables keep rows of one group together. */
static enum status gather(const struct measured_collectives *all, row_filter *filter, const void *user,
                          struct sample *sample) {
  size_t total = all->rows.count;
  sample->rows = malloc((total + 1) * sizeof *sample->rows);
  sample->weights = malloc((total + 1) * sizeof *sample->weights);
  size_t *group_sizes = calloc(collective_machine_count * COLLECTIVE_KINDS, sizeof *group_sizes);
  sample->count = 0;
  if (!sample->rows || !sample->weights || !group_sizes) {
    free(group_sizes);
    return STATUS_MEMORY;
  }
  for (size_t i = 0, end; i < total; i = end) {
    for (end = i + 1; end < total && is_group(&all->rows.data[i], &all->rows.data[end]); end++) {
    }
    size_t stride = (end - i) / 2 > ROWS_OF_GROUP ? (end - i) / 2 / ROWS_OF_GROUP : 1, seen = 0;
    for (size_t k = i; k < end; k++) {
      const struct measured_collective *row = &all->rows.data[k];
      if (!row->is_test && row->may_fit && stage_takes(sample->stage->rows, row) && filter(row, user)
          && seen++ % stride == 0) {
        sample->rows[sample->count++] = row;
        group_sizes[row->machine * COLLECTIVE_KINDS + row->request.kind]++;
      }
    }
  }
  double sum = 0;
  for (size_t i = 0; i < sample->count; i++) {
    const struct measured_collective *row = sample->rows[i];
    double of_size = row->request.bytes >= 1048576 ? LARGE_WEIGHT : 1;
    sample->weights[i] = of_size / (double)group_sizes[row->machine * COLLECTIVE_KINDS + row->request.kind];
    sum += sample->weights[i];
  }
  for (size_t i = 0; i < sample->count; i++) {
    sample->weights[i] *= (double)sample->count / sum;
  }
  free(group_sizes);
  return STATUS_OK;
}

static void sample_release(struct sample *sample) {
  free(sample->rows);
  free(sample->weights);
}

/* All stages of what `filter` takes. */
static enum status fit_rows(const struct measured_collectives *all, row_filter *filter, const void *user,
                            const struct collective_harness *harness, int starts, struct collective_family_fit *fit) {
  enum status status = STATUS_OK;
  fit->rows = 0;
  for (size_t s = 0; s < STAGE_COUNT && status == STATUS_OK; s++) {
    struct sample sample = {.stage = &stages[s], .harness = harness, .starts = starts, .constants = fit->constants};
    status = gather(all, filter, user, &sample);
    if (status == STATUS_OK && sample.count >= LEAST_ROWS) {
      sample.is_shared = strcmp(sample.rows[0]->cluster->dimensions[0].name, "pcie") == 0;
      status = fit_stage(&sample);
      fit->constants = sample.constants;
      fit->rows += sample.count;
      for (unsigned i = 0; i < stages[s].count; i++) {
        fit->is_fitted[stages[s].ids[i]] = !is_idle(&sample, stages[s].ids[i]);
      }
    }
    sample_release(&sample);
  }
  return status;
}

/* ---- families ---- */

const struct collective_family collective_families[] = {
#define COLLECTIVE_FAMILY(name, file, inherits, host_ranks) {name, file, inherits, host_ranks},
#include "measure/measure_collectives.def"
};
const size_t collective_family_count = sizeof collective_families / sizeof collective_families[0];

static bool is_of_family(const struct measured_collective *row, const void *family) {
  return strcmp(collective_machines[row->machine].family, family) == 0;
}

static struct collective_family_fit *find_fit(struct collective_fit *fit, const char *family) {
  for (size_t i = 0; i < fit->count; i++) {
    if (strcmp(fit->families[i].name, family) == 0) {
      return &fit->families[i];
    }
  }
  return NULL;
}

/* Where the search starts: the defaults, and what the first fits found where those are far off. */
static void start_from(const char *family, struct collective_family_fit *fit) {
  static const struct {
    enum collective_constant id;
    double value;
  } starts[] = {{COLLECTIVE_COPY, 2},
                {COLLECTIVE_DIRECT_COPY, 2},
                {COLLECTIVE_NVLS_LATENCY, 60e-6},

                {COLLECTIVE_NVLS_EFFICIENCY, 0.6},
                {COLLECTIVE_SIMPLE_START, 20e-6},
                {COLLECTIVE_LL128_START, 2e-6},
                {COLLECTIVE_LL_EFFICIENCY, 0.05},
                {COLLECTIVE_EAGERNESS, 1.2},
                {COLLECTIVE_DIRECT_EAGERNESS, 1.2}};
  *fit = (struct collective_family_fit){.name = family};
  for (int i = 0; i < COLLECTIVE_CONSTANT_COUNT; i++) {
    fit->constants.values[i] = bounds[i].value;
  }
  fit->constants.values[COLLECTIVE_CROWDING] =
      strcmp(family, "l40s") == 0 ? 1.5 : 0; /* eight devices below two bridges */
  bool is_cube = strcmp(family, "volta") == 0;
  for (int i = COLLECTIVE_RINGS_2; i <= COLLECTIVE_RINGS_8 && is_cube; i++) {
    fit->constants.values[i] = 0.5;
  }
  for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
    fit->constants.values[starts[i].id] = starts[i].value;
  }
  for (size_t i = 0; i < collective_family_count; i++) {
    if (strcmp(collective_families[i].name, family) == 0) {
      fit->constants.values[COLLECTIVE_TREE_UNIT] = collective_families[i].host_ranks;
      fit->is_fitted[COLLECTIVE_TREE_UNIT] = true;
      return;
    }
  }
}

static enum status fit_harness(const struct measured_collectives *all, struct collective_fit *fit) {
  double *times_s = malloc((all->rows.count + 1) * sizeof *times_s);
  if (times_s == NULL) {
    return STATUS_MEMORY;
  }
  for (size_t i = 0; i < all->rows.count; i++) {
    const struct measured_collective *row = &all->rows.data[i];
    const struct collective_family_fit *family = find_fit(fit, collective_machines[row->machine].family);
    times_s[i] = family ? collective_row_time(row, &family->constants) : row->measured_s;
  }
  collective_harness_fit(all, times_s, "", &fit->harness);
  free(times_s);
  return STATUS_OK;
}

enum status collective_fit_all(const struct measured_collectives *all, struct collective_fit *fit) {
  enum { ROUNDS = 3, STARTS = 16 };
  *fit = (struct collective_fit){0};
  for (size_t i = 0; i < collective_family_count; i++) {
    if (find_fit(fit, collective_families[i].name) == NULL) {
      start_from(collective_families[i].name, &fit->families[fit->count++]);
    }
  }
  enum status status = fit_harness(all, fit);
  for (int round = 0; round < ROUNDS && status == STATUS_OK; round++) {
    for (size_t f = 1; f < fit->count && status == STATUS_OK; f++) {
      status = fit_rows(all, is_of_family, fit->families[f].name, &fit->harness, STARTS, &fit->families[f]);
    }
    status = status == STATUS_OK ? fit_harness(all, fit) : status;
  }
  return status == STATUS_OK ? collective_fit_unseen(all, "", &fit->harness, &fit->families[0]) : status;
}

/* ---- unseen ---- */

bool collective_is_nvlink_machine(const struct collective_machine *machine) {
  static const char *const families[] = {"ampere", "hopper", "blackwell", "nvl72"};
  for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
    if (strcmp(families[i], machine->family) == 0) {
      return true;
    }
  }
  return false;
}

static bool is_other_machine(const struct measured_collective *row, const void *left_out) {
  const struct collective_machine *machine = &collective_machines[row->machine];
  /* racks of 72 are no example of the nodes of 8 that were not measured */
  bool is_rack = ((const char *)left_out)[0] == '\0' && strcmp(machine->family, "nvl72") == 0;
  return collective_is_nvlink_machine(machine) && !is_rack && strcmp(machine->cluster, left_out) != 0;
}

/* Of the others, those whose links are as fast: the same generation. */
struct generation {
  const char *left_out;
  double link_Bps;
};

static bool is_of_generation(const struct measured_collective *row, const void *user) {
  const struct generation *generation = user;
  return is_other_machine(row, generation->left_out)
         && fabs(row->cluster->dimensions[0].link_Bps / generation->link_Bps - 1) < 0.01;
}

/* Constants of all others; then, where a stage has rows of the same generation, of those. */
enum status collective_fit_unseen(const struct measured_collectives *all, const char *left_out,
                                  const struct collective_harness *harness, struct collective_family_fit *fit) {
  enum { STARTS = 2 };
  struct generation generation = {.left_out = left_out};
  start_from("nvlink", fit);
  STATUS_TRY(fit_rows(all, is_other_machine, left_out, harness, STARTS, fit));
  for (size_t i = 0; i < all->rows.count && left_out[0] != '\0'; i++) {
    const struct measured_collective *row = &all->rows.data[i];
    if (strcmp(collective_machines[row->machine].cluster, left_out) == 0) {
      generation.link_Bps = row->cluster->dimensions[0].link_Bps;
    }
  }
  return generation.link_Bps > 0 ? fit_rows(all, is_of_generation, &generation, harness, STARTS, fit) : STATUS_OK;
}
