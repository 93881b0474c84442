/* Mapping files: YAML nodes to the tables of mapping.h. Every key and name is checked against the rows of a table, so that
 * a misspelt one is said with its place and the nearest right one; reading goes on after an error. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "hw/hw_yaml.h"
#include "profile/mapping.h"
#include "profile/measured_kernels.h"

enum { MAX_TABLES = 256, MAX_ENTRIES = 1024, MAX_PARTS = 8, MAX_CONDITIONS = 32, MAX_NAMES = 64 };

struct loader {
  struct mapping *mapping;
  struct diag_list *diags;
  const struct hw_node *defaults;
  bool is_good, out_of_memory;
};

static const struct mapping_unit units[] = {
    {"s", 1, UNIT_TIME},           {"ms", 1e-3, UNIT_TIME},         {"us", 1e-6, UNIT_TIME},
    {"ns", 1e-9, UNIT_TIME},       {"FLOP/s", 1, UNIT_FLOPS},       {"GFLOP/s", 1e9, UNIT_FLOPS},
    {"TFLOP/s", 1e12, UNIT_FLOPS}, {"element/s", 1, UNIT_ELEMENTS}, {"Gelement/s", 1e9, UNIT_ELEMENTS},
};
enum { UNIT_COUNT = sizeof units / sizeof units[0] };

static void fail(struct loader *l, size_t offset, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void fail(struct loader *l, size_t offset, const char *format, ...) {
  struct strbuf message = {0};
  va_list args;
  va_start(args, format);
  strbuf_vprintf(&message, format, args);
  va_end(args);
  diag_at(l->diags, DIAG_E0603_MAPPING, l->mapping->text, offset, "%s", strbuf_text(&message));
  strbuf_release(&message);
  l->is_good = false;
}

/* "'x' is not WHAT; did you mean 'y'?" */
static void fail_name(struct loader *l, size_t offset, const char *text, const char *what, const char *const *names,
                      size_t count) {
  const char *near = nearest_name(text, names, count);
  fail(l, offset, "'%s' is not %s%s%s%s", text, what, near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
       near != NULL ? "'?" : "");
}

static void *allocate(struct loader *l, size_t count, size_t size) {
  void *memory = arena_calloc(&l->mapping->arena, count > 0 ? count : 1, size);
  l->out_of_memory = l->out_of_memory || memory == NULL;
  l->is_good = l->is_good && memory != NULL;
  return memory;
}

static void check_keys(struct loader *l, const struct hw_node *map, const char *what, const char *const *names,
                       size_t count) {
  for (const struct hw_node *n = map->first; n != NULL; n = n->next) {
    bool is_known = false;
    for (size_t i = 0; i < count && !is_known; i++) {
      is_known = strcmp(names[i], n->key) == 0;
    }
    if (!is_known) {
      fail_name(l, n->key_offset, n->key, what, names, count);
    }
  }
}

/* A scalar child that is not empty; "" when it is absent and need not be there. */
static const char *text_of(struct loader *l, const struct hw_node *map, const char *key, bool is_needed) {
  const struct hw_node *node = hw_node_child(map, key);
  if (node == NULL) {
    if (is_needed) {
      fail(l, map->offset, "'%s' is missing", key);
    }
    return "";
  }
  if (node->kind != HW_NODE_SCALAR || node->text[0] == '\0') {
    fail(l, node->offset, "'%s' must be a word or text", key);
    return "";
  }
  return node->text;
}

static unsigned count_children(const struct hw_node *node) {
  unsigned count = 0;
  for (const struct hw_node *n = node->first; n != NULL; n = n->next) {
    count++;
  }
  return count;
}

/* What a value must be. */
struct expectation {
  const char *what; /* "a kind of kernel", for messages; NULL = any text */
  const char *const *names;
  size_t name_count;
  bool is_number;
  bool has_unit; /* 'unit' may stand beside */
};

static bool check_output(struct loader *l, const struct hw_node *node, const struct expectation *e, double *number) {
  *number = 0;
  if (e->is_number) {
    if (!decimal_parse(node->text, strlen(node->text), number) || !isfinite(*number)) {
      fail(l, node->offset, "'%s' must be a number", node->text);
      return false;
    }
    return true;
  }
  for (size_t i = 0; i < e->name_count; i++) {
    if (strcmp(e->names[i], node->text) == 0) {
      return true;
    }
  }
  if (e->what != NULL) {
    fail_name(l, node->offset, node->text, e->what, e->names, e->name_count);
  }
  return e->what == NULL;
}

