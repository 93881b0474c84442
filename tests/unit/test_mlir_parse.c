/* What the parser makes of MLIR text. The expected contents follow MLIR's language reference and the assembly formats of
 * StableHLO; that two spellings mean the same program is stated by those formats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mlir/mlir.h"

static struct ir_module *parse_options(const char *text, const struct mlir_parse_options *options) {
  struct source source = {"test", text, strlen(text)};
  struct diag_list diags;
  diag_init(&diags);
  struct ir_module *module = NULL;
  enum status status = mlir_parse(&source, options, &diags, &module);
  if (status != STATUS_OK) {
    struct strbuf out = {0};
    for (size_t i = 0; i < diags.entries.count; i++) {
      diag_format(&diags.entries.data[i], &out);
    }
    print_message("%s\n%s", text, strbuf_text(&out));
    fail();
  }
  diag_release(&diags);
  return module;
}

static struct ir_module *parse(const char *text) {
  return parse_options(text, NULL);
}

static void same(const char *a, const char *b) {
  struct ir_module *x = parse(a), *y = parse(b);
  char where[300] = "";
  if (!ir_equal(x, x->root, y, y->root, where, sizeof where)) {
    print_message("%s\n%s\n%s\n", a, b, where);
    fail();
  }
  ir_module_free(x);
  ir_module_free(y);
}

/* First op of that name anywhere, in order of creation. */
static struct ir_op find(const struct ir_module *m, const char *name) {
  for (uint32_t i = 1; i < m->ops.count; i++) {
    if (strcmp(ir_text(m, m->ops.data[i].name), name) == 0) {
      return (struct ir_op){i};
    }
  }
  fail();
  return (struct ir_op){0};
}

static void expect_attr(const struct ir_module *m, struct ir_op op, const char *name, const char *text) {
  struct strbuf out = {0};
  struct ir_attr attr = ir_op_attr(m, op, name);
  assert_true(attr.id != 0);
  mlir_print_attr(m, attr, &out);
  assert_string_equal(strbuf_text(&out), text);
  strbuf_release(&out);
}

/* ---- both forms -------------------------------------------------------------------------------------------------- */

#define T2 "tensor<2xf32>"
#define T22 "tensor<2x2xf32>"

