/* The members of plan files, one row each. Keys are part of the format: docs/plan-file.md. */
#include "plan/plan_file_int.h"

#define COUNTED(rows)                                                                                                  \
  { rows, sizeof(rows) / sizeof(rows)[0] }
#define ROW(structure, member, type, low, high)                                                                        \
  { #member, PLAN_FILE_##type, offsetof(struct structure, member), low, high }

/* 2^53: whole numbers that a double, and so any JSON reader, holds. Times up to 2.5 hours. */
#define MOST 9007199254740992.0
#define BYTES_MOST 1099511627776.0 /* 2^40: sums over a file stay within 64 bits */
#define RATE_MOST 1e30

#define CHIP(member, type, low, high) ROW(plan_chip, member, type, low, high)
static const struct plan_file_field chip_rows[] = {
    CHIP(cores, U32, 1, 1 << 20),
    CHIP(cores_per_chip, U32, 1, 1 << 20),
    CHIP(sram_bytes, U64, 1, BYTES_MOST),
    CHIP(reserve_bytes, U64, 0, MOST),
    CHIP(clock_Hz, DOUBLE, 1e6, RATE_MOST),
    CHIP(mesh_rows, U32, 0, 1 << 24),
    CHIP(mesh_columns, U32, 0, 1 << 24),
    CHIP(link_Bps, DOUBLE, 1e5, RATE_MOST),
    CHIP(cross_chip_factor, DOUBLE, 0, 1e6),
    CHIP(sync_cycles, DOUBLE, 0, 1e12),
    CHIP(can_overlap, BOOL, 0, 1),
    CHIP(exchange_factor, DOUBLE, 0, 1e6),
    CHIP(preload_factor, DOUBLE, 0, 1e6),
    CHIP(has_memory, BOOL, 0, 1),
    CHIP(memory_Bps, DOUBLE, 0, RATE_MOST),
    CHIP(memory_efficiency, DOUBLE, 0, 1),
    CHIP(matrix_rows, DOUBLE, 1, 1e6),
    CHIP(matrix_depth, DOUBLE, 1, 1e6),
    CHIP(matrix_columns, DOUBLE, 1, 1e6),
    CHIP(matrix_block_cycles, DOUBLE, 0, 1e12),
    CHIP(matrix_load_cycles, DOUBLE, 0, 1e12),
    CHIP(matrix_column_cycles, DOUBLE, 0, 1e12),
    CHIP(matrix_call_cycles, DOUBLE, 0, 1e12),
    CHIP(reduce_short_cycles, DOUBLE, 0, 1e12),
    CHIP(reduce_short_limit_cycles, DOUBLE, 0, 1e12),
    CHIP(elementwise_long_cycles, DOUBLE, 0, 1e12),
    CHIP(elementwise_long_floor_cycles, DOUBLE, 0, 1e12),
};
const struct plan_file_fields plan_file_chip_fields = COUNTED(chip_rows);

static const struct plan_file_field rate_rows[] = {
    ROW(plan_stage_rate, per_element, DOUBLE, 0, 1e12),
    ROW(plan_stage_rate, per_call, DOUBLE, 0, 1e12),
};
const struct plan_file_fields plan_file_rate_fields = COUNTED(rate_rows);

static const struct plan_file_field features_rows[] = {
    ROW(plan_features, tree_reduction, BOOL, 0, 1),
    ROW(plan_features, overlap, BOOL, 0, 1),
};
const struct plan_file_fields plan_file_features_fields = COUNTED(features_rows);

static const struct plan_file_field operator_rows[] = {
    ROW(plan_operator, sort, U32, 0, 1 << 24),
    ROW(plan_operator, merged, U8, 1, 255),
};
const struct plan_file_fields plan_file_operator_fields = COUNTED(operator_rows);

static const struct plan_file_field tensor_rows[] = {
    {"bits", PLAN_FILE_U16, offsetof(struct plan_tensor, element_bits), 1, 1024},
    {"view", PLAN_FILE_BOOL, offsetof(struct plan_tensor, is_view), 0, 1},
    ROW(plan_tensor, memory_bytes, U64, 0, BYTES_MOST),
};
const struct plan_file_fields plan_file_tensor_fields = COUNTED(tensor_rows);

static const struct plan_file_field stage_rows[] = {
    {"bits", PLAN_FILE_U16, offsetof(struct plan_stage, result_bits), 1, 1024},
    ROW(plan_stage, operations, U16, 0, 65535),
};
const struct plan_file_fields plan_file_stage_fields = COUNTED(stage_rows);

#define STEP(key, member, type, high)                                                                                  \
  { key, PLAN_FILE_##type, offsetof(struct plan_file_step, member), 0, high }
static const struct plan_file_field step_rows[] = {
    STEP("hot_bytes", cost.hot_bytes, U64, MOST),
    STEP("live_bytes", live_bytes, U64, MOST),
    STEP("resident_bytes", at.resident_bytes, U64, MOST),
    STEP("compute_ps", cost.compute_ps, I64, MOST),
    STEP("shift_ps", cost.shift_ps, I64, MOST),
    STEP("serial_ps", cost.serial_ps, I64, MOST),
    STEP("distribute_ps", distribute_ps, I64, MOST),
    STEP("start_ps", at.start_ps, I64, MOST),
    STEP("end_ps", at.end_ps, I64, MOST),
};
const struct plan_file_fields plan_file_step_fields = COUNTED(step_rows);

static const struct plan_file_field load_rows[] = {
    STEP("order", load_order, U32, 1 << 24),        STEP("release", release, U32, 1 << 24),
    STEP("cold_bytes", load.cold_bytes, U64, MOST), STEP("memory_ps", load.memory_ps, I64, MOST),
    STEP("link_ps", load.link_ps, I64, MOST),       STEP("start_ps", at.load_start_ps, I64, MOST),
    STEP("end_ps", at.load_end_ps, I64, MOST),
};
const struct plan_file_fields plan_file_load_fields = COUNTED(load_rows);

#define TOTAL(member, type) ROW(plan_timeline, member, type, 0, MOST)
static const struct plan_file_field total_rows[] = {
    TOTAL(makespan_ps, I64),   TOTAL(memory_busy_ps, I64), TOTAL(link_busy_ps, I64), TOTAL(compute_ps, I64),
    TOTAL(stall_load_ps, I64), TOTAL(stall_link_ps, I64),  TOTAL(peak_bytes, U64),
};
const struct plan_file_fields plan_file_total_fields = COUNTED(total_rows);

static const struct plan_file_field bounds_rows[] = {
    ROW(plan_bounds, flow_shop_ps, I64, 0, MOST),
    ROW(plan_bounds, link_ps, I64, 0, MOST),
    ROW(plan_bounds, chain_ps, I64, 0, MOST),
};
const struct plan_file_fields plan_file_bounds_fields = COUNTED(bounds_rows);

#define RESOURCE(member) ROW(plan_resource_bound, member, I64, 0, MOST)
static const struct plan_file_field resource_rows[] = {
    RESOURCE(memory_ps), RESOURCE(matrix_ps),     RESOURCE(vector_ps),
    RESOURCE(link_ps),   RESOURCE(first_load_ps), RESOURCE(bound_ps),
};
const struct plan_file_fields plan_file_resource_fields = COUNTED(resource_rows);

const char *const plan_file_priorities[2] = {"exchange", "preload"};
const char *const plan_file_sources[2] = {"memory", "chip"};
