/* Chakra execution traces: the nodes of one rank, in the order of its passes.
 *
 * A task that takes time is a COMP node, a collective a COMM_COLL node, a permute and a message between stages a COMM_SEND and
 * a COMM_RECV node of equal tag. Loops with communication are written out; a loop without is one node. Free tasks are no
 * nodes: who reads their result depends on what they read.
 *
 * Sizes follow ASTRA-sim: all-gather, what a rank contributes; reduce-scatter, the operand; others, the buffer of a rank.
 * Computation is in program order (control dependencies). What else keeps nodes apart is a data dependency, also the order of
 * messages: readers that leave control dependencies out must not see a rank wait for a message before it sends one. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/checked.h"
#include "report/report_chakra_int.h"
#include "report/report_step_int.h"

struct report_chakra {
  struct report_chakra_options options;
  const struct step_program *program;
  struct chakra_groups groups;
  struct chakra_order order;
};

/* How kinds of collectives are written, by enum work_collective_kind. */
static const struct {
  bool is_message;
  uint8_t type; /* enum chakra_collective_type */
  bool is_input; /* the size is that of the operand, not of the full buffer */
} forms[] = {
    [WORK_ALL_REDUCE] = {false, CHAKRA_ALL_REDUCE, false},
    [WORK_ALL_GATHER] = {false, CHAKRA_ALL_GATHER, true},
    [WORK_REDUCE_SCATTER] = {false, CHAKRA_REDUCE_SCATTER, true},
    [WORK_ALL_TO_ALL] = {false, CHAKRA_ALL_TO_ALL, false},
    [WORK_PERMUTE] = {.is_message = true},
    [WORK_COLLECTIVE_BROADCAST] = {false, CHAKRA_BROADCAST, false},
    [WORK_COLLECTIVE_REDUCE] = {false, CHAKRA_REDUCE, false},
    [WORK_SEND_RECV] = {.is_message = true},
};

/* A node that others depend on: its id, and whether it is communication. */
static const uint64_t is_communication = (uint64_t)1 << 63;

/* Nodes to depend on, in walk.refs. */
struct refs {
  size_t first, count;
};

struct walk {
  const struct report_chakra *chakra;
  struct strbuf *out, name;
  const struct chakra_pass *pass; /* NULL = a program of one pass, whose nodes need no prefix */
  uint64_t rank, position, stage;
  uint64_t nodes; /* written; the last one's id */
  uint64_t last_compute, last_message; /* ids; 0 = none */
  VEC(uint64_t) refs; /* a stack: what a graph adds is gone at its end, but for its result */
  VEC(uint64_t) waits; /* communication that the next computation waits for as the program is written */
  VEC(uint64_t) ended; /* computation that the results of the last pass come from */
  VEC(uint64_t) pending; /* communication that ends in results of passes, for the update */
  VEC(uint64_t) data, control; /* of the node being made */
  double elapsed_s;
  uint64_t elapsed_us, elapsed_ns;
  uint32_t tag;
  bool failed;
};

/* One level of a graph on its way. */
struct frame {
  const struct work_graph *graph;
  const struct work_graph_result *times;
  struct refs *done; /* per task: who reads its results depends on these */
  struct refs entry; /* who reads an input of the graph depends on these */
  unsigned depth;
};

/* ---- lists of nodes ---- */

static uint64_t id_of(uint64_t ref) {
  return ref & ~is_communication;
}

/* Adds to the list on top of the stack, which begins at `first`. */
static void add_ref(struct walk *w, size_t first, uint64_t ref) {
  for (size_t i = first; i < w->refs.count; i++) {
    if (w->refs.data[i] == ref) {
      return;
    }
  }
  w->failed |= !vec_push(&w->refs, ref);
}

static void add_refs(struct walk *w, size_t first, struct refs list) {
  for (size_t i = 0; i < list.count; i++) {
    add_ref(w, first, w->refs.data[list.first + i]);
  }
}

static struct refs top(const struct walk *w, size_t first) {
  return (struct refs){first, w->refs.count - first};
}

