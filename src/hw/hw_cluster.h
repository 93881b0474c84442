/* Clusters: how chips of one kind are joined, with the source of every number.
 *
 * A cluster is one YAML file under hardware/clusters/, written like a chip file (hw.h: facts with unit, source and kind;
 * `inherit` names a family under hardware/clusters/families/). It lists its *dimensions*, innermost first: a DGX node is an
 * NVSwitch dimension of 8 and an InfiniBand dimension of any size; a TPU v4 pod is three rings. A *slice* is what a program
 * runs on: how many devices along each dimension, and which rings close. Devices are numbered with the innermost dimension
 * fastest. A device is what a program's device id names: a GPU, a TPU chip, or on TPU v2/v3 one of two cores of a chip.
 *
 * Bandwidths are per device and direction, latencies one hop. Constants of the communication library (launch, steps,
 * efficiencies; rows of cluster/collective_constants.def) are fields of the same file or of its family.
 */
#ifndef RIDGELINE_HW_HW_CLUSTER_H
#define RIDGELINE_HW_HW_CLUSTER_H

#include "hw/hw.h"

enum { HW_DIMENSIONS_MAX = 4 };

enum hw_fabric {
  HW_FABRIC_SWITCH, /* every device has link_Bps into one non-blocking crossbar (NVSwitch, PCIe switch) */
  HW_FABRIC_MESH, /* a link between every two devices; link_Bps is the sum of a device's links (xGMI) */
  HW_FABRIC_RING, /* neighbours in a line, closed where the slice says; link_Bps is that to one neighbour */
  HW_FABRIC_FAT_TREE /* network cards into a tree of switches; link_Bps is a device's share of its node's cards */
};
const char *hw_fabric_name(enum hw_fabric fabric);

enum hw_wrap {
  HW_WRAP_ALWAYS, /* also 2 devices: both links join the same two */
  HW_WRAP_NEVER,
  HW_WRAP_AT_SIZE, /* only where this dimension has wrap_size devices (TPU v5e, v6e: 16) */
  HW_WRAP_MULTIPLES /* only where all ring dimensions are multiples of wrap_size (TPU v4, v5p: 4) */
};
const char *hw_wrap_name(enum hw_wrap wrap);

struct hw_dimension {
  const char *name; /* "nvlink", "ici.x", "network" */
  enum hw_fabric fabric;
  uint32_t size; /* devices, or whole inner dimensions, that one instance joins at most; 0 = any number */
  double link_Bps;
  double latency_s; /* one hop */
  double taper; /* FAT_TREE: bandwidth that leaves a device's leaf as a fraction of what enters it; 1 = non-blocking */
  bool is_railed; /* FAT_TREE: devices of equal number in their nodes share a leaf */
  uint32_t leaf_units; /* FAT_TREE: inner dimensions (nodes) below one leaf; 0 = all */
  bool reduces; /* the switch adds (NVLS, SHARP) */
  enum hw_wrap wrap; /* RING */
  uint32_t wrap_size;
};

struct hw_cluster {
  const char *id, *name, *vendor;
  const char *chip; /* id of the chip that devices are (a part of) */
  double chip_share; /* of a chip that one device is: 1, or 0.5 for one core of a TPU v3 chip */
  const char *library; /* "nccl", "rccl", "xla_tpu", "neuron", "gcl", ...: whose algorithms; see cluster/collective.h */
  const char *file;
  struct hw_dimension dimensions[HW_DIMENSIONS_MAX];
  uint32_t dimension_count;
  uint64_t max_devices; /* product of sizes, or what the file states; 0 = any number */
  /* what a step costs besides time; 0 = not stated */
  double device_power_W; /* of a device with its share of host, switches and cooling while it computes */
  double device_price_usd_h;
  const struct hw_field
      *fields; /* sorted by key: dimensions' fields as "dimension.<name>.<field>", library constants */
  size_t field_count;
  const char *const *aliases;
  size_t alias_count;
  const char *const *shapes; /* named slice shapes ("4x4x8"), smallest first; NULL-terminated; may be empty */
};

struct hw_clusters {
  struct arena arena;
  VEC(struct hw_cluster) list; /* sorted by id */
};

/* Loads every cluster below directory/clusters (directory = hardware/). Bad files are reported and left out
 * (STATUS_INPUT). Chips that are not in `chips` are reported. */
enum status hw_clusters_load(struct hw_clusters *clusters, const char *directory, const struct hw_database *chips,
                             struct diag_list *diags);
void hw_clusters_release(struct hw_clusters *clusters);
/* One file, as `--cluster path/to/cluster.yaml`; it lives in the arena of `clusters` and does not join the list. */
enum status hw_cluster_load(struct hw_clusters *clusters, const char *path, const char *directory,
                            const struct hw_database *chips, struct diag_list *diags,
                            const struct hw_cluster **cluster);
/* The same from a text in memory; nothing of `source` is kept. */
enum status hw_cluster_parse(struct hw_clusters *clusters, const struct source *source, const char *directory,
                             const struct hw_database *chips, struct diag_list *diags,
                             const struct hw_cluster **cluster);
/* By id or alias; case-insensitive, '-' equal to '_'. NULL and a diagnostic with near names when unknown. */
const struct hw_cluster *hw_clusters_find(const struct hw_clusters *clusters, const char *name,
                                          struct diag_list *diags);
const struct hw_field *hw_cluster_field(const struct hw_cluster *cluster, const char *key);
/* The number of a field; false when absent or not a number. */
bool hw_cluster_number(const struct hw_cluster *cluster, const char *key, double *value);
/* Errors a file cannot show: rings without links, a taper above 1, a chip without the rates prediction needs. */
enum status hw_cluster_check(const struct hw_cluster *cluster, const struct hw_database *chips,
                             struct diag_list *diags);

struct hw_slice {
  uint32_t size[HW_DIMENSIONS_MAX]; /* devices along each dimension of the cluster; 1 = the dimension is not used */
  bool wraps[HW_DIMENSIONS_MAX]; /* RING: closed */
  uint64_t devices; /* product */
};
/* `devices` devices of the cluster; 0 = as many as `shape` has. `shape` ("4x4x8" or "4 x 4 x 8", innermost first; may leave
 * out outer dimensions) fits when its sizes do. Where devices are cores of a chip, a shape counts chips, as the vendor
 * writes it ("4x4" of a TPU v3 is 32 cores), unless only a count of devices agrees with `devices`.
 * Without a shape (NULL): the first of the cluster's shapes with as many devices. Else dimensions are filled innermost first:
 * switches, meshes and trees whole; consecutive rings as one box, whose sizes are a named shape, multiples of wrap_size
 * (HW_WRAP_MULTIPLES), or, on a cluster that names no shapes, the most cubic ones. A program larger than a box takes the
 * fewest equal boxes.
 * E0314 in the user's terms: too few devices in the cluster, a number that fills no slice and the nearest that do, a shape
 * that is larger than the dimensions. A ring that stays open is no error: `wraps` says so. */
enum status hw_slice_of(const struct hw_cluster *cluster, uint64_t devices, const char *shape, struct diag_list *diags,
                        struct hw_slice *slice);
/* Coordinate of a device along each dimension. */
void hw_slice_coordinates(const struct hw_slice *slice, uint64_t device, uint32_t coordinates[HW_DIMENSIONS_MAX]);
/* "8 x 16", innermost first, without unused outer dimensions; a shape for hw_slice_of. */
void hw_slice_text(const struct hw_slice *slice, const struct hw_cluster *cluster, char *text, size_t capacity);

#endif