static const char *const pairs[][2] = {
    {"%0 = stablehlo.add %a, %b : " T22, "%0 = \"stablehlo.add\"(%a, %b) : (" T22 ", " T22 ") -> " T22},
    {"%0 = stablehlo.add %a, %b : (" T22 ", " T22 ") -> tensor<?x2xf32>",
     "%0 = \"stablehlo.add\"(%a, %b) : (" T22 ", " T22 ") -> tensor<?x2xf32>"},
    {"%0 = stablehlo.select %p, %a, %b : tensor<2x2xi1>, " T22,
     "%0 = \"stablehlo.select\"(%p, %a, %b) : (tensor<2x2xi1>, " T22 ", " T22 ") -> " T22},
    {"%0 = stablehlo.complex %a, %b : tensor<2x2xcomplex<f32>>",
     "%0 = \"stablehlo.complex\"(%a, %b) : (" T22 ", " T22 ") -> tensor<2x2xcomplex<f32>>"},
    {"%0 = stablehlo.compare LT, %a, %b, FLOAT : (" T22 ", " T22 ") -> tensor<2x2xi1>",
     "%0 = \"stablehlo.compare\"(%a, %b) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = "
     "#stablehlo.comparison_direction<LT>}> : (" T22 ", " T22 ") -> tensor<2x2xi1>"},
    {"%0 = stablehlo.constant dense<1.0> : " T2,
     "%0 = \"stablehlo.constant\"() {value = dense<[1.0, 1.0]> : " T2 "} : () -> " T2},
    {"%0 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> " T2,
     "%0 = \"stablehlo.broadcast_in_dim\"(%s) {broadcast_dimensions = dense<> : tensor<0xi64>} : (tensor<f32>) -> " T2},
    {"%0 = stablehlo.transpose %a, dims = [1, 0] : (" T22 ") -> " T22,
     "%0 = \"stablehlo.transpose\"(%a) {permutation = dense<[1, 0]> : tensor<2xi64>} : (" T22 ") -> " T22},
    {"%0 = stablehlo.slice %a [0:2, 0:2:2] : (" T22 ") -> tensor<2x1xf32>",
     "%0 = \"stablehlo.slice\"(%a) <{limit_indices = array<i64: 2, 2>, start_indices = array<i64: 0, 0>, strides = "
     "array<i64: 1, 2>}> : (" T22 ") -> tensor<2x1xf32>"},
    {"%0 = stablehlo.pad %a, %s, low = [0, 1], high = [-1, 0], interior = [0, 0] : (" T22
     ", tensor<f32>) -> tensor<1x3xf32>",
     "%0 = \"stablehlo.pad\"(%a, %s) <{edge_padding_high = array<i64: -1, 0>, edge_padding_low = array<i64: 0, 1>, "
     "interior_padding = array<i64: 0, 0>}> : (" T22 ", tensor<f32>) -> tensor<1x3xf32>"},
    {"%0 = stablehlo.iota dim = 1 : " T22, "%0 = \"stablehlo.iota\"() <{iota_dimension = 1 : i64}> : () -> " T22},
    {"%0 = stablehlo.concatenate %a, %b, dim = 0 : (" T22 ", " T22 ") -> tensor<4x2xf32>",
     "%0 = \"stablehlo.concatenate\"(%a, %b) {dimension = 0} : (" T22 ", " T22 ") -> tensor<4x2xf32>"},
    {"%0 = stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 1] : (" T22 ", tensor<i32>, tensor<i32>) -> tensor<1x1xf32>",
     "%0 = \"stablehlo.dynamic_slice\"(%a, %i, %i) <{slice_sizes = array<i64: 1, 1>}> : (" T22
     ", tensor<i32>, tensor<i32>) -> tensor<1x1xf32>"},
    {"%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = "
     "[DEFAULT, "
     "HIGHEST], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, "
     "lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = "
     "false> : (" T22 ", " T22 ") -> " T2,
     "%0 = \"stablehlo.dot_general\"(%a, %b) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, "
     "rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, "
     "num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = "
     "#stablehlo.dot<rhs_contracting_dimensions = [1], lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
     "lhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision "
     "HIGHEST>]}> : (" T22 ", " T22 ") -> " T2},
    {"%0 = stablehlo.reduce(%a init: %s) applies stablehlo.maximum across dimensions = [1] : (" T22
     ", tensor<f32>) -> " T2,
     "%0 = \"stablehlo.reduce\"(%a, %s) <{dimensions = array<i64: 1>}> ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n  "
     "%1 "
     "= stablehlo.maximum %x, %y : tensor<f32>\n  stablehlo.return %1 : tensor<f32>\n}) : (" T22
     ", tensor<f32>) -> " T2},
    /* reducer arguments come in pairs per input, block arguments are all left ones and then all right ones */
    {"%0:2 = stablehlo.reduce(%a init: %s), (%p init: %q) across dimensions = [0] : (" T22
     ", tensor<2x2xi1>, tensor<f32>, tensor<i1>) -> (" T2 ", tensor<2xi1>)\n reducer(%l: tensor<f32>, %r: tensor<f32>) "
     "(%m: tensor<i1>, %n: tensor<i1>) {\n  stablehlo.return %r, %m : tensor<f32>, tensor<i1>\n}",
     "%0:2 = \"stablehlo.reduce\"(%a, %p, %s, %q) ({\n^bb0(%l: tensor<f32>, %m: tensor<i1>, %r: tensor<f32>, %n: "
     "tensor<i1>):\n  \"stablehlo.return\"(%r, %m) : (tensor<f32>, tensor<i1>) -> ()\n}) {dimensions = dense<0> : "
     "tensor<1xi64>} : (" T22 ", tensor<2x2xi1>, tensor<f32>, tensor<i1>) -> (" T2 ", tensor<2xi1>)"},
    {"%0 = stablehlo.while(%x = %i) : tensor<i32> attributes {a.b} cond {\n  %1 = stablehlo.constant dense<true> : "
     "tensor<i1>\n  stablehlo.return %1 : tensor<i1>\n} do {\n  stablehlo.return %x : tensor<i32>\n}",
     "%0 = \"stablehlo.while\"(%i) ({\n^bb0(%x: tensor<i32>):\n  %1 = stablehlo.constant dense<1> : tensor<i1>\n  "
     "stablehlo.return %1 : tensor<i1>\n}, {\n^bb0(%x: tensor<i32>):\n  stablehlo.return %x : tensor<i32>\n}) {a.b} : "
     "(tensor<i32>) -> tensor<i32>"},
    {"stablehlo.custom_call @\"x.y\"(%a) {has_side_effect = true, api_version = 1 : i32} : (" T22 ") -> ()",
     "\"stablehlo.custom_call\"(%a) <{call_target_name = \"x.y\", has_side_effect = true}> : (" T22 ") -> ()"},
    {"%0 = stablehlo.composite \"n.m\" %a {decomposition = @f, version = 1 : i32} : (" T22 ") -> " T22,
     "%0 = \"stablehlo.composite\"(%a) <{name = \"n.m\", decomposition = @f, version = 1 : i32}> : (" T22 ") -> " T22},
    {"%0 = stablehlo.reduce_precision %a, format = e5m10 : " T22,
     "%0 = \"stablehlo.reduce_precision\"(%a) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (" T22
     ") -> " T22},
    {"%0 = stablehlo.optimization_barrier %a : " T22,
     "%0 = \"stablehlo.optimization_barrier\"(%a) : (" T22 ") -> " T22},
    {"%0 = stablehlo.tuple %a, %i : tuple<" T22 ", tensor<i32>>\n%1 = stablehlo.get_tuple_element %0[1] : (tuple<" T22
     ", tensor<i32>>) -> tensor<i32>",
     "%0 = \"stablehlo.tuple\"(%a, %i) : (" T22 ", tensor<i32>) -> tuple<" T22
     ", tensor<i32>>\n%1 = \"stablehlo.get_tuple_element\"(%0) {index = 1 : i32} : (tuple<" T22
     ", tensor<i32>>) -> tensor<i32>"},
    {"%0 = mhlo.add %a, %b : " T22, "%0 = \"mhlo.add\"(%a, %b) : (" T22 ", " T22 ") -> " T22},
    {"%0 = chlo.erf %a : " T22 " -> " T22, "%0 = \"chlo.erf\"(%a) : (" T22 ") -> " T22},
    {"%0:2 = chlo.top_k(%a, k = 1) : " T22 " -> (tensor<2x1xf32>, tensor<2x1xi32>)",
     "%0:2 = \"chlo.top_k\"(%a) <{k = 1 : i64}> : (" T22 ") -> (tensor<2x1xf32>, tensor<2x1xi32>)"},
    {"%0 = sdy.reshard %a <@m,[{\"x\", ?},{}] , replicated = {\"y\"}> : " T22,
     "%0 = \"sdy.reshard\"(%a) <{sharding = #sdy.sharding<@m, [{\"x\", ?}, {}], replicated={\"y\"}>}> : (" T22
     ") -> " T22},
    {"%0 = sdy.manual_computation(%a) in_shardings=[<@m, [{\"x\"}, {}]>] out_shardings=[<@m, [{\"x\"}, {}]>] "
     "manual_axes={\"x\"} (%x: tensor<1x2xf32>) {\n  sdy.return %x : tensor<1x2xf32>\n} : (" T22 ") -> " T22,
     "%0 = \"sdy.manual_computation\"(%a) <{in_shardings = #sdy.sharding_per_value<[#sdy.sharding<@m, [{\"x\"}, "
     "{}]>]>, "
     "manual_axes = #sdy<manual_axes{\"x\"}>, out_shardings = #sdy.sharding_per_value<[<@m, [{\"x\"}, {}]>]>}> ({\n"
     "^bb0(%x: tensor<1x2xf32>):\n  \"sdy.return\"(%x) : (tensor<1x2xf32>) -> ()\n}) : (" T22 ") -> " T22},
    {"%0 = arith.addf %a, %b fastmath<fast> {t.x} : " T22,
     "%0 = \"arith.addf\"(%a, %b) <{fastmath = #arith.fastmath<fast>}> {t.x} : (" T22 ", " T22 ") -> " T22},
    {"func.call @g(%a) : (" T22 ") -> ()", "\"func.call\"(%a) <{callee = @g}> : (" T22 ") -> ()"},
    {"call @g(%a) : (" T22 ") -> ()", "\"func.call\"(%a) <{callee = @g}> : (" T22 ") -> ()"},
};

