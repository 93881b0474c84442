/* Exhausted memory while chip files are read: each allocation of loading the whole of hardware/ and of reading one file
 * fails once. What libyaml allocates itself does not fail here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "exhausted_memory.h"
#include "hw/hw_cluster.h"

static void put_chip(const struct hw_chip *chip, struct strbuf *text) {
  strbuf_printf(text, "%s %zu %a\n", chip->id, chip->field_count, chip->memory_Bps);
}

static enum status read_chip(const void *input, struct diag_list *diags, struct strbuf *text) {
  struct hw_database chips = {0};
  const struct hw_chip *chip = NULL;
  enum status status = hw_chip_parse(&chips, input, RDG_SOURCE_DIR "/hardware", diags, &chip);
  if (status == STATUS_OK) {
    put_chip(chip, text);
    status = hw_chip_check(chip, diags);
  }
  hw_database_release(&chips);
  return status;
}

static void one_file(void **state) {
  (void)state;
  static char data[1 << 16];
  static const char *const names[] = {"good.yaml", "runs_as.yaml", "inherits.yaml", "alias_bomb.yaml", "deep.yaml"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[1024];
    snprintf(path, sizeof path, RDG_SOURCE_DIR "/tests/fuzz/corpus/yaml/%s", names[i]);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(data, 1, sizeof data - 1, file);
    fclose(file);
    data[length] = '\0';
    const struct source source = {names[i], data, length};
    exhausted_check(names[i], read_chip, &source, 1);
  }
}

static enum status read_cluster(const void *input, struct diag_list *diags, struct strbuf *text) {
  struct hw_clusters clusters = {0};
  const struct hw_cluster *cluster = NULL;
  struct hw_slice slice;
  enum status status = hw_cluster_parse(&clusters, input, RDG_SOURCE_DIR "/hardware", NULL, diags, &cluster);
  if (status == STATUS_OK) {
    strbuf_printf(text, "%s %zu %s\n", cluster->id, cluster->field_count, cluster->chip);
    status = hw_slice_of(cluster, 8, NULL, diags, &slice);
  }
  hw_clusters_release(&clusters);
  return status;
}

static void one_cluster(void **state) {
  (void)state;
  static char data[1 << 16];
  static const char *const names[] = {"tests/fuzz/corpus/yaml/cluster_switch.yaml", "hardware/clusters/tpu_v3.yaml"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[1024];
    snprintf(path, sizeof path, RDG_SOURCE_DIR "/%s", names[i]);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(data, 1, sizeof data - 1, file);
    fclose(file);
    data[length] = '\0';
    const struct source source = {names[i], data, length};
    exhausted_check(names[i], read_cluster, &source, 1);
  }
}

static enum status read_clusters(const void *input, struct diag_list *diags, struct strbuf *text) {
  struct hw_clusters clusters;
  enum status status = hw_clusters_load(&clusters, input, NULL, diags);
  for (size_t i = 0; status == STATUS_OK && i < clusters.list.count; i++) {
    strbuf_printf(text, "%s %zu\n", clusters.list.data[i].id, clusters.list.data[i].field_count);
  }
  hw_clusters_release(&clusters);
  return status;
}

static void all_clusters(void **state) {
  (void)state;
  exhausted_check("clusters", read_clusters, RDG_SOURCE_DIR "/hardware", 10);
}

static enum status read_folder(const void *input, struct diag_list *diags, struct strbuf *text) {
  struct hw_database chips;
  enum status status = hw_database_load(&chips, input, diags);
  for (size_t i = 0; status == STATUS_OK && i < chips.chips.count; i++) {
    put_chip(&chips.chips.data[i], text);
  }
  strbuf_printf(text, "%zu fits\n", status == STATUS_OK ? chips.fits.count : 0);
  hw_database_release(&chips);
  return status;
}

/* One chip with its families and calibrations, as links into hardware/. */
static void a_folder(void **state) {
  (void)state;
  static const char *const links[][2] = {{"families", "families"},
                                         {"v/nvidia_h100_sxm.yaml", "nvidia/nvidia_h100_sxm.yaml"},
                                         {"calibrated/nvidia_h100_sxm.yaml", "calibrated/nvidia_h100_sxm.yaml"}};
  enum { LINKS = sizeof links / sizeof *links };
  char root[] = "/tmp/rdg_hw_memory_XXXXXX", path[256];
  assert_non_null(mkdtemp(root));
  for (size_t i = 1; i < LINKS; i++) {
    (void)snprintf(path, sizeof path, "%s/%.*s", root, (int)strcspn(links[i][0], "/"), links[i][0]);
    assert_int_equal(mkdir(path, 0700), 0);
  }
  for (size_t i = 0; i < LINKS; i++) {
    char target[1024];
    (void)snprintf(path, sizeof path, "%s/%s", root, links[i][0]);
    (void)snprintf(target, sizeof target, "%s/hardware/%s", RDG_SOURCE_DIR, links[i][1]);
    assert_int_equal(symlink(target, path), 0);
  }
  struct strbuf text = {0};
  enum status status = exhausted_run_once(read_folder, root, &text);
  if (status == STATUS_OK) {
    exhausted_check("folder", read_folder, root, 10);
  }
  for (size_t i = LINKS; i-- > 0;) {
    (void)snprintf(path, sizeof path, "%s/%s", root, links[i][0]);
    (void)unlink(path);
  }
  (void)snprintf(path, sizeof path, "%s/v", root);
  (void)rmdir(path);
  (void)snprintf(path, sizeof path, "%s/calibrated", root);
  (void)rmdir(path);
  (void)rmdir(root);
  assert_int_equal(status, STATUS_OK);
  assert_non_null(strstr(strbuf_text(&text), "nvidia_h100_sxm"));
  assert_null(strstr(strbuf_text(&text), " 0 fits"));
  strbuf_release(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_file), cmocka_unit_test(a_folder),
                                     cmocka_unit_test(one_cluster), cmocka_unit_test(all_clusters)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
