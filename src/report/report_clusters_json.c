/* Clusters as JSON documents; docs/json.md is the schema. */
#include <math.h>

#include "report/report_clusters.h"
#include "report/report_int.h"

/* Numbers that are 0 when a file does not state them. */
static json_t *stated(double value) {
  return report_json_real(value > 0 ? value : (double)NAN);
}

static json_t *dimension_of(struct report_json *json, const struct hw_dimension *d) {
  bool is_tree = d->fabric == HW_FABRIC_FAT_TREE, is_ring = d->fabric == HW_FABRIC_RING;
  json_t *row = json_object();
  report_json_set(json, row, "name", report_json_text(d->name));
  report_json_set(json, row, "fabric", json_string(hw_fabric_name(d->fabric)));
  report_json_set(json, row, "size", d->size > 0 ? json_integer(d->size) : json_null());
  report_json_set(json, row, "link_Bps", report_json_real(d->link_Bps));
  report_json_set(json, row, "latency_s", report_json_real(d->latency_s));
  report_json_set(json, row, "reduces", json_boolean(d->reduces));
  report_json_set(json, row, "taper", is_tree ? report_json_real(d->taper) : json_null());
  report_json_set(json, row, "rails", is_tree ? json_boolean(d->is_railed) : json_null());
  report_json_set(json, row, "leaf_units", d->leaf_units > 0 ? json_integer(d->leaf_units) : json_null());
  report_json_set(json, row, "wrap", is_ring ? json_string(hw_wrap_name(d->wrap)) : json_null());
  report_json_set(json, row, "wrap_size", d->wrap_size > 0 ? json_integer(d->wrap_size) : json_null());
  return row;
}

static json_t *shapes_of(struct report_json *json, const struct hw_cluster *cluster) {
  json_t *rows = json_array();
  struct diag_list ignored; /* `clusters check` tells of shapes that do not fit */
  diag_init(&ignored);
  for (const char *const *name = cluster->shapes; *name != NULL; name++) {
    struct hw_slice slice;
    if (hw_slice_of(cluster, 0, *name, &ignored, &slice) != STATUS_OK) {
      continue;
    }
    json_t *row = json_object(), *closed = json_array();
    for (uint32_t i = 0; i < cluster->dimension_count; i++) {
      if (slice.wraps[i]) {
        report_json_append(json, closed, report_json_text(cluster->dimensions[i].name));
      }
    }
    report_json_set(json, row, "shape", report_json_text(*name));
    report_json_set(json, row, "devices", report_json_uint(slice.devices));
    report_json_set(json, row, "closed", closed);
    report_json_append(json, rows, row);
  }
  diag_release(&ignored);
  return rows;
}

static json_t *head_of(struct report_json *json, const struct hw_cluster *cluster) {
  json_t *row = json_object(), *aliases = json_array(), *dimensions = json_array();
  for (size_t i = 0; i < cluster->alias_count; i++) {
    report_json_append(json, aliases, report_json_text(cluster->aliases[i]));
  }
  for (uint32_t i = 0; i < cluster->dimension_count; i++) {
    report_json_append(json, dimensions, dimension_of(json, &cluster->dimensions[i]));
  }
  report_json_set(json, row, "id", report_json_text(cluster->id));
  report_json_set(json, row, "name", report_json_text(cluster->name));
  report_json_set(json, row, "vendor", report_json_text(cluster->vendor));
  report_json_set(json, row, "chip", report_json_text(cluster->chip));
  report_json_set(json, row, "chip_share", report_json_real(cluster->chip_share));
  report_json_set(json, row, "library", report_json_text(cluster->library));
  report_json_set(json, row, "aliases", aliases);
  report_json_set(json, row, "max_devices",
                  cluster->max_devices > 0 ? report_json_uint(cluster->max_devices) : json_null());
  report_json_set(json, row, "device_power_W", stated(cluster->device_power_W));
  report_json_set(json, row, "device_price_usd_h", stated(cluster->device_price_usd_h));
  report_json_set(json, row, "dimensions", dimensions);
  report_json_set(json, row, "shapes", shapes_of(json, cluster));
  return row;
}

enum status report_clusters_json(const struct hw_clusters *clusters, struct strbuf *out) {
  struct report_json json = {0};
  json_t *root = report_json_document(&json, "ridgeline-clusters", NULL);
  json_t *rows = json_array();
  for (size_t i = 0; i < clusters->list.count; i++) {
    report_json_append(&json, rows, head_of(&json, &clusters->list.data[i]));
  }
  report_json_set(&json, root, "clusters", rows);
  return report_json_finish(&json, root, out);
}

enum status report_cluster_json(const struct hw_cluster *cluster, struct strbuf *out) {
  struct report_json json = {0};
  json_t *root = report_json_document(&json, "ridgeline-cluster", NULL);
  json_t *fields = json_array();
  for (size_t i = 0; i < cluster->field_count; i++) {
    report_json_append(&json, fields, report_json_field(&json, &cluster->fields[i]));
  }
  report_json_set(&json, root, "cluster", head_of(&json, cluster));
  report_json_set(&json, root, "fields", fields);
  return report_json_finish(&json, root, out);
}

enum status report_cluster_check_json(const struct report_cluster_check *check, struct strbuf *out) {
  struct report_json json = {0};
  json_t *root = report_json_document(&json, "ridgeline-cluster-check", check->version);
  json_t *clusters = json_array();
  for (size_t i = 0; i < check->count; i++) {
    report_json_append(&json, clusters, report_json_text(check->clusters[i].id));
  }
  report_json_set(&json, root, "checked", report_json_uint(check->count));
  report_json_set(&json, root, "errors", report_json_uint(check->diags->error_count));
  report_json_set(&json, root, "warnings", report_json_uint(check->diags->warning_count));
  report_json_set(&json, root, "findings", report_json_findings(&json, check->diags));
  report_json_set(&json, root, "clusters", clusters);
  return report_json_finish(&json, root, out);
}
