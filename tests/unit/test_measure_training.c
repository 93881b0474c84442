/* Published training runs on tables of a few rows: what is one configuration, which value counts, what columns mean. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "measure/measure_distributed.h"
#include "measure/measure_training.h"

static const char heading[] =
    "model,params_B,layers,hidden,ffn,heads,kv_heads,seq,vocab,global_batch,micro_batch,TP,PP,DP,CP,EP,VP,FSDP,"
    "recompute,precision,hardware,n_devices,metric,value,unit,verified,source,note\n";

#define LLAMA8 "8.03,32,4096,14336,32,8,8192,128256"
#define LLAMA70 "70.6,80,8192,28672,64,8,8192,128256"
#define BRIDGE "s,yes,NVIDIA-NeMo/Megatron-Bridge docs,"
#define MAXTEXT "s,yes,AI-Hypercomputer/tpu-recipes training,"

struct fixture {
  char path[64];
  struct training_rows rows;
  struct diag_list diags;
};

static int set_up(void **state) {
  struct fixture *fixture = calloc(1, sizeof *fixture);
  assert_non_null(fixture);
  diag_init(&fixture->diags);
  training_rows_init(&fixture->rows);
  strcpy(fixture->path, "/tmp/rdg_training_XXXXXX");
  int file = mkstemp(fixture->path);
  assert_true(file >= 0);
  close(file);
  *state = fixture;
  return 0;
}

static int tear_down(void **state) {
  struct fixture *fixture = *state;
  unlink(fixture->path);
  training_rows_release(&fixture->rows);
  diag_release(&fixture->diags);
  free(fixture);
  return 0;
}

static void write_text(const struct fixture *fixture, const char *head, const char *text) {
  FILE *file = fopen(fixture->path, "wb");
  assert_non_null(file);
  assert_true(fputs(head, file) >= 0 && fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* Reads and maps a table of these lines. */
static void read_lines(struct fixture *fixture, const char *lines) {
  write_text(fixture, heading, lines);
  assert_int_equal(training_read_tables(&fixture->rows, fixture->path, &fixture->diags), STATUS_OK);
  for (size_t i = 0; i < fixture->rows.list.count; i++) {
    training_map(&fixture->rows.list.data[i]);
  }
}

static struct training_row *only_row(struct fixture *fixture) {
  assert_int_equal(fixture->rows.list.count, 1);
  return &fixture->rows.list.data[0];
}

static void assert_near(double value, double wanted, double tolerance) {
  if (!(fabs(value - wanted) <= tolerance * fabs(wanted))) {
    fail_msg("%.9g is not %.9g", value, wanted);
  }
}

static void test_cells(void **state) {
  (void)state;
  bool is_pair = false;
  assert_near(training_cell_number("1 (2)"), 1, 0);
  assert_near(training_cell_number("64 (0)"), 64, 0);
  assert_near(training_cell_number("n/a"), 0, 0);
  assert_near(training_cell_number(""), 0, 0);
  assert_near(training_cell_number("FULL_SHARD"), 0, 0);
  assert_near(training_rate_number("57873.71", &is_pair), 57873.71, 1e-12);
  assert_near(training_rate_number("44544", &is_pair), 44544, 0);
  assert_false(is_pair);
  /* "3986 (3546)" and "661 (624)" in the published table. */
  assert_near(training_rate_number("39863546", &is_pair), 3986, 0);
  assert_true(is_pair);
  assert_near(training_rate_number("661624", &is_pair), 661, 0);
}

