/* Pretty forms: one format per operation and its interpreter. Formats follow the assemblyFormat lines of StablehloOps.td,
 * ChloOps.td, sdy ops.td, CheckOps.td and FuncOps.td; output that MLIR printed (two spaces before an enumeration) decides
 * where these leave room.
 *
 * A format is literal text with directives:
 *   %o  operands            %0 … %9  one operand            %+1  ", " before each operand from number 1 on
 *   $a{a}  integers as [1, 2]                $e{a}  value of an enumeration
 *   $d{a} $h{a} $w{a}  integer of type i64, i32, ui64 without its type       $u{a}  i32 that is not negative
 *   $b{a}  true or false        $r{a}  f64 without its type                  $q{a}  "string"       $y{a}  symbol
 *   $S{a}  string as @symbol                 $v{a}  attribute with its type, which must be that of operand 0
 *   $s{a}  #sdy attribute without "#sdy.x"   $i{a}  the same without the angle brackets
 *   ?{a}...|  only when attribute a is there     ?%...|  only with operands     !%...|  only without
 *   *   remaining attributes, " {...}" or nothing
 *   ~f  functional type    ~o  operand types    ~r  result types    ~p  result types in parentheses
 *   ~e  the type of both operands and the result
 *   ~s  one type when all operands and the result have it, else the functional type
 *   ~t  the result type, a tuple of the operand types     ~2  nothing, the result must be tensor<2xui64>
 *   ~b  operand types, which the results must have one by one     ~m  the result type, which operand 0 must have
 *   ~S  select: predicate and result type, or functional     ~C  complex: result type, or functional
 *   #x  a function of part_forms; only with #R (all regions) any number of regions fits
 * Attributes named in braces do not appear in `*`. */
#include "mlir/mlir_print.h"

#include <string.h>

struct form {
  const char *format;
  mlir_form_fn function; /* instead of a format: prints all */
  const char *elided; /* attributes that parts (#x) print */
  bool is_not_mhlo; /* the operation of the mhlo dialect has the generic form only */
};

#define UNARY                                                                                                          \
  { " %o* : ~s", NULL, NULL, false }
#define BINARY                                                                                                         \
  { " %o* : ~s", NULL, NULL, false }
#define FUNCTIONAL                                                                                                     \
  { " %o* : ~f", NULL, NULL, false }
#define ARROW                                                                                                          \
  { " %o* : ~o -> ~r", NULL, NULL, false }
#define FORMAT(text)                                                                                                   \
  { text, NULL, NULL, false }
#define STABLE(text)                                                                                                   \
  { text, NULL, NULL, true }
#define FUNCTION(fn)                                                                                                   \
  { NULL, fn, NULL, false }

