/* Fusion of nodes into operators; private to plan_program_read. */
#ifndef RIDGELINE_PLAN_PLAN_FUSE_H
#define RIDGELINE_PLAN_PLAN_FUSE_H

#include "plan/plan_read.h"

/* Groups the nodes, emits the operators and says what each step gave in program->shares. */
enum status read_fuse(struct reader *reader, struct read_scope *scope);

/* ---- plan_fuse_axes.c ---- */

/* Members of both in the order of the program, axes not yet shared; false when there is no room. */
bool read_cluster_join(const struct read_cluster *a, const struct read_cluster *b, struct read_cluster *joined);
/* Makes two accesses of one value run along the same axes of the cluster. False: they do not run through it alike; the
 * cluster is then spoilt. */
bool read_cluster_unify(const struct reader *reader, struct read_cluster *cluster, uint32_t member_a,
                        const struct read_access *access_a, uint32_t member_b, const struct read_access *access_b);
/* Drops axes that were joined to others. */
void read_cluster_compact(struct read_cluster *cluster, struct read_cluster *scratch);

#endif