static void test_names(void **state) {
  (void)state;
  assert_ptr_equal(training_facts_find("Llama 3.1 8B"), training_facts_find("llama3.1-8b"));
  assert_ptr_not_equal(training_facts_find("LLAMA3.1_405B"), training_facts_find("LLAMA3_70B"));
  assert_int_equal(training_facts_find("Qwen3_30B_a3B")->ffn, 768);
  assert_int_equal(training_facts_find("qwen3-235b-a22b")->ffn, 1536);
  assert_int_equal(training_facts_find("GPT OSS 120B")->head_size, 64);
  assert_null(training_facts_find("Nemotron_3_Nano"));
  assert_string_equal(training_hardware_find("H100-SXM-80GB (DGX-H100)")->label, "H100");
  assert_string_equal(training_hardware_find("H100 96GB HBM2e 2.4TB/s, 500W cap (Grand Teton)")->label, "H100 500 W");
  assert_null(training_hardware_find("Gaudi 3"));
  assert_int_equal(training_precision_find("mxfp8")->products, DTYPE_F8E4M3FN);
  assert_int_equal(training_precision_find("NVFP4")->products, DTYPE_F4E2M1FN);
  assert_null(training_precision_find("fp7"));
}

/* Metrics of one configuration are merged; the same metric of several software versions counts with its median; times that
 * were derived from rates do not count. */
static void test_merge(void **state) {
  struct fixture *fixture = *state;
#define ROW "LLAMA3_70B," LLAMA70 ",256,1,1,4,,1,n/a,5,0,,MXFP8,DGX-GB300,64,"
  read_lines(fixture, ROW "tokens_per_s_per_GPU,4000," BRIDGE "a\n" ROW "iteration_time_derived,1," BRIDGE "b\n" ROW
                          "tokens_per_s_per_GPU,5000," BRIDGE "a\n" ROW "model_TFLOPs_per_GPU,2000," BRIDGE "a\n" ROW
                          "tokens_per_s_per_GPU,4096," BRIDGE "c\nLLAMA3_70B," LLAMA70
                          ",256,1,1,4,,1,n/a,5,0,,NVFP4,DGX-GB300,64,tokens_per_s_per_GPU,4096," BRIDGE "c\n");
#undef ROW
  assert_int_equal(fixture->rows.records, 6);
  assert_int_equal(fixture->rows.list.count, 2);
  const struct training_row *row = &fixture->rows.list.data[0];
  assert_int_equal(row->skip, TRAINING_TAKEN);
  assert_int_equal(row->measurements, 3);
  assert_int_equal(row->metric, TRAINING_TOKENS);
  assert_near(row->measured_s, 256.0 * 8192 / (4096.0 * 64), 1e-12);
  assert_int_equal(row->training.data, 16);
  assert_int_equal(row->training.pipeline, 4);
  assert_int_equal(row->training.virtual_stages, 5);
  assert_int_equal(row->training.sharded, GENERATE_SHARD_OPTIMIZER);
  assert_int_equal(row->training.products, DTYPE_F8E4M3FN);
  assert_int_equal(fixture->rows.list.data[1].training.products, DTYPE_F4E2M1FN);
}

static void test_step_time_wins(void **state) {
  struct fixture *fixture = *state;
#define ROW "Llama3.1-8B-MaxText," LLAMA8 ",,3,,,,,,,,custom,bf16,TPU v6e,8,"
  read_lines(fixture, ROW "TFLOPs_per_device,413," MAXTEXT "\n" ROW "tokens_per_s_per_device,8000," MAXTEXT "\n" ROW
                          "step_time,3.072," MAXTEXT "\n");
#undef ROW
  const struct training_row *row = only_row(fixture);
  assert_int_equal(row->metric, TRAINING_STEP_TIME);
  assert_near(row->measured_s, 3.072, 1e-12);
  /* No batch is stated: 8 chips x 8,000 tokens/s x 3.072 s = 24 sequences of 8,192. */
  assert_int_equal(row->training.global_batch, 24);
  assert_int_equal(row->training.data, 8);
  assert_int_equal(row->training.micro_batch, 3);
  assert_int_equal(row->training.sharded, GENERATE_SHARD_PARAMETERS);
  assert_int_equal(row->training.recompute, GENERATE_RECOMPUTE_FULL);
  assert_int_equal(row->training.framework, GENERATE_XLA);
}

