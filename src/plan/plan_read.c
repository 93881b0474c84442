/* From a work graph to a plan program: walks the tasks in order, loops unrolled and the costliest branch of conditionals,
 * binds every tensor to a view and makes a node of every stage that computes.
 * Path: work/ graph → here → plan_read_nodes.c → (plan_fuse.c) → plan_read_emit.c → plan_program_seal. */
#include <string.h>

#include "base/checked.h"
#include "plan/plan_fuse.h"
#include "plan/plan_read.h"

enum { DEFAULT_OPERATORS = 200000, TASKS_PER_OPERATOR = 16, NESTING_MAX = 256 };

enum read_action {
  ACT_STAGES, /* one node per stage */
  ACT_UPDATE, /* a node that stores rows; the tensor stays in memory */
  ACT_IMMEDIATE, /* no data */
  ACT_RESHAPE, /* another shape of the same elements */
  ACT_VIEW, /* always read in place */
  ACT_MOVE, /* read in place from memory, and everywhere with `views` */
  ACT_COPY, /* read in place from memory only */
  ACT_LOOP,
  ACT_BRANCH,
  ACT_REFUSE
};

struct read_rule {
  uint8_t action; /* enum read_action */
  uint8_t kind; /* enum plan_stage_kind of its nodes */
  const char *reason; /* ACT_REFUSE */
};

static const struct read_rule rules[WORK_KIND_COUNT] = {
    [WORK_MATMUL] = {ACT_STAGES, PLAN_STAGE_MATRIX, NULL},
    [WORK_CONVOLUTION] = {ACT_STAGES, PLAN_STAGE_MATRIX, NULL},
    [WORK_ELEMENTWISE] = {ACT_STAGES, PLAN_STAGE_ELEMENTWISE, NULL},
    [WORK_BROADCAST] = {ACT_VIEW, PLAN_STAGE_COPY, NULL},
    [WORK_IOTA] = {ACT_IMMEDIATE, 0, NULL},
    [WORK_CONSTANT] = {ACT_IMMEDIATE, 0, NULL},
    [WORK_RESHAPE] = {ACT_RESHAPE, 0, NULL},
    [WORK_TRANSPOSE] = {ACT_MOVE, PLAN_STAGE_COPY, NULL},
    [WORK_COPY] = {ACT_MOVE, PLAN_STAGE_COPY, NULL},
    [WORK_SLICE] = {ACT_MOVE, PLAN_STAGE_COPY, NULL},
    [WORK_DYNAMIC_SLICE] = {ACT_MOVE, PLAN_STAGE_COPY, NULL},
    [WORK_DYNAMIC_UPDATE_SLICE] = {ACT_UPDATE, PLAN_STAGE_GATHER, NULL},
    [WORK_CONCATENATE] = {ACT_STAGES, PLAN_STAGE_COPY, NULL},
    [WORK_PAD] = {ACT_STAGES, PLAN_STAGE_COPY, NULL},
    [WORK_REVERSE] = {ACT_COPY, PLAN_STAGE_COPY, NULL},
    [WORK_REDUCE] = {ACT_STAGES, PLAN_STAGE_REDUCE, NULL},
    [WORK_REDUCE_WINDOW] = {ACT_STAGES, PLAN_STAGE_REDUCE, NULL},
    [WORK_SELECT_AND_SCATTER] = {ACT_REFUSE, 0, "it scatters by the result of comparisons within windows"},
    [WORK_GATHER] = {ACT_STAGES, PLAN_STAGE_GATHER, NULL},
    [WORK_SCATTER] = {ACT_UPDATE, PLAN_STAGE_GATHER, NULL},
    [WORK_SORT] = {ACT_REFUSE, 0, "sorting has no partition"},
    [WORK_TOP_K] = {ACT_STAGES, PLAN_STAGE_REDUCE, NULL},
    [WORK_FFT] = {ACT_REFUSE, 0, "transforms have no partition"},
    [WORK_CHOLESKY] = {ACT_REFUSE, 0, "factorizations have no partition"},
    [WORK_TRIANGULAR_SOLVE] = {ACT_REFUSE, 0, "solving a triangular system has no partition"},
    [WORK_RNG] = {ACT_REFUSE, 0, "random bits come from one state"},
    [WORK_BATCH_NORM] = {ACT_REFUSE, 0, "batch normalization must be written out first"},
    [WORK_ATTENTION] = {ACT_REFUSE, 0, "a fused attention call must be written out first"},
    [WORK_CUSTOM] = {ACT_REFUSE, 0, "what it computes is not known"},
    [WORK_COLLECTIVE] = {ACT_REFUSE, 0, "it communicates with other devices"},
    [WORK_COLLECTIVE_DONE] = {ACT_REFUSE, 0, "it waits for other devices"},
    [WORK_HOST] = {ACT_REFUSE, 0, "it communicates with the host"},
    [WORK_LOOP] = {ACT_LOOP, 0, NULL},
    [WORK_CONDITIONAL] = {ACT_BRANCH, 0, NULL},
    [WORK_FREE] = {ACT_RESHAPE, 0, NULL},
};

