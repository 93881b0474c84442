"""Short texts for compare_texts.py: each spelling of attributes, types, locations and structure, right and wrong ones."""

INTEGERS = ["i1", "i2", "i4", "i8", "i16", "i32", "i64", "ui2", "ui4", "ui8", "ui16", "ui32", "ui64", "index"]
FLOATS = ["f16", "bf16", "f32", "f64", "tf32", "f8E5M2", "f8E4M3", "f8E4M3FN", "f8E5M2FNUZ", "f8E4M3FNUZ", "f8E4M3B11FNUZ",
          "f8E3M4", "f8E8M0FNU", "f4E2M1FN", "f6E2M3FN", "f6E3M2FN"]
COMPLEX = ["complex<f32>", "complex<f64>"]

INTEGER_VALUES = ["0", "1", "-1", "127", "-128", "255", "true", "0x7F", "9223372036854775808", "1.0", "-0"]
FLOAT_VALUES = ["0.0", "-0.0", "1.5e10", "0x7F", "0x0", "1", "0x7FC00000", "3.14159", "nan", ".5", "5."]
COMPLEX_VALUES = ["(1.0,2.0)", "[(1.0,2.0), (3.0,4.0)]", "(1, 2)", "1.0", "(1.0,-0.0)", "(0x7FC00000,0x0)"]
BLOBS = ['"0x00"', '"0x0000"', '"0x01000000FFFFFFFF"', '"0x"', '"0xZZ"', "[]", ""]

ATTRIBUTES = r'''
unit | "s" | "s" : i32 | "a\22b\\c\n\t" | "\C3\A9" | "é" | "\00" | "\zz" | "a\" | @a | @"a b" | @a::@b | @a::@"b c" | @a :: @b
@0 | @a-b | @"\22" | [1, 2] | [] | [1,] | [[1], [2, "x"]] | {} | {a, b = 1} | {"a b" = 1} | {a = 1, a = 2} | {"" = 1} | i32
() -> () | (i32) -> i32 | (i32, i32) -> (i32, f32) | () -> (() -> ()) | !t.x | !t.x<1, {a}> | #t.x | #t.x<1> | #t<"a>b">
#t.x<a->b> | #t.x<(>)> | #t.x : i32 | true | false | true : i32 | -1 | 1.0 | 0x10 | 1 : index | 1 : none | none
array<i1: true, false> | array<i1: 1> | array<i32> | array<i33: 1> | array<f32: 1.0, 0x7FC00000> | array<index: 1>
array<si32: 1, 2> | array<i8: 200> | dense<1> | dense_resource<a> | strided<[1]> | strided<[1, ?], offset: ?>
strided<[4, 1], offset:0> | strided<[], offset: 3> | memref<2x?xf32> | memref<4xf32, 1> | memref<*xf32, 1>
memref<4x4xf32, strided<[4, 1], offset: 3>, 2> | tuple<> | tuple<i32, tuple<>> | vector<4xf32> | complex<f32> | # | ! | @ | %a
1.0 : i32 | 1 : f32 | 5 : si8 | 200 : si8 | 0x7F : i7 | -1 : i128 | 1.0 : f80 | f33 | i16777216 | !stablehlo.token
!stablehlo.future<tensor<2xf32>> | !stablehlo.future<> | !stablehlo.foo | !mhlo.token | !mhlo.foo | !chlo.x | token
#stablehlo<precision HIGHEST> | #chlo<comparison_direction EQ> | #stablehlo<transpose ADJOINT> | #stablehlo.bounds<1, ?>
#stablehlo.type_extensions<bounds = [1, ?]> | #stablehlo.channel_handle<handle = 1, type = 2> | #stablehlo.gather<>
#stablehlo.gather<index_vector_dim = 1, offset_dims = [0]> | #stablehlo.scatter<update_window_dims = [0]> | #stablehlo.dot<>
#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]> | #stablehlo.result_accuracy_mode<DEFAULT> | #mhlo<fusion_kind kLoop>
#stablehlo.result_accuracy<atol = 1.0e-5, rtol = 0.0, ulps = 1, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>
#stablehlo.mesh<axes=[<name = "x", size = 2>], device_ids=dense<[1, 0]> : tensor<2xi64>> | #mhlo.rng_distribution<UNIFORM>
#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2> | #sdy.mesh<["x"=2, "y"=4]> | #sdy.mesh<[], device_ids=[1]>
#sdy.sharding<@m, [{"x", ?}, {"y":(1)2}p1], replicated={"z"}> | #sdy.sharding_per_value<[<@m, [{}]>]>
#sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=3}> | #sdy<manual_axes{"x", "y"}> | #sdy<all_to_all_param_list[{"x"}: 0->1]>
'''

