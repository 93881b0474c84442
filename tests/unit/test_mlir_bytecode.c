/* Reading of MLIR bytecode: an artifact put together by hand, what it must equal, and what happens when its bytes lie. The
 * corpus of real artifacts is read by ridgeline_corpus. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mlir/bytecode.h"

/* ---- an artifact ------------------------------------------------------------------------------------------------------
 * One byte below 0x100 with its lowest bit set is the number byte >> 1: V(n). Sections are an identifier, a length and a
 * body; the lengths are added by assemble(). */
#define V(n) (uint8_t)((n) << 1 | 1)

struct bytes {
  uint8_t data[16384];
  size_t size;
};

static void put(struct bytes *out, const void *data, size_t size) {
  assert_true(out->size + size <= sizeof out->data);
  memcpy(out->data + out->size, data, size);
  out->size += size;
}

static void put_byte(struct bytes *out, unsigned value) {
  uint8_t byte = (uint8_t)value;
  put(out, &byte, 1);
}

/* One or two bytes: 7 or 14 bits. */
static void put_number(struct bytes *out, unsigned value) {
  assert_true(value < 1u << 14);
  if (value < 128) {
    put_byte(out, V(value));
  } else {
    put_byte(out, (value << 2 | 2) & 0xFF);
    put_byte(out, value >> 6);
  }
}

static void put_section(struct bytes *out, unsigned id, const void *data, size_t size) {
  put_byte(out, id);
  put_number(out, (unsigned)size);
  put(out, data, size);
}

enum { STRINGS, DIALECTS, ENTRIES, OFFSETS, IR, PROPERTIES = 8 };

enum { S_BUILTIN, S_VHLO, S_MODULE, S_FUNC, S_OP, S_RETURN, S_MAIN, S_PUBLIC, S_COUNT };

/* What a test may change about the artifact. */
struct variant {
  const char *producer, *op; /* operation of VHLO with two operands of one type */
  const uint8_t *entries, *offsets;
  size_t entries_size, offsets_size;
};

/* Attributes 0 unknown location, 1 [], 2 the type of the function, 3 "main", 4 "public";
 * types 0 f32, 1 tensor<4xf32>, 2 (tensor<4xf32>) -> tensor<4xf32>. */
static const uint8_t entries[] = {V(15), /* builtin: unknown location */
                                  V(1),  V(0), /* vhlo: list of nothing */
                                  V(17), V(2), /* vhlo: type 2 */
                                  V(14), V(S_MAIN), /* vhlo: string */
                                  V(14), V(S_PUBLIC), V(4), /* f32 */
                                  V(20), V(1),        V(8), V(0), /* tensor: 1 dimension, 4 in zigzag form, of type 0 */
                                  V(8),  V(1),        V(1), V(1),
                                  V(1)}; /* function: 1 input, type 1; 1 result, type 1 */
static const uint8_t offsets[] = {
    V(5), V(3), /* attributes, types */
    V(0), V(1), V(1 << 1 | 1), /* dialect 0, 1 entry of 1 byte in the dialect's encoding */
    V(1), V(4), V(2 << 1 | 1), V(2 << 1 | 1), V(2 << 1 | 1), V(2 << 1 | 1),
    V(1), V(3), V(1 << 1 | 1), V(4 << 1 | 1), V(5 << 1 | 1)};
static const uint8_t dialects[] = {V(2),
                                   V(S_BUILTIN << 1),
                                   V(S_VHLO << 1), /* two dialects, neither with a version */
                                   V(4), /* operation names in all */
                                   V(0),
                                   V(1),
                                   V(S_MODULE << 1 | 1), /* of dialect 0 one, known to the writer */
                                   V(1),
                                   V(3),
                                   V(S_FUNC << 1 | 1),
                                   V(S_OP << 1 | 1),
                                   V(S_RETURN << 1 | 1)};
static const uint8_t properties[] = {V(2), /* two */
                                     V(2), V(0), V(0), /* module: no name, no visibility */
                                     V(5), V(1), V(2), V(1), V(3), V(4)}; /* func: in order of the names */