static enum status read_tasks(struct reader *reader, struct read_scope *scope, unsigned depth);

static void bind(struct read_scope *scope, uint32_t tensor, uint32_t view) {
  scope->bound[tensor] = view;
  scope->is_bound[tensor] = true;
}

/* A tensor that lies in memory. */
static uint32_t memory_view(struct reader *reader, const struct work_graph *graph, uint32_t tensor) {
  const struct work_tensor *info = &graph->tensors.data[tensor];
  uint32_t name = intern_add(reader->program->strings, intern_text(graph->strings, info->name),
                             intern_length(graph->strings, info->name));
  reader->out_of_memory |= name == UINT32_MAX;
  uint32_t value =
      read_value_add(reader, &(struct read_value){.place = READ_MEMORY,
                                                  .bits = (uint16_t)dtype_storage_bits((enum dtype)info->dtype),
                                                  .name = name,
                                                  .elements = info->element_count});
  return reader->out_of_memory ? 0 : read_view_dense(reader, value, graph->dims.data + info->dims_first, info->rank);
}

/* The view of a tensor that is about to be read: inputs and constants come to be here. */
static uint32_t view_of(struct reader *reader, struct read_scope *scope, uint32_t tensor) {
  if (!scope->is_bound[tensor]) {
    bool is_scalar = scope->graph->tensors.data[tensor].element_count <= 1;
    bind(scope, tensor, is_scalar ? 0 : memory_view(reader, scope->graph, tensor));
  }
  return scope->bound[tensor];
}

static const struct work_access *access_at(const struct work_graph *graph, const struct work_stage *stage, uint32_t i) {
  return &graph->accesses.data[stage->access_first + i];
}

static const int64_t *dims_of(const struct work_graph *graph, uint32_t tensor) {
  return graph->dims.data + graph->tensors.data[tensor].dims_first;
}

/* ---- stages that leave no node ---- */

static void read_reshape(struct reader *reader, struct read_scope *scope, const struct work_stage *stage) {
  const struct work_graph *graph = scope->graph;
  for (uint32_t i = 0; stage->read_count + i < stage->access_count; i++) {
    uint32_t out = access_at(graph, stage, stage->read_count + i)->tensor, view = 0;
    if (stage->read_count > 0) {
      uint32_t in = access_at(graph, stage, i < stage->read_count ? i : 0)->tensor;
      view = read_view_reshape(reader, view_of(reader, scope, in), dims_of(graph, out), graph->tensors.data[out].rank);
    }
    bind(scope, out, view);
  }
}

/* The result as a view of the first operand; false when its map does not say how. */
static bool read_through(struct reader *reader, struct read_scope *scope, const struct work_stage *stage) {
  const struct work_graph *graph = scope->graph;
  const struct work_access *read = access_at(graph, stage, 0), *write = access_at(graph, stage, stage->read_count);
  const struct work_tensor *in = &graph->tensors.data[read->tensor], *out = &graph->tensors.data[write->tensor];
  uint32_t view = view_of(reader, scope, read->tensor);
  int16_t identity[READ_RANK_MAX], none[READ_RANK_MAX];
  if (in->rank > READ_RANK_MAX || out->rank > READ_RANK_MAX) {
    return false;
  }
  if (read->map_count == 0 && in->rank > 0 && in->element_count > 1) {
    return false;
  }
  for (int16_t d = 0; d < READ_RANK_MAX; d++) {
    identity[d] = d;
    none[d] = -1;
  }
  const int16_t *read_map = read->map_count == in->rank && in->rank > 0 ? graph->maps.data + read->map_first : none;
  const int16_t *write_map =
      write->map_count == out->rank && out->rank > 0 ? graph->maps.data + write->map_first : identity;
  bind(scope, write->tensor,
       read_view_through(reader, view, dims_of(graph, read->tensor), read_map, in->rank, dims_of(graph, write->tensor),
                         write_map, out->rank));
  return true;
}

