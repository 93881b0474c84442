/* Slices: how a number of devices fills a cluster, which rings close, and what is said of numbers and shapes that do not
 * fit. Expected slices are those of the vendors' documentation or follow from the definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hw/hw_cluster.h"

static struct hw_database chips;
static struct hw_clusters clusters;
static struct diag_list diags;

static int setup(void **state) {
  (void)state;
  diag_init(&diags);
  enum status status = hw_database_load(&chips, "hardware", &diags);
  return status == STATUS_OK && hw_clusters_load(&clusters, "hardware", &chips, &diags) == STATUS_OK ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  hw_clusters_release(&clusters);
  hw_database_release(&chips);
  diag_release(&diags);
  return 0;
}

static const struct {
  const char *cluster;
  uint64_t devices;
  const char *shape, *text;
  const char *closed; /* one digit per dimension */
} slices[] = {
    /* switches and trees: whole nodes, innermost first */
    {"dgx_h100", 1, NULL, "1", "00"},
    {"dgx_h100", 4, NULL, "4", "00"},
    {"dgx_h100", 8, NULL, "8", "00"},
    {"dgx_h100", 16, NULL, "8 x 2", "00"},
    {"dgx_h100", 16384, NULL, "8 x 2048", "00"},
    {"dgx_h100", 0, "4x2", "4 x 2", "00"},
    {"dgx_h100", 12, "6x2", "6 x 2", "00"},
    {"dgx_h100", 2, "1 x 2", "1 x 2", "00"},
    {"a100_pairwise_nvlink_4", 4, NULL, "2 x 2", "00"},
    {"mi300x_8", 8, NULL, "8", "00"},
    /* racks of 72: a power of two is taken as 64 of each rack */
    {"gb200_nvl72", 72, NULL, "72", "00"},
    {"gb200_nvl72", 64, NULL, "64", "00"},
    {"gb200_nvl72", 128, NULL, "64 x 2", "00"},
    {"gb200_nvl72", 144, NULL, "72 x 2", "00"},
    {"gb200_nvl72", 256, NULL, "64 x 4", "00"},
    /* TPU v5e and v6e: the published slices; only a side of 16 closes */
    {"tpu_v5e", 1, NULL, "1", "000"},
    {"tpu_v5e", 4, NULL, "2 x 2", "000"},
    {"tpu_v5e", 8, NULL, "2 x 4", "000"},
    {"tpu_v5e", 64, NULL, "8 x 8", "000"},
    {"tpu_v5e", 128, NULL, "8 x 16", "010"},
    {"tpu_v6e", 256, NULL, "16 x 16", "110"},
    {"tpu_v6e", 1024, NULL, "16 x 16 x 4", "110"},
    {"tpu_v5e", 50944, NULL, "16 x 16 x 199", "110"},
    {"tpu_v5e", 128, "8x8x2", "8 x 8 x 2", "000"}, /* two slices of 64 */
    {"tpu_v5e", 2, "1x2", "1 x 2", "000"},
    {"tpu_v5e", 256, "16x16", "16 x 16", "110"},
    /* TPU v4 and v5p: sides that are all multiples of 4 close */
    {"tpu_v4", 4, NULL, "2 x 2", "0000"},
    {"tpu_v4", 8, NULL, "2 x 2 x 2", "0000"},
    {"tpu_v4", 16, NULL, "2 x 2 x 4", "0000"},
    {"tpu_v4", 32, NULL, "2 x 4 x 4", "0000"},
    {"tpu_v4", 64, NULL, "4 x 4 x 4", "1110"},
    {"tpu_v4", 128, NULL, "4 x 4 x 8", "1110"},
    {"tpu_v4", 512, NULL, "8 x 8 x 8", "1110"},
    {"tpu_v4", 1728, NULL, "12 x 12 x 12", "1110"}, /* not in the list, and made of whole cubes */
    {"tpu_v4", 4096, NULL, "16 x 16 x 16", "1110"},
    {"tpu_v4", 64, "2x4x8", "2 x 4 x 8", "0000"},
    {"tpu_v4", 6144, NULL, "12 x 16 x 16 x 2", "1110"}, /* PaLM: two pods of 3072 */
    {"tpu_v5p", 6144, NULL, "16 x 16 x 24", "1110"},
    {"tpu_v5p", 8960, NULL, "16 x 20 x 28", "1110"},
    {"tpu_v5p", 12288, NULL, "16 x 16 x 24 x 2", "1110"},
    /* TPU v3: devices are cores, shapes count chips; only a side of the whole pod closes */
    {"tpu_v3", 1, NULL, "1", "0000"},
    {"tpu_v3", 2, NULL, "2", "0000"},
    {"tpu_v3", 8, NULL, "2 x 2 x 2", "0000"},
    {"tpu_v3", 32, NULL, "2 x 4 x 4", "0000"},
    {"tpu_v3", 0, "4x4", "2 x 4 x 4", "0000"},
    {"tpu_v3", 32, "2x4x4", "2 x 4 x 4", "0000"},
    {"tpu_v3", 2048, NULL, "2 x 32 x 32", "0110"},
    /* rings without published slices: the most cubic */
    {"trn1", 2, NULL, "1 x 2", "000"},
    {"trn1", 8, NULL, "2 x 4", "010"},
    {"trn1", 16, NULL, "4 x 4", "110"},
    {"trn1", 32, NULL, "4 x 4 x 2", "110"},
    {"trn2_ultraserver", 64, NULL, "4 x 4 x 4", "1110"},
    {"ipu_pod4", 4, NULL, "4", "10"},
};