/* Tables that state tokens/s and TFLOP/s: the FLOPs of a token that follow from them are ours. */
static void test_flops_of_published_rows(void **state) {
  (void)state;
  static const struct {
    const char *model, *source, *columns;
    double tokens_per_s, tflops;
  } cases[] = {
      {"GPT3-20B", "NVIDIA/NeMo docs", "20,44,6144,24576,48,48,2048,51200,256,2,2,1,32,1,,1", 5851, 750},
      {"LLAMA2-7B", "NVIDIA/NeMo docs", "6.74,32,4096,11008,32,32,4096,32000,128,1,1,1,64,1,,1", 16934, 780},
      {"LLAMA3-8B", "NVIDIA/NeMo docs", LLAMA8 ",128,1,1,1,32,2,,1", 12273, 711},
      {"LLAMA3_70B", "Megatron-Bridge", LLAMA70 ",256,1,1,4,,1,n/a,5", 4864, 2186},
      {"Qwen3_235B_a22B", "Megatron-Bridge", "235,94,4096,,64,4,4096,151936,8192,2,1,4,,1,16,8", 8816, 1306},
      {"Mixtral-8x7B-MaxText", "AI-Hypercomputer", "46.7,32,4096,14336,32,8,4096,32000,3072,12,,,,,,", 3645.203,
       302.311},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct fixture *fixture;
    char lines[512];
    assert_int_equal(set_up((void **)&fixture), 0);
    assert_true(snprintf(lines, sizeof lines, "%s,%s,,,fp8,DGX-H100,64,model_TFLOPs_per_GPU,%g,T,yes,%s,\n",
                         cases[i].model, cases[i].columns, cases[i].tflops, cases[i].source)
                < (int)sizeof lines);
    read_lines(fixture, lines);
    const struct training_row *row = only_row(fixture);
    assert_int_equal(row->skip, TRAINING_TAKEN);
    assert_int_equal(row->metric, TRAINING_FLOPS);
    double tokens = (double)row->training.global_batch * row->training.sequence;
    assert_near(row->measured_s, tokens / (cases[i].tokens_per_s * 64), 0.005);
    tear_down((void **)&fixture);
  }
}

static void test_skips(void **state) {
  struct fixture *fixture = *state;
  read_lines(fixture,
             "Nemotron-22B,,,,,,,4096,,256,2,2,4,8,1,,10,,,fp8,DGX-H100,64,tokens_per_s_per_GPU,4312," BRIDGE "\n"
             "Llama 3.1 8B," LLAMA8 ",,,,,,,,,,,bf16,TPU v6e,256,MFU,45.46," MAXTEXT "\n"
             "LLAMA3_70B LoRA," LLAMA70 ",32,1,1,2,,1,n/a,20,,,FP8,DGX-H100,8,tokens_per_s_per_GPU,7481," BRIDGE "\n"
             "Gemma3-12B,12,48,3840,15360,16,8,32768,262144,512,1,,,,,,,,custom,bf16,TPU v6e,512,step_time,7.8," MAXTEXT
             "\n"
             "LLAMA3_8B," LLAMA8 ",8,1,1,1,,1,n/a,,,,FP8,Gaudi 3,8,tokens_per_s_per_GPU,74," BRIDGE "\n"
             "LLAMA3_8B," LLAMA8 ",8,1,1,1,,1,n/a,,,,fp7,DGX-H100,8,tokens_per_s_per_GPU,74," BRIDGE "\n"
             "LLAMA3_8B," LLAMA8 ",,1,1,1,,1,n/a,,,,FP8,DGX-H100,8,tokens_per_s_per_GPU,74," BRIDGE "\n"
             "LLAMA3_8B," LLAMA8 ",8,1,3,1,,1,n/a,,,,FP8,DGX-H100,8,tokens_per_s_per_GPU,74," BRIDGE "\n"
             "LLAMA3_8B," LLAMA8 ",8,3,1,1,,1,n/a,,,,FP8,DGX-H100,8,tokens_per_s_per_GPU,74," BRIDGE "\n");
  static const enum training_skip wanted[] = {TRAINING_NO_ARCHITECTURE, TRAINING_NO_VALUE,   TRAINING_NOT_TRAINED,
                                              TRAINING_NO_MODEL,        TRAINING_NO_SYSTEM,  TRAINING_NO_PRECISION,
                                              TRAINING_NO_BATCH,        TRAINING_NO_DEGREES, TRAINING_NO_DEGREES};
  assert_int_equal(fixture->rows.list.count, sizeof wanted / sizeof wanted[0]);
  for (size_t i = 0; i < fixture->rows.list.count; i++) {
    assert_int_equal(fixture->rows.list.data[i].skip, wanted[i]);
  }
}