static bool is_conversion(const struct read_scope *scope, const struct work_stage *stage) {
  return stage->kind == WORK_ELEMENTWISE && stage->read_count == 1 && stage->label == scope->convert_label
         && scope->convert_label != 0;
}

/* Everything it reads is immediate and so is the single number it makes. */
static bool is_control(struct reader *reader, struct read_scope *scope, const struct work_stage *stage) {
  bool is_immediate = true;
  for (uint32_t i = 0; i < stage->access_count; i++) {
    uint32_t tensor = access_at(scope->graph, stage, i)->tensor;
    uint64_t elements = scope->graph->tensors.data[tensor].element_count;
    is_immediate &= i < stage->read_count ? view_of(reader, scope, tensor) == 0 : elements <= 1;
  }
  return is_immediate;
}

static bool is_empty(const struct read_scope *scope, const struct work_stage *stage) {
  bool is_empty = true;
  for (uint32_t i = stage->read_count; i < stage->access_count; i++) {
    is_empty &= scope->graph->tensors.data[access_at(scope->graph, stage, i)->tensor].element_count == 0;
  }
  for (uint32_t a = 0; a < stage->axis_count; a++) {
    is_empty |= scope->graph->axes.data[stage->axis_first + a].extent <= 0;
  }
  return is_empty;
}

static void bind_writes(struct read_scope *scope, const struct work_stage *stage, uint32_t view) {
  for (uint32_t i = stage->read_count; i < stage->access_count; i++) {
    bind(scope, access_at(scope->graph, stage, i)->tensor, view);
  }
}

/* A slice whose position an operator computes has to wait for it. */
static bool has_chip_position(struct reader *reader, struct read_scope *scope, const struct work_stage *stage) {
  for (uint32_t i = 1; i < stage->read_count; i++) {
    uint32_t view = view_of(reader, scope, access_at(scope->graph, stage, i)->tensor);
    if (view != 0 && read_value_of(reader, view)->place == READ_CHIP) {
      return true;
    }
  }
  return false;
}

static bool reads_in_place(struct reader *reader, struct read_scope *scope, const struct work_stage *stage,
                           enum read_action action) {
  if (stage->read_count == 0) {
    return false;
  }
  uint32_t view = view_of(reader, scope, access_at(scope->graph, stage, 0)->tensor);
  uint8_t place = read_value_of(reader, view)->place;
  if (action == ACT_VIEW || place == READ_IMMEDIATE) {
    return true;
  }
  return !has_chip_position(reader, scope, stage)
         && (place == READ_MEMORY || (action == ACT_MOVE && reader->options->views));
}

/* ---- updates in part ---- */

/* What is updated in part lies in memory from then on: caches, stacks of saved activations. */
static void bind_updated(struct reader *reader, struct read_scope *scope, const struct work_stage *stage) {
  const struct work_graph *graph = scope->graph;
  for (uint32_t i = 0; stage->read_count + i < stage->access_count && i < stage->read_count; i++) {
    uint32_t before = access_at(graph, stage, i)->tensor,
             after = access_at(graph, stage, stage->read_count + i)->tensor;
    uint32_t view = view_of(reader, scope, before);
    struct read_value *value = read_value_of(reader, view);
    if (value->place == READ_MEMORY) {
      bind(scope, after, view);
      continue;
    }
    if (value->place == READ_CHIP) {
      value->written_bytes = ceil_div_u64(sat_mul_u64(value->elements, value->bits), 8);
    }
    bind(scope, after, memory_view(reader, graph, after));
  }
}

/* ---- control ---- */

