/* Clusters: the shipped files load, hold and are sourced; what they say agrees with published totals; bad files are refused
 * with their place. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "hw/hw_cluster.h"

static struct hw_database chips;
static struct hw_clusters clusters;

static int setup(void **state) {
  (void)state;
  struct diag_list diags;
  diag_init(&diags);
  enum status status = hw_database_load(&chips, "hardware", &diags);
  status = status == STATUS_OK ? hw_clusters_load(&clusters, "hardware", &chips, &diags) : status;
  bool is_quiet = diags.entries.count == 0;
  diag_release(&diags);
  return status == STATUS_OK && is_quiet ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  hw_clusters_release(&clusters);
  hw_database_release(&chips);
  return 0;
}

static const struct hw_cluster *get(const char *name) {
  const struct hw_cluster *cluster = hw_clusters_find(&clusters, name, NULL);
  if (cluster == NULL) {
    fail_msg("no cluster '%s'", name);
  }
  return cluster;
}

static void assert_near(double value, double expected, double tolerance) {
  if (!(fabs(value - expected) <= tolerance * fabs(expected))) {
    fail_msg("%.10g is not %.10g", value, expected);
  }
}

static void test_expected_clusters_are_there(void **state) {
  (void)state;
  static const char *const names[] = {
      "dgx_a100", "dgx_a100_40", "dgx_h100", "dgx_h200", "dgx_b200",         "dgx_b300",          "gb200_nvl72",
      "dgx_v100", "gb300_nvl72", "tpu_v2",   "tpu_v3",   "tpu_v4",           "tpu_v5e",           "tpu_v5p",
      "tpu_v6e",  "tpu7x",       "trn1",     "trn2",     "trn2_ultraserver", "mi300x_8",          "mi355x_8",
      "ipu_pod4", "bow_pod4",    "aws_p4d",  "aws_p5en", "generic_fat_tree", "a100_40_roce_1600", "a100_80_roce_1600",
      "rail",     "l40s_pcie_8",
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    (void)get(names[i]);
  }
}

static void test_every_cluster_checks(void **state) {
  (void)state;
  for (size_t i = 0; i < clusters.list.count; i++) {
    struct diag_list diags;
    diag_init(&diags);
    const struct hw_cluster *cluster = &clusters.list.data[i];
    enum status status = hw_cluster_check(cluster, &chips, &diags);
    if (status != STATUS_OK || diags.entries.count > 0) {
      fail_msg("%s: %s", cluster->id, diags.entries.count > 0 ? diags.entries.data[0].message : "no message");
    }
    diag_release(&diags);
    assert_true(i == 0 || strcmp(clusters.list.data[i - 1].id, cluster->id) < 0);
  }
}

static void test_every_number_has_its_source(void **state) {
  (void)state;
  for (size_t i = 0; i < clusters.list.count; i++) {
    const struct hw_cluster *cluster = &clusters.list.data[i];
    for (size_t k = 0; k < cluster->field_count; k++) {
      const struct hw_field *field = &cluster->fields[k];
      assert_true(field->fact.source_title[0] != '\0');
      assert_true(strncmp(field->fact.source_url, "https://", 8) == 0
                  || strcmp(field->fact.source_url, "derived") == 0);
      assert_true(field->disputed_count == 0 || field->chosen != NULL);
      assert_true((field->inherited_from != NULL) == (strcmp(field->file, cluster->file) != 0));
      assert_true(field->fact.kind != HW_FACT_INFERRED || field->fact.note != NULL);
      assert_true(field->line > 0 && field->file != NULL);
      assert_true(k == 0 || strcmp(cluster->fields[k - 1].key, field->key) < 0);
    }
  }
}

static void test_a_node_of_switches(void **state) {
  (void)state;
  const struct hw_cluster *h100 = get("dgx_h100");
  assert_string_equal(h100->chip, "nvidia_h100_sxm");
  assert_string_equal(h100->library, "nccl");
  assert_string_equal(h100->vendor, "NVIDIA"); /* of the family */
  assert_int_equal(h100->dimension_count, 2);
  const struct hw_dimension *nvlink = &h100->dimensions[0], *network = &h100->dimensions[1];
  assert_string_equal(nvlink->name, "nvlink");
  assert_int_equal(nvlink->fabric, HW_FABRIC_SWITCH);
  assert_int_equal(nvlink->size, 8);
  assert_true(nvlink->link_Bps == 18 * 25e9 && nvlink->reduces); /* NVLink 4: 18 links of 25 GB/s */
  assert_int_equal(network->fabric, HW_FABRIC_FAT_TREE);
  assert_int_equal(network->size, 0);
  assert_true(network->link_Bps == 400e9 / 8 && network->is_railed && network->taper == 1);
  assert_int_equal(network->leaf_units, 32); /* nodes of a scalable unit */
  assert_int_equal(h100->max_devices, 0);
  assert_near(h100->device_power_W * 8, 10.2e3, 1e-9);
  assert_true(!get("dgx_a100")->dimensions[0].reduces); /* NVLS came with Hopper */
  assert_true(get("aws_p4d")->dimensions[1].link_Bps == 4 * 100e9 / 8 / 8);
  assert_string_equal(hw_cluster_field(h100, "dimension.nvlink.size")->inherited_from, "nvidia_hgx");
}

