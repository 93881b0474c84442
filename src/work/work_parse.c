/* Text form of a work graph, read. docs/work-graph.md is the grammar, work_print.c its writer. Stops at the first error:
 * the text is made by programs, and one wrong line usually makes the rest meaningless. */
#include <string.h>

#include "base/checked.h"
#include "work/work_int.h"

struct parse {
  const struct source *source;
  size_t at;
  struct diag_list *diags;
  bool failed;
  bool is_out_of_memory; /* then failed as well */
  VEC(struct work_access) accesses;
  VEC(int16_t) maps;
  VEC(uint32_t) map_starts; /* per access + 1; 0 = none */
  VEC(const int16_t *) map_pointers;
  VEC(struct work_axis) axes;
  VEC(struct work_op) ops;
  VEC(uint32_t) members;
  uint64_t member_total; /* of all groups so far: a short text may ask for many */
};

static void parse_fail(struct parse *parse, const char *what) {
  if (!parse->failed) {
    diag_at(parse->diags, DIAG_E0102_EXPECTED, parse->source, parse->at, "work graph: expected %s", what);
  }
  parse->failed = true;
}

static void parse_memory(struct parse *parse) {
  if (!parse->failed) {
    diag_at(parse->diags, DIAG_E0007_MEMORY, parse->source, parse->at, "out of memory while reading a work graph");
  }
  parse->failed = parse->is_out_of_memory = true;
}

static char parse_peek(const struct parse *parse) {
  return parse->at < parse->source->length ? parse->source->text[parse->at] : '\0';
}

/* Skips blanks and comments, not line ends. */
static void parse_blank(struct parse *parse) {
  for (char c = parse_peek(parse); c == ' ' || c == '\t' || c == '\r' || c == ';'; c = parse_peek(parse)) {
    if (c == ';') {
      const char *text = parse->source->text + parse->at;
      const char *end = memchr(text, '\n', parse->source->length - parse->at);
      parse->at = end != NULL ? parse->at + (size_t)(end - text) : parse->source->length;
    } else {
      parse->at++;
    }
  }
}

static void parse_line_end(struct parse *parse) {
  parse_blank(parse);
  if (parse->at < parse->source->length && parse_peek(parse) != '\n') {
    parse_fail(parse, "the end of the line");
  }
  while (parse_peek(parse) == '\n' && !parse->failed) {
    parse->at++;
    parse_blank(parse);
  }
}

static bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '<' || c == '>';
}

static size_t parse_word_length(const struct parse *parse) {
  size_t n = 0;
  while (parse->at + n < parse->source->length && is_word_char(parse->source->text[parse->at + n])) {
    n++;
  }
  return n;
}

/* Takes the word when it comes next. */
static bool parse_accept(struct parse *parse, const char *word) {
  parse_blank(parse);
  size_t n = parse_word_length(parse);
  if (parse->failed || n != strlen(word) || memcmp(parse->source->text + parse->at, word, n) != 0) {
    return false;
  }
  parse->at += n;
  return true;
}

static bool parse_accept_char(struct parse *parse, char c) {
  parse_blank(parse);
  if (parse->failed || parse_peek(parse) != c) {
    return false;
  }
  parse->at++;
  return true;
}

static void parse_char(struct parse *parse, char c) {
  if (!parse_accept_char(parse, c)) {
    char what[] = {'\'', c, '\'', '\0'};
    parse_fail(parse, what);
  }
}

static uint32_t parse_word_of(struct parse *parse, const struct work_words *words, const char *what) {
  parse_blank(parse);
  size_t n = parse_word_length(parse);
  uint32_t index = work_words_find(words, parse->source->text + parse->at, n);
  if (index == words->count) {
    parse_fail(parse, what);
    return 0;
  }
  parse->at += n;
  return index;
}