static const uint8_t ir[] = {V(1 << 1), /* one operation, no arguments */
                             V(0),
                             0x50,
                             V(0),
                             V(0), /* module: properties and regions follow; location 0; properties 0 */
                             V(1 << 1 | 1),
                             IR,
                             V(29), /* one isolated region, a section of 29 bytes */
                             V(1),
                             V(0),
                             V(1 << 1), /* one block, no values; one operation */
                             V(1),
                             0x50,
                             V(0),
                             V(1),
                             V(1 << 1 | 1),
                             IR,
                             V(19), /* func the same way */
                             V(1),
                             V(2),
                             V(2 << 1 | 1), /* one block, two values; two operations and arguments */
                             V(1),
                             V(1 << 1),
                             0, /* one argument of type 1, no location; no order of uses */
                             V(2),
                             0x06,
                             V(0),
                             V(1),
                             V(1),
                             V(2),
                             V(0),
                             V(0), /* op: results and operands; result of type 1; values 0 and 0 */
                             V(3),
                             0x04,
                             V(0),
                             V(1),
                             V(1)}; /* return: operands; value 1 */

static void put_strings(struct bytes *out, const struct variant *variant) {
  const char *texts[S_COUNT] = {"builtin", "vhlo", "module", "func_v1", variant->op, "return_v1", "main", "public"};
  struct bytes body = {.size = 0};
  put_number(&body, S_COUNT);
  for (int i = S_COUNT - 1; i >= 0; i--) { /* lengths of the last one first, with the 0 */
    put_number(&body, (unsigned)strlen(texts[i]) + 1);
  }
  for (int i = 0; i < S_COUNT; i++) {
    put(&body, texts[i], strlen(texts[i]) + 1);
  }
  put_section(out, STRINGS, body.data, body.size);
}

static void assemble(struct bytes *out, const struct variant *variant) {
  out->size = 0;
  put(out, "ML\xEFR", 4);
  put_number(out, 6);
  put(out, variant->producer, strlen(variant->producer) + 1);
  put_section(out, DIALECTS, dialects, sizeof dialects);
  put_section(out, OFFSETS, variant->offsets, variant->offsets_size);
  put_section(out, ENTRIES, variant->entries, variant->entries_size);
  put_section(out, IR, ir, sizeof ir);
  put_strings(out, variant);
  put_section(out, PROPERTIES, properties, sizeof properties);
}

static const struct variant plain = {"StableHLO_v1.16.2", "add_v1", entries, offsets, sizeof entries, sizeof offsets};

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

struct reading {
  struct diag_list diags;
  struct ir_module *module;
  enum status status;
};

static void read_bytes(struct reading *reading, const uint8_t *data, size_t size, size_t budget) {
  /* exactly this size, so that a sanitizer sees any read behind it */
  char *copy = malloc(size ? size : 1);
  assert_non_null(copy);
  memcpy(copy, data, size);
  struct source source = {.name = "hand.bc", .text = copy, .length = size};
  struct mlir_parse_options options = {.memory_budget_bytes = budget};
  diag_init(&reading->diags);
  reading->status = mlir_bytecode_read(&source, &options, &reading->diags, &reading->module);
  free(copy);
  assert_true((reading->status == STATUS_OK) == (reading->module != NULL));
  assert_true((reading->status == STATUS_OK) == (reading->diags.error_count == 0));
}

static void release(struct reading *reading) {
  ir_module_free(reading->module);
  diag_release(&reading->diags);
}

/* The bytes are refused with one diagnostic of that code that says `message`. */
static void assert_refused(const struct bytes *bytes, const char *code, const char *message) {
  struct reading reading;
  read_bytes(&reading, bytes->data, bytes->size, 0);
  assert_int_equal(reading.diags.entries.count, 1);
  const struct diag *diag = &reading.diags.entries.data[0];
  assert_string_equal(diag_code(diag->id), code);
  if (!strstr(diag->message, message)) {
    fail_msg("'%s' does not say '%s'", diag->message, message);
  }
  release(&reading);
}

