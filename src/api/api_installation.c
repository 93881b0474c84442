/* Where this library is installed: chip files are found beside it, so that a prefix, or a Python package, may be moved. */
#define _GNU_SOURCE /* dladdr1 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api_context.h"

/* The absolute path of the file that holds this code: the shared library or, linked statically, the program. */
static bool own_path(char path[PATH_MAX]) {
  Dl_info info;
  struct link_map *map = NULL;
  if (dladdr1((const void *)rdg_version, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map && map->l_name[0]) {
    return realpath(map->l_name, path) != NULL;
  }
  ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1); /* a program has no name in its own link map */
  path[length > 0 ? length : 0] = '\0';
  return length > 0;
}

bool api_find_installation(char *share, size_t size) {
  /* PREFIX/bin/ridgeline, PREFIX/lib/libridgeline.so.0.1, PREFIX/lib/x86_64-linux-gnu/libridgeline.so.0.1 */
  static const char *const places[] = {"../share/ridgeline", "../../share/ridgeline"};
  char path[PATH_MAX];
  char *slash = own_path(path) ? strrchr(path, '/') : NULL;
  for (size_t i = 0; slash && i < sizeof places / sizeof places[0]; i++) {
    slash[1] = '\0';
    char hardware[PATH_MAX + 64];
    int length = snprintf(hardware, sizeof hardware, "%s%s/hardware", path, places[i]);
    if (access(hardware, R_OK) == 0 && (size_t)length < size) {
      (void)snprintf(share, size, "%s%s", path, places[i]);
      return true;
    }
  }
  share[0] = '\0';
  return false;
}
