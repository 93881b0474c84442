/* Writers of large, deep and exploding inputs (hostile_cases.def). */
#include "hostile_texts.h"

#include <stdio.h>

/* ---- many of one thing ------------------------------------------------------------------------------------------- */

void hostile_chain(struct strbuf *out) {
  strbuf_puts(out, "func.func @main(%v0: tensor<8xf32>) -> tensor<8xf32> {\n");
  for (int i = 0; i < 100000; i++) {
    strbuf_printf(out, "%%v%d = stablehlo.negate %%v%d : tensor<8xf32>\n", i + 1, i);
  }
  strbuf_puts(out, "return %v100000 : tensor<8xf32>\n}\n");
}

/* Every operation uses a value of the next line (a region that is a graph). */
void hostile_backwards(struct strbuf *out) {
  for (int i = 0; i < 100000; i++) {
    strbuf_printf(out, "%%v%d = \"foo.x\"(%%v%d) : (i1) -> i1\n", i, i + 1);
  }
  strbuf_puts(out, "%v100000 = \"foo.y\"() : () -> i1\n");
}

void hostile_attributes(struct strbuf *out) {
  strbuf_puts(out, "\"foo.x\"() {");
  for (int i = 0; i < 100000; i++) {
    strbuf_printf(out, "%sa%d = %d", i > 0 ? ", " : "", (i * 7919) % 100000, i);
  }
  strbuf_puts(out, "} : () -> ()\n");
}

void hostile_blocks(struct strbuf *out) {
  strbuf_puts(out, "\"foo.x\"() ({\n");
  for (int i = 0; i < 50000; i++) { /* nothing may branch to the first block */
    strbuf_printf(out, "^bb%d:\n\"foo.br\"()[^bb%d] : () -> ()\n", i, 1 + (i + 1) % 49999);
  }
  strbuf_puts(out, "}) : () -> ()\n");
}

void hostile_functions(struct strbuf *out) {
  strbuf_puts(out, "func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> { return %a : tensor<8xf32> }\n");
  for (int i = 0; i < 50000; i++) {
    strbuf_printf(out, "func.func private @f%d(%%a: tensor<8xf32>) -> tensor<8xf32> { return %%a : tensor<8xf32> }\n",
                  i);
  }
}

void hostile_aliases(struct strbuf *out) {
  for (int i = 0; i < 50000; i++) {
    strbuf_printf(out, "#a%d = \"text %d\"\n", i, i);
  }
  strbuf_puts(out, "\"foo.x\"() {a = #a0, b = #a49999} : () -> ()\n");
}

static void put_types(struct strbuf *out, int count) {
  for (int i = 0; i < count; i++) {
    strbuf_puts(out, i > 0 ? ", tensor<f32>" : "tensor<f32>");
  }
}

void hostile_arguments(struct strbuf *out) {
  strbuf_puts(out, "func.func @main(");
  for (int i = 0; i < 70000; i++) {
    strbuf_printf(out, "%s%%a%d: tensor<f32>", i > 0 ? ", " : "", i);
  }
  strbuf_puts(out, ") -> (");
  put_types(out, 70000);
  strbuf_puts(out, ") {\nreturn ");
  for (int i = 0; i < 70000; i++) {
    strbuf_printf(out, "%s%%a%d", i > 0 ? ", " : "", i);
  }
  strbuf_puts(out, " : ");
  put_types(out, 70000);
  strbuf_puts(out, "\n}\n");
}

/* More loop values than a task has room for in 16 bits. */
void hostile_loop_values(struct strbuf *out) {
  enum { VALUES = 70000 };
  strbuf_puts(out, "func.func @main(%x: tensor<f32>, %p: tensor<i1>) {\n");
  strbuf_printf(out, "%%r:%d = stablehlo.while(", VALUES);
  for (int i = 0; i < VALUES; i++) {
    strbuf_printf(out, "%s%%i%d = %%x", i > 0 ? ", " : "", i);
  }
  strbuf_puts(out, ") : ");
  put_types(out, VALUES);
  strbuf_puts(out, " cond {\nstablehlo.return %p : tensor<i1>\n} do {\nstablehlo.return ");
  for (int i = 0; i < VALUES; i++) {
    strbuf_printf(out, "%s%%i%d", i > 0 ? ", " : "", i);
  }
  strbuf_puts(out, " : ");
  put_types(out, VALUES);
  strbuf_puts(out, "\n}\nreturn\n}\n");
}

