/* Exhausted memory in inference, call checks and trip counts: STATUS_MEMORY, or the result that there is without the
 * failure; nothing is left behind. */
#include "allocation_fixture.h"
#include "analyze_fixture.h"

/* Dynamic shapes that travel through a call and a loop, constants through an argument, a call that does not fit. */
static const char program[] =
    "func.func @main(%a: tensor<4xf32>, %p: tensor<i1>) -> tensor<?xf32> {\n"
    "  %n = stablehlo.constant dense<[4]> : tensor<1xi32>\n"
    "  %d = stablehlo.dynamic_reshape %a, %n : (tensor<4xf32>, tensor<1xi32>) -> tensor<?xf32>\n"
    "  %b = stablehlo.constant dense<7> : tensor<i32>\n"
    "  %0:2 = call @f(%d, %b) : (tensor<?xf32>, tensor<i32>) -> (tensor<?xf32>, tensor<i32>)\n"
    "  return %0#0 : tensor<?xf32>\n"
    "}\n"
    "func.func private @f(%x: tensor<?xf32>, %n: tensor<i32>) -> (tensor<?xf32>, tensor<i32>) {\n"
    "  %z = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %w:3 = stablehlo.while(%i = %z, %m = %n, %y = %x) : tensor<i32>, tensor<i32>, tensor<?xf32>\n"
    "  cond {\n"
    "    %c = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %c : tensor<i1>\n"
    "  } do {\n"
    "    %o = stablehlo.constant dense<1> : tensor<i32>\n"
    "    %j = stablehlo.add %i, %o : tensor<i32>\n"
    "    %v = stablehlo.negate %y : tensor<?xf32>\n"
    "    stablehlo.return %j, %m, %v : tensor<i32>, tensor<i32>, tensor<?xf32>\n"
    "  }\n"
    "  return %w#2, %w#0 : tensor<?xf32>, tensor<i32>\n"
    "}\n";

static void each_allocation_fails(void **state) {
  (void)state;
  unsigned long n = 0;
  bool has_failed = true;
  for (; has_failed; n++) {
    struct program p;
    long live = allocation.live;
    program_parse(&p, program);
    allocation_arm(n, false);
    enum status status = analyze_infer(p.module, &p.diags);
    status = status == STATUS_OK ? analyze_calls(p.module, &p.diags) : status;
    struct analyze_trip_count count = analyze_while_trip_count(p.module, program_op(&p, "stablehlo.while"));
    has_failed = allocation_disarm();
    if (status != STATUS_OK && status != STATUS_MEMORY) {
      fail_msg("allocation %lu: status %d", n, (int)status);
    }
    if (count.is_known) {
      assert_int_equal(count.count, 7);
    }
    if (!has_failed) {
      assert_int_equal(status, STATUS_OK);
      assert_true(count.is_known);
      struct ir_type type = ir_value_type(p.module, ir_op_result(p.module, program_op(&p, "stablehlo.while"), 2));
      assert_int_equal(ir_type_dims(p.module, type)[0], 4);
    }
    program_release(&p);
    assert_int_equal(allocation.live, live);
  }
  assert_true(n > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_allocation_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