static uint8_t parse_dtype(struct parse *parse) {
  parse_blank(parse);
  size_t n = parse_word_length(parse);
  enum dtype dtype = dtype_parse(parse->source->text + parse->at, n);
  if (dtype == DTYPE_NONE && !(n == 4 && memcmp(parse->source->text + parse->at, "none", 4) == 0)) {
    parse_fail(parse, "an element type");
    return DTYPE_NONE;
  }
  parse->at += n;
  return (uint8_t)dtype;
}

static uint64_t parse_number(struct parse *parse, uint64_t max) {
  parse_blank(parse);
  uint64_t value = 0;
  char c = parse_peek(parse);
  if (c < '0' || c > '9') {
    parse_fail(parse, "a number");
    return 0;
  }
  for (; c >= '0' && c <= '9'; c = parse_peek(parse)) {
    uint64_t digit = (uint64_t)(c - '0');
    if (value > (max - digit) / 10) {
      parse_fail(parse, "a number in range");
      return 0;
    }
    value = value * 10 + digit;
    parse->at++;
  }
  return value;
}

static uint32_t parse_u32(struct parse *parse) {
  return (uint32_t)parse_number(parse, UINT32_MAX - 1);
}

static uint32_t parse_tensor_id(struct parse *parse, const struct work_graph *graph) {
  parse_char(parse, '%');
  uint32_t id = parse_u32(parse);
  if (!parse->failed && id >= graph->tensors.count) {
    parse_fail(parse, "the number of a tensor declared above");
    return 0;
  }
  return parse->failed ? 0 : id;
}

static int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* An optional quoted name; 0 when there is none. */
static uint32_t parse_name(struct parse *parse, struct work_graph *graph) {
  if (!parse_accept_char(parse, '"')) {
    return 0;
  }
  struct strbuf text = {0};
  char c = parse_peek(parse);
  for (; c != '"' && c != '\n' && c != '\0'; c = parse_peek(parse)) {
    parse->at++;
    if (c == '\\') {
      int high = hex_digit(parse_peek(parse));
      int low = high >= 0 ? hex_digit(parse->source->text[parse->at + 1]) : -1;
      if (low < 0) {
        break;
      }
      parse->at += 2;
      c = (char)(high * 16 + low);
    }
    strbuf_putc(&text, c);
  }
  uint32_t id = 0;
  if (parse_peek(parse) == '"' && c == '"') {
    parse->at++;
    id = intern_add(graph->strings, strbuf_text(&text), text.length);
    graph->out_of_memory |= text.failed || id == UINT32_MAX;
  } else {
    parse_fail(parse, "a closing quote");
  }
  strbuf_release(&text);
  return graph->out_of_memory ? 0 : id;
}

static void parse_tensor(struct parse *parse, struct work_graph *graph) {
  parse_char(parse, '%');
  if (parse_u32(parse) != graph->tensors.count) {
    parse_fail(parse, "the next tensor number");
  }
  parse_char(parse, ':');
  uint8_t dtype = parse_dtype(parse);
  int64_t dims[UINT8_MAX];
  uint32_t rank = 0;
  parse_char(parse, '[');
  while (!parse->failed && !parse_accept_char(parse, ']')) {
    if (rank == UINT8_MAX) {
      parse_fail(parse, "at most 255 dimensions");
      return;
    }
    dims[rank++] = (int64_t)parse_number(parse, INT64_MAX);
    if (!parse_accept_char(parse, ',') && parse_peek(parse) != ']') {
      parse_fail(parse, "',' or ']'");
    }
  }
  uint32_t role = parse_word_of(parse, &work_words_role, "input, constant or intermediate");
  if (parse->failed) {
    return;
  }
  uint32_t index = work_tensor_add(graph, (enum dtype)dtype, dims, rank, (enum work_tensor_role)role);
  if (graph->out_of_memory) {
    return;
  }
  bool is_output = parse_accept(parse, "output"), is_donated = parse_accept(parse, "donated");
  uint32_t alias = 0;
  if (parse_accept(parse, "alias")) {
    parse_char(parse, '%');
    alias = parse_u32(parse) + 1;
    if (alias == index + 1) {
      parse_fail(parse, "another tensor");
    }
  }
  uint32_t name = parse_name(parse, graph);
  struct work_tensor *tensor = &graph->tensors.data[index];
  tensor->is_output = is_output;
  tensor->is_donated = is_donated;
  tensor->alias_of = alias;
  tensor->name = name;
}