/* One value with 20,000 readers that are all joined again: dear for fusion that looks at every pair. */
void hostile_star(struct strbuf *out) {
  strbuf_puts(out, "func.func @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {\n"
                   "%s0 = stablehlo.exponential %x : tensor<1024xf32>\n");
  for (int i = 0; i < 20000; i++) {
    strbuf_printf(out,
                  "%%r%d = stablehlo.negate %%s0 : tensor<1024xf32>\n"
                  "%%s%d = stablehlo.add %%s%d, %%r%d : tensor<1024xf32>\n",
                  i, i + 1, i, i);
  }
  strbuf_puts(out, "return %s20000 : tensor<1024xf32>\n}\n");
}

/* 300 layers of 32 values; each value reads two of the layer before. */
void hostile_layers(struct strbuf *out) {
  enum { LAYERS = 300, WIDTH = 32 };
  strbuf_puts(out, "func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {\n");
  for (int i = 0; i < WIDTH; i++) {
    strbuf_printf(out, "%%v0_%d = stablehlo.exponential %%x : tensor<64x64xf32>\n", i);
  }
  for (int l = 1; l < LAYERS; l++) {
    for (int i = 0; i < WIDTH; i++) {
      strbuf_printf(out, "%%v%d_%d = stablehlo.add %%v%d_%d, %%v%d_%d : tensor<64x64xf32>\n", l, i, l - 1, i, l - 1,
                    (i * 5 + l) % WIDTH);
    }
  }
  strbuf_printf(out, "return %%v%d_0 : tensor<64x64xf32>\n}\n", LAYERS - 1);
}

void hostile_big_dense(struct strbuf *out) {
  strbuf_puts(out, "\"foo.x\"() {a = dense<[");
  for (int i = 0; i < 200000; i++) {
    strbuf_printf(out, "%s%d.5", i > 0 ? ", " : "", i);
  }
  strbuf_puts(out, "]> : tensor<200000xf32>} : () -> ()\n");
}

void hostile_big_hex(struct strbuf *out) {
  strbuf_puts(out, "\"foo.x\"() {a = dense<\"0x");
  for (int i = 0; i < 200000; i++) {
    strbuf_printf(out, "%08X", (unsigned)i * 2654435761u);
  }
  strbuf_puts(out, "\"> : tensor<200000xi32>} : () -> ()\n");
}

void hostile_big_resource(struct strbuf *out) {
  strbuf_puts(out, "\"foo.x\"() {a = dense_resource<blob> : tensor<4xf32>} : () -> ()\n"
                   "{-#\n  dialect_resources: {\n    builtin: {\n      blob: \"0x04000000");
  strbuf_fill(out, 'A', 2000000);
  strbuf_puts(out, "\"\n    }\n  }\n#-}\n");
}

/* ---- aliases and types ------------------------------------------------------------------------------------------- */

void hostile_alias_cycle(struct strbuf *out) {
  strbuf_puts(out, "\"foo.x\"() {a = #a, b = #c} : () -> !t\n#a = [#b]\n#b = {x = #a}\n#c = #c\n!t = tuple<!t>\n");
}

void hostile_alias_chain(struct strbuf *out) {
  for (int i = 0; i < 20000; i++) {
    strbuf_printf(out, "#a%d = #a%d\n", i, i + 1);
  }
  strbuf_puts(out, "#a20000 = 1\n\"foo.x\"() {a = #a0} : () -> ()\n");
}

/* 60 aliases of two uses each: 2^60 leaves when written out. */
static void put_doubling(struct strbuf *out, const char *sigil, const char *leaf, const char *left, const char *right) {
  strbuf_printf(out, "%sa0 = %s\n", sigil, leaf);
  for (int i = 1; i <= 60; i++) {
    strbuf_printf(out, "%sa%d = %s%sa%d, %sa%d%s\n", sigil, i, left, sigil, i - 1, sigil, i - 1, right);
  }
}

