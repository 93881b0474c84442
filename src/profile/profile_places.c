/* Search order of data, mapping and chart folders. */
#include "profile/profile_places.h"

#include "base/strbuf.h"

#include <dirent.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

static const char *first_of(const char *stated, const char *variable, const char *in_source, const char *installed) {
  const char *from_environment = getenv(variable);
  if (stated) {
    return stated;
  }
  if (from_environment && *from_environment) {
    return from_environment;
  }
  return !installed || access(in_source, R_OK) == 0 ? in_source : installed;
}

const char *profile_data_directory(const char *stated) {
  return first_of(stated, "RIDGELINE_DATA", "../shared/data", NULL);
}

const char *profile_mapping_directory(const char *stated) {
  return first_of(stated, "RIDGELINE_MEASUREMENTS", RDG_HARDWARE_DIR "/../measurements",
                  RDG_INSTALL_HARDWARE_DIR "/../measurements");
}

const char *profile_charts_directory(const char *stated) {
  return first_of(stated, "RIDGELINE_CHARTS", RDG_HARDWARE_DIR "/../share/charts",
                  RDG_INSTALL_HARDWARE_DIR "/../charts");
}

bool profile_need_folder(const char *data_directory, const char *folder, struct diag_list *diags) {
  struct strbuf path = {0};
  strbuf_printf(&path, "%s/%s", data_directory, folder);
  DIR *directory = path.failed ? NULL : opendir(path.data);
  strbuf_release(&path);
  if (directory == NULL) {
    diag_file(diags, DIAG_E0001_OPEN, data_directory, 0, 0,
              "no data: there is no '%s' in '%s' (--data or $RIDGELINE_DATA say where it is)", folder, data_directory);
    return false;
  }
  closedir(directory);
  return true;
}
