/* The models that can be generated. */
#include <strings.h>

#include "base/strbuf.h"
#include "generate/generate.h"

#define MODEL(id, ...) static const struct generate_model id = {__VA_ARGS__};
#include "generate/generate_models.def"
#undef MODEL

const struct generate_model *const generate_models[] = {
#define MODEL(id, ...) &id,
#include "generate/generate_models.def"
#undef MODEL
    NULL};

const struct generate_model *generate_model_find(const char *name, struct diag_list *diags) {
  for (size_t i = 0; generate_models[i] != NULL; i++) {
    if (strcasecmp(generate_models[i]->name, name) == 0) {
      return generate_models[i];
    }
  }
  if (diags != NULL) {
    struct strbuf names = {0};
    for (size_t i = 0; generate_models[i] != NULL; i++) {
      strbuf_printf(&names, "%s%s", i == 0 ? "" : ", ", generate_models[i]->name);
    }
    diag_file(diags, DIAG_E0805_GENERATE, NULL, 0, 0, "there is no model '%.100s'; there are %s", name,
              strbuf_text(&names));
    strbuf_release(&names);
  }
  return NULL;
}
