/* Clusters: list, show, check; and how other calls find one. */
#include "api/api_context.h"
#include "report/report_clusters.h"

rdg_status api_need_clusters(rdg_context *ctx) {
  rdg_status status = api_need_chips(ctx);
  if (status != RDG_OK || ctx->clusters_loaded) {
    return status;
  }
  /* a bad file does not take the good ones with it, as for chips */
  enum status loaded = hw_clusters_load(&ctx->clusters, api_hardware_directory(ctx), &ctx->chips, &ctx->diags);
  if (loaded != STATUS_OK && loaded != STATUS_INPUT) {
    hw_clusters_release(&ctx->clusters);
    return api_status(loaded);
  }
  ctx->clusters_loaded = true;
  return RDG_OK;
}

rdg_status api_find_cluster(rdg_context *ctx, const char *name, const struct hw_cluster **cluster) {
  *cluster = NULL;
  rdg_status status = api_need_clusters(ctx);
  if (status != RDG_OK) {
    return status;
  }
  if (api_is_path(name)) {
    return api_status(
        hw_cluster_load(&ctx->clusters, name, api_hardware_directory(ctx), &ctx->chips, &ctx->diags, cluster));
  }
  *cluster = hw_clusters_find(&ctx->clusters, name, &ctx->diags);
  return *cluster ? RDG_OK : RDG_ERROR_INPUT;
}

rdg_status rdg_clusters_list(rdg_context *ctx, rdg_format format, rdg_sink sink) {
  api_begin(ctx);
  struct strbuf out = {0};
  rdg_status status = api_need_clusters(ctx);
  if (status == RDG_OK && format == RDG_FORMAT_JSON) {
    status = api_status(report_clusters_json(&ctx->clusters, &out));
  } else if (status == RDG_OK) {
    report_clusters_text(&ctx->clusters, &out);
  }
  return api_finish(ctx, status, &out, sink);
}

rdg_status rdg_cluster_show(rdg_context *ctx, const char *name, rdg_format format, rdg_sink sink) {
  api_begin(ctx);
  struct strbuf out = {0};
  const struct hw_cluster *cluster = NULL;
  rdg_status status = api_find_cluster(ctx, name, &cluster);
  if (status == RDG_OK && format == RDG_FORMAT_JSON) {
    status = api_status(report_cluster_json(cluster, &out));
  } else if (status == RDG_OK) {
    report_cluster_text(cluster, &out);
  }
  return api_finish(ctx, status, &out, sink);
}

rdg_status rdg_cluster_check(rdg_context *ctx, const char *name, rdg_format format, rdg_sink sink) {
  api_begin(ctx);
  const struct hw_cluster *cluster = NULL;
  rdg_status status = name ? api_find_cluster(ctx, name, &cluster) : api_need_clusters(ctx);
  struct report_cluster_check check = {.version = rdg_version(), .diags = &ctx->diags};
  if (status == RDG_OK) {
    check.clusters = cluster ? cluster : ctx->clusters.list.data;
    check.count = cluster ? 1 : ctx->clusters.list.count;
  } else if (format != RDG_FORMAT_JSON || status != RDG_ERROR_INPUT) { /* JSON holds what is wrong with the file */
    return status;
  }
  for (size_t i = 0; i < check.count; i++) {
    if (hw_cluster_check(&check.clusters[i], &ctx->chips, &ctx->diags) == STATUS_MEMORY) {
      return RDG_ERROR_MEMORY;
    }
  }
  struct strbuf out = {0};
  rdg_status written = RDG_OK;
  if (format == RDG_FORMAT_JSON) {
    written = api_status(report_cluster_check_json(&check, &out));
  } else {
    report_cluster_check_text(&check, &out);
  }
  written = api_finish(ctx, written, &out, sink);
  return written == RDG_OK && ctx->diags.error_count ? RDG_ERROR_INPUT : written;
}
