/* Generic-form files against their pretty twins. The names follow the rules of the data folder: generic_form/X.mlir twins
 * the first of these that exists. The collection is older than today's pretty files, so some pairs differ for real: those
 * are rows of twin_differences.def. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "corpus.h"
#include "mlir/mlir.h"

static const struct {
  const char *prefix; /* of the name in generic_form */
  const char *folder; /* where the rest of the name is */
} rules[] = {{"testdata_quantized_", "corpus/stablehlo/testdata/quantized/"},
             {"testdata__dynamic_", "corpus/stablehlo/testdata/dynamic/"},
             {"testdata__quantized_", "corpus/stablehlo/testdata/quantized/"},
             {"testdata_", "corpus/stablehlo/testdata/"},
             {"testdata_", "corpus/stablehlo/tests/interpret/"},
             {"", "corpus/stablehlo/tests/interpret/"}};

static bool find_twin(const struct corpus *corpus, const struct corpus_file *file, char *path, size_t size) {
  static const char folder[] = "corpus/generic_form/";
  if (strncmp(file->relative, folder, sizeof folder - 1) != 0) {
    return false;
  }
  const char *name = file->relative + sizeof folder - 1;
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    size_t length = strlen(rules[i].prefix);
    if (strncmp(name, rules[i].prefix, length) == 0) {
      snprintf(path, size, "%s/%s%s", corpus->data, rules[i].folder, name + length);
      if (access(path, R_OK) == 0) {
        return true;
      }
    }
  }
  return false;
}

/* All pieces of a file, parsed. */
struct modules {
  struct corpus_pieces pieces;
  struct ir_module **all;
  size_t count;
};

static bool read_modules(struct modules *modules, const char *path, char *reason, size_t size) {
  *modules = (struct modules){0};
  if (!corpus_pieces_read(&modules->pieces, path, reason, size)) {
    return false;
  }
  modules->all = calloc(modules->pieces.count + 1, sizeof *modules->all);
  bool ok = modules->all != NULL;
  for (size_t i = 0; ok && i < modules->pieces.count; i++) {
    struct diag_list diags;
    diag_init(&diags);
    ok = mlir_parse_piece(&modules->pieces.source, modules->pieces.starts[i], modules->pieces.ends[i], NULL, &diags,
                          &modules->all[i])
         == STATUS_OK;
    modules->count += ok;
    if (!ok) {
      snprintf(reason, size, "not read: %s", diags.entries.count ? diags.entries.data[0].message : "");
    }
    diag_release(&diags);
  }
  return ok;
}

static void release_modules(struct modules *modules) {
  for (size_t i = 0; i < modules->count; i++) {
    ir_module_free(modules->all[i]);
  }
  free(modules->all);
  corpus_pieces_release(&modules->pieces);
}

/* An operation below the modules of a file, without the modules. */
struct leaf {
  const struct ir_module *module;
  struct ir_op op;
};
typedef VEC(struct leaf) leaf_list;

/* A wrapped file has its modules one or two levels deep; deeper nesting does not occur in twins. */
static void collect_leaves(const struct ir_module *m, struct ir_op op, int levels, leaf_list *leaves) {
  struct ir_block body = ir_region_entry(m, ir_op_region(m, op, 0));
  for (struct ir_op child = body.id ? ir_block_first(m, body) : (struct ir_op){0}; child.id;
       child = ir_op_next(m, child)) {
    if (ir_op_code(m, child) == IR_OP_BUILTIN_MODULE && levels > 0) {
      collect_leaves(m, child, levels - 1, leaves);
    } else {
      struct leaf leaf = {m, child};
      (void)vec_push(leaves, leaf);
    }
  }
}

/* Files with other numbers of pieces: the generic print has no separators. Compares the functions one by one. */
static bool equal_leaves(const struct modules *a, const struct modules *b, char *reason, size_t size) {
  leaf_list x = {0}, y = {0};
  for (size_t i = 0; i < a->count; i++) {
    collect_leaves(a->all[i], a->all[i]->root, 3, &x);
  }
  for (size_t i = 0; i < b->count; i++) {
    collect_leaves(b->all[i], b->all[i]->root, 3, &y);
  }
  bool equal = x.count == y.count;
  if (!equal) {
    snprintf(reason, size, "%zu operations against %zu", x.count, y.count);
  }
  for (size_t i = 0; equal && i < x.count; i++) {
    equal = ir_equal(x.data[i].module, x.data[i].op, y.data[i].module, y.data[i].op, reason, size);
  }
  vec_release(&x);
  vec_release(&y);
  return equal;
}

enum corpus_twin corpus_check_twin(const struct corpus *corpus, const struct corpus_file *file, char *reason,
                                   size_t size) {
  char path[1024];
  if (!find_twin(corpus, file, path, sizeof path)) {
    return TWIN_NONE;
  }
  struct modules generic, pretty = {0};
  bool equal = read_modules(&generic, file->path, reason, size);
  if (equal) {
    equal = read_modules(&pretty, path, reason, size);
    if (equal && generic.count == pretty.count) {
      for (size_t i = 0; equal && i < generic.count; i++) {
        equal = ir_equal(generic.all[i], generic.all[i]->root, pretty.all[i], pretty.all[i]->root, reason, size);
      }
    } else if (equal) {
      equal = equal_leaves(&generic, &pretty, reason, size);
    }
    release_modules(&pretty);
  }
  release_modules(&generic);
  if (equal && corpus_twin_has_row(file->relative)) {
    snprintf(reason, size, "listed in twin_differences.def but equal");
    return TWIN_DIFFERENT;
  }
  return equal ? TWIN_EQUAL : corpus_twin_listed(file->relative, reason) ? TWIN_LISTED : TWIN_DIFFERENT;
}
