/* Programs of other compilers as StableHLO modules: XLA's HLO text, ONNX models. Path: io/ → here (lexer, parser, builder) →
 * ir module, which analyze/ checks like one that came from MLIR text. What follows is about HLO text; ONNX: see below.
 *
 * What an import keeps: the entry computation is the public function @main, computations that are called are private
 * functions, bodies (of reductions, loops, branches, fusions, comparators) are regions. Fusions stay fusions (mhlo.fusion
 * with their kind), so a program that XLA has already optimised is counted as it was fused. Tuples are taken apart: a
 * value of a tuple type is its leaves, and a function that returns a tuple returns several values. Layouts are kept
 * where values depend on them (custom calls, bitcasts); copies, bitcasts and transpositions to another order than the usual
 * one carry it as `xla_shape`. */
#ifndef RIDGELINE_IMPORT_IMPORT_H
#define RIDGELINE_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/status.h"
#include "ir/ir.h"

struct import_options {
  size_t memory_budget_bytes; /* of the module and of the parsed text each; 0 = 128 bytes per input byte + 64 MiB */
  unsigned max_depth; /* nesting of shapes and of computations within computations; 0 = 128 */
  /* ONNX only */
  bool keep_locations; /* names of nodes as locations */
  const char *const *binds; /* sizes of free dimensions, see import_onnx */
  size_t bind_count;
  /* Reads `length` bytes at `offset` of a file beside the model (`location` is relative and has no ".."); false when that
   * cannot be. NULL: tensors with data in other files stay references without data (dense_resource). */
  bool (*read_external)(void *user, const char *location, uint64_t offset, uint64_t length, void *to);
  void *external_user;
};

/* Reads HLO text. `options` may be NULL. Goes on after errors, so that one run reports several; opcodes that are not known
 * become opaque custom calls with a warning. On STATUS_OK *module is complete, else it is NULL and `diags` says why.
 * `source` must outlive the module. */
enum status import_hlo_text(const struct source *source, const struct import_options *options, struct diag_list *diags,
                            struct ir_module **module);

/* True for a text that begins as HLO text does: `HloModule`, or a bare computation. Comments may come before. */
bool import_is_hlo_text(const char *text, size_t length);

/* Reads an ONNX model (a ModelProto of protobuf), docs/onnx.md. The graph is the public function @main; functions are inlined;
 * initializers are constants; subgraphs are regions. Shapes are static: free dimensions of inputs must be bound, by name
 * (`batch=8`, a dim_param) or by input (`x=1x3x224x224`, `arg0=...`), else E0401 names them. Arithmetic on shapes is folded.
 * Messages name the node. On STATUS_OK *module is complete, else it is NULL. The bytes of `source` must outlive the call, its name
 * the module. */
enum status import_onnx(const struct source *source, const struct import_options *options, struct diag_list *diags,
                        struct ir_module **module);

/* True for bytes that begin as a ModelProto does. */
bool import_is_onnx(const char *bytes, size_t length);

#endif