static const struct form forms[IR_OP_COUNT] = {
    [IR_OP_ABS] = UNARY,
    [IR_OP_ADD] = BINARY,
    [IR_OP_AFTER_ALL] = FORMAT(" %o* : ~s"),
    [IR_OP_AND] = BINARY,
    [IR_OP_ATAN2] = BINARY,
    [IR_OP_BITCAST_CONVERT] = FUNCTIONAL,
    [IR_OP_BROADCAST] = STABLE(" %0, sizes = $a{broadcast_sizes}* : ~f"),
    [IR_OP_BROADCAST_IN_DIM] = STABLE(" %0, dims = $a{broadcast_dimensions}* : ~f"),
    [IR_OP_CBRT] = UNARY,
    [IR_OP_CEIL] = UNARY,
    [IR_OP_CHOLESKY] = STABLE(" %0?{lower}, lower = $b{lower}|* : ~s"),
    [IR_OP_CLAMP] = FORMAT(" %o* : ~s"),
    [IR_OP_COMPARE] = FORMAT(" $e{comparison_direction}, %0, %1?{compare_type}, $e{compare_type}|* : ~f"),
    [IR_OP_COMPLEX] = FORMAT(" %o* : ~C"),
    [IR_OP_COMPOSITE] = FORMAT(" $q{name} %o#R* : ~f"),
    [IR_OP_CONCATENATE] = STABLE(" %o, dim = $d{dimension}* : ~f"),
    [IR_OP_CONSTANT] = FUNCTION(mlir_form_constant),
    [IR_OP_CONVERT] = UNARY,
    [IR_OP_CONVOLUTION] = {"(%o) dim_numbers = #c* : ~f", NULL,
                           "dimension_numbers lhs_dilation padding rhs_dilation window_reversal window_strides", false},
    [IR_OP_COSINE] = UNARY,
    [IR_OP_COUNT_LEADING_ZEROS] = UNARY,
    [IR_OP_CREATE_TOKEN] = FORMAT("* : ~r"),
    [IR_OP_CUSTOM_CALL] = FORMAT(" $S{call_target_name}(%o)* : ~f"),
    [IR_OP_DIVIDE] = BINARY,
    [IR_OP_DOT] = {" %0, %1#p* : ~f", NULL, "precision_config", true},
    [IR_OP_DOT_GENERAL] = {" %0, %1, #d#p#A* : ~f", NULL, "algorithm dot_dimension_numbers precision_config", true},
    [IR_OP_DYNAMIC_BROADCAST_IN_DIM] = STABLE(" %0, %1, dims = $a{broadcast_dimensions}* : ~f"),
    [IR_OP_DYNAMIC_IOTA] = STABLE(" %0, dim = $d{iota_dimension}* : ~f"),
    [IR_OP_DYNAMIC_PAD] = FUNCTIONAL,
    [IR_OP_DYNAMIC_RESHAPE] = FUNCTIONAL,
    [IR_OP_DYNAMIC_SLICE] = STABLE(" %0%+1, sizes = $a{slice_sizes}* : ~f"),
    [IR_OP_DYNAMIC_UPDATE_SLICE] = FUNCTIONAL,
    [IR_OP_EINSUM] = STABLE(" %0, %1, config = $q{einsum_config}* : ~f"),
    [IR_OP_EXPONENTIAL] = UNARY,
    [IR_OP_EXPONENTIAL_MINUS_ONE] = UNARY,
    [IR_OP_FFT] = STABLE(" %0, type = $e{fft_type}, length = $a{fft_length}* : ~f"),
    [IR_OP_FLOOR] = UNARY,
    [IR_OP_GET_DIMENSION_SIZE] = STABLE(" %0, dim = $d{dimension}* : ~f"),
    [IR_OP_GET_TUPLE_ELEMENT] = FORMAT(" %0[$h{index}]* : ~f"),
    [IR_OP_IMAG] = UNARY,
    [IR_OP_IOTA] = STABLE(" dim = $d{iota_dimension}* : ~r"),
    [IR_OP_IS_FINITE] = FUNCTIONAL,
    [IR_OP_LOG] = UNARY,
    [IR_OP_LOG_PLUS_ONE] = UNARY,
    [IR_OP_LOGISTIC] = UNARY,
    [IR_OP_MAXIMUM] = BINARY,
    [IR_OP_MINIMUM] = BINARY,
    [IR_OP_MULTIPLY] = BINARY,
    [IR_OP_NEGATE] = UNARY,
    [IR_OP_NOT] = UNARY,
    [IR_OP_OPTIMIZATION_BARRIER] = FORMAT("*?% %o : ~b|!%()|"),
    [IR_OP_OR] = BINARY,
    [IR_OP_PAD] = STABLE(
        " %0, %1, low = $a{edge_padding_low}, high = $a{edge_padding_high}, interior = $a{interior_padding}* : ~f"),
    [IR_OP_PARTITION_ID] = FORMAT("* : ~r"),
    [IR_OP_POPCNT] = UNARY,
    [IR_OP_POWER] = BINARY,
    [IR_OP_REAL] = UNARY,
    [IR_OP_REAL_DYNAMIC_SLICE] = FUNCTIONAL,
    [IR_OP_REDUCE] = FUNCTION(mlir_form_reduce),
    [IR_OP_REDUCE_PRECISION] = FORMAT(" %0, format = e$u{exponent_bits}m$u{mantissa_bits}* : ~s"),
    [IR_OP_REMAINDER] = BINARY,
    [IR_OP_REPLICA_ID] = FORMAT("* : ~r"),
    [IR_OP_RESHAPE] = FUNCTIONAL,
    [IR_OP_RETURN] = FORMAT(" %o*?% : ~o|"),
    [IR_OP_REVERSE] = STABLE(" %0, dims = $a{dimensions}* : ~s"),
    [IR_OP_RNG] = STABLE(" %o, distribution = $e{rng_distribution}* : ~f"),
    [IR_OP_RNG_BIT_GENERATOR] = STABLE(" %0, algorithm = $e{rng_algorithm}* : ~f"),
    [IR_OP_ROUND_NEAREST_AFZ] = UNARY,
    [IR_OP_ROUND_NEAREST_EVEN] = UNARY,
    [IR_OP_RSQRT] = UNARY,
    [IR_OP_SELECT] = FORMAT(" %o* : ~S"),
    [IR_OP_SET_DIMENSION_SIZE] = STABLE(" %0, %1, dim = $d{dimension}* : ~f"),
    [IR_OP_SHIFT_LEFT] = BINARY,
    [IR_OP_SHIFT_RIGHT_ARITHMETIC] = BINARY,
    [IR_OP_SHIFT_RIGHT_LOGICAL] = BINARY,
    [IR_OP_SIGN] = UNARY,
    [IR_OP_SINE] = UNARY,
    [IR_OP_SLICE] = {" %0 #S* : ~f", NULL, "limit_indices start_indices strides", true},
    [IR_OP_SQRT] = UNARY,
    [IR_OP_SUBTRACT] = BINARY,
    [IR_OP_TAN] = UNARY,
    [IR_OP_TANH] = UNARY,
    [IR_OP_TRANSPOSE] = STABLE(" %0, dims = $a{permutation}* : ~f"),
    [IR_OP_TUPLE] = FORMAT("?% %o|* : ~t"),
    [IR_OP_UNARY_EINSUM] = STABLE(" %0, config = $q{einsum_config}* : ~f"),
    [IR_OP_UNIFORM_DEQUANTIZE] = UNARY,
    [IR_OP_UNIFORM_QUANTIZE] = UNARY,
    [IR_OP_WHILE] = FUNCTION(mlir_form_while),
    [IR_OP_XOR] = BINARY,

    [IR_OP_BUILTIN_MODULE] = FUNCTION(mlir_form_module),
    [IR_OP_BUILTIN_UNREALIZED_CONVERSION_CAST] = FORMAT("?% %o : ~o| to ~r*"),
    [IR_OP_FUNC_FUNC] = FUNCTION(mlir_form_func),
    [IR_OP_FUNC_RETURN] = FORMAT("*?% %o : ~o|"),
    [IR_OP_FUNC_CALL] = FORMAT(" $y{callee}(%o)* : ~f"),
    [IR_OP_FUNC_CONSTANT] = FORMAT("* $y{value} : ~r"),

    [IR_OP_CHLO_ACOS] = ARROW,
    [IR_OP_CHLO_ACOSH] = ARROW,
    [IR_OP_CHLO_ASIN] = ARROW,
    [IR_OP_CHLO_ASINH] = ARROW,
    [IR_OP_CHLO_ATAN] = ARROW,
    [IR_OP_CHLO_ATANH] = ARROW,
    [IR_OP_CHLO_BESSEL_I1E] = ARROW,
    [IR_OP_CHLO_CONJ] = ARROW,
    [IR_OP_CHLO_COSH] = ARROW,
    [IR_OP_CHLO_DIGAMMA] = ARROW,
    [IR_OP_CHLO_ERF] = ARROW,
    [IR_OP_CHLO_ERF_INV] = ARROW,
    [IR_OP_CHLO_ERFC] = ARROW,
    [IR_OP_CHLO_LGAMMA] = ARROW,
    [IR_OP_CHLO_SINH] = ARROW,
    [IR_OP_CHLO_SQUARE] = ARROW,
    [IR_OP_CHLO_TAN] = ARROW,
    [IR_OP_CHLO_IS_INF] = ARROW,
    [IR_OP_CHLO_IS_NEG_INF] = ARROW,
    [IR_OP_CHLO_IS_POS_INF] = ARROW,
    [IR_OP_CHLO_MULHI] = ARROW,
    [IR_OP_CHLO_NEXT_AFTER] = ARROW,
    [IR_OP_CHLO_POLYGAMMA] = ARROW,
    [IR_OP_CHLO_ZETA] = ARROW,
    [IR_OP_CHLO_BROADCAST_ADD] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_AND] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_ATAN2] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_COMPARE] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_COMPLEX] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_DIVIDE] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_MAXIMUM] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_MINIMUM] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_MULTIPLY] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_NEXT_AFTER] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_OR] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_POLYGAMMA] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_POWER] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_REMAINDER] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_SHIFT_LEFT] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_SHIFT_RIGHT_ARITHMETIC] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_SHIFT_RIGHT_LOGICAL] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_SUBTRACT] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_XOR] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_ZETA] = FUNCTIONAL,
    [IR_OP_CHLO_BROADCAST_SELECT] = FUNCTIONAL,
    [IR_OP_CHLO_CONSTANT] = FUNCTION(mlir_form_constant),
    [IR_OP_CHLO_DYNAMIC_RESHAPE] = FUNCTIONAL,
    [IR_OP_CHLO_SCAN] = FUNCTION(mlir_form_scan),
    [IR_OP_CHLO_TOP_K] = FORMAT("(%o, k = $d{k})* : ~o -> ~p"),

    [IR_OP_SDY_MESH] = FORMAT(" $S{sym_name} = $s{mesh}*"),
    [IR_OP_SDY_RETURN] = FORMAT("*?% %o : ~o|"),
    [IR_OP_SDY_MANUAL_COMPUTATION] = FORMAT("(%o) in_shardings=$i{in_shardings} out_shardings=$i{out_shardings} "
                                            "manual_axes=$s{manual_axes} #B* : ~f"),
    [IR_OP_SDY_NAMED_COMPUTATION] = FORMAT("<$q{name}>(%o)?{in_shardings} in_shardings=$i{in_shardings}|"
                                           "?{out_shardings} out_shardings=$i{out_shardings}| #B* : ~f"),
    [IR_OP_SDY_RESHARD] = FORMAT(" %0 $s{sharding}* : ~m"),
    [IR_OP_SDY_SHARDING_CONSTRAINT] = FORMAT(" %0 $s{sharding}* : ~m"),
    [IR_OP_SDY_PROPAGATION_BARRIER] = FORMAT(" %0 allowed_direction=$e{allowed_direction}* : ~b"),
    [IR_OP_SDY_DATA_FLOW_EDGE] = FORMAT(" %0?{sharding} sharding=$s{sharding}|* : ~m"),
    [IR_OP_SDY_FUNC_DATA_FLOW_EDGE] = FORMAT(" %0?{sharding} sharding=$s{sharding}|* : ~m"),
    [IR_OP_SDY_REPLICATED_TO_UNREDUCED] = FORMAT(" $s{axes} %0 out_sharding=$s{out_sharding}* : ~m"),
    [IR_OP_SDY_SHARDED_TO_UNREDUCED] = FORMAT(" $s{axes} %0 out_sharding=$s{out_sharding}* : ~m"),
    [IR_OP_SDY_SHARDING_GROUP] = FORMAT(" %0 group_id=$d{group_id}* : ~o"),
    [IR_OP_SDY_CONSTANT] = FUNCTION(mlir_form_constant),
    [IR_OP_SDY_ALL_GATHER] = FORMAT(" $s{gathering_axes} %0 out_sharding=$s{out_sharding}* : ~m"),
    [IR_OP_SDY_ALL_SLICE] = FORMAT(" $s{slicing_axes} %0 out_sharding=$s{out_sharding}* : ~m"),
    [IR_OP_SDY_ALL_TO_ALL] = FORMAT(" $s{params} %0 out_sharding=$s{out_sharding}* : ~m"),
    [IR_OP_SDY_ALL_REDUCE] = FORMAT(" $s{reduction_axes} %0 out_sharding=$s{out_sharding}* : ~m"),
    [IR_OP_SDY_REDUCE_SCATTER] =
        FORMAT("?{reduction_op} $e{reduction_op}| $s{reduce_scatter_axes} %0 out_sharding=$s{out_sharding}* : ~m"),
    [IR_OP_SDY_COLLECTIVE_PERMUTE] = FORMAT(" %0 out_sharding=$s{out_sharding}* : ~m"),

    [IR_OP_MHLO_ADD_DEPENDENCY] = FUNCTIONAL,
    [IR_OP_MHLO_BITCAST] = FUNCTIONAL,
    [IR_OP_MHLO_SCAN] = FUNCTION(mlir_form_scan),
    [IR_OP_MHLO_TOPK] = FORMAT("(%o, k = $d{k}?{largest}, largest = $b{largest}|)* : ~o -> ~p"),
    [IR_OP_MHLO_XLA_RNG_GET_AND_UPDATE_STATE] = FORMAT("*~2"),
    [IR_OP_MHLO_COPY] = UNARY,
    [IR_OP_MHLO_ERF] = UNARY,
    [IR_OP_MHLO_ACOS] = UNARY,
    [IR_OP_MHLO_ACOSH] = UNARY,
    [IR_OP_MHLO_ASIN] = UNARY,
    [IR_OP_MHLO_ASINH] = UNARY,
    [IR_OP_MHLO_ATAN] = UNARY,
    [IR_OP_MHLO_ATANH] = UNARY,
    [IR_OP_MHLO_COSH] = UNARY,
    [IR_OP_MHLO_SINH] = UNARY,

    [IR_OP_CHECK_EXPECT_EQ] = FORMAT(" %0, %1* : ~0"),
    [IR_OP_CHECK_EXPECT_ALMOST_EQ] = FORMAT(" %0, %1?{tolerance}, tolerance = $r{tolerance}|* : ~0"),
    [IR_OP_CHECK_EXPECT_CLOSE] = FORMAT(" %0, %1?{max_ulp_difference}, max_ulp_difference = $w{max_ulp_difference}|"
                                        "?{min_ulp_difference}, min_ulp_difference = $w{min_ulp_difference}|* : ~o"),
    [IR_OP_CHECK_EXPECT_SERIALIZED_EQ] = FORMAT(" %0, probe_id = $q{probe_id}?{iter}, iter = $h{iter}|* : ~o"),
    [IR_OP_CHECK_EXPECT_EQ_CONST] = FORMAT(" %0, $v{value}*"),
    [IR_OP_CHECK_EXPECT_ALMOST_EQ_CONST] = FORMAT(" %0, $v{value}*"),
    [IR_OP_INTERPRETER_PRINT] = FORMAT(" %0* : ~o"),
    [IR_OP_INTERPRETER_PROBE] = FORMAT(" %0, probe_id = $q{probe_id}* : ~b"),
};

