/* Operations of bytecode → module: regions, blocks, values by number, attributes and properties of operations.
 * Path: mlir_bytecode_read → bytecode_container.c → here → ir_op_create.
 *
 * Values are numbered within an isolated operation: each region has a range of numbers of the size that it announces, and
 * gives them to its block arguments and results in order. An operation may use a number before its definition. */
#include <stdlib.h>
#include <string.h>

#include "mlir/bytecode_int.h"

/* A region while it is read: its range of values, and where the next definition goes. */
struct region_state {
  size_t first, next, end;
  uint16_t parent; /* opcode of the operation around */
  size_t blocks; /* its blocks on words */
  uint32_t block_count;
};

/* ---- names ---------------------------------------------------------------------------------------------------------- */

static bool resolve_vhlo(struct bc_reader *r, struct bc_op_name *name, const uint8_t *at) {
  const struct bc_string *text = &r->strings[name->name];
  name->vhlo = vhlo_op_find(text->text, text->length);
  if (name->vhlo == NULL) {
    return bc_unknown(r, at, "operation 'vhlo.%.80s'", text->text);
  }
  name->opcode = name->vhlo->opcode;
  name->attrs = name->vhlo->attrs;
  const char *full = ir_opcode_info((enum ir_opcode)name->opcode)->name;
  const char *in_function = name->opcode == IR_OP_RETURN ? "func.return" : full;
  return bc_intern(r, full, strlen(full), &name->id)
         && bc_intern(r, in_function, strlen(in_function), &name->in_function_id) && bc_know_attrs(r, name);
}

static bool resolve_name(struct bc_reader *r, struct bc_op_name *name, const uint8_t *at) {
  const struct bc_dialect *dialect = &r->dialects[name->dialect];
  if (dialect->kind == BC_VHLO) {
    return resolve_vhlo(r, name, at);
  }
  struct strbuf full = {0};
  strbuf_puts(&full, r->strings[dialect->name].text);
  if (r->strings[name->name].length) {
    strbuf_putc(&full, '.');
    strbuf_puts(&full, r->strings[name->name].text);
  }
  bool ok = (!full.failed || bc_memory(r)) && bc_intern(r, strbuf_text(&full), full.length, &name->id);
  if (ok) {
    name->in_function_id = name->id;
    name->opcode = (uint16_t)ir_opcode_find(strbuf_text(&full), full.length);
    name->attrs = bc_properties_of(r, strbuf_text(&full), (enum ir_opcode)name->opcode);
    if (name->opcode == IR_OP_UNKNOWN && strncmp(strbuf_text(&full), "stablehlo.", 10) == 0) {
      ok = bc_unknown(r, at, "operation '%.80s'", strbuf_text(&full));
    }
  }
  strbuf_release(&full);
  return ok && bc_know_attrs(r, name);
}

/* ---- attributes ----------------------------------------------------------------------------------------------------- */

bool bc_push_dictionary(struct bc_reader *r, uint32_t index, const uint8_t *at) {
  struct ir_attr dict;
  if (!bc_attr_at(r, index, at, &dict)) {
    return false;
  }
  struct ir_attr_data data = *ir_attr_get(r->m, dict);
  if (data.kind != IR_ATTR_DICT) {
    return bc_error(r, at, "the attributes of an operation are not a dictionary");
  }
  for (uint32_t i = 0; i < data.list_count; i++) {
    const uint32_t *pair = r->m->lists.data + data.list_first + 2 * i;
    if (!bc_push_pair(r, pair[0], (struct ir_attr){pair[1]})) {
      return false;
    }
  }
  return true;
}

struct named_pair {
  const char *text;
  uint32_t pair[2];
};

static int compare_pairs(const void *a, const void *b) {
  return strcmp(((const struct named_pair *)a)->text, ((const struct named_pair *)b)->text);
}

/* The names since `first` ascend, as properties do. */
static bool is_sorted(const struct bc_reader *r, size_t first) {
  for (size_t i = first + 2; i < r->pairs.count; i += 2) {
    if (strcmp(ir_text(r->m, r->pairs.data[i - 2]), ir_text(r->m, r->pairs.data[i])) >= 0) {
      return false;
    }
  }
  return true;
}

