/* MLIR text: reading and writing. Syntax knowledge of operations lives here (tables in op_syntax.def), their meaning in
 * analyze/ and lower/. Path: source text → lexer → parser → struct ir_module → printer → text. */
#ifndef RIDGELINE_MLIR_MLIR_H
#define RIDGELINE_MLIR_MLIR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "ir/ir.h"

struct mlir_parse_options {
  size_t memory_budget_bytes; /* 0 = 64 bytes per input byte + 64 MiB */
  unsigned max_depth; /* nesting of regions, attributes and types; 0 = 256 */
  bool keep_locations; /* keep loc(...) attributes; off: parsed, checked and dropped */
};

/* Parses one module (a file without `// -----` separators; several top-level ops are wrapped in one module). Goes on
 * after errors where it can, so that one run reports several. On STATUS_OK *module is complete; on STATUS_INPUT it is
 * NULL and `diags` says why. `source` must outlive the module. Never recurses deeper than max_depth.
 * Refuses what is evidently something else (empty input, HTML, HLO text, binary; bytecode, which bytecode.h reads) by name:
 * E0002, E0003. */
enum status mlir_parse(const struct source *source, const struct mlir_parse_options *options, struct diag_list *diags,
                       struct ir_module **module);

/* Splits a text at lines that have "// -----". Returns the number of pieces; writes up to `capacity` of them. The
 * pieces keep offsets, so that diagnostics have the line of the whole file: piece i spans [starts[i], ends[i]). */
size_t mlir_split(const struct source *source, size_t *starts, size_t *ends, size_t capacity);
/* Parses the piece [start, end) of a source; positions are those of the whole text. */
enum status mlir_parse_piece(const struct source *source, size_t start, size_t end,
                             const struct mlir_parse_options *options, struct diag_list *diags,
                             struct ir_module **module);

/* Attributes by themselves, `[a, b, ...]` or the same without brackets, as one array attribute of a new module. Places of
 * messages are those of `source`; aliases are not known. */
enum status mlir_parse_list(const struct source *source, struct diag_list *diags, struct ir_module **module,
                            struct ir_attr *list);

enum mlir_form { MLIR_PRETTY, MLIR_GENERIC };

struct mlir_print_options {
  enum mlir_form form;
  bool locations;
};

/* `options` may be NULL: pretty, without locations. Appends canonical text of an op and all below it: as StableHLO 1.20 prints the pretty form (SSA names %0, %arg0, %cst,
 * %c, %iterArg numbered as MLIR does), or MLIR's generic form with <{properties}>. Printing, parsing and printing again
 * gives the same text. */
void mlir_print(const struct ir_module *module, struct ir_op op, const struct mlir_print_options *options,
                struct strbuf *out);
/* Appends a type or attribute alone, in canonical spelling. */
void mlir_print_type(const struct ir_module *module, struct ir_type type, struct strbuf *out);
void mlir_print_attr(const struct ir_module *module, struct ir_attr attr, struct strbuf *out);

/* Replaces dynamic dimensions of an argument of the entry function: spec is "arg0=32x?" or "name=8x128" with '?' (keep) or
 * a number per dimension; analyze_infer then carries the shapes through the program. E0112 when it does not fit. */
enum status mlir_bind(struct ir_module *module, const char *spec, struct diag_list *diags);

#endif
