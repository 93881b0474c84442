/* Programs made to be expensive: the numbers of functions, loops and types are chosen so that an analysis whose time
 * grows with the square of the program (or of what its types spell out) runs into the test's time limit, and a linear
 * one takes a fraction of a second. */
#include "analyze_fixture.h"

#include "base/strbuf.h"

enum { MANY = 20000 };

/* A slice whose next index would exceed 2^63: one element, 4, so the shape is tensor<4xf32>. */
static void slice_stride_does_not_overflow(void **state) {
  (void)state;
  struct program program;
  program_parse(&program,
                "func.func @main(%a: tensor<4xf32>) -> tensor<?xf32> {\n"
                "  %c = stablehlo.constant dense<[4, 4]> : tensor<2xi32>\n"
                "  %s = \"stablehlo.slice\"(%c) {start_indices = array<i64: 1>, limit_indices = array<i64: 2>,\n"
                "    strides = array<i64: 9223372036854775807>} : (tensor<2xi32>) -> tensor<1xi32>\n"
                "  %r = stablehlo.dynamic_reshape %a, %s : (tensor<4xf32>, tensor<1xi32>) -> tensor<?xf32>\n"
                "  return %r : tensor<?xf32>\n"
                "}\n");
  assert_int_equal(analyze_infer(program.module, &program.diags), STATUS_OK);
  struct ir_op reshape = program_op(&program, "stablehlo.dynamic_reshape");
  struct ir_type type = ir_value_type(program.module, ir_op_result(program.module, reshape, 0));
  assert_int_equal(ir_type_dims(program.module, type)[0], 4);
  program_release(&program);
}

/* MANY functions with a loop to the bound that their only call passes. */
static void trip_counts_of_many_functions(void **state) {
  (void)state;
  struct strbuf text = {0};
  struct program program;
  strbuf_puts(&text, "func.func @main() {\n");
  for (unsigned i = 0; i < MANY; i++) {
    strbuf_printf(&text,
                  "  %%c%u = stablehlo.constant dense<%u> : tensor<i32>\n"
                  "  %%r%u = call @f%u(%%c%u) : (tensor<i32>) -> tensor<i32>\n",
                  i, i, i, i, i);
  }
  strbuf_puts(&text, "  return\n}\n");
  for (unsigned i = 0; i < MANY; i++) {
    strbuf_printf(&text,
                  "func.func private @f%u(%%n: tensor<i32>) -> tensor<i32> {\n"
                  "  %%z = stablehlo.constant dense<0> : tensor<i32>\n"
                  "  %%w:2 = stablehlo.while(%%i = %%z, %%m = %%n) : tensor<i32>, tensor<i32>\n"
                  "  cond {\n"
                  "    %%c = stablehlo.compare LT, %%i, %%m : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                  "    stablehlo.return %%c : tensor<i1>\n"
                  "  } do {\n"
                  "    %%o = stablehlo.constant dense<1> : tensor<i32>\n"
                  "    %%j = stablehlo.add %%i, %%o : tensor<i32>\n"
                  "    stablehlo.return %%j, %%m : tensor<i32>, tensor<i32>\n"
                  "  }\n"
                  "  return %%w#0 : tensor<i32>\n"
                  "}\n",
                  i);
  }
  program_parse(&program, strbuf_text(&text));
  struct analyze_symbols symbols;
  struct analyze_trips trips;
  assert_true(analyze_symbols_init(&symbols, program.module));
  assert_true(analyze_trips_init(&trips, program.module, &symbols));
  for (unsigned round = 0; round < 3; round++) { /* as inlined copies ask */
    unsigned loops = 0;
    for (uint32_t id = 1; id < program.module->ops.count; id++) {
      if (program.module->ops.data[id].opcode == IR_OP_WHILE) {
        struct analyze_trip_count count = analyze_trips_count(&trips, (struct ir_op){id});
        assert_true(count.is_known);
        assert_int_equal(count.count, loops);
        loops++;
      }
    }
    assert_int_equal(loops, MANY);
  }
  analyze_trips_release(&trips);
  analyze_symbols_release(&symbols);
  program_release(&program);
  strbuf_release(&text);
}

/* MANY loops in a program that has a dynamic dimension: each is tried with its initial types. Every second one carries
 * a value that grows and must stay dynamic, the others become static. */
static void dynamic_program_of_many_loops(void **state) {
  (void)state;
  struct strbuf text = {0};
  struct program program;
  strbuf_puts(&text, "func.func @main(%a: tensor<i1>, %d: tensor<?xf32>, %e: tensor<4xf32>) {\n"
                     "  %k = stablehlo.constant dense<4> : tensor<1xi32>\n");
  for (unsigned i = 0; i < MANY; i++) {
    strbuf_printf(&text,
                  "  %%s%u = stablehlo.dynamic_reshape %%e, %%k : (tensor<4xf32>, tensor<1xi32>) -> tensor<?xf32>\n"
                  "  %%w%u = stablehlo.while(%%i = %%s%u) : tensor<?xf32>\n"
                  "  cond {\n"
                  "    stablehlo.return %%a : tensor<i1>\n"
                  "  } do {\n"
                  "    %%j = stablehlo.%s\n"
                  "    stablehlo.return %%j : tensor<?xf32>\n"
                  "  }\n",
                  i, i, i,
                  i % 2 == 0 ? "negate %i : tensor<?xf32>"
                             : "concatenate %i, %i, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>");
  }
  strbuf_puts(&text, "  return\n}\n");
  program_parse(&program, strbuf_text(&text));
  assert_int_equal(analyze_infer(program.module, &program.diags), STATUS_OK);
  unsigned loops = 0;
  for (uint32_t id = 1; id < program.module->ops.count; id++) {
    if (program.module->ops.data[id].opcode == IR_OP_WHILE) {
      struct ir_type type = ir_value_type(program.module, ir_op_result(program.module, (struct ir_op){id}, 0));
      assert_int_equal(ir_type_dims(program.module, type)[0], loops % 2 == 0 ? 4 : IR_DYNAMIC);
      loops++;
    }
  }
  assert_int_equal(loops, MANY);
  program_release(&program);
  strbuf_release(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slice_stride_does_not_overflow),
      cmocka_unit_test(trip_counts_of_many_functions),
      cmocka_unit_test(dynamic_program_of_many_loops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