TYPES = ["tensor<{}>", "tensor<2x{}>", "tensor<?x3x{}>", "tensor<*x{}>", "tensor< 2 x ?x{}>", "memref<2x{}>", "vector<2x{}>", "tuple<{}>"]

LOCATIONS = r'''
loc(unknown) | loc("a") | loc("a":1:2) | loc("a":1) | loc("a":1:2 to 3:4) | loc("a":1:2 to :4) | loc("n"("a":1:2)) | loc(#l)
loc(callsite("a" at "b")) | loc(callsite("a":1:2 at callsite("b" at "c"))) | loc(fused["a", "b"]) | loc(fused<"m">["a"]) | loc()
loc("a\22b") | loc(a) | loc("a" "b") | loc(callsite("a", "b")) | loc(fused["a") | loc("a":-1:2) | loc( unknown )
'''

STRUCTURE = r'''
module {}
module @"a b" attributes {a.b = 1} {}
builtin.module @x {} module @y {}
module @a { module @b { module @c {} } }
"builtin.module"() ({^bb0:}) : () -> ()
func.func private @f()
func.func nested @f() { return }
func.func @f() {}
func.func @f() { ^bb0: return }
func.func @f(%a: i32) { ^bb0: return }
func.func @f(i32) { ^bb0(%b: i32): return }
func.func @f(i32) { return }
func.func @"f g"() { return }
func.func @1() { return }
func.func private @f(i32 {t.a}, i32 {t.b = 1}) -> (i32 {t.c}, i32)
func.func private @f(i32 {}) -> (i32 {}) attributes {}
func.func private @f((i32) -> i32) -> ((i32) -> i32)
func.func @f(%a: i32, %a: i32) { return }
func.func @f() { "t.x"(%0) : (f32) -> () %0 = "t.x"() : () -> i32 return }
func.func @f() { %f = constant @f : () -> () call_indirect %f() : () -> () return }
func.func @f(%a: i32) -> i32 { %f = constant @f : (i32) -> i32 %0 = call_indirect %f(%a) {t.x} : (i32) -> i32 return %0 : i32 }
func.func @f(%a: i32) -> i32 { %0 = call @f(%a) : (i32) -> i32 return %0 : i32 }
func.func @f(%a: i32) { %0 = unrealized_conversion_cast %a : i32 to f32 %1:2 = unrealized_conversion_cast %a, %0 : i32, f32 to i64, f64 return }
"t.x"(%0) : (i32) -> () %0 = "t.y"() : () -> i32
%0:2, %1 = "t.x"() : () -> (i32, i32, f32) "t.y"(%0#0, %0#1, %1) : (i32, i32, f32) -> ()
%0:2 = "t.x"() : () -> (i32, i32) "t.y"(%0#2) : (i32) -> ()
%0:0 = "t.x"() : () -> ()
%0 = "t.x"() : () -> (i32, i32)
"t.x"() <{a}> ({}) {b.c} : () -> ()
"t.x"() ({}, {}) : () -> ()
"t.x"() ({}) <{a}> : () -> ()
"t.x"() () : () -> ()
"t.x"() ({^a: "t.br"()[^b] : () -> () ^b: "t.br"()[^b, ^b] : () -> () ^c: "t.r"() : () -> ()}) : () -> ()
"t.x"() ({ "t.br"()[^nope] : () -> ()}) : () -> ()
"t.x"() ({^bb0(%a: i32 loc("x"), %b: i32):}) : () -> ()
func.func @f(%a: i1) { "scf.if"(%a) ({ "scf.yield"() : () -> () }, {}) : (i1) -> () return }
func.func @f(%a: i1, %b: i32) { "cf.cond_br"(%a, %b)[^x, ^y] <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (i1, i32) -> () ^x(%c: i32): return ^y: return }
#a = 1 #b = [#a] "t.x"() {a = #a, b = #b} : () -> ()
!t = i32 !u = tensor<2x!t> func.func private @f(!u)
#a.b = 1
#loc = loc("a") #loc1 = loc(callsite(#loc at #loc)) "t.x"() : () -> () loc(#loc1)
"t.x"() : () -> () loc(#later) #later = loc("x":5:6)
"t.x"() : () -> () loc(#nope)
"t.x"() : () -> () {-# #-}
"t.x"() {a = dense_resource<r> : tensor<2xf32>} : () -> () {-# dialect_resources: { builtin: { r: "0x040000000000803F00000040" } } #-}
"t.x"() : () -> () {-# external_resources: { mlir_reproducer: { pipeline: "x", disable_threading: true } } #-}
"t.x"() {i32 = 1, tensor = 2, loc = 4, array = 5, dense = 6, x = 8, a$b = 9, _ = 10} : () -> ()
"t.x"() {"a b" = 1, "é" = 3, "\22" = 5, "1" = 6} : () -> ()
%a-b = "t.x"() : () -> i32 "t.y"(%a-b) : (i32) -> ()
% a = "t.x"() : () -> i32
"t.x"() {a-b = 1} : () -> ()
vhlo.func_v1 @main(%arg0: !vhlo.tensor_v1<3x!vhlo.bf16_v1>) -> (!vhlo.tensor_v1<3x!vhlo.bf16_v1>, !vhlo.tensor_v1<3x!vhlo.bf16_v1>) { "vhlo.return_v1"(%arg0, %arg0) : (!vhlo.tensor_v1<3x!vhlo.bf16_v1>, !vhlo.tensor_v1<3x!vhlo.bf16_v1>) -> () } {arg_attrs = #vhlo.array_v1<[]>, res_attrs = #vhlo.array_v1<[]>, sym_visibility = #vhlo.string_v1<"private">}
func.func @f(%a: tensor<8x8xf32>) { %0 = "sdy.propagation_barrier"(%a) <{allowed_direction = 2 : i32}> : (tensor<8x8xf32>) -> tensor<8x8xf32> return }
'''