static void parse_access_map(struct parse *parse, const struct work_graph *graph, uint32_t tensor) {
  bool ok = vec_push(&parse->map_starts, (uint32_t)parse->maps.count + 1);
  uint32_t rank = 0;
  do {
    int16_t axis = -1;
    if (!parse_accept_char(parse, '-')) {
      axis = (int16_t)parse_number(parse, INT16_MAX);
    }
    ok = ok && vec_push(&parse->maps, axis);
    rank++;
  } while (parse_accept_char(parse, ','));
  parse_char(parse, ']');
  if (rank != graph->tensors.data[tensor].rank) {
    parse_fail(parse, "one axis per dimension");
  }
  if (!ok) {
    parse_memory(parse);
  }
}

static void parse_access(struct parse *parse, const struct work_graph *graph, bool is_write) {
  struct work_access access = {.tensor = parse_tensor_id(parse, graph), .flags = is_write ? WORK_ACCESS_WRITE : 0};
  if (parse->failed) {
    return;
  }
  if (parse_accept_char(parse, '[')) {
    parse_access_map(parse, graph, access.tensor);
  } else if (!vec_push(&parse->map_starts, 0u)) {
    parse_memory(parse);
  }
  uint64_t elements = graph->tensors.data[access.tensor].element_count;
  access.touched_elements = parse_accept_char(parse, '=') ? parse_number(parse, UINT64_MAX) : elements;
  if (access.touched_elements < elements) {
    access.flags |= WORK_ACCESS_PARTIAL;
  }
  while (parse_accept_char(parse, '!')) {
    if (parse_accept(parse, "indexed")) {
      access.flags |= WORK_ACCESS_INDEXED;
    } else if (parse_accept(parse, "in_place")) {
      access.flags |= WORK_ACCESS_IN_PLACE;
    } else {
      parse_fail(parse, "indexed or in_place");
    }
  }
  if (!vec_push(&parse->accesses, access)) {
    parse_memory(parse);
  }
}

/* reads(...) writes(...); returns the number of reads. */
static uint32_t parse_accesses(struct parse *parse, const struct work_graph *graph) {
  vec_clear(&parse->accesses);
  vec_clear(&parse->maps);
  vec_clear(&parse->map_starts);
  uint32_t read_count = 0;
  for (int side = 0; side < 2; side++) {
    if (!parse_accept(parse, side == 0 ? "reads" : "writes")) {
      parse_fail(parse, side == 0 ? "reads(" : "writes(");
    }
    parse_char(parse, '(');
    while (!parse->failed && !parse_accept_char(parse, ')')) {
      parse_access(parse, graph, side == 1);
      if (!parse_accept_char(parse, ',') && parse_peek(parse) != ')') {
        parse_fail(parse, "',' or ')'");
      }
    }
    if (side == 0) {
      read_count = (uint32_t)parse->accesses.count;
    }
  }
  return read_count;
}

static void parse_axes(struct parse *parse) {
  vec_clear(&parse->axes);
  if (!parse_accept(parse, "axes")) {
    parse_fail(parse, "axes(");
  }
  parse_char(parse, '(');
  while (!parse->failed && !parse_accept_char(parse, ')')) {
    struct work_axis axis = {.role = (uint8_t)parse_word_of(parse, &work_words_axis, "the role of an axis")};
    axis.extent = (int64_t)parse_number(parse, INT64_MAX);
    if (axis.role == WORK_AXIS_WINDOW) {
      if (!parse_accept(parse, "of")) {
        parse_fail(parse, "of");
      }
      axis.partner = (uint8_t)parse_number(parse, UINT8_MAX);
      if (!parse_accept(parse, "hits")) {
        parse_fail(parse, "hits");
      }
      axis.hits = parse_number(parse, UINT64_MAX);
    }
    if (!parse_accept_char(parse, ',') && parse_peek(parse) != ')') {
      parse_fail(parse, "',' or ')'");
    }
    if (!vec_push(&parse->axes, axis)) {
      parse_memory(parse);
    }
  }
}

