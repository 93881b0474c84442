/* Text form of a work graph, written. docs/work-graph.md is the grammar; work_parse.c reads it back. What sealing derives
 * stands in comments, so that text from a sealed and an unsealed graph differs in comments only. */
#include <inttypes.h>

#include "work/work_int.h"

static void print_u64(struct strbuf *out, uint64_t value) {
  strbuf_printf(out, "%" PRIu64, value);
}

static void print_name(struct strbuf *out, const struct work_graph *graph, uint32_t id) {
  if (id == 0) {
    return;
  }
  strbuf_puts(out, " \"");
  const char *text = intern_text(graph->strings, id);
  for (size_t i = 0; i < intern_length(graph->strings, id); i++) {
    unsigned char c = (unsigned char)text[i];
    if (c == '"' || c == '\\' || c < 0x20 || c == 0x7F) {
      strbuf_printf(out, "\\%02X", c);
    } else {
      strbuf_putc(out, (char)c);
    }
  }
  strbuf_putc(out, '"');
}

static void print_number(struct strbuf *out, const char *word, uint64_t value) {
  strbuf_putc(out, ' ');
  strbuf_puts(out, word);
  strbuf_putc(out, ' ');
  print_u64(out, value);
}

static void print_tensor(const struct work_graph *graph, uint32_t index, struct strbuf *out) {
  const struct work_tensor *tensor = &graph->tensors.data[index];
  strbuf_puts(out, "tensor %");
  strbuf_put_i64(out, index);
  strbuf_puts(out, " : ");
  strbuf_puts(out, dtype_name((enum dtype)tensor->dtype));
  strbuf_putc(out, '[');
  for (uint32_t i = 0; i < tensor->rank; i++) {
    if (i > 0) {
      strbuf_putc(out, ',');
    }
    strbuf_put_i64(out, graph->dims.data[tensor->dims_first + i]);
  }
  strbuf_puts(out, "] ");
  strbuf_puts(out, work_words_get(&work_words_role, tensor->role));
  strbuf_puts(out, tensor->is_output ? " output" : "");
  strbuf_puts(out, tensor->is_donated ? " donated" : "");
  if (tensor->alias_of != 0) {
    strbuf_puts(out, " alias %");
    strbuf_put_i64(out, tensor->alias_of - 1);
  }
  print_name(out, graph, tensor->name);
  strbuf_putc(out, '\n');
}

static void print_access(const struct work_graph *graph, const struct work_access *access, struct strbuf *out) {
  strbuf_putc(out, '%');
  strbuf_put_i64(out, access->tensor);
  if (access->map_count > 0) {
    strbuf_putc(out, '[');
    for (uint32_t i = 0; i < access->map_count; i++) {
      int16_t axis = graph->maps.data[access->map_first + i];
      strbuf_puts(out, i > 0 ? "," : "");
      if (axis < 0) {
        strbuf_putc(out, '-');
      } else {
        strbuf_put_i64(out, axis);
      }
    }
    strbuf_putc(out, ']');
  }
  if (access->tensor >= graph->tensors.count
      || access->touched_elements != graph->tensors.data[access->tensor].element_count) {
    strbuf_putc(out, '=');
    print_u64(out, access->touched_elements);
  }
  strbuf_puts(out, (access->flags & WORK_ACCESS_INDEXED) != 0 ? "!indexed" : "");
  strbuf_puts(out, (access->flags & WORK_ACCESS_IN_PLACE) != 0 ? "!in_place" : "");
}

static void print_accesses(const struct work_graph *graph, uint32_t first, uint32_t count, uint32_t read_count,
                           struct strbuf *out) {
  for (int side = 0; side < 2; side++) {
    uint32_t begin = side == 0 ? 0 : read_count, end = side == 0 ? read_count : count;
    strbuf_puts(out, side == 0 ? " reads(" : " writes(");
    for (uint32_t i = begin; i < end && i < count; i++) {
      strbuf_puts(out, i > begin ? ", " : "");
      print_access(graph, &graph->accesses.data[first + i], out);
    }
    strbuf_putc(out, ')');
  }
}

