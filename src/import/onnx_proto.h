/* An ONNX model as read: the messages of onnx.proto as structs, texts and data as spans of the file. Path: onnx_wire →
 * here → onnx_build.c. Structs follow the rows of onnx_fields.def. */
#ifndef RIDGELINE_IMPORT_ONNX_PROTO_H
#define RIDGELINE_IMPORT_ONNX_PROTO_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "import/onnx_wire.h"

/* All lists have this layout; onnx_proto.c fills them without their type. */
#define ONNX_LIST(T)                                                                                                   \
  struct {                                                                                                             \
    T *items;                                                                                                          \
    size_t count;                                                                                                      \
  }

/* `present`, the first member of every message: bit n is set when field n occurs. */
#define ONNX_HAS(message, number) (((message)->present >> (number)&1) != 0)

struct onnx_opset {
  uint32_t present;
  struct onnx_span domain;
  int64_t version;
};

struct onnx_dimension {
  uint32_t present;
  int64_t value;
  struct onnx_span parameter;
};
enum { ONNX_DIMENSION_VALUE = 1, ONNX_DIMENSION_PARAMETER = 2 };

struct onnx_shape {
  uint32_t present;
  ONNX_LIST(struct onnx_dimension) dims;
};

struct onnx_tensor_type {
  uint32_t present;
  int64_t element; /* TensorProto.DataType */
  struct onnx_shape *shape; /* NULL: of any rank */
};

struct onnx_type {
  uint32_t present;
  struct onnx_tensor_type *tensor; /* NULL: a sequence, map or the like */
};

struct onnx_value_info {
  uint32_t present;
  struct onnx_span name;
  struct onnx_type *type;
};

struct onnx_entry {
  uint32_t present;
  struct onnx_span key, value;
};

struct onnx_tensor {
  uint32_t present;
  ONNX_LIST(int64_t) dims;
  int64_t data_type;
  struct onnx_span name;
  struct onnx_span raw_data;
  ONNX_LIST(float) float_data;
  ONNX_LIST(int64_t) int32_data;
  ONNX_LIST(int64_t) int64_data;
  ONNX_LIST(double) double_data;
  ONNX_LIST(int64_t) uint64_data;
  ONNX_LIST(struct onnx_entry) external;
  int64_t location; /* 1 = external */
};
enum { ONNX_TENSOR_RAW_DATA = 9 };

struct onnx_graph;
struct onnx_attribute {
  uint32_t present;
  struct onnx_span name;
  float f;
  int64_t i;
  struct onnx_span s;
  struct onnx_tensor *t;
  struct onnx_graph *g;
  ONNX_LIST(float) floats;
  ONNX_LIST(int64_t) ints;
  ONNX_LIST(struct onnx_span) strings;
  int64_t type;
  struct onnx_span reference; /* in functions: attribute of the call that is meant */
};
enum { ONNX_ATTRIBUTE_F = 2, ONNX_ATTRIBUTE_I = 3, ONNX_ATTRIBUTE_S = 4 };

struct onnx_node {
  uint32_t present;
  ONNX_LIST(struct onnx_span) inputs; /* empty name: left out */
  ONNX_LIST(struct onnx_span) outputs;
  struct onnx_span name, type, domain, overload;
  ONNX_LIST(struct onnx_attribute) attributes;
};

struct onnx_graph {
  uint32_t present;
  ONNX_LIST(struct onnx_node) nodes;
  struct onnx_span name;
  ONNX_LIST(struct onnx_tensor) initializers;
  ONNX_LIST(struct onnx_value_info) inputs;
  ONNX_LIST(struct onnx_value_info) outputs;
  ONNX_LIST(struct onnx_span) sparse_initializers;
};

struct onnx_function {
  uint32_t present;
  struct onnx_span name, domain, overload;
  ONNX_LIST(struct onnx_span) inputs;
  ONNX_LIST(struct onnx_span) outputs;
  ONNX_LIST(struct onnx_node) nodes;
  ONNX_LIST(struct onnx_opset) opsets;
  ONNX_LIST(struct onnx_attribute) defaults;
};

struct onnx_model {
  uint32_t present;
  int64_t ir_version;
  struct onnx_span producer;
  ONNX_LIST(struct onnx_opset) opsets;
  struct onnx_graph *graph;
  ONNX_LIST(struct onnx_function) functions;
};

/* Reads a whole file. Structs live in `arena`, spans point into the source. NULL after a diagnostic: E0003 with the offset of the
 * damaged field, E0005 when messages nest deeper than `max_depth` or the arena's budget is exhausted. */
struct onnx_model *onnx_proto_read(const struct source *source, unsigned max_depth, struct arena *arena,
                                   struct diag_list *diags, enum status *status);
bool onnx_span_is(struct onnx_span span, const char *text);

#endif
