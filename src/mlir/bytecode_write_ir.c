/* Operations of the bytecode that is written. Path: mlir_bytecode_write → here twice: first every operation is looked at
 * (forms, types, which regions use nothing from outside), then they are written.
 *
 * Values are numbered within an isolated operation, in order of their definition; a region numbers all of its own before
 * those of regions within. Operations of sdy use builtin types, VHLO its own, so that a cast stands in front of an operation
 * of sdy for every operand that VHLO defines, and behind one for every result that VHLO uses. The reader takes them out. */
#include "mlir/bytecode_write_int.h"

static const char cast_name[] = "unrealized_conversion_cast";

/* ---- looking -------------------------------------------------------------------------------------------------------- */

static bool is_plain(const struct bw_writer *w, struct ir_value value) {
  return (w->value_flags[value.id] & BW_PLAIN_TYPE) != 0;
}

static bool needs_cast(const struct bw_writer *w, struct ir_value value) {
  return (w->value_flags[value.id] & BW_NEEDS_CAST) != 0;
}

/* The type of a value where it is defined, counted as used. */
static bool scan_type(struct bw_writer *w, struct ir_op op, struct ir_type type, bool is_vhlo) {
  struct bw_ref ref = is_vhlo ? bw_vhlo_type(w, type) : bw_builtin_type(w, type);
  struct strbuf text = {0};
  bool ok = false;
  if (ref.id && ref.since <= w->target) {
    w->entries.data[ref.id].uses++;
    return true;
  }
  mlir_print_type(w->m, type, &text);
  if (ref.id) {
    ok = bw_require(w, op, ref.since, "type '%.200s'", strbuf_text(&text));
  } else if (!w->out_of_memory) {
    bw_report(w, op, w->limit ? DIAG_E0005_LIMIT : DIAG_E0114_NOT_PORTABLE,
              "type '%.200s' cannot be in a portable artifact: %s", strbuf_text(&text), strbuf_text(&w->why));
    strbuf_clear(&w->why);
  }
  strbuf_release(&text);
  return ok;
}

/* A cast was found to be necessary: both types of the value are written. */
static bool scan_cast(struct bw_writer *w, struct ir_op op, struct ir_value value) {
  uint32_t index;
  if (!bw_name(w, BW_BUILTIN, cast_name, &index)) {
    return false;
  }
  w->names.data[index].uses++;
  return scan_type(w, op, ir_value_type(w->m, value), true) && scan_type(w, op, ir_value_type(w->m, value), false);
}

static uint32_t level_of(const struct bw_writer *w, struct ir_value value) {
  const struct ir_value_data *data = ir_value_get(w->m, value);
  struct ir_block block = data->op.id ? ir_op_get(w->m, data->op)->parent : data->block;
  return w->levels[ir_block_get(w->m, block)->parent.id];
}

/* Level of the outermost region whose values the operation uses. */
static bool scan_operands(struct bw_writer *w, struct ir_op op, bool is_vhlo, uint32_t *outermost) {
  bool ok = true;
  for (uint32_t i = 0; i < ir_op_get(w->m, op)->operand_count; i++) {
    struct ir_value value = ir_op_operand(w->m, op, i);
    if (w->value_flags[value.id] & BW_REFUSED) {
      ok = false;
      continue;
    }
    if (!(w->value_flags[value.id] & BW_DEFINED)) {
      bw_report(w, op, DIAG_E0114_NOT_PORTABLE,
                "a use of a value before its definition cannot be in a portable artifact");
      return false;
    }
    uint32_t level = level_of(w, value);
    *outermost = level < *outermost ? level : *outermost;
    if (is_vhlo && is_plain(w, value) && !needs_cast(w, value)) {
      w->value_flags[value.id] |= BW_NEEDS_CAST;
      ok = scan_cast(w, op, value) && ok;
    } else if (!is_vhlo && !is_plain(w, value)) {
      ok = scan_cast(w, op, value) && ok;
    }
  }
  return ok;
}

static bool scan_value(struct bw_writer *w, struct ir_op op, struct ir_value value, bool is_vhlo) {
  w->value_flags[value.id] = is_vhlo ? BW_DEFINED : BW_DEFINED | BW_PLAIN_TYPE;
  return scan_type(w, op, ir_value_type(w->m, value), is_vhlo);
}

static bool scan_op(struct bw_writer *w, struct ir_op op, uint32_t level, uint32_t *outermost);

