/* Published training runs, shared by the suite "distributed" only: rows of tables become configurations (model, strategy,
 * framework, system) that the generators and the step simulation can predict.
 *
 * Path: tables of measured/ → training_read_tables, training_read_vtrain (rows merged, one value each) → training_map
 * (facts of measure_training_facts.def: what columns leave open) → training_predict → scores, goals, text, JSON.
 *
 * Nothing is fitted to these rows. What a column does not say comes from a row of facts with its source. */
#ifndef RIDGELINE_MEASURE_MEASURE_TRAINING_H
#define RIDGELINE_MEASURE_MEASURE_TRAINING_H

#include "generate/generate_training.h"
#include "hw/hw.h"
#include "io/csv.h"
#include "measure/score.h"
#include "work/work_result.h"

/* ---- facts ---- */

enum { TRAINING_VARIANT_MAX = 3 };

/* Where the scale of a narrow operand comes from. */
enum training_scaling {
  TRAINING_CURRENT_SCALING, /* its greatest value */
  TRAINING_DELAYED_SCALING, /* greatest values of steps before */
  TRAINING_BLOCK_SCALING /* the greatest value of each block (microscaling formats) */
};

/* How a table's runs were made, by a part of the text in its column `source`. */
struct training_source {
  const char *match, *label;
  enum generate_framework framework;
  enum generate_attention attention;
  enum generate_sharded sharded; /* unless the column FSDP says otherwise */
  enum generate_recompute recompute; /* where the column is blank */
  enum dtype compute, products; /* where the precision is blank; products NONE = compute */
  enum dtype gradients; /* of the exchange, unless the precision says otherwise */
  double dropout; /* of embeddings, branches and scores while training */
  double host_s; /* of the host per kernel that it starts; 0 where a compiled program or a CUDA graph runs */
  /* Most that its attention kernels reach of the matrix rate, on Ampere and on Hopper; 0 = as fast as the kernel model. */
  double attention_share, attention_share_hopper;
  /* The same of its large matrix products, where its library or data make them slower than those of the kernel tables. */
  double product_share, product_share_hopper;
  /* Most that its passes over memory reach of the off-chip bandwidth on Ampere: element by element, and with sums along rows. */
  double pass_share, row_share;
  /* The same of products of many small experts, with sorting and gathering of their rows, of the rate of the type that is
   * computed in: narrower operands leave the tiles, the sorting and the rows in memory as they are. */
  double grouped_share;
  double logit_bytes; /* of off-chip memory per logit and micro-batch for metrics of its trainer, beside the loss */
  /* Most that its attention kernels reach in the backward pass, on Hopper; of Blackwell's rate in the forward pass, and the
   * backward pass in its proportion; 0 = as fast as the kernel model. */
  double backward_share_hopper, attention_share_blackwell;
  /* With experts, instead of host_s: of the host per product of one expert, and per other kernel and cast of one expert; 0 =
   * all of a step is one CUDA graph. */
  double expert_host_s, layer_host_s;
  uint8_t scaling; /* enum training_scaling, where the precision does not say */
  bool casts_twice; /* narrow operands are made for the forward and for the backward product (Transformer Engine) */
  bool exchanges_inside; /* between tensor ranks in products and between context ranks in attention, part by part */
  bool sends_once; /* a token that several experts of one node get is sent there once (DeepEP, HybridEP) */
  bool is_causal_half; /* its attention kernel skips the masked half */
  bool counts_causal; /* its FLOPs count attention as half */
  bool sequence_parallel; /* with tensor parallelism */
  bool overlaps_gradients, overlaps_parameters, overlaps_tensor;
  bool is_local_batch; /* the column micro_batch is what one rank takes per step, cut into as many parts as stages */
  bool
      spreads_data; /* blank degrees: parameters and batch over all devices, sequences over those a small batch leaves */
  /* Words of notes, least wanted first: where one configuration was run in several variants, the values count whose notes
   * have the last of these words, and the row is that variant. */
  struct training_variant {
    const char *word; /* in lower case */
    uint32_t virtual_stages; /* with a pipeline; 0 = as the column says */
    bool overlaps_tensor;
  } variants[TRAINING_VARIANT_MAX];
};