static void parse_ops(struct parse *parse) {
  vec_clear(&parse->ops);
  if (!parse_accept(parse, "ops")) {
    parse_fail(parse, "ops(");
  }
  parse_char(parse, '(');
  while (!parse->failed && !parse_accept_char(parse, ')')) {
    struct work_op op = {.engine = (uint8_t)parse_word_of(parse, &work_words_engine, "an engine"),
                         .function = WORK_FUNCTION_NONE};
    if (op.engine == WORK_ENGINE_FUNCTION) {
      op.function = (uint8_t)parse_word_of(parse, &work_words_function, "a function");
    }
    op.dtype = parse_dtype(parse);
    op.count = (uint32_t)parse_number(parse, UINT32_MAX);
    if (!parse_accept_char(parse, ',') && parse_peek(parse) != ')') {
      parse_fail(parse, "',' or ')'");
    }
    if (!vec_push(&parse->ops, op)) {
      parse_memory(parse);
    }
  }
}

static void parse_stage(struct parse *parse, struct work_graph *graph) {
  struct work_stage stage = {.kind = (uint8_t)parse_word_of(parse, &work_words_kind, "the kind of a stage")};
  stage.dtype = parse_dtype(parse);
  stage.label = parse_name(parse, graph);
  if (parse_accept(parse, "precision")) {
    stage.precision = (uint8_t)parse_word_of(parse, &work_words_precision, "a precision");
  }
  if (parse_accept(parse, "applications")) {
    stage.applications = parse_number(parse, UINT64_MAX);
  }
  if (parse_accept(parse, "kernel")) {
    stage.kernel = parse_u32(parse);
  }
  if (parse_accept(parse, "at")) {
    stage.source_offset = parse_u32(parse);
  }
  parse_axes(parse);
  parse_ops(parse);
  uint32_t reads = parse_accesses(parse, graph);
  if (reads > UINT16_MAX) {
    parse_fail(parse, "at most 65535 reads of a stage");
  }
  stage.read_count = (uint16_t)reads;
  vec_clear(&parse->map_pointers);
  for (size_t i = 0; i < parse->accesses.count && !parse->failed; i++) {
    uint32_t start = parse->map_starts.data[i];
    if (!vec_push(&parse->map_pointers, start != 0 ? parse->maps.data + start - 1 : NULL)) {
      parse_memory(parse);
    }
  }
  if (!parse->failed) {
    work_stage_add(graph, &stage, parse->axes.data, (uint32_t)parse->axes.count, parse->ops.data,
                   (uint32_t)parse->ops.count, parse->accesses.data, parse->map_pointers.data,
                   (uint32_t)parse->accesses.count);
  }
}