static void read_entry(struct loader *l, const struct hw_node *node, const struct expectation *e,
                       struct mapping_entry *entry) {
  *entry = (struct mapping_entry){.from = node->key};
  if (node->kind != HW_NODE_SCALAR) {
    fail(l, node->offset, "a map gives one text or number for each text; '~' leaves the rows out");
  } else if (!node->is_plain || (strcmp(node->text, "~") != 0 && node->text[0] != '\0')) {
    (void)check_output(l, node, e, &entry->number);
    entry->to = node->text;
  }
}

static void read_entries(struct loader *l, const struct hw_node *node, const struct expectation *e,
                         struct mapping_value *value) {
  const struct hw_node *map = hw_node_child(node, "map"), *otherwise = hw_node_child(node, "default");
  if (map != NULL && (map->kind != HW_NODE_MAP || map->first == NULL || count_children(map) > MAX_ENTRIES)) {
    fail(l, map->offset, "'map' must be a map with at most %d texts", MAX_ENTRIES);
    return;
  }
  if (otherwise != NULL && map == NULL) {
    fail(l, otherwise->key_offset, "'default' is for cells that 'map' does not list; there is no 'map'");
    return;
  }
  if (map == NULL) {
    return;
  }
  struct mapping_entry *entries = allocate(l, count_children(map) + 1, sizeof *entries);
  if (entries == NULL) {
    return;
  }
  for (const struct hw_node *n = map->first; n != NULL; n = n->next) {
    read_entry(l, n, e, &entries[value->entry_count++]);
  }
  value->entries = entries;
  if (otherwise != NULL) {
    read_entry(l, otherwise, e, &entries[value->entry_count]);
    value->otherwise = &entries[value->entry_count];
  }
}

static void read_value(struct loader *l, const struct hw_node *node, const struct expectation *e,
                       struct mapping_value *value);

static void read_parts(struct loader *l, const struct hw_node *list, const struct expectation *e,
                       struct mapping_value *value) {
  unsigned count = list->kind == HW_NODE_LIST ? count_children(list) : 0;
  if (!e->is_number || count < 2 || count > MAX_PARTS) {
    fail(l, list->offset, "'%s' takes a list of 2 to %d columns or numbers, where a number is wanted", list->key,
         MAX_PARTS);
    return;
  }
  struct mapping_value *parts = allocate(l, count, sizeof *parts);
  if (parts == NULL) {
    return;
  }
  const struct expectation plain = {.is_number = true};
  for (const struct hw_node *n = list->first; n != NULL; n = n->next) {
    read_value(l, n, &plain, &parts[value->part_count++]);
  }
  value->parts = parts;
}

static void read_column(struct loader *l, const struct hw_node *node, const struct expectation *e,
                        struct mapping_value *value) {
  value->kind = MAPPING_COLUMN;
  value->text = text_of(l, node, "column", true);
  const struct hw_node *nth = hw_node_child(node, "number");
  double number = 0;
  if (nth != NULL
      && (!e->is_number || nth->kind != HW_NODE_SCALAR || !decimal_parse(nth->text, strlen(nth->text), &number)
          || !(number >= 1 && number <= 99) || number != floor(number))) {
    fail(l, nth->offset, "'number' says which number in the cell is meant: 1, 2, ...");
  }
  value->nth = number >= 1 && number <= 99 ? (unsigned)number : 0;
  read_entries(l, node, e, value);
}

