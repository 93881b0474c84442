/* Chakra's messages. Field numbers are rows of the published schema; attributes have the types that its feeder reads. */
#include <inttypes.h>
#include <stdio.h>

#include "base/wire_write.h"
#include "report/report_chakra_int.h"

/* message GlobalMetadata */
enum { METADATA_VERSION = 1, METADATA_ATTR = 2 };
/* message Node */
enum {
  NODE_ID = 1,
  NODE_NAME = 2,
  NODE_TYPE = 3,
  NODE_CTRL_DEPS = 4,
  NODE_DATA_DEPS = 5,
  NODE_DURATION = 7,
  NODE_ATTR = 10
};
/* message AttributeProto: name and one of the values */
enum { ATTR_NAME = 1, ATTR_INT32 = 7, ATTR_INT64 = 9, ATTR_UINT64 = 13, ATTR_BOOL = 27, ATTR_STRING = 29 };

static const char schema_version[] = "0.0.4";

static void put_number(struct strbuf *out, uint32_t field, const char *name, uint32_t type, uint64_t value) {
  size_t opened = wire_open(out, field);
  wire_put_text(out, ATTR_NAME, name);
  wire_put_uint(out, type, value);
  wire_close(out, opened);
}

static void put_text(struct strbuf *out, uint32_t field, const char *name, const char *value) {
  size_t opened = wire_open(out, field);
  wire_put_text(out, ATTR_NAME, name);
  wire_put_text(out, ATTR_STRING, value);
  wire_close(out, opened);
}

void chakra_write_metadata(const struct report_chakra_options *options, struct strbuf *out) {
  char devices[24];
  snprintf(devices, sizeof devices, "%" PRIu64, options->devices);
  size_t opened = wire_open_delimited(out);
  wire_put_text(out, METADATA_VERSION, schema_version);
  put_text(out, METADATA_ATTR, "program", options->program);
  put_text(out, METADATA_ATTR, "ranks", devices);
  put_text(out, METADATA_ATTR, "ridgeline_version", options->version);
  wire_close(out, opened);
}

static void put_compute(struct strbuf *out, const struct chakra_node *node) {
  put_number(out, NODE_ATTR, "num_ops", ATTR_INT64, node->flops);
  put_number(out, NODE_ATTR, "tensor_size", ATTR_UINT64, node->bytes);
  put_number(out, NODE_ATTR, "duration_ns", ATTR_UINT64, node->duration_ns);
}

static void put_collective(struct strbuf *out, const struct chakra_node *node) {
  put_number(out, NODE_ATTR, "comm_type", ATTR_INT64, node->collective);
  put_number(out, NODE_ATTR, "comm_size", ATTR_INT64, node->size_bytes);
  if (node->group > 0) {
    char name[16];
    snprintf(name, sizeof name, "%" PRIu32, node->group);
    put_text(out, NODE_ATTR, "pg_name", name);
  }
}

static void put_message(struct strbuf *out, const struct chakra_node *node) {
  put_number(out, NODE_ATTR, "comm_size", ATTR_INT64, node->size_bytes);
  put_number(out, NODE_ATTR, "comm_src", ATTR_INT32, node->source);
  put_number(out, NODE_ATTR, "comm_dst", ATTR_INT32, node->target);
  put_number(out, NODE_ATTR, "comm_tag", ATTR_INT32, node->tag);
}

void chakra_write_node(const struct chakra_node *node, struct strbuf *out) {
  size_t opened = wire_open_delimited(out);
  wire_put_uint(out, NODE_ID, node->id);
  wire_put_text(out, NODE_NAME, node->name);
  wire_put_uint(out, NODE_TYPE, node->type);
  wire_put_uints(out, NODE_CTRL_DEPS, node->control, node->control_count);
  wire_put_uints(out, NODE_DATA_DEPS, node->data, node->data_count);
  if (node->duration_us > 0) {
    wire_put_uint(out, NODE_DURATION, node->duration_us);
  }
  /* the feeder takes nodes without it for work of the host */
  size_t attribute = wire_open(out, NODE_ATTR);
  wire_put_text(out, ATTR_NAME, "is_cpu_op");
  wire_put_bool(out, ATTR_BOOL, false);
  wire_close(out, attribute);
  if (node->type == CHAKRA_COMPUTE) {
    put_compute(out, node);
  } else if (node->type == CHAKRA_COLLECTIVE) {
    put_collective(out, node);
  } else {
    put_message(out, node);
  }
  wire_close(out, opened);
}