/* Sorts the pairs since `first` by name, and refuses a name that stands twice. */
static bool sort_pairs(struct bc_reader *r, size_t first, const uint8_t *at) {
  size_t count = (r->pairs.count - first) / 2;
  if (is_sorted(r, first)) {
    return true;
  }
  struct named_pair local[32];
  struct named_pair *pairs = count <= 32 ? local : malloc(count * sizeof *pairs);
  if (pairs == NULL) {
    return bc_memory(r);
  }
  for (size_t i = 0; i < count; i++) {
    const uint32_t *pair = r->pairs.data + first + 2 * i;
    pairs[i] = (struct named_pair){ir_text(r->m, pair[0]), {pair[0], pair[1]}};
  }
  qsort(pairs, count, sizeof *pairs, compare_pairs);
  bool ok = true;
  for (size_t i = 0; i < count && ok; i++) {
    memcpy(r->pairs.data + first + 2 * i, pairs[i].pair, sizeof pairs[i].pair);
    ok = i == 0 || pairs[i].pair[0] != pairs[i - 1].pair[0]
         || bc_error(r, at, "attribute '%.80s' stands twice", pairs[i].text);
  }
  if (pairs != local) {
    free(pairs);
  }
  return ok;
}

/* The attributes of an operation, from the set of an earlier operation with the same ones when there is one. `dict` and
 * `properties` are 0 or an index plus 1. */
static bool attr_set(struct bc_reader *r, struct bc_op_name *name, uint32_t name_index, uint32_t dict,
                     uint32_t properties, const uint8_t *at, struct bc_attr_set *set) {
  enum { NAME_BITS = 16, INDEX_BITS = 24 };
  uint64_t key = (uint64_t)name_index << (2 * INDEX_BITS) | (uint64_t)dict << INDEX_BITS | properties;
  bool is_small = name_index >> NAME_BITS == 0 && dict >> INDEX_BITS == 0 && properties >> INDEX_BITS == 0;
  uint32_t index;
  if (is_small && map_get(&r->set_index, key, &index)) {
    *set = r->sets.data[index];
    return bc_weigh(r, set->weight, at);
  }
  size_t first = r->pairs.count;
  uint64_t weight = r->weight;
  if ((dict && !bc_push_dictionary(r, dict - 1, at)) || (properties && !bc_push_properties(r, name, properties - 1, at))
      || !(name->vhlo ? bc_vhlo_op_attrs(r, name, first, at) : bc_plain_op_attrs(r, name, first))
      || !sort_pairs(r, first, at)) {
    return false;
  }
  size_t count = r->pairs.count - first;
  *set = (struct bc_attr_set){(uint32_t)r->set_words.count, (uint32_t)count, r->weight - weight};
  if (!vec_reserve(&r->set_words, r->set_words.count + count + 1) || !vec_push(&r->sets, *set)
      || (is_small && !map_set(&r->set_index, key, (uint32_t)r->sets.count - 1))) {
    return bc_memory(r);
  }
  if (count) {
    memcpy(r->set_words.data + r->set_words.count, r->pairs.data + first, count * sizeof(uint32_t));
  }
  r->set_words.count += count;
  r->pairs.count = first;
  return true;
}

/* ---- values ---------------------------------------------------------------------------------------------------------- */

static bool push_word(struct bc_reader *r, uint32_t word) {
  return vec_push(&r->words, word) ? true : bc_memory(r);
}

/* Order of the uses of values: says nothing about the program. */
static bool skip_use_lists(struct bc_reader *r, struct bc_cursor *c, uint32_t value_count) {
  uint32_t lists = 1, count;
  uint64_t skipped;
  if (value_count > 1 && !bc_count(r, c, &lists, "orders of uses")) {
    return false;
  }
  for (uint32_t i = 0; i < lists; i++) {
    const uint8_t *at = c->at;
    if ((value_count > 1 && !bc_varint(r, c, &skipped)) || !bc_varint(r, c, &skipped)) {
      return false;
    }
    if (skipped >> 1 > (uint64_t)(c->end - c->at)) {
      return bc_error(r, at, "%llu uses where %zu bytes are left", (unsigned long long)(skipped >> 1),
                      (size_t)(c->end - c->at));
    }
    count = (uint32_t)(skipped >> 1);
    for (uint32_t k = 0; k < count; k++) {
      if (!bc_varint(r, c, &skipped)) {
        return false;
      }
    }
  }
  return true;
}