static enum status scope_init(struct read_scope *scope, const struct work_graph *graph, bool is_repeated) {
  size_t count = graph->tensors.count + 1;
  *scope = (struct read_scope){.graph = graph, .is_repeated = is_repeated};
  scope->bound = calloc(count, sizeof *scope->bound);
  scope->is_bound = calloc(count, sizeof *scope->is_bound);
  scope->convert_label = intern_find(graph->strings, "convert", 7);
  return scope->bound != NULL && scope->is_bound != NULL ? STATUS_OK : STATUS_MEMORY;
}

static void scope_release(struct read_scope *scope) {
  free(scope->bound);
  free(scope->is_bound);
}

static void bind_inputs(struct reader *reader, struct read_scope *outer, const struct work_task *task,
                        struct read_scope *inner) {
  for (uint32_t i = 0; i < task->read_count && i < inner->graph->inputs.count; i++) {
    uint32_t tensor = outer->graph->accesses.data[task->access_first + i].tensor;
    bind(inner, inner->graph->inputs.data[i], view_of(reader, outer, tensor));
  }
}

static void bind_outputs(struct reader *reader, struct read_scope *outer, const struct work_task *task,
                         struct read_scope *inner) {
  for (uint32_t i = task->read_count; i < task->access_count; i++) {
    uint32_t number = i - task->read_count;
    uint32_t view =
        number < inner->graph->outputs.count ? view_of(reader, inner, inner->graph->outputs.data[number]) : 0;
    bind(outer, outer->graph->accesses.data[task->access_first + i].tensor, view);
  }
}

/* Carried tensors move on, all others that the body makes are forgotten. */
static bool next_iteration(struct reader *reader, struct read_scope *inner) {
  const struct work_graph *body = inner->graph;
  uint32_t *carried = malloc((body->carried.count + 1) * sizeof *carried);
  if (carried == NULL) {
    return false;
  }
  for (size_t i = 0; i < body->carried.count; i++) {
    carried[i] = view_of(reader, inner, body->carried.data[i].out);
  }
  for (size_t i = 0; i < body->tensors.count; i++) {
    inner->is_bound[i] &= body->tensors.data[i].role != WORK_TENSOR_INTERMEDIATE;
  }
  for (size_t i = 0; i < body->carried.count; i++) {
    bind(inner, body->carried.data[i].in, carried[i]);
  }
  free(carried);
  return true;
}

/* Without iterations the results are what the carried tensors started as. */
static void no_iteration(struct reader *reader, struct read_scope *inner) {
  const struct work_graph *body = inner->graph;
  for (size_t i = 0; i < body->carried.count; i++) {
    bind(inner, body->carried.data[i].out, view_of(reader, inner, body->carried.data[i].in));
  }
}

static enum status read_inside(struct reader *reader, struct read_scope *scope, const struct work_task *task,
                               uint32_t subgraph, uint64_t times, unsigned depth) {
  struct read_scope inner;
  enum status status = scope_init(&inner, scope->graph->subgraphs.data[subgraph], scope->is_repeated);
  if (status == STATUS_OK) {
    bind_inputs(reader, scope, task, &inner);
  }
  for (uint64_t i = 0; i < times && status == STATUS_OK; i++) {
    if (i > 0 && !next_iteration(reader, &inner)) {
      status = STATUS_MEMORY;
      break;
    }
    inner.is_repeated |= i > 0;
    status = read_tasks(reader, &inner, depth + 1);
  }
  if (status == STATUS_OK && times == 0) {
    no_iteration(reader, &inner);
  }
  if (status == STATUS_OK) {
    bind_outputs(reader, scope, task, &inner);
  }
  scope_release(&inner);
  return status;
}

static uint32_t costliest_branch(const struct work_graph *graph, const struct work_task *task) {
  uint32_t best = task->subgraph_first;
  uint64_t best_ops = 0, best_bytes = 0;
  for (uint32_t i = 0; i < task->subgraph_count && task->subgraph_count > 1; i++) {
    struct work_total total;
    work_graph_total(graph->subgraphs.data[task->subgraph_first + i], &total);
    uint64_t ops = sat_add_u64(total.ops[WORK_ENGINE_MATRIX],
                               sat_add_u64(total.ops[WORK_ENGINE_VECTOR], total.ops[WORK_ENGINE_FUNCTION]));
    uint64_t bytes = sat_add_u64(total.read_bytes, total.write_bytes);
    if (i == 0 || ops > best_ops || (ops == best_ops && bytes > best_bytes)) {
      best = task->subgraph_first + i;
      best_ops = ops;
      best_bytes = bytes;
    }
  }
  return best;
}