/* Operations that ops.def does not have. */
static const struct {
  const char *name;
  struct form form;
} named_forms[] = {{"arith.addf", FORMAT(" %o* : ~e")},
                   {"arith.addi", FORMAT(" %o* : ~e")},
                   {"arith.andi", FORMAT(" %o* : ~e")},
                   {"arith.constant", FUNCTION(mlir_form_other_constant)},
                   {"arith.divf", FORMAT(" %o* : ~e")},
                   {"arith.extsi", FORMAT(" %0* : ~o to ~r")},
                   {"arith.extui", FORMAT(" %0* : ~o to ~r")},
                   {"arith.index_cast", FORMAT(" %0* : ~o to ~r")},
                   {"arith.mulf", FORMAT(" %o* : ~e")},
                   {"arith.muli", FORMAT(" %o* : ~e")},
                   {"arith.ori", FORMAT(" %o* : ~e")},
                   {"arith.sitofp", FORMAT(" %0* : ~o to ~r")},
                   {"arith.subf", FORMAT(" %o* : ~e")},
                   {"arith.subi", FORMAT(" %o* : ~e")},
                   {"arith.trunci", FORMAT(" %0* : ~o to ~r")},
                   {"func.call_indirect", FUNCTION(mlir_form_call_indirect)},
                   {"mhlo.mulhi", BINARY},
                   {"shape.broadcast", FORMAT(" %o* : ~o -> ~r")},
                   {"shape.num_elements", FORMAT(" %0* : ~o -> ~r")},
                   {"shape.rank", FORMAT(" %0* : ~o -> ~r")},
                   {"shape.shape_of", FORMAT(" %0* : ~o -> ~r")},
                   {"tensor.cast", FORMAT(" %0* : ~o to ~r")},
                   {"vhlo.func_v1", FUNCTION(mlir_form_vhlo_func)}};