/* Reserves numbers for results or arguments. */
static bool reserve_values(struct bc_reader *r, struct region_state *region, uint32_t count, const uint8_t *at,
                           size_t *first) {
  if (count > region->end - region->next) {
    return bc_error(r, at, "a region defines more values than it announces");
  }
  *first = region->next;
  region->next += count;
  return true;
}

static void define_values(struct bc_reader *r, size_t first, uint32_t handle, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    r->values.data[first + i] = handle + i;
  }
}

static bool read_operand(struct bc_reader *r, struct bc_cursor *c, uint32_t operand) {
  const uint8_t *at = c->at;
  uint64_t number;
  if (!bc_varint(r, c, &number)) {
    return false;
  }
  if (number >= r->values.count - r->scope) {
    return bc_error(r, at, "value %llu of %zu", (unsigned long long)number, r->values.count - r->scope);
  }
  size_t index = r->scope + (size_t)number;
  if (r->values.data[index] == 0) {
    struct bc_use use = {(uint32_t)index, {0}, operand};
    if (!vec_push(&r->uses, use)) {
      return bc_memory(r);
    }
  }
  return push_word(r, r->values.data[index]);
}

/* True when `use` stands in, or is nested in an operation of, the block of `definition`, which came later. Regions of modules
 * and of unknown operations are graphs, where the order within a block does not matter. */
static bool is_used_before(const struct bc_reader *r, uint16_t parent, struct ir_op use, struct ir_value definition) {
  struct ir_op op = ir_value_get(r->m, definition)->op;
  if (!op.id || parent == IR_OP_UNKNOWN || parent == IR_OP_BUILTIN_MODULE) {
    return false;
  }
  struct ir_block home = ir_op_get(r->m, op)->parent;
  while (use.id) {
    struct ir_block block = ir_op_get(r->m, use)->parent;
    if (block.id == home.id) {
      return true;
    }
    use = ir_region_get(r->m, ir_block_get(r->m, block)->parent)->parent;
  }
  return false;
}

/* The region that defines the values from `first` on is complete: its uses before definition get their values. */
static bool settle_uses(struct bc_reader *r, size_t mark, const struct region_state *region) {
  size_t kept = mark;
  for (size_t i = mark; i < r->uses.count; i++) {
    struct bc_use use = r->uses.data[i];
    struct ir_value value = {r->values.data[use.value]};
    const uint8_t *at = r->begin + ir_op_get(r->m, use.op)->offset;
    if (value.id && is_used_before(r, region->parent, use.op, value)) {
      return bc_error(r, at, "value %zu is used before its definition", use.value - r->scope);
    }
    if (value.id) {
      ir_op_set_operand(r->m, use.op, use.operand, value);
    } else if (use.value >= region->first) {
      return bc_error(r, at, "value %zu is used but never defined", use.value - r->scope);
    } else {
      r->uses.data[kept++] = use;
    }
  }
  r->uses.count = kept;
  return true;
}

/* ---- regions ---------------------------------------------------------------------------------------------------------- */

static bool read_op(struct bc_reader *r, struct bc_cursor *c, struct region_state *region, struct ir_block block);

static bool read_arguments(struct bc_reader *r, struct bc_cursor *c, struct region_state *region,
                           struct ir_block block) {
  const uint8_t *at = c->at;
  uint32_t count;
  size_t first_word = r->words.count, first = 0;
  if (!bc_count(r, c, &count, "block arguments") || !reserve_values(r, region, count, at, &first)) {
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    at = c->at;
    uint64_t index, location;
    if (!bc_varint(r, c, &index)) {
      return false;
    }
    bool has_location = r->version < BC_VERSION_KNOWN_LOCATIONS || (index & 1);
    index = r->version < BC_VERSION_KNOWN_LOCATIONS ? index : index >> 1;
    struct ir_type type;
    if (index > UINT32_MAX) {
      return bc_error(r, at, "type %llu of %u", (unsigned long long)index, r->type_count);
    }
    if (!bc_type_at(r, (uint32_t)index, at, &type) || !push_word(r, type.id)
        || (has_location && !bc_varint(r, c, &location))) {
      return false;
    }
  }
  if (!ir_block_set_arguments(r->m, block, (const struct ir_type *)(r->words.data + first_word), count)) {
    return bc_memory(r);
  }
  r->words.count = first_word;
  define_values(r, first, ir_block_get(r->m, block)->argument_first, count);
  uint8_t has_use_lists = 0;
  if (r->version >= BC_VERSION_USE_LISTS && !bc_byte(r, c, &has_use_lists)) {
    return false;
  }
  return !has_use_lists || skip_use_lists(r, c, count);
}

