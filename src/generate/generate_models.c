/* The models that can be generated. */
#include <strings.h>

#include "base/strbuf.h"
#include "generate/generate.h"
#include "generate/generate_resnet.h"

#define MODEL(id, ...) static const struct generate_model id = {__VA_ARGS__};
#include "generate/generate_models.def"
#undef MODEL

const struct generate_model *const generate_models[] = {
#define MODEL(id, ...) &id,
#include "generate/generate_models.def"
#undef MODEL
    NULL};

#define MODEL(id, ...) static const struct generate_model id = {__VA_ARGS__};
#include "generate/generate_training_models.def"
#undef MODEL

const struct generate_model *const generate_training_models[] = {
#define MODEL(id, ...) &id,
#include "generate/generate_training_models.def"
#undef MODEL
    NULL};

static const struct generate_model *const *const lists[] = {generate_models, generate_training_models};

const struct generate_model *generate_model_find(const char *name, struct diag_list *diags) {
  struct strbuf names = {0};
  for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++) {
    for (size_t i = 0; lists[k][i] != NULL; i++) {
      if (strcasecmp(lists[k][i]->name, name) == 0) {
        strbuf_release(&names);
        return lists[k][i];
      }
      if (diags != NULL) {
        strbuf_printf(&names, "%s%s", names.length == 0 ? "" : ", ", lists[k][i]->name);
      }
    }
  }
  for (size_t i = 0; diags != NULL && generate_resnets[i] != NULL; i++) {
    strbuf_printf(&names, ", %s", generate_resnets[i]->name);
  }
  if (diags != NULL) {
    diag_file(diags, DIAG_E0805_GENERATE, NULL, 0, 0, "there is no model '%.100s'; there are %s", name,
              strbuf_text(&names));
  }
  strbuf_release(&names);
  return NULL;
}
