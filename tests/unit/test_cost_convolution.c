/* Convolutions of programs on a GPU: which pass a stage is, the product it becomes, one time for types of one rate. */
#include <math.h>

#include "lower_fixture.h"

#include "cost/roofline.h"

/* A 3 x 3 layer on 8 images of 28 x 28: 64 to 128 features, forward with stride 2 and its gradients; as JAX writes them. */
static const char forward[] =
    "func.func @main(%x: tensor<8x28x28x64xTYPE>, %w: tensor<3x3x64x128xTYPE>) -> tensor<8x14x14x128xTYPE> {\n"
    "  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = "
    "[2, "
    "2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
    "(tensor<8x28x28x64xTYPE>, tensor<3x3x64x128xTYPE>) -> tensor<8x14x14x128xTYPE>\n"
    "  return %y : tensor<8x14x14x128xTYPE>\n}\n";
static const char data_gradient[] =
    "func.func @main(%g: tensor<8x14x14x128xTYPE>, %w: tensor<3x3x64x128xTYPE>) -> tensor<8x28x28x64xTYPE> {\n"
    "  %y = stablehlo.convolution(%g, %w) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[1, "
    "2], [1, 2]], lhs_dilate = [2, 2], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : "
    "i64} : (tensor<8x14x14x128xTYPE>, tensor<3x3x64x128xTYPE>) -> tensor<8x28x28x64xTYPE>\n"
    "  return %y : tensor<8x28x28x64xTYPE>\n}\n";
static const char weight_gradient[] =
    "func.func @main(%x: tensor<8x28x28x64xTYPE>, %g: tensor<8x14x14x128xTYPE>) -> tensor<3x3x64x128xTYPE> {\n"
    "  %y = stablehlo.convolution(%x, %g) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, "
    "0], [1, 0]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
    "(tensor<8x28x28x64xTYPE>, tensor<8x14x14x128xTYPE>) -> tensor<3x3x64x128xTYPE>\n"
    "  return %y : tensor<3x3x64x128xTYPE>\n}\n";
/* A layer without stride that pads 5 x 5 images to 7 x 7: 169 of 225 taps meet data, 225 are computed. */
static const char padded[] =
    "func.func @main(%x: tensor<8x5x5x64xTYPE>, %w: tensor<3x3x64x128xTYPE>) -> tensor<8x5x5x128xTYPE> {\n"
    "  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, "
    "1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x5x5x64xTYPE>, "
    "tensor<3x3x64x128xTYPE>) -> tensor<8x5x5x128xTYPE>\n"
    "  return %y : tensor<8x5x5x128xTYPE>\n}\n";

static struct hw_database db;

static int load(void **state) {
  (void)state;
  struct diag_list diags;
  diag_init(&diags);
  enum status status = hw_database_load(&db, "hardware", &diags);
  diag_release(&diags);
  return status == STATUS_OK ? 0 : -1;
}

static int release(void **state) {
  (void)state;
  hw_database_release(&db);
  return 0;
}

/* The only convolution of the program on a chip, and its time. */
static double estimate(const char *text, const char *type, const char *chip_name, struct roofline_fitted *fitted,
                       bool *is_fitted) {
  struct strbuf program = {0};
  for (const char *at = text; *at != '\0';) {
    const char *hole = strstr(at, "TYPE");
    size_t length = hole != NULL ? (size_t)(hole - at) : strlen(at);
    strbuf_printf(&program, "%.*s%s", (int)length, at, hole != NULL ? type : "");
    at += length + (hole != NULL ? strlen("TYPE") : 0);
  }
  struct lowered lowered;
  lowered_from(&lowered, program.data);
  const struct hw_chip *chip = hw_database_find(&db, chip_name, NULL);
  assert_non_null(chip);
  struct roofline_chip rc;
  roofline_chip_init(&rc, chip, NULL);
  double time_s = 0;
  *is_fitted = false;
  for (size_t i = 0; i < lowered.graph->tasks.count; i++) {
    const struct work_task *task = &lowered.graph->tasks.data[i];
    struct roofline_traffic traffic;
    struct roofline_task result;
    if (roofline_count_products(lowered.graph, task) == 0) {
      continue;
    }
    roofline_traffic_of(&rc, lowered.graph, task, &traffic);
    *is_fitted = roofline_fitted_shape(&rc, lowered.graph, task, &traffic, fitted);
    roofline_task_estimate(&rc, lowered.graph, task, &result);
    time_s += result.result.time_s;
  }
  lowered_release(&lowered);
  strbuf_release(&program);
  assert_true(time_s > 0);
  return time_s;
}

static void assert_product(const char *text, bool is_weight_gradient, double dilation, double m, double n, double k) {
  struct roofline_fitted fitted;
  bool is_fitted;
  estimate(text, "bf16", "nvidia_a100_sxm_80", &fitted, &is_fitted);
  assert_true(is_fitted && fitted.is_implicit);
  assert_true(fitted.convolution.is_weight_gradient == is_weight_gradient);
  assert_true(fitted.convolution.dilation == dilation);
  assert_true(fitted.shape.gemm.batch == 1);
  assert_true(fitted.shape.gemm.m == m);
  assert_true(fitted.shape.gemm.n == n);
  assert_true(fitted.shape.gemm.k == k);
}

static void passes_become_their_products(void **state) {
  (void)state;
  assert_product(forward, false, 1, 8 * 14 * 14, 128, 9 * 64);
  assert_product(data_gradient, false, 4, 8 * 28 * 28, 64, 9 * 128 / 4.0);
  assert_product(weight_gradient, true, 1, 9 * 64, 128, 8 * 14 * 14);
  assert_product(padded, false, 1, 8 * 25, 128, 9 * 64);
}

static void types_of_one_rate_take_one_time(void **state) {
  (void)state;
  static const char *const texts[] = {forward, data_gradient, weight_gradient, padded};
  static const char *const chips[] = {"nvidia_a100_sxm_80", "nvidia_a100_pcie_40", "nvidia_h100_sxm"};
  for (size_t c = 0; c < sizeof chips / sizeof chips[0]; c++) {
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
      struct roofline_fitted fitted;
      bool is_fitted;
      double half_s = estimate(texts[t], "f16", chips[c], &fitted, &is_fitted);
      double brain_s = estimate(texts[t], "bf16", chips[c], &fitted, &is_fitted);
      assert_true(fabs(half_s / brain_s - 1) < 1e-12);
    }
  }
}

static void arrays_and_lanes_keep_their_rules(void **state) {
  (void)state;
  struct roofline_fitted fitted;
  bool is_fitted;
  estimate(forward, "bf16", "google_tpu_v5p", &fitted, &is_fitted);
  assert_false(is_fitted && fitted.is_implicit);
  estimate(forward, "f32", "nvidia_v100_sxm2", &fitted, &is_fitted);
  assert_true(is_fitted && !fitted.is_implicit);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(passes_become_their_products),
      cmocka_unit_test(types_of_one_rate_take_one_time),
      cmocka_unit_test(arrays_and_lanes_keep_their_rules),
  };
  return cmocka_run_group_tests(tests, load, release);
}