/* Tensor-parallel ranks on Trainium are cores, two of a chip, and n_devices counts chips; the stated data-parallel degree is
 * that of a part of the machine. */
static void test_cores_of_a_chip(void **state) {
  struct fixture *fixture = *state;
  read_lines(fixture, "Llama2-7B,6.74,32,4096,11008,32,32,,32000,1024,1,8,4,4,,,,,,Autocast:BF16+SR,\"Trainium1 "
                      "(trn1.32xlarge: 16 chips, 32 NeuronCores)\",512,sequences_per_s,82.0,s,yes,aws-neuron/x,\n");
  const struct training_row *row = only_row(fixture);
  assert_int_equal(row->skip, TRAINING_TAKEN);
  assert_int_equal(row->devices, 512);
  assert_int_equal(row->training.tensor, 4);
  assert_int_equal(row->training.data, 32);
  assert_non_null(row->note);
  assert_int_equal(row->training.sequence, 4096);
  assert_int_equal(row->training.recompute, GENERATE_RECOMPUTE_FULL); /* test_llama.sh of neuronx-nemo-megatron */
  assert_near(row->measured_s, 1024 / 82.0, 1e-12);
}

/* 256 chips and 64 sequences: four chips share one. A batch over two slices is sharded within each. */
static void test_more_ranks_than_sequences(void **state) {
  struct fixture *fixture = *state;
  read_lines(fixture, "llama3.1-70b," LLAMA70 ",64,,,,,,,,,,bf16,TPU v7x (Ironwood),256,step_time,34," MAXTEXT "\n"
                      "Llama3.1-405B," LLAMA70 ",512,1,,,,,,,,custom,bf16,TPU v6e,512,step_time,54," MAXTEXT "\n");
  assert_int_equal(fixture->rows.list.data[0].training.context, 4);
  assert_int_equal(fixture->rows.list.data[0].training.data, 64);
  assert_int_equal(fixture->rows.list.data[0].training.micro_batch, 1);
  assert_int_equal(fixture->rows.list.data[1].training.data, 512);
  assert_int_equal(fixture->rows.list.data[1].training.shard_ranks, 256);
}

/* A local batch of 32 over 8 stages are parts of 4; the interleaved variant is taken where it was run. */
static void test_variants(void **state) {
  struct fixture *fixture = *state;
#define ROW                                                                                                            \
  "Llama3.1-405B,405.8,126,16384,53248,128,8,8192,128256,256,32,8,8,,,,,8,full,fp8,\"H100 96GB HBM2e\",512,"           \
  "tokens_per_s_per_GPU,"
  read_lines(fixture, ROW "100,t,yes,pytorch/torchtitan x,\"1F1B, AsyncTP\"\n" ROW
                          "128,t,yes,pytorch/torchtitan x,\"interleaved 1F1B, AsyncTP\"\n");
#undef ROW
  const struct training_row *row = only_row(fixture);
  assert_int_equal(row->skip, TRAINING_TAKEN);
  assert_near(row->measured_s, 256.0 * 8192 / (128 * 512), 1e-12);
  assert_int_equal(row->training.virtual_stages, 2);
  assert_true(row->training.overlap_tensor);
  assert_int_equal(row->training.micro_batch, 4);
  assert_int_equal(row->training.sharded, GENERATE_SHARD_PARAMETERS);
  assert_near(row->hardware->power_share * 700, 500, 1e-9);
}

/* Dropping routers move rows by one-hot masks over a sequence: 2 S H FLOPs to the expert and as many back, for 1.25 times
 * the rows; a row of a gated expert has 6 H F. The FLOPs that are published are without either. */
