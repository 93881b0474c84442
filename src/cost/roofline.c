/* The roofline model: the time of a task is that of its slowest resource plus the launch. Path: sealed (usually fused) work
 * graph + chip → work_result. Resources overlap perfectly within a task and not at all between tasks; docs/roofline.md
 * says where that is wrong. Of tasks that sealing found alike one is estimated; the walk in order then adds up. It
 * allocates two arrays per graph and nothing per task. */
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "cost/roofline.h"

enum { MAX_DEPTH = 200 };

static void add_engines(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_task *task,
                        struct roofline_task *out) {
  double *resource_s = out->result.resource_s;
  const struct work_demand_entry *entries = graph->demands.data + task->demand_first;
  for (uint32_t i = 0; i < task->demand_count; i++) {
    const struct work_demand_entry *entry = &entries[i];
    double ops = (double)entry->ops;
    switch (entry->engine) {
    case WORK_ENGINE_VECTOR:
      resource_s[WORK_BOUND_VECTOR] += ops * rc->vector_s[entry->dtype];
      if (rc->vector_as[entry->dtype] == DTYPE_NONE && rc->is_vector_known) {
        out->refused = entry->dtype;
      } else if (rc->is_vector_noted[entry->dtype]) {
        out->vector_dtypes |= (uint64_t)1 << entry->dtype;
      }
      break;
    case WORK_ENGINE_FUNCTION:
      resource_s[WORK_BOUND_FUNCTION] +=
          ops * (entry->dtype == DTYPE_F64 ? rc->function_f64_s : rc->function_s)[entry->function];
      break;
    case WORK_ENGINE_INTEGER:
      resource_s[WORK_BOUND_INTEGER] += ops * rc->integer_s[entry->dtype];
      break;
    default:
      break;
    }
  }
}

void roofline_task_load(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_task *task,
                        struct roofline_task *out, struct roofline_load *load, struct roofline_traffic *traffic) {
  add_engines(rc, graph, task, out);
  roofline_traffic_of(rc, graph, task, traffic);
  double *resource_s = out->result.resource_s;
  out->off_chip_bytes = traffic->off_chip_bytes;
  resource_s[WORK_BOUND_MEMORY] = traffic->time_s;
  resource_s[WORK_BOUND_CACHE] = traffic->cache_time_s;
  *load = (struct roofline_load){
      .vector_s = resource_s[WORK_BOUND_VECTOR],
      .other_s = fmax(resource_s[WORK_BOUND_FUNCTION], resource_s[WORK_BOUND_INTEGER]),
      .memory_s = traffic->time_s,
      .cache_s = traffic->cache_time_s,
      .is_off_chip = traffic->off_chip_bytes > 0,
  };
}

unsigned roofline_count_products(const struct work_graph *graph, const struct work_task *task) {
  unsigned count = 0;
  for (uint32_t i = 0; i < task->stage_count; i++) {
    const struct work_stage *stage = &graph->stages.data[task->stage_first + i];
    for (uint32_t k = 0; k < stage->op_count; k++) {
      if (graph->ops.data[stage->op_first + k].engine == WORK_ENGINE_MATRIX) {
        count++;
        break;
      }
    }
  }
  return count;
}