static void test_slices(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof slices / sizeof slices[0]; i++) {
    const struct hw_cluster *cluster = hw_clusters_find(&clusters, slices[i].cluster, &diags);
    assert_non_null(cluster);
    struct hw_slice slice;
    enum status status = hw_slice_of(cluster, slices[i].devices, slices[i].shape, &diags, &slice);
    if (status != STATUS_OK) {
      fail_msg("row %zu: %s", i, diags.entries.data[diags.entries.count - 1].message);
    }
    char text[64], closed[HW_DIMENSIONS_MAX + 1] = "";
    hw_slice_text(&slice, cluster, text, sizeof text);
    uint64_t product = 1;
    for (uint32_t d = 0; d < HW_DIMENSIONS_MAX; d++) {
      product *= slice.size[d];
      assert_true(d < cluster->dimension_count || (slice.size[d] == 1 && !slice.wraps[d]));
      if (d < cluster->dimension_count) {
        closed[d] = slice.wraps[d] ? '1' : '0';
      }
    }
    assert_string_equal(text, slices[i].text);
    assert_string_equal(closed, slices[i].closed);
    assert_int_equal(product, slice.devices);
    assert_true(slices[i].devices == 0 || slice.devices == slices[i].devices);
  }
  assert_int_equal(diags.entries.count, 0);
}

static const struct {
  const char *cluster;
  uint64_t devices;
  const char *shape, *part;
} refused[] = {
    {"dgx_h100", 0, NULL, "one device at least"},
    {"dgx_h100", 12, NULL,
     "12 devices do not fill whole groups of 8 ('nvlink' of dgx_h100); 8 and 16 devices do; a shape like 6x2"},
    {"dgx_h100", 13, NULL, "8 and 16 devices do"},
    {"l40s_pcie_8", 16, NULL, "l40s_pcie_8 has at most 8 devices; the program needs 16"},
    {"dgx_h100", UINT64_MAX, NULL, "more than the 16777216"},
    {"tpu_v5e", 100, NULL, "fill no slice of tpu_v5e; 64 and 128 devices do; a shape of your own is given as 10x10"},
    {"tpu_v5e", 2, NULL, "1 and 4 devices do; a shape of your own is given as 1x2"},
    {"tpu_v4", 13, NULL, "8 and 16 devices do"},
    {"tpu_v3", 3, NULL, "whole groups of 2 ('core' of tpu_v3)"},
    {"dgx_h100", 9, "9", "it has 9 along 'nvlink', which joins at most 8"},
    {"dgx_h100", 8, "4x4", "it has 16 devices, not 8"},
    {"dgx_h100", 8, "2x2x2", "it has 3 dimensions, the cluster 2"},
    {"tpu_v3", 64, "4x4", "it has 32 devices, not 64"},
    {"tpu_v5e", 0, "32x32", "it has 32 along 'ici.x', which joins at most 16"},
    {"l40s_pcie_8", 0, "16777216", "joins at most 8"},
    {"dgx_h100", 0, "8x16777216", "there are at most 16777216"},
    {"dgx_h100", 8, "", "'' is not a shape"},
    {"dgx_h100", 8, "8x", "is not a shape"},
    {"dgx_h100", 8, "0x8", "is not a shape"},
    {"dgx_h100", 8, "-8", "is not a shape"},
    {"dgx_h100", 8, "8,1", "is not a shape"},
    {"dgx_h100", 8, "99999999999999999999", "is not a shape"},
    {"dgx_h100", 8, "1x1x1x1x8", "is not a shape"},
};

