/* Clusters as text: the list, one cluster with its dimensions, named slices and every source, the result of a check. */
#include <string.h>

#include "report/report_clusters.h"
#include "report/report_int.h"

static void cell(struct report_table *table, struct strbuf *text) {
  report_table_cell(table, text->length ? strbuf_text(text) : "-");
  strbuf_clear(text);
}

/* "8 switch x any fat_tree", innermost first. */
static void put_dimensions(const struct hw_cluster *cluster, struct strbuf *out) {
  for (uint32_t i = 0; i < cluster->dimension_count; i++) {
    const struct hw_dimension *d = &cluster->dimensions[i];
    strbuf_puts(out, i ? " x " : "");
    if (d->size > 0) {
      strbuf_printf(out, "%u %s", d->size, hw_fabric_name(d->fabric));
    } else {
      strbuf_printf(out, "any %s", hw_fabric_name(d->fabric));
    }
  }
}

void report_clusters_text(const struct hw_clusters *clusters, struct strbuf *out) {
  static const char *const headings[] = {"id",         "name",        "chip",        "library",
                                         "dimensions", "inner links", "outer links", "device power"};
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_LEFT,  REPORT_LEFT,  REPORT_LEFT,
                                             REPORT_LEFT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT};
  struct report_table *table = report_table_new(headings, aligns, sizeof aligns / sizeof *aligns);
  struct strbuf text = {0};
  for (size_t i = 0; i < clusters->list.count; i++) {
    const struct hw_cluster *cluster = &clusters->list.data[i];
    report_table_cell(table, cluster->id);
    report_table_cell(table, cluster->name);
    report_table_cell(table, cluster->chip);
    report_table_cell(table, cluster->library);
    put_dimensions(cluster, &text);
    cell(table, &text);
    report_si(&text, cluster->dimensions[0].link_Bps, "B/s");
    cell(table, &text);
    report_si(&text, cluster->dimensions[cluster->dimension_count - 1].link_Bps, "B/s");
    cell(table, &text);
    if (cluster->device_power_W > 0) {
      report_si(&text, cluster->device_power_W, "W");
    }
    cell(table, &text);
  }
  strbuf_release(&text);
  report_table_print(table, out);
  report_table_free(table);
  strbuf_printf(out, "\n%zu cluster%s; bandwidths are per device and direction\n", clusters->list.count,
                clusters->list.count == 1 ? "" : "s");
}

/* ---- one cluster ---- */

/* What else a dimension is like: when a ring closes, how a tree is built, who adds. */
static void put_remarks(const struct hw_dimension *d, struct strbuf *out) {
  if (d->fabric == HW_FABRIC_RING) {
    switch (d->wrap) {
    case HW_WRAP_ALWAYS:
      strbuf_puts(out, "closed");
      break;
    case HW_WRAP_NEVER:
      strbuf_puts(out, "open");
      break;
    case HW_WRAP_AT_SIZE:
      strbuf_printf(out, "closed at %u, else open", d->wrap_size);
      break;
    case HW_WRAP_MULTIPLES:
      strbuf_printf(out, "closed when all sides are multiples of %u", d->wrap_size);
      break;
    }
  }
  if (d->fabric == HW_FABRIC_FAT_TREE) {
    strbuf_puts(out, d->taper < 1 ? "" : "non-blocking");
    if (d->taper < 1) {
      strbuf_printf(out, "%.3g of the bandwidth leaves a leaf", d->taper);
    }
    strbuf_puts(out, d->is_railed ? ", rails" : "");
    if (d->leaf_units > 0) {
      strbuf_printf(out, ", %u inner groups per leaf", d->leaf_units);
    }
  }
  strbuf_puts(out, d->reduces ? (out->length ? ", adds in the switch" : "adds in the switch") : "");
}

static void print_dimensions(const struct hw_cluster *cluster, struct strbuf *out) {
  static const char *const headings[] = {"dimension", "fabric", "joins", "per direction", "one hop", ""};
  static const enum report_align aligns[] = {REPORT_LEFT,  REPORT_LEFT,  REPORT_RIGHT,
                                             REPORT_RIGHT, REPORT_RIGHT, REPORT_LEFT};
  struct report_table *table = report_table_new(headings, aligns, sizeof aligns / sizeof *aligns);
  struct strbuf text = {0};
  for (uint32_t i = 0; i < cluster->dimension_count; i++) {
    const struct hw_dimension *d = &cluster->dimensions[i];
    report_table_cell(table, d->name);
    report_table_cell(table, hw_fabric_name(d->fabric));
    strbuf_printf(&text, d->size > 0 ? "%u" : "any", d->size);
    cell(table, &text);
    report_si(&text, d->link_Bps, "B/s");
    cell(table, &text);
    report_time(&text, d->latency_s);
    cell(table, &text);
    put_remarks(d, &text);
    report_table_cell(table, strbuf_text(&text));
    strbuf_clear(&text);
  }
  strbuf_release(&text);
  strbuf_puts(out, "\ndimensions, innermost first\n");
  report_table_print_indented(table, 2, out);
  report_table_free(table);
}

