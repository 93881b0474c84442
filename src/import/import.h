/* Programs of other compilers as StableHLO modules: XLA's HLO text. Path: io/ → here (lexer, parser, builder) → ir module,
 * which analyze/ checks like one that came from MLIR text.
 *
 * What an import keeps: the entry computation is the public function @main, computations that are called are private
 * functions, bodies (of reductions, loops, branches, fusions, comparators) are regions. Fusions stay fusions (mhlo.fusion
 * with their kind), so a program that XLA has already optimised is counted as it was fused. Tuples are taken apart: a
 * value of a tuple type is its leaves, and a function that returns a tuple returns several values. Layouts are dropped,
 * except that copies and bitcasts to another order than the usual one carry it as `xla_shape`. */
#ifndef RIDGELINE_IMPORT_IMPORT_H
#define RIDGELINE_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"
#include "base/status.h"
#include "ir/ir.h"

struct import_options {
  size_t memory_budget_bytes; /* of the module and of the parsed text each; 0 = 128 bytes per input byte + 64 MiB */
  unsigned max_depth; /* nesting of shapes and of computations within computations; 0 = 128 */
};

/* Reads HLO text. `options` may be NULL. Goes on after errors, so that one run reports several; opcodes that are not known
 * become opaque custom calls with a warning. On STATUS_OK *module is complete, else it is NULL and `diags` says why.
 * `source` must outlive the module. */
enum status import_hlo_text(const struct source *source, const struct import_options *options, struct diag_list *diags,
                            struct ir_module **module);

/* True for a text that begins as HLO text does: `HloModule`, or a bare computation. Comments may come before. */
bool import_is_hlo_text(const char *text, size_t length);

#endif