static const struct {
  char letter;
  mlir_form_fn function;
} part_forms[] = {{'S', mlir_form_slice_ranges}, {'d', mlir_form_dot_dimensions}, {'p', mlir_form_precision},
                  {'A', mlir_form_algorithm},    {'c', mlir_form_convolution},    {'B', mlir_form_body},
                  {'R', mlir_form_regions}};

/* ---- attributes in formats -------------------------------------------------------------------------------------- */

/* What the reader puts in front of an #sdy attribute that stands in a pretty form. */
static const struct {
  const char *name, *prefix;
  uint16_t opcode; /* UNKNOWN: any */
} sdy_attrs[] = {{"axes", "#sdy<axis_ref_list", IR_OP_SDY_REPLICATED_TO_UNREDUCED},
                 {"axes", "#sdy<list_of_axis_ref_lists", IR_OP_SDY_SHARDED_TO_UNREDUCED},
                 {"gathering_axes", "#sdy<list_of_axis_ref_lists", IR_OP_UNKNOWN},
                 {"in_shardings", "#sdy.sharding_per_value", IR_OP_UNKNOWN},
                 {"manual_axes", "#sdy<manual_axes", IR_OP_UNKNOWN},
                 {"mesh", "#sdy.mesh", IR_OP_UNKNOWN},
                 {"out_sharding", "#sdy.sharding", IR_OP_UNKNOWN},
                 {"out_shardings", "#sdy.sharding_per_value", IR_OP_UNKNOWN},
                 {"params", "#sdy<all_to_all_param_list", IR_OP_UNKNOWN},
                 {"reduce_scatter_axes", "#sdy<list_of_axis_ref_lists", IR_OP_UNKNOWN},
                 {"reduction_axes", "#sdy<axis_ref_list", IR_OP_UNKNOWN},
                 {"sharding", "#sdy.sharding", IR_OP_UNKNOWN},
                 {"slicing_axes", "#sdy<list_of_axis_ref_lists", IR_OP_UNKNOWN}};