/* ---- tasks ---- */

static void refuse_task(struct reader *reader, struct read_scope *scope, uint32_t task, const char *reason) {
  const struct work_graph *graph = scope->graph;
  const struct work_task *t = &graph->tasks.data[task];
  read_refuse(reader, scope, task, reason);
  for (uint32_t i = t->read_count; i < t->access_count; i++) {
    uint32_t tensor = graph->accesses.data[t->access_first + i].tensor;
    bind(scope, tensor, memory_view(reader, graph, tensor));
  }
}

/* A stage that computes, or moves what cannot be read in place. */
static bool read_computing(struct reader *reader, struct read_scope *scope, uint32_t task,
                           const struct work_stage *stage, const struct read_rule *rule) {
  if (stage->kind == WORK_REDUCE_WINDOW && stage->applications != 0) {
    read_refuse(reader, scope, task, "running sums have no partition");
    return false;
  }
  for (uint32_t i = 0; i < stage->read_count; i++) {
    view_of(reader, scope, access_at(scope->graph, stage, i)->tensor);
  }
  return read_node_add(reader, scope, task, stage, (enum plan_stage_kind)rule->kind);
}

static bool read_stage(struct reader *reader, struct read_scope *scope, uint32_t task, const struct work_stage *stage) {
  const struct read_rule *rule = &rules[stage->kind];
  enum read_action action = (enum read_action)rule->action;
  if (stage->access_count == stage->read_count) {
    return true;
  }
  if (action == ACT_RESHAPE) {
    read_reshape(reader, scope, stage);
    return true;
  }
  if (action == ACT_IMMEDIATE || is_empty(scope, stage) || (action != ACT_REFUSE && is_control(reader, scope, stage))) {
    bind_writes(scope, stage, 0);
    return true;
  }
  if (is_conversion(scope, stage)) {
    bind_writes(scope, stage, view_of(reader, scope, access_at(scope->graph, stage, 0)->tensor));
    return true;
  }
  switch (action) {
  case ACT_VIEW:
  case ACT_MOVE:
  case ACT_COPY:
    if (reads_in_place(reader, scope, stage, action)) {
      size_t views = reader->views.count;
      if (read_through(reader, scope, stage)) {
        bool is_chip =
            reader->views.count > views && reader->values.data[reader->views.data[views].value].place == READ_CHIP;
        reader->moves_in_place += action != ACT_VIEW && is_chip;
        return true;
      }
    }
    return read_computing(reader, scope, task, stage, rule);
  case ACT_UPDATE:
    if (!read_computing(reader, scope, task, stage, rule)) {
      return false;
    }
    bind_updated(reader, scope, stage);
    return true;
  case ACT_STAGES:
    return read_computing(reader, scope, task, stage, rule);
  default:
    read_refuse(reader, scope, task, rule->reason != NULL ? rule->reason : "it is no computation");
    return false;
  }
}

static enum status read_task(struct reader *reader, struct read_scope *scope, uint32_t index, unsigned depth) {
  const struct work_graph *graph = scope->graph;
  const struct work_task *task = &graph->tasks.data[index];
  const struct read_rule *rule = &rules[task->kind];
  if (++reader->visited / TASKS_PER_OPERATOR > reader->max_operators || reader->nodes.count > reader->max_operators
      || depth > NESTING_MAX) {
    diag_at(reader->diags, DIAG_E0808_PLAN_LIMIT, reader->options->source, task->source_offset,
            "the program has more than %u operators with its loops unrolled", reader->max_operators);
    return STATUS_LIMIT;
  }
  if (rule->action == ACT_LOOP && task->subgraph_count > 0) {
    return read_inside(reader, scope, task, task->subgraph_first, task->trip_count, depth);
  }
  if (rule->action == ACT_BRANCH && task->subgraph_count > 0) {
    return read_inside(reader, scope, task, costliest_branch(graph, task), 1, depth);
  }
  if ((task->flags & WORK_TASK_OPAQUE) != 0) {
    refuse_task(reader, scope, index, "what it computes is not known");
    return STATUS_OK;
  }
  if (rule->action == ACT_REFUSE || task->stage_count == 0) {
    refuse_task(reader, scope, index, rule->reason != NULL ? rule->reason : "it has no stages");
    return STATUS_OK;
  }
  for (uint32_t i = 0; i < task->stage_count; i++) {
    if (!read_stage(reader, scope, index, &graph->stages.data[task->stage_first + i])) {
      if (reader->out_of_memory) {
        return STATUS_MEMORY;
      }
      for (uint32_t w = task->read_count; w < task->access_count; w++) {
        uint32_t tensor = graph->accesses.data[task->access_first + w].tensor;
        bind(scope, tensor, memory_view(reader, graph, tensor));
      }
      break;
    }
  }
  return reader->out_of_memory ? STATUS_MEMORY : STATUS_OK;
}

