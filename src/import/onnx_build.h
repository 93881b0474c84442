/* The inside of the ONNX builder: nodes → operations. Read this first, then onnx_ops.def.
 *
 *   onnx_ops.def        one row per operator: which function builds it
 *   onnx_ops_*.c        these functions, by family; straight-line code on onnx_emit.h
 *   onnx_emit*.c        one function per StableHLO operation: checks its arguments, computes the result type, folds what is known
 *   onnx_fold.c         values of small known tensors, so that arithmetic on shapes leaves no operations
 *   onnx_build.c        scopes, nodes, functions, the module; onnx_graph.c inputs, outputs and bound dimensions
 *   onnx_tensor.c       TensorProto → constants
 *
 * Failure is sticky: the first one is reported and sets b->is_failed; after it every function here does nothing and gives
 * the value 0, and every function takes the value 0. Builders of operators therefore need not check anything on their way.
 * All shapes are static: free dimensions are bound before (import_options.binds). */
#ifndef RIDGELINE_IMPORT_ONNX_BUILD_H
#define RIDGELINE_IMPORT_ONNX_BUILD_H

#include "base/map.h"
#include "import/import.h"
#include "import/onnx_proto.h"

enum { ONNX_RANK_MAX = 32, ONNX_INTS_MAX = 2 * ONNX_RANK_MAX };

/* A value: index into b->values; 0 = absent (an optional input) or after a failure. */
struct onnx_val {
  uint32_t id;
};

/* A known element: `f` of floats, `i` of the rest (ui64: its bits). */
union onnx_cell {
  int64_t i;
  double f;
};

struct onnx_value {
  struct ir_value value; /* 0 = a constant that no operation has used yet */
  enum dtype dtype;
  uint32_t rank;
  const int64_t *dims; /* in b->arena */
  int64_t count; /* elements */
  const union onnx_cell *cells; /* known elements, or NULL */
  bool is_splat; /* one cell stands for all */
  const struct onnx_tensor *tensor; /* of an initializer */
};

struct onnx_builder;
typedef void onnx_build_fn(struct onnx_builder *b, const struct onnx_node *n);

struct onnx_op_row {
  const char *domain, *name;
  int first_version; /* of the operator set, from which on the meaning is the one built */
  onnx_build_fn *build;
  int argument; /* of the builder: an opcode or a variant */
};

/* What a name means: names of a graph see those around it, names of a function only its own. */
struct onnx_scope {
  const struct onnx_scope *outer; /* NULL at the top of a function or of the model */
  uint32_t id;
  const struct onnx_function *function; /* NULL in the model */
  const struct onnx_node *call; /* of that function */
  const struct onnx_scope *caller; /* where `call` stands */
};

struct onnx_bound { /* dim_param → size */
  struct onnx_span name;
  int64_t size;
};

struct onnx_builder {
  const struct source *source;
  const struct import_options *options;
  struct diag_list *diags;
  const struct onnx_model *model;
  struct arena arena; /* names, dimensions, cells */
  struct intern strings;
  struct ir_module *m;
  struct ir_block block; /* operations go to its end */
  struct ir_block entry; /* of the function; constants go here */
  bool is_failed;
  enum status status;
  const struct onnx_scope *scope;
  uint32_t scope_count;
  struct map names; /* scope id << 32 | name → value */
  struct map initializers; /* names of those of the main graph */
  struct map functions; /* hash of domain, name and overload → index of the last function of that hash */
  VEC(struct onnx_value) values;
  VEC(uint32_t) pairs; /* attributes of the operation that is being made */
  const struct onnx_node *node; /* being built */
  const struct onnx_op_row *row;
  uint64_t node_count; /* built so far, those of inlined functions each time */
  unsigned depth, max_depth; /* of subgraphs and functions */
  struct ir_attr location;
  VEC(struct onnx_bound) bounds;
};