static const char *sdy_prefix(const struct ir_op_data *op, const char *name, size_t length) {
  for (size_t i = 0; i < sizeof sdy_attrs / sizeof sdy_attrs[0]; i++) {
    if (strlen(sdy_attrs[i].name) == length && memcmp(sdy_attrs[i].name, name, length) == 0
        && (sdy_attrs[i].opcode == IR_OP_UNKNOWN || sdy_attrs[i].opcode == op->opcode)) {
      return sdy_attrs[i].prefix;
    }
  }
  return "#sdy?"; /* no text begins so */
}

/* One bracket from the first character to the last: what the reader of a pretty form takes. */
static bool is_one_bracket(const char *text, size_t length) {
  size_t depth = 0;
  if (length == 0 || strchr("<[{(", text[0]) == NULL) {
    return false;
  }
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '"') {
      for (i++; i < length && text[i] != '"'; i++) {
        i += text[i] == '\\';
      }
    } else if (text[i] == '-' && i + 1 < length && text[i + 1] == '>') { /* "0->1" */
      i++;
    } else if (strchr("<[{(", text[i]) != NULL && text[i] != '\0') {
      depth++;
    } else if (strchr(">]})", text[i]) != NULL && text[i] != '\0' && (depth == 0 || --depth == 0)) {
      return i + 1 == length;
    }
  }
  return false;
}

/* Text of an #sdy attribute from after `prefix`: "#sdy.mesh<...>" gives "<...>", "#sdy<manual_axes{...}>" gives "{...}".
 * `inner` also drops the angle brackets of the first kind. */
static bool put_sdy(struct mlir_printer *p, const struct ir_attr_data *a, const char *prefix, bool inner) {
  const char *text = a->kind == IR_ATTR_OPAQUE ? ir_text(p->module, a->text) : "";
  size_t length = strlen(prefix);
  bool is_dotted = prefix[4] == '.';
  if (a->kind != IR_ATTR_OPAQUE || strncmp(text, prefix, length) != 0
      || (is_dotted ? text[length] != '<' : text[length] != '{' && text[length] != '[')) {
    return false;
  }
  const char *start = text + length, *end = text + strlen(text);
  if (!is_dotted || inner) {
    start += is_dotted;
    end--;
  }
  if (end <= start || !is_one_bracket(start, (size_t)(end - start))) {
    return false;
  }
  mlir_put_sdy_text(p->out, start, (size_t)(end - start));
  return true;
}

/* Attributes that are written without their type: a word alone must read back as the same attribute. */
static const struct {
  char letter;
  uint8_t kind; /* enum ir_attr_kind */
  uint8_t dtype; /* NONE: without a type */
} bare_attrs[] = {{'d', IR_ATTR_INTEGER, DTYPE_I64}, {'h', IR_ATTR_INTEGER, DTYPE_I32},
                  {'u', IR_ATTR_INTEGER, DTYPE_I32}, {'w', IR_ATTR_INTEGER, DTYPE_UI64},
                  {'b', IR_ATTR_BOOL, DTYPE_NONE},   {'r', IR_ATTR_FLOAT, DTYPE_F64},
                  {'q', IR_ATTR_STRING, DTYPE_NONE}, {'y', IR_ATTR_SYMBOL, DTYPE_NONE}};

