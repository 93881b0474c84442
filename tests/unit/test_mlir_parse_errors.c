/* Programs that must be refused: every kind of error with its exact place. The files are in tests/errors/mlir/; lines and
 * columns were counted by hand in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mlir/mlir.h"

static const struct bad_file {
  const char *name;
  enum diag_id id;
  uint32_t line, column;
  const char *part; /* of the message */
} bad_files[] = {
    {"operand_count", DIAG_E0201_OPERAND_COUNT, 2, 8, "'stablehlo.add' takes 2 operands, found 1"},
    {"undefined_value", DIAG_E0106_UNDEFINED, 2, 26, "'%missing' is used but never defined"},
    {"used_before", DIAG_E0106_UNDEFINED, 2, 22, "'%1' is used before its definition"},
    {"redefined_value", DIAG_E0107_REDEFINED, 2, 3, "'%a' is defined twice"},
    {"mixed_arguments", DIAG_E0102_EXPECTED, 1, 31, "expected a name, as the argument before has"},
    {"result_number", DIAG_E0106_UNDEFINED, 3, 9, "'%0' has 2 values, number 2 is used"},
    {"result_count", DIAG_E0202_RESULT_COUNT, 2, 10, "'a.b' has 2 results but 3 names"},
    {"operand_type", DIAG_E0110_OPERAND_TYPES, 2, 22, "type 'tensor<i32>' but has type 'tensor<f32>'"},
    {"type_list", DIAG_E0110_OPERAND_TYPES, 2, 56, "has 1 operand but 2 operand types"},
    {"isolated", DIAG_E0106_UNDEFINED, 3, 11, "'%a' is used but never defined"},
    {"unknown_op", DIAG_E0109_UNKNOWN_OP, 2, 8, "did you mean 'stablehlo.cosine'?"},
    {"foreign_op", DIAG_E0108_FOREIGN, 2, 8, "dialect 'scf'"},
    {"generic_only", DIAG_E0102_EXPECTED, 2, 8, "'stablehlo.sort' has no pretty form"},
    {"missing_clause", DIAG_E0102_EXPECTED, 2, 38, "'stablehlo.broadcast_in_dim' needs 'dims = ...'"},
    {"truncated", DIAG_E0103_EOF, 4, 1, "region of 'func.func' opened at 2:48"},
    {"truncated_string", DIAG_E0103_EOF, 1, 24, "this string does not end"},
    {"truncated_dense", DIAG_E0103_EOF, 1, 30, "inside the elements opened here"},
    {"unclosed_bracket", DIAG_E0105_ATTRIBUTE, 1, 31, "'}' does not close"},
    {"dense_count", DIAG_E0111_DENSE, 1, 31, "2 elements where the type has 3"},
    {"dense_shape", DIAG_E0111_DENSE, 1, 40, "1 elements where the type has 2"},
    {"dense_rank", DIAG_E0111_DENSE, 1, 32, "does not fit the rank"},
    {"dense_range", DIAG_E0111_DENSE, 1, 31, "256 does not fit ui8"},
    {"dense_negative", DIAG_E0111_DENSE, 1, 31, "-1 does not fit ui8"},
    {"dense_float", DIAG_E0111_DENSE, 1, 31, "a point in a list of integers"},
    {"dense_integer", DIAG_E0111_DENSE, 1, 31, "write it with a point"},
    {"dense_pattern", DIAG_E0111_DENSE, 1, 31, "0x12345 does not fit f16"},
    {"dense_dynamic", DIAG_E0111_DENSE, 1, 30, "static shape"},
    {"blob_size", DIAG_E0111_DENSE, 1, 31, "5 bytes of data for 2 elements of i32"},
    {"blob_digit", DIAG_E0111_DENSE, 1, 31, "not a hexadecimal digit"},
    {"bad_type", DIAG_E0104_TYPE, 1, 27, "'flot32' is not a type"},
    {"huge_dimension", DIAG_E0104_TYPE, 1, 25, "larger than 63 bits"},
    {"nested_tensor", DIAG_E0104_TYPE, 1, 27, "cannot have elements of this type"},
    {"struct_field", DIAG_E0105_ATTRIBUTE, 2, 34, "no field 'offset_dim'"},
    {"conv_missing", DIAG_E0105_ATTRIBUTE, 2, 38, "dimension 'f' is missing"},
    {"alias_undefined", DIAG_E0106_UNDEFINED, 1, 24, "'#nowhere' is used but never defined"},
    {"alias_within_type", DIAG_E0106_UNDEFINED, 2, 31, "'!a' is used but never defined"},
    {"alias_cycle", DIAG_E0105_ATTRIBUTE, 2, 7, "'#a' is defined by itself"},
    {"alias_cycle_type", DIAG_E0105_ATTRIBUTE, 2, 12, "'!a' is defined by itself"},
    {"alias_cycle_loc", DIAG_E0105_ATTRIBUTE, 2, 7, "defined by itself"},
    {"alias_twice", DIAG_E0107_REDEFINED, 2, 1, "'#a' is defined twice"},
    {"loc_undefined", DIAG_E0106_UNDEFINED, 2, 7, "'#loc7' is used but never defined"},
    {"attribute_twice", DIAG_E0107_REDEFINED, 1, 1, "'a' stands twice"},
    {"block_outside_of_regions", DIAG_E0106_UNDEFINED, 1, 7, "'^nowhere' is used but never defined"},
    {"block_undefined", DIAG_E0106_UNDEFINED, 2, 11, "'^nowhere' is used but never defined"},
    {"block_twice", DIAG_E0107_REDEFINED, 4, 1, "'^x' is defined twice"},
    {"string_escape", DIAG_E0101_TOKEN, 1, 24, "unknown escape"},
    {"stray_byte", DIAG_E0101_TOKEN, 2, 3, "byte 0x01"},
    {"html", DIAG_E0003_FORMAT, 1, 1, "HTML"},
    {"json", DIAG_E0003_FORMAT, 1, 1, "JSON"},
    {"hlo", DIAG_E0003_FORMAT, 2, 1, "HLO text"},
    {"blank", DIAG_E0002_EMPTY, 1, 1, "empty"},
    {"attribute_no_name", DIAG_E0102_EXPECTED, 1, 10, "an attribute name that is not empty"},
    {"symbol_name", DIAG_E0102_EXPECTED, 1, 21, "found '-b'"},
    {"string_line", DIAG_E0103_EOF, 1, 14, "this string does not end"},
    {"bool_type", DIAG_E0105_ATTRIBUTE, 1, 19, "have the type i1"},
    {"number_type", DIAG_E0105_ATTRIBUTE, 1, 14, "a number cannot have this type"},
    {"minus_zero", DIAG_E0111_DENSE, 1, 14, "-0 does not fit i8"},
    {"small_integer", DIAG_E0111_DENSE, 1, 14, "200 does not fit si8"},
    {"array_index", DIAG_E0105_ATTRIBUTE, 1, 19, "of whole bytes"},
    {"array_bool", DIAG_E0102_EXPECTED, 1, 24, "true or false"},
    {"float_name", DIAG_E0102_EXPECTED, 1, 14, "found 'f33'"},
    {"integer_width", DIAG_E0102_EXPECTED, 1, 14, "found 'i16777216'"},
    {"future_empty", DIAG_E0104_TYPE, 1, 22, "at least one type"},
    {"type_of_chlo", DIAG_E0104_TYPE, 1, 22, "chlo has no type 'x'"},
    {"unranked_encoding", DIAG_E0104_TYPE, 1, 31, "has no encoding"},
    {"two_encodings", DIAG_E0102_EXPECTED, 1, 37, "'>' at the end of the type"},
    {"tensor_of_memref", DIAG_E0104_TYPE, 1, 31, "cannot have elements of this type"},
    {"empty_body", DIAG_E0102_EXPECTED, 1, 16, "the body of a function is not empty"},
    {"label_and_names", DIAG_E0102_EXPECTED, 1, 23, "no label may follow"},
    {"alias_with_dot", DIAG_E0102_EXPECTED, 1, 1, "an alias definition"},
    {"resource_digits", DIAG_E0111_DENSE, 5, 10, "hexadecimal digits"},
    {"resource_prefix", DIAG_E0111_DENSE, 2, 40, "hexadecimal digits"},
    {"loc_line", DIAG_E0102_EXPECTED, 1, 28, "a line or column"},
    {"call_indirect", DIAG_E0110_OPERAND_TYPES, 2, 41, "a function of 0 arguments"},
    {"strided_word", DIAG_E0102_EXPECTED, 1, 27, "'offset'"},
};