static struct refs single(struct walk *w, uint64_t ref) {
  size_t first = w->refs.count;
  add_ref(w, first, ref);
  return top(w, first);
}

static bool reads_input(const struct work_graph *graph, const struct work_task *task) {
  for (uint32_t i = 0; i < task->read_count; i++) {
    uint32_t tensor = graph->accesses.data[task->access_first + i].tensor;
    const struct work_tensor *root = &graph->tensors.data[work_tensor_root(graph, tensor)];
    if (root->producer == 0 && root->role == WORK_TENSOR_INPUT) {
      return true;
    }
  }
  return false;
}

static struct refs operands_of(struct walk *w, const struct frame *frame, const struct work_task *task) {
  size_t first = w->refs.count;
  for (uint32_t i = 0; i < task->dependency_count; i++) {
    add_refs(w, first, frame->done[frame->graph->dependencies.data[task->dependency_first + i]]);
  }
  if (frame->entry.count > 0 && (task->dependency_count == 0 || reads_input(frame->graph, task))) {
    add_refs(w, first, frame->entry);
  }
  return top(w, first);
}

/* ---- nodes ---- */

static void begin_node(struct walk *w, struct refs operands) {
  vec_clear(&w->data);
  vec_clear(&w->control);
  for (size_t i = 0; i < operands.count; i++) {
    w->failed |= !vec_push(&w->data, id_of(w->refs.data[operands.first + i]));
  }
}

static bool has_id(const uint64_t *ids, size_t count, uint64_t id) {
  for (size_t i = 0; i < count; i++) {
    if (ids[i] == id) {
      return true;
    }
  }
  return false;
}

static void add_data(struct walk *w, uint64_t id) {
  if (id > 0 && !has_id(w->data.data, w->data.count, id)) {
    w->failed |= !vec_push(&w->data, id);
  }
}

static void add_control(struct walk *w, uint64_t id) {
  if (id > 0 && !has_id(w->data.data, w->data.count, id) && !has_id(w->control.data, w->control.count, id)) {
    w->failed |= !vec_push(&w->control, id);
  }
}

static void begin_name(struct walk *w) {
  strbuf_clear(&w->name);
  if (w->pass && w->pass->role == STEP_UPDATE) {
    strbuf_puts(&w->name, "update: ");
  } else if (w->pass) {
    strbuf_printf(&w->name, "%s %" PRIu32 ", chunk %u: ", report_step_role_name((enum step_role)w->pass->role),
                  w->pass->microbatch, w->pass->chunk);
  }
}

/* Writes the node with what was added to data and control; returns its id. */
static uint64_t end_node(struct walk *w, struct chakra_node *node) {
  if (w->nodes >= REPORT_CHAKRA_NODES || w->failed) {
    w->nodes = REPORT_CHAKRA_NODES + 1;
    return w->nodes;
  }
  node->id = ++w->nodes;
  node->name = strbuf_text(&w->name);
  node->data = w->data.data;
  node->data_count = w->data.count;
  node->control = w->control.data;
  node->control_count = w->control.count;
  chakra_write_node(node, w->out);
  w->failed |= w->out->failed || w->name.failed;
  return node->id;
}

/* Durations are whole micro- and nanoseconds. They are differences of rounded times since the start, so that many short
 * operations do not lose theirs. */
static void advance(struct walk *w, double time_s, struct chakra_node *node) {
  static const double longest_s = 9e6; /* keeps nanoseconds in 64 bits */
  w->elapsed_s = fmin(w->elapsed_s + (time_s > 0 ? time_s : 0), longest_s);
  uint64_t us = (uint64_t)llround(w->elapsed_s * 1e6), ns = (uint64_t)llround(w->elapsed_s * 1e9);
  node->duration_us = us - w->elapsed_us;
  node->duration_ns = ns - w->elapsed_ns;
  w->elapsed_us = us;
  w->elapsed_ns = ns;
}