static enum status read_tasks(struct reader *reader, struct read_scope *scope, unsigned depth) {
  for (uint32_t i = 0; i < scope->graph->tasks.count; i++) {
    STATUS_TRY(read_task(reader, scope, i, depth));
  }
  return STATUS_OK;
}

/* Results of the program that are on the chip are written back. */
static void write_outputs(struct reader *reader, struct read_scope *scope) {
  const struct work_graph *graph = scope->graph;
  for (size_t i = 0; i < graph->outputs.count; i++) {
    uint32_t tensor = graph->outputs.data[i], view = view_of(reader, scope, tensor);
    struct read_value *value = read_value_of(reader, view);
    if (view == 0 || value->place != READ_CHIP) {
      continue;
    }
    uint16_t bits = (uint16_t)dtype_storage_bits((enum dtype)graph->tensors.data[tensor].dtype);
    value->read_bits = bits > value->read_bits ? bits : value->read_bits;
    uint64_t bytes = ceil_div_u64(sat_mul_u64(graph->tensors.data[tensor].element_count, bits), 8);
    value->written_bytes = sat_add_u64(value->written_bytes, bytes);
  }
}

static void share(struct reader *reader, const char *step, size_t before, size_t after) {
  struct plan_step_share row = {step, (uint32_t)before, (uint32_t)after};
  reader->out_of_memory |= !vec_push(&reader->program->shares, row);
}

static enum status read_all(struct reader *reader, struct read_scope *scope) {
  reader->out_of_memory |= !vec_push(&reader->values, (struct read_value){0});
  reader->out_of_memory |= !vec_push(&reader->views, (struct read_view){0});
  if (reader->out_of_memory) {
    return STATUS_MEMORY;
  }
  STATUS_TRY(read_tasks(reader, scope, 0));
  write_outputs(reader, scope);
  if (reader->is_refused || reader->out_of_memory) {
    return reader->is_refused ? STATUS_INPUT : STATUS_MEMORY;
  }
  size_t nodes = reader->nodes.count;
  if (reader->options->views) {
    share(reader, "views", nodes + reader->moves_in_place, nodes);
  }
  STATUS_TRY(reader->options->fuse ? read_fuse(reader, scope) : read_emit(reader, scope, NULL));
  return reader->out_of_memory ? STATUS_MEMORY : reader->is_refused ? STATUS_INPUT : STATUS_OK;
}

enum status plan_program_read(const struct work_graph *graph, const struct plan_read_options *options,
                              struct diag_list *diags, struct plan_program *program) {
  struct reader reader = {.program = program, .options = options, .diags = diags};
  struct read_scope scope;
  reader.max_operators = options->max_operators != 0 ? options->max_operators : DEFAULT_OPERATORS;
  plan_program_init(program);
  enum status status = program->strings != NULL ? scope_init(&scope, graph, false) : STATUS_MEMORY;
  if (program->strings == NULL) {
    return status;
  }
  if (status == STATUS_OK) {
    status = read_all(&reader, &scope);
  }
  scope_release(&scope);
  vec_release(&reader.values);
  vec_release(&reader.views);
  vec_release(&reader.atoms);
  vec_release(&reader.nodes);
  vec_release(&reader.accesses);
  vec_release(&reader.extents);
  vec_release(&reader.strides);
  if (status == STATUS_OK && options->split_bytes > 0) {
    status = plan_program_split(program, options->split_bytes, reader.max_operators);
  }
  return status == STATUS_OK ? plan_program_seal(program) : status;
}
