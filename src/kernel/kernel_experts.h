/* How many rows each expert of a mixture-of-experts layer gets on one device. Internal to the kernel models. */
#ifndef RIDGELINE_KERNEL_KERNEL_EXPERTS_H
#define RIDGELINE_KERNEL_KERNEL_EXPERTS_H

/* Experts beyond that many are put together with experts of similar load. */
enum { EXPERT_GROUP_MAX = 48 };

struct expert_loads {
  unsigned group_count;
  double experts[EXPERT_GROUP_MAX]; /* of the group that get rows; a fraction is how often an expert gets any */
  double rows[EXPERT_GROUP_MAX]; /* of each of them, at least 1 */
  double active, rows_here; /* sums over the groups: experts that get rows, rows */
};

/* Loads of the busiest of `expert_parallel` devices, each with experts / expert_parallel experts, when `tokens` tokens go to
 * `top_k` different experts each. skew = 0: equal loads. Otherwise loads are drawn from a bounded power law of that
 * exponent, the largest 0.8 x tokens times the smallest (200 times while tokens x top_k <= experts), and no expert gets
 * more than `tokens` rows. Arguments from 1 to 1e15 (skew >= 0). docs/kernels-moe.md derives the closed forms. */
void kernel_expert_loads(double tokens, double top_k, double experts, double expert_parallel, double skew,
                         struct expert_loads *out);
/* Tiles of `tile_rows` rows that cover the loads, each expert on its own. */
double kernel_expert_tiles(const struct expert_loads *loads, double tile_rows);

#endif