/* What the columns hidden, heads, ... do not say of a model, by the beginning of its name; case and separators do not
 * count. */
struct training_facts {
  const char *match;
  uint8_t norm, activation; /* enum generate_norm, generate_activation */
  bool gated_ffn, biases, tied_embedding, learned_positions;
  uint32_t head_size; /* 0 = hidden / heads */
  uint32_t kv_heads; /* instead of the column's; 0 = the column's */
  uint32_t ffn; /* of one expert, or where the column is blank */
  uint32_t experts, experts_per_token, shared_ffn, dense_layers, dense_ffn;
  uint32_t window; /* of every other layer */
  bool head_norms; /* as in struct generate_model, and the next four */
  uint32_t query_rank, kv_rank, rope_size, value_size;
  uint32_t more_layers; /* that predict further tokens */
  uint32_t sequence; /* where the column is blank */
  uint32_t sequences_per_device; /* where no batch is stated */
  const char *unsupported; /* why the generators have no such model; NULL = they have */
};

/* Systems by the column `hardware`. */
struct training_hardware {
  const char *match, *label;
  const char *cluster, *chip; /* ids */
  uint32_t ranks_per_device; /* tensor-parallel ranks that are one device: the cores of a Trainium chip */
  uint32_t pod_devices; /* parameters are sharded within a pod, replicated over pods; 0 = no limit */
  /* Where the system's chip differs from the described one: power_share is its power limit over that one's; 0 = as described */
  double memory_Bps, memory_size_bytes, power_share;
  double attention_flops; /* most that a fused attention kernel was measured to reach on the chip; 0 = not measured */
};

/* What a published recipe sets for a model on a system and the columns do not say. */
struct training_recipe {
  const char *system, *model; /* label; beginning of the name as in training_facts */
  const char *precision; /* only rows whose column says this; NULL = all */
  const char *recompute; /* in place of a blank column; NULL = as the source */
  enum dtype products; /* NONE: as the column */
  uint32_t tensor; /* 0 = as the column */
  /* Tokens that experts compute over those they get: routers that drop pad, and move rows by products with one-hot masks; 0 =
   * 1, and rows are gathered. */
  double capacity;
};

struct training_precision {
  const char *text;
  enum dtype compute, products, gradients; /* NONE: as the source */
  uint8_t scaling; /* enum training_scaling; CURRENT: as the source */
};

extern const struct training_source training_sources[]; /* each ends with a row without a match */
extern const struct training_facts training_models[];
extern const struct training_hardware training_systems[];
extern const struct training_recipe training_recipes[];
extern const struct training_precision training_precisions[];
/* NULL when no row matches. */
const struct training_source *training_source_find(const char *text);
const struct training_facts *training_facts_find(const char *model);
const struct training_hardware *training_hardware_find(const char *name);
const struct training_recipe *training_recipe_find(const char *system, const char *model, const char *precision);
const struct training_precision *training_precision_find(const char *text);

/* ---- rows ---- */

enum training_table { TRAINING_MEGATRON, TRAINING_VTRAIN_SINGLE, TRAINING_VTRAIN_MULTI, TRAINING_PUBLISHED };
enum { TRAINING_TABLE_COUNT = TRAINING_PUBLISHED + 1 };
const char *training_table_name(enum training_table table);

/* What is measured, most wanted first. */
enum training_metric { TRAINING_STEP_TIME, TRAINING_SEQUENCES, TRAINING_TOKENS, TRAINING_FLOPS, TRAINING_METRIC_COUNT };
const char *training_metric_name(enum training_metric metric);

/* Numeric columns; 0 where a cell is blank or "n/a". */
enum training_cell {
  TRAINING_LAYERS,
  TRAINING_HIDDEN,
  TRAINING_FFN,
  TRAINING_HEADS,
  TRAINING_KV_HEADS,
  TRAINING_SEQUENCE,
  TRAINING_VOCABULARY,
  TRAINING_GLOBAL_BATCH,
  TRAINING_MICRO_BATCH,
  TRAINING_TP,
  TRAINING_PP,
  TRAINING_DP,
  TRAINING_CP,
  TRAINING_EP,
  TRAINING_VP,
  TRAINING_FSDP,
  TRAINING_DEVICES,
  TRAINING_CELL_COUNT
};