static void pretty_and_generic_agree(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    struct strbuf a = {0}, b = {0};
    static const char head[] = "func.func @f(%a: " T22 ", %b: " T22
                               ", %i: tensor<i32>, %p: tensor<2x2xi1>, %s: tensor<f32>, %q: tensor<i1>) {\n";
    strbuf_printf(&a, "%s%s\n  return\n}\n", head, pairs[i][0]);
    strbuf_printf(&b, "%s%s\n  return\n}\n", head, pairs[i][1]);
    same(strbuf_text(&a), strbuf_text(&b));
    strbuf_release(&a);
    strbuf_release(&b);
  }
}

static void convolution_spellings(void **state) {
  (void)state;
#define CONV_TYPES " : (tensor<1x8x8x4xf32>, tensor<3x3x4x5xf32>) -> tensor<1x4x4x5xf32>\n  return\n}"
#define CONV_HEAD "func.func @f(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x4x5xf32>) {\n  %0 = "
  static const char pretty[] = CONV_HEAD
      "stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = "
      "[2, 2], pad = [[0, 1], [1, 1]], rhs_dilate = [1, 1], reverse = [true, false]} {batch_group_count = 1 : "
      "i64, feature_group_count = 1 : i64}" CONV_TYPES;
  same(pretty, CONV_HEAD
       "\"stablehlo.convolution\"(%x, %w) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, "
       "f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, padding = dense<[[0, 1], [1, 1]]> : "
       "tensor<2x2xi64>, rhs_dilation = dense<1> : tensor<2xi64>, window_reversal = dense<[true, false]> : "
       "tensor<2xi1>, window_strides = dense<2> : tensor<2xi64>}>" CONV_TYPES);
  struct ir_module *m = parse(pretty);
  struct ir_attr conv = ir_op_attr(m, find(m, "stablehlo.convolution"), "dimension_numbers");
  /* [b, 0, 1, f]: spatial dimensions 0 and 1 stand at places 1 and 2 */
  assert_int_equal(ir_attr_get(m, ir_attr_field(m, conv, "input_feature_dimension"))->integer, 3);
  assert_int_equal(ir_attr_int_at(m, ir_attr_field(m, conv, "input_spatial_dimensions"), 0), 1);
  assert_int_equal(ir_attr_int_at(m, ir_attr_field(m, conv, "kernel_spatial_dimensions"), 1), 1);
  assert_int_equal(ir_attr_get(m, ir_attr_field(m, conv, "kernel_output_feature_dimension"))->integer, 3);
  ir_module_free(m);
  same("\"a.b\"() {n = #stablehlo.conv<[f, b, 0]x[i, 0, o]->[b, 0, f]>} : () -> ()",
       "\"a.b\"() {n = #stablehlo.conv<raw input_batch_dimension = 1, input_feature_dimension = 0, "
       "input_spatial_dimensions = [2], kernel_input_feature_dimension = 0, kernel_output_feature_dimension = 2, "
       "kernel_spatial_dimensions = [1], output_batch_dimension = 0, output_feature_dimension = 2, "
       "output_spatial_dimensions = [1]>} : () -> ()");
}