/* The products of a task beside its load; returns launches beyond the first. */
static double add_matrix(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_task *task,
                         const struct roofline_load *load, struct roofline_task *out) {
  unsigned left = roofline_count_products(graph, task);
  const bool is_alone = left <= 1;
  const struct roofline_load nothing = {.is_off_chip = load->is_off_chip};
  double *resource_s = out->result.resource_s;
  double largest = 0, reread_bytes = 0, floor_s = 0, launches = 0;
  for (uint32_t i = 0; i < task->stage_count && left > 0; i++) {
    const struct work_stage *stage = &graph->stages.data[task->stage_first + i];
    struct roofline_contraction product;
    bool is_run = roofline_stage_gemm(rc, graph, stage, is_alone ? load : &nothing, is_alone, &product);
    left -= product.wanted != DTYPE_NONE;
    if (!is_run) {
      out->refused = product.wanted != DTYPE_NONE ? (uint8_t)product.wanted : out->refused;
      continue;
    }
    resource_s[WORK_BOUND_MATRIX] += product.gemm.time_s;
    resource_s[WORK_BOUND_VECTOR] += product.gemm.vector_s;
    resource_s[WORK_BOUND_CACHE] += product.gemm.cache_bytes * rc->cache_s;
    reread_bytes += product.gemm.reread_bytes;
    launches += product.gemm.extra_launches;
    floor_s += product.gemm.memory_floor_s;
    out->matrix_flops += product.flop_count;
    if (product.flop_count >= largest) {
      largest = product.flop_count;
      out->matrix_dtype = (uint8_t)product.runs_as;
      out->matrix_wanted = (uint8_t)product.wanted;
      out->matrix_precision = stage->precision;
    }
  }
  if (out->matrix_wanted != out->matrix_dtype) {
    out->result.runs_as = out->matrix_dtype;
  }
  out->off_chip_bytes += reread_bytes;
  resource_s[WORK_BOUND_MEMORY] += reread_bytes * rc->memory_s;
  if (load->is_off_chip) {
    resource_s[WORK_BOUND_MEMORY] = fmax(resource_s[WORK_BOUND_MEMORY], floor_s);
  }
  return launches;
}

static bool has_matrix_demand(const struct work_graph *graph, const struct work_task *task) {
  for (uint32_t i = 0; i < task->demand_count; i++) {
    if (graph->demands.data[task->demand_first + i].engine == WORK_ENGINE_MATRIX) {
      return true;
    }
  }
  return false;
}

static double slowest_resource(const struct work_task_result *result) {
  double slowest = 0;
  for (unsigned r = 0; r < WORK_BOUND_LAUNCH; r++) {
    slowest = fmax(slowest, result->resource_s[r]);
  }
  return slowest;
}

static unsigned bound_of(const struct work_task_result *result) {
  unsigned bound = WORK_BOUND_LAUNCH;
  for (unsigned r = 0; r < WORK_BOUND_LAUNCH; r++) {
    if (result->resource_s[r] > result->resource_s[bound]
        || (bound == WORK_BOUND_LAUNCH && result->resource_s[r] >= result->resource_s[bound]
            && result->resource_s[r] > 0)) {
      bound = r;
    }
  }
  return bound;
}

void roofline_task_estimate(const struct roofline_chip *rc, const struct work_graph *graph,
                            const struct work_task *task, struct roofline_task *out) {
  memset(out, 0, sizeof *out);
  out->result.bound = WORK_BOUND_NONE;
  enum work_class class_of = work_kind_info((enum work_kind)task->kind)->class_of;
  if (class_of == WORK_CLASS_FREE || class_of == WORK_CLASS_COLLECTIVE || class_of == WORK_CLASS_HOST
      || class_of == WORK_CLASS_CONTROL || (task->flags & WORK_TASK_OPAQUE)) {
    return;
  }
  struct roofline_load load;
  struct roofline_traffic traffic;
  roofline_task_load(rc, graph, task, out, &load, &traffic);
  bool is_product = has_matrix_demand(graph, task);
  bool is_fitted = task->kind == WORK_ATTENTION ? roofline_fitted_attention(rc, graph, task, &traffic, out)
                   : is_product                 ? roofline_fitted_task(rc, graph, task, &traffic, out)
                                                : roofline_fitted_pass(rc, graph, task, &traffic, out);
  if (!is_fitted) {
    double launches = 1 + (is_product ? add_matrix(rc, graph, task, &load, out) : 0);
    roofline_narrow_heads(rc, graph, task, out);
    out->result.resource_s[WORK_BOUND_LAUNCH] = rc->launch_s * launches;
    out->result.time_s = slowest_resource(&out->result) + rc->launch_s * launches;
    out->interval = rc->unfitted;
  }
  out->result.bound = (uint8_t)bound_of(&out->result);
}