static void parse_collective(struct parse *parse, struct work_graph *graph) {
  struct work_collective collective = {
      .kind = (uint8_t)parse_word_of(parse, &work_words_collective, "the kind of a collective")};
  if (parse_accept(parse, "by")) {
    collective.reduction = (uint8_t)parse_word_of(parse, &work_words_reduction, "how elements are joined");
  }
  collective.flags |= parse_accept(parse, "async") ? WORK_COLLECTIVE_ASYNC : 0;
  collective.flags |= parse_accept(parse, "sends") ? WORK_COLLECTIVE_SENDS : 0;
  bool ok = parse_accept(parse, "groups");
  collective.group_count = parse_u32(parse);
  ok = ok && parse_accept(parse, "of");
  collective.group_size = parse_u32(parse);
  if (parse_accept(parse, "devices")) {
    collective.groups = parse_u32(parse) + 1;
    if (collective.groups > graph->groups.count) {
      parse_fail(parse, "the number of groups declared above");
    }
  }
  ok = ok && parse_accept(parse, "bytes");
  collective.bytes_per_rank = parse_number(parse, UINT64_MAX);
  if (parse_accept(parse, "in")) {
    collective.input_bytes = parse_number(parse, UINT64_MAX);
    ok = ok && parse_accept(parse, "out");
    collective.output_bytes = parse_number(parse, UINT64_MAX);
  }
  if (parse_accept(parse, "channel")) {
    collective.channel = parse_number(parse, UINT64_MAX);
  }
  if (!ok) {
    parse_fail(parse, "groups N of N [devices N] bytes N [in N out N] [channel N]");
  } else if (!vec_push(&graph->collectives, collective)) {
    parse_memory(parse);
  }
}

static int64_t parse_signed(struct parse *parse) {
  bool is_negative = parse_accept_char(parse, '-');
  int64_t value = (int64_t)parse_number(parse, WORK_MAX_DEVICES);
  return is_negative ? -value : value;
}

static void parse_member(struct parse *parse, int64_t member) {
  if (member < 0 || (member >= WORK_MAX_DEVICES && member != UINT32_MAX)) {
    parse_fail(parse, "devices below 16777216");
  } else if (++parse->member_total > WORK_MAX_DEVICES) {
    parse_fail(parse, "at most 16777216 members of groups");
  } else if (!vec_push(&parse->members, (uint32_t)member)) {
    parse_memory(parse);
  }
}

/* "from 0 steps(8 by 1, 4 by 8)" */
static void parse_lattice(struct parse *parse) {
  enum { MAX_LEVELS = 16 };
  uint64_t extents[MAX_LEVELS], total = 1;
  int64_t steps[MAX_LEVELS], first = (int64_t)parse_number(parse, WORK_MAX_DEVICES);
  uint32_t levels = 0;
  bool ok = parse_accept(parse, "steps");
  parse_char(parse, '(');
  while (ok && !parse->failed && !parse_accept_char(parse, ')')) {
    ok = levels < MAX_LEVELS;
    extents[ok ? levels : 0] = parse_number(parse, WORK_MAX_DEVICES);
    ok = parse_accept(parse, "by") && ok;
    steps[ok ? levels : 0] = parse_signed(parse);
    total *= extents[ok ? levels : 0];
    levels += ok;
    ok = ok && total > 0 && total <= WORK_MAX_DEVICES;
    if (!parse_accept_char(parse, ',') && parse_peek(parse) != ')') {
      parse_fail(parse, "',' or ')'");
    }
  }
  if (!ok) {
    parse_fail(parse, "steps(N by N, ...) of at most 16777216 devices");
  }
  for (uint64_t i = 0; i < total && !parse->failed; i++) {
    int64_t member = first;
    uint64_t left = i;
    for (uint32_t k = levels; k-- > 0;) {
      member += (int64_t)(left % extents[k]) * steps[k];
      left /= extents[k];
    }
    parse_member(parse, member);
  }
}

/* "(0, 1 | 2, 3)" behind the '('; short groups are filled up. */
static void parse_listed_groups(struct parse *parse, uint32_t size) {
  uint32_t in_group = 0;
  bool is_open = true;
  while (is_open && !parse->failed) {
    if (parse_accept_char(parse, '|') || (is_open = !parse_accept_char(parse, ')')) == false) {
      for (; in_group < size && !parse->failed; in_group++) {
        parse_member(parse, UINT32_MAX);
      }
      in_group = 0;
      continue;
    }
    parse_member(parse, (int64_t)parse_number(parse, WORK_MAX_DEVICES));
    if (++in_group > size) {
      parse_fail(parse, "groups of the stated size");
    }
    if (!parse_accept_char(parse, ',') && parse_peek(parse) != '|' && parse_peek(parse) != ')') {
      parse_fail(parse, "',', '|' or ')'");
    }
  }
}