static void print_stage(const struct work_graph *graph, const struct work_stage *stage, struct strbuf *out) {
  strbuf_printf(out, "stage %s %s", work_words_get(&work_words_kind, stage->kind),
                dtype_name((enum dtype)stage->dtype));
  print_name(out, graph, stage->label);
  if (stage->precision != WORK_PRECISION_DEFAULT) {
    strbuf_printf(out, " precision %s", work_words_get(&work_words_precision, stage->precision));
  }
  if (stage->applications != 0) {
    print_number(out, "applications", stage->applications);
  }
  if (stage->kernel != 0) {
    print_number(out, "kernel", stage->kernel);
  }
  if (stage->source_offset != 0) {
    print_number(out, "at", stage->source_offset);
  }
  strbuf_puts(out, " axes(");
  for (uint32_t i = 0; i < stage->axis_count; i++) {
    const struct work_axis *axis = &graph->axes.data[stage->axis_first + i];
    strbuf_printf(out, "%s%s %" PRId64, i > 0 ? ", " : "", work_words_get(&work_words_axis, axis->role), axis->extent);
    if (axis->role == WORK_AXIS_WINDOW) {
      strbuf_printf(out, " of %u hits %" PRIu64, axis->partner, axis->hits);
    }
  }
  strbuf_puts(out, ") ops(");
  for (uint32_t i = 0; i < stage->op_count; i++) {
    const struct work_op *op = &graph->ops.data[stage->op_first + i];
    strbuf_printf(out, "%s%s", i > 0 ? ", " : "", work_words_get(&work_words_engine, op->engine));
    if (op->engine == WORK_ENGINE_FUNCTION) {
      strbuf_printf(out, " %s", work_words_get(&work_words_function, op->function));
    }
    strbuf_printf(out, " %s %u", dtype_name((enum dtype)op->dtype), op->count);
  }
  strbuf_putc(out, ')');
  print_accesses(graph, stage->access_first, stage->access_count, stage->read_count, out);
  strbuf_putc(out, '\n');
}

static void print_derived(const struct work_graph *graph, const struct work_task *task, struct strbuf *out) {
  if (work_task_is_control(task) || (task->demand_count == 0 && task->read_bytes == 0 && task->write_bytes == 0)) {
    return;
  }
  strbuf_puts(out, "  ;");
  for (uint32_t i = 0; i < task->demand_count; i++) {
    const struct work_demand_entry *entry = &graph->demands.data[task->demand_first + i];
    bool is_function = entry->engine == WORK_ENGINE_FUNCTION;
    strbuf_printf(out, " %" PRIu64 " %s %s,", entry->ops,
                  is_function ? work_words_get(&work_words_function, entry->function)
                              : work_words_get(&work_words_engine, entry->engine),
                  dtype_name((enum dtype)entry->dtype));
  }
  strbuf_printf(out, " %" PRIu64 " B read, %" PRIu64 " B written", task->read_bytes, task->write_bytes);
}

static void print_collective(const struct work_collective *collective, struct strbuf *out) {
  strbuf_printf(out, " collective %s", work_words_get(&work_words_collective, collective->kind));
  if (collective->reduction != WORK_REDUCTION_NONE) {
    strbuf_printf(out, " by %s", work_words_get(&work_words_reduction, collective->reduction));
  }
  strbuf_puts(out, (collective->flags & WORK_COLLECTIVE_ASYNC) != 0 ? " async" : "");
  strbuf_puts(out, (collective->flags & WORK_COLLECTIVE_SENDS) != 0 ? " sends" : "");
  strbuf_printf(out, " groups %u of %u", collective->group_count, collective->group_size);
  if (collective->groups != 0) {
    print_number(out, "devices", collective->groups - 1);
  }
  print_number(out, "bytes", collective->bytes_per_rank);
  if (collective->input_bytes != 0 || collective->output_bytes != 0) {
    print_number(out, "in", collective->input_bytes);
    print_number(out, "out", collective->output_bytes);
  }
  if (collective->channel != 0) {
    print_number(out, "channel", collective->channel);
  }
}