enum training_skip {
  TRAINING_TAKEN,
  TRAINING_NO_ARCHITECTURE,
  TRAINING_NO_VALUE, /* only MFU or HFU */
  TRAINING_NOT_TRAINED, /* LoRA: most weights are frozen, which the generators do not have */
  TRAINING_NO_MODEL, /* a model or a part of one that the generators do not have */
  TRAINING_NO_SYSTEM,
  TRAINING_NO_PRECISION,
  TRAINING_NO_BATCH, /* neither batch nor a way to it, or no sequence length */
  TRAINING_NO_DEGREES, /* degrees that do not multiply to the devices or divide the batch */
  TRAINING_REFUSED, /* by generator, cluster or step; see the row's note */
  TRAINING_SKIP_COUNT
};
const char *training_skip_name(enum training_skip skip);

struct training_row {
  enum training_table table;
  const char *model, *system, *precision, *recompute, *sharding, *source_text; /* cells, owned by the table read */
  uint32_t line; /* of the first measurement */
  uint32_t measurements; /* merged */
  double cells[TRAINING_CELL_COUNT];
  double values[TRAINING_METRIC_COUNT]; /* s; per second of all devices; NaN = not measured */
  uint32_t variants; /* bit per variant of the source */
  bool is_pair; /* cells held two measurements; the first is taken */
  /* by training_map */
  enum training_skip skip;
  const char *note; /* of a skipped or adjusted row; NULL = none */
  const struct training_source *source;
  const struct training_hardware *hardware;
  struct generate_model architecture;
  uint8_t scaling; /* enum training_scaling */
  struct generate_training training;
  uint64_t devices;
  enum training_metric metric; /* the value that is used */
  double measured_s;
  double model_flops; /* 6 N D of what a token passes, attention as the source counts it */
  /* by training_predict; NaN before */
  double
      implied_mfu; /* model_flops over what the chips can in the measured time: a check of the row, not a prediction */
  double predicted_s, compute_s, exposed_s, bubble_s, other_s;
};
struct training_rows {
  struct arena arena; /* owns notes */
  struct csv_table tables[3]; /* own the texts */
  VEC(struct training_row) list;
  size_t records; /* rows of the published table before merging */
};

/* ---- reading: measure_training_read.c ---- */
void training_rows_init(struct training_rows *rows);
void training_rows_release(struct training_rows *rows);
/* Configurations of e2e_training.csv: rows that agree in all columns but the measurement are one. Values that were measured
 * several times (software versions) count with their median. */
enum status training_read_tables(struct training_rows *rows, const char *path, struct diag_list *diags);
enum status training_read_vtrain(struct training_rows *rows, const char *path, enum training_table table,
                                 struct diag_list *diags);
/* The number a cell begins with: "1 (2)" holds two configurations, the first counts. 0 for blank, "n/a" and words. */
double training_cell_number(const char *text);
/* First of two numbers that lost what was between them: "39863546" is 3986 and 3546. Only rates of one device have a limit
 * that such a number exceeds; others are returned as they are. */
double training_rate_number(const char *text, bool *is_pair);

/* ---- mapping: measure_training_map.c ---- */
/* Fills what the row leaves open, or says why it is skipped. */
void training_map(struct training_row *row);
/* Parameters that a token passes (all of a dense model) without the table of embeddings, and all. */
double training_active_parameters(const struct generate_model *model);
/* FLOPs of one step of all devices: 6 per active parameter and token, and attention's products, whole or the causal half. */
double training_flops(const struct generate_model *model, const struct generate_training *training,
                      bool is_causal_half);

/* ---- Transformer Engine: measure_training_engine.c ---- */
/* What its kernels take beside those of the generated step, into times and exchanges of one part. */
void training_engine(const struct training_row *row, const struct hw_chip *chip, struct work_graph *graph,
                     struct work_graph_result *times);
/* Seconds of the host to start the task's kernels. */
double training_host_s(const struct training_row *row, const struct work_graph *graph, const struct work_task *task);

#endif