static void test_devices_that_are_cores(void **state) {
  (void)state;
  const struct hw_cluster *v3 = get("tpu_v3");
  assert_true(v3->chip_share == 0.5);
  assert_int_equal(v3->dimension_count, 4);
  assert_int_equal(v3->dimensions[0].size, 2);
  assert_int_equal(v3->dimensions[1].wrap, HW_WRAP_AT_SIZE);
  assert_true(get("tpu_v4")->chip_share == 1);
}

/* Totals that vendors publish, which no file states. */
static void test_published_totals(void **state) {
  (void)state;
  const struct hw_cluster *v4 = get("tpu_v4"), *v5e = get("tpu_v5e"), *v6e = get("tpu_v6e");
  const struct hw_cluster *nvl72 = get("gb200_nvl72"), *v5p = get("tpu_v5p"), *v3 = get("tpu_v3");
  /* a cut through a closed ring crosses two links; pages round 45 GB/s of a link up to 50 */
  assert_near(2.0 * 16 * 16 * v4->dimensions[0].link_Bps, 24e12, 0.05);
  assert_near(2.0 * 16 * v5e->dimensions[0].link_Bps, 1.6e12, 0.11);
  assert_near(2.0 * 16 * v6e->dimensions[0].link_Bps, 3.2e12, 0.11);
  assert_near(2.0 * 72 * nvl72->dimensions[0].link_Bps, 130e12, 0.01);
  assert_near(16.0 * 20 * 28, 8960, 0);
  assert_int_equal(v5p->dimensions[0].size * v5p->dimensions[1].size * v5p->dimensions[2].size, 8960);
  assert_int_equal(v3->dimensions[1].size * v3->dimensions[2].size, 1024);
  /* the data-centre network of a v5e pod: 6.4 Tb/s */
  assert_near(256 * v5e->dimensions[2].link_Bps * 8, 6.4e12, 1e-9);
  /* four HDR cards of a node of eight */
  assert_near(8 * get("a100_80_hdr_800")->dimensions[1].link_Bps * 8, 4 * 200e9, 1e-9);
}