static void read_value(struct loader *l, const struct hw_node *node, const struct expectation *e,
                       struct mapping_value *value) {
  static const char *const keys[] = {"column", "map", "default", "number", "sum", "product", "quotient", "unit"};
  static const struct {
    const char *key;
    enum mapping_value_kind kind;
  } forms[] = {{"sum", MAPPING_SUM}, {"product", MAPPING_PRODUCT}, {"quotient", MAPPING_QUOTIENT}};
  *value = (struct mapping_value){.offset = node->offset, .column = -1};
  if (node->kind == HW_NODE_SCALAR) {
    bool is_constant = !e->is_number || decimal_parse(node->text, strlen(node->text), &value->number);
    value->kind = is_constant ? MAPPING_CONSTANT : MAPPING_COLUMN;
    value->text = node->text;
    if (node->text[0] == '\0') {
      fail(l, node->offset, "a value is missing here");
    } else if (is_constant) {
      (void)check_output(l, node, e, &value->number);
    }
    return;
  }
  if (node->kind != HW_NODE_MAP) {
    fail(l, node->offset, "a value is a word, a number, or a map such as {column: name}");
    return;
  }
  check_keys(l, node, "a key of a value", keys, sizeof keys / sizeof keys[0] - !e->has_unit);
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    const struct hw_node *list = hw_node_child(node, forms[i].key);
    if (list != NULL) {
      value->kind = forms[i].kind;
      read_parts(l, list, e, value);
      return;
    }
  }
  read_column(l, node, e, value);
}

/* The value of a table's key, else that of 'defaults'. */
static bool read_member(struct loader *l, const struct hw_node *table, const char *key, bool is_needed,
                        const struct expectation *e, struct mapping_value *value, const struct hw_node **found) {
  const struct hw_node *node = hw_node_child(table, key);
  if (node == NULL && l->defaults != NULL) {
    node = hw_node_child(l->defaults, key);
  }
  *found = node;
  if (node != NULL) {
    read_value(l, node, e, value);
  } else if (is_needed) {
    fail(l, table->offset, "the table lacks '%s'", key);
  }
  return node != NULL;
}

static void read_timed(struct loader *l, const struct hw_node *table, const char *key, bool is_needed,
                       struct mapping_value *value, const struct mapping_unit **unit) {
  const struct expectation e = {.is_number = true, .has_unit = true};
  const struct hw_node *node;
  if (!read_member(l, table, key, is_needed, &e, value, &node)) {
    return;
  }
  if (node->kind != HW_NODE_MAP) {
    fail(l, node->offset, "'%s' is {column: NAME, unit: ms}", key);
    return;
  }
  const char *text = text_of(l, node, "unit", true);
  const char *names[UNIT_COUNT];
  for (size_t i = 0; i < UNIT_COUNT; i++) {
    names[i] = units[i].name;
    *unit = strcmp(units[i].name, text) == 0 ? &units[i] : *unit;
  }
  const struct hw_node *place = hw_node_child(node, "unit");
  if (*unit == NULL && text[0] != '\0') {
    fail_name(l, place->offset, text, "a unit (s, ms, us, ns, FLOP/s, GFLOP/s, TFLOP/s, element/s, Gelement/s)", names,
              UNIT_COUNT);
  } else if (*unit != NULL && (*unit)->kind != UNIT_TIME && !is_needed) {
    fail(l, place->offset, "'%s' must be a time", key);
  }
}

/* The kinds of kernel that a table can have, as bits. */
static unsigned classes_of(const struct mapping_value *op) {
  unsigned classes = 0;
  if (op->kind == MAPPING_CONSTANT) {
    classes = 1u << kernel_class_find(op->text);
  }
  for (unsigned i = 0; i < op->entry_count; i++) {
    classes |= op->entries[i].to != NULL ? 1u << kernel_class_find(op->entries[i].to) : 0;
  }
  classes |= op->otherwise != NULL && op->otherwise->to != NULL ? 1u << kernel_class_find(op->otherwise->to) : 0;
  return classes & ((1u << KERNEL_CLASS_COUNT) - 1);
}

/* A shape must have what every kind of kernel in the table needs, and nothing that none of them has. */
static void check_shape(struct loader *l, const struct hw_node *shape, unsigned classes) {
  const char *all[MEASURED_SHAPE_KEY_MAX * KERNEL_CLASS_COUNT];
  size_t count = 0;
  for (unsigned c = 0; c < KERNEL_CLASS_COUNT; c++) {
    const char *names[MEASURED_SHAPE_KEY_MAX];
    bool is_needed[MEASURED_SHAPE_KEY_MAX];
    unsigned key_count = classes & 1u << c ? measured_shape_keys((enum kernel_class)c, names, is_needed) : 0;
    for (unsigned i = 0; i < key_count; i++) {
      all[count++] = names[i];
      if (is_needed[i] && hw_node_child(shape, names[i]) == NULL) {
        fail(l, shape->offset, "the shape of '%s' needs '%s'", kernel_class_name((enum kernel_class)c), names[i]);
      }
    }
  }
  if (count > 0) {
    check_keys(l, shape, "an extent of these kernels", all, count);
  }
}