/* A line of groups behind its first word: "0 : 8 of 4 from 0 steps(...)". */
static void parse_groups(struct parse *parse, struct work_graph *graph) {
  if (parse_u32(parse) != graph->groups.count) {
    parse_fail(parse, "the next number of groups");
  }
  parse_char(parse, ':');
  uint32_t count = parse_u32(parse), size = 0;
  if (parse_accept(parse, "of")) {
    size = parse_u32(parse);
  } else {
    parse_fail(parse, "of");
  }
  vec_clear(&parse->members);
  if (parse_accept_char(parse, '(')) {
    parse_listed_groups(parse, size);
  }
  while (!parse->failed && parse_accept(parse, "from")) {
    parse_lattice(parse);
  }
  if (!parse->failed && parse->members.count != 0 && parse->members.count != (uint64_t)count * size) {
    parse_fail(parse, "as many devices as the groups have");
  }
  if (!parse->failed) {
    struct work_groups groups = {count, size, (uint32_t)graph->members.count, (uint32_t)parse->members.count};
    bool ok =
        vec_reserve(&graph->members, graph->members.count + parse->members.count) && vec_push(&graph->groups, groups);
    for (size_t i = 0; i < parse->members.count && ok; i++) {
      graph->members.data[graph->members.count++] = parse->members.data[i];
    }
    graph->out_of_memory |= !ok;
  }
}

static void parse_task_words(struct parse *parse, struct work_graph *graph, struct work_task *task) {
  task->flags = (uint8_t)(parse_accept(parse, "prefused") ? WORK_TASK_PREFUSED : 0);
  task->flags |= (uint8_t)(parse_accept(parse, "trip_unknown") ? WORK_TASK_TRIP_UNKNOWN : 0);
  task->flags |= (uint8_t)(parse_accept(parse, "opaque") ? WORK_TASK_OPAQUE : 0);
  if (parse_accept(parse, "trips")) {
    task->trip_count = parse_number(parse, UINT64_MAX);
  }
  if (parse_accept(parse, "collective")) {
    parse_collective(parse, graph);
    task->collective = (uint32_t)graph->collectives.count;
  }
  if (parse_accept(parse, "at")) {
    task->source_offset = parse_u32(parse);
  }
}

static void parse_graph(struct parse *parse, struct work_graph *graph, unsigned depth);

static void parse_task(struct parse *parse, struct work_graph *graph, unsigned depth) {
  if (parse_u32(parse) != graph->tasks.count) {
    parse_fail(parse, "the next task number");
  }
  struct work_task task = {.kind = (uint8_t)parse_word_of(parse, &work_words_kind, "the kind of a task")};
  task.label = parse_name(parse, graph);
  parse_task_words(parse, graph, &task);
  uint32_t reads = parse_accesses(parse, graph);
  if (reads > UINT16_MAX) {
    parse_fail(parse, "at most 65535 reads of a task");
  }
  task.read_count = (uint16_t)reads;
  parse_line_end(parse);
  struct work_access *border = NULL;
  uint32_t border_count = (uint32_t)parse->accesses.count;
  if (border_count > 0) {
    border = malloc(border_count * sizeof *border);
    if (border == NULL) {
      graph->out_of_memory = true;
      return;
    }
    memcpy(border, parse->accesses.data, border_count * sizeof *border);
  }
  task.subgraph_first = (uint32_t)graph->subgraphs.count;
  while (!parse->failed && !graph->out_of_memory) {
    if (parse_accept(parse, "stage")) {
      parse_stage(parse, graph);
      parse_line_end(parse);
    } else if (parse_accept(parse, "graph")) {
      struct work_graph *inside = work_graph_new_inside(graph);
      if (inside == NULL) {
        graph->out_of_memory = true;
        break;
      }
      parse_graph(parse, inside, depth + 1);
      graph->out_of_memory |= inside->out_of_memory;
      work_subgraph_attach(graph, inside);
    } else {
      break;
    }
  }
  task.subgraph_count = (uint32_t)graph->subgraphs.count - task.subgraph_first;
  if (!parse->failed && !graph->out_of_memory) {
    work_task_add(graph, &task, border, border_count);
  }
  free(border);
}