/* Sums over one pass through a graph, subgraphs multiplied in. Doubles only: sums_add walks it as an array. */
struct roofline_sums {
  double time_s;
  double bound_s[WORK_BOUND_COUNT];
  double class_s[WORK_CLASS_COUNT];
  double class_count[WORK_CLASS_COUNT];
  double class_below_s[WORK_CLASS_COUNT], class_above_s[WORK_CLASS_COUNT]; /* from the time to its interval's ends */
  double fitted_s, inherited_s; /* time of tasks whose kernels were measured on the chip, on its family */
  double flops, bytes;
  double matrix_flops[DTYPE_COUNT]; /* by type computed in */
  double runs_as_count[DTYPE_COUNT][DTYPE_COUNT]; /* tasks by type of the program and type computed in */
  double refused_count[DTYPE_COUNT];
  double f32_count[WORK_PRECISION_HIGHEST + 1]; /* tasks with f32 products by precision */
  double vector_count[DTYPE_COUNT], vector_s[DTYPE_COUNT]; /* tasks with remarkable vector arithmetic, its time */
  double collectives, collective_bytes, opaque, host, unknown_trips;
};

static void sums_add(struct roofline_sums *into, const struct roofline_sums *from, double factor) {
  double *to = (double *)into;
  const double *source = (const double *)from;
  for (size_t i = 0; i < sizeof *into / sizeof(double); i++) {
    to[i] += source[i] * factor;
  }
}

struct walk {
  const struct roofline_chip *rc;
  struct arena *arena;
  bool uses_alike; /* what the chip keeps on chip is less than the distances that sealing tells apart */
  struct roofline_sums *scratch[MAX_DEPTH + 1]; /* two per depth: a branch, the costliest branch */
};

/* `result` NULL: of the sums only the time and what is refused are wanted. */
static enum status walk_graph(struct walk *walk, const struct work_graph *graph, unsigned depth,
                              struct work_graph_result *result, struct roofline_sums *sums);

/* Loops take the time of all iterations; of branches the costliest counts. */
static enum status walk_control(struct walk *walk, const struct work_graph *graph, const struct work_task *task,
                                unsigned depth, struct work_graph_result *result, struct work_task_result *task_result,
                                struct roofline_sums *sums) {
  bool is_loop = task->kind == WORK_LOOP;
  if (walk->scratch[depth] == NULL) {
    walk->scratch[depth] = arena_alloc(walk->arena, 2 * sizeof(struct roofline_sums));
    if (walk->scratch[depth] == NULL) {
      return STATUS_MEMORY;
    }
  }
  struct roofline_sums *branch = &walk->scratch[depth][0], *chosen = &walk->scratch[depth][1];
  memset(chosen, 0, sizeof *chosen);
  for (uint32_t i = 0; i < task->subgraph_count; i++) {
    uint32_t sub = task->subgraph_first + i;
    memset(branch, 0, sizeof *branch);
    struct work_graph_result *inside = result != NULL ? &result->subgraphs[sub] : NULL;
    STATUS_TRY(walk_graph(walk, graph->subgraphs.data[sub], depth + 1, inside, branch));
    if (is_loop) {
      sums_add(chosen, branch, 1);
    } else if (i == 0 || branch->time_s > chosen->time_s) {
      *chosen = *branch;
    }
  }
  double trips = is_loop ? (double)task->trip_count : 1;
  memset(task_result, 0, sizeof *task_result);
  double largest = 0;
  task_result->bound = WORK_BOUND_NONE;
  for (unsigned b = 0; b < WORK_BOUND_COUNT; b++) {
    task_result->resource_s[b] = chosen->bound_s[b] * trips;
    if (task_result->resource_s[b] > largest) {
      largest = task_result->resource_s[b];
      task_result->bound = (uint8_t)b;
    }
  }
  task_result->time_s = chosen->time_s * trips;
  chosen->time_s = 0; /* the caller adds the time of the task */
  sums->unknown_trips += (task->flags & WORK_TASK_TRIP_UNKNOWN) != 0;
  sums_add(sums, chosen, trips);
  return STATUS_OK;
}

