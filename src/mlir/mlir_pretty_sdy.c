/* Pretty forms of the sdy dialect. Its attributes are kept as canonical text with the prefix that the generic form has (see
 * op_attrs.h). Path: mlir_parse.c → here. */
#include <stdio.h>

#include "mlir/mlir_parse.h"

/* Attribute whose text stands without "#sdy..." here; a full spelling or an alias is taken too. */
static bool sdy_text(struct parser *p, enum parse_name name, const char *prefix, const char *suffix) {
  struct ir_attr attr;
  char c = lex_peek(&p->lx);
  if (c == '#') {
    return parse_attr(p, &attr) && parse_push_attr(p, name, attr);
  }
  bool needs_angle = prefix[4] == '.' && *suffix == '\0'; /* "#sdy.mesh" */
  if (c != '<' && (needs_angle || (c != '[' && c != '{'))) {
    return parse_expected(p, "a bracket that opens an sdy attribute");
  }
  return parse_opaque(p, prefix, suffix, &attr) && parse_push_attr(p, name, attr);
}

/* `word = ` */
static bool key(struct parser *p, const char *word) {
  if (!lex_try_word(&p->lx, word, strlen(word)) || !lex_try(&p->lx, '=')) {
    char text[64];
    snprintf(text, sizeof text, "'%s='", word);
    return parse_expected(p, text);
  }
  return true;
}

/* {attributes} : T with one type for operands and results. */
static bool tail(struct parser *p, struct op_state *op) {
  return parse_check_operand_count(p, op) && parse_optional_attrs(p) && parse_types(p, op, TYPES_SAME);
}

bool parse_pretty_sdy_mesh(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  (void)op;
  struct ir_attr name;
  return parse_symbol(p, true, &name) && parse_push_attr(p, NAME_sym_name, name)
         && parse_char(p, '=', "'=' and the mesh") && sdy_text(p, NAME_mesh, "#sdy.mesh", "")
         && parse_optional_attrs(p);
}

/* reshard, sharding_constraint: `%a <@mesh, [..]> : T` */
bool parse_pretty_sdy_sharding(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  return parse_operand(p) && sdy_text(p, NAME_sharding, "#sdy.sharding", "") && tail(p, op);
}

/* data_flow_edge: `%a [sharding=<..>] : T` */
bool parse_pretty_sdy_edge(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  if (!parse_operand(p)) {
    return false;
  }
  if (lex_is(lex_peek(&p->lx), LEX_START)
      && (!key(p, "sharding") || !sdy_text(p, NAME_sharding, "#sdy.sharding", ""))) {
    return false;
  }
  return tail(p, op);
}

bool parse_pretty_sdy_group(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  int64_t id;
  return parse_operand(p) && key(p, "group_id") && parse_integer(p, &id)
         && parse_push_attr(p, NAME_group_id, ir_attr_integer(p->m, id, ir_type_scalar(p->m, DTYPE_I64)))
         && parse_optional_attrs(p) && parse_types(p, op, TYPES_FIRST);
}

bool parse_pretty_sdy_barrier(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  if (!parse_operand(p) || !key(p, "allowed_direction")) {
    return false;
  }
  struct lex_span word = lex_word(&p->lx);
  if (word.length == 0) {
    return parse_expected(p, "a direction");
  }
  return parse_push_attr(p, NAME_allowed_direction, parse_op_enum(p, op, "propagation_direction", word)) && tail(p, op);
}

/* `[max] [{"x"}, {}] %a out_sharding=<..> : T`; the clause of the row names the attribute and its prefix. */
bool parse_pretty_sdy_collective(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  if (lex_is(lex_peek(&p->lx), LEX_START)) {
    struct lex_span word = lex_word(&p->lx);
    if (!parse_push_attr(p, NAME_reduction_op, parse_op_enum(p, op, "reduction_op", word))) {
      return false;
    }
  }
  if (syntax->clause_count) {
    char prefix[64];
    snprintf(prefix, sizeof prefix, "#sdy<%s", syntax->clauses[0].mnemonic);
    if (!sdy_text(p, syntax->clauses[0].name, prefix, ">")) {
      return false;
    }
  }
  return parse_operand(p) && key(p, "out_sharding") && sdy_text(p, NAME_out_sharding, "#sdy.sharding", "")
         && tail(p, op);
}

/* `(%b: T, %c: U)` and the region behind it. */
static bool body(struct parser *p, struct op_state *op) {
  size_t names = p->results.count, types = p->types.count;
  if (!parse_char(p, '(', "'(' and the arguments of the region")) {
    return false;
  }
  if (!lex_try(&p->lx, ')')) {
    do {
      struct ir_type type;
      struct ir_attr location;
      if (!parse_char(p, '%', "an argument (%name)")) {
        return false;
      }
      struct result_name name = {name_scan(&p->lx), 1};
      if (!parse_char(p, ':', "':' and the type of the argument") || !parse_type(p, &type)
          || !parse_optional_loc(p, &location)) {
        return false;
      }
      if (!vec_push(&p->results, name) || !vec_push(&p->types, type)) {
        return parse_memory(p);
      }
    } while (lex_try(&p->lx, ','));
    if (!parse_char(p, ')', "',' or ')' after an argument")) {
      return false;
    }
  }
  bool ok = parse_region_with_arguments(p, op, names, types, false);
  p->results.count = names;
  p->types.count = types;
  return ok;
}

bool parse_pretty_sdy_manual_computation(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  return parse_char(p, '(', "'(' and the operands") && parse_operand_list(p)
         && parse_char(p, ')', "')' after the operands") && key(p, "in_shardings")
         && sdy_text(p, NAME_in_shardings, "#sdy.sharding_per_value<", ">") && key(p, "out_shardings")
         && sdy_text(p, NAME_out_shardings, "#sdy.sharding_per_value<", ">") && key(p, "manual_axes")
         && sdy_text(p, NAME_manual_axes, "#sdy<manual_axes", ">") && body(p, op) && parse_attrs_and_types(p, op);
}

/* `named_computation<"name">(%a) [in_shardings=[..]] [out_shardings=[..]] (%b: T) {..} : (T) -> U` */
bool parse_pretty_sdy_named_computation(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  struct ir_attr name;
  if (!parse_char(p, '<', "'<' and the name") || !parse_untyped(p, &name) || !parse_push_attr(p, NAME_name, name)
      || !parse_char(p, '>', "'>' after the name") || !parse_char(p, '(', "'(' and the operands")
      || !parse_operand_list(p) || !parse_char(p, ')', "')' after the operands")) {
    return false;
  }
  if (LEX_TRY_WORD(&p->lx, "in_shardings")
      && (!parse_char(p, '=', "'='") || !sdy_text(p, NAME_in_shardings, "#sdy.sharding_per_value<", ">"))) {
    return false;
  }
  if (LEX_TRY_WORD(&p->lx, "out_shardings")
      && (!parse_char(p, '=', "'='") || !sdy_text(p, NAME_out_shardings, "#sdy.sharding_per_value<", ">"))) {
    return false;
  }
  return body(p, op) && parse_attrs_and_types(p, op);
}