static bool scan_region(struct bw_writer *w, struct ir_op op, struct ir_region region, uint32_t level, bool is_vhlo,
                        uint32_t *outermost) {
  bool ok = true;
  w->levels[region.id] = level;
  for (struct ir_block block = ir_region_entry(w->m, region); block.id; block = ir_block_get(w->m, block)->next) {
    for (uint32_t i = 0; i < ir_block_get(w->m, block)->argument_count; i++) {
      ok = scan_value(w, op, ir_block_argument(w->m, block, i), is_vhlo) && ok;
    }
    for (struct ir_op inner = ir_block_first(w->m, block); inner.id; inner = ir_op_next(w->m, inner)) {
      ok = scan_op(w, inner, level, outermost) && ok;
      if (w->out_of_memory || w->limit || diag_full(w->diags)) {
        return false;
      }
    }
  }
  return ok;
}

static bool scan_location(struct bw_writer *w, struct ir_op op) {
  struct bw_ref location = bw_location(w, ir_op_get(w->m, op)->location);
  if (location.id) {
    w->entries.data[location.id].uses++;
  } else if (!w->out_of_memory) {
    bw_report(w, op, w->limit ? DIAG_E0005_LIMIT : DIAG_E0114_NOT_PORTABLE, "a location cannot be written: %s",
              strbuf_text(&w->why));
    strbuf_clear(&w->why);
  }
  return location.id != 0;
}

/* Readers refuse an operation with another number of operands, results or regions than its row of ops.def allows. */
static bool scan_counts(struct bw_writer *w, struct ir_op op) {
  const struct ir_op_data *data = ir_op_get(w->m, op);
  const struct ir_op_info *info = ir_opcode_info((enum ir_opcode)data->opcode);
  const struct {
    const char *what;
    uint32_t count;
    int min, max;
  } checks[] = {{"operands", data->operand_count, info->operands_min, info->operands_max},
                {"results", data->result_count, info->results_min, info->results_max},
                {"regions", data->region_count, info->regions_min, info->regions_max},
                {"successors", data->successor_count, 0, 0}};
  for (size_t i = 0; data->opcode != IR_OP_UNKNOWN && i < sizeof checks / sizeof *checks; i++) {
    if (checks[i].count < (uint32_t)checks[i].min
        || (checks[i].max >= 0 && checks[i].count > (uint32_t)checks[i].max)) {
      bw_report(w, op, DIAG_E0114_NOT_PORTABLE, "'%s' with %u %s cannot be in a portable artifact", info->name,
                checks[i].count, checks[i].what);
      return false;
    }
  }
  return true;
}

/* Regions and users of what is refused say no more. */
static bool refuse_results(struct bw_writer *w, struct ir_op op) {
  for (uint32_t i = 0; i < ir_op_get(w->m, op)->result_count; i++) {
    w->value_flags[ir_op_result(w->m, op, i).id] |= BW_REFUSED;
  }
  return false;
}

/* `level`: of the region that the operation is in. */
static bool scan_op(struct bw_writer *w, struct ir_op op, uint32_t level, uint32_t *outermost) {
  const struct ir_op_data *data = ir_op_get(w->m, op);
  bool is_vhlo = bw_is_vhlo(w, op);
  if (!scan_counts(w, op) || !bw_op_form(w, op) || !scan_location(w, op)) {
    return refuse_results(w, op);
  }
  if (!bw_deeper(w)) {
    bw_report(w, op, DIAG_E0005_LIMIT, "%s", strbuf_text(&w->why));
    return false;
  }
  bool ok = scan_operands(w, op, is_vhlo, outermost);
  for (uint32_t i = 0; i < data->result_count; i++) {
    ok = scan_value(w, op, ir_op_result(w->m, op, i), is_vhlo) && ok;
  }
  uint32_t inside = UINT32_MAX;
  for (uint32_t i = 0; i < data->region_count; i++) {
    bool is_vhlo_body = is_vhlo || ir_op_code(w->m, op) == IR_OP_BUILTIN_MODULE;
    ok = scan_region(w, op, ir_op_region(w->m, op, i), level + 1, is_vhlo_body, &inside) && ok;
  }
  w->is_isolated[op.id] = inside > level;
  *outermost = inside < *outermost ? inside : *outermost;
  w->depth--;
  return ok;
}

bool bw_ir_scan(struct bw_writer *w) {
  uint32_t outermost = UINT32_MAX;
  return scan_op(w, w->m->root, 0, &outermost) && bw_number_entries(w);
}

/* ---- numbering ------------------------------------------------------------------------------------------------------ */

static uint32_t operand_casts(const struct bw_writer *w, struct ir_op op) {
  uint32_t count = 0;
  for (uint32_t i = 0; !bw_is_vhlo(w, op) && i < ir_op_get(w->m, op)->operand_count; i++) {
    count += !is_plain(w, ir_op_operand(w->m, op, i));
  }
  return count;
}

static void number_value(struct bw_writer *w, struct ir_value value, uint32_t *next) {
  w->numbers[value.id] = (*next)++;
}

