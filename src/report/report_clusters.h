/* Clusters as text and JSON: the list, one cluster with every source, and what a check found.
 * Path: hw/ clusters in, bytes for the user out. */
#ifndef RIDGELINE_REPORT_REPORT_CLUSTERS_H
#define RIDGELINE_REPORT_REPORT_CLUSTERS_H

#include "base/strbuf.h"
#include "hw/hw_cluster.h"

void report_clusters_text(const struct hw_clusters *clusters, struct strbuf *out);
void report_cluster_text(const struct hw_cluster *cluster, struct strbuf *out);
/* docs/json.md, "Clusters" and "Cluster". */
enum status report_clusters_json(const struct hw_clusters *clusters, struct strbuf *out);
enum status report_cluster_json(const struct hw_cluster *cluster, struct strbuf *out);

/* The clusters that were checked and what was found. */
struct report_cluster_check {
  const char *version;
  const struct hw_cluster *clusters;
  size_t count;
  const struct diag_list *diags;
};
void report_cluster_check_text(const struct report_cluster_check *check, struct strbuf *out);
/* docs/json.md, "Cluster check". */
enum status report_cluster_check_json(const struct report_cluster_check *check, struct strbuf *out);

#endif