static void test_find(void **state) {
  (void)state;
  struct diag_list diags;
  diag_init(&diags);
  assert_ptr_equal(hw_clusters_find(&clusters, "DGX-H100", &diags), get("dgx_h100"));
  assert_ptr_equal(hw_clusters_find(&clusters, "hgx_h100", &diags), get("dgx_h100"));
  assert_ptr_equal(hw_clusters_find(&clusters, "nvl72", &diags), get("gb200_nvl72"));
  assert_int_equal(diags.entries.count, 0);
  assert_null(hw_clusters_find(&clusters, "dgx_h10", &diags));
  assert_int_equal(diags.entries.data[0].id, DIAG_E0313_UNKNOWN_CLUSTER);
  assert_non_null(strstr(diags.entries.data[0].message, "'dgx_h100'"));
  double value = 0;
  assert_true(hw_cluster_number(get("dgx_h100"), "dimension.nvlink.link_bw", &value));
  assert_true(value == 4.5e11);
  assert_false(hw_cluster_number(get("dgx_h100"), "dimension.nvlink.fabric", &value));
  assert_false(hw_cluster_number(get("dgx_h100"), "collective.none", &value));
  diag_release(&diags);
}

/* ---- texts ---- */

static enum status parse(const char *text, struct diag_list *diags, const struct hw_cluster **cluster) {
  struct source source = {.name = "mine.yaml", .text = text, .length = strlen(text)};
  diag_init(diags);
  return hw_cluster_parse(&clusters, &source, "hardware", &chips, diags, cluster);
}

#define FACT(value, unit) "{value: " value ", unit: " unit ", kind: inferred, source: derived, note: test}\n"

static void test_inherits(void **state) {
  (void)state;
  struct diag_list diags;
  const struct hw_cluster *cluster;
  static const char text[] =
      "id: mine\nname: Mine\nchip: h100\ninherit: dgx_h100\ndimensions: [nvlink]\nfields:\n"
      "  dimension.nvlink.link_bw: " FACT("1e11", "B/s") "  collective.launch: " FACT("9e-6", "s");
  assert_int_equal(parse(text, &diags, &cluster), STATUS_OK);
  assert_int_equal(diags.entries.count, 0);
  assert_string_equal(cluster->chip, "nvidia_h100_sxm"); /* its id, whatever the file calls it */
  assert_int_equal(cluster->dimension_count, 1);
  assert_true(cluster->dimensions[0].link_Bps == 1e11); /* own */
  assert_int_equal(cluster->dimensions[0].size, 8); /* inherited */
  assert_int_equal(cluster->max_devices, 8);
  assert_int_equal(cluster->alias_count, 0);
  assert_null(hw_cluster_field(cluster, "dimension.network.link_bw")); /* of a dimension that it does not have */
  double launch_s = 0;
  assert_true(hw_cluster_number(cluster, "collective.launch", &launch_s));
  assert_true(launch_s == 9e-6);
  diag_release(&diags);
}

#define HEAD "id: mine\nname: Mine\nvendor: Me\nchip: h100\nlibrary: nccl\ndimensions: [a]\nfields:\n"
#define DIMENSION(fabric)                                                                                              \
  "  dimension.a.fabric: " FACT(fabric, "\"-\"") "  dimension.a.link_bw: " FACT(                                       \
      "1e9", "B/s") "  dimension.a.latency: " FACT("1e-6", "s")
#define SWITCH DIMENSION("switch") "  dimension.a.size: " FACT("8", "device")