static void count_untimed(const struct work_graph *graph, const struct work_task *task, struct roofline_sums *sums) {
  if (task->collective != 0) {
    const struct work_collective *collective = &graph->collectives.data[task->collective - 1];
    sums->collectives += 1;
    sums->collective_bytes += (double)collective->bytes_per_rank;
  }
  sums->opaque += (task->flags & WORK_TASK_OPAQUE) != 0;
  sums->host += task->kind == WORK_HOST;
}

static void sum_task(const struct work_graph *graph, const struct work_task *task, const struct roofline_task *estimate,
                     struct roofline_sums *sums) {
  const struct work_kind_info *info = work_kind_info((enum work_kind)task->kind);
  sums->bound_s[estimate->result.bound] += estimate->result.time_s;
  sums->class_s[info->class_of] += estimate->result.time_s;
  sums->class_count[info->class_of] += 1;
  sums->class_below_s[info->class_of] += estimate->result.time_s * (1 - estimate->interval.low);
  sums->class_above_s[info->class_of] += estimate->result.time_s * (estimate->interval.high - 1);
  sums->fitted_s += estimate->is_fitted ? estimate->result.time_s : 0;
  sums->inherited_s += estimate->is_inherited ? estimate->result.time_s : 0;
  sums->bytes += estimate->off_chip_bytes;
  if (estimate->matrix_flops > 0) {
    sums->matrix_flops[estimate->matrix_dtype] += estimate->matrix_flops;
    if (estimate->matrix_wanted == DTYPE_F32) {
      sums->f32_count[estimate->matrix_precision] += 1;
    } else {
      sums->runs_as_count[estimate->matrix_wanted][estimate->matrix_dtype] += 1;
    }
  }
  sums->refused_count[estimate->refused] += 1;
  for (uint64_t left = estimate->vector_dtypes; left != 0; left &= left - 1) {
    unsigned dtype = (unsigned)__builtin_ctzll(left);
    sums->vector_count[dtype] += 1;
    sums->vector_s[dtype] += estimate->result.resource_s[WORK_BOUND_VECTOR];
  }
  if (estimate->result.bound == WORK_BOUND_NONE) {
    count_untimed(graph, task, sums);
    return;
  }
  for (uint32_t i = 0; i < task->demand_count; i++) {
    const struct work_demand_entry *entry = &graph->demands.data[task->demand_first + i];
    sums->flops += entry->engine != WORK_ENGINE_INTEGER ? (double)entry->ops : 0;
  }
}

/* The estimates of a graph's tasks: of each sort the first is computed, later ones are looked up. */
struct known_tasks {
  struct roofline_task *sorts; /* by work_task.alike */
  uint32_t count; /* sorts seen; they are numbered in the order in which they come up */
  struct roofline_task single; /* where sorts do not apply */
};

static const struct roofline_task *estimate_known(const struct walk *walk, const struct work_graph *graph,
                                                  const struct work_task *task, struct known_tasks *known) {
  if (!walk->uses_alike || graph->alike_count == 0) {
    roofline_task_estimate(walk->rc, graph, task, &known->single);
    return &known->single;
  }
  struct roofline_task *estimate = &known->sorts[task->alike];
  if (task->alike == known->count) {
    known->count++;
    roofline_task_estimate(walk->rc, graph, task, estimate);
  }
  return estimate;
}

