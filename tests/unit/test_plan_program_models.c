/* Plan programs of generated models at true size: bytes from memory in closed form, operations as the work graph has them,
 * and the same before and after views and fusion. */
#include <stdlib.h>

#include "generate_fixture.h"
#include "lower/lower.h"
#include "plan/plan_program.h"

enum { BATCH = 32, ENTRIES = 2048, HEAD = 128 };

struct model {
  struct generated text;
  struct work_graph *graph;
};

static void open_model(struct model *model, const char *name, enum generate_phase phase) {
  struct generate_request request = {
      .phase = phase, .batch = BATCH, .sequence = ENTRIES, .activations = DTYPE_BF16, .weights = DTYPE_BF16};
  generated_open(&model->text, generate_model_find(name, NULL), &request);
  assert_int_equal(lower_module(model->text.module, NULL, &model->text.diags, &model->graph), STATUS_OK);
}

static void close_model(struct model *model) {
  work_graph_free(model->graph);
  generated_close(&model->text);
}

static struct plan_program read_model(const struct model *model, bool views, bool fuse) {
  struct plan_read_options options = {.views = views, .fuse = fuse};
  struct plan_program program;
  struct diag_list diags;
  diag_init(&diags);
  if (plan_program_read(model->graph, &options, &diags, &program) != STATUS_OK
      || plan_program_check(&program, &diags) != STATUS_OK) {
    fail_msg("%s", diags.entries.count > 0 ? diags.entries.data[0].message : "no message");
  }
  diag_release(&diags);
  return program;
}

/* Operations of the graph that are neither products nor conversions nor on single numbers, nor picks of the largest (which
 * the planner counts by maxima). */
static double graph_vector_ops(const struct work_graph *graph) {
  double sum = 0;
  for (size_t i = 0; i < graph->tasks.count; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    const struct work_access *write = &graph->accesses.data[task->access_first + task->read_count];
    bool is_counted = (task->kind == WORK_ELEMENTWISE || task->kind == WORK_REDUCE)
                      && strcmp(intern_text(graph->strings, task->label), "convert") != 0
                      && graph->tensors.data[write->tensor].element_count > 1;
    for (uint32_t d = 0; d < task->demand_count && is_counted; d++) {
      sum += (double)graph->demands.data[task->demand_first + d].ops;
    }
  }
  return sum;
}

static double picks_in_maxima(const struct plan_program *program) {
  double sum = 0;
  for (size_t i = 0; i < program->operators.count; i++) {
    const struct plan_operator *op = &program->operators.data[i];
    if (strcmp(intern_text(program->strings, op->name), "top_k") == 0) {
      /* 32 x 8 scores, 2 picks: 8 - 1 comparisons each */
      sum += BATCH * 2 * 7;
    }
  }
  return sum;
}

static void assert_work(const struct model *model, const struct plan_program *program) {
  struct work_total total;
  work_graph_total(model->graph, &total);
  assert_true(program->matrix_flop == (double)total.ops[WORK_ENGINE_MATRIX]);
  assert_true(program->vector_flop - picks_in_maxima(program) == graph_vector_ops(model->graph));
}

/* Parameters without the tables that are only looked up, the cache of keys and values, the rows that are stored, the rows
 * and tokens that are looked up, and the logits in f32. */
static void test_decode_bytes(void **state) {
  (void)state;
  const struct {
    const char *name;
    uint64_t layers, hidden, kv_heads, vocabulary;
    uint64_t tables; /* parameters that are looked up only */
    uint64_t lookups; /* rows per step: one per sequence; OPT one position for all in addition */
  } rows[] = {
      {"llama2-13b", 40, 5120, 40, 32000, 32000 * 5120, BATCH},
      {"llama2-70b", 80, 8192, 8, 32000, 32000 * 8192, BATCH},
      {"gemma2-27b", 46, 4608, 16, 256128, 0, BATCH}, /* the table is the head as well */
      {"opt-30b", 48, 7168, 56, 50272, 2050 * 7168, BATCH + 1},
      {"mixtral-8x7b", 32, 4096, 8, 32000, 32000 * 4096, BATCH},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct model model;
    open_model(&model, rows[i].name, GENERATE_DECODE);
    uint64_t row = rows[i].layers * 2 * rows[i].kv_heads * HEAD;
    uint64_t elements =
        model.text.parameters - rows[i].tables + BATCH * ENTRIES * row + BATCH * row + rows[i].lookups * rows[i].hidden;
    uint64_t expected = 2 * elements + 4 * BATCH * rows[i].vocabulary + 4 * BATCH;
    struct plan_program base = read_model(&model, false, false), fused = read_model(&model, true, true);
    assert_int_equal(base.memory_bytes, expected);
    assert_int_equal(fused.memory_bytes, expected);
    assert_work(&model, &base);
    assert_work(&model, &fused);
    assert_int_equal(base.layer_count, rows[i].layers);
    assert_true(fused.layer_count >= rows[i].layers - 1); /* the last layer's sum joins the norm behind it */
    assert_true(fused.operators.count * 3 < base.operators.count);
    assert_true(base.sort_count < 60);
    plan_program_release(&base);
    plan_program_release(&fused);
    close_model(&model);
  }
}

static void test_forward(void **state) {
  (void)state;
  static const char *const names[] = {"dit-xl2", "vit-h"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct model model;
    open_model(&model, names[i], GENERATE_FORWARD);
    for (int way = 0; way < 4; way++) {
      struct plan_program program = read_model(&model, (way & 1) != 0, (way & 2) != 0);
      assert_work(&model, &program);
      plan_program_release(&program);
    }
    close_model(&model);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_decode_bytes),
      cmocka_unit_test(test_forward),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
