/* Writes generated programs as StableHLO text and counts their matrix FLOPs (program_generator.h). */
#include <inttypes.h>

#include "program_generator.h"

/* ---- what is needed ---------------------------------------------------------------------------------------------- */

static void mark(struct gen_block *block, uint32_t index);

/* A live loop needs all that it returns; what its body captures is live around it. */
static void mark_body(struct gen_block *block, struct gen_block *body) {
  gen_mark_live(body);
  for (size_t i = 0; i < body->nodes.count; i++) {
    if (body->nodes.data[i].is_live && body->nodes.data[i].kind == GEN_CAPTURE) {
      mark(block, body->nodes.data[i].operands[0]);
    }
  }
}

static void mark(struct gen_block *block, uint32_t index) {
  struct gen_node *node = &block->nodes.data[index];
  if (node->is_live) {
    return;
  }
  node->is_live = true;
  for (uint32_t i = 0; i < node->operand_count; i++) {
    mark(block, node->operands[i]);
  }
  if (node->kind == GEN_WHILE) {
    mark_body(block, node->body);
  }
}

void gen_mark_live(struct gen_block *block) {
  for (size_t i = 0; i < block->nodes.count; i++) {
    block->nodes.data[i].is_live = false;
  }
  for (size_t i = 0; i < block->outputs.count; i++) {
    mark(block, block->outputs.data[i]);
  }
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void write_type(const struct gen_type *type, struct strbuf *out) {
  strbuf_puts(out, "tensor<");
  for (uint32_t i = 0; i < type->rank; i++) {
    strbuf_printf(out, "%" PRId64 "x", type->dims[i]);
  }
  strbuf_printf(out, "%s>", dtype_name(type->dtype));
}

static void write_name(const struct gen_block *block, uint32_t index, struct strbuf *out) {
  const struct gen_node *node = &block->nodes.data[index];
  if (node->kind == GEN_CAPTURE) {
    write_name(block->parent, node->operands[0], out);
  } else if (node->kind == GEN_RESULT) {
    write_name(block, node->operands[0], out);
    strbuf_printf(out, "#%" PRId64, node->lists[0].items[0] + 1); /* value 0 is the counter */
  } else {
    strbuf_printf(out, "%%v%u_%u", block->number, index);
  }
}

static void write_operands(const struct gen_block *block, const struct gen_node *node, struct strbuf *out) {
  for (uint32_t i = 0; i < node->operand_count; i++) {
    strbuf_puts(out, i > 0 ? ", " : " ");
    write_name(block, node->operands[i], out);
  }
}

static void write_list(const char *before, const struct gen_list *list, struct strbuf *out) {
  strbuf_printf(out, "%s[", before);
  for (uint32_t i = 0; i < list->count; i++) {
    strbuf_printf(out, "%s%" PRId64, i > 0 ? ", " : "", list->items[i]);
  }
  strbuf_puts(out, "]");
}

/* " : (A, B) -> C" */
static void write_signature(const struct gen_block *block, const struct gen_node *node, struct strbuf *out) {
  strbuf_puts(out, " : (");
  for (uint32_t i = 0; i < node->operand_count; i++) {
    strbuf_puts(out, i > 0 ? ", " : "");
    write_type(&block->nodes.data[node->operands[i]].type, out);
  }
  strbuf_puts(out, ") -> ");
  write_type(&node->type, out);
}

static void write_constant(const struct gen_node *node, struct strbuf *out) {
  enum dtype dtype = node->type.dtype;
  const char *value = dtype == DTYPE_I1 ? "true" : dtype == DTYPE_I32 ? "1" : "1.000000e+00";
  strbuf_printf(out, " dense<%s> : ", value);
  write_type(&node->type, out);
}

static void write_slice(const struct gen_node *node, struct strbuf *out) {
  strbuf_puts(out, " [");
  for (uint32_t i = 0; i < node->lists[0].count; i++) {
    strbuf_printf(out, "%s%" PRId64 ":%" PRId64 ":%" PRId64, i > 0 ? ", " : "", node->lists[0].items[i],
                  node->lists[1].items[i], node->lists[2].items[i]);
  }
  strbuf_puts(out, "]");
}

static void write_dot(const struct gen_node *node, struct strbuf *out) {
  if (node->lists[0].count > 0) {
    write_list(", batching_dims = ", &node->lists[0], out);
    write_list(" x ", &node->lists[2], out);
  }
  write_list(", contracting_dims = ", &node->lists[1], out);
  write_list(" x ", &node->lists[3], out);
}

static void write_reduce(const struct gen_block *block, const struct gen_node *node, struct strbuf *out) {
  strbuf_puts(out, "(");
  write_name(block, node->operands[0], out);
  strbuf_puts(out, " init: ");
  write_name(block, node->operands[1], out);
  strbuf_printf(out, ") applies stablehlo.%s across", node->word);
  write_list(" dimensions = ", &node->lists[0], out);
}

static void write_block(const struct gen_block *block, struct strbuf *out);

static void write_loop_types(const struct gen_block *body, struct strbuf *out) {
  strbuf_puts(out, "tensor<i32>");
  for (uint32_t i = 0; i < body->outputs.count; i++) {
    strbuf_puts(out, ", ");
    write_type(&body->nodes.data[i].type, out); /* the arguments are the first nodes */
  }
}

static void write_while(const struct gen_block *block, uint32_t index, struct strbuf *out) {
  const struct gen_node *node = &block->nodes.data[index];
  uint32_t n = node->body->number;
  strbuf_printf(out, "%%start%u = stablehlo.constant dense<0> : tensor<i32>\n", n);
  write_name(block, index, out);
  strbuf_printf(out, ":%u = stablehlo.while(%%i%u = %%start%u", node->operand_count + 1, n, n);
  for (uint32_t i = 0; i < node->operand_count; i++) {
    strbuf_puts(out, ", ");
    write_name(node->body, i, out);
    strbuf_puts(out, " = ");
    write_name(block, node->operands[i], out);
  }
  strbuf_puts(out, ") : ");
  write_loop_types(node->body, out);
  strbuf_printf(out,
                " cond {\n%%end%u = stablehlo.constant dense<%" PRIu64 "> : tensor<i32>\n"
                "%%goes%u = stablehlo.compare LT, %%i%u, %%end%u, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                "stablehlo.return %%goes%u : tensor<i1>\n} do {\n",
                n, node->trips, n, n, n, n);
  write_block(node->body, out);
  strbuf_printf(out,
                "%%step%u = stablehlo.constant dense<1> : tensor<i32>\n"
                "%%next%u = stablehlo.add %%i%u, %%step%u : tensor<i32>\nstablehlo.return %%next%u",
                n, n, n, n, n);
  for (uint32_t i = 0; i < node->body->outputs.count; i++) {
    strbuf_puts(out, ", ");
    write_name(node->body, node->body->outputs.data[i], out);
  }
  strbuf_puts(out, " : ");
  write_loop_types(node->body, out);
  strbuf_puts(out, "\n}\n");
}

/* What stands between the operands and the types. */
static void write_details(const struct gen_node *node, struct strbuf *out) {
  switch (node->kind) {
  case GEN_DOT:
    write_dot(node, out);
    break;
  case GEN_SLICE:
    write_slice(node, out);
    break;
  case GEN_TRANSPOSE:
  case GEN_BROADCAST:
  case GEN_REVERSE:
    write_list(", dims = ", &node->lists[0], out);
    break;
  case GEN_DYNAMIC_SLICE:
    write_list(", sizes = ", &node->lists[0], out);
    break;
  case GEN_CONCATENATE:
    strbuf_printf(out, ", dim = %" PRId64, node->lists[0].items[0]);
    break;
  case GEN_PAD:
    write_list(", low = ", &node->lists[0], out);
    write_list(", high = ", &node->lists[1], out);
    write_list(", interior = ", &node->lists[2], out);
    break;
  default:
    break;
  }
}

static const char *const op_names[GEN_KIND_COUNT] = {
    [GEN_CONSTANT] = "constant",
    [GEN_COMPARE] = "compare",
    [GEN_SELECT] = "select",
    [GEN_CONVERT] = "convert",
    [GEN_DOT] = "dot_general",
    [GEN_REDUCE] = "reduce",
    [GEN_RESHAPE] = "reshape",
    [GEN_TRANSPOSE] = "transpose",
    [GEN_BROADCAST] = "broadcast_in_dim",
    [GEN_SLICE] = "slice",
    [GEN_DYNAMIC_SLICE] = "dynamic_slice",
    [GEN_DYNAMIC_UPDATE] = "dynamic_update_slice",
    [GEN_CONCATENATE] = "concatenate",
    [GEN_PAD] = "pad",
    [GEN_IOTA] = "iota",
    [GEN_REVERSE] = "reverse",
};

static void write_node(const struct gen_block *block, uint32_t index, struct strbuf *out) {
  const struct gen_node *node = &block->nodes.data[index];
  write_name(block, index, out);
  const char *name = op_names[node->kind];
  strbuf_printf(out, " = stablehlo.%s", name != NULL ? name : node->word);
  if (node->kind == GEN_CONSTANT) {
    write_constant(node, out);
  } else if (node->kind == GEN_IOTA) {
    strbuf_printf(out, " dim = %" PRId64 " : ", node->lists[0].items[0]);
    write_type(&node->type, out);
  } else if (node->kind == GEN_REDUCE) {
    write_reduce(block, node, out);
    write_signature(block, node, out);
  } else {
    strbuf_printf(out, "%s%s", node->kind == GEN_COMPARE ? " " : "", node->kind == GEN_COMPARE ? node->word : "");
    strbuf_puts(out, node->kind == GEN_COMPARE ? "," : "");
    write_operands(block, node, out);
    write_details(node, out);
    write_signature(block, node, out);
  }
  strbuf_putc(out, '\n');
}

static void write_block(const struct gen_block *block, struct strbuf *out) {
  for (uint32_t i = 0; i < block->nodes.count; i++) {
    const struct gen_node *node = &block->nodes.data[i];
    if (!node->is_live || node->kind == GEN_ARGUMENT || node->kind == GEN_CAPTURE || node->kind == GEN_RESULT) {
      continue;
    }
    if (node->kind == GEN_WHILE) {
      write_while(block, i, out);
    } else {
      write_node(block, i, out);
    }
  }
}

static void write_arguments(const struct gen_block *program, struct strbuf *out) {
  const char *comma = "";
  for (uint32_t i = 0; i < program->nodes.count; i++) {
    if (program->nodes.data[i].is_live && program->nodes.data[i].kind == GEN_ARGUMENT) {
      strbuf_puts(out, comma);
      write_name(program, i, out);
      strbuf_puts(out, ": ");
      write_type(&program->nodes.data[i].type, out);
      comma = ", ";
    }
  }
}

static void write_output_types(const struct gen_block *program, struct strbuf *out) {
  for (uint32_t i = 0; i < program->outputs.count; i++) {
    strbuf_puts(out, i > 0 ? ", " : "");
    write_type(&program->nodes.data[program->outputs.data[i]].type, out);
  }
}

void gen_write(struct gen_block *program, struct strbuf *out) {
  gen_mark_live(program);
  strbuf_puts(out, "func.func @main(");
  write_arguments(program, out);
  strbuf_puts(out, ") -> (");
  write_output_types(program, out);
  strbuf_puts(out, ") {\n");
  write_block(program, out);
  strbuf_puts(out, "return");
  for (uint32_t i = 0; i < program->outputs.count; i++) {
    strbuf_puts(out, i > 0 ? ", " : " ");
    write_name(program, program->outputs.data[i], out);
  }
  if (program->outputs.count > 0) {
    strbuf_puts(out, " : ");
    write_output_types(program, out);
  }
  strbuf_puts(out, "\n}\n");
}

/* ---- count ------------------------------------------------------------------------------------------------------- */

static uint64_t block_flops(const struct gen_block *block) {
  uint64_t sum = 0;
  for (size_t i = 0; i < block->nodes.count; i++) {
    const struct gen_node *node = &block->nodes.data[i];
    if (!node->is_live) {
      continue;
    }
    if (node->kind == GEN_WHILE) {
      sum += node->trips * block_flops(node->body);
    } else if (node->kind == GEN_DOT) {
      const struct gen_type *left = &block->nodes.data[node->operands[0]].type;
      sum += 2 * gen_element_count(&node->type) * (uint64_t)left->dims[node->lists[1].items[0]];
    }
  }
  return sum;
}

uint64_t gen_matrix_flops(struct gen_block *program) {
  gen_mark_live(program);
  return block_flops(program);
}