static void print_task(const struct work_graph *graph, uint32_t index, struct strbuf *out) {
  static const struct {
    uint8_t flag;
    const char *word;
  } flags[] = {
      {WORK_TASK_PREFUSED, " prefused"}, {WORK_TASK_TRIP_UNKNOWN, " trip_unknown"}, {WORK_TASK_OPAQUE, " opaque"}};
  const struct work_task *task = &graph->tasks.data[index];
  strbuf_printf(out, "task %u %s", index, work_words_get(&work_words_kind, task->kind));
  print_name(out, graph, task->label);
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    strbuf_puts(out, (task->flags & flags[i].flag) != 0 ? flags[i].word : "");
  }
  if (task->kind == WORK_LOOP) {
    print_number(out, "trips", task->trip_count);
  }
  if (task->collective != 0) {
    const struct work_collective *collective = &graph->collectives.data[task->collective - 1];
    print_collective(collective, out);
  }
  if (task->source_offset != 0) {
    print_number(out, "at", task->source_offset);
  }
  print_accesses(graph, task->access_first, task->access_count, task->read_count, out);
  print_derived(graph, task, out);
  strbuf_putc(out, '\n');
}

static void print_list(const char *word, const uint32_t *tensors, size_t count, struct strbuf *out) {
  strbuf_puts(out, word);
  for (size_t i = 0; i < count; i++) {
    strbuf_puts(out, " %");
    strbuf_put_i64(out, tensors[i]);
  }
  strbuf_putc(out, '\n');
}

static void print_graph(const struct work_graph *graph, size_t indent, struct strbuf *out) {
  if (indent > 4 * (size_t)WORK_MAX_NESTING) {
    return;
  }
  strbuf_fill(out, ' ', indent);
  strbuf_puts(out, "graph\n");
  for (uint32_t i = 0; i < graph->tensors.count; i++) {
    strbuf_fill(out, ' ', indent + 2);
    print_tensor(graph, i, out);
  }
  strbuf_fill(out, ' ', indent + 2);
  print_list("inputs", graph->inputs.data, graph->inputs.count, out);
  strbuf_fill(out, ' ', indent + 2);
  print_list("outputs", graph->outputs.data, graph->outputs.count, out);
  if (graph->partitions > 0) {
    strbuf_fill(out, ' ', indent + 2);
    strbuf_printf(out, "partitions %u%s\n", graph->partitions, graph->is_partitioned ? " one" : "");
  }
  for (uint32_t i = 0; i < graph->groups.count; i++) {
    strbuf_fill(out, ' ', indent + 2);
    work_groups_print(graph, i, out);
  }
  for (size_t i = 0; i < graph->carried.count; i++) {
    strbuf_fill(out, ' ', indent + 2);
    strbuf_printf(out, "carried %%%u -> %%%u\n", graph->carried.data[i].in, graph->carried.data[i].out);
  }
  for (uint32_t t = 0; t < graph->tasks.count; t++) {
    const struct work_task *task = &graph->tasks.data[t];
    strbuf_fill(out, ' ', indent + 2);
    print_task(graph, t, out);
    for (uint32_t i = 0; i < task->stage_count; i++) {
      strbuf_fill(out, ' ', indent + 4);
      print_stage(graph, &graph->stages.data[task->stage_first + i], out);
    }
    for (uint32_t i = 0; i < task->subgraph_count; i++) {
      print_graph(graph->subgraphs.data[task->subgraph_first + i], indent + 4, out);
    }
  }
  strbuf_fill(out, ' ', indent);
  strbuf_puts(out, "end\n");
}

void work_graph_print(const struct work_graph *graph, struct strbuf *out) {
  print_graph(graph, 0, out);
}