static bool put_bare(struct mlir_printer *p, char letter, struct ir_attr attr) {
  const struct ir_attr_data *a = ir_attr_get(p->module, attr);
  for (size_t i = 0; i < sizeof bare_attrs / sizeof bare_attrs[0]; i++) {
    if (bare_attrs[i].letter == letter) {
      bool is_typed = bare_attrs[i].dtype != DTYPE_NONE;
      bool fits = a->kind == bare_attrs[i].kind
                  && (is_typed ? ir_type_get(p->module, a->type)->dtype == bare_attrs[i].dtype
                               : a->kind != IR_ATTR_STRING || a->type.id == 0)
                  && (letter != 'u' || a->integer >= 0);
      mlir_put_attr(p->module, attr, TYPE_NEVER, p->out);
      return fits;
    }
  }
  return false;
}

static bool put_int_list(struct mlir_printer *p, const struct ir_attr_data *a) {
  if (a->kind != IR_ATTR_DENSE_ARRAY || ir_type_get(p->module, a->type)->dtype != DTYPE_I64) {
    return false;
  }
  strbuf_putc(p->out, '[');
  mlir_put_dense_array_items(p->module, a, p->out);
  strbuf_putc(p->out, ']');
  return true;
}

static bool put_attribute(struct mlir_printer *p, const struct ir_op_data *op, char kind, const char *name,
                          size_t length, struct ir_attr attr) {
  const struct ir_module *m = p->module;
  const struct ir_attr_data *a = ir_attr_get(m, attr);
  switch (kind) {
  case 'a':
    return put_int_list(p, a);
  case 's':
  case 'i':
    return put_sdy(p, a, sdy_prefix(op, name, length), kind == 'i');
  case 'e':
    strbuf_puts(p->out, ir_text(m, a->text2));
    return true; /* see has_word_form */
  case 'S':
    mlir_put_symbol(p->out, ir_text(m, a->text), intern_length(&m->strings, a->text));
    return a->kind == IR_ATTR_STRING && a->type.id == 0;
  case 'v':
    mlir_put_attr(m, attr, TYPE_ALWAYS, p->out);
    return op->operand_count > 0
           && ir_value_type(m, (struct ir_value){m->lists.data[op->operand_first]}).id == a->type.id;
  default:
    return put_bare(p, kind, attr);
  }
}

static struct ir_attr find_attr(const struct ir_module *m, const struct ir_op_data *op, const char *name,
                                size_t length) {
  for (uint32_t i = 0; i < op->attr_count; i++) {
    const uint32_t *pair = m->lists.data + op->attr_first + 2 * i;
    if (intern_length(&m->strings, pair[0]) == length && memcmp(ir_text(m, pair[0]), name, length) == 0) {
      return (struct ir_attr){pair[1]};
    }
  }
  return (struct ir_attr){0};
}

/* Names in braces of a format and those of the row's parts, separated by spaces. */
static void collect_elided(const struct form *form, char *words, size_t size) {
  size_t used = 0;
  for (const char *at = strchr(form->format, '{'); at; at = strchr(at + 1, '{')) {
    size_t length = strcspn(at + 1, "}");
    if (used + length + 2 < size) {
      memcpy(words + used, at + 1, length);
      used += length;
      words[used++] = ' ';
    }
  }
  words[used] = '\0';
  if (form->elided && used + strlen(form->elided) < size) {
    memcpy(words + used, form->elided, strlen(form->elided) + 1);
  }
}

static void put_attr_dict(struct mlir_printer *p, const struct ir_op_data *op, const struct form *form) {
  char words[256];
  if (op->attr_count > 0) {
    collect_elided(form, words, sizeof words);
    mlir_print_attr_dict(p, op, words, NULL);
  }
}

/* ---- types in formats ------------------------------------------------------------------------------------------- */

static struct ir_type operand_type(const struct ir_module *m, const struct ir_op_data *op, uint32_t i) {
  return ir_value_type(m, (struct ir_value){m->lists.data[op->operand_first + i]});
}

static struct ir_type result_type(const struct ir_module *m, const struct ir_op_data *op) {
  return ir_value_type(m, (struct ir_value){op->result_first});
}

static bool operands_have_type(const struct ir_module *m, const struct ir_op_data *op, uint32_t first,
                               struct ir_type type) {
  for (uint32_t i = first; i < op->operand_count; i++) {
    if (operand_type(m, op, i).id != type.id) {
      return false;
    }
  }
  return true;
}

static bool results_have_operand_types(const struct ir_module *m, const struct ir_op_data *op) {
  bool fits = op->result_count == op->operand_count;
  for (uint32_t i = 0; fits && i < op->operand_count; i++) {
    fits = operand_type(m, op, i).id == ir_value_type(m, (struct ir_value){op->result_first + i}).id;
  }
  return fits;
}

/* True when `real` is the tensor type of the real parts of `complex`. */
static bool is_real_type_of(const struct ir_module *m, struct ir_type real, struct ir_type complex) {
  const struct ir_type_data *r = ir_type_get(m, real), *c = ir_type_get(m, complex);
  enum dtype part = c->dtype == DTYPE_C64 ? DTYPE_F32 : c->dtype == DTYPE_C128 ? DTYPE_F64 : DTYPE_NONE;
  return part != DTYPE_NONE && r->kind == c->kind && r->kind == IR_TYPE_TENSOR && r->dtype == part && r->rank == c->rank
         && r->encoding.id == c->encoding.id
         && (r->rank == 0 || memcmp(ir_type_dims(m, real), ir_type_dims(m, complex), r->rank * sizeof(int64_t)) == 0);
}