static const struct {
  const char *text;
  enum diag_id id;
  uint32_t line, column;
  const char *part;
} bad_texts[] = {
    {"[1, 2]\n", DIAG_E0301_YAML, 1, 1, "a cluster file is a map"},
    {"id: mine\nname: Mine\nkind: gpu\nfields: {}\n", DIAG_E0302_FIELD, 3, 1, "'kind' is not a key of a cluster file"},
    {"id: mine\nname: Mine\nvendor: Me\nlibrary: nccl\ndimensions: [a]\nfields: {}\n", DIAG_E0302_FIELD, 1, 1,
     "'chip' is missing"},
    {"id: mine\nname: Mine\nvendor: Me\nchip: h100\ndimensions: [a]\nfields: {}\n", DIAG_E0302_FIELD, 1, 1,
     "'library' is missing"},
    {"id: mine\nname: Mine\nvendor: Me\nchip: h100\nlibrary: nccl\nfields: {}\n", DIAG_E0302_FIELD, 1, 1,
     "'dimensions' is missing"},
    {"id: mine\nname: Mine\ndimensions: a\nfields: {}\n", DIAG_E0303_VALUE, 3, 13, "must be a list"},
    {"id: mine\nname: Mine\ndimensions: []\nfields: {}\n", DIAG_E0303_VALUE, 3, 13, "must be a list"},
    {"id: mine\nname: Mine\ndimensions: [a, b, a]\nfields: {}\n", DIAG_E0302_FIELD, 3, 20, "'a' is there twice"},
    {"id: mine\nname: Mine\ndimensions: [a, b, c, d, e]\nfields: {}\n", DIAG_E0303_VALUE, 3, 26, "more than 4"},
    {"id: mine\nname: Mine\ndimensions: [A]\nfields: {}\n", DIAG_E0303_VALUE, 3, 14, "'A' is not one of names"},
    {"id: mine\nname: Mine\nshapes: [4x, 8]\nfields: {}\n", DIAG_E0303_VALUE, 3, 10, "'4x' is not one of shapes"},
    {"id: mine\nname: Mine\nshapes: [4, 0]\nfields: {}\n", DIAG_E0303_VALUE, 3, 13, "'0' is not one of shapes"},
    {"id: mine\nname: Mine\ninherit: dgx_h101\nfields: {}\n", DIAG_E0306_INHERIT, 3, 10, "did you mean 'dgx_h100'?"},
    {"id: mine\nname: Mine\ninherit: dgx_h100\nchip: h1000\nfields: {}\n", DIAG_E0307_UNKNOWN_CHIP, 4, 7,
     "there is no chip 'h1000'"},
    {HEAD SWITCH "  dimension.a.speed: " FACT("1", "factor"), DIAG_E0302_FIELD, 12, 3,
     "'speed' is not a field of a dimension"},
    {HEAD SWITCH "  dimension.a.link_bwx: " FACT("1", "factor"), DIAG_E0302_FIELD, 12, 3, "did you mean 'link_bw'?"},
    {HEAD SWITCH "  dimension.b.size: " FACT("8", "device"), DIAG_E0302_FIELD, 12, 3, "not in 'dimensions'"},
    {HEAD SWITCH "  chip_shared: " FACT("0.5", "fraction"), DIAG_E0302_FIELD, 12, 3, "did you mean 'chip_share'?"},
    {HEAD SWITCH "  device.power: " FACT("700", "USD/h"), DIAG_E0305_UNIT, 12, 36, "its unit is 'W'"},
    {HEAD SWITCH "  collective.launch: " FACT("1", "minutes"), DIAG_E0305_UNIT, 12, 39, "'minutes' is not a unit"},
    {HEAD SWITCH "  chip_share: " FACT("2", "fraction"), DIAG_E0303_VALUE, 12, 23, "between 0.001 and 1"},
    {HEAD SWITCH "  dimension.a.reduces: " FACT("maybe", "\"-\""), DIAG_E0303_VALUE, 12, 32,
     "'maybe' is not an answer"},
    {HEAD DIMENSION("torus") "  dimension.a.size: " FACT("8", "device"), DIAG_E0303_VALUE, 8, 31,
     "'torus' is not a fabric (switch, mesh, ring, fat_tree)"},
    {HEAD DIMENSION("switch") "  dimension.a.size: " FACT("2.5", "device"), DIAG_E0303_VALUE, 11, 3, "a whole number"},
    {HEAD DIMENSION("switch") "  dimension.a.size: " FACT("0", "device"), DIAG_E0303_VALUE, 11, 29, "between 1 and"},
    {HEAD DIMENSION("switch"), DIAG_E0302_FIELD, 6, 13, "'dimension.a.size' is missing"},
    {HEAD "  dimension.a.fabric: " FACT("switch", "\"-\""), DIAG_E0302_FIELD, 6, 13,
     "'dimension.a.link_bw' is missing"},
    {HEAD DIMENSION("ring") "  dimension.a.size: " FACT("8", "device"), DIAG_E0302_FIELD, 6, 13,
     "'dimension.a.wrap' is missing"},
    {HEAD DIMENSION("ring") "  dimension.a.size: " FACT("8", "device") "  dimension.a.wrap: " FACT("at_size", "\"-\""),
     DIAG_E0302_FIELD, 6, 13, "'dimension.a.wrap_size' is missing"},
    {HEAD SWITCH "  device.price: {value: 3, unit: USD/h, kind: datasheet}\n", DIAG_E0304_SOURCE, 12, 17,
     "has no source"},
};

