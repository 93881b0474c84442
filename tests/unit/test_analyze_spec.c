/* Every constraint of the specification (src/analyze/spec.def) that is checked is broken by a program of
 * tests/errors/constraints, which gets a message with exactly that number at the operation; the program without the change
 * is accepted. The numbers and formulas are those of docs/spec.md of openxla/stablehlo. */
#include "analyze_fixture.h"
#include "spec_cases.h"

#include "analyze/analyze_int.h"

enum { ITEMS_MAX = 1024 };

/* What the table demands a program for. */
struct item {
  const char *op; /* "abs", or the name of an element */
  char label[8];
  bool is_covered;
};

static struct {
  struct item items[ITEMS_MAX];
  size_t count;
} table;

static void add_item(const char *op, char kind, unsigned number) {
  if (number == 0) {
    return;
  }
  assert_true(table.count < ITEMS_MAX);
  struct item *item = &table.items[table.count++];
  item->op = op;
  item->is_covered = false;
  snprintf(item->label, sizeof item->label, "%c%u", kind, number);
}

/* A part of an attribute: its syntax is its check, a program that breaks it may be there but need not. */
static void add_part(const char *op, unsigned number) {
  add_item(op, 'I', number);
  table.items[table.count - 1].is_covered = true;
}

static const char *bare_name(enum ir_opcode opcode) {
  return ir_opcode_info(opcode)->name + strlen("stablehlo.");
}