static int compare_members(const void *a, const void *b) {
  return strcmp(((const struct mapping_shape_member *)a)->key, ((const struct mapping_shape_member *)b)->key);
}

static void read_shape(struct loader *l, const struct hw_node *node, struct mapping_table *table) {
  static const char *const functions[] = {"none", "exp",    "log",   "rsqrt", "tanh",
                                          "sin",  "divide", "power", "erf",   "other"};
  static const struct expectation number = {.is_number = true};
  static const struct expectation function = {
      .what = "a function", .names = functions, .name_count = sizeof functions / sizeof functions[0]};
  const struct hw_node *shape = hw_node_child(node, "shape");
  if (shape == NULL || shape->kind != HW_NODE_MAP) {
    fail(l, shape != NULL ? shape->offset : node->offset, "'shape' must be a map such as {m: M, n: N, k: K}");
    return;
  }
  check_shape(l, shape, classes_of(&table->op));
  for (const struct hw_node *n = shape->first; n != NULL; n = n->next) {
    struct mapping_shape_member member = {.key = n->key, .is_function = strcmp(n->key, "function") == 0};
    read_value(l, n, member.is_function ? &function : &number, &member.value);
    l->out_of_memory = !vec_push(&table->shape, member) || l->out_of_memory;
  }
  if (table->shape.count > 0) {
    qsort(table->shape.data, table->shape.count, sizeof table->shape.data[0], compare_members);
  }
}

static void read_texts(struct loader *l, const struct hw_node *node, struct mapping_condition *condition) {
  unsigned count = node->kind == HW_NODE_LIST ? count_children(node) : 1;
  condition->texts = allocate(l, count, sizeof *condition->texts);
  const struct hw_node *n = node->kind == HW_NODE_LIST ? node->first : node;
  if (node->kind == HW_NODE_MAP || count > MAX_NAMES || condition->texts == NULL) {
    fail(l, node->offset, "'%s' takes a text or a list of at most %d texts", node->key, MAX_NAMES);
    return;
  }
  for (unsigned i = 0; i < count; i++, n = n->next) {
    if (n->kind != HW_NODE_SCALAR) {
      fail(l, n->offset, "'%s' takes a text or a list of texts", node->key);
      return;
    }
    condition->texts[condition->text_count++] = n->text;
  }
}

static void read_condition(struct loader *l, const struct hw_node *node, struct mapping_condition *condition) {
  static const char *const keys[] = {"column", "number", "is", "is_not", "at_least", "at_most"};
  if (node->kind != HW_NODE_MAP) {
    fail(l, node->offset, "a condition is a map such as {column: NAME, is: TEXT}");
    return;
  }
  check_keys(l, node, "a key of a condition", keys, sizeof keys / sizeof keys[0]);
  const struct expectation number = {.is_number = true};
  condition->value = (struct mapping_value){.offset = node->offset, .column = -1};
  read_column(l, node, &number, &condition->value);
  unsigned found = 0;
  for (unsigned i = 0; i < 4; i++) {
    const struct hw_node *bound = hw_node_child(node, keys[i + 2]);
    if (bound == NULL) {
      continue;
    }
    found++;
    condition->kind = i;
    if (i < 2) {
      read_texts(l, bound, condition);
    } else if (bound->kind != HW_NODE_SCALAR || !check_output(l, bound, &number, &condition->bound)) {
      l->is_good = false;
    }
  }
  if (found != 1) {
    fail(l, node->offset, "a condition has one of 'is', 'is_not', 'at_least' and 'at_most'");
  }
}

static void read_conditions(struct loader *l, const struct hw_node *node, struct mapping_table *table) {
  const struct hw_node *list = hw_node_child(node, "where");
  if (list == NULL) {
    return;
  }
  if (list->kind != HW_NODE_LIST || count_children(list) > MAX_CONDITIONS) {
    fail(l, list->offset, "'where' is a list of at most %d conditions, all of which must hold", MAX_CONDITIONS);
    return;
  }
  for (const struct hw_node *n = list->first; n != NULL; n = n->next) {
    struct mapping_condition condition = {0};
    read_condition(l, n, &condition);
    l->out_of_memory = !vec_push(&table->conditions, condition) || l->out_of_memory;
  }
}