static void test_bad_texts(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad_texts / sizeof bad_texts[0]; i++) {
    struct diag_list diags;
    const struct hw_cluster *cluster;
    enum status status = parse(bad_texts[i].text, &diags, &cluster);
    const struct diag *d = diags.entries.data;
    if (status != STATUS_INPUT || cluster != NULL || diags.entries.count == 0 || d->id != bad_texts[i].id
        || d->line != bad_texts[i].line || d->column != bad_texts[i].column
        || strstr(d->message, bad_texts[i].part) == NULL) {
      fail_msg("text %zu (%s): status %d, %u:%u '%s'", i, bad_texts[i].part, (int)status,
               diags.entries.count > 0 ? d->line : 0, diags.entries.count > 0 ? d->column : 0,
               diags.entries.count > 0 ? d->message : "");
    }
    diag_release(&diags);
  }
}

/* Files that load and that no cluster can be like. */
static const struct {
  const char *text;
  enum diag_id id;
  const char *part;
} dubious_texts[] = {
    {HEAD SWITCH "  dimension.a.rails: " FACT("yes", "\"-\""), DIAG_E0303_VALUE, "is no fat_tree"},
    {HEAD SWITCH "  dimension.a.wrap_size: " FACT("4", "device"), DIAG_E0303_VALUE, "is of rings"},
    {HEAD DIMENSION("mesh") "  dimension.a.size: " FACT("8", "device") "  dimension.a.reduces: " FACT("yes", "\"-\""),
     DIAG_E0303_VALUE, "is of switches"},
    {HEAD DIMENSION("ring") "  dimension.a.size: " FACT("8", "device") "  dimension.a.wrap: " FACT(
         "at_size", "\"-\"") "  dimension.a.wrap_size: " FACT("16", "device"),
     DIAG_E0303_VALUE, "it never closes"},
    {"shapes: [16]\n" HEAD SWITCH, DIAG_E0314_SLICE, "which joins at most 8"},
    {"shapes: [8, 4]\n" HEAD SWITCH, DIAG_E0303_VALUE, "smallest first"},
    {"id: mine\nname: Mine\ninherit: dgx_h100\nchip: h100\nfields:\n  dimension.nvlink.link_bw: " FACT("9e11", "B/s"),
     DIAG_W0309_INCONSISTENT, "the links of 'nvidia_h100_sxm' carry 4.5e+11"},
    {"id: mine\nname: Mine\ninherit: dgx_h100\nchip: h100\nfields:\n  device.power: " FACT("500", "W"),
     DIAG_W0309_INCONSISTENT, "alone may draw 700 W"},
    {"id: mine\nname: Mine\nchip: cerebras_wse2\ninherit: dgx_h100\nfields: {}\n", DIAG_W0310_CANNOT_PREDICT,
     "its chip lacks"},
};