static bool read_block(struct bc_reader *r, struct bc_cursor *c, struct region_state *region, struct ir_block block) {
  const uint8_t *at = c->at;
  uint64_t header;
  if (!bc_varint(r, c, &header)) {
    return false;
  }
  if (header >> 1 > (uint64_t)(c->end - c->at)) {
    return bc_error(r, at, "%llu operations do not fit into the %zu bytes that are left",
                    (unsigned long long)(header >> 1), (size_t)(c->end - c->at));
  }
  if ((header & 1) && !read_arguments(r, c, region, block)) {
    return false;
  }
  for (uint64_t i = 0; i < header >> 1; i++) {
    if (!read_op(r, c, region, block)) {
      return false;
    }
  }
  return true;
}

/* Makes the blocks, which operations may name before their own is reached, and room for the values. */
static bool open_region(struct bc_reader *r, struct region_state *state, struct ir_region region, uint64_t values,
                        const uint8_t *at) {
  if (values > r->values_left) {
    return bc_error(r, at, "%llu values in a region", (unsigned long long)values);
  }
  r->values_left -= values;
  state->first = state->next = r->values.count;
  state->end = r->values.count + (size_t)values;
  state->blocks = r->words.count;
  if (state->end > UINT32_MAX || !vec_reserve(&r->values, state->end + 1)) {
    return bc_memory(r);
  }
  memset(r->values.data + state->first, 0, (size_t)values * sizeof *r->values.data);
  r->values.count = state->end;
  for (uint32_t i = 0; i < state->block_count; i++) {
    struct ir_block block = ir_block_create(r->m, region);
    if (!block.id) {
      return bc_memory(r);
    }
    if (!push_word(r, block.id)) {
      return false;
    }
  }
  return true;
}

static bool read_region(struct bc_reader *r, struct bc_cursor *c, uint16_t parent, struct ir_region region) {
  struct region_state state = {.parent = parent};
  const uint8_t *at = c->at;
  uint64_t values;
  size_t uses = r->uses.count;
  if (!bc_count(r, c, &state.block_count, "blocks")) {
    return false;
  }
  if (state.block_count == 0) {
    return true;
  }
  if (!bc_varint(r, c, &values) || !bc_deeper(r, at) || !open_region(r, &state, region, values, at)) {
    return false;
  }
  for (uint32_t i = 0; i < state.block_count; i++) {
    if (!read_block(r, c, &state, (struct ir_block){r->words.data[state.blocks + i]})) {
      return false;
    }
  }
  r->words.count = state.blocks;
  if (!settle_uses(r, uses, &state)) {
    return false;
  }
  r->values.count = state.first;
  r->depth--;
  return true;
}

/* Number and isolation of the regions, then the regions; isolated ones are a section of their own. Pushes them on words. */
static bool read_regions(struct bc_reader *r, struct bc_cursor *c, uint16_t opcode, uint32_t *count) {
  const uint8_t *at = c->at;
  uint64_t header;
  struct bc_cursor body;
  size_t scope = r->scope;
  if (!bc_varint(r, c, &header)) {
    return false;
  }
  if (header >> 1 > (uint64_t)(c->end - c->at)) {
    return bc_error(r, at, "%llu regions do not fit into the %zu bytes that are left",
                    (unsigned long long)(header >> 1), (size_t)(c->end - c->at));
  }
  bool is_section = (header & 1) && r->version >= BC_VERSION_LAZY_REGIONS;
  unsigned id = BC_IR;
  if (is_section && !bc_section(r, c, &id, &body)) {
    return false;
  }
  if (id != BC_IR) {
    return bc_error(r, at, "section %u where regions belong", id);
  }
  if (header & 1) {
    r->scope = r->values.count;
  }
  *count = (uint32_t)(header >> 1);
  for (uint32_t i = 0; i < *count; i++) {
    struct ir_region region = ir_region_create(r->m);
    if (!region.id) {
      return bc_memory(r);
    }
    if (!push_word(r, region.id) || !read_region(r, is_section ? &body : c, opcode, region)) {
      return false;
    }
  }
  r->scope = scope;
  return !is_section || body.at == body.end
         || bc_error(r, body.at, "%zu bytes too many behind the regions", (size_t)(body.end - body.at));
}

