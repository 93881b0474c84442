/* Generated modules for the tests of generate/: made, printed, read back, checked, run. */
#ifndef RIDGELINE_TESTS_GENERATE_FIXTURE_H
#define RIDGELINE_TESTS_GENERATE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/analyze.h"
#include "generate/generate.h"
#include "interp/interp.h"
#include "mlir/mlir.h"

enum { GENERATED_VALUES = 128 };

struct generated {
  struct strbuf text;
  struct source source;
  struct diag_list diags;
  struct ir_module *module; /* read back from the text */
  uint64_t parameters;
  struct interp_value *arguments[GENERATED_VALUES], *results[GENERATED_VALUES];
  uint32_t argument_count, result_count;
};

static inline void generated_fail(const struct generated *g, const char *name, const char *what) {
  fail_msg("%s is not %s: %s", name, what,
           g->diags.entries.count > 0 ? g->diags.entries.data[0].message : "no message");
}

/* Takes a module that must be right: its text reads back as an equal module, which passes the verifier. */
static inline void generated_adopt(struct generated *g, const char *name, struct ir_module *made) {
  char where[200];
  mlir_print(made, made->root, NULL, &g->text);
  g->source = (struct source){name, strbuf_text(&g->text), g->text.length};
  if (mlir_parse(&g->source, NULL, &g->diags, &g->module) != STATUS_OK) {
    generated_fail(g, name, "read back");
  }
  if (!ir_equal(made, made->root, g->module, g->module->root, where, sizeof where)) {
    fail_msg("%s: its text loses something: %s", name, where);
  }
  if (analyze_infer(g->module, &g->diags) != STATUS_OK || analyze_calls(g->module, &g->diags) != STATUS_OK) {
    generated_fail(g, name, "verified");
  }
  g->parameters = generate_parameters(made);
  ir_module_free(made);
}

static inline void generated_open(struct generated *g, const struct generate_model *model,
                                  const struct generate_request *request) {
  struct ir_module *made = NULL;
  memset(g, 0, sizeof *g);
  diag_init(&g->diags);
  if (generate_module(model, request, &g->diags, &made) != STATUS_OK) {
    generated_fail(g, model->name, "generated");
  }
  generated_adopt(g, model->name, made);
}

static inline void generated_close(struct generated *g) {
  for (uint32_t i = 0; i < GENERATED_VALUES; i++) {
    interp_release(g->arguments[i]);
    interp_release(g->results[i]);
  }
  strbuf_release(&g->text);
  ir_module_free(g->module);
  diag_release(&g->diags);
}

/* What argument or result `i` is called; "" past the last. */
static inline const char *generated_name(const struct generated *g, bool is_argument, uint32_t i) {
  const struct ir_module *m = g->module;
  struct ir_attr all = ir_op_attr(m, ir_function_entry(m), is_argument ? "arg_attrs" : "res_attrs");
  if (i >= ir_attr_get(m, all)->list_count) {
    return "";
  }
  struct ir_attr attrs = {m->lists.data[ir_attr_get(m, all)->list_first + i]};
  return ir_text(m, ir_attr_get(m, ir_attr_field(m, attrs, is_argument ? "jax.arg_info" : "jax.result_info"))->text);
}

static inline uint32_t generated_index(const struct generated *g, bool is_argument, const char *name) {
  for (uint32_t i = 0; generated_name(g, is_argument, i)[0] != '\0'; i++) {
    if (strcmp(generated_name(g, is_argument, i), name) == 0) {
      return i;
    }
  }
  fail_msg("there is no %s", name);
  return 0;
}

static inline struct interp_value *generated_argument(const struct generated *g, const char *name) {
  return g->arguments[generated_index(g, true, name)];
}

static inline struct interp_value *generated_result(const struct generated *g, const char *name) {
  return g->results[generated_index(g, false, name)];
}

/* In [-1, 1), the same for the same name and index whatever the model: a hash of both. */
static inline double generated_number(const char *name, uint64_t index) {
  uint64_t x = 1469598103934665603U + index * 0x9E3779B97F4A7C15U;
  for (; *name != '\0'; name++) {
    x = (x ^ (uint8_t)*name) * 1099511628211U;
  }
  x ^= x >> 31;
  x *= 0xBF58476D1CE4E5B9U;
  x ^= x >> 27;
  return (double)(x >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

/* Fills the arguments: floats from generated_number, integers from 0 to 7 (i8 and i4: -7 to 7). */
static inline void generated_fill(struct generated *g) {
  const struct ir_module *m = g->module;
  struct ir_block body = ir_function_body(m, ir_function_entry(m));
  g->argument_count = ir_block_get(m, body)->argument_count;
  assert_true(g->argument_count <= GENERATED_VALUES);
  for (uint32_t i = 0; i < g->argument_count; i++) {
    struct ir_type type = ir_value_type(m, ir_block_argument(m, body, i));
    enum dtype dtype = (enum dtype)ir_type_get(m, type)->dtype;
    const char *name = generated_name(g, true, i);
    struct interp_value *value = interp_tensor_new(dtype, ir_type_dims(m, type), ir_type_get(m, type)->rank);
    assert_non_null(value);
    for (uint64_t k = 0; k < value->count; k++) {
      double x = generated_number(name, k);
      if (dtype == DTYPE_F32) {
        ((float *)value->data)[k] = (float)(x * (strncmp(name, "scales.", 7) == 0 ? 0.05 : 0.4));
      } else if (dtype == DTYPE_I32) {
        ((int32_t *)value->data)[k] = (int32_t)(4 * (x + 1));
      } else {
        ((int8_t *)value->data)[k] = (int8_t)(7 * x);
      }
    }
    g->arguments[i] = value;
  }
}

static inline void generated_run(struct generated *g) {
  struct ir_op function = ir_function_entry(g->module);
  const struct ir_type_data *type = ir_type_get(g->module, ir_function_type(g->module, function));
  g->result_count = type->count - type->input_count;
  assert_true(g->result_count <= GENERATED_VALUES);
  if (interp_run(g->module, function, NULL, g->arguments, g->argument_count, &g->diags, g->results) != STATUS_OK) {
    generated_fail(g, g->source.name, "run");
  }
}

/* Largest difference of two f32 tensors of one shape, relative to the largest magnitude of the second. */
static inline double generated_distance(const struct interp_value *a, const struct interp_value *b) {
  double difference = 0, magnitude = 0;
  assert_int_equal(a->count, b->count);
  assert_true(a->dtype == DTYPE_F32 && b->dtype == DTYPE_F32);
  for (uint64_t i = 0; i < a->count; i++) {
    double x = ((const float *)a->data)[i], y = ((const float *)b->data)[i];
    assert_true(x == x && y == y);
    difference = x - y > difference ? x - y : y - x > difference ? y - x : difference;
    magnitude = y > magnitude ? y : -y > magnitude ? -y : magnitude;
  }
  assert_true(magnitude > 0);
  return difference / magnitude;
}

/* A model of the row's kind that is small enough to run in a moment: 4 heads of 8 over 2 KV heads, or over 4 where the row
 * has no groups. */
static inline struct generate_model generated_small(const char *name) {
  const struct generate_model *row = generate_model_find(name, NULL);
  assert_non_null(row);
  struct generate_model small = *row;
  small.layers = 2;
  small.heads = 4;
  small.kv_heads = row->kv_heads < row->heads ? 2 : 4;
  small.head_size = 8;
  small.hidden = 24;
  small.ffn = 40;
  small.vocabulary = 16;
  small.positions = row->positions > 0 ? 16 + row->position_offset : 0;
  return small;
}

#endif