static void test_masks(void **state) {
  struct fixture *fixture = *state;
#define ROW(system)                                                                                                    \
  "Mixtral-8x7B-MaxText,46.7,32,4096,14336,32,8,4096,32000,3072,12,,,,,,,,custom,bf16," system                         \
  ",256,step_time,12.6," MAXTEXT "\n"
  read_lines(fixture, ROW("TPU v6e") ROW("TPU v5p"));
#undef ROW
  const struct training_row *masks = &fixture->rows.list.data[0], *gathers = &fixture->rows.list.data[1];
  double row_flops = 6.0 * 4096 * 14336 + 4.0 * 4096 * 4096;
  assert_near(6.0 * 4096 * masks->architecture.ffn, 1.25 * row_flops, 1e-4);
  assert_int_equal(gathers->architecture.ffn, 14336);
  assert_near(masks->model_flops, gathers->model_flops, 0);
}

/* MPT has biases: parameters as llm-foundry's table states them (NumParams) for 24 layers of 2,048 and 2,048 positions. */
static void test_biases(void **state) {
  struct fixture *fixture = *state;
  read_lines(fixture, "MPT-1b,1.3,24,2048,8192,16,16,2048,50368,1280,20,,,64,,,,FULL_SHARD,none,amp_bf16,H100_80GB,64,"
                      "tokens_per_s,2841754,t,yes,mosaicml/llm-foundry x,\n");
  const struct training_row *row = only_row(fixture);
  const struct generate_model *model = &row->architecture;
  double hidden = model->hidden, layer = 4 * hidden * hidden + 2 * hidden * model->ffn + 4 * hidden;
  layer += model->biases ? 3 * hidden + hidden + model->ffn + hidden : 0;
  double tables = hidden * (model->vocabulary + model->positions) + 2 * hidden;
  assert_true(model->tied_embedding);
  assert_near(model->layers * layer + tables, 1315950592, 0);
}

/* What frameworks take beside the kernels: no step with cuBLAS of CUDA 11 has products faster than 257 TFLOP/s on an A100;
 * products of many small experts on a TPU do not gain from narrower operands; those of a dense model do. */
static void test_limits(void **state) {
  struct fixture *fixture = *state;
  struct hw_database chips;
  struct hw_clusters clusters;
#define MPT                                                                                                            \
  "MPT-1b,1.3,24,2048,8192,16,16,512,50368,256,32,,,8,,,,FULL_SHARD,none,bf16,A100_40GB,8,tokens_per_s,174000,t,yes,"
#define EXPERTS(precision)                                                                                             \
  "qwen3-235b-a22b,235,94,4096,1536,64,4,4096,151936,2048,,,,,,,,,," precision                                         \
  ",TPU v7x (Ironwood),64,step_time,30," MAXTEXT "\n"
#define DENSE(precision)                                                                                               \
  "llama3.1-70b," LLAMA70 ",256,,,,,,,,,," precision ",TPU v7x (Ironwood),64,step_time,12.2," MAXTEXT "\n"
  read_lines(fixture,
             MPT "mosaicml/llm-foundry x,\n" EXPERTS("bf16") EXPERTS("fp8_full") DENSE("bf16") DENSE("fp8_full"));
#undef DENSE
#undef EXPERTS
#undef MPT
  assert_int_equal(hw_database_load(&chips, RDG_SOURCE_DIR "/hardware", &fixture->diags), STATUS_OK);
  assert_int_equal(hw_clusters_load(&clusters, RDG_SOURCE_DIR "/hardware", &chips, &fixture->diags), STATUS_OK);
  struct training_row *rows = fixture->rows.list.data;
  assert_int_equal(fixture->rows.list.count, 5);
  assert_int_equal(training_predict(&fixture->rows, &chips, &clusters, &fixture->diags), STATUS_OK);
  for (size_t i = 0; i < fixture->rows.list.count; i++) {
    assert_int_equal(rows[i].skip, TRAINING_TAKEN);
  }
  double products = 6 * training_active_parameters(&rows[0].architecture) * 256 * 512;
  assert_true(rows[0].predicted_s > products / (8 * 257e12));
  assert_true(rows[2].predicted_s > 0.9 * rows[1].predicted_s);
  assert_true(rows[4].predicted_s < 0.75 * rows[3].predicted_s);
  hw_clusters_release(&clusters);
  hw_database_release(&chips);
}