/* ---- attributes and types ------------------------------------------------------------------------------------------ */

/* Both texts stand for one attribute. */
static void same_attr(const char *a, const char *b) {
  struct strbuf x = {0}, y = {0};
  strbuf_printf(&x, "\"a.b\"() {n = %s} : () -> ()\n#s = 7\n!t = tensor<2xi32>", a);
  strbuf_printf(&y, "\"a.b\"() {n = %s} : () -> ()", b);
  same(strbuf_text(&x), strbuf_text(&y));
  strbuf_release(&x);
  strbuf_release(&y);
}

static void spellings_of_attributes(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"1", "1 : i64"},
      {"#s", "7"},
      {"[#s, !t]", "[7, tensor<2xi32>]"},
      {"-1 : i8", "0xFF : i8"},
      {"true", "1 : i1"},
      {"1.0", "1.000000e+00 : f64"},
      {"0x3F800000 : f32", "1.0 : f32"},
      {"dense<1> : tensor<2x2xi32>", "dense<[[1, 1], [1, 1]]> : tensor<2x2xi32>"},
      {"dense<\"0x0100000002000000\"> : !t", "dense<[1, 2]> : tensor<2xi32>"},
      {"dense<[1.0, -0.0, 0x7FC00000, 0xFF800000]> : tensor<4xf32>",
       "dense<\"0x0000803F000000800000C07F000080FF\"> : tensor<4xf32>"},
      {"dense<[1.0, 2.0]> : tensor<2xbf16>", "dense<\"0x803F0040\"> : tensor<2xbf16>"},
      {"dense<[true, false, true]> : tensor<3xi1>", "dense<\"0x010001\"> : tensor<3xi1>"},
      /* ten i1 packed by older text, lowest bit first: 1011000001 → 0x0D, 0x02 */
      {"dense<\"0x0D02\"> : tensor<10xi1>",
       "dense<[true, false, true, true, false, false, false, false, false, true]> : tensor<10xi1>"},
      {"dense<[(1.0, 2.0), (3.0,4.0)]> : tensor<2xcomplex<f32>>",
       "dense<\"0x0000803F000000400000404000008040\"> : tensor<2xcomplex<f32>>"},
      {"dense<[-8, 7]> : tensor<2xi4>", "dense<\"0x0807\"> : tensor<2xi4>"},
      {"dense<> : tensor<0x3xf32>", "dense<[]> : tensor<0x3xf32>"},
      {"dense<-9223372036854775808> : tensor<i64>", "dense<\"0x0000000000000080\"> : tensor<i64>"},
      {"dense<18446744073709551615> : tensor<ui64>", "dense<\"0xFFFFFFFFFFFFFFFF\"> : tensor<ui64>"},
      {"{b = 1, \"a\" = unit}", "{a, b = 1 : i64}"},
      {"#stablehlo<precision HIGH>", "#stablehlo.precision<HIGH>"},
      {"#stablehlo.gather<offset_dims = [], index_vector_dim = 0, start_index_map = [1],>",
       "#stablehlo.gather<start_index_map = [1]>"},
      {"#stablehlo.type_extensions<bounds = [3, ?]>", "#stablehlo.bounds<3,?>"},
      {"#x.y<a  b,[ 1 ,2 ] -> \"c  d\">", "#x.y<a b, [1, 2] -> \"c  d\">"},
      {"#x.y<[#s]>", "#x.y<[7 : i64]>"},
      {"!quant.uniform<i8:f32, 2.0:15>", "!quant.uniform<i8<-128:127>:f32,2.000000e+00:15>"},
      {"tensor<2x!quant.uniform<i8<-127:127>:f32:0, {0.5:1,0.25}>>",
       "tensor<2 x !quant.uniform<i8<-127:127>:f32:0, {5.0e-1:1, 2.5e-1:0}>>"},
      {"(i32) -> ()", "(i32) -> (  )"},
      {"@a::@\"b\"", "@a::@b"},
      {"\"\\22\\0A\"", "\"\\\"\\n\""},
      {"@a :: @b", "@a::@b"},
      {"affine_map<(d0,d1)[s0]->(d0+s0,d1 floordiv 4, -d0)>",
       "affine_map<(d0, d1)[s0] -> (d0 + s0, d1 floordiv 4, -d0)>"},
      {"affine_set<(d0):(d0>=0, d0  <=  3, d0-4==0)>", "affine_set<(d0) : (d0 >= 0, d0 <= 3, d0 - 4 == 0)>"},
      {"strided<[ 4,1 ], offset:0>", "strided<[4, 1]>"},
      {"memref<4x4xf32, strided<[4,1],offset : ?>, 2>", "memref<4x4xf32, strided<[4, 1], offset: ?>, 2 : i64>"},
      {"memref<*xf32, 2 : i64>", "memref<*xf32, 2>"},
      {"0x7F : si8", "127 : si8"},
      {"0x7F : i7", "-1 : i7"},
      {"007 : i48", "7 : i48"},
      {"array<si32 :1,2>", "array<si32: 1, 2>"},
      {"#stablehlo.mesh<axes = [#stablehlo.mesh_axis<size = 2, name = \"x\">]>",
       "#stablehlo.mesh<axes=[<name = \"x\", size = 2>]>"},
      /* a type without elements has one value, whatever a splat would repeat */
      {"dense<7> : tensor<0xi32>", "dense<> : tensor<0xi32>"},
      {"#sdy.propagation_edges<[{step-0 = [{\"x\" = operand-0 -> [result-0]}]}]>",
       "#sdy.propagation_edges<[{step-0=[{\"x\"=operand-0 -> [result-0]}]}]>"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    same_attr(rows[i][0], rows[i][1]);
  }
}

