/* Collectives, host transfers and parallel programs. Every member of a group brings its operands to a meeting, takes those of
 * all members from it and computes its own result. Source: the StableHLO specification, section Distributed operations. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interp/interp_custom.h"
#include "interp/interp_grid.h"
#include "interp/interp_view.h"

/* The operands of all members of this process's group. */
struct gathered {
  struct interp_group group;
  struct interp_value **values; /* operand k of member i is values[i * count + k]; owned */
  uint32_t count;
  uint32_t reduced; /* operands that are reduced: the first so many */
};

static void gathered_release(struct gathered *g) {
  for (uint64_t i = 0; g->values && i < (uint64_t)g->group.count * g->count; i++) {
    interp_release(g->values[i]);
  }
  free(g->values);
  free(g->group.members);
}

static bool gather_operands(struct interp_call *call, uint32_t count, struct gathered *g) {
  *g = (struct gathered){.count = count, .reduced = count};
  if (!interp_group_of(call, &g->group)) {
    return false;
  }
  if (g->group.count == 0) {
    const struct interp_process *self = call->frame->process;
    return interp_wrong(call, "the process of replica %u, partition %u is in none of its groups", self->replica,
                        self->partition);
  }
  g->values = calloc((size_t)g->group.count * count + 1, sizeof(struct interp_value *));
  if (!g->values) {
    return interp_out_of_memory(call);
  }
  return interp_meet(call, &g->group, interp_channel_of(call), call->operands, count, g->values);
}