static void number_cast(struct bw_writer *w, struct ir_value value, uint32_t *next) {
  if (needs_cast(w, value)) {
    w->cast_numbers[value.id] = (*next)++;
  }
}

/* Gives the values of a region their numbers from `next` on. */
static uint32_t number_region(struct bw_writer *w, struct ir_region region, uint32_t next) {
  for (struct ir_block block = ir_region_entry(w->m, region); block.id; block = ir_block_get(w->m, block)->next) {
    uint32_t arguments = ir_block_get(w->m, block)->argument_count;
    for (uint32_t i = 0; i < arguments; i++) {
      number_value(w, ir_block_argument(w->m, block, i), &next);
    }
    for (uint32_t i = 0; i < arguments; i++) {
      number_cast(w, ir_block_argument(w->m, block, i), &next);
    }
    for (struct ir_op op = ir_block_first(w->m, block); op.id; op = ir_op_next(w->m, op)) {
      next += operand_casts(w, op);
      for (uint32_t i = 0; i < ir_op_get(w->m, op)->result_count; i++) {
        number_value(w, ir_op_result(w->m, op, i), &next);
      }
      for (uint32_t i = 0; i < ir_op_get(w->m, op)->result_count; i++) {
        number_cast(w, ir_op_result(w->m, op, i), &next);
      }
    }
  }
  return next;
}

/* ---- writing -------------------------------------------------------------------------------------------------------- */

static void put_ref(const struct bw_writer *w, struct bw_ref ref, struct strbuf *out) {
  bw_put_varint(out, w->entries.data[ref.id].number);
}

static struct bw_ref type_of(const struct bw_writer *w, struct ir_type type, bool is_vhlo) {
  return is_vhlo ? w->vhlo_types[type.id] : w->builtin_types[type.id];
}

static void put_name(const struct bw_writer *w, uint32_t index, struct strbuf *out) {
  bw_put_varint(out, w->names.data[index].number);
}

/* A cast of one value, to VHLO's type or from it. */
static void put_cast(struct bw_writer *w, struct ir_value value, bool to_vhlo, struct strbuf *out) {
  uint32_t name = 0;
  (void)bw_name(w, BW_BUILTIN, cast_name, &name); /* it is there: scan_cast */
  put_name(w, name, out);
  strbuf_putc(out, BC_HAS_RESULTS | BC_HAS_OPERANDS);
  put_ref(w, w->unknown_location, out);
  bw_put_varint(out, 1);
  put_ref(w, type_of(w, ir_value_type(w->m, value), to_vhlo), out);
  bw_put_varint(out, 1);
  bw_put_varint(out, w->numbers[value.id]);
}

static void put_operands(const struct bw_writer *w, struct ir_op op, bool is_vhlo, uint32_t cast, struct strbuf *out) {
  uint32_t count = ir_op_get(w->m, op)->operand_count;
  bw_put_varint(out, count);
  for (uint32_t i = 0; i < count; i++) {
    struct ir_value value = ir_op_operand(w->m, op, i);
    if (is_plain(w, value)) {
      bw_put_varint(out, is_vhlo ? w->cast_numbers[value.id] : w->numbers[value.id]);
    } else {
      bw_put_varint(out, is_vhlo ? w->numbers[value.id] : cast++);
    }
  }
}

static void put_region(struct bw_writer *w, struct ir_region region, uint32_t first, bool is_vhlo, struct strbuf *out);

/* `next`: the number behind those of the values of the region around. */
static void put_regions(struct bw_writer *w, struct ir_op op, uint32_t next, bool is_vhlo, struct strbuf *out) {
  uint32_t count = ir_op_get(w->m, op)->region_count;
  bool is_isolated = w->is_isolated[op.id], is_section = is_isolated && w->container >= BC_VERSION_LAZY_REGIONS;
  bw_put_varint(out, (uint64_t)count << 1 | is_isolated);
  size_t begin = is_section ? bw_section_begin(out, BC_IR) : 0;
  for (uint32_t i = 0; i < count; i++) {
    put_region(w, ir_op_region(w->m, op, i), is_isolated ? 0 : next, is_vhlo, out);
  }
  if (is_section) {
    bw_section_end(out, begin);
  }
}

