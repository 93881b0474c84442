/* Fuzz target: the text form of work graphs. What reads must print and read again; what also verifies must seal, and then
 * sums, memory, unrolling, fusion and the rewrites of collectives must hold on it. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "fuzz_check.h"

static struct fuzz_chips chips;

static bool is_same_text(const struct work_graph *a, const struct work_graph *b) {
  struct strbuf text_a = {0}, text_b = {0};
  work_graph_print(a, &text_a);
  work_graph_print(b, &text_b);
  bool is_same = strcmp(strbuf_text(&text_a), strbuf_text(&text_b)) == 0;
  strbuf_release(&text_a);
  strbuf_release(&text_b);
  return is_same;
}

static enum fuzz_outcome broken(struct strbuf *why, const char *what) {
  strbuf_puts(why, what);
  return FUZZ_BROKEN;
}

/* An unsealed graph as it was read. */
static enum fuzz_outcome check_fixed_point(const struct work_graph *graph, struct strbuf *why) {
  struct strbuf text = {0};
  work_graph_print(graph, &text);
  struct source source = {.name = "printed", .text = strbuf_text(&text), .length = text.length};
  struct diag_list diags;
  diag_init(&diags);
  struct work_graph *again = NULL;
  enum fuzz_outcome outcome = FUZZ_ACCEPTED;
  if (work_graph_parse(&source, &diags, &again) != STATUS_OK) {
    outcome = broken(why, "the printed text is refused: ");
    if (diags.entries.count > 0) {
      diag_format(&diags.entries.data[0], why);
    }
  } else if (!is_same_text(graph, again)) {
    outcome = broken(why, "the printed text is no fixed point");
  }
  work_graph_free(again);
  diag_release(&diags);
  strbuf_release(&text);
  return outcome;
}

/* Fusion and estimate of any graph that verifies must end well. What fusion keeps is promised for lowered graphs only
 * (fuzz_check_program): text can state work that no program has, such as matrix operations of a reverse. */
static enum fuzz_outcome check_fusion(const struct work_graph *graph, const struct hw_chip *chip, struct strbuf *why) {
  struct cost_options options = {.f32_as = DTYPE_NONE};
  struct lower_fusion_report report;
  struct work_graph *fused = NULL;
  enum fuzz_outcome outcome = FUZZ_ACCEPTED;
  if (lower_fuse(graph, chip, &report, &fused) != STATUS_OK) {
    outcome = broken(why, "a verified graph cannot be fused");
  } else {
    struct work_result result;
    work_result_init(&result);
    if (cost_roofline.estimate(fused, chip, &options, &result) != STATUS_OK) {
      outcome = broken(why, "a verified graph has no estimate");
    }
    work_result_release(&result);
  }
  work_graph_free(fused);
  return outcome;
}

/* Collectives rewritten with a threshold that small programs meet: the graph keeps its invariants, and what is moved is the
 * same but for what was moved twice. */
static enum fuzz_outcome check_collectives(const struct work_graph *graph, struct strbuf *why) {
  const struct lower_collective_options options = {true, true, true, 4096, 4096, 4096, 3};
  struct lower_collective_report report;
  struct work_graph *rewritten = NULL;
  enum fuzz_outcome outcome = FUZZ_ACCEPTED;
  if (lower_collectives(graph, &options, &report, &rewritten) != STATUS_OK) {
    outcome = broken(why, "the collectives of a verified graph cannot be rewritten");
  } else {
    outcome = fuzz_check_graph(rewritten, why);
    if (outcome == FUZZ_ACCEPTED && fuzz_sum(rewritten).matrix_flops != fuzz_sum(graph).matrix_flops) {
      outcome = broken(why, "rewriting collectives changes the matrix FLOPs");
    }
  }
  work_graph_free(rewritten);
  return outcome;
}

static enum fuzz_outcome check_verified(struct work_graph *graph, struct strbuf *why) {
  if (work_graph_seal(graph) != STATUS_OK) {
    return broken(why, "a verified graph cannot be sealed");
  }
  enum fuzz_outcome outcome = fuzz_check_graph(graph, why);
  if (outcome != FUZZ_ACCEPTED) {
    return outcome;
  }
  struct work_memory memory;
  if (work_graph_memory(graph, &memory) != STATUS_OK) {
    return broken(why, "a verified graph has no memory plan");
  }
  struct work_total total;
  work_graph_total(graph, &total);
  struct work_graph *unrolled = NULL;
  if (work_unroll(graph, 4, &unrolled) == STATUS_OK) {
    outcome = fuzz_check_graph(unrolled, why);
    if (outcome == FUZZ_ACCEPTED && fuzz_sum(unrolled).matrix_flops != fuzz_sum(graph).matrix_flops) {
      outcome = broken(why, "unrolling changes the matrix FLOPs");
    }
  }
  work_graph_free(unrolled);
  if (outcome == FUZZ_ACCEPTED) {
    outcome = check_collectives(graph, why);
  }
  if (outcome == FUZZ_ACCEPTED) {
    outcome = check_fusion(graph, chips.gpu, why);
  }
  return outcome == FUZZ_ACCEPTED ? check_fusion(graph, chips.tpu, why) : outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (chips.gpu == NULL && !fuzz_chips_load(&chips)) {
    abort();
  }
  char *text = malloc(size + 1);
  if (text == NULL) {
    return 0;
  }
  memcpy(text, data, size);
  text[size] = '\0';
  struct source source = {.name = "input", .text = text, .length = size};
  struct diag_list diags;
  diag_init(&diags);
  struct work_graph *graph = NULL;
  struct strbuf why = {0};
  enum status status = work_graph_parse(&source, &diags, &graph);
  enum fuzz_outcome outcome = fuzz_check_status(status, &diags, &why) ? FUZZ_REFUSED : FUZZ_BROKEN;
  if (status == STATUS_OK && outcome == FUZZ_REFUSED) {
    outcome = check_fixed_point(graph, &why);
    if (outcome == FUZZ_ACCEPTED && work_graph_verify(graph, &diags) == STATUS_OK) {
      outcome = check_verified(graph, &why);
    }
  }
  fuzz_require(outcome, &why);
  work_graph_free(graph);
  diag_release(&diags);
  free(text);
  return 0;
}