static void kinds_of_types(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum ir_type_kind kind;
    enum dtype dtype;
    unsigned rank;
  } rows[] = {{"tensor<0x3xf32>", IR_TYPE_TENSOR, DTYPE_F32, 2},
              {"tensor<?x4x!quant.uniform<u8:f32, 0.1:128>>", IR_TYPE_TENSOR, DTYPE_UI8, 2},
              {"tensor<*xf8E4M3FN>", IR_TYPE_UNRANKED, DTYPE_F8E4M3FN, 0},
              {"tensor<complex<f64>>", IR_TYPE_TENSOR, DTYPE_C128, 0},
              {"!stablehlo.token", IR_TYPE_TOKEN, DTYPE_NONE, 0},
              {"!mhlo.token", IR_TYPE_TOKEN, DTYPE_NONE, 0},
              {"!stablehlo.future<tensor<f32>, !stablehlo.token>", IR_TYPE_FUTURE, DTYPE_NONE, 0},
              {"tuple<>", IR_TYPE_TUPLE, DTYPE_NONE, 0},
              {"memref<2xf16>", IR_TYPE_MEMREF, DTYPE_F16, 1},
              {"!vhlo.tensor_v1<1x!vhlo.f32_v1>", IR_TYPE_OPAQUE, DTYPE_NONE, 0},
              {"i3", IR_TYPE_OPAQUE, DTYPE_NONE, 0},
              {"index", IR_TYPE_SCALAR, DTYPE_INDEX, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct strbuf text = {0};
    strbuf_printf(&text, "\"a.b\"() {n = %s} : () -> ()", rows[i].text);
    struct ir_module *m = parse(strbuf_text(&text));
    struct ir_attr_data attr = *ir_attr_get(m, ir_op_attr(m, find(m, "a.b"), "n"));
    assert_int_equal(attr.kind, IR_ATTR_TYPE);
    const struct ir_type_data *type = ir_type_get(m, attr.type);
    assert_int_equal(type->kind, rows[i].kind);
    assert_int_equal(type->dtype, rows[i].dtype);
    assert_int_equal(type->rank, rows[i].rank);
    ir_module_free(m);
    strbuf_release(&text);
  }
}