/* Below the data directory: not absolute, no "..". */
static bool is_inside(const char *path) {
  return path[0] != '\0' && path[0] != '/' && strstr(path, "..") == NULL;
}

static void read_file_name(struct loader *l, const struct hw_node *node, enum store_split split,
                           struct mapping_table *table) {
  if (node->kind != HW_NODE_SCALAR || !is_inside(node->text)) {
    fail(l, node->offset, "a file is named relative to 'folder', without '..'");
    return;
  }
  struct mapping_file file = {.name = node->text, .split = split, .offset = node->offset};
  l->out_of_memory = !vec_push(&table->files, file) || l->out_of_memory;
}

static void read_files(struct loader *l, const struct hw_node *node, struct mapping_table *table) {
  const char *const splits[] = {store_split_name(STORE_TRAIN), store_split_name(STORE_TEST),
                                store_split_name(STORE_FOLDS)};
  const struct hw_node *files = hw_node_child(node, "files");
  if (files == NULL || files->kind != HW_NODE_MAP || files->first == NULL) {
    fail(l, files != NULL ? files->offset : node->offset, "'files' must be a map such as {train: a.csv, test: b.csv}");
    return;
  }
  check_keys(l, files, "a split", splits, 3);
  for (unsigned i = 0; i < 3; i++) {
    const struct hw_node *names = hw_node_child(files, splits[i]);
    if (names != NULL && names->kind != HW_NODE_LIST) {
      read_file_name(l, names, (enum store_split)i, table);
    }
    for (const struct hw_node *n = names != NULL ? names->first : NULL; n != NULL && names->kind == HW_NODE_LIST;
         n = n->next) {
      read_file_name(l, n, (enum store_split)i, table);
    }
  }
}

/* What stands in the place of a heading line. */
static void read_headings(struct loader *l, const struct hw_node *node, struct mapping_table *table) {
  const struct hw_node *list = hw_node_child(node, "headings");
  if (list == NULL) {
    return;
  }
  unsigned count = list->kind == HW_NODE_LIST ? count_children(list) : 0;
  table->headings = allocate(l, count, sizeof *table->headings);
  if (count == 0 || table->headings == NULL) {
    fail(l, list->offset, "'headings' names the columns of files without a heading line: [M, N, K, time]");
    return;
  }
  for (const struct hw_node *n = list->first; n != NULL; n = n->next) {
    if (n->kind != HW_NODE_SCALAR) {
      fail(l, n->offset, "a heading is a word");
    }
    table->headings[table->heading_count++] = n->kind == HW_NODE_SCALAR ? n->text : "";
  }
}

static const char *const table_keys[] = {"files",  "headings", "op",    "device",   "format",  "latency",
                                         "spread", "shape",    "where", "software", "variant", "note"};

static void read_table(struct loader *l, const struct hw_node *node, struct mapping_table *table) {
  if (node->kind != HW_NODE_MAP) {
    fail(l, node->offset, "a table is a map with 'files', 'op', 'shape', 'latency', ...");
    return;
  }
  const char *classes[KERNEL_CLASS_COUNT], *formats[KERNEL_FORMAT_COUNT];
  for (unsigned i = 0; i < KERNEL_CLASS_COUNT; i++) {
    classes[i] = kernel_class_name((enum kernel_class)i);
  }
  for (unsigned i = 0; i < KERNEL_FORMAT_COUNT; i++) {
    formats[i] = kernel_format_info((enum kernel_format)i)->name;
  }
  const struct expectation op = {.what = "a kind of kernel", .names = classes, .name_count = KERNEL_CLASS_COUNT};
  const struct expectation format = {.what = "a format", .names = formats, .name_count = KERNEL_FORMAT_COUNT};
  const struct expectation text = {0};
  const struct hw_node *found;
  table->offset = node->offset;
  check_keys(l, node, "a key of a table", table_keys, sizeof table_keys / sizeof table_keys[0]);
  read_files(l, node, table);
  read_headings(l, node, table);
  read_member(l, node, "op", true, &op, &table->op, &found);
  read_member(l, node, "device", true, &text, &table->device, &found);
  read_member(l, node, "format", true, &format, &table->format, &found);
  read_member(l, node, "software", false, &text, &table->software, &found);
  read_member(l, node, "variant", false, &text, &table->variant, &found);
  read_timed(l, node, "latency", true, &table->latency, &table->latency_unit);
  read_timed(l, node, "spread", false, &table->spread, &table->spread_unit);
  read_conditions(l, node, table);
  read_shape(l, node, table);
}

