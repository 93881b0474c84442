/* The invariants of a work graph, checked one by one. Works on unsealed graphs too; what sealing derives is checked only
 * where it is there. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/checked.h"
#include "work/work_int.h"

struct verify {
  const struct work_graph *graph;
  struct diag_list *diags;
  bool failed;
  unsigned depth;
  uint32_t *written_by; /* per tensor: task + 1 whose border writes it */
  uint32_t *inner; /* per tensor: task + 1 one of whose stages wrote it */
  uint32_t *outer; /* per tensor: task + 1 whose stages read it from outside */
  uint32_t *listed; /* per tensor: task + 1 whose border lists it */
  struct work_groups_fault *faults; /* per groups */
};

static void verify_fail(struct verify *verify, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void verify_fail(struct verify *verify, const char *format, ...) {
  struct strbuf text = {0};
  va_list args;
  va_start(args, format);
  strbuf_vprintf(&text, format, args);
  va_end(args);
  diag_at(verify->diags, DIAG_E0405_WORK_GRAPH, NULL, 0, "%s", strbuf_text(&text));
  strbuf_release(&text);
  verify->failed = true;
}

static bool range_fits(uint32_t first, uint32_t count, size_t size) {
  return first <= size && count <= size - first;
}

static void verify_tensors(struct verify *verify) {
  const struct work_graph *graph = verify->graph;
  for (uint32_t i = 0; i < graph->tensors.count; i++) {
    const struct work_tensor *tensor = &graph->tensors.data[i];
    if (tensor->dtype >= DTYPE_COUNT || tensor->role > WORK_TENSOR_INTERMEDIATE) {
      verify_fail(verify, "tensor %%%u has an unknown type or role", i);
      continue;
    }
    if (!range_fits(tensor->dims_first, tensor->rank, graph->dims.count)) {
      verify_fail(verify, "tensor %%%u has dimensions outside the graph", i);
      continue;
    }
    uint64_t elements = 1;
    bool is_empty = false;
    for (uint32_t d = 0; d < tensor->rank; d++) {
      int64_t extent = graph->dims.data[tensor->dims_first + d];
      is_empty |= extent <= 0;
      elements = sat_mul_u64(elements, extent > 0 ? (uint64_t)extent : 0);
    }
    elements = is_empty ? 0 : elements;
    if (tensor->element_count != elements
        || tensor->size_bytes != dtype_size_bytes((enum dtype)tensor->dtype, elements)) {
      verify_fail(verify, "tensor %%%u has a size that is not its dimensions times its type", i);
    }
    if (tensor->alias_of > graph->tensors.count
        || (tensor->alias_of != 0 && tensor->role != WORK_TENSOR_INTERMEDIATE)) {
      verify_fail(verify, "tensor %%%u has an alias that cannot be", i);
    }
    if (tensor->is_donated && tensor->role != WORK_TENSOR_INPUT) {
      verify_fail(verify, "tensor %%%u is donated but no input", i);
    }
  }
}

/* Alias chains end: each chain is walked until it meets a tensor known to end or its own mark. */
static void verify_aliases(struct verify *verify) {
  const struct work_graph *graph = verify->graph;
  uint32_t *mark = verify->listed; /* free until tasks are looked at; walk number + 1, or UINT32_MAX = ends */
  for (uint32_t i = 0; i < graph->tensors.count && !verify->failed; i++) {
    uint32_t t = i;
    while (graph->tensors.data[t].alias_of != 0 && mark[t] == 0) {
      mark[t] = i + 1;
      t = graph->tensors.data[t].alias_of - 1;
    }
    if (graph->tensors.data[t].alias_of != 0 && mark[t] == i + 1) {
      verify_fail(verify, "tensor %%%u shares storage with itself", i);
    }
    for (t = i; graph->tensors.data[t].alias_of != 0 && mark[t] == i + 1; t = graph->tensors.data[t].alias_of - 1) {
      mark[t] = UINT32_MAX;
    }
  }
  memset(mark, 0, graph->tensors.count * sizeof *mark);
}

/* `stage` NULL: an access of a task border. */
static bool verify_access(struct verify *verify, uint32_t task, const struct work_access *access,
                          const struct work_stage *stage, bool is_write) {
  const struct work_graph *graph = verify->graph;
  if (access->tensor >= graph->tensors.count) {
    verify_fail(verify, "task %u has an access to a tensor outside the graph", task);
    return false;
  }
  const struct work_tensor *tensor = &graph->tensors.data[access->tensor];
  if (access->touched_elements > tensor->element_count) {
    verify_fail(verify, "task %u touches more of tensor %%%u than there is", task, access->tensor);
  }
  if (((access->flags & WORK_ACCESS_WRITE) != 0) != is_write) {
    verify_fail(verify, "task %u has reads and writes of tensor %%%u mixed up", task, access->tensor);
  }
  if (((access->flags & WORK_ACCESS_PARTIAL) != 0) != (access->touched_elements < tensor->element_count)) {
    verify_fail(verify, "task %u has tensor %%%u marked partial or whole wrongly", task, access->tensor);
  }
  if ((access->flags & WORK_ACCESS_IN_PLACE) != 0 && (!is_write || tensor->alias_of == 0)) {
    verify_fail(verify, "task %u writes tensor %%%u in place of nothing", task, access->tensor);
  }
  if (access->map_count == 0) {
    return true;
  }
  if (stage == NULL || access->map_count != tensor->rank
      || !range_fits(access->map_first, access->map_count, graph->maps.count)) {
    verify_fail(verify, "task %u has an axis map of tensor %%%u that is not its rank", task, access->tensor);
    return true;
  }
  for (uint32_t d = 0; d < access->map_count; d++) {
    int16_t axis = graph->maps.data[access->map_first + d];
    if (axis < -1 || axis >= (int32_t)stage->axis_count) {
      verify_fail(verify, "task %u maps tensor %%%u to an axis that its stage does not have", task, access->tensor);
    }
  }
  return true;
}

static void verify_stage_parts(struct verify *verify, uint32_t task, const struct work_stage *stage) {
  const struct work_graph *graph = verify->graph;
  for (uint32_t i = 0; i < stage->axis_count; i++) {
    const struct work_axis *axis = &graph->axes.data[stage->axis_first + i];
    if (axis->role > WORK_AXIS_WINDOW || axis->extent < 0) {
      verify_fail(verify, "task %u has an axis of unknown role or negative extent", task);
    } else if (axis->role == WORK_AXIS_WINDOW && (axis->partner >= stage->axis_count || axis->partner == i)) {
      verify_fail(verify, "task %u has a window axis without an output axis", task);
    }
  }
  for (uint32_t i = 0; i < stage->op_count; i++) {
    const struct work_op *op = &graph->ops.data[stage->op_first + i];
    bool is_function = op->engine == WORK_ENGINE_FUNCTION;
    if (op->engine >= WORK_ENGINE_COUNT || op->dtype >= DTYPE_COUNT || op->function > WORK_FUNCTION_NONE
        || is_function != (op->function != WORK_FUNCTION_NONE)) {
      verify_fail(verify, "task %u has an operation of unknown sort", task);
    }
  }
}

static void verify_stage(struct verify *verify, uint32_t task, const struct work_stage *stage) {
  const struct work_graph *graph = verify->graph;
  if (stage->kind >= WORK_KIND_COUNT || stage->dtype >= DTYPE_COUNT || stage->precision > WORK_PRECISION_HIGHEST
      || stage->read_count > stage->access_count || !range_fits(stage->axis_first, stage->axis_count, graph->axes.count)
      || !range_fits(stage->op_first, stage->op_count, graph->ops.count)
      || !range_fits(stage->access_first, stage->access_count, graph->accesses.count)) {
    verify_fail(verify, "task %u has a stage with parts outside the graph", task);
    return;
  }
  verify_stage_parts(verify, task, stage);
  for (uint32_t i = 0; i < stage->access_count; i++) {
    const struct work_access *access = &graph->accesses.data[stage->access_first + i];
    if (!verify_access(verify, task, access, stage, i >= stage->read_count)) {
      continue;
    }
    if (i >= stage->read_count) {
      verify->inner[access->tensor] = task + 1;
    } else if (verify->inner[access->tensor] != task + 1) {
      verify->outer[access->tensor] = task + 1;
    }
  }
}

static void verify_subgraphs(struct verify *verify, uint32_t index, const struct work_task *task) {
  const struct work_graph *graph = verify->graph;
  bool has_number = task->kind == WORK_LOOP ? task->subgraph_count == 1 : task->subgraph_count >= 1;
  if (!has_number || task->stage_count != 0) {
    verify_fail(verify, "task %u is a loop or conditional with stages or without subgraphs", index);
    return;
  }
  if ((task->flags & WORK_TASK_TRIP_UNKNOWN) != 0 && task->trip_count != 1) {
    verify_fail(verify, "task %u has an unknown trip count that is not taken as 1", index);
  }
  for (uint32_t s = 0; s < task->subgraph_count; s++) {
    const struct work_graph *inside = graph->subgraphs.data[task->subgraph_first + s];
    if (inside->inputs.count != task->read_count
        || inside->outputs.count != task->access_count - (uint32_t)task->read_count) {
      verify_fail(verify, "task %u and its subgraph have different inputs or outputs", index);
      continue;
    }
    for (uint32_t i = 0; i < task->access_count; i++) {
      uint32_t outer = graph->accesses.data[task->access_first + i].tensor;
      uint32_t inner = i < task->read_count ? inside->inputs.data[i] : inside->outputs.data[i - task->read_count];
      if (inner >= inside->tensors.count || outer >= graph->tensors.count
          || inside->tensors.data[inner].size_bytes != graph->tensors.data[outer].size_bytes) {
        verify_fail(verify, "task %u passes tensor %%%u to a subgraph that takes another size", index, outer);
      }
    }
  }
}

static void verify_border(struct verify *verify, uint32_t index, const struct work_task *task) {
  const struct work_graph *graph = verify->graph;
  const bool is_control = work_task_is_control(task);
  for (uint32_t i = 0; i < task->access_count; i++) {
    const struct work_access *access = &graph->accesses.data[task->access_first + i];
    bool is_write = i >= task->read_count;
    if (!verify_access(verify, index, access, NULL, is_write)) {
      continue;
    }
    uint32_t tensor = access->tensor, *written = &verify->written_by[tensor];
    if (is_write) {
      if (*written != 0 || graph->tensors.data[tensor].role != WORK_TENSOR_INTERMEDIATE) {
        verify_fail(verify, "task %u writes tensor %%%u, which is written elsewhere or is no intermediate", index,
                    tensor);
      }
      *written = index + 1;
    } else if ((*written == 0 || *written == index + 1)
               && graph->tensors.data[tensor].role == WORK_TENSOR_INTERMEDIATE) {
      verify_fail(verify, "task %u reads tensor %%%u before it is produced", index, tensor);
    }
    if (is_control) {
      continue;
    }
    if (verify->listed[tensor] == index + 1) {
      verify_fail(verify, "task %u has tensor %%%u twice in its border", index, tensor);
    }
    verify->listed[tensor] = index + 1;
    if ((is_write ? verify->inner[tensor] : verify->outer[tensor]) != index + 1) {
      verify_fail(verify, "task %u has tensor %%%u in its border, but no stage %s it", index, tensor,
                  is_write ? "writes" : "reads");
    }
  }
  for (uint32_t s = 0; s < task->stage_count; s++) {
    const struct work_stage *stage = &graph->stages.data[task->stage_first + s];
    for (uint32_t i = 0; i < stage->read_count && i < stage->access_count; i++) {
      uint32_t tensor = graph->accesses.data[stage->access_first + i].tensor;
      if (tensor < graph->tensors.count && verify->outer[tensor] == index + 1 && verify->listed[tensor] != index + 1) {
        verify_fail(verify, "task %u reads tensor %%%u, which its border lacks", index, tensor);
      }
    }
  }
}

/* Each device is in one group once, and the collective says as many groups as there are. */
static void verify_collective(struct verify *verify, uint32_t index, const struct work_collective *collective) {
  const struct work_graph *graph = verify->graph;
  if (collective->kind > WORK_SEND_RECV || collective->reduction > WORK_REDUCTION_OTHER
      || collective->groups > graph->groups.count) {
    verify_fail(verify, "task %u is a collective of unknown kind, reduction or groups", index);
    return;
  }
  if (collective->groups == 0) {
    return;
  }
  const struct work_groups *groups = &graph->groups.data[collective->groups - 1];
  const struct work_groups_fault *fault = &verify->faults[collective->groups - 1];
  bool has_pairs = work_collective_has_pairs(collective);
  if (groups->count != collective->group_count || groups->size != collective->group_size
      || (has_pairs && groups->size != 2)) {
    verify_fail(verify, "task %u says another number or size of groups than it has", index);
  }
  uint32_t twice = !has_pairs                          ? fault->twice
                   : fault->twice_source != UINT32_MAX ? fault->twice_source
                                                       : fault->twice_target;
  if (twice != UINT32_MAX) {
    verify_fail(verify, "task %u has device %u twice in its groups", index, twice);
  }
}

/* Fills verify->faults; false when memory is exhausted. */
static bool verify_groups(struct verify *verify) {
  const struct work_graph *graph = verify->graph;
  verify->faults = calloc(graph->groups.count + 1, sizeof *verify->faults);
  bool ok = verify->faults != NULL;
  for (uint32_t i = 0; i < graph->groups.count && ok; i++) {
    ok = work_groups_check(graph, &graph->groups.data[i], &verify->faults[i]);
    if (ok && verify->faults[i].what != NULL) {
      verify_fail(verify, "groups %u %s", i, verify->faults[i].what);
    }
  }
  return ok;
}

static void verify_task(struct verify *verify, uint32_t index) {
  const struct work_graph *graph = verify->graph;
  const struct work_task *task = &graph->tasks.data[index];
  if (task->kind >= WORK_KIND_COUNT || task->read_count > task->access_count
      || !range_fits(task->stage_first, task->stage_count, graph->stages.count)
      || !range_fits(task->access_first, task->access_count, graph->accesses.count)
      || !range_fits(task->subgraph_first, task->subgraph_count, graph->subgraphs.count)
      || !range_fits(task->demand_first, task->demand_count, graph->demands.count)
      || !range_fits(task->dependency_first, task->dependency_count, graph->dependencies.count)
      || task->collective > graph->collectives.count) {
    verify_fail(verify, "task %u has parts outside the graph", index);
    return;
  }
  bool has_hero = task->stage_count == 0;
  for (uint32_t i = 0; i < task->stage_count; i++) {
    const struct work_stage *stage = &graph->stages.data[task->stage_first + i];
    verify_stage(verify, index, stage);
    has_hero |= stage->kind == task->kind;
  }
  if (!has_hero) {
    verify_fail(verify, "task %u has a kind that none of its stages has", index);
  }
  if ((task->kind == WORK_COLLECTIVE) != (task->collective != 0)) {
    verify_fail(verify, "task %u is a collective without description or the other way round", index);
  } else if (task->collective != 0) {
    verify_collective(verify, index, &graph->collectives.data[task->collective - 1]);
  }
  if (work_task_is_control(task)) {
    verify_subgraphs(verify, index, task);
  } else if (task->subgraph_count != 0) {
    verify_fail(verify, "task %u has subgraphs but is no loop or conditional", index);
  }
  verify_border(verify, index, task);
  for (uint32_t i = 0; i < task->dependency_count; i++) {
    uint32_t dependency = graph->dependencies.data[task->dependency_first + i];
    if (dependency >= index || (i > 0 && graph->dependencies.data[task->dependency_first + i - 1] >= dependency)) {
      verify_fail(verify, "task %u has dependencies that are later or not ascending", index);
    }
  }
}

static void verify_ends(struct verify *verify) {
  const struct work_graph *graph = verify->graph;
  for (size_t i = 0; i < graph->inputs.count; i++) {
    uint32_t tensor = graph->inputs.data[i];
    if (tensor >= graph->tensors.count || graph->tensors.data[tensor].role != WORK_TENSOR_INPUT) {
      verify_fail(verify, "input %zu is no tensor of role input", i);
    }
  }
  for (size_t i = 0; i < graph->outputs.count; i++) {
    uint32_t tensor = graph->outputs.data[i];
    if (tensor >= graph->tensors.count || !graph->tensors.data[tensor].is_output) {
      verify_fail(verify, "output %zu is no tensor marked as output", i);
    } else if (graph->tensors.data[tensor].role == WORK_TENSOR_INTERMEDIATE && verify->written_by[tensor] == 0) {
      verify_fail(verify, "output %zu, tensor %%%u, is never produced", i, tensor);
    }
  }
  for (size_t i = 0; i < graph->carried.count; i++) {
    struct work_carried pair = graph->carried.data[i];
    if (pair.in >= graph->tensors.count || pair.out >= graph->tensors.count
        || graph->tensors.data[pair.in].role != WORK_TENSOR_INPUT
        || graph->tensors.data[pair.in].size_bytes != graph->tensors.data[pair.out].size_bytes) {
      verify_fail(verify, "carried pair %zu has no input or two sizes", i);
    }
  }
}

static enum status verify_graph(const struct work_graph *graph, struct diag_list *diags, unsigned depth, bool *failed) {
  struct verify verify = {.graph = graph, .diags = diags, .depth = depth};
  if (depth >= WORK_MAX_NESTING) {
    verify_fail(&verify, "subgraphs nest deeper than %d", WORK_MAX_NESTING);
    *failed = true;
    return STATUS_OK;
  }
  size_t tensors = graph->tensors.count;
  uint32_t *scratch = calloc(4 * tensors + 1, sizeof *scratch);
  if (scratch == NULL || !verify_groups(&verify)) {
    free(scratch);
    free(verify.faults);
    return STATUS_MEMORY;
  }
  verify.written_by = scratch;
  verify.inner = scratch + tensors;
  verify.outer = scratch + 2 * tensors;
  verify.listed = scratch + 3 * tensors;
  verify_tensors(&verify);
  if (!verify.failed) {
    verify_aliases(&verify);
    for (uint32_t i = 0; i < graph->tasks.count && !diag_full(diags); i++) {
      verify_task(&verify, i);
    }
    verify_ends(&verify);
  }
  free(scratch);
  free(verify.faults);
  *failed |= verify.failed;
  enum status status = STATUS_OK;
  for (size_t i = 0; i < graph->subgraphs.count && status == STATUS_OK; i++) {
    status = verify_graph(graph->subgraphs.data[i], diags, depth + 1, failed);
  }
  return status;
}

enum status work_graph_verify(const struct work_graph *graph, struct diag_list *diags) {
  bool failed = false;
  STATUS_TRY(verify_graph(graph, diags, 0, &failed));
  return failed ? STATUS_INPUT : STATUS_OK;
}