/* The decimal literals are those whose nearest double is known from IEEE 754: 0.1, the largest double, 2^53 + 1 (rounds to
 * even), and one with more digits than fit 64 bits. */
static void decimal_literals(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t bits;
  } rows[] = {{"0.1", 0x3FB999999999999A},
              {"1.7976931348623157e308", 0x7FEFFFFFFFFFFFFF},
              {"9007199254740993.0", 0x4340000000000000},
              {"3.14159265358979323846264338327950288", 0x400921FB54442D18},
              {"-4.9e-324", 0x8000000000000001},
              {"1.0e400", 0x7FF0000000000000}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct strbuf text = {0};
    strbuf_printf(&text, "\"a.b\"() {n = %s} : () -> ()", rows[i].text);
    struct ir_module *m = parse(strbuf_text(&text));
    assert_true((uint64_t)ir_attr_get(m, ir_op_attr(m, find(m, "a.b"), "n"))->integer == rows[i].bits);
    ir_module_free(m);
    strbuf_release(&text);
  }
}

/* ---- structure ------------------------------------------------------------------------------------------------------ */

static void functions(void **state) {
  (void)state;
  struct ir_module *m = parse("module @m {\n  func.func private @g(tensor<f32> {a.b}) -> (tensor<f32> {c.d = 1}, i32)\n"
                              "  func.func public @f(%x: tensor<f32>, %y: i32) attributes {e.f} {\n    return\n  }\n}");
  assert_int_equal(ir_op_code(m, m->root), IR_OP_BUILTIN_MODULE);
  assert_string_equal(ir_symbol_name(m, m->root), "m");
  struct ir_op g = ir_function_find(m, "g"), f = ir_function_find(m, "f");
  assert_int_equal(ir_function_body(m, g).id, 0);
  expect_attr(m, g, "sym_visibility", "\"private\"");
  expect_attr(m, g, "arg_attrs", "[{a.b}]");
  expect_attr(m, g, "res_attrs", "[{c.d = 1 : i64}, {}]");
  expect_attr(m, f, "function_type", "(tensor<f32>, i32) -> ()");
  assert_int_equal(ir_block_get(m, ir_function_body(m, f))->argument_count, 2);
  assert_int_equal(ir_op_attr(m, f, "arg_attrs").id, 0);
  ir_module_free(m);
}

static void scopes_and_forward_references(void **state) {
  (void)state;
  struct ir_module *m =
      parse("\"a.graph\"() ({\n  \"a.use\"(%p#1, %q) : (i32, f32) -> ()\n  %p:2 = \"a.two\"() : () -> (i64, i32)\n"
            "  %q = \"a.one\"() : () -> f32\n}) : () -> ()\n"
            "func.func @f(%p: i1) { return }\nfunc.func @g(%p: i8) { return }");
  struct ir_op use = find(m, "a.use"), two = find(m, "a.two"), one = find(m, "a.one");
  assert_int_equal(ir_op_operand(m, use, 0).id, ir_op_result(m, two, 1).id);
  assert_int_equal(ir_op_operand(m, use, 1).id, ir_op_result(m, one, 0).id);
  ir_module_free(m);
}