void hostile_alias_doubling(struct strbuf *out) {
  put_doubling(out, "#", "1", "[", "]");
  strbuf_puts(out, "\"foo.x\"() {a = #a60} : () -> ()\n");
}

void hostile_type_doubling(struct strbuf *out) {
  put_doubling(out, "!", "tensor<f32>", "tuple<", ">");
  strbuf_puts(out, "func.func @main(%a: !a60) -> !a60 { return %a : !a60 }\n");
}

void hostile_function_doubling(struct strbuf *out) {
  put_doubling(out, "!", "i1", "(", ") -> i1");
  strbuf_puts(out, "\"foo.x\"() {a = !a60} : () -> ()\n");
}

void hostile_location_doubling(struct strbuf *out) {
  strbuf_puts(out, "#loc0 = loc(unknown)\n");
  for (int i = 1; i <= 60; i++) {
    strbuf_printf(out, "#loc%d = loc(fused[#loc%d, #loc%d])\n", i, i - 1, i - 1);
  }
  strbuf_puts(out, "func.func @main() { return } loc(#loc60)\n");
}

/* The same without aliases: each tuple holds the one before twice. */
void hostile_tuple_doubling(struct strbuf *out) {
  strbuf_puts(out, "!a0 = tensor<f32>\n");
  for (int i = 1; i <= 40; i++) {
    strbuf_printf(out, "!a%d = tuple<!a%d, !a%d>\n", i, i - 1, i - 1);
  }
  strbuf_puts(out, "func.func @main(%v0: !a0) -> !a0 {\n");
  for (int i = 1; i <= 40; i++) {
    strbuf_printf(out, "%%v%d = \"stablehlo.tuple\"(%%v%d, %%v%d) : (!a%d, !a%d) -> !a%d\n", i, i - 1, i - 1, i - 1,
                  i - 1, i);
  }
  strbuf_puts(out, "return %v0 : !a0\n}\n");
}

/* ---- calls, loops, branches -------------------------------------------------------------------------------------- */

static void put_doubling_calls(struct strbuf *out, int depth, const char *leaf) {
  strbuf_printf(out,
                "func.func @main(%%a: tensor<8xf32>) -> tensor<8xf32> {\n%%b = call @f%d(%%a) : (tensor<8xf32>) -> "
                "tensor<8xf32>\nreturn %%b : tensor<8xf32>\n}\n",
                depth);
  for (int i = depth; i > 0; i--) {
    strbuf_printf(out,
                  "func.func private @f%d(%%a: tensor<8xf32>) -> tensor<8xf32> {\n"
                  "%%b = call @f%d(%%a) : (tensor<8xf32>) -> tensor<8xf32>\n"
                  "%%c = call @f%d(%%b) : (tensor<8xf32>) -> tensor<8xf32>\nreturn %%c : tensor<8xf32>\n}\n",
                  i, i - 1, i - 1);
  }
  strbuf_printf(out, "func.func private @f0(%%a: tensor<8xf32>) -> tensor<8xf32> {\n%sreturn %%a : tensor<8xf32>\n}\n",
                leaf);
}

/* 2^40 calls. */
void hostile_calls_doubling(struct strbuf *out) {
  put_doubling_calls(out, 40, "%b = stablehlo.exponential %a : tensor<8xf32>\n");
}

/* 2^40 calls that contain no task: a budget of tasks alone would never be reached. */
void hostile_calls_doubling_empty(struct strbuf *out) {
  put_doubling_calls(out, 40, "");
}

void hostile_calls_deep(struct strbuf *out) {
  enum { DEPTH = 10000 };
  strbuf_puts(out, "func.func @main() {\ncall @f0() : () -> ()\nreturn\n}\n");
  for (int i = 0; i < DEPTH; i++) {
    strbuf_printf(out, "func.func private @f%d() {\ncall @f%d() : () -> ()\nreturn\n}\n", i, i + 1);
  }
  strbuf_printf(out, "func.func private @f%d() {\nreturn\n}\n", DEPTH);
}