/* ---- onnx_build.c: failures ---- */
/* Reports the first failure, with the node it is in. */
void onnx_fail(struct onnx_builder *b, enum diag_id id, const char *format, ...) __attribute__((format(printf, 3, 4)));
void onnx_fail_memory(struct onnx_builder *b);
/* onnx_fail(E0206) when `ok` is false; gives whether the builder may go on. */
bool onnx_check(struct onnx_builder *b, bool ok, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- onnx_build.c: nodes ---- */
bool onnx_has_input(const struct onnx_node *n, size_t i);
/* Input i; a failure when it is left out. */
struct onnx_val onnx_input(struct onnx_builder *b, const struct onnx_node *n, size_t i);
/* Input i, 0 when it is left out. */
struct onnx_val onnx_optional(struct onnx_builder *b, const struct onnx_node *n, size_t i);
void onnx_output(struct onnx_builder *b, const struct onnx_node *n, size_t i, struct onnx_val value);
bool onnx_has_output(const struct onnx_node *n, size_t i);
/* Attribute by name, through the attribute of a function's call that it refers to; NULL when absent. */
const struct onnx_attribute *onnx_attribute(const struct onnx_builder *b, const struct onnx_node *n, const char *name);
int64_t onnx_int(const struct onnx_builder *b, const struct onnx_node *n, const char *name, int64_t otherwise);
double onnx_float(const struct onnx_builder *b, const struct onnx_node *n, const char *name, double otherwise);
bool onnx_string_is(const struct onnx_builder *b, const struct onnx_node *n, const char *name, const char *text,
                    const char *otherwise);
/* Up to ONNX_INTS_MAX integers of an attribute; their number, 0 when it is absent. */
uint32_t onnx_ints(struct onnx_builder *b, const struct onnx_node *n, const char *name, int64_t *values);
/* Integers of input i where it is given (they must be known), else of the attribute: many operators moved an attribute to
 * an input. False when there is neither. */
bool onnx_ints_of(struct onnx_builder *b, const struct onnx_node *n, size_t i, const char *name, int64_t *values,
                  uint32_t *count);
/* A known scalar. */
bool onnx_known_int(const struct onnx_builder *b, struct onnx_val v, int64_t *value);
bool onnx_known_float(const struct onnx_builder *b, struct onnx_val v, double *value);
/* `axis` of 0 … rank-1, from -rank …; a failure when outside. */
uint32_t onnx_axis(struct onnx_builder *b, int64_t axis, uint32_t rank);
int onnx_version(const struct onnx_builder *b,
                 const struct onnx_node *n); /* of the node's operator set; 0 = not imported */

/* A subgraph in a block of its own: binds the inputs, builds the nodes, gives the values of the outputs. */
bool onnx_subgraph(struct onnx_builder *b, const struct onnx_graph *graph, const struct onnx_val *inputs,
                   size_t input_count, struct onnx_val *outputs);

/* Makes b->functions. */
bool onnx_index_functions(struct onnx_builder *b);

/* ---- values ---- */
static inline const struct onnx_value *onnx_get(const struct onnx_builder *b, struct onnx_val v) {
  return &b->values.data[v.id]; /* values[0]: no dimensions, type none */
}
static inline enum dtype onnx_dtype(const struct onnx_builder *b, struct onnx_val v) {
  return onnx_get(b, v)->dtype;
}
static inline uint32_t onnx_rank(const struct onnx_builder *b, struct onnx_val v) {
  return onnx_get(b, v)->rank;
}
/* Size of a dimension; 1 beyond the rank. */
static inline int64_t onnx_dim(const struct onnx_builder *b, struct onnx_val v, uint32_t i) {
  return i < onnx_get(b, v)->rank ? onnx_get(b, v)->dims[i] : 1;
}
/* Copies the dimensions to dims[ONNX_RANK_MAX]; the rank. */
uint32_t onnx_dims(const struct onnx_builder *b, struct onnx_val v, int64_t *dims);
bool onnx_same_dims(const struct onnx_builder *b, struct onnx_val x, struct onnx_val y);
/* A value of static shape; a failure when a dimension is negative or the sizes overflow. */
struct onnx_val onnx_new_value(struct onnx_builder *b, enum dtype dtype, const int64_t *dims, uint32_t rank);
struct ir_type onnx_ir_type(struct onnx_builder *b, struct onnx_val v);
/* The value in the module; a constant is made for it where there is none. */
struct ir_value onnx_ir(struct onnx_builder *b, struct onnx_val v);

/* ---- onnx_tensor.c ---- */
/* Element type of TensorProto.DataType; a failure when it has none here. */
enum dtype onnx_dtype_of(struct onnx_builder *b, int64_t data_type);
struct onnx_val onnx_tensor_value(struct onnx_builder *b, const struct onnx_tensor *tensor);
/* The DENSE attribute (or RESOURCE, of data in another file that is not read) of v->tensor; handle 0 after a failure. */
struct ir_attr onnx_tensor_attr(struct onnx_builder *b, struct onnx_val v);

/* ---- onnx_graph.c ---- */
/* Reads import_options.binds. */
void onnx_read_binds(struct onnx_builder *b);
/* Types of the inputs that no initializer stands for, with bound dimensions; unbound ones are a failure. */
void onnx_graph_inputs(struct onnx_builder *b, const struct onnx_graph *graph);
/* The function @main of the graph. */
void onnx_build_main(struct onnx_builder *b, struct ir_block top);
/* Whether the model itself gives this input of its graph. */
bool onnx_is_initializer(const struct onnx_builder *b, struct onnx_span name);
void onnx_bind_name(struct onnx_builder *b, struct onnx_span name, struct onnx_val value);
void onnx_build_initializers(struct onnx_builder *b, const struct onnx_graph *graph);
void onnx_build_nodes(struct onnx_builder *b, const struct onnx_node *nodes, size_t count);
struct onnx_val onnx_lookup(const struct onnx_builder *b, struct onnx_span name);

#endif