static void test_strategies(void **state) {
  struct fixture *fixture = *state;
  read_lines(
      fixture,
      "megatron-22B,22,48,6144,24576,64,64,2048,51200,4,4,8,1,1,,,1,,selective+sequence_parallel,fp16,A100-SXM-80GB "
      "(Selene),8,iteration_time,1.1,s,yes,arXiv 2205.05198 Table 5,\n"
      "megatron-22B,22,48,6144,24576,64,64,2048,51200,4,4,8,1,1,,,1,,full,fp16,A100-SXM-80GB "
      "(Selene),8,iteration_time,1.42,s,yes,arXiv 2205.05198 Table 5,\n"
      "MPT-3b,2.652,32,2560,10240,20,20,2048,50368,4096,8,,,512,,,,SHARD_GRAD_OP,none,amp_bf16,H100_80GB,512,"
      "tokens_per_s,11092218,t,yes,mosaicml/llm-foundry x,\n"
      "Qwen3_235B_a22B,235,94,4096,,64,4,4096,151936,8192,1,2,8,,1,32,4,0,,FP8,DGX-H100,256,tokens_per_s_per_GPU,"
      "1712," BRIDGE "\n");
  const struct training_row *rows = fixture->rows.list.data;
  assert_int_equal(fixture->rows.list.count, 4);
  assert_int_equal(rows[0].table, TRAINING_MEGATRON);
  assert_int_equal(rows[0].training.recompute, GENERATE_RECOMPUTE_SELECTIVE);
  assert_true(rows[0].training.sequence_parallel);
  assert_int_equal(rows[0].training.attention, GENERATE_ATTENTION_FUSED_SOFTMAX);
  assert_int_equal(rows[1].training.recompute, GENERATE_RECOMPUTE_FULL);
  assert_false(rows[1].training.sequence_parallel);
  assert_int_equal(rows[2].training.sharded, GENERATE_SHARD_GRADIENTS);
  assert_int_equal(rows[2].training.gradients, DTYPE_F32);
  assert_int_equal(rows[2].architecture.positions, 2048);
  assert_int_equal(rows[3].training.expert, 16); /* 16 data ranks: experts are not spread over tensor ranks */
  assert_int_equal(rows[3].architecture.experts, 128);
  assert_int_equal(rows[3].architecture.head_size, 128);
}

/* A byte order mark before the heading; the vocabulary is padded per tensor rank. */
static void test_vtrain(void **state) {
  struct fixture *fixture = *state;
  write_text(fixture,
             "\xEF\xBB\xBF# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence "
             "length,tensor parallelism,data parallelism,pipeline parallelism,iteration time (ms)\n",
             "8,32,4,1024,16,24,1024,2,2,2,219.7\n");
  assert_int_equal(training_read_vtrain(&fixture->rows, fixture->path, TRAINING_VTRAIN_SINGLE, &fixture->diags),
                   STATUS_OK);
  struct training_row *row = only_row(fixture);
  training_map(row);
  assert_int_equal(row->skip, TRAINING_TAKEN);
  assert_int_equal(row->devices, 8);
  assert_near(row->measured_s, 0.2197, 1e-12);
  assert_int_equal(row->architecture.ffn, 4096);
  assert_int_equal(row->architecture.vocabulary, 50432); /* 197 x 256 */
  assert_int_equal(row->training.data, 2);
  assert_int_equal(row->training.compute, DTYPE_F16);
  assert_int_equal(row->training.recompute, GENERATE_RECOMPUTE_FULL);
  assert_near(row->training.dropout, 0.1, 0); /* Megatron's default */
  assert_string_equal(row->hardware->cluster, "a100_80_hdr_800"); /* 800 Gb/s per node */
}

