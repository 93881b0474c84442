/* Programs of the NeuSight tables on four GPUs: kernels of the published operator graphs, their exchanges on an NVSwitch. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "cluster/collective.h"
#include "measure/measure_distributed.h"
#include "measure/measure_neusight.h"

enum { GPUS = 4 };

static const struct {
  struct neusight_device device;
  const char *cluster;
} systems[] = {
    {{"NVIDIA A100-SXM4-40GB", "A100-SXM", "nvidia_a100_sxm_40", 1, false}, "dgx_a100_40"},
    {{"NVIDIA H100 80GB HBM3", "H100", "nvidia_h100_sxm", 1, false}, "dgx_h100"},
};
enum { SYSTEM_COUNT = sizeof systems / sizeof systems[0] };

struct system {
  struct neusight_timer timer;
  const struct hw_cluster *cluster;
  struct hw_slice slice;
  struct collective_constants constants;
};

struct suite {
  const char *directory;
  struct diag_list *diags;
  struct csv_table labels, published;
  struct system systems[SYSTEM_COUNT];
  bool has_system[SYSTEM_COUNT];
};

static bool system_init(struct system *system, size_t i, const struct hw_database *chips,
                        const struct hw_clusters *clusters, struct diag_list *diags) {
  system->cluster = hw_clusters_find(clusters, systems[i].cluster, diags);
  if (!system->cluster || !neusight_timer_init(&system->timer, chips, &systems[i].device)
      || hw_slice_of(system->cluster, GPUS, NULL, diags, &system->slice) != STATUS_OK) {
    return false;
  }
  collective_constants_of(system->cluster, &system->constants);
  return true;
}

static double exchange_time(const struct system *system, const struct neusight_exchange *exchange) {
  struct collective_request request = {.kind = exchange->kind == NEUSIGHT_SEND ? WORK_SEND_RECV : WORK_ALL_REDUCE,
                                       .bytes = 4 * exchange->elements};
  struct collective_result result = {0};
  group_shape_strided(system->cluster, &system->slice, exchange->kind == NEUSIGHT_SEND ? 2 : GPUS, 1, &request.shape);
  request.hops[0] = 1;
  request.sharing[0] = 1;
  collective_time(system->cluster, &system->slice, &system->constants, &request, &result);
  return result.time_s;
}

/* Gradients of a layer are exchanged while those before it are computed; what is left at the end is waited for. Layers are
 * alike, so the backward pass is cut into equal parts. */
static double exposed_gradients(double per_layer_s, double ends_s, double layers, double backward_s) {
  double finish = 0;
  for (double layer = 1; layer <= layers; layer++) {
    finish = fmax(finish, backward_s * layer / layers) + per_layer_s;
  }
  return fmax(0, finish + ends_s - backward_s);
}

/* Micro-batches of "...-pp4_<n>"; 0 for a program without a pipeline. */
static double microbatches(const char *program) {
  const char *option = strstr(program, "-pp4_");
  double count = 0;
  if (option && !decimal_parse(option + 5, strlen(option + 5), &count)) {
    count = 1;
  }
  return count;
}

static void predict(const struct system *system, const struct neusight_graph *graph, double layers,
                    struct four_gpu_row *row) {
  double parts = microbatches(row->program), waited_s = 0, per_layer_s = 0, ends_s = 0;
  struct neusight_timer timer = system->timer;
  if (parts > 0) {
    timer.chip.tdp_W *= (parts + GPUS - 1) / parts; /* the limit holds on average, and stages wait for each other */
  }
  struct neusight_program_time time = neusight_program(&timer, graph, layers, true);
  for (size_t i = 0; i < graph->exchanges.count; i++) {
    const struct neusight_exchange *exchange = &graph->exchanges.data[i];
    double time_s = exchange_time(system, exchange), times = exchange->is_repeated ? layers : 1;
    if (exchange->kind == NEUSIGHT_SEND) {
      waited_s += (parts + GPUS - 2) * time_s; /* the longest way: all micro-batches over the first boundary, then on */
      row->communication_s += parts * (GPUS - 1) * time_s;
    } else if (exchange->is_async) {
      *(exchange->is_repeated ? &per_layer_s : &ends_s) += time_s;
      row->communication_s += times * time_s;
    } else {
      waited_s += times * time_s;
      row->communication_s += times * time_s;
    }
  }
  row->compute_s = (time.forward_s + time.backward_s) * (parts > 0 ? (parts + GPUS - 1) / GPUS : 1);
  row->exposed_s = waited_s + exposed_gradients(per_layer_s, ends_s, layers, time.backward_s);
  row->predicted_s = row->compute_s + row->exposed_s;
}