static void successors_and_blocks(void **state) {
  (void)state;
  struct ir_module *m = parse(
      "func.func @f(%c: i1, %x: i32) {\n  \"a.br\"(%c)[^two, ^one] : (i1) -> ()\n^one:\n  \"a.end\"() : () -> ()\n"
      "^two:\n  \"a.last\"() : () -> ()\n}");
  struct ir_op br = find(m, "a.br");
  assert_int_equal(ir_op_get(m, br)->successor_count, 2);
  uint32_t first = m->lists.data[ir_op_get(m, br)->successor_first];
  assert_int_equal(first, ir_op_get(m, find(m, "a.last"))->parent.id);
  /* blocks stand in the region in the order of their labels in the text */
  struct ir_block entry = ir_op_get(m, br)->parent;
  assert_int_equal(ir_block_get(m, entry)->next.id, ir_op_get(m, find(m, "a.end"))->parent.id);
  ir_module_free(m);
}

static void locations_and_resources(void **state) {
  (void)state;
  static const char text[] =
      "\"a.b\"() : () -> () loc(#l2)\n#l1 = loc(\"f.py\":1:8 to :54)\n#l2 = loc(callsite(\"n\"(#l1) at unknown))\n"
      "{-# dialect_resources: { builtin: { w: \"0x040000000000803F\" } } #-}";
  struct ir_module *m = parse(text);
  assert_int_equal(ir_op_get(m, find(m, "a.b"))->location.id, 0);
  assert_int_equal(m->resources.count, 2);
  assert_string_equal(ir_text(m, m->resources.data[0]), "w");
  ir_module_free(m);
  struct mlir_parse_options options = {.keep_locations = true};
  m = parse_options(text, &options);
  struct ir_attr location = ir_op_get(m, find(m, "a.b"))->location;
  assert_string_equal(ir_text(m, ir_attr_get(m, location)->text), "callsite(\"n\"(\"f.py\":1:8 to :54) at unknown)");
  ir_module_free(m);
}

/* Kept as they are; a line without a column has column 0. */
static void spellings_of_locations(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"\"t.x\"() : () -> () loc(\"f\":3)", "\"f\":3:0"},
      {"\"t.x\"() : () -> () loc(#l)\t#l // here\n = loc(\"n\"(\"f\":1:2 to 3:4))", "\"n\"(\"f\":1:2 to 3:4)"},
      {"#a = 1 #l=loc(fused<#a>[\"x\",unknown]) \"t.x\"() : () -> () loc(#l)", "fused<1 : i64>[\"x\", unknown]"},
  };
  struct mlir_parse_options options = {.keep_locations = true};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct ir_module *m = parse_options(rows[i][0], &options);
    struct ir_attr location = ir_op_get(m, find(m, "t.x"))->location;
    assert_int_equal(ir_attr_get(m, location)->kind, IR_ATTR_LOCATION);
    assert_string_equal(ir_text(m, ir_attr_get(m, location)->text), rows[i][1]);
    ir_module_free(m);
  }
}

static void op_offsets(void **state) {
  (void)state;
  static const char text[] =
      "// comment\nfunc.func @f(%a: tensor<f32>) {\n  %0 = stablehlo.abs %a : tensor<f32>\n  return\n}";
  struct ir_module *m = parse(text);
  uint32_t offset = ir_op_get(m, find(m, "stablehlo.abs"))->offset;
  assert_memory_equal(text + offset, "stablehlo.abs", 13);
  ir_module_free(m);
}

static void splitting(void **state) {
  (void)state;
  static const char text[] = "module @a {}\n// -----\n\nmodule @b {}\n// ----- more\nmodule @c { oops }\n";
  struct source source = {"split", text, strlen(text)};
  size_t starts[4], ends[4];
  assert_int_equal(mlir_split(&source, starts, ends, 4), 3);
  assert_int_equal(mlir_split(&source, starts, ends, 1), 3);
  assert_int_equal(mlir_split(&source, starts, ends, 4), 3);
  struct diag_list diags;
  diag_init(&diags);
  struct ir_module *m = NULL;
  assert_int_equal(mlir_parse_piece(&source, starts[1], ends[1], NULL, &diags, &m), STATUS_OK);
  assert_string_equal(ir_symbol_name(m, m->root), "b");
  ir_module_free(m);
  assert_int_equal(mlir_parse_piece(&source, starts[2], ends[2], NULL, &diags, &m), STATUS_INPUT);
  assert_int_equal(diags.entries.data[0].line, 6); /* of the whole text */
  diag_release(&diags);
}