/* Scores count rows that are taken and predicted; groups come in the order of the rows. */
static void test_scores(void **state) {
  struct fixture *fixture = *state;
#define ROW(batch) "MPT-3b,2.652,32,2560,10240,20,20,2048,50368," #batch ",8,,,8,,,,FULL_SHARD,none,bf16,"
  read_lines(
      fixture,
      ROW(64) "A100_40GB,8,tokens_per_s,1000,t,yes,mosaicml/llm-foundry x,\n" ROW(
          128) "H100_80GB,8,tokens_per_s,1000,t,yes,mosaicml/llm-foundry x,\n" ROW(256) "A100_40GB,8,tokens_per_s,1000,"
                                                                                        "t,yes,mosaicml/llm-foundry "
                                                                                        "x,\n" ROW(512) "A100_40GB,8,"
                                                                                                        "MFU,40,t,yes,"
                                                                                                        "mosaicml/"
                                                                                                        "llm-foundry "
                                                                                                        "x,\n");
#undef ROW
  struct training_row *rows = fixture->rows.list.data;
  rows[0].predicted_s = 1.1 * rows[0].measured_s;
  rows[2].predicted_s = 0.7 * rows[2].measured_s;
  struct training_filter filter = {-1, NULL, NULL};
  struct score score;
  assert_int_equal(training_score(&fixture->rows, &filter, &score), STATUS_OK);
  assert_int_equal(score.count, 2);
  assert_near(score.mape, 0.2, 1e-9);
  assert_near(score.bias, -0.1, 1e-9);
  assert_true(training_group_next(&fixture->rows, &filter));
  assert_string_equal(filter.system, "A100-40");
  assert_true(training_group_next(&fixture->rows, &filter));
  assert_string_equal(filter.system, "H100");
  assert_false(training_group_next(&fixture->rows, &filter));
  distributed_goal_list goals = {0};
  assert_int_equal(distributed_goals_of_training(&fixture->rows, &goals), STATUS_OK);
  bool is_found = false;
  for (size_t i = 0; i < goals.count; i++) {
    if (strcmp(goals.data[i].title, "published tables, mean error") == 0) {
      is_found = true;
      assert_near(goals.data[i].value, 0.2, 1e-9);
      assert_false(distributed_goal_is_met(&goals.data[i]));
    } else if (strstr(goals.data[i].title, "Megatron")) {
      assert_false(distributed_goal_is_met(&goals.data[i])); /* no data is not met */
    }
  }
  assert_true(is_found);
  vec_release(&goals);
}

/* Goals of the suite of collectives: by place, none without rows, other texts refused. */
static void test_goals_of_collectives(void **state) {
  (void)state;
  distributed_goal_list goals = {0};
  assert_int_equal(distributed_goals_of_collectives("{\"cells\":[{},{}],\"goals\":[{\"value\":0.05,\"at_most\":0.08},"
                                                    "{\"value\":0.3,\"at_most\":0.2},{\"value\":null,\"at_most\":"
                                                    "0.2}]}",
                                                    &goals),
                   STATUS_OK);
  assert_int_equal(goals.count, 3);
  assert_true(distributed_goal_is_met(&goals.data[0]));
  assert_int_equal(goals.data[0].count, 2);
  assert_false(distributed_goal_is_met(&goals.data[1]));
  assert_false(distributed_goal_is_met(&goals.data[2]));
  assert_int_equal(distributed_goals_of_collectives("no json", &goals), STATUS_INPUT);
  vec_release(&goals);
}

/* Two rows that say the same have the same time; a step takes longer than its products do at the peak and less than ten
 * times as long; heads that the ranks do not divide are refused in words. */
