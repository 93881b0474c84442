/* What the files of clusters share: the form of their files, their typed fields, and the step from facts to values. */
#ifndef RIDGELINE_HW_HW_CLUSTER_INTERNAL_H
#define RIDGELINE_HW_HW_CLUSTER_INTERNAL_H

#include "hw/hw_cluster.h"
#include "hw/hw_load.h"

/* Key and unit of cluster files; see hw_form. */
extern const struct hw_form hw_cluster_form;

/* Sets the typed members of `cluster` and of its dimensions, whose names are set, from its fields. */
void hw_cluster_fill(struct hw_cluster *cluster);
/* The dimension that a key "dimension.<name>.<field>" is of: its index, -1 when the cluster has no such dimension, and -2
 * when the key is not a dimension's. */
int hw_cluster_key_dimension(const struct hw_cluster *cluster, const char *key);

/* Sizes of a shape like "4x4x8" or "4 x 4 x 8"; false when it is not one or has more than HW_DIMENSIONS_MAX numbers. */
bool hw_shape_parse(const char *text, uint32_t size[HW_DIMENSIONS_MAX], uint32_t *count);
/* Dimensions, from the innermost, that lie within one chip: 1 where devices are cores of a chip, else 0. */
uint32_t hw_cluster_inner_count(const struct hw_cluster *cluster);

#endif