static void list_items(void) {
  const char *op;
  table.count = 0;
  /* an input that takes any value and any part of an attribute cannot be wrong by itself */
#define UNWRAP(...) __VA_ARGS__
#define V(n, place, classes, rank, name) add_item(op, 'I', n);
#define K(n, place, kinds, name) add_item(op, 'I', (kinds) == KIND_ANY ? 0 : n);
#define A(n, kind, name) add_item(op, 'I', n);
#define F(n, region, name) add_item(op, 'I', is_case ? 0 : n);
#define P(n, name) add_part(op, n);
#define O(place, classes, rank, name)
#define C(n, formula) add_item(op, 'C', n);
#define R(n, formula, why)
#define X(n, formula, why)
#define U(n, formula, why)
#define KIND_TOKEN 1
#define KIND_TUPLE 2
#define KIND_FUTURE 4
#define KIND_ANY 8
#define SPEC_OP(opcode, inputs, constraints)                                                                           \
  {                                                                                                                    \
    op = bare_name(IR_OP_##opcode);                                                                                    \
    const bool is_case = IR_OP_##opcode == IR_OP_CASE; /* no branch at all is its C1 */                                \
    (void)is_case;                                                                                                     \
    UNWRAP inputs UNWRAP constraints                                                                                   \
  }
#define SPEC_ELEMENT(name, constraints)                                                                                \
  {                                                                                                                    \
    op = name;                                                                                                         \
    UNWRAP constraints                                                                                                 \
  }
#include "analyze/spec.def"
}

static struct item *find_item(const char *op, const char *label) {
  for (size_t i = 0; i < table.count; i++) {
    if (strcmp(table.items[i].op, op) == 0 && strcmp(table.items[i].label, label) == 0) {
      return &table.items[i];
    }
  }
  return NULL;
}

static uint32_t line_of(const char *text, const char *at) {
  uint32_t line = 1;
  for (; text < at; text++) {
    line += *text == '\n';
  }
  return line;
}

/* Messages of a program; false when it is accepted. */
static bool is_refused(const char *text, struct diag_list *diags) {
  struct source source = {"case.mlir", text, strlen(text)};
  struct ir_module *module = NULL;
  diag_init(diags);
  enum status status = mlir_parse(&source, NULL, diags, &module);
  if (status == STATUS_OK) {
    enum status inferred = analyze_infer(module, diags);
    enum status called = analyze_calls(module, diags);
    status = inferred != STATUS_OK ? inferred : called;
  }
  ir_module_free(module);
  return status != STATUS_OK;
}

static void check_valid(const struct spec_block *block, const char *file, const char *op) {
  struct strbuf program = {0};
  struct diag_list diags;
  spec_program(block, op, NULL, &program);
  if (is_refused(strbuf_text(&program), &diags)) {
    fail_msg("%s:%u: %s is refused: %s", file, block->line, op,
             diags.entries.count > 0 ? diags.entries.data[0].message : "no message");
  }
  diag_release(&diags);
  strbuf_release(&program);
}

static void check_case(const struct spec_block *block, const char *file, const char *op,
                       const struct spec_case *entry) {
  struct strbuf program = {0};
  struct diag_list diags;
  char name[96], number[16];
  spec_program(block, op, entry->edits, &program);
  const char *text = strbuf_text(&program);
  snprintf(name, sizeof name, "\"stablehlo.%s\"", strcmp(op, "type") == 0 ? "uniform_dequantize" : op);
  snprintf(number, sizeof number, "(%s)", entry->label);
  if (!is_refused(text, &diags)) {
    fail_msg("%s:%u: %s breaks %s but is accepted", file, entry->line, op, entry->label);
  }
  const struct diag *first = &diags.entries.data[0];
  size_t length = strlen(first->message), tail = strlen(number);
  bool has_number = length > tail && strcmp(first->message + length - tail, number) == 0;
  const char *at = strstr(text, name);
  bool is_there = at != NULL && (first->line == line_of(text, at) || strcmp(op, "type") == 0);
  if (!has_number || !is_there) {
    fail_msg("%s:%u: %s should break %s, but line %u gets: %s", file, entry->line, op, entry->label, first->line,
             first->message);
  }
  diag_release(&diags);
  strbuf_release(&program);
}

static void visit_block(const struct spec_block *block, const char *file, void *context) {
  (void)context;
  for (size_t i = 0; i < block->op_count; i++) {
    check_valid(block, file, block->ops[i]);
    for (size_t c = 0; c < block->case_count; c++) {
      struct item *item = find_item(block->ops[i], block->cases[c].label);
      if (item == NULL) {
        fail_msg("%s:%u: the table has no checked %s of %s", file, block->cases[c].line, block->cases[c].label,
                 block->ops[i]);
      }
      check_case(block, file, block->ops[i], &block->cases[c]);
      item->is_covered = true;
    }
  }
}

static void test_every_constraint(void **state) {
  (void)state;
  static const char *const files[] = {"elementwise.txt", "movement.txt", "kernels.txt", "regions.txt"};
  list_items();
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    spec_read(files[i], visit_block, NULL);
  }
  size_t missing = 0;
  for (size_t i = 0; i < table.count; i++) {
    if (!table.items[i].is_covered) {
      print_message("no program breaks %s of %s\n", table.items[i].label, table.items[i].op);
      missing++;
    }
  }
  print_message("%zu checked constraints\n", table.count);
  assert_int_equal(missing, 0);
}

/* A row for each operation of StablehloOps.td: the first 118 of ops.def. */
static void test_every_operation(void **state) {
  (void)state;
  bool has_row[IR_OP_COUNT] = {false};
#undef SPEC_OP
#undef SPEC_ELEMENT
#define SPEC_OP(opcode, inputs, constraints)                                                                           \
  assert_false(has_row[IR_OP_##opcode]);                                                                               \
  has_row[IR_OP_##opcode] = true;
#define SPEC_ELEMENT(name, constraints)
#include "analyze/spec.def"
  unsigned count = 0;
  for (unsigned i = 0; i < IR_OP_COUNT; i++) {
    bool is_stablehlo = strncmp(ir_opcode_info((enum ir_opcode)i)->name, "stablehlo.", 10) == 0;
    assert_int_equal(has_row[i], is_stablehlo);
    count += has_row[i];
  }
  assert_int_equal(count, 118);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_constraint),
      cmocka_unit_test(test_every_operation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