static struct refs put_compute(struct walk *w, struct frame *frame, const struct work_task *task, struct refs operands,
                               struct chakra_node *node, double time_s) {
  node->type = CHAKRA_COMPUTE;
  begin_node(w, operands);
  add_control(w, w->last_compute);
  for (size_t i = 0; i < w->waits.count; i++) {
    add_control(w, w->waits.data[i]);
  }
  vec_clear(&w->waits);
  begin_name(w);
  report_task_name(frame->graph, task, &w->name);
  advance(w, time_s, node);
  w->last_compute = end_node(w, node);
  struct refs done = single(w, w->last_compute);
  enum { ENTRY_MANY = 8 };
  if (frame->entry.count > ENTRY_MANY) { /* what comes later is behind this node */
    frame->entry = done;
  }
  return done;
}

static void wait_for(struct walk *w, struct refs list) {
  for (size_t i = 0; i < list.count; i++) {
    uint64_t ref = w->refs.data[list.first + i];
    if (ref & is_communication) {
      w->failed |= !vec_push(&w->waits, id_of(ref));
    }
  }
}

static uint64_t put_message(struct walk *w, enum chakra_node_type type, uint64_t partner, uint64_t size, uint32_t tag) {
  bool sends = type == CHAKRA_SEND;
  struct chakra_node node = {.type = type,
                             .size_bytes = size,
                             .source = sends ? w->rank : partner,
                             .target = sends ? partner : w->rank,
                             .tag = tag};
  add_data(w, w->last_message);
  w->last_message = end_node(w, &node);
  return w->last_message;
}

/* ---- communication of the program ---- */

/* Tags of the program's own messages are below this, those between stages at or above; int32 in the schema. */
enum { BOUNDARY_TAGS = 1 << 30 };

static struct refs put_permute(struct walk *w, const struct frame *frame, const struct work_task *task,
                               const struct work_collective *collective, const struct chakra_pattern *pattern,
                               struct refs operands) {
  uint64_t first = w->stage * w->chakra->program->devices_per_stage;
  uint32_t to = pattern->to[w->position], from = pattern->from[w->position];
  bool is_half = collective->kind == WORK_SEND_RECV, sends = (collective->flags & WORK_COLLECTIVE_SENDS) != 0;
  uint32_t tag =
      is_half && collective->channel ? (uint32_t)(collective->channel % BOUNDARY_TAGS) : w->tag++ % BOUNDARY_TAGS;
  struct refs done = operands;
  if (to != UINT32_MAX && to != w->position && (!is_half || sends)) {
    begin_node(w, operands);
    begin_name(w);
    report_task_name(frame->graph, task, &w->name);
    uint64_t id = put_message(w, CHAKRA_SEND, first + to, collective->bytes_per_rank, tag);
    done = is_half ? single(w, id | is_communication) : operands;
  }
  if (from != UINT32_MAX && from != w->position && (!is_half || !sends)) {
    begin_node(w, operands);
    begin_name(w);
    report_task_name(frame->graph, task, &w->name);
    uint64_t id = put_message(w, CHAKRA_RECEIVE, first + from, collective->bytes_per_rank, tag);
    done = single(w, id | is_communication);
  }
  return done;
}

static uint64_t size_of(const struct work_collective *collective, const struct chakra_pattern *pattern) {
  if (!forms[collective->kind].is_input) {
    return collective->bytes_per_rank;
  }
  if (collective->input_bytes > 0) {
    return collective->input_bytes;
  }
  return collective->kind == WORK_ALL_GATHER ? collective->bytes_per_rank / pattern->size : collective->bytes_per_rank;
}

/* The compute stream stands still while it runs. */
static bool is_blocking(const struct walk *w, const struct work_collective *collective) {
  bool is_async = (collective->flags & WORK_COLLECTIVE_ASYNC) != 0;
  const bool blocks[STEP_OVERLAP_COUNT] = {[STEP_OVERLAP_NONE] = true,
                                           [STEP_OVERLAP_AS_WRITTEN] = !is_async,
                                           [STEP_OVERLAP_EARLY_LATE] =
                                               collective->kind == WORK_ALL_GATHER && !is_async};
  return blocks[w->chakra->program->overlap];
}