static bool is_tuple_of_operands(const struct ir_module *m, const struct ir_op_data *op) {
  const struct ir_type_data *tuple = ir_type_get(m, result_type(m, op));
  bool fits = tuple->kind == IR_TYPE_TUPLE && tuple->count == op->operand_count;
  for (uint32_t i = 0; fits && i < tuple->count; i++) {
    fits = operand_type(m, op, i).id == m->lists.data[tuple->first + i];
  }
  return fits;
}

static bool is_pair_of_ui64(const struct ir_module *m, struct ir_type type) {
  const struct ir_type_data *t = ir_type_get(m, type);
  return t->kind == IR_TYPE_TENSOR && t->dtype == DTYPE_UI64 && t->rank == 1 && ir_type_dims(m, type)[0] == 2
         && t->encoding.id == 0;
}

static void put_operand_types(struct mlir_printer *p, const struct ir_op_data *op) {
  for (uint32_t i = 0; i < op->operand_count; i++) {
    strbuf_puts(p->out, i > 0 ? ", " : "");
    mlir_put_type(p->module, operand_type(p->module, op, i), p->out);
  }
}

static void put_result_types(struct mlir_printer *p, const struct ir_op_data *op) {
  for (uint32_t i = 0; i < op->result_count; i++) {
    strbuf_puts(p->out, i > 0 ? ", " : "");
    mlir_put_type(p->module, ir_value_type(p->module, (struct ir_value){op->result_first + i}), p->out);
  }
}

static bool put_types(struct mlir_printer *p, const struct ir_op_data *op, char kind) {
  const struct ir_module *m = p->module;
  switch (kind) {
  case 'o':
    put_operand_types(p, op);
    return true;
  case '0': /* one type for all operands */
    mlir_put_type(m, op->operand_count ? operand_type(m, op, 0) : m->none_type, p->out);
    return op->operand_count > 0 && operands_have_type(m, op, 1, operand_type(m, op, 0));
  case 'b':
    put_operand_types(p, op);
    return results_have_operand_types(m, op);
  case 'm':
    put_result_types(p, op);
    return op->operand_count == 1 && op->result_count == 1 && operands_have_type(m, op, 0, result_type(m, op));
  case 'e': /* one type for all operands and the result */
    put_result_types(p, op);
    return op->operand_count == 2 && operands_have_type(m, op, 0, result_type(m, op));
  case 'r':
    put_result_types(p, op);
    return true;
  case '2': /* not written, the only type that the operation can have */
    return is_pair_of_ui64(m, result_type(m, op));
  case 't':
    put_result_types(p, op);
    return is_tuple_of_operands(m, op);
  case 'p':
    strbuf_putc(p->out, '(');
    put_result_types(p, op);
    strbuf_putc(p->out, ')');
    return true;
  case 's':
    if (op->result_count == 1 && operands_have_type(m, op, 0, result_type(m, op))) {
      mlir_put_type(m, result_type(m, op), p->out);
      return true;
    }
    break;
  case 'S':
    if (op->operand_count == 3 && op->result_count == 1 && operands_have_type(m, op, 1, result_type(m, op))) {
      mlir_put_type(m, operand_type(m, op, 0), p->out);
      strbuf_puts(p->out, ", ");
      mlir_put_type(m, result_type(m, op), p->out);
      return true;
    }
    break;
  case 'C':
    if (op->operand_count == 2 && op->result_count == 1
        && is_real_type_of(m, operand_type(m, op, 0), result_type(m, op))
        && operand_type(m, op, 0).id == operand_type(m, op, 1).id) {
      mlir_put_type(m, result_type(m, op), p->out);
      return true;
    }
    break;
  default:
    break;
  }
  mlir_print_functional_type(p, op);
  return true;
}

/* ---- interpreter ------------------------------------------------------------------------------------------------ */

struct format_state {
  struct mlir_printer *p;
  struct ir_op op;
  const struct ir_op_data *data;
  const struct form *form;
  const char *at;
};

static bool run_operand(struct format_state *s) {
  char kind = *s->at++;
  if (kind == 'o') {
    mlir_print_operands(s->p, s->data, 0);
    return true;
  }
  bool is_rest = kind == '+';
  uint32_t first = (uint32_t)((is_rest ? *s->at++ : kind) - '0');
  if (is_rest && first < s->data->operand_count) {
    strbuf_puts(s->p->out, ", ");
    mlir_print_operands(s->p, s->data, first);
  }
  if (!is_rest && first < s->data->operand_count) {
    mlir_print_value(s->p, (struct ir_value){s->p->module->lists.data[s->data->operand_first + first]});
  }
  return is_rest || first < s->data->operand_count;
}

/* The name in braces at the cursor; 0 when the operation does not have it. */
static struct ir_attr take_attr(struct format_state *s) {
  size_t length = strcspn(s->at, "}");
  struct ir_attr attr = find_attr(s->p->module, s->data, s->at + 1, length - 1);
  s->at += length + 1;
  return attr;
}