def lines(block):
    return [item.strip() for line in block.strip().splitlines() for item in line.split(" | ")]


def cases():
    """(name, text in bytes)"""
    for kinds, values in ((INTEGERS, INTEGER_VALUES), (FLOATS, FLOAT_VALUES), (COMPLEX, COMPLEX_VALUES)):
        for kind in kinds:
            for value in values:
                if kinds is not COMPLEX:
                    yield attribute(f"{value} : {kind}")
                if kinds is not COMPLEX and not (kind.startswith("ui") and value.startswith("-")):  # MLIR wraps these around
                    yield attribute(f"array<{kind}: {value}>")
                yield attribute(f"dense<{value}> : tensor<2x{kind}>")
            for blob in BLOBS:
                yield attribute(f"dense<{blob}> : tensor<2x{kind}>")
            for shape in TYPES:
                yield attribute(shape.format(kind))
    for form in lines(ATTRIBUTES):
        yield attribute(form)
    for place in lines(LOCATIONS):
        text = f'#l = loc("x":5:6)\n"t.x"() ({{^bb0(%a: i32 {place}):\n "t.y"() : () -> () {place}\n}}) : () -> () {place}\n'
        yield f"location {place}", text.encode()
    for text in STRUCTURE.strip().splitlines():
        yield f"structure {text[:60]}", (text + "\n").encode()
    blanks = '"t.x"()\t{a = 1}\r\n: // comment\n(\n)\t-> // "\n()\n'
    yield "blanks and comments", blanks.encode()
    yield "a comment alone", b"// nothing\n"


def attribute(form):
    return f"attribute {form}", f'"t.x"() {{a = {form}}} : () -> ()\n'.encode()