static struct refs put_collective(struct walk *w, const struct frame *frame, const struct work_task *task,
                                  struct refs operands) {
  const struct work_collective *collective = &frame->graph->collectives.data[task->collective - 1];
  const struct chakra_pattern *pattern = chakra_pattern_of(&w->chakra->groups, frame->graph, collective);
  assert(pattern); /* all were collected */
  struct refs done = operands;
  if (forms[collective->kind].is_message) {
    done = put_permute(w, frame, task, collective, pattern, operands);
  } else if (pattern->group_of[w->position] != UINT32_MAX && pattern->size > 1) {
    uint32_t group = (uint32_t)(w->stage * pattern->count) + pattern->group_of[w->position];
    struct chakra_node node = {.type = CHAKRA_COLLECTIVE,
                               .collective = (enum chakra_collective_type)forms[collective->kind].type,
                               .size_bytes = size_of(collective, pattern),
                               .group = pattern->first_group ? pattern->first_group + group : 0};
    begin_node(w, operands);
    if (is_blocking(w, collective)) {
      add_control(w, w->last_compute);
    }
    begin_name(w);
    report_task_name(frame->graph, task, &w->name);
    done = single(w, end_node(w, &node) | is_communication);
  }
  if (is_blocking(w, collective)) {
    wait_for(w, done);
  }
  return done;
}

/* ---- graphs ---- */

static struct refs walk_graph(struct walk *w, const struct work_graph *graph, const struct work_graph_result *times,
                              struct refs entry, unsigned depth);

/* A loop or conditional: written out where there is communication in it, else one node. */
static struct refs walk_control(struct walk *w, struct frame *frame, uint32_t index, struct refs operands) {
  const struct work_task *task = &frame->graph->tasks.data[index];
  bool is_loop = task->kind == WORK_LOOP;
  uint32_t branch = is_loop ? task->subgraph_first : report_branch(frame->graph, task, frame->times);
  struct work_total total = {0};
  if (branch != UINT32_MAX) {
    work_graph_total(frame->graph->subgraphs.data[branch], &total);
  }
  uint64_t trips = is_loop ? task->trip_count : 1;
  if (total.collectives == 0 || frame->depth >= REPORT_MAX_DEPTH) {
    struct chakra_node node = {
        .flops = sat_mul_u64(report_total_flops(&total), trips),
        .bytes = sat_mul_u64(sat_add_u64(total.read_bytes, total.write_bytes), trips),
    };
    return put_compute(w, frame, task, operands, &node, frame->times->tasks[index].time_s);
  }
  struct refs state = operands;
  for (uint64_t i = 0; i < trips && !w->failed && w->nodes <= REPORT_CHAKRA_NODES; i++) {
    state =
        walk_graph(w, frame->graph->subgraphs.data[branch], &frame->times->subgraphs[branch], state, frame->depth + 1);
  }
  return state;
}

static struct refs walk_task(struct walk *w, struct frame *frame, uint32_t index) {
  const struct work_task *task = &frame->graph->tasks.data[index];
  struct refs operands = operands_of(w, frame, task);
  if (task->collective > 0) {
    return put_collective(w, frame, task, operands);
  }
  if (task->kind == WORK_COLLECTIVE_DONE) {
    if (w->chakra->program->overlap != STEP_OVERLAP_LATENCY_HIDING) {
      wait_for(w, operands);
    }
    return operands;
  }
  if (report_is_free(task)) {
    return operands;
  }
  if (task->subgraph_count > 0) {
    return walk_control(w, frame, index, operands);
  }
  struct chakra_node node = {.flops = report_task_flops(frame->graph, task, NULL), .bytes = report_task_bytes(task)};
  return put_compute(w, frame, task, operands, &node, frame->times->tasks[index].time_s);
}