static void assert_reads_as(const struct bytes *bytes, const char *text) {
  struct reading reading;
  read_bytes(&reading, bytes->data, bytes->size, 0);
  if (reading.status != STATUS_OK) {
    fail_msg("%s", reading.diags.entries.data[0].message);
  }
  struct source source = {.name = "twin", .text = text, .length = strlen(text)};
  struct ir_module *twin = NULL;
  assert_int_equal(mlir_parse(&source, NULL, &reading.diags, &twin), STATUS_OK);
  char where[200];
  if (!ir_equal(reading.module, reading.module->root, twin, twin->root, where, sizeof where)) {
    fail_msg("%s", where);
  }
  ir_module_free(twin);
  release(&reading);
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

static void reads_what_the_text_says(void **state) {
  (void)state;
  struct bytes bytes;
  assemble(&bytes, &plain);
  assert_true(mlir_is_bytecode((const char *)bytes.data, bytes.size));
  assert_false(mlir_is_bytecode("module {}", 9));
  assert_false(mlir_is_bytecode("ML\xEF", 3));
  assert_reads_as(&bytes, "module {\n"
                          "  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n"
                          "    %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>\n"
                          "    return %0 : tensor<4xf32>\n"
                          "  }\n"
                          "}\n");
}

static void operations_have_byte_offsets_and_no_text(void **state) {
  (void)state;
  struct bytes bytes;
  struct reading reading;
  assemble(&bytes, &plain);
  read_bytes(&reading, bytes.data, bytes.size, 0);
  struct ir_op function = ir_function_find(reading.module, "main");
  struct ir_op add = ir_block_first(reading.module, ir_function_body(reading.module, function));
  /* the operation is the byte sequence of its row in ir[] */
  assert_memory_equal(bytes.data + ir_op_get(reading.module, add)->offset, ir + sizeof ir - 13, 8);
  assert_int_equal(reading.module->source.length, 0);
  release(&reading);
}

/* Every way to cut the artifact off is refused: nothing in it may be missing. */
static void each_prefix_is_refused(void **state) {
  (void)state;
  struct bytes bytes;
  assemble(&bytes, &plain);
  for (size_t size = 0; size < bytes.size; size++) {
    struct reading reading;
    read_bytes(&reading, bytes.data, size, 0);
    if (reading.status == STATUS_OK) {
      fail_msg("the first %zu of %zu bytes are read", size, bytes.size);
    }
    release(&reading);
  }
  struct bytes empty = {.size = 0};
  assert_refused(&empty, "E0002", "byte 0: the input is empty");
  bytes.size = 4;
  assert_refused(&bytes, "E0002", "byte 4: nothing follows");
  bytes.size = 3;
  assert_refused(&bytes, "E0003", "not MLIR bytecode");
}

/* Each byte with each other value: read or refused, never more than the budget, never a read out of bounds. */
static void each_byte_may_be_anything(void **state) {
  (void)state;
  struct bytes bytes;
  size_t accepted = 0, refused = 0;
  assemble(&bytes, &plain);
  for (size_t at = 0; at < bytes.size; at++) {
    uint8_t old = bytes.data[at];
    for (unsigned change = 1; change < 256; change += (unsigned)(at % 2) + 1) {
      bytes.data[at] = (uint8_t)(old ^ change);
      struct reading reading;
      read_bytes(&reading, bytes.data, bytes.size, 4 << 20);
      accepted += reading.status == STATUS_OK;
      refused += reading.status != STATUS_OK;
      release(&reading);
    }
    bytes.data[at] = old;
  }
  /* names of functions and producers may be anything; most bytes may not */
  assert_true(accepted > 0);
  assert_true(refused > accepted);
}

static void newer_versions_are_named(void **state) {
  (void)state;
  struct bytes bytes;
  struct variant variant = plain;
  variant.producer = "StableHLO_v2.0.0";
  assemble(&bytes, &variant);
  assert_refused(&bytes, "E0003", "artifact of version 2.0.0, this reader knows up to 1.20.0");
  variant.producer = "StableHLO_v1.99.3";
  variant.op = "add_v99";
  assemble(&bytes, &variant);
  assert_refused(&bytes, "E0003",
                 "artifact of version 1.99.3 has operation 'vhlo.add_v99'; this reader knows up to 1.20.0");
  variant.op = "add_v1"; /* nothing unknown in it */
  assemble(&bytes, &variant);
  struct reading reading;
  read_bytes(&reading, bytes.data, bytes.size, 0);
  assert_int_equal(reading.status, STATUS_OK);
  release(&reading);
  assemble(&bytes, &plain);
  bytes.data[4] = V(7);
  assert_refused(&bytes, "E0003", "byte 4: bytecode of version 7; this reader knows 0 to 6");
}

static void an_attribute_within_itself_is_refused(void **state) {
  (void)state;
  struct bytes bytes;
  uint8_t cyclic[sizeof entries + 1], sizes[sizeof offsets];
  struct variant variant = plain;
  /* attribute 1 becomes a list of one attribute: itself */
  memcpy(cyclic, entries, 2);
  cyclic[2] = V(1);
  cyclic[3] = V(1);
  memcpy(cyclic + 4, entries + 3, sizeof entries - 3);
  memcpy(sizes, offsets, sizeof offsets);
  sizes[7] = V(3 << 1 | 1);
  variant.entries = cyclic;
  variant.entries_size = sizeof cyclic;
  variant.offsets = sizes;
  assemble(&bytes, &variant);
  assert_refused(&bytes, "E0003", "an attribute that is defined by itself");
}

/* Type 2 and those behind it are tuples of the next one; the last one is f32. */
static void deep_types_are_refused(void **state) {
  (void)state;
  enum { DEPTH = 300, PLAIN_TYPES = 2 };
  struct bytes bytes, deep = {.size = 0}, sizes = {.size = 0};
  struct variant variant = plain;
  put(&deep, entries, sizeof entries - 5);
  put_number(&sizes, 5);
  put_number(&sizes, PLAIN_TYPES + DEPTH + 1);
  put(&sizes, offsets + 2, 9);
  put_number(&sizes, 1);
  put_number(&sizes, PLAIN_TYPES + DEPTH + 1);
  put(&sizes, offsets + 13, 2);
  for (unsigned i = 0; i < DEPTH; i++) {
    size_t start = deep.size;
    put_number(&deep, 23);
    put_number(&deep, 1);
    put_number(&deep, PLAIN_TYPES + i + 1);
    put_number(&sizes, (unsigned)(deep.size - start) << 1 | 1);
  }
  put_number(&deep, 4);
  put_number(&sizes, 1 << 1 | 1);
  variant.entries = deep.data;
  variant.entries_size = deep.size;
  variant.offsets = sizes.data;
  variant.offsets_size = sizes.size;
  assemble(&bytes, &variant);
  assert_refused(&bytes, "E0005", "nested deeper than the limit of 256 levels");
}

/* A count of 2^63 in front of nothing. */
static void lying_counts_are_refused(void **state) {
  (void)state;
  static const uint8_t huge[] = {0, 0, 0, 0, 0, 0, 0, 0, 0x80};
  struct bytes bytes = {.size = 0};
  put(&bytes, "ML\xEFR", 4);
  put_number(&bytes, 6);
  put(&bytes, "x", 2);
  put_byte(&bytes, STRINGS);
  put(&bytes, huge, sizeof huge);
  assert_refused(&bytes, "E0003", "a length of 9223372036854775808 bytes where 0 are left");
  bytes.size = 7;
  put_section(&bytes, STRINGS, huge, sizeof huge);
  for (unsigned id = DIALECTS; id <= IR; id++) {
    put_section(&bytes, id, "", 0);
  }
  assert_refused(&bytes, "E0003", "9223372036854775808 strings do not fit into the 0 bytes that are left");
}

static void what_vhlo_cannot_tell_is_dropped(void **state) {
  (void)state;
  static const char with[] =
      "func.func @f(%a: tensor<4x4xf32>, %i: tensor<2x1xi32>) -> tensor<4x4xf32> {\n"
      "  %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT]\n"
      "    : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>\n"
      "  %1 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],\n"
      "    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false,\n"
      "    slice_sizes = array<i64: 1, 4>}> : (tensor<4x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>\n"
      "  %2 = \"stablehlo.collective_permute\"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = "
      "1>,\n"
      "    source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>\n"
      "  return %2 : tensor<4x4xf32>\n"
      "}\n";
  static const char without[] =
      "func.func @f(%a: tensor<4x4xf32>, %i: tensor<2x1xi32>) -> tensor<4x4xf32> {\n"
      "  %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]\n"
      "    : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>\n"
      "  %1 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],\n"
      "    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,\n"
      "    slice_sizes = array<i64: 1, 4>}> : (tensor<4x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>\n"
      "  %2 = \"stablehlo.collective_permute\"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = "
      "0>,\n"
      "    source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>\n"
      "  return %2 : tensor<4x4xf32>\n"
      "}\n";
  struct source sources[] = {{"with", with, sizeof with - 1}, {"without", without, sizeof without - 1}};
  struct ir_module *modules[2];
  struct diag_list diags;
  char where[200];
  diag_init(&diags);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(mlir_parse(&sources[i], NULL, &diags, &modules[i]), STATUS_OK);
  }
  assert_false(ir_equal(modules[0], modules[0]->root, modules[1], modules[1]->root, where, sizeof where));
  assert_true(mlir_bytecode_drop_defaults(modules[0]));
  assert_true(ir_equal(modules[0], modules[0]->root, modules[1], modules[1]->root, where, sizeof where));
  for (int i = 0; i < 2; i++) {
    ir_module_free(modules[i]);
  }
  diag_release(&diags);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_what_the_text_says),         cmocka_unit_test(operations_have_byte_offsets_and_no_text),
      cmocka_unit_test(each_prefix_is_refused),           cmocka_unit_test(each_byte_may_be_anything),
      cmocka_unit_test(newer_versions_are_named),         cmocka_unit_test(an_attribute_within_itself_is_refused),
      cmocka_unit_test(deep_types_are_refused),           cmocka_unit_test(lying_counts_are_refused),
      cmocka_unit_test(what_vhlo_cannot_tell_is_dropped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