static void test_dubious_texts(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof dubious_texts / sizeof dubious_texts[0]; i++) {
    struct diag_list diags;
    const struct hw_cluster *cluster;
    if (parse(dubious_texts[i].text, &diags, &cluster) != STATUS_OK) {
      fail_msg("text %zu is refused: %s", i, diags.entries.data[0].message);
    }
    enum status status = hw_cluster_check(cluster, &chips, &diags);
    const struct diag *d = diags.entries.data;
    if (diags.entries.count == 0 || d->id != dubious_texts[i].id || strstr(d->message, dubious_texts[i].part) == NULL
        || (d->severity == DIAG_ERROR) != (status == STATUS_INPUT)) {
      fail_msg("text %zu: status %d, '%s'", i, (int)status, diags.entries.count > 0 ? d->message : "");
    }
    diag_release(&diags);
  }
}

/* ---- folders ---- */

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static void test_folders(void **state) {
  (void)state;
  char folder[] = "/tmp/rdg_clusters_XXXXXX", path[128];
  assert_non_null(mkdtemp(folder));
  struct diag_list diags;
  struct hw_clusters mine;
  diag_init(&diags);
  /* a folder of chips alone has no clusters */
  assert_int_equal(hw_clusters_load(&mine, folder, NULL, &diags), STATUS_OK);
  assert_int_equal(mine.list.count, 0);
  hw_clusters_release(&mine);
  (void)snprintf(path, sizeof path, "%s/clusters", folder);
  assert_int_equal(mkdir(path, 0700), 0);
  static const char *const names[] = {"a", "b", "c"};
  static const char *const texts[] = {
      "aliases: [one]\n" HEAD SWITCH,
      "aliases: [ONE_]\nid: x\n", /* refused for its alias */
      "aliases: [one]\nid: other\nname: Other\nvendor: Me\nchip: h100\nlibrary: nccl\ndimensions: "
      "[a]\nfields:\n" SWITCH,
  };
  for (size_t i = 0; i < 3; i++) {
    (void)snprintf(path, sizeof path, "%s/clusters/%s.yaml", folder, names[i]);
    write_file(path, texts[i]);
  }
  assert_int_equal(hw_clusters_load(&mine, folder, NULL, &diags), STATUS_INPUT);
  assert_int_equal(mine.list.count, 1); /* the good one stays */
  assert_non_null(hw_clusters_find(&mine, "ONE", NULL));
  bool is_told = false;
  for (size_t i = 0; i < diags.entries.count; i++) {
    is_told = is_told || strstr(diags.entries.data[i].message, "'one' already names the cluster of") != NULL;
  }
  assert_true(is_told);
  const struct hw_cluster *single = NULL;
  (void)snprintf(path, sizeof path, "%s/clusters/a.yaml", folder);
  assert_int_equal(hw_cluster_load(&mine, path, folder, NULL, &diags, &single), STATUS_OK);
  assert_string_equal(single->id, "mine");
  assert_string_equal(single->chip, "h100"); /* without chips names are taken as they are */
  assert_int_equal(mine.list.count, 1);
  hw_clusters_release(&mine);
  diag_release(&diags);
  for (size_t i = 0; i < 3; i++) {
    (void)snprintf(path, sizeof path, "%s/clusters/%s.yaml", folder, names[i]);
    assert_int_equal(unlink(path), 0);
  }
  (void)snprintf(path, sizeof path, "%s/clusters", folder);
  assert_int_equal(rmdir(path), 0);
  assert_int_equal(rmdir(folder), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_expected_clusters_are_there),
      cmocka_unit_test(test_every_cluster_checks),
      cmocka_unit_test(test_every_number_has_its_source),
      cmocka_unit_test(test_a_node_of_switches),
      cmocka_unit_test(test_devices_that_are_cores),
      cmocka_unit_test(test_published_totals),
      cmocka_unit_test(test_find),
      cmocka_unit_test(test_inherits),
      cmocka_unit_test(test_bad_texts),
      cmocka_unit_test(test_dubious_texts),
      cmocka_unit_test(test_folders),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
