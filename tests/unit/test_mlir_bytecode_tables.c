/* The tables that reading and writing of bytecode share: what they promise to each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mlir/bytecode.h"
#include "mlir/bytecode_tables.h"

/* Versions of an operation follow each other, the oldest first, and every operation of StableHLO has one. */
static void test_operations(void **state) {
  (void)state;
  bool seen[IR_OP_COUNT] = {false};
  for (size_t i = 0; i < vhlo_op_row_count; i++) {
    const struct vhlo_op_row *row = &vhlo_op_rows[i], *previous = i ? row - 1 : row;
    unsigned version[3];
    assert_true(mlir_bytecode_parse_version(row->since, version));
    assert_ptr_equal(vhlo_op_find(row->name, strlen(row->name)), row);
    if (i > 0 && previous->opcode == row->opcode) {
      if (vhlo_version_of(previous->since) >= vhlo_version_of(row->since)) {
        fail_msg("%s does not come behind %s", row->name, previous->name);
      }
    } else if (seen[row->opcode]) {
      fail_msg("%s is not beside the other versions of its operation", row->name);
    }
    seen[row->opcode] = true;
  }
  for (int opcode = IR_OP_UNKNOWN + 1; opcode <= IR_OP_XOR; opcode++) {
    if (!seen[opcode]) {
      fail_msg("%s has no row", ir_opcode_info((enum ir_opcode)opcode)->name);
    }
  }
}

/* True when a version of the operation (of any, IR_OP_UNKNOWN) has the attribute. */
static bool has_attr(uint16_t opcode, const char *name, size_t length) {
  for (size_t i = 0; i < vhlo_op_row_count; i++) {
    if ((opcode == IR_OP_UNKNOWN || vhlo_op_rows[i].opcode == opcode)
        && vhlo_has_word(vhlo_op_rows[i].attrs, name, length)) {
      return true;
    }
  }
  return false;
}

static void test_attributes(void **state) {
  (void)state;
  for (size_t i = 0; i < vhlo_default_row_count; i++) {
    const struct vhlo_default_row *row = &vhlo_default_rows[i];
    if (!has_attr(row->opcode, row->name, strlen(row->name))) {
      fail_msg("a default for '%s', which the operation does not have", row->name);
    }
  }
  for (size_t i = 0; i < vhlo_attr_row_count; i++) {
    assert_true(has_attr(vhlo_attr_rows[i].opcode, vhlo_attr_rows[i].name, strlen(vhlo_attr_rows[i].name)));
  }
  for (size_t i = 0; i < vhlo_limit_row_count; i++) {
    unsigned version[3];
    assert_true(mlir_bytecode_parse_version(vhlo_limit_rows[i].since, version));
  }
}

/* A field of an attribute is an attribute of VHLO's operation; of channels, send and receive alone have the type. */
static void test_fields(void **state) {
  (void)state;
  for (size_t i = 0; i < vhlo_struct_row_count; i++) {
    const struct vhlo_struct_row *row = &vhlo_struct_rows[i];
    const char *list = row->fields, *word;
    size_t length;
    while ((word = vhlo_next_word(&list, &length)) != NULL) {
      bool is_optional = row->rule == FIELDS_HANDLE && length == strlen("channel_type");
      if (!has_attr(row->opcode, word, length) && !is_optional) {
        fail_msg("%s has a field '%.*s', which the operation does not have", row->name, (int)length, word);
      }
    }
  }
}

static void test_scalars(void **state) {
  (void)state;
  unsigned seen[DTYPE_COUNT] = {0}, version[3];
  for (size_t code = 0; code < vhlo_scalar_count; code++) {
    if (vhlo_scalars[code].dtype != DTYPE_NONE) {
      assert_true(mlir_bytecode_parse_version(vhlo_scalars[code].since, version));
      seen[vhlo_scalars[code].dtype]++;
    }
  }
  for (int dtype = DTYPE_NONE + 1; dtype < DTYPE_COUNT; dtype++) { /* complex types are made of others */
    assert_int_equal(seen[dtype], dtype_class_of((enum dtype)dtype) == DTYPE_CLASS_COMPLEX ? 0 : 1);
  }
}

static void test_versions(void **state) {
  (void)state;
  unsigned version[3];
  assert_true(mlir_bytecode_parse_version(VHLO_NEWEST, version));
  assert_int_equal(vhlo_version_of(VHLO_NEWEST), vhlo_version(VHLO_MAJOR, VHLO_MINOR, VHLO_PATCH));
  assert_true(vhlo_version_of("0.20.0") < vhlo_version_of("1.0.0"));
  assert_true(vhlo_version_of("1.9.0") < vhlo_version_of("1.10.0"));
  assert_true(vhlo_version_of("1.10.8") < vhlo_version_of(OTHER_DIALECTS_SINCE));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_operations), cmocka_unit_test(test_attributes),
                                     cmocka_unit_test(test_fields), cmocka_unit_test(test_scalars),
                                     cmocka_unit_test(test_versions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