/* Whether the word of an enumeration alone says all of the attribute `name`. */
static bool has_word_form(const struct format_state *s, struct ir_attr attr, const char *name, size_t length) {
  static const struct {
    const char *name, *mnemonic;
  } others[] = {{"compare_type", "comparison_type"}, {"allowed_direction", "propagation_direction"}};
  const struct ir_module *m = s->p->module;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    if (strlen(others[i].name) == length && memcmp(others[i].name, name, length) == 0) {
      return mlir_is_own_enum(m, s->data, ir_attr_get(m, attr), others[i].mnemonic, strlen(others[i].mnemonic));
    }
  }
  return mlir_is_own_enum(m, s->data, ir_attr_get(m, attr), name, length);
}

static bool run_attribute(struct format_state *s) {
  char kind = *s->at++;
  const char *name = s->at + 1;
  struct ir_attr attr = take_attr(s);
  size_t length = (size_t)(s->at - name) - 1;
  return attr.id != 0 && (kind != 'e' || has_word_form(s, attr, name, length))
         && put_attribute(s->p, s->data, kind, name, length, attr);
}

/* Conditional group: skips to after the '|' when the condition does not hold. */
static void run_group(struct format_state *s, bool is_negated) {
  bool holds;
  if (*s->at == '%') {
    s->at++;
    holds = (s->data->operand_count > 0) != is_negated;
  } else {
    holds = take_attr(s).id != 0;
  }
  if (!holds) {
    s->at += strcspn(s->at, "|") + 1;
  }
}

static bool run_part(struct format_state *s) {
  char letter = *s->at++;
  for (size_t i = 0; i < sizeof part_forms / sizeof part_forms[0]; i++) {
    if (part_forms[i].letter == letter) {
      return part_forms[i].function(s->p, s->op);
    }
  }
  return false;
}

static bool run_directive(struct format_state *s, char c) {
  switch (c) {
  case '%':
    return run_operand(s);
  case '$':
    return run_attribute(s);
  case '?':
  case '!':
    run_group(s, c == '!');
    return true;
  case '|':
    return true;
  case '*':
    put_attr_dict(s->p, s->data, s->form);
    return true;
  case '~':
    return put_types(s->p, s->data, *s->at++);
  case '#':
    return run_part(s);
  default:
    strbuf_putc(s->p->out, c);
    return true;
  }
}

static bool run_format(struct mlir_printer *p, struct ir_op op, const struct form *form) {
  struct format_state s = {p, op, ir_op_get(p->module, op), form, form->format};
  while (*s.at) {
    if (!run_directive(&s, *s.at++)) {
      return false;
    }
  }
  return true;
}

/* The counts that the formats rely on; a malformed operation prints in the generic form. */
static bool fits_counts(const struct ir_op_data *op, const struct form *form) {
  const struct ir_op_info *info = ir_opcode_info((enum ir_opcode)op->opcode);
  bool prints_all_regions = form->format && strstr(form->format, "#R") != NULL;
  return op->operand_count >= (uint32_t)info->operands_min && op->result_count >= (uint32_t)info->results_min
         && (info->operands_max < 0 || op->operand_count <= (uint32_t)info->operands_max)
         && (info->results_max < 0 || op->result_count <= (uint32_t)info->results_max)
         && (prints_all_regions || op->region_count == (uint32_t)info->regions_min) && op->successor_count == 0;
}

void mlir_print_name(struct mlir_printer *p, const struct ir_op_data *op) {
  const char *name = ir_text(p->module, op->name);
  size_t length = strlen(p->default_dialect);
  bool is_default = length > 0 && strncmp(name, p->default_dialect, length) == 0;
  strbuf_puts(p->out, is_default ? name + length : name);
}

/* The form of an operation, NULL when it prints in the generic form. */
static const struct form *find_form(const struct ir_module *m, const struct ir_op_data *op) {
  const char *name = ir_text(m, op->name);
  if (op->opcode == IR_OP_UNKNOWN) {
    for (size_t i = 0; i < sizeof named_forms / sizeof named_forms[0]; i++) {
      if (strcmp(named_forms[i].name, name) == 0) {
        bool fits = named_forms[i].form.function
                    || (op->result_count == 1 && op->operand_count > 0 && op->region_count + op->successor_count == 0
                        && !mlir_has_property(m, op));
        return fits ? &named_forms[i].form : NULL;
      }
    }
    return NULL;
  }
  const struct form *form = &forms[op->opcode];
  bool is_generic = (!form->format && !form->function) || (form->is_not_mhlo && strncmp(name, "mhlo.", 5) == 0);
  return is_generic || !fits_counts(op, form) ? NULL : form;
}

bool mlir_print_pretty(struct mlir_printer *p, struct ir_op op) {
  const struct ir_op_data *data = ir_op_get(p->module, op);
  const struct form *form = find_form(p->module, data);
  if (!form) {
    return false;
  }
  size_t start = p->out->length;
  if (form->function) {
    if (form->function(p, op)) {
      return true;
    }
  } else {
    mlir_print_name(p, data);
    if (run_format(p, op, form)) {
      return true;
    }
  }
  if (!p->out->failed && p->out->length > start) {
    p->out->length = start;
    p->out->data[start] = '\0';
  }
  return false;
}