/* What the results of the graph depend on, on top of the stack. */
static struct refs results_of(struct walk *w, const struct frame *frame) {
  size_t first = w->refs.count;
  const struct work_graph *graph = frame->graph;
  for (size_t i = 0; i < graph->outputs.count; i++) {
    uint32_t producer = graph->tensors.data[work_tensor_root(graph, graph->outputs.data[i])].producer;
    uint32_t own = graph->tensors.data[graph->outputs.data[i]].producer;
    if (producer > 0) {
      add_refs(w, first, frame->done[producer - 1]);
    } else {
      add_refs(w, first, frame->entry);
    }
    if (own > 0 && own != producer) { /* written in place of an operand */
      add_refs(w, first, frame->done[own - 1]);
    }
  }
  return top(w, first);
}

static struct refs walk_graph(struct walk *w, const struct work_graph *graph, const struct work_graph_result *times,
                              struct refs entry, unsigned depth) {
  size_t base = w->refs.count;
  struct frame frame = {.graph = graph, .times = times, .entry = entry, .depth = depth};
  frame.done = calloc(graph->tasks.count + 1, sizeof *frame.done);
  w->failed |= frame.done == NULL;
  for (uint32_t i = 0; i < graph->tasks.count && !w->failed && w->nodes <= REPORT_CHAKRA_NODES; i++) {
    frame.done[i] = walk_task(w, &frame, i);
  }
  struct refs results = {base, 0};
  if (!w->failed && w->nodes <= REPORT_CHAKRA_NODES) {
    results = results_of(w, &frame);
    for (size_t i = 0; i < results.count; i++) { /* ends above where it goes: no overlap to mind */
      w->refs.data[base + i] = w->refs.data[results.first + i];
    }
    results.first = base;
  }
  w->refs.count = base + results.count;
  free(frame.done);
  return results;
}

/* ---- passes ---- */

/* The stage that a pass gets its input from, or sends its result to. False at the ends of the pipeline. */
static bool neighbour(const struct walk *w, bool is_receiving, uint64_t *rank, uint32_t *tag) {
  const struct step_program *program = w->chakra->program;
  const struct chakra_pass *pass = w->pass;
  bool is_forward = pass->role == STEP_FORWARD;
  bool is_backward = pass->role == STEP_BACKWARD || pass->role == STEP_BACKWARD_LAST;
  uint64_t all = (uint64_t)program->stages * program->chunks;
  uint64_t at = (uint64_t)pass->chunk * program->stages + w->stage;
  bool is_up = is_forward != is_receiving;
  if ((!is_forward && !is_backward) || (is_up ? at + 1 >= all : at == 0)) {
    return false;
  }
  uint64_t other = is_up ? at + 1 : at - 1, stage = other % program->stages;
  uint64_t boundary = at < other ? at : other;
  *rank = stage * program->devices_per_stage + w->position;
  *tag = BOUNDARY_TAGS + (uint32_t)(((pass->microbatch * all + boundary) * 2 + is_backward) % BOUNDARY_TAGS);
  return stage != w->stage;
}

static void add_all(struct walk *w, size_t first, const uint64_t *refs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    add_ref(w, first, refs[i]);
  }
}

/* What the first tasks of a pass depend on: the message that it works on and the pass before; the update, also the exchanges of
 * gradients. */
static struct refs begin_pass(struct walk *w) {
  uint64_t partner;
  uint32_t tag;
  size_t first = w->refs.count;
  if (w->last_compute > 0) {
    add_ref(w, first, w->last_compute);
  }
  add_all(w, first, w->ended.data, w->ended.count);
  if (w->pass && w->pass->role == STEP_UPDATE) {
    add_all(w, first, w->pending.data, w->pending.count);
    vec_clear(&w->pending);
  } else if (w->pass && neighbour(w, true, &partner, &tag)) {
    begin_node(w, top(w, first));
    begin_name(w);
    strbuf_puts(&w->name, "receive");
    uint64_t id = put_message(w, CHAKRA_RECEIVE, partner, w->chakra->program->boundary_bytes, tag);
    add_ref(w, first, id | is_communication);
  }
  return top(w, first);
}