static void read_head(struct loader *l, const struct hw_node *root) {
  static const char *const keys[] = {"source", "title",  "url",      "licence", "use",
                                     "note",   "folder", "defaults", "tables"};
  static const char *const uses[] = {"fit", "score"};
  struct mapping *m = l->mapping;
  check_keys(l, root, "a key of a mapping file", keys, sizeof keys / sizeof keys[0]);
  m->source = (struct store_source){.name = text_of(l, root, "source", true),
                                    .title = text_of(l, root, "title", true),
                                    .url = text_of(l, root, "url", true),
                                    .licence = text_of(l, root, "licence", true)};
  const char *use = text_of(l, root, "use", true);
  m->source.may_fit = strcmp(use, "fit") == 0;
  if (use[0] != '\0' && !m->source.may_fit && strcmp(use, "score") != 0) {
    fail_name(l, hw_node_child(root, "use")->offset, use, "a use (fit, score)", uses, 2);
  }
  m->folder = text_of(l, root, "folder", true);
  const struct hw_node *folder = hw_node_child(root, "folder");
  m->folder_offset = folder != NULL ? folder->offset : 0;
  if (m->folder[0] != '\0' && !is_inside(m->folder)) {
    fail(l, m->folder_offset, "'folder' is below the data directory, without '..'");
  }
  l->defaults = hw_node_child(root, "defaults");
  if (l->defaults != NULL && l->defaults->kind != HW_NODE_MAP) {
    fail(l, l->defaults->offset, "'defaults' is a map of what tables have in common");
    l->defaults = NULL;
  } else if (l->defaults != NULL) {
    static const char *const common[] = {"op", "device", "format", "latency", "spread", "software", "variant"};
    check_keys(l, l->defaults, "a key that tables can have in common", common, sizeof common / sizeof common[0]);
  }
}

enum status mapping_load(struct mapping *mapping, const struct source *text, struct diag_list *diags) {
  *mapping = (struct mapping){.text = text};
  arena_init(&mapping->arena, 0);
  const struct hw_node *root;
  STATUS_TRY(hw_yaml_read(&mapping->arena, text, diags, &root));
  struct loader l = {.mapping = mapping, .diags = diags, .is_good = true};
  if (root->kind != HW_NODE_MAP) {
    fail(&l, root->offset, "a mapping file is a map with 'source', 'tables', ...");
    return STATUS_INPUT;
  }
  read_head(&l, root);
  const struct hw_node *tables = hw_node_child(root, "tables");
  if (tables == NULL || tables->kind != HW_NODE_LIST || count_children(tables) > MAX_TABLES) {
    fail(&l, tables != NULL ? tables->offset : root->offset, "'tables' must be a list of at most %d tables",
         MAX_TABLES);
    return STATUS_INPUT;
  }
  for (const struct hw_node *n = tables->first; n != NULL; n = n->next) {
    struct mapping_table table = {0};
    read_table(&l, n, &table);
    if (!vec_push(&mapping->tables, table)) {
      vec_release(&table.files);
      vec_release(&table.shape);
      vec_release(&table.conditions);
      l.out_of_memory = true;
    }
  }
  return l.out_of_memory ? STATUS_MEMORY : l.is_good ? STATUS_OK : STATUS_INPUT;
}

void mapping_release(struct mapping *mapping) {
  for (size_t i = 0; i < mapping->tables.count; i++) {
    vec_release(&mapping->tables.data[i].files);
    vec_release(&mapping->tables.data[i].shape);
    vec_release(&mapping->tables.data[i].conditions);
  }
  vec_release(&mapping->tables);
  arena_release(&mapping->arena);
}
