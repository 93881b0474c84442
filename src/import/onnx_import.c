/* The steps of an import of an ONNX model, and how such a file is recognised. Path: bytes → onnx_proto_read →
 * onnx_build_main → module. */
#include <string.h>

#include "import/onnx_build.h"

enum { DEFAULT_DEPTH = 128, BYTES_PER_BYTE = 64, BYTES_AT_LEAST = 256 << 20, IR_VERSION_MAX = 100 };

static enum status build_module(struct onnx_builder *b) {
  struct ir_module *m = b->m;
  struct ir_region region = ir_region_create(m);
  struct ir_block block = ir_block_create(m, region);
  struct onnx_scope scope = {.id = 0};
  struct onnx_value nothing = {.dtype = DTYPE_NONE};
  b->scope = &scope;
  if (block.id == 0 || !vec_push(&b->values, nothing)) {
    onnx_fail_memory(b);
    return b->status;
  }
  if (b->model->graph == NULL) {
    onnx_fail(b, DIAG_E0003_FORMAT, "the ONNX model has no graph");
    return b->status;
  }
  onnx_read_binds(b);
  if (!b->is_failed && onnx_index_functions(b)) {
    onnx_build_main(b, block);
  }
  struct ir_op_spec spec = {.opcode = IR_OP_BUILTIN_MODULE, .regions = &region, .region_count = 1};
  if (!b->is_failed) {
    m->root = ir_op_create(m, (struct ir_block){0}, &spec);
  }
  if (m->out_of_memory) {
    onnx_fail_memory(b);
  }
  b->scope = NULL;
  return b->is_failed ? b->status : STATUS_OK;
}

enum status import_onnx(const struct source *source, const struct import_options *options, struct diag_list *diags,
                        struct ir_module **module) {
  static const struct import_options defaults = {0};
  options = options != NULL ? options : &defaults;
  size_t budget = options->memory_budget_bytes;
  budget = budget != 0 ? budget : source->length * BYTES_PER_BYTE + BYTES_AT_LEAST;
  struct onnx_builder b = {.source = source,
                           .options = options,
                           .diags = diags,
                           .max_depth = options->max_depth != 0 ? options->max_depth : DEFAULT_DEPTH};
  enum status status = STATUS_MEMORY;
  *module = NULL;
  arena_init(&b.arena, budget);
  /* data in other files is not in the source's length */
  b.m = ir_module_new(options->read_external != NULL ? 0 : budget);
  if (b.m == NULL || !intern_init(&b.strings, &b.arena)) {
    onnx_fail_memory(&b);
  } else {
    b.model = onnx_proto_read(source, b.max_depth, &b.arena, diags, &status);
    status = b.model != NULL ? build_module(&b) : status;
  }
  if (status == STATUS_OK) {
    b.m->source = (struct source){source->name, "", 0}; /* messages say the file: bytes have no lines */
    *module = b.m;
  } else {
    ir_module_free(b.m);
  }
  intern_release(&b.strings);
  map_release(&b.names);
  map_release(&b.initializers);
  map_release(&b.functions);
  vec_release(&b.values);
  vec_release(&b.pairs);
  vec_release(&b.bounds);
  arena_release(&b.arena);
  return status;
}

/* A ModelProto begins with its ir_version (field 1, a small number) and goes on with another of its fields. No text begins
 * with the byte 8. */
bool import_is_onnx(const char *bytes, size_t length) {
  struct onnx_cursor c = {bytes, bytes + length};
  struct onnx_wire_field field;
  uint64_t key;
  if (length < 3 || bytes[0] != 8 || !onnx_wire_next(&c, &field) || field.bits == 0 || field.bits > IR_VERSION_MAX
      || !onnx_varint(&c, &key)) {
    return false;
  }
  static const uint8_t text_fields[] = {2, 3, 4, 6, 7, 8, 14, 20, 25, 26};
  return key == (5 << 3 | ONNX_VARINT)
         || ((key & 7) == ONNX_BYTES && key >> 3 < 32
             && memchr(text_fields, (int)(key >> 3), sizeof text_fields) != NULL);
}