static enum status walk_graph(struct walk *walk, const struct work_graph *graph, unsigned depth,
                              struct work_graph_result *result, struct roofline_sums *sums) {
  if (depth > MAX_DEPTH) {
    return STATUS_LIMIT;
  }
  struct known_tasks known = {.sorts = arena_alloc(walk->arena, graph->alike_count * sizeof *known.sorts)};
  if (result != NULL) {
    result->tasks = arena_alloc(walk->arena, graph->tasks.count * sizeof *result->tasks);
    result->subgraphs = arena_calloc(walk->arena, graph->subgraphs.count, sizeof *result->subgraphs);
  }
  if (known.sorts == NULL || (result != NULL && (result->tasks == NULL || result->subgraphs == NULL))) {
    return STATUS_MEMORY;
  }
  double time_s = 0;
  for (size_t i = 0; i < graph->tasks.count; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    if (task->kind == WORK_LOOP || task->kind == WORK_CONDITIONAL) {
      struct work_task_result control;
      known.count += task->alike == known.count; /* control tasks are sorts of their own */
      STATUS_TRY(walk_control(walk, graph, task, depth, result, &control, sums));
      time_s += control.time_s;
      if (result != NULL) {
        result->tasks[i] = control;
      }
      continue;
    }
    const struct roofline_task *estimate = estimate_known(walk, graph, task, &known);
    time_s += estimate->result.time_s;
    if (result != NULL) {
      sum_task(graph, task, estimate, sums);
      result->tasks[i] = estimate->result;
    } else {
      sums->refused_count[estimate->refused] += 1;
    }
  }
  if (result != NULL) {
    result->time_s = time_s;
  }
  sums->time_s += time_s;
  return STATUS_OK;
}

static uint64_t to_count(double value) {
  return value >= 18446744073709549568.0 ? UINT64_MAX : (uint64_t)value;
}

/* 8-bit floats share one engine type, whose rate is that of the two that all vendors have; the other types of an engine
 * differ from it in sign alone (ui8 and i8) or in width (i2). */
static bool is_same_engine(enum dtype wanted, enum dtype as) {
  if (hw_engine_type(wanted) != as) {
    return false;
  }
  bool is_common_f8 = wanted == DTYPE_F8E4M3FN || wanted == DTYPE_F8E5M2;
  return dtype_class_of(wanted) == DTYPE_CLASS_FLOAT ? wanted == as || is_common_f8
                                                     : dtype_bits(wanted) == dtype_bits(as);
}

static void note_f32_products(const struct roofline_sums *sums, const struct roofline_chip *rc,
                              struct work_result *result) {
  static const char *const at[] = {"", " at HIGH precision", " at HIGHEST precision"};
  for (unsigned p = 0; p <= WORK_PRECISION_HIGHEST; p++) {
    enum dtype as = (enum dtype)rc->f32_as[p];
    if (!(sums->f32_count[p] > 0) || as == DTYPE_F32) {
      continue;
    }
    uint64_t count = to_count(sums->f32_count[p]);
    if (rc->f32_passes[p] > 1) {
      work_result_note(result, DIAG_W0502_DTYPE_AS, count, "f32 matrix products%s run as %g passes of %s on %s", at[p],
                       rc->f32_passes[p], dtype_name(as), rc->hw->id);
    } else {
      work_result_note(result, DIAG_W0502_DTYPE_AS, count, "f32 matrix products%s run as %s on %s", at[p],
                       dtype_name(as), rc->hw->id);
    }
  }
}

/* Wider types for element-wise arithmetic are common (bf16 in f32 lanes); they are worth a remark where the vector engine
 * has a share in the time. */
static void note_vector(const struct roofline_sums *sums, const struct roofline_chip *rc, enum dtype dtype,
                        struct work_result *result) {
  const double relevant_share = 0.01;
  enum dtype as = (enum dtype)rc->vector_as[dtype];
  uint64_t count = to_count(sums->vector_count[dtype]);
  bool is_narrowed = rc->element_bytes[as] < rc->element_bytes[dtype];
  if (count == 0 || (!is_narrowed && sums->vector_s[dtype] < relevant_share * sums->time_s)) {
    return;
  }
  if (as != dtype && as != hw_engine_type(dtype)) {
    work_result_note(result, DIAG_W0502_DTYPE_AS, count, "%s element-wise arithmetic runs as %s on %s",
                     dtype_name(dtype), dtype_name(as), rc->hw->id);
  } else {
    work_result_note(result, DIAG_W0502_DTYPE_AS, count,
                     "%s element-wise arithmetic runs at 1/%.0f of the f32 rate on %s", dtype_name(dtype),
                     rc->vector_s[dtype] / rc->vector_s[DTYPE_F32], rc->hw->id);
  }
}