/* 2,000 calls of a function of 2,000 operations. */
void hostile_calls_wide(struct strbuf *out) {
  strbuf_puts(out, "func.func @main(%v0: tensor<8xf32>) -> tensor<8xf32> {\n");
  for (int i = 0; i < 2000; i++) {
    strbuf_printf(out, "%%v%d = call @f(%%v%d) : (tensor<8xf32>) -> tensor<8xf32>\n", i + 1, i);
  }
  strbuf_puts(out, "return %v2000 : tensor<8xf32>\n}\nfunc.func private @f(%v0: tensor<8xf32>) -> tensor<8xf32> {\n");
  for (int i = 0; i < 2000; i++) {
    strbuf_printf(out, "%%v%d = stablehlo.negate %%v%d : tensor<8xf32>\n", i + 1, i);
  }
  strbuf_puts(out, "return %v2000 : tensor<8xf32>\n}\n");
}

void hostile_calls_circle(struct strbuf *out) {
  enum { LENGTH = 5000 };
  strbuf_puts(out, "func.func @main() {\ncall @f0() : () -> ()\nreturn\n}\n");
  for (int i = 0; i < LENGTH; i++) {
    strbuf_printf(out, "func.func private @f%d() {\ncall @f%d() : () -> ()\nreturn\n}\n", i, (i + 1) % LENGTH);
  }
}

static void put_loop_head(struct strbuf *out, int number, const char *start, const char *end) {
  strbuf_printf(out,
                "%%s%d = stablehlo.constant dense<%s> : tensor<i64>\n"
                "%%r%d:2 = stablehlo.while(%%i%d = %%s%d, %%x%d = %%x%d) : tensor<i64>, tensor<8x8xf32> cond {\n"
                "%%e%d = stablehlo.constant dense<%s> : tensor<i64>\n"
                "%%p%d = stablehlo.compare LT, %%i%d, %%e%d, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
                "stablehlo.return %%p%d : tensor<i1>\n} do {\n",
                number, start, number, number, number, number + 1, number, number, end, number, number, number, number);
}

/* `value` is what the next iteration gets; nothing is dead, so that nothing may be left out. */
static void put_loop_tail(struct strbuf *out, int number, const char *value) {
  strbuf_printf(out,
                "%%o%d = stablehlo.constant dense<1> : tensor<i64>\n"
                "%%n%d = stablehlo.add %%i%d, %%o%d : tensor<i64>\n"
                "stablehlo.return %%n%d, %s : tensor<i64>, tensor<8x8xf32>\n}\n",
                number, number, number, number, number, value);
}

/* Ten loops in each other, each of nearly 2^63 iterations. */
void hostile_loops_saturating(struct strbuf *out) {
  strbuf_puts(out, "func.func @main(%x0: tensor<8x8xf32>) -> tensor<8x8xf32> {\n");
  for (int i = 0; i < 10; i++) {
    put_loop_head(out, i, i % 2 == 0 ? "0" : "-9223372036854775808", "9223372036854775807");
  }
  strbuf_puts(out, "%d = stablehlo.dot_general %x10, %x10, contracting_dims = [1] x [0] : (tensor<8x8xf32>, "
                   "tensor<8x8xf32>) -> tensor<8x8xf32>\n");
  for (int i = 9; i >= 0; i--) {
    char value[16] = "%d";
    if (i < 9) {
      (void)snprintf(value, sizeof value, "%%r%d#1", i + 1);
    }
    put_loop_tail(out, i, value);
  }
  strbuf_puts(out, "return %r0#1 : tensor<8x8xf32>\n}\n");
}

void hostile_loops_deep(struct strbuf *out) {
  enum { DEPTH = 10000 };
  strbuf_puts(out, "func.func @main(%i0: tensor<i1>) {\n");
  for (int i = 1; i <= DEPTH; i++) {
    strbuf_printf(out,
                  "%%r%d = stablehlo.while(%%i%d = %%i%d) : tensor<i1> cond {\n"
                  "stablehlo.return %%i%d : tensor<i1>\n} do {\n",
                  i, i, i - 1, i);
  }
  for (int i = DEPTH; i > 0; i--) {
    strbuf_printf(out, "stablehlo.return %%i%d : tensor<i1>\n}\n", i);
  }
  strbuf_puts(out, "return\n}\n");
}