/* After the word "graph". */
static void parse_graph(struct parse *parse, struct work_graph *graph, unsigned depth) {
  if (depth >= WORK_MAX_NESTING) {
    parse_fail(parse, "at most 256 nested graphs");
  }
  parse_line_end(parse);
  while (!parse->failed && !graph->out_of_memory && !parse_accept(parse, "end")) {
    if (parse_accept(parse, "task")) {
      parse_task(parse, graph, depth);
      continue;
    }
    if (parse_accept(parse, "tensor")) {
      parse_tensor(parse, graph);
    } else if (parse_accept(parse, "carried")) {
      struct work_carried pair = {.in = parse_tensor_id(parse, graph)};
      parse_char(parse, '-');
      parse_char(parse, '>');
      pair.out = parse_tensor_id(parse, graph);
      graph->out_of_memory |= !vec_push(&graph->carried, pair);
    } else if (parse_accept(parse, "groups")) {
      parse_groups(parse, graph);
    } else if (parse_accept(parse, "partitions")) {
      graph->partitions = (uint32_t)parse_number(parse, UINT32_MAX);
      graph->is_partitioned = parse_accept(parse, "one");
    } else if (parse_accept(parse, "inputs")) {
      while (!parse->failed && !graph->out_of_memory && (parse_blank(parse), parse_peek(parse) == '%')) {
        graph->out_of_memory |= !vec_push(&graph->inputs, parse_tensor_id(parse, graph));
      }
    } else if (parse_accept(parse, "outputs")) {
      while (!parse->failed && !graph->out_of_memory && (parse_blank(parse), parse_peek(parse) == '%')) {
        graph->out_of_memory |= !vec_push(&graph->outputs, parse_tensor_id(parse, graph));
      }
    } else {
      parse_fail(parse, "tensor, inputs, outputs, partitions, groups, carried, task or end");
    }
    parse_line_end(parse);
  }
  for (size_t i = 0; i < graph->tensors.count && !parse->failed; i++) {
    if (graph->tensors.data[i].alias_of > graph->tensors.count) {
      parse_fail(parse, "aliases of declared tensors");
    }
  }
  parse_line_end(parse);
}

enum status work_graph_parse(const struct source *source, struct diag_list *diags, struct work_graph **graph) {
  *graph = NULL;
  struct parse parse = {.source = source, .diags = diags};
  struct work_graph *parsed = work_graph_new();
  if (parsed == NULL) {
    return STATUS_MEMORY;
  }
  parse_blank(&parse);
  while (parse_peek(&parse) == '\n') {
    parse.at++;
    parse_blank(&parse);
  }
  if (parse_accept(&parse, "graph")) {
    parse_graph(&parse, parsed, 0);
  } else {
    parse_fail(&parse, "graph");
  }
  if (!parse.failed && !parsed->out_of_memory && parse.at < source->length) {
    parse_fail(&parse, "the end of the text");
  }
  vec_release(&parse.accesses);
  vec_release(&parse.maps);
  vec_release(&parse.map_starts);
  vec_release(&parse.map_pointers);
  vec_release(&parse.axes);
  vec_release(&parse.ops);
  vec_release(&parse.members);
  if (parse.failed || parsed->out_of_memory) {
    bool is_input = parse.failed && !parse.is_out_of_memory && !parsed->out_of_memory;
    enum status status = is_input ? STATUS_INPUT : STATUS_MEMORY;
    work_graph_free(parsed);
    return status;
  }
  *graph = parsed;
  return STATUS_OK;
}