/* ---- operations --------------------------------------------------------------------------------------------------------- */

static bool read_types(struct bc_reader *r, struct bc_cursor *c, uint32_t *count) {
  if (!bc_count(r, c, count, "results")) {
    return false;
  }
  for (uint32_t i = 0; i < *count; i++) {
    struct ir_type type;
    if (!bc_type(r, c, &type) || !push_word(r, type.id)) {
      return false;
    }
  }
  return true;
}

static bool read_operands(struct bc_reader *r, struct bc_cursor *c, uint32_t *count) {
  if (!bc_count(r, c, count, "operands")) {
    return false;
  }
  for (uint32_t i = 0; i < *count; i++) {
    if (!read_operand(r, c, i)) {
      return false;
    }
  }
  return true;
}

static bool read_successors(struct bc_reader *r, struct bc_cursor *c, const struct region_state *region,
                            uint32_t *count) {
  if (!bc_count(r, c, count, "successors")) {
    return false;
  }
  for (uint32_t i = 0; i < *count; i++) {
    uint32_t block;
    const uint8_t *at = c->at;
    if (!bc_index(r, c, region->block_count, "block", &block)) {
      return false;
    }
    if (block == 0) {
      return bc_error(r, at, "a branch goes to the first block of its region, to which nothing may branch");
    }
    if (!push_word(r, r->words.data[region->blocks + block])) {
      return false;
    }
  }
  return true;
}

/* Attribute index plus 1 when the mask has the bit. */
static bool optional_index(struct bc_reader *r, struct bc_cursor *c, bool is_there, uint32_t limit, const char *what,
                           uint32_t *index) {
  *index = 0;
  if (is_there && !bc_index(r, c, limit, what, index)) {
    return false;
  }
  *index += is_there;
  return true;
}

/* The row of ops.def bounds what later stages index. */
static bool check_counts(struct bc_reader *r, const struct bc_op_name *name, const struct ir_op_spec *spec,
                         const uint8_t *at) {
  if (spec->opcode == IR_OP_UNKNOWN) {
    return true;
  }
  const struct ir_op_info *info = ir_opcode_info(spec->opcode);
  const struct {
    const char *what;
    uint32_t count;
    int min, max;
  } checks[] = {{"operands", spec->operand_count, info->operands_min, info->operands_max},
                {"results", spec->result_count, info->results_min, info->results_max},
                {"regions", spec->region_count, info->regions_min, info->regions_max}};
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
    if (checks[i].count < (uint32_t)checks[i].min
        || (checks[i].max >= 0 && checks[i].count > (uint32_t)checks[i].max)) {
      return bc_error(r, at, "'%s' with %u %s", ir_text(r->m, name->id), checks[i].count, checks[i].what);
    }
  }
  return true;
}

/* Artifacts have casts where an operation of another dialect takes what in VHLO is another type; here both are one type, and
 * the results are the operands. */
static bool is_plain_cast(struct bc_reader *r, const struct ir_op_spec *spec) {
  bool is_plain = spec->opcode == IR_OP_BUILTIN_UNREALIZED_CONVERSION_CAST && spec->operand_count == spec->result_count;
  for (uint32_t i = 0; is_plain && i < spec->operand_count; i++) {
    is_plain = spec->operands[i].id && ir_value_type(r->m, spec->operands[i]).id == spec->result_types[i].id;
  }
  return is_plain;
}

/* Everything has been read: makes the operation and gives its uses before definition their place. */
static bool finish_op(struct bc_reader *r, const struct bc_op_name *name, const struct region_state *region,
                      struct ir_block block, struct ir_op_spec *spec, size_t uses, size_t result_number,
                      const uint8_t *at) {
  spec->opcode = (enum ir_opcode)name->opcode;
  spec->name = name->id;
  if (name->opcode == IR_OP_RETURN && name->vhlo && region->parent == IR_OP_FUNC_FUNC) {
    spec->opcode = IR_OP_FUNC_RETURN;
    spec->name = name->in_function_id;
  }
  if (!check_counts(r, name, spec, at)) {
    return false;
  }
  if (is_plain_cast(r, spec)) {
    for (uint32_t i = 0; i < spec->result_count; i++) {
      r->values.data[result_number + i] = spec->operands[i].id;
    }
    return true;
  }
  struct ir_op op = ir_op_create(r->m, block, spec);
  if (!op.id) {
    return bc_memory(r);
  }
  for (size_t i = uses; i < r->uses.count; i++) {
    if (!r->uses.data[i].op.id) {
      r->uses.data[i].op = op;
    }
  }
  define_values(r, result_number, ir_op_get(r->m, op)->result_first, spec->result_count);
  return true;
}