static void note_types(const struct roofline_sums *sums, const struct roofline_chip *rc, struct work_result *result) {
  const struct hw_chip *chip = rc->hw;
  for (unsigned wanted = DTYPE_NONE + 1; wanted < DTYPE_COUNT; wanted++) {
    for (unsigned as = DTYPE_NONE + 1; as < DTYPE_COUNT; as++) {
      if (sums->runs_as_count[wanted][as] > 0 && !is_same_engine((enum dtype)wanted, (enum dtype)as)) {
        work_result_note(result, DIAG_W0502_DTYPE_AS, to_count(sums->runs_as_count[wanted][as]),
                         "%s matrix products run as %s on %s", dtype_name((enum dtype)wanted),
                         dtype_name((enum dtype)as), chip->id);
      }
    }
    if (wanted == DTYPE_F32) {
      note_f32_products(sums, rc, result);
    }
    note_vector(sums, rc, (enum dtype)wanted, result);
    if (sums->refused_count[wanted] > 0) {
      result->is_refused = true;
      work_result_note(result, DIAG_E0501_DTYPE, to_count(sums->refused_count[wanted]), "%s cannot run %s", chip->id,
                       dtype_name((enum dtype)wanted));
    }
  }
}

static void note_untimed(const struct roofline_sums *sums, const struct roofline_chip *rc, struct work_result *result) {
  if (sums->collectives > 0) {
    work_result_note(result, DIAG_W0503_NOT_TIMED, 1, "%.0f collectives, %.0f bytes, not timed", sums->collectives,
                     sums->collective_bytes);
  }
  if (sums->opaque > 0) {
    work_result_note(result, DIAG_W0503_NOT_TIMED, 1, "%.0f operations of unknown cost, not timed", sums->opaque);
  }
  if (sums->host > 0) {
    work_result_note(result, DIAG_W0503_NOT_TIMED, 1, "%.0f transfers to or from the host, not timed", sums->host);
  }
  if (sums->unknown_trips > 0) {
    work_result_note(result, DIAG_W0403_TRIP_COUNT, 1, "%.0f loops of unknown length counted as one iteration",
                     sums->unknown_trips);
  }
  if (!rc->is_vector_known) {
    work_result_note(result, DIAG_W0503_NOT_TIMED, 1, "no element-wise rate of %s is known; such work is not timed",
                     rc->hw->id);
  }
}

static double matrix_utilisation(const struct roofline_sums *sums, const struct hw_chip *chip, double time_s) {
  double total = 0;
  unsigned most = DTYPE_NONE;
  for (unsigned d = 0; d < DTYPE_COUNT; d++) {
    total += sums->matrix_flops[d];
    most = sums->matrix_flops[d] > sums->matrix_flops[most] ? d : most;
  }
  double peak = chip->matrix_flops[most];
  return peak > 0 && time_s > 0 ? total / (time_s * peak) : 0;
}

/* An unknown size (0) is no verdict. */
static bool fits(const struct hw_chip *chip, const struct work_memory *memory) {
  uint64_t capacity_bytes = to_count(chip->memory_size_bytes);
  return capacity_bytes == 0 || memory->peak_bytes <= capacity_bytes;
}

/* How far the time of the program may be off: errors of one class of kernels go the same way, those of different classes
 * are taken as independent. docs/calibration.md says what that leaves out. */
static void fill_interval(const struct roofline_sums *sums, struct work_result *result) {
  double below = 0, above = 0;
  for (unsigned c = 0; c < WORK_CLASS_COUNT; c++) {
    below += sums->class_below_s[c] * sums->class_below_s[c];
    above += sums->class_above_s[c] * sums->class_above_s[c];
  }
  /* the start of a program: between half and twice what is assumed */
  below += 0.25 * result->dispatch_s * result->dispatch_s;
  above += result->dispatch_s * result->dispatch_s;
  result->low_s = fmax(0, result->time_s - sqrt(below));
  result->high_s = result->time_s + sqrt(above);
  double total = sums->time_s > 0 ? sums->time_s : 1;
  result->fitted_share = sums->fitted_s / total;
  result->inherited_share = sums->inherited_s / total;
}