static void test_predictions(void **state) {
  struct fixture *fixture = *state;
  struct hw_database chips;
  struct hw_clusters clusters;
#define ROW(version, heads, tensor)                                                                                    \
  "megatron-" version ",1,2,4096,16384," heads "," heads ",2048,51200,8,4," tensor                                     \
  ",1,1,,,1,,none,fp16,A100-SXM-80GB (Selene),8,iteration_time,1,s,yes,arXiv 2205.05198,\n"
  read_lines(fixture, ROW("a", "32", "4") ROW("b", "32", "4") ROW("c", "20", "8"));
#undef ROW
  assert_int_equal(hw_database_load(&chips, RDG_SOURCE_DIR "/hardware", &fixture->diags), STATUS_OK);
  assert_int_equal(hw_clusters_load(&clusters, RDG_SOURCE_DIR "/hardware", &chips, &fixture->diags), STATUS_OK);
  struct training_row *rows = fixture->rows.list.data;
  assert_int_equal(rows[2].skip, TRAINING_TAKEN);
  assert_int_equal(training_predict(&fixture->rows, &chips, &clusters, &fixture->diags), STATUS_OK);
  assert_int_equal(rows[0].skip, TRAINING_TAKEN);
  double least = rows[0].model_flops / (8 * 312e12); /* dense f16 rate of an A100 */
  assert_true(rows[0].predicted_s > least && rows[0].predicted_s < 10 * least);
  assert_near(rows[1].predicted_s, rows[0].predicted_s, 0);
  assert_near(rows[0].implied_mfu, least, 1e-9); /* the measured time is one second */
  assert_near(rows[0].compute_s + rows[0].exposed_s + rows[0].bubble_s + rows[0].other_s, rows[0].predicted_s, 1e-6);
  assert_int_equal(rows[2].skip, TRAINING_REFUSED);
  assert_non_null(strstr(rows[2].note, "heads"));
  hw_clusters_release(&clusters);
  hw_database_release(&chips);
}

/* What kernels of PyTorch take on an A100: products at most 257 of 312 TFLOP/s, f16 as long as bf16, softmax and dropout at
 * the rates of one measured layer. */
static void test_kernels_of_pytorch(void **state) {
  struct fixture *fixture = *state;
  struct hw_database chips;
  struct hw_clusters clusters;
#define ROW(version, recompute, precision)                                                                             \
  "megatron-" version ",1,2,4096,16384,32,32,2048,51200,8,1,1,1,8,,,1,," recompute "," precision                       \
  ",A100-SXM-80GB (Selene),8,iteration_time,1,s,yes,arXiv 2205.05198,\n"
  read_lines(fixture,
             ROW("a", "none", "fp16") ROW("b", "none", "bf16") ROW("c", "selective+sequence_parallel", "fp16"));
#undef ROW
  assert_int_equal(hw_database_load(&chips, RDG_SOURCE_DIR "/hardware", &fixture->diags), STATUS_OK);
  assert_int_equal(hw_clusters_load(&clusters, RDG_SOURCE_DIR "/hardware", &chips, &fixture->diags), STATUS_OK);
  assert_int_equal(training_predict(&fixture->rows, &chips, &clusters, &fixture->diags), STATUS_OK);
  struct training_row *rows = fixture->rows.list.data;
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(rows[i].skip, TRAINING_TAKEN);
    assert_true(rows[i].compute_s > rows[i].model_flops / (8 * 257e12));
  }
  assert_near(rows[0].predicted_s, rows[1].predicted_s, 1e-9);
  /* recomputed: softmax (read, write), dropout (the same and a byte per score), and products that write and read the scores */
  double scores_s = 32.0 * 2048 * 2048 * 2 / 2.039e12, layers = 2;
  double passes_s = scores_s * (2 / (1.165 / 2.04) + 2.5 / (1.54 / 2.04)), products_s = 2 * scores_s;
  double more_s = rows[2].compute_s - rows[0].compute_s;
  assert_true(more_s > layers * 0.99 * (passes_s + products_s) && more_s < layers * 1.5 * (passes_s + products_s));
  hw_clusters_release(&clusters);
  hw_database_release(&chips);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cells),
      cmocka_unit_test(test_names),
      cmocka_unit_test_setup_teardown(test_merge, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_step_time_wins, set_up, tear_down),
      cmocka_unit_test(test_flops_of_published_rows),
      cmocka_unit_test_setup_teardown(test_skips, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_cores_of_a_chip, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_more_ranks_than_sequences, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_variants, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_masks, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_biases, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_strategies, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_vtrain, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_scores, set_up, tear_down),
      cmocka_unit_test(test_goals_of_collectives),
      cmocka_unit_test_setup_teardown(test_predictions, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_kernels_of_pytorch, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