/* 30 functions; each runs the next one in two loops. */
void hostile_loops_of_calls(struct strbuf *out) {
  strbuf_puts(out, "func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {\n"
                   "%y = call @f0(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>\nreturn %y : tensor<8x8xf32>\n}\n");
  for (int f = 0; f < 30; f++) {
    strbuf_printf(out, "func.func private @f%d(%%x0: tensor<8x8xf32>) -> tensor<8x8xf32> {\n", f);
    for (int i = 0; i < 2; i++) {
      put_loop_head(out, i, "0", "1000");
      strbuf_printf(out, "%%c = func.call @f%d(%%x%d) : (tensor<8x8xf32>) -> tensor<8x8xf32>\n", f + 1, i + 1);
      put_loop_tail(out, i, "%c");
      strbuf_printf(out, "%%x%d = stablehlo.negate %%r%d#1 : tensor<8x8xf32>\n", i + 1, i);
    }
    strbuf_puts(out, "return %x2 : tensor<8x8xf32>\n}\n");
  }
  strbuf_puts(out, "func.func private @f30(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {\n"
                   "%y = stablehlo.negate %x : tensor<8x8xf32>\nreturn %y : tensor<8x8xf32>\n}\n");
}

/* 40 functions; each calls the next one in both branches of an if. */
void hostile_branches_doubling(struct strbuf *out) {
  enum { DEPTH = 40 };
  strbuf_puts(out,
              "func.func @main(%p: tensor<i1>, %x: tensor<8xf32>) -> tensor<8xf32> {\n"
              "%y = call @f0(%p, %x) : (tensor<i1>, tensor<8xf32>) -> tensor<8xf32>\nreturn %y : tensor<8xf32>\n}\n");
  for (int i = 0; i < DEPTH; i++) {
    strbuf_printf(out,
                  "func.func private @f%d(%%p: tensor<i1>, %%x: tensor<8xf32>) -> tensor<8xf32> {\n"
                  "%%y = \"stablehlo.if\"(%%p) ({\n"
                  "%%a = func.call @f%d(%%p, %%x) : (tensor<i1>, tensor<8xf32>) -> tensor<8xf32>\n"
                  "stablehlo.return %%a : tensor<8xf32>\n}, {\n"
                  "%%b = func.call @f%d(%%p, %%x) : (tensor<i1>, tensor<8xf32>) -> tensor<8xf32>\n"
                  "stablehlo.return %%b : tensor<8xf32>\n}) : (tensor<i1>) -> tensor<8xf32>\n"
                  "return %%y : tensor<8xf32>\n}\n",
                  i, i + 1, i + 1);
  }
  strbuf_printf(out,
                "func.func private @f%d(%%p: tensor<i1>, %%x: tensor<8xf32>) -> tensor<8xf32> {\n"
                "%%y = stablehlo.negate %%x : tensor<8xf32>\nreturn %%y : tensor<8xf32>\n}\n",
                DEPTH);
}

/* ---- aliases of types and locations -------------------------------------------------------------------------------- */

/* #loc(n) is a call site of two #loc(n - 1). */
void hostile_location_aliases_doubling(struct strbuf *out) {
  strbuf_puts(out, "#loc0 = loc(\"a\":1:1)\n");
  for (int i = 1; i <= 64; i++) {
    strbuf_printf(out, "#loc%d = loc(callsite(#loc%d at #loc%d))\n", i, i - 1, i - 1);
  }
  strbuf_puts(out, "func.func @f() { return } loc(#loc64)\n");
}

void hostile_location_alias_cycle(struct strbuf *out) {
  enum { LENGTH = 10000 };
  for (int i = 0; i < LENGTH; i++) {
    strbuf_printf(out, "#loc%d = loc(\"a\"(#loc%d))\n", i, (i + 1) % LENGTH);
  }
  strbuf_puts(out, "func.func @f() { return } loc(#loc0)\n");
}

void hostile_type_alias_cycle(struct strbuf *out) {
  enum { LENGTH = 10000 };
  for (int i = 0; i < LENGTH; i++) {
    strbuf_printf(out, "!t%d = tuple<!t%d>\n", i, (i + 1) % LENGTH);
  }
  strbuf_puts(out, "func.func private @f(!t0)\n");
}