static char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *text = malloc(1 << 16);
  assert_non_null(text);
  *length = fread(text, 1, (1 << 16) - 1, file);
  text[*length] = '\0';
  fclose(file);
  return text;
}

static void each_file_is_refused_at_its_place(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
    const struct bad_file *bad = &bad_files[i];
    char path[256];
    size_t length;
    (void)snprintf(path, sizeof path, "tests/errors/mlir/%s.mlir", bad->name);
    char *text = read_file(path, &length);
    struct source source = {path, text, length};
    struct diag_list diags;
    diag_init(&diags);
    struct ir_module *module = NULL;
    enum status status = mlir_parse(&source, NULL, &diags, &module);
    const struct diag *d = diags.entries.data;
    if (status != STATUS_INPUT || module || diags.entries.count != 1 || d->id != bad->id || d->line != bad->line
        || d->column != bad->column || !strstr(d->message, bad->part)) {
      struct strbuf got = {0};
      for (size_t k = 0; k < diags.entries.count; k++) {
        diag_format(&d[k], &got);
      }
      print_message("%s: expected %s at %u:%u, '%s'; status %d\n%s", path, diag_code(bad->id), bad->line, bad->column,
                    bad->part, (int)status, strbuf_text(&got));
      fail();
    }
    diag_release(&diags);
    free(text);
  }
}

/* The faulty ops stand on lines 2, 4 and 5; line 3 uses the result of a faulty op and is not reported. */
static void parsing_goes_on_after_errors(void **state) {
  (void)state;
  size_t length;
  char *text = read_file("tests/errors/mlir/three_errors.mlir", &length);
  struct source source = {"three_errors.mlir", text, length};
  struct diag_list diags;
  diag_init(&diags);
  struct ir_module *module = NULL;
  assert_int_equal(mlir_parse(&source, NULL, &diags, &module), STATUS_INPUT);
  assert_int_equal(diags.entries.count, 3);
  const struct diag *d = diags.entries.data;
  assert_int_equal(d[0].line, 2);
  assert_int_equal(d[0].id, DIAG_E0201_OPERAND_COUNT);
  assert_int_equal(d[1].line, 4);
  assert_int_equal(d[1].id, DIAG_E0109_UNKNOWN_OP);
  assert_int_equal(d[2].line, 5);
  assert_int_equal(d[2].id, DIAG_E0106_UNDEFINED);
  diag_release(&diags);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_file_is_refused_at_its_place),
      cmocka_unit_test(parsing_goes_on_after_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
