/* Types in MLIR's spelling. Path: printer. */
#include "mlir/mlir_print.h"

static void put_shape(const struct ir_module *m, struct ir_type type, struct strbuf *out) {
  const int64_t *dims = ir_type_dims(m, type);
  uint32_t rank = ir_type_get(m, type)->rank;
  for (uint32_t i = 0; i < rank; i++) {
    if (dims[i] == IR_DYNAMIC) {
      strbuf_putc(out, '?');
    } else {
      strbuf_put_i64(out, dims[i]);
    }
    strbuf_putc(out, 'x');
  }
}

static void put_shaped(const struct ir_module *m, struct ir_type type, const char *keyword, struct strbuf *out) {
  const struct ir_type_data *t = ir_type_get(m, type);
  strbuf_puts(out, keyword);
  if (t->kind == IR_TYPE_UNRANKED) {
    strbuf_puts(out, "*x");
  } else {
    put_shape(m, type, out);
  }
  mlir_put_type(m, t->element, out);
  if (t->encoding.id) {
    strbuf_puts(out, ", ");
    mlir_put_attr(m, t->encoding, t->kind == IR_TYPE_MEMREF ? TYPE_UNLESS_DEFAULT : TYPE_ALWAYS, out);
  }
  strbuf_putc(out, '>');
}

static void put_list(const struct ir_module *m, uint32_t first, uint32_t count, struct strbuf *out) {
  for (uint32_t i = 0; i < count; i++) {
    if (i > 0) {
      strbuf_puts(out, ", ");
    }
    mlir_put_type(m, (struct ir_type){m->lists.data[first + i]}, out);
  }
}

static void put_function(const struct ir_module *m, const struct ir_type_data *t, struct strbuf *out) {
  strbuf_putc(out, '(');
  put_list(m, t->first, t->input_count, out);
  strbuf_puts(out, ") -> ");
  uint32_t first = t->first + t->input_count, count = t->count - t->input_count;
  /* a single result that is a function itself needs the parentheses to be unambiguous */
  bool is_bare = count == 1 && ir_type_get(m, (struct ir_type){m->lists.data[first]})->kind != IR_TYPE_FUNCTION;
  if (!is_bare) {
    strbuf_putc(out, '(');
  }
  put_list(m, first, count, out);
  if (!is_bare) {
    strbuf_putc(out, ')');
  }
}

void mlir_put_type(const struct ir_module *m, struct ir_type type, struct strbuf *out) {
  const struct ir_type_data *t = ir_type_get(m, type);
  switch ((enum ir_type_kind)t->kind) {
  case IR_TYPE_NONE:
    strbuf_puts(out, "none");
    break;
  case IR_TYPE_SCALAR:
    strbuf_puts(out, dtype_name((enum dtype)t->dtype));
    break;
  case IR_TYPE_TENSOR:
  case IR_TYPE_UNRANKED:
    put_shaped(m, type, "tensor<", out);
    break;
  case IR_TYPE_MEMREF:
    put_shaped(m, type, "memref<", out);
    break;
  case IR_TYPE_TUPLE:
    strbuf_puts(out, "tuple<");
    put_list(m, t->first, t->count, out);
    strbuf_putc(out, '>');
    break;
  case IR_TYPE_FUTURE:
    strbuf_puts(out, "!stablehlo.future<");
    put_list(m, t->first, t->count, out);
    strbuf_putc(out, '>');
    break;
  case IR_TYPE_FUNCTION:
    put_function(m, t, out);
    break;
  case IR_TYPE_QUANTIZED:
    strbuf_puts(out, ir_text(m, m->quants.data[t->quant].text));
    break;
  case IR_TYPE_TOKEN:
  case IR_TYPE_OPAQUE:
    strbuf_puts(out, ir_text(m, t->text));
    break;
  }
}

void mlir_print_type(const struct ir_module *module, struct ir_type type, struct strbuf *out) {
  mlir_put_type(module, type, out);
}
