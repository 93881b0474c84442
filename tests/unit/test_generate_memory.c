/* Generation with exhausted memory: every allocation fails once. */
#include "generate/generate_resnet.h"
#include "generate_fixture.h"

#include "exhausted_memory.h"

struct request_of {
  struct generate_model model;
  struct generate_request request;
};

static enum status generate_and_count(const void *input, struct diag_list *diags, struct strbuf *text) {
  const struct request_of *of = input;
  struct ir_module *module = NULL;
  enum status status = generate_module(&of->model, &of->request, diags, &module);
  if (status == STATUS_OK) {
    strbuf_printf(text, "%llu %zu", (unsigned long long)generate_parameters(module), module->ops.count);
  }
  ir_module_free(module);
  return status;
}

static void families(void **state) {
  (void)state;
  static const struct {
    const char *name;
    enum generate_phase phase;
  } rows[] = {{"mixtral-8x7b", GENERATE_DECODE},
              {"gemma2-27b", GENERATE_PREFILL},
              {"opt-30b", GENERATE_DECODE},
              {"vit-h", GENERATE_FORWARD},
              {"dit-xl2", GENERATE_FORWARD}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct request_of of = {
        .model = generated_small(rows[i].name),
        .request = {.phase = rows[i].phase, .batch = 2, .sequence = 8, .activations = DTYPE_F16, .weights = DTYPE_I8}};
    exhausted_check(rows[i].name, generate_and_count, &of, 20);
  }
}

static enum status generate_step(const void *input, struct diag_list *diags, struct strbuf *text) {
  const struct generate_resnet_training p = {.data = 2, .global_batch = 4, .compute = DTYPE_BF16};
  struct ir_module *module = NULL;
  enum status status = generate_resnet_training(input, &p, diags, &module);
  if (status == STATUS_OK) {
    strbuf_printf(text, "%llu %zu", (unsigned long long)generate_parameters(module), module->ops.count);
  }
  ir_module_free(module);
  return status;
}

static void residual_network(void **state) {
  (void)state;
  static const struct generate_resnet tiny = {
      .name = "tiny", .is_bottleneck = true, .stages = {1}, .width = 2, .side = 8, .classes = 3};
  exhausted_check(tiny.name, generate_step, &tiny, 20);
}

static void unknown_model(void **state) {
  (void)state;
  for (unsigned long n = 0; n < 8; n++) { /* the names of the message need memory */
    struct diag_list diags;
    long live = allocation.live;
    diag_init(&diags);
    allocation_arm(n, true);
    assert_null(generate_model_find("none", &diags));
    (void)allocation_disarm();
    diag_release(&diags);
    assert_int_equal(allocation.live, live);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(families), cmocka_unit_test(residual_network),
                                     cmocka_unit_test(unknown_model)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