/* Layers of a model, from a row of one GPU: those of several do not say. */
static double layers_of(const struct csv_table *labels, const char *model) {
  double layers = 0;
  for (size_t i = 0; i < csv_rows(labels) && !(layers > 0); i++) {
    if (strcmp(csv_cell(labels, i, csv_column(labels, "model")), model) == 0) {
      csv_number(labels, i, csv_column(labels, "num_layer"), &layers);
    }
  }
  return layers;
}

static double published_time(const struct csv_table *table, const char *device, const char *program) {
  for (size_t i = 0; i < csv_rows(table); i++) {
    double ms;
    if (strcmp(csv_cell(table, i, csv_column(table, "desc")), program) == 0
        && strcmp(csv_cell(table, i, csv_column(table, "device")), device) == 0
        && strcmp(csv_cell(table, i, csv_column(table, "predictor")), "neusight") == 0
        && csv_number(table, i, csv_column(table, "e2e_ms"), &ms) && ms > 0) {
      return ms * 1e-3;
    }
  }
  return (double)NAN;
}

static enum status add_row(struct four_gpu_rows *rows, const struct suite *suite, size_t i) {
  const struct csv_table *t = &suite->labels;
  const char *option = csv_cell(t, i, csv_column(t, "option")), *device = csv_cell(t, i, csv_column(t, "device"));
  const char *program = csv_cell(t, i, csv_column(t, "desc"));
  const struct neusight_device *found = NULL;
  size_t s = 0;
  double ms;
  for (; s < SYSTEM_COUNT && !found; s++) {
    found = neusight_device_is(&systems[s].device, device) ? &systems[s].device : NULL;
  }
  if (!found || !suite->has_system[s - 1] || strlen(option) < 3 || option[2] != '4'
      || !csv_number(t, i, csv_column(t, "e2e_ms"), &ms) || !(ms > 0)) {
    return STATUS_OK;
  }
  struct four_gpu_row row = {.system = found->label,
                             .program = arena_strndup(&rows->arena, program, strlen(program)),
                             .measured_s = ms * 1e-3,
                             .published_s = published_time(&suite->published, device, program)};
  struct strbuf path = {0};
  struct neusight_graph graph;
  strbuf_printf(&path, "%s/measured/neusight/opgraph/%s.csv", suite->directory, program);
  enum status status =
      path.failed || !row.program ? STATUS_MEMORY : neusight_graph_read(&graph, strbuf_text(&path), suite->diags);
  strbuf_release(&path);
  if (status == STATUS_OK) {
    predict(&suite->systems[s - 1], &graph, layers_of(t, csv_cell(t, i, csv_column(t, "model"))), &row);
    neusight_graph_release(&graph);
    status = vec_push(&rows->list, row) ? STATUS_OK : STATUS_MEMORY;
  }
  return status;
}

static enum status read_table(const struct suite *suite, const char *name, struct csv_table *table) {
  struct strbuf path = {0};
  strbuf_printf(&path, "%s/measured/neusight/%s", suite->directory, name);
  enum status status = path.failed ? STATUS_MEMORY : csv_read(table, strbuf_text(&path), suite->diags);
  strbuf_release(&path);
  return status;
}

enum status four_gpu_predict(struct four_gpu_rows *rows, const char *data_directory, const struct hw_database *chips,
                             const struct hw_clusters *clusters, struct diag_list *diags) {
  struct suite *suite = calloc(1, sizeof *suite);
  if (!suite) {
    return STATUS_MEMORY;
  }
  *rows = (struct four_gpu_rows){0};
  arena_init(&rows->arena, 0);
  suite->directory = data_directory;
  suite->diags = diags;
  for (size_t s = 0; s < SYSTEM_COUNT; s++) {
    suite->has_system[s] = system_init(&suite->systems[s], s, chips, clusters, diags);
  }
  enum status status = read_table(suite, "e2e_labels.csv", &suite->labels);
  if (status == STATUS_OK) {
    status = read_table(suite, "e2e_predictions.csv", &suite->published);
  }
  for (size_t i = 0; i < csv_rows(&suite->labels) && status == STATUS_OK; i++) {
    status = add_row(rows, suite, i);
  }
  csv_release(&suite->labels);
  csv_release(&suite->published);
  free(suite);
  return status;
}

void four_gpu_rows_release(struct four_gpu_rows *rows) {
  vec_release(&rows->list);
  arena_release(&rows->arena);
}