/* ---- binding -------------------------------------------------------------------------------------------------------- */

static enum status bind(const char *spec, char *type, size_t size) {
  struct ir_module *m =
      parse("func.func @main(%a: tensor<?x8xf32> {jax.arg_info = \"tokens\"}, %b: tensor<f32>) -> tensor<f32> "
            "{\n  return %b : tensor<f32>\n}");
  struct diag_list diags;
  diag_init(&diags);
  enum status status = mlir_bind(m, spec, &diags);
  assert_true(status == STATUS_OK || diags.entries.data[0].id == DIAG_E0112_BIND);
  struct strbuf out = {0};
  mlir_print_type(m, ir_function_type(m, ir_function_find(m, "main")), &out);
  strncpy(type, strbuf_text(&out), size - 1);
  struct ir_value argument = ir_block_argument(m, ir_function_body(m, ir_function_find(m, "main")), 0);
  strbuf_clear(&out);
  mlir_print_type(m, ir_value_type(m, argument), &out);
  assert_non_null(strstr(type, strbuf_text(&out))); /* the block argument follows */
  strbuf_release(&out);
  diag_release(&diags);
  ir_module_free(m);
  return status;
}

static void binding_dimensions(void **state) {
  (void)state;
  char type[100] = "";
  assert_int_equal(bind("arg0=32x?", type, sizeof type), STATUS_OK);
  assert_string_equal(type, "(tensor<32x8xf32>, tensor<f32>) -> tensor<f32>");
  assert_int_equal(bind("tokens=4x8", type, sizeof type), STATUS_OK);
  assert_string_equal(type, "(tensor<4x8xf32>, tensor<f32>) -> tensor<f32>");
  static const char *const bad[] = {"arg0=32", "arg0=32x9",  "arg2=1",    "nobody=1",
                                    "arg0",    "arg0=32xx8", "arg0=-1x8", "arg0=99999999999999999999x8",
                                    "arg1=1"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(bind(bad[i], type, sizeof type), STATUS_INPUT);
  }
}

/* MLIR's function syntax: all arguments have names, or none has and the label of the first block declares them. */
static void unnamed_arguments(void **state) {
  (void)state;
  same("func.func @f(tensor<2xi32> {a.b = 1}, tensor<3xf32>) -> tensor<3xf32> {\n"
       "^bb0(%x: tensor<2xi32>, %y: tensor<3xf32>):\n  return %y : tensor<3xf32>\n}",
       "func.func @f(%x: tensor<2xi32> {a.b = 1}, %y: tensor<3xf32>) -> tensor<3xf32> {\n"
       "  return %y : tensor<3xf32>\n}");
}

/* MLIR holds and prints the empty configuration of infeed and outfeed where the text leaves it out. */
static void stated_defaults(void **state) {
  (void)state;
  struct ir_module *m =
      parse("func.func @f(%x: tensor<2xi32>, %t: !stablehlo.token) -> !stablehlo.token {\n"
            "  %0:2 = \"stablehlo.infeed\"(%t) {layout = []} : (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)\n"
            "  %1 = \"stablehlo.outfeed\"(%x, %0#1) : (tensor<2xi32>, !stablehlo.token) -> !stablehlo.token\n"
            "  %2 = \"stablehlo.outfeed\"(%x, %1) {outfeed_config = \"a\"} : (tensor<2xi32>, !stablehlo.token)"
            " -> !stablehlo.token\n  return %2 : !stablehlo.token\n}");
  struct ir_op first = find(m, "stablehlo.outfeed");
  expect_attr(m, find(m, "stablehlo.infeed"), "infeed_config", "\"\"");
  expect_attr(m, first, "outfeed_config", "\"\"");
  expect_attr(m, ir_op_next(m, first), "outfeed_config", "\"a\"");
  ir_module_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pretty_and_generic_agree),
      cmocka_unit_test(convolution_spellings),
      cmocka_unit_test(spellings_of_attributes),
      cmocka_unit_test(kinds_of_types),
      cmocka_unit_test(decimal_literals),
      cmocka_unit_test(functions),
      cmocka_unit_test(scopes_and_forward_references),
      cmocka_unit_test(successors_and_blocks),
      cmocka_unit_test(locations_and_resources),
      cmocka_unit_test(spellings_of_locations),
      cmocka_unit_test(op_offsets),
      cmocka_unit_test(splitting),
      cmocka_unit_test(binding_dimensions),
      cmocka_unit_test(unnamed_arguments),
      cmocka_unit_test(stated_defaults),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