static void test_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    const struct hw_cluster *cluster = hw_clusters_find(&clusters, refused[i].cluster, &diags);
    struct diag_list own;
    struct hw_slice slice;
    diag_init(&own);
    enum status status = hw_slice_of(cluster, refused[i].devices, refused[i].shape, &own, &slice);
    if (status != STATUS_INPUT || own.entries.count != 1 || own.entries.data[0].id != DIAG_E0314_SLICE
        || strstr(own.entries.data[0].message, refused[i].part) == NULL) {
      fail_msg("row %zu: status %d, '%s'", i, (int)status, own.entries.count > 0 ? own.entries.data[0].message : "");
    }
    diag_release(&own);
  }
}

/* Every number up to two pods is either refused or a slice of as many devices within the dimensions, and numbers that a
 * message names do fill. */
static void test_every_number(void **state) {
  (void)state;
  for (size_t c = 0; c < clusters.list.count; c++) {
    const struct hw_cluster *cluster = &clusters.list.data[c];
    for (uint64_t n = 1; n <= 600; n++) {
      struct diag_list own;
      struct hw_slice slice;
      unsigned long long below = 0, above = 0;
      diag_init(&own);
      if (hw_slice_of(cluster, n, NULL, &own, &slice) == STATUS_OK) {
        uint64_t product = 1;
        for (uint32_t d = 0; d < HW_DIMENSIONS_MAX; d++) {
          product *= slice.size[d];
          assert_true(d >= cluster->dimension_count || cluster->dimensions[d].size == 0
                      || slice.size[d] <= cluster->dimensions[d].size);
        }
        assert_int_equal(product, n);
      } else {
        const char *near = strchr(own.entries.data[0].message, ';');
        if (near != NULL && sscanf(near, "; %llu and %llu devices", &below, &above) == 2) {
          assert_true(below < n && above > n);
          assert_int_equal(hw_slice_of(cluster, below, NULL, &own, &slice), STATUS_OK);
          assert_int_equal(hw_slice_of(cluster, above, NULL, &own, &slice), STATUS_OK);
        }
      }
      diag_release(&own);
    }
  }
}

static void test_coordinates(void **state) {
  (void)state;
  struct hw_slice slice;
  assert_int_equal(hw_slice_of(hw_clusters_find(&clusters, "tpu_v4", NULL), 128, NULL, &diags, &slice), STATUS_OK);
  uint32_t at[HW_DIMENSIONS_MAX];
  hw_slice_coordinates(&slice, 0, at);
  assert_true(at[0] == 0 && at[1] == 0 && at[2] == 0 && at[3] == 0);
  hw_slice_coordinates(&slice, 1, at); /* the innermost dimension runs fastest */
  assert_true(at[0] == 1 && at[1] == 0 && at[2] == 0);
  hw_slice_coordinates(&slice, 4, at);
  assert_true(at[0] == 0 && at[1] == 1 && at[2] == 0);
  hw_slice_coordinates(&slice, 127, at); /* 4 x 4 x 8 */
  assert_true(at[0] == 3 && at[1] == 3 && at[2] == 7 && at[3] == 0);
}

/* A shape with the text of a slice gives the slice back. */
static void test_text_is_a_shape(void **state) {
  (void)state;
  static const uint64_t numbers[] = {8, 64, 128, 256, 512};
  for (size_t c = 0; c < clusters.list.count; c++) {
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
      struct diag_list own;
      struct hw_slice slice, again;
      char text[64];
      diag_init(&own);
      if (hw_slice_of(&clusters.list.data[c], numbers[i], NULL, &own, &slice) == STATUS_OK) {
        hw_slice_text(&slice, &clusters.list.data[c], text, sizeof text);
        assert_int_equal(hw_slice_of(&clusters.list.data[c], numbers[i], text, &own, &again), STATUS_OK);
        assert_memory_equal(slice.size, again.size, sizeof slice.size);
        assert_memory_equal(slice.wraps, again.wraps, sizeof slice.wraps);
      }
      diag_release(&own);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slices),      cmocka_unit_test(test_refused),         cmocka_unit_test(test_every_number),
      cmocka_unit_test(test_coordinates), cmocka_unit_test(test_text_is_a_shape),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