static bool same_type(const struct interp_value *a, const struct interp_value *b) {
  return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank
         && (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

static bool check_members(struct interp_call *call, const struct gathered *g) {
  for (uint64_t i = 0; i < (uint64_t)g->group.count * g->count; i++) {
    if (!same_type(g->values[i], g->values[i % g->count])) {
      return interp_wrong(call, "the members of its group bring different types");
    }
  }
  return true;
}

/* ---- reductions ------------------------------------------------------------------------------------------------------------ */

/* reduced[k] = the operands k of all members through the body, in the order of the group; flat, owned. A body of one pair
 * serves every operand; a body of all pairs takes them together. */
static bool reduce_members(struct interp_call *call, const struct gathered *g, struct interp_value **reduced) {
  struct interp_body body;
  bool ok = true;
  interp_body_init(&body, call->frame, call->op, 0);
  if (body.argument_count != 2 || body.result_count != 1) {
    return interp_wrong(call, "its body has %u arguments", body.argument_count);
  }
  for (uint32_t k = 0; ok && k < g->reduced; k++) {
    struct interp_value *sum = g->values[k];
    interp_retain(sum);
    for (uint32_t i = 1; ok && i < g->group.count; i++) {
      struct interp_value *pair[2] = {sum, g->values[(size_t)i * g->count + k]}, *next = NULL;
      ok = sum->count == 0 || interp_body_apply(&body, pair, sum->count, &next);
      if (next) {
        interp_release(sum);
        sum = next;
      }
    }
    reduced[k] = sum;
  }
  return ok;
}

/* results[i] with the elements of a flat tensor. */
static bool shaped_result(struct interp_call *call, uint32_t i, const struct interp_value *flat, const int64_t *dims,
                          uint32_t rank) {
  struct interp_value *to = interp_result(call, i, dims, rank);
  if (!to || to->size_bytes != flat->size_bytes) {
    return to ? interp_wrong(call, "result %u has another type than what is reduced", i) : false;
  }
  if (to->size_bytes > 0) {
    memcpy(to->data, flat->data, to->size_bytes);
  }
  return true;
}

static void release_values(struct interp_value **values, uint32_t count) {
  for (uint32_t i = 0; values && i < count; i++) {
    interp_release(values[i]);
  }
  free(values);
}

bool interp_op_all_reduce(struct interp_call *call) {
  struct gathered g;
  struct interp_value **reduced = calloc((size_t)call->operand_count + 1, sizeof *reduced);
  bool ok = reduced ? gather_operands(call, call->operand_count, &g) : interp_out_of_memory(call);
  if (!reduced) {
    return false;
  }
  ok = ok && check_members(call, &g) && reduce_members(call, &g, reduced);
  for (uint32_t k = 0; ok && k < call->result_count; k++) {
    ok = shaped_result(call, k, reduced[k], call->operands[k]->dims, call->operands[k]->rank);
  }
  release_values(reduced, call->operand_count);
  gathered_release(&g);
  return ok;
}

/* sum += more, element by element, rounded as add does. */
static void add_to(struct interp_value *sum, const struct interp_value *more) {
  bool is_integral = interp_is_integral(sum), is_complex = interp_is_complex(sum);
  for (uint64_t i = 0; i < sum->count; i++) {
    double x[2], y[2];
    int64_t number = 0;
    if (is_integral) {
      number = (int64_t)((uint64_t)interp_int_at(sum, i) + (uint64_t)interp_int_at(more, i));
      interp_write_int(sum, i, 1, &number);
      continue;
    }
    interp_read_complex(sum, i, 1, x);
    interp_read_complex(more, i, 1, y);
    x[0] += y[0];
    x[1] += y[1];
    if (is_complex) {
      interp_write_complex(sum, i, 1, x);
    } else {
      interp_write_real(sum, i, 1, x);
    }
  }
}

/* all_reduce with the body add. */
bool interp_op_cross_replica_sum(struct interp_call *call) {
  struct gathered g;
  const struct interp_value *own = call->operands[0];
  bool ok = gather_operands(call, 1, &g) && check_members(call, &g);
  struct interp_value *sum = ok ? interp_copy(call, g.values[0], own->dims, own->rank) : NULL;
  for (uint32_t i = 1; sum && i < g.group.count; i++) {
    add_to(sum, g.values[i]);
  }
  ok = sum && interp_fits_result(call, 0, own->dims, own->rank);
  if (ok) {
    interp_result_is(call, 0, sum);
  }
  interp_release(sum);
  gathered_release(&g);
  return ok;
}

/* Member i keeps part i of the reduced tensor along the dimension. */
bool interp_op_reduce_scatter(struct interp_call *call) {
  struct gathered g;
  struct interp_value *reduced = NULL, *to = NULL;
  const struct interp_value *from = call->operands[0];
  int64_t axis = interp_attr_int(call, "scatter_dimension", 0), dims[INTERP_MAX_RANK];
  if (axis < 0 || axis >= from->rank) {
    return interp_wrong(call, "dimension %" PRId64 " of rank %u", axis, from->rank);
  }
  bool ok = gather_operands(call, 1, &g) && check_members(call, &g) && reduce_members(call, &g, &reduced);
  if (ok && from->dims[axis] % g.group.count != 0) {
    ok = interp_wrong(call, "%" PRId64 " elements for %u processes", from->dims[axis], g.group.count);
  }
  if (ok) {
    memcpy(dims, from->dims, from->rank * sizeof *dims);
    dims[axis] /= g.group.count;
    to = interp_result(call, 0, dims, from->rank);
    ok = to != NULL;
  }
  if (ok) {
    struct interp_view whole = interp_view_of(to), part = {0};
    interp_strides(from->dims, from->rank, part.strides);
    part.base = g.group.own * dims[axis] * part.strides[axis];
    interp_view_copy(to, &whole, reduced, &part, dims, from->rank);
  }
  interp_release(reduced);
  gathered_release(&g);
  return ok;
}

/* ---- exchanges --------------------------------------------------------------------------------------------------------------- */

/* results[result] = parts side by side along the axis. */
static bool join(struct interp_call *call, uint32_t result, struct interp_value *const *parts, uint32_t count,
                 uint32_t step, int64_t axis, const struct interp_view *part_views, const int64_t *part_dims) {
  const struct interp_value *first = parts[0];
  int64_t dims[INTERP_MAX_RANK];
  memcpy(dims, part_dims, first->rank * sizeof *dims);
  if (__builtin_mul_overflow(dims[axis], (int64_t)count, &dims[axis])) {
    return interp_wrong(call, "the result is too large");
  }
  struct interp_value *to = interp_result(call, result, dims, first->rank);
  if (!to) {
    return false;
  }
  struct interp_view window = interp_view_of(to);
  for (uint32_t i = 0; i < count; i++) {
    interp_view_copy(to, &window, parts[(size_t)i * step], part_views, part_dims, first->rank);
    window.base += part_dims[axis] * window.strides[axis];
  }
  return true;
}

bool interp_op_all_gather(struct interp_call *call) {
  struct gathered g;
  int64_t axis = interp_attr_int(call, "all_gather_dim", 0);
  bool ok = gather_operands(call, call->operand_count, &g) && check_members(call, &g);
  for (uint32_t k = 0; ok && k < call->result_count; k++) {
    const struct interp_value *own = call->operands[k];
    struct interp_view whole = interp_view_of(own);
    ok = axis >= 0 && axis < own->rank ? join(call, k, g.values + k, g.group.count, g.count, axis, &whole, own->dims)
                                       : interp_wrong(call, "dimension %" PRId64 " of rank %u", axis, own->rank);
  }
  gathered_release(&g);
  return ok;
}

/* Part i of every member goes to member i, which puts them side by side. */
bool interp_op_all_to_all(struct interp_call *call) {
  struct gathered g;
  int64_t split = interp_attr_int(call, "split_dimension", 0), axis = interp_attr_int(call, "concat_dimension", 0);
  int64_t count = interp_attr_int(call, "split_count", 1), dims[INTERP_MAX_RANK];
  bool ok = gather_operands(call, call->operand_count, &g) && check_members(call, &g);
  for (uint32_t k = 0; ok && k < call->result_count; k++) {
    const struct interp_value *own = call->operands[k];
    ok = split >= 0 && split < own->rank && axis >= 0 && axis < own->rank && count == g.group.count
         && own->dims[split] % count == 0;
    if (!ok) {
      return gathered_release(&g), interp_wrong(call, "its dimensions do not fit its operands and groups");
    }
    memcpy(dims, own->dims, own->rank * sizeof *dims);
    dims[split] /= count;
    struct interp_view part = interp_view_of(own);
    part.base = g.group.own * dims[split] * part.strides[split];
    ok = join(call, k, g.values + k, g.group.count, g.count, axis, &part, dims);
  }
  gathered_release(&g);
  return ok;
}

/* ---- ragged_all_to_all ------------------------------------------------------------------------------------------------------- */

enum { RAGGED_FROM, RAGGED_TO, RAGGED_INPUT_OFFSETS, RAGGED_SEND_SIZES, RAGGED_OUTPUT_OFFSETS, RAGGED_OPERANDS = 6 };

/* Copies the rows that member `from` sends to this one; `chunks` per pair of members. */
static bool take_ragged(struct interp_call *call, const struct gathered *g, uint32_t from, uint64_t chunks,
                        struct interp_value *to) {
  struct interp_value *const *values = g->values + (size_t)from * g->count;
  const struct interp_value *rows = values[RAGGED_FROM];
  uint64_t row_bytes = to->dims[0] == 0 ? 0 : to->size_bytes / (uint64_t)to->dims[0];
  for (uint64_t i = g->group.own * chunks; i < (g->group.own + 1) * chunks; i++) {
    int64_t start = interp_int_at(values[RAGGED_INPUT_OFFSETS], i), size = interp_int_at(values[RAGGED_SEND_SIZES], i);
    int64_t at = interp_int_at(values[RAGGED_OUTPUT_OFFSETS], i);
    bool fits = size >= 0 && start >= 0 && at >= 0 && size <= rows->dims[0] && start <= rows->dims[0] - size
                && size <= to->dims[0] && at <= to->dims[0] - size;
    if (!fits) {
      return interp_wrong(call, "member %u sends rows %" PRId64 " + %" PRId64 " to row %" PRId64, from, start, size,
                          at);
    }
    if (size > 0) {
      memcpy(to->data + (uint64_t)at * row_bytes, rows->data + (uint64_t)start * row_bytes, (uint64_t)size * row_bytes);
    }
  }
  return true;
}

/* Operands and offsets have the shapes that the exchange needs. */
static bool check_ragged(struct interp_call *call, const struct gathered *g) {
  const struct interp_value *rows = g->values[RAGGED_FROM], *to = g->values[RAGGED_TO];
  bool fits = rows->rank > 0 && rows->rank == to->rank && rows->dtype == to->dtype
              && memcmp(rows->dims + 1, to->dims + 1, (rows->rank - 1) * sizeof *rows->dims) == 0;
  for (uint32_t k = RAGGED_INPUT_OFFSETS; fits && k < RAGGED_OPERANDS; k++) {
    fits = interp_is_integral(g->values[k]) && g->values[k]->rank == 1 && g->values[k]->count % g->group.count == 0
           && g->values[k]->count == g->values[RAGGED_INPUT_OFFSETS]->count;
  }
  return fits || interp_wrong(call, "its operands do not fit each other and the group of %u", g->group.count);
}

/* Operands: rows, what the result has where nothing is received, then for every member the rows to send (offset, number), the
 * row of the receiver that they go to, and the number of rows to receive. The groups are in the configuration. */
bool interp_target_ragged_all_to_all(struct interp_call *call) {
  struct gathered g = {0};
  if (call->operand_count != RAGGED_OPERANDS || call->result_count != 1) {
    return interp_wrong(call, "it has %u operands", call->operand_count);
  }
  bool ok = gather_operands(call, RAGGED_OPERANDS, &g) && check_members(call, &g) && check_ragged(call, &g);
  const struct interp_value *start = call->operands[RAGGED_TO];
  struct interp_value *to = ok ? interp_copy(call, start, start->dims, start->rank) : NULL;
  ok = to && interp_is_of_result(call, 0, to);
  for (uint32_t i = 0; ok && i < g.group.count; i++) {
    ok = take_ragged(call, &g, i, g.values[RAGGED_INPUT_OFFSETS]->count / g.group.count, to);
  }
  if (ok) {
    interp_result_is(call, 0, to);
  }
  interp_release(to);
  gathered_release(&g);
  return ok;
}

/* ---- roots --------------------------------------------------------------------------------------------------------------------- */

static bool zeros(struct interp_call *call, uint32_t i) {
  struct interp_value *to = interp_result(call, i, call->operands[i]->dims, call->operands[i]->rank);
  if (to && to->size_bytes > 0) {
    memset(to->data, 0, to->size_bytes);
  }
  return to != NULL;
}

static bool all_zeros(struct interp_call *call) {
  bool ok = true;
  for (uint32_t i = 0; ok && i < call->result_count; i++) {
    ok = zeros(call, i);
  }
  return ok;
}

/* Place in the group of the root of operand k: the first member, or what the last operand says for that operand. */
static bool find_root(struct interp_call *call, const struct gathered *g, uint32_t k, uint32_t *root) {
  int64_t place = 0;
  if (interp_attr_bool(call, "has_dynamic_root", false)) {
    const struct interp_value *roots = call->operands[call->operand_count - 1];
    if (roots->count == 0 || !interp_is_integral(roots)) {
      return interp_wrong(call, "its last operand names no root");
    }
    place = interp_int_at(roots, k < roots->count ? k : 0);
  }
  if (place < 0 || place >= g->group.count) {
    return interp_wrong(call, "the root %" PRId64 " is not in the group of %u", place, g->group.count);
  }
  *root = (uint32_t)place;
  return true;
}

/* Who is in none of the groups of a rooted collective gets zeros. */
static bool has_group(struct interp_call *call, bool *ok) {
  struct interp_group group;
  *ok = interp_group_of(call, &group);
  free(group.members);
  return *ok && group.count > 0;
}

/* The root gives its values to all members. */
bool interp_op_collective_broadcast(struct interp_call *call) {
  struct gathered g;
  bool ok;
  if (!has_group(call, &ok)) {
    return ok && all_zeros(call);
  }
  ok = gather_operands(call, call->operand_count, &g) && check_members(call, &g);
  for (uint32_t k = 0, root = 0; ok && k < call->result_count; k++) {
    ok = find_root(call, &g, k, &root);
    if (ok) {
      interp_result_is(call, k, g.values[(size_t)root * g.count + k]);
    }
  }
  gathered_release(&g);
  return ok;
}

/* The root gets the reduced values, the others zeros. */
bool interp_op_collective_reduce(struct interp_call *call) {
  struct gathered g;
  uint32_t count = call->result_count;
  bool ok;
  if (!has_group(call, &ok)) {
    return ok && all_zeros(call);
  }
  struct interp_value **reduced = calloc((size_t)call->operand_count + 1, sizeof *reduced);
  if (!reduced) {
    return interp_out_of_memory(call);
  }
  ok = gather_operands(call, call->operand_count, &g) && check_members(call, &g);
  g.reduced = count; /* not the operand that names the roots */
  ok = ok && reduce_members(call, &g, reduced);
  for (uint32_t k = 0, root = 0; ok && k < count; k++) {
    ok = find_root(call, &g, k, &root);
    if (ok) {
      ok = root != g.group.own ? zeros(call, k)
                               : shaped_result(call, k, reduced[k], call->operands[k]->dims, call->operands[k]->rank);
    }
  }
  release_values(reduced, call->operand_count);
  gathered_release(&g);
  return ok;
}

/* Process of a number in source_target_pairs: a partition of this replica with a channel, else a replica. */
static uint32_t process_of(const struct interp_call *call, int64_t id) {
  const struct interp_process *self = call->frame->process;
  uint32_t partitions = interp_partitions(self);
  return interp_channel_of(call) > 0 ? self->replica * partitions + (uint32_t)id
                                     : (uint32_t)id * partitions + self->partition;
}

/* All processes meet; who is a target takes from its source, the others get zeros. */
bool interp_op_collective_permute(struct interp_call *call) {
  const struct interp_process *self = call->frame->process;
  uint32_t partitions = interp_partitions(self), count = interp_replicas(self) * partitions;
  int64_t limit = interp_channel_of(call) > 0 ? partitions : interp_replicas(self);
  struct ir_attr pairs = ir_op_attr(call->module, call->op, "source_target_pairs");
  uint64_t length = pairs.id ? ir_attr_length(call->module, pairs) : 0;
  uint32_t *members = malloc((count + 1) * sizeof *members);
  struct interp_value **all = calloc((size_t)count + 1, sizeof *all);
  struct interp_group group = {members, count, self->replica * partitions + self->partition};
  int64_t source = -1;
  bool ok = members && all ? true : interp_out_of_memory(call);
  for (uint32_t i = 0; ok && i < count; i++) {
    members[i] = i;
  }
  for (uint64_t i = 0; ok && i + 1 < length; i += 2) {
    int64_t from = ir_attr_int_at(call->module, pairs, i), to = ir_attr_int_at(call->module, pairs, i + 1);
    if (from < 0 || from >= limit || to < 0 || to >= limit) {
      ok = interp_wrong(call, "a pair names a device outside of the %" PRId64, limit);
    } else if (process_of(call, to) == group.own) {
      source = process_of(call, from);
    }
  }
  ok = ok && interp_meet(call, &group, interp_channel_of(call), call->operands, 1, all);
  if (ok && source >= 0) {
    interp_result_is(call, 0, all[source]);
  } else if (ok) {
    ok = zeros(call, 0);
  }
  release_values(all, count);
  free(members);
  return ok;
}

/* ---- identity ----------------------------------------------------------------------------------------------------------------- */

static bool scalar_result(struct interp_call *call, int64_t number) {
  struct interp_value *to = interp_result(call, 0, NULL, 0);
  if (to) {
    interp_write_int(to, 0, 1, &number);
  }
  return to != NULL;
}

bool interp_op_replica_id(struct interp_call *call) {
  return scalar_result(call, call->frame->process->replica);
}

bool interp_op_partition_id(struct interp_call *call) {
  return scalar_result(call, call->frame->process->partition);
}

/* ---- asynchronous collectives -------------------------------------------------------------------------------------------------- */

/* A process does one thing after the other, so the collective is done when it starts; its future holds the results. */
bool interp_op_async_start(struct interp_call *call) {
  const struct ir_op_data *data = ir_op_get(call->module, call->op);
  struct ir_block block = data->region_count ? ir_region_entry(call->module, ir_op_region(call->module, call->op, 0))
                                             : (struct ir_block){0};
  struct ir_op end = block.id ? ir_block_terminator(call->module, block) : (struct ir_op){0};
  if (!end.id) {
    return interp_unsupported(call, "it has no body");
  }
  uint32_t count = ir_op_get(call->module, end)->operand_count;
  struct interp_value **results = calloc((size_t)count + 1, sizeof *results);
  if (!results) {
    return interp_out_of_memory(call);
  }
  bool ok = interp_region(call->frame, call->op, 0, call->operands, call->operand_count, results, count);
  if (ok) {
    call->results[0] = interp_tuple_new(INTERP_FUTURE, results, count);
    ok = call->results[0] ? true : interp_out_of_memory(call);
    release_values(results, count);
  } else {
    free(results);
  }
  return ok;
}

bool interp_op_async_done(struct interp_call *call) {
  const struct interp_value *future = call->operands[0];
  if (future->kind != INTERP_FUTURE || future->count != call->result_count) {
    return interp_wrong(call, "its operand is no future of %u values", call->result_count);
  }
  for (uint32_t i = 0; i < call->result_count; i++) {
    interp_result_is(call, i, future->parts[i]);
  }
  return true;
}

/* ---- transfers ------------------------------------------------------------------------------------------------------------------- */

/* The last operand is the token. */
bool interp_op_send(struct interp_call *call) {
  return interp_channel_put(call, interp_channel_of(call), call->operands, call->operand_count - 1)
         && interp_op_token(call);
}

bool interp_op_recv(struct interp_call *call) {
  uint32_t count = call->result_count - 1;
  if (!interp_channel_take(call, interp_channel_of(call), call->results, count)) {
    return false;
  }
  call->results[count] = interp_token_new();
  return call->results[count] ? true : interp_out_of_memory(call);
}

/* The host gives what the next infeed function of run_parallel returns. */
bool interp_op_infeed(struct interp_call *call) {
  struct ir_op function = interp_next_infeed(call);
  uint32_t count = call->result_count - 1;
  if (!function.id) {
    return interp_unsupported(call, "the host gives nothing (more)");
  }
  if (!interp_function(call->frame->process, call, function, NULL, 0, call->results, count)) {
    return false;
  }
  call->results[count] = interp_token_new();
  return call->results[count] ? true : interp_out_of_memory(call);
}

/* What goes to the host is dropped. */
bool interp_op_outfeed(struct interp_call *call) {
  return interp_op_token(call);
}

/* ---- run_parallel ---------------------------------------------------------------------------------------------------------------- */

/* Programs of run_parallel while they are set up. */
struct parallel {
  struct interp_programs programs;
  struct ir_op *functions, *infeed;
  struct interp_value *const **arguments;
  struct interp_value ***results;
  uint32_t *argument_counts, *result_counts;
};

static struct ir_op function_of(const struct interp_call *call, struct ir_attr name) {
  const struct ir_attr_data *data = ir_attr_get(call->module, name);
  return data->kind == IR_ATTR_SYMBOL ? ir_function_find(call->module, ir_text(call->module, data->text))
                                      : (struct ir_op){0};
}

static struct ir_attr item(const struct interp_call *call, struct ir_attr list, uint32_t i) {
  return (struct ir_attr){call->module->lists.data[ir_attr_get(call->module, list)->list_first + i]};
}

static uint32_t items(const struct interp_call *call, struct ir_attr list) {
  const struct ir_attr_data *data = list.id ? ir_attr_get(call->module, list) : NULL;
  return data && data->kind == IR_ATTR_ARRAY ? data->list_count : 0;
}

/* programs = [[@f, @g], [@h, @i]]: replicas of partitions; infeed = [@a, @b]. */
static bool read_programs(struct interp_call *call, struct parallel *p) {
  struct ir_attr list = ir_op_attr(call->module, call->op, "programs");
  struct ir_attr infeed = ir_op_attr(call->module, call->op, "infeed");
  uint32_t replicas = items(call, list), partitions = replicas ? items(call, item(call, list, 0)) : 0;
  uint64_t count = (uint64_t)replicas * partitions;
  if (count == 0 || count > INTERP_MAX_PROCESSES) {
    return interp_unsupported(call, "%" PRIu64 " programs; 1 to %d can run", count, INTERP_MAX_PROCESSES);
  }
  p->functions = calloc(count, sizeof *p->functions);
  p->infeed = calloc((size_t)items(call, infeed) + 1, sizeof *p->infeed);
  p->arguments = calloc(count, sizeof *p->arguments);
  p->results = calloc(count, sizeof *p->results);
  p->argument_counts = calloc(2 * count, sizeof *p->argument_counts);
  if (!p->functions || !p->infeed || !p->arguments || !p->results || !p->argument_counts) {
    return interp_out_of_memory(call);
  }
  p->result_counts = p->argument_counts + count;
  for (uint32_t i = 0; i < count; i++) {
    struct ir_attr row = item(call, list, i / partitions);
    p->functions[i] =
        items(call, row) == partitions ? function_of(call, item(call, row, i % partitions)) : (struct ir_op){0};
    if (!p->functions[i].id) {
      return interp_wrong(call, "program %u is no function of the module", i);
    }
  }
  for (uint32_t i = 0; i < items(call, infeed); i++) {
    p->infeed[i] = function_of(call, item(call, infeed, i));
  }
  p->programs =
      (struct interp_programs){replicas,   partitions,       p->functions, p->arguments,       p->argument_counts,
                               p->results, p->result_counts, p->infeed,    items(call, infeed)};
  return true;
}

/* Operands and results are those of the programs, one after the other. */
static bool deal_values(struct interp_call *call, struct parallel *p) {
  uint32_t count = p->programs.replicas * p->programs.partitions, operand = 0, result = 0;
  for (uint32_t i = 0; i < count; i++) {
    const struct ir_type_data *type = ir_type_get(call->module, ir_function_type(call->module, p->functions[i]));
    p->argument_counts[i] = type->input_count;
    p->result_counts[i] = type->count - type->input_count;
    p->arguments[i] = call->operands + operand;
    p->results[i] = call->results + result;
    operand += p->argument_counts[i];
    result += p->result_counts[i];
    if (operand > call->operand_count || result > call->result_count) {
      return interp_wrong(call, "its programs take %u values and give %u or more", operand, result);
    }
  }
  return (operand == call->operand_count && result == call->result_count)
         || interp_wrong(call, "its programs take %u values and give %u", operand, result);
}

bool interp_op_run_parallel(struct interp_call *call) {
  struct parallel p = {0};
  bool ok = call->frame->process->grid
                ? interp_unsupported(call, "a program that runs in parallel starts others")
                : read_programs(call, &p) && deal_values(call, &p) && interp_grid_run(call, &p.programs);
  free(p.functions);
  free(p.infeed);
  free(p.arguments);
  free(p.results);
  free(p.argument_counts);
  return ok;
}