static void print_shapes(const struct hw_cluster *cluster, struct strbuf *out) {
  static const char *const headings[] = {"slice", "devices", "closed rings"};
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_RIGHT, REPORT_LEFT};
  if (cluster->shapes[0] == NULL) {
    return;
  }
  struct report_table *table = report_table_new(headings, aligns, 3);
  struct strbuf rings = {0};
  struct diag_list ignored; /* `clusters check` tells of shapes that do not fit */
  diag_init(&ignored);
  for (const char *const *name = cluster->shapes; *name != NULL; name++) {
    struct hw_slice slice;
    if (hw_slice_of(cluster, 0, *name, &ignored, &slice) != STATUS_OK) {
      continue;
    }
    report_table_cell(table, *name);
    report_table_cellf(table, "%llu", (unsigned long long)slice.devices);
    for (uint32_t i = 0; i < cluster->dimension_count; i++) {
      if (slice.wraps[i]) {
        strbuf_printf(&rings, "%s%s", rings.length ? ", " : "", cluster->dimensions[i].name);
      }
    }
    cell(table, &rings);
  }
  diag_release(&ignored);
  strbuf_release(&rings);
  strbuf_puts(out, "\nnamed slices\n");
  report_table_print_indented(table, 2, out);
  report_table_free(table);
}

static void text_row(struct report_table *table, const char *name, struct strbuf *text) {
  if (text->length) {
    report_table_cell(table, name);
    report_table_cell(table, strbuf_text(text));
  }
  strbuf_clear(text);
}

static void print_summary(const struct hw_cluster *cluster, struct strbuf *out) {
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_LEFT};
  struct report_table *table = report_table_new(NULL, aligns, 2);
  struct strbuf text = {0};
  for (size_t i = 0; i < cluster->alias_count; i++) {
    strbuf_puts(&text, i ? ", " : "");
    report_clean(&text, cluster->aliases[i]);
  }
  text_row(table, "short names", &text);
  strbuf_puts(&text, cluster->chip);
  if (cluster->chip_share < 1) {
    strbuf_printf(&text, ", a device is %.3g of one", cluster->chip_share);
  }
  text_row(table, "chip", &text);
  report_clean(&text, cluster->library);
  text_row(table, "communicates by", &text);
  if (cluster->max_devices > 0) {
    strbuf_printf(&text, "at most %llu", (unsigned long long)cluster->max_devices);
  } else {
    strbuf_puts(&text, "any number");
  }
  text_row(table, "devices", &text);
  if (cluster->device_power_W > 0) {
    report_si(&text, cluster->device_power_W, "W");
    text_row(table, "power per device", &text);
  }
  if (cluster->device_price_usd_h > 0) {
    strbuf_printf(&text, "%.4g USD/h", cluster->device_price_usd_h);
    text_row(table, "price per device", &text);
  }
  strbuf_release(&text);
  report_table_print_indented(table, 2, out);
  report_table_free(table);
}

void report_cluster_text(const struct hw_cluster *cluster, struct strbuf *out) {
  report_clean(out, cluster->name);
  strbuf_puts(out, " (");
  report_clean(out, cluster->id);
  strbuf_puts(out, "), ");
  report_clean(out, cluster->vendor);
  strbuf_puts(out, "\n\n");
  print_summary(cluster, out);
  print_dimensions(cluster, out);
  print_shapes(cluster, out);
  strbuf_puts(out, "\nfields\n");
  for (size_t i = 0; i < cluster->field_count; i++) {
    report_field_text(&cluster->fields[i], false, out);
  }
}

/* ---- check ---- */

void report_cluster_check_text(const struct report_cluster_check *check, struct strbuf *out) {
  size_t errors = check->diags->error_count, warnings = check->diags->warning_count;
  strbuf_printf(out, "%zu cluster%s checked: %zu error%s, %zu warning%s\n", check->count, check->count == 1 ? "" : "s",
                errors, errors == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s");
}