static bool read_location(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *location) {
  uint32_t index;
  const uint8_t *at = c->at;
  if (!bc_index(r, c, r->attr_count, "location", &index)) {
    return false;
  }
  if (!r->keep_locations) {
    return true;
  }
  if (!bc_attr_at(r, index, at, location)) {
    return false;
  }
  return ir_attr_get(r->m, *location)->kind == IR_ATTR_LOCATION || bc_error(r, at, "expected a location");
}

static bool read_op(struct bc_reader *r, struct bc_cursor *c, struct region_state *region, struct ir_block block) {
  const uint8_t *at = c->at;
  uint32_t name_index, dict, properties;
  uint8_t mask;
  struct bc_attr_set set = {0};
  struct ir_op_spec spec = {.offset = (uint32_t)(at - r->begin)};
  if (!bc_index(r, c, (uint32_t)r->names.count, "operation name", &name_index) || !bc_byte(r, c, &mask)
      || !read_location(r, c, &spec.location)) {
    return false;
  }
  if (!r->names.data[name_index].is_resolved && !resolve_name(r, &r->names.data[name_index], at)) {
    return false;
  }
  struct bc_op_name *name = &r->names.data[name_index];
  name->is_resolved = true;
  if (!optional_index(r, c, mask & BC_HAS_ATTRS, r->attr_count, "attribute", &dict)
      || !optional_index(r, c, mask & BC_HAS_PROPERTIES, r->property_count, "properties", &properties)
      || ((dict || properties || name->vhlo) && !attr_set(r, name, name_index, dict, properties, at, &set))) {
    return false;
  }
  size_t words = r->words.count, uses = r->uses.count, result_number = 0;
  if (((mask & BC_HAS_RESULTS) && !read_types(r, c, &spec.result_count))
      || !reserve_values(r, region, spec.result_count, at, &result_number)
      || ((mask & BC_HAS_OPERANDS) && !read_operands(r, c, &spec.operand_count))
      || ((mask & BC_HAS_SUCCESSORS) && !read_successors(r, c, region, &spec.successor_count))
      || ((mask & BC_HAS_USE_LISTS) && !skip_use_lists(r, c, spec.result_count))
      || ((mask & BC_HAS_REGIONS) && !read_regions(r, c, name->opcode, &spec.region_count))) {
    return false;
  }
  const uint32_t *word = r->words.data + words;
  spec.attrs = r->set_words.data + set.first;
  spec.attr_count = set.count / 2;
  spec.result_types = (const struct ir_type *)word;
  word += spec.result_count;
  spec.operands = (const struct ir_value *)word;
  word += spec.operand_count;
  spec.successors = (const struct ir_block *)word;
  word += spec.successor_count;
  spec.regions = (const struct ir_region *)word;
  if (!finish_op(r, name, region, block, &spec, uses, result_number, at)) {
    return false;
  }
  r->words.count = words;
  return true;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------------ */

/* One module is the root; anything else is wrapped in one, as mlir_parse does. */
static bool make_root(struct bc_reader *r, struct ir_region region, struct ir_block block) {
  struct ir_op first = ir_block_first(r->m, block);
  if (first.id && !ir_op_next(r->m, first).id && ir_op_code(r->m, first) == IR_OP_BUILTIN_MODULE) {
    ir_op_get(r->m, first)->parent.id = 0;
    r->m->root = first;
    return true;
  }
  struct ir_op_spec spec = {.opcode = IR_OP_BUILTIN_MODULE, .regions = &region, .region_count = 1};
  r->m->root = ir_op_create(r->m, (struct ir_block){0}, &spec);
  return r->m->root.id != 0 || bc_memory(r);
}

bool bc_ir_read(struct bc_reader *r) {
  struct bc_cursor c = r->sections[BC_IR];
  struct ir_region region = ir_region_create(r->m);
  struct ir_block block = ir_block_create(r->m, region);
  if (!block.id) {
    return bc_memory(r);
  }
  r->values_left = (uint64_t)(c.end - c.at);
  struct region_state state = {.parent = IR_OP_BUILTIN_MODULE, .blocks = 0, .block_count = 0};
  if (!read_block(r, &c, &state, block)) {
    return false;
  }
  if (c.at != c.end) {
    return bc_error(r, c.at, "%zu bytes too many behind the operations", (size_t)(c.end - c.at));
  }
  return make_root(r, region, block);
}

bool mlir_is_bytecode(const char *data, size_t size) {
  static const char magic[4] = {'M', 'L', '\xEF', 'R'};
  return size >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

static void reader_release(struct bc_reader *r) {
  arena_release(&r->scratch);
  vec_release(&r->names);
  vec_release(&r->resources);
  vec_release(&r->values);
  vec_release(&r->words);
  vec_release(&r->uses);
  map_release(&r->set_index);
  vec_release(&r->sets);
  vec_release(&r->set_words);
  vec_release(&r->pairs);
  vec_release(&r->items);
  vec_release(&r->dims);
  vec_release(&r->bytes);
}

/* Refuses what cannot be read at all. */
static enum status check_input(const struct source *source, struct diag_list *diags) {
  if (source->length == 0) {
    diag_file(diags, DIAG_E0002_EMPTY, source->name, 0, 0, "byte 0: the input is empty");
    return STATUS_INPUT;
  }
  if (!mlir_is_bytecode(source->text, source->length)) {
    diag_file(diags, DIAG_E0003_FORMAT, source->name, 0, 0, "byte 0: this is not MLIR bytecode");
    return STATUS_INPUT;
  }
  if (source->length == 4) {
    diag_file(diags, DIAG_E0002_EMPTY, source->name, 0, 0, "byte 4: nothing follows the magic number of MLIR bytecode");
    return STATUS_INPUT;
  }
  if (source->length > UINT32_MAX) {
    diag_file(diags, DIAG_E0005_LIMIT, source->name, 0, 0, "bytecode of 4 GiB or more cannot be read");
    return STATUS_LIMIT;
  }
  return STATUS_OK;
}

static enum status outcome(struct bc_reader *r, bool ok, size_t budget, struct ir_module **module) {
  if (ok && !r->m->out_of_memory) {
    *module = r->m;
    return STATUS_OK;
  }
  enum status status = r->limit ? STATUS_LIMIT : STATUS_INPUT;
  if (r->m->out_of_memory) {
    diag_file(r->diags, DIAG_E0005_LIMIT, r->source.name, 0, 0,
              "the program needs more memory than its budget of %zu bytes", budget);
    status = STATUS_MEMORY;
  }
  ir_module_free(r->m);
  return status;
}

enum status mlir_bytecode_read(const struct source *source, const struct mlir_parse_options *options,
                               struct diag_list *diags, struct ir_module **module) {
  static const struct mlir_parse_options defaults = {0};
  options = options ? options : &defaults;
  *module = NULL;
  STATUS_TRY(check_input(source, diags));
  size_t budget = options->memory_budget_bytes ? options->memory_budget_bytes : source->length * 64 + (64u << 20);
  struct ir_module *m = ir_module_new(budget);
  if (m == NULL) {
    diag_file(diags, DIAG_E0007_MEMORY, source->name, 0, 0, "out of memory");
    return STATUS_MEMORY;
  }
  struct bc_reader r = {.source = *source,
                        .diags = diags,
                        .m = m,
                        .begin = (const uint8_t *)source->text,
                        .producer = "",
                        .keep_locations = options->keep_locations,
                        .max_depth = options->max_depth ? options->max_depth : 256,
                        .weight_max = 64 * (uint64_t)source->length + (1u << 22),
                        .text_left = 16 * (uint64_t)source->length + (1u << 20)};
  arena_init(&r.scratch, budget);
  m->source = (struct source){source->name, "", 0};
  bool ok = bc_container_read(&r) && bc_ir_read(&r);
  enum status status = outcome(&r, ok, budget, module);
  reader_release(&r);
  return status;
}