static void end_pass(struct walk *w, struct refs results) {
  uint64_t partner;
  uint32_t tag;
  if (w->pass && neighbour(w, false, &partner, &tag)) {
    bool is_forward = w->pass->role == STEP_FORWARD;
    begin_node(w, is_forward ? results : (struct refs){0}); /* exchanges of gradients do not hold the message up */
    add_data(w, w->last_compute);
    for (size_t i = 0; !is_forward && i < w->waits.count; i++) {
      add_data(w, w->waits.data[i]);
    }
    begin_name(w);
    strbuf_puts(&w->name, "send");
    put_message(w, CHAKRA_SEND, partner, w->chakra->program->boundary_bytes, tag);
  }
  vec_clear(&w->ended);
  for (size_t i = 0; i < results.count; i++) {
    uint64_t ref = w->refs.data[results.first + i];
    w->failed |= ref & is_communication ? !vec_push(&w->pending, ref) : !vec_push(&w->ended, ref);
  }
}

static void walk_passes(struct walk *w) {
  const struct chakra_order *order = &w->chakra->order;
  for (size_t i = order->first.data[w->stage]; i < order->first.data[w->stage + 1]; i++) {
    const struct chakra_pass *pass = &order->passes.data[i];
    const struct step_part *part = report_step_part(w->chakra->program, pass->place, pass->role);
    if (w->failed || w->nodes > REPORT_CHAKRA_NODES || !part->graph) {
      continue;
    }
    w->pass = pass->role == STEP_WHOLE ? NULL : pass;
    vec_clear(&w->refs);
    end_pass(w, walk_graph(w, part->graph, part->times, begin_pass(w), 0));
  }
}

enum status report_chakra_rank(struct report_chakra *chakra, uint64_t rank, struct diag_list *diags,
                               struct strbuf *out) {
  uint64_t per_stage = chakra->program->devices_per_stage;
  assert(rank < chakra->options.devices && rank < per_stage * chakra->program->stages);
  struct walk w = {.chakra = chakra, .out = out, .rank = rank, .position = rank % per_stage, .stage = rank / per_stage};
  chakra_write_metadata(&chakra->options, out);
  walk_passes(&w);
  vec_release(&w.refs);
  vec_release(&w.waits);
  vec_release(&w.ended);
  vec_release(&w.pending);
  vec_release(&w.data);
  vec_release(&w.control);
  strbuf_release(&w.name);
  if (w.failed) {
    return STATUS_MEMORY;
  }
  if (w.nodes > REPORT_CHAKRA_NODES) {
    diag_file(diags, DIAG_E0601_USAGE, NULL, 0, 0,
              "the execution trace of rank %" PRIu64 " would have more than %d nodes: a loop with communication is "
              "written out",
              rank, REPORT_CHAKRA_NODES);
    return STATUS_LIMIT;
  }
  return STATUS_OK;
}

enum status report_chakra_new(const struct report_chakra_options *options, const struct step_program *program,
                              const struct step_result *result, struct diag_list *diags, struct report_chakra **out) {
  *out = NULL;
  struct report_chakra *chakra = calloc(1, sizeof *chakra);
  if (!chakra) {
    return STATUS_MEMORY;
  }
  chakra->options = *options;
  chakra->program = program;
  enum status status = chakra_groups_collect(&chakra->groups, program, options->devices);
  if (status == STATUS_OK) {
    status = chakra_order_of(&chakra->order, program, result);
  }
  if (status == STATUS_INPUT) {
    diag_file(diags, DIAG_E0601_USAGE, NULL, 0, 0,
              "execution traces of a pipeline need the simulated order of its passes: predict with its timeline");
  }
  if (status != STATUS_OK) {
    report_chakra_free(chakra);
    return status;
  }
  *out = chakra;
  return STATUS_OK;
}

void report_chakra_free(struct report_chakra *chakra) {
  if (!chakra) {
    return;
  }
  chakra_groups_release(&chakra->groups);
  chakra_order_release(&chakra->order);
  free(chakra);
}

void report_chakra_groups(const struct report_chakra *chakra, struct strbuf *out) {
  chakra_groups_print(&chakra->groups, out);
}