/* `number`: of the next value that is defined; `next`: behind those of the region. */
static void put_op(struct bw_writer *w, struct ir_op op, uint32_t *number, uint32_t next, struct strbuf *out) {
  const struct ir_op_data *data = ir_op_get(w->m, op);
  const struct bw_form *form = &w->forms.data[w->op_forms[op.id]];
  bool is_vhlo = bw_is_vhlo(w, op);
  uint32_t cast = *number, operands = data->operand_count, results = data->result_count;
  for (uint32_t i = 0; !is_vhlo && i < operands; i++) {
    if (!is_plain(w, ir_op_operand(w->m, op, i))) {
      put_cast(w, ir_op_operand(w->m, op, i), false, out);
      ++*number;
    }
  }
  put_name(w, form->name, out);
  strbuf_putc(out, (char)((form->dictionary.id ? BC_HAS_ATTRS : 0) | (form->properties.id ? BC_HAS_PROPERTIES : 0)
                          | (results ? BC_HAS_RESULTS : 0) | (operands ? BC_HAS_OPERANDS : 0)
                          | (data->region_count ? BC_HAS_REGIONS : 0)));
  put_ref(w, bw_location(w, data->location), out);
  if (form->dictionary.id) {
    put_ref(w, form->dictionary, out);
  }
  if (form->properties.id) {
    put_ref(w, form->properties, out);
  }
  if (results) {
    bw_put_varint(out, results);
  }
  for (uint32_t i = 0; i < results; i++) {
    put_ref(w, type_of(w, ir_value_type(w->m, ir_op_result(w->m, op, i)), is_vhlo), out);
  }
  *number += results;
  if (operands) {
    put_operands(w, op, is_vhlo, cast, out);
  }
  if (data->region_count) {
    put_regions(w, op, next, is_vhlo || ir_op_code(w->m, op) == IR_OP_BUILTIN_MODULE, out);
  }
  for (uint32_t i = 0; i < results; i++) {
    if (needs_cast(w, ir_op_result(w->m, op, i))) {
      put_cast(w, ir_op_result(w->m, op, i), true, out);
      ++*number;
    }
  }
}

static uint64_t count_ops(const struct bw_writer *w, struct ir_block block) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < ir_block_get(w->m, block)->argument_count; i++) {
    count += needs_cast(w, ir_block_argument(w->m, block, i));
  }
  for (struct ir_op op = ir_block_first(w->m, block); op.id; op = ir_op_next(w->m, op)) {
    count += 1 + operand_casts(w, op);
    for (uint32_t i = 0; i < ir_op_get(w->m, op)->result_count; i++) {
      count += needs_cast(w, ir_op_result(w->m, op, i));
    }
  }
  return count;
}

/* Types of the arguments, their locations, and where there are use lists, that there are none. */
static void put_arguments(struct bw_writer *w, struct ir_block block, bool is_vhlo, struct strbuf *out) {
  uint32_t count = ir_block_get(w->m, block)->argument_count;
  bw_put_varint(out, count);
  for (uint32_t i = 0; i < count; i++) {
    struct bw_ref type = type_of(w, ir_value_type(w->m, ir_block_argument(w->m, block, i)), is_vhlo);
    uint64_t number = w->entries.data[type.id].number;
    if (w->container >= BC_VERSION_KNOWN_LOCATIONS) {
      bw_put_varint(out, number << 1);
    } else {
      bw_put_varint(out, number);
      put_ref(w, w->unknown_location, out);
    }
  }
  if (w->container >= BC_VERSION_USE_LISTS) {
    strbuf_putc(out, 0);
  }
}

static void put_block(struct bw_writer *w, struct ir_block block, bool is_vhlo, uint32_t *number, uint32_t next,
                      struct strbuf *out) {
  uint32_t arguments = ir_block_get(w->m, block)->argument_count;
  bw_put_varint(out, count_ops(w, block) << 1 | (arguments != 0));
  if (arguments) {
    put_arguments(w, block, is_vhlo, out);
    *number += arguments;
  }
  for (uint32_t i = 0; i < arguments; i++) {
    if (needs_cast(w, ir_block_argument(w->m, block, i))) {
      put_cast(w, ir_block_argument(w->m, block, i), true, out);
      ++*number;
    }
  }
  for (struct ir_op op = ir_block_first(w->m, block); op.id; op = ir_op_next(w->m, op)) {
    put_op(w, op, number, next, out);
  }
}

static void put_region(struct bw_writer *w, struct ir_region region, uint32_t first, bool is_vhlo, struct strbuf *out) {
  uint64_t blocks = 0;
  for (struct ir_block block = ir_region_entry(w->m, region); block.id; block = ir_block_get(w->m, block)->next) {
    blocks++;
  }
  bw_put_varint(out, blocks);
  if (blocks == 0) {
    return;
  }
  uint32_t next = number_region(w, region, first), number = first;
  bw_put_varint(out, next - first);
  for (struct ir_block block = ir_region_entry(w->m, region); block.id; block = ir_block_get(w->m, block)->next) {
    put_block(w, block, is_vhlo, &number, next, out);
  }
}

void bw_ir_write(struct bw_writer *w, struct strbuf *out) {
  uint32_t number = 0;
  bw_put_varint(out, 1 << 1); /* one operation, no arguments */
  put_op(w, w->m->root, &number, 0, out);
}