static void fill_result(const struct roofline_sums *sums, const struct roofline_chip *rc, struct work_result *result) {
  const struct hw_chip *chip = rc->hw;
  memcpy(result->bound_s, sums->bound_s, sizeof result->bound_s);
  memcpy(result->class_s, sums->class_s, sizeof result->class_s);
  for (unsigned c = 0; c < WORK_CLASS_COUNT; c++) {
    result->class_count[c] = to_count(sums->class_count[c]);
  }
  result->flops = sums->flops;
  result->bytes = sums->bytes;
  result->dispatch_s = chip->dispatch_s;
  result->time_s = sums->time_s + chip->dispatch_s;
  fill_interval(sums, result);
  result->matrix_utilisation = matrix_utilisation(sums, chip, result->time_s);
  result->collectives = to_count(sums->collectives);
  result->collective_bytes = to_count(sums->collective_bytes);
  result->opaque_tasks = to_count(sums->opaque);
  result->capacity_bytes = to_count(chip->memory_size_bytes);
  result->fits = fits(chip, &result->memory);
  note_types(sums, rc, result);
  note_untimed(sums, rc, result);
  if (!chip->has_off_chip && !result->fits) {
    result->is_refused = true;
    work_result_note(result, DIAG_E0504_DOES_NOT_FIT, 1, "the program needs %llu bytes, the only memory of %s has %llu",
                     (unsigned long long)result->memory.peak_bytes, chip->id,
                     (unsigned long long)result->capacity_bytes);
  }
  if (result->is_refused) {
    result->time_s = result->low_s = result->high_s = NAN;
  }
}

static enum status walk_program(const struct work_graph *graph, const struct roofline_chip *rc, struct arena *arena,
                                struct work_graph_result *result, struct roofline_sums **sums) {
  *sums = arena_calloc(arena, 1, sizeof **sums);
  if (*sums == NULL) {
    return STATUS_MEMORY;
  }
  struct walk walk = {.rc = rc, .arena = arena, .uses_alike = rc->resident_bytes < (double)WORK_ALIKE_FAR_BYTES};
  return walk_graph(&walk, graph, 0, result, *sums);
}

static enum status estimate(const struct work_graph *graph, const struct hw_chip *chip,
                            const struct cost_options *options, struct work_result *result) {
  struct roofline_chip rc;
  struct roofline_sums *sums;
  roofline_chip_init(&rc, chip, options);
  STATUS_TRY(walk_program(graph, &rc, &result->arena, &result->root, &sums));
  result->memory = graph->memory;
  fill_result(sums, &rc, result);
  return STATUS_OK;
}

static enum status program_time(const struct work_graph *graph, const struct hw_chip *chip,
                                const struct cost_options *options, double *time_s) {
  struct roofline_chip rc;
  struct roofline_sums *sums;
  struct arena arena;
  arena_init(&arena, 0);
  roofline_chip_init(&rc, chip, options);
  enum status status = walk_program(graph, &rc, &arena, NULL, &sums);
  if (status == STATUS_OK) {
    bool is_refused = !chip->has_off_chip && !fits(chip, &graph->memory);
    for (unsigned d = DTYPE_NONE + 1; d < DTYPE_COUNT; d++) {
      is_refused |= sums->refused_count[d] > 0;
    }
    *time_s = is_refused ? (double)NAN : sums->time_s + chip->dispatch_s;
  }
  arena_release(&arena);
  return status;
}

static const char *supports(const struct hw_chip *chip) {
  return chip->missing;
}

const struct cost_model cost_roofline = {
    .name = "roofline",
    .summary = "analytical: slowest engine or memory level of each kernel plus its launch",
    .supports = supports,
    .estimate = estimate,
    .explain = roofline_explain,
    .program_time = program_time,
};
