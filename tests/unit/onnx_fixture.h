/* ONNX models for the tests of import/, written field by field: the numbers are those of onnx.proto. */
#ifndef RIDGELINE_TESTS_ONNX_FIXTURE_H
#define RIDGELINE_TESTS_ONNX_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/analyze.h"
#include "import/import.h"

static inline void pb_varint(struct strbuf *out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    strbuf_putc(out, (char)(value | 0x80));
  }
  strbuf_putc(out, (char)value);
}

static inline void pb_int(struct strbuf *out, unsigned field, int64_t value) {
  pb_varint(out, field << 3);
  pb_varint(out, (uint64_t)value);
}

static inline void pb_bytes(struct strbuf *out, unsigned field, const char *bytes, size_t length) {
  pb_varint(out, field << 3 | 2);
  pb_varint(out, length);
  strbuf_add(out, bytes, length);
}

static inline void pb_text(struct strbuf *out, unsigned field, const char *text) {
  pb_bytes(out, field, text, strlen(text));
}

/* Appends `part` as a message and empties it. */
static inline void pb_message(struct strbuf *out, unsigned field, struct strbuf *part) {
  pb_bytes(out, field, strbuf_text(part), part->length);
  strbuf_release(part);
}

/* An input (11) or output (12) of type float; dims are numbers or names, separated by spaces. */
static inline void pb_value(struct strbuf *graph, unsigned field, const char *name, const char *dims) {
  struct strbuf shape = {0}, tensor = {0}, type = {0}, info = {0};
  for (const char *at = dims; *at != '\0';) {
    struct strbuf dim = {0};
    size_t length = strcspn(at, " ");
    if (*at >= '0' && *at <= '9') {
      pb_int(&dim, 1, strtoll(at, NULL, 10));
    } else {
      pb_bytes(&dim, 2, at, length);
    }
    pb_message(&shape, 1, &dim);
    at += length + (at[length] == ' ');
  }
  pb_int(&tensor, 1, 1);
  pb_message(&tensor, 2, &shape);
  pb_message(&type, 1, &tensor);
  pb_text(&info, 1, name);
  pb_message(&info, 2, &type);
  pb_message(graph, field, &info);
}

/* A node with up to two inputs and one output. */
static inline void pb_node(struct strbuf *graph, const char *type, const char *a, const char *b, const char *out) {
  struct strbuf node = {0};
  pb_text(&node, 1, a);
  if (b != NULL) {
    pb_text(&node, 1, b);
  }
  pb_text(&node, 2, out);
  pb_text(&node, 3, "here");
  pb_text(&node, 4, type);
  pb_message(graph, 1, &node);
}

/* A model of the graph, which is emptied. */
static inline void pb_model(struct strbuf *model, struct strbuf *graph, int64_t version) {
  struct strbuf opset = {0};
  pb_int(model, 1, 8);
  pb_message(model, 7, graph);
  pb_int(&opset, 2, version);
  pb_message(model, 8, &opset);
}

struct onnx_imported {
  struct diag_list diags;
  struct ir_module *module;
  enum status status;
};

static inline struct onnx_imported onnx_open(const struct strbuf *model, const struct import_options *options) {
  struct onnx_imported result = {.module = NULL};
  struct source source = {"m.onnx", strbuf_text(model), model->length};
  diag_init(&result.diags);
  result.status = import_onnx(&source, options, &result.diags, &result.module);
  if (result.status == STATUS_OK) {
    assert_int_equal(analyze_infer(result.module, &result.diags), STATUS_OK);
    assert_int_equal(analyze_calls(result.module, &result.diags), STATUS_OK);
  } else {
    assert_null(result.module);
    assert_true(result.diags.error_count > 0);
  }
  return result;
}

static inline void onnx_close(struct onnx_imported *result) {
  ir_module_free(result->module);
  diag_release(&result->diags);
}

/* The import is refused with this message, which contains `words`. */
static inline void onnx_expect_refused(const struct strbuf *model, const struct import_options *options,
                                       enum diag_id id, const char *words) {
  struct onnx_imported result = onnx_open(model, options);
  assert_int_not_equal(result.status, STATUS_OK);
  assert_int_equal(result.diags.entries.data[0].id, id);
  if (strstr(result.diags.entries.data[0].message, words) == NULL) {
    fail_msg("'%s' does not say '%s'", result.diags.entries.data[0].message, words);
  }
  onnx_close(&result);
}

#endif
