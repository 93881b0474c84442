/* MLIR bytecode: reading portable artifacts (VHLO) and what else is written with the builtin, sdy and func dialects; writing
 * portable artifacts.
 *
 * A portable artifact holds operations of VHLO, one frozen spelling of every StableHLO operation per version. The reader
 * gives StableHLO: old versions of an operation become the current one, so that the module equals the one that mlir_parse
 * makes of the same program's text. Attributes that VHLO always writes and StableHLO leaves out when they have their default
 * value are left out.
 *
 * Path: bytes → bytecode_container.c (sections, tables) → bytecode_ir.c (operations) → struct ir_module. Attributes and
 * types are decoded when they are first used, by the dialect that wrote them.
 *
 * Sources: mlir/docs/BytecodeFormat.md (container), VhloOps.td and VhloBytecode.cpp (VHLO up to 1.20.0), BuiltinDialect-
 * Bytecode.td, shardy's bytecode.td (codes and order of fields). */
#ifndef RIDGELINE_MLIR_BYTECODE_H
#define RIDGELINE_MLIR_BYTECODE_H

#include <stdbool.h>
#include <stddef.h>

#include "mlir/mlir.h"

/* True when the data begins with the magic number of MLIR bytecode. */
bool mlir_is_bytecode(const char *data, size_t size);

/* Reads one module from bytecode of versions 0 to 6. On STATUS_OK *module is complete; otherwise it is NULL and `diags` says
 * why, with the offset of the byte: E0002 (nothing there), E0003 (damaged, or not known here, with the version of the
 * artifact), E0005 (deeper than max_depth or over the memory budget). Operations have their byte offset as `offset`; the
 * module has no source text (module->source.text is ""), since lines mean nothing here. Text in `source` need not outlive
 * the call. `options` may be NULL: 64 bytes of memory per input byte and 64 MiB, depth 256, locations dropped unread. */
enum status mlir_bytecode_read(const struct source *source, const struct mlir_parse_options *options,
                               struct diag_list *diags, struct ir_module **module);

/* Gives StableHLO operations the attributes that they have after a way through VHLO: attributes go whose value VHLO cannot
 * tell from an absent one (indices_are_sorted = false, precision_config = [DEFAULT, DEFAULT] and the like), and the type in
 * the channel_handle of a collective, which VHLO does not hold, is 0. A module from text equals that of its artifact after
 * it. False when memory is exhausted. */
bool mlir_bytecode_drop_defaults(struct ir_module *module);

struct mlir_bytecode_options {
  unsigned version[3]; /* of StableHLO, 0.9.0 to 1.20.0; all 0 = the newest */
  bool locations; /* write the locations that the module kept; off: all unknown */
};

/* Writes a module of StableHLO as a portable artifact: what StableHLO of that version or newer reads. `options` may be NULL.
 * On STATUS_OK the artifact has been appended to `out`. STATUS_INPUT: E0601 (no such version), E0114 (something that no
 * artifact can hold, with its place), E0115 (something that StableHLO of this version does not have yet); several are
 * reported per run. STATUS_LIMIT: E0005, nested deeper than 512 levels. Equal modules of equal construction give equal
 * bytes. Time is linear in the size of the module, but for regions within regions that use nothing from outside, whose
 * bytes are moved once per level. */
enum status mlir_bytecode_write(const struct ir_module *module, const struct mlir_bytecode_options *options,
                                struct diag_list *diags, struct strbuf *out);
/* Version of an option's text "1.2.3"; false when it is not one that can be written. */
bool mlir_bytecode_parse_version(const char *text, unsigned version[3]);
/* The newest of them, "1.20.0". */
const char *mlir_bytecode_newest(void);

#endif
