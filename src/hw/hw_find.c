/* Chips by name and by group, and facts by key. */
#include <ctype.h>
#include <string.h>

#include "base/strbuf.h"
#include "hw/hw_internal.h"

/* The chips of the README's comparison, in its order. */
static const char *const demo_chips[] = {
    "nvidia_a100_sxm_80", "nvidia_h100_sxm", "nvidia_h200_sxm", "nvidia_b200_sxm",   "nvidia_l40s",
    "amd_mi300x",         "amd_mi355x",      "google_tpu_v4",   "google_tpu_v5p",    "google_tpu_v6e",
    "google_tpu7x",       "aws_trainium2",   "intel_gaudi3",    "intel_arc_pro_b60",
};

static char fold(char c) {
  return c == '-' ? '_' : (char)tolower((unsigned char)c);
}

bool hw_name_equal(const char *a, const char *b) {
  while (*a != '\0' && fold(*a) == fold(*b)) {
    a++;
    b++;
  }
  return *a == *b;
}

/* "h100_sxm" for "nvidia_h100_sxm". */
static const char *without_vendor(const char *id) {
  const char *first = strchr(id, '_');
  return first != NULL ? first + 1 : id;
}

static const struct hw_chip *find(const struct hw_database *db, const char *name) {
  for (size_t i = 0; i < db->chips.count; i++) {
    const struct hw_chip *chip = &db->chips.data[i];
    if (hw_name_equal(chip->id, name)) {
      return chip;
    }
    for (size_t k = 0; k < chip->alias_count; k++) {
      if (hw_name_equal(chip->aliases[k], name)) {
        return chip;
      }
    }
  }
  for (size_t i = 0; i < db->chips.count; i++) {
    if (hw_name_equal(without_vendor(db->chips.data[i].id), name)) {
      return &db->chips.data[i];
    }
  }
  return NULL;
}

enum { MAX_SUGGESTIONS = 4 };

void hw_put_near_names(struct strbuf *out, const char *name, const char *const *names, size_t name_count) {
  char folded[64] = {0};
  for (size_t i = 0; i + 1 < sizeof folded && name[i] != '\0'; i++) {
    folded[i] = (char)tolower((unsigned char)name[i]);
  }
  const char *near = nearest_name(folded, names, name_count);
  size_t count = 0;
  if (near != NULL) {
    strbuf_printf(out, "'%s'", near);
    count++;
  }
  for (size_t i = 0; i < name_count && count < MAX_SUGGESTIONS && strlen(folded) >= 2; i++) {
    if (names[i] != near && strstr(names[i], folded) != NULL) {
      strbuf_printf(out, "%s'%s'", count > 0 ? ", " : "", names[i]);
      count++;
    }
  }
}

static void report_unknown(const struct hw_database *db, const char *name, struct diag_list *diags) {
  VEC(const char *) names = {0};
  for (size_t i = 0; i < db->chips.count; i++) {
    (void)vec_push(&names, db->chips.data[i].id);
    for (size_t k = 0; k < db->chips.data[i].alias_count; k++) {
      (void)vec_push(&names, db->chips.data[i].aliases[k]);
    }
  }
  struct strbuf text = {0};
  hw_put_near_names(&text, name, names.data, names.count);
  if (text.length > 0) {
    diag_at(diags, DIAG_E0307_UNKNOWN_CHIP, NULL, 0, "there is no chip '%s'; did you mean %s?", name,
            strbuf_text(&text));
  } else {
    diag_at(diags, DIAG_E0307_UNKNOWN_CHIP, NULL, 0, "there is no chip '%s'", name);
  }
  strbuf_release(&text);
  vec_release(&names);
}

const struct hw_chip *hw_database_find(const struct hw_database *db, const char *name, struct diag_list *diags) {
  const struct hw_chip *chip = find(db, name);
  if (chip == NULL && diags != NULL) {
    report_unknown(db, name, diags);
  }
  return chip;
}

bool hw_chip_is_a(const struct hw_chip *chip, const char *family) {
  for (const char *const *f = chip->lineage; f != NULL && *f != NULL; f++) {
    if (hw_name_equal(*f, family)) {
      return true;
    }
  }
  return false;
}

bool hw_field_is_default(const struct hw_chip *chip, const struct hw_field *field) {
  bool is_below = false;
  for (const char *const *f = chip->lineage; f != NULL && *f != NULL && chip->defaults != NULL; f++) {
    is_below = is_below || strcmp(*f, chip->defaults) == 0;
    if (is_below && field->inherited_from != NULL && strcmp(*f, field->inherited_from) == 0) {
      return true;
    }
  }
  return false;
}

static bool is_in_group(const struct hw_chip *chip, const char *group) {
  return hw_name_equal(group, "all") || hw_name_equal(group, hw_kind_name(chip->kind))
         || hw_name_equal(group, chip->vendor) || hw_chip_is_a(chip, group);
}

size_t hw_database_group(const struct hw_database *db, const char *group, const struct hw_chip **chips,
                         size_t capacity) {
  const char *name = group[0] == '@' ? group + 1 : group;
  size_t count = 0;
  if (hw_name_equal(name, "demo")) {
    for (size_t i = 0; i < sizeof demo_chips / sizeof demo_chips[0]; i++) {
      const struct hw_chip *chip = find(db, demo_chips[i]);
      if (chip != NULL && chip->missing == NULL) {
        if (count < capacity) {
          chips[count] = chip;
        }
        count++;
      }
    }
    return count;
  }
  for (size_t i = 0; i < db->chips.count; i++) {
    const struct hw_chip *chip = &db->chips.data[i];
    if (chip->missing == NULL && is_in_group(chip, name)) {
      if (count < capacity) {
        chips[count] = chip;
      }
      count++;
    }
  }
  return count;
}

const char *hw_database_near_group(const struct hw_database *db, const char *group) {
  VEC(const char *) names = {0};
  (void)vec_push(&names, "all");
  (void)vec_push(&names, "demo");
  for (int kind = 0; kind < HW_KIND_COUNT; kind++) {
    (void)vec_push(&names, hw_kind_name((enum hw_kind)kind));
  }
  for (size_t i = 0; i < db->chips.count; i++) {
    const struct hw_chip *chip = &db->chips.data[i];
    for (const char *const *f = chip->lineage; *f != NULL; f++) {
      (void)vec_push(&names, *f);
    }
  }
  char folded[64] = {0};
  const char *name = group[0] == '@' ? group + 1 : group;
  for (size_t i = 0; i + 1 < sizeof folded && name[i] != '\0'; i++) {
    folded[i] = fold(name[i]);
  }
  const char *near = nearest_name(folded, names.data, names.count);
  for (size_t i = 0; near == NULL && i < db->chips.count; i++) { /* "nvidia5": vendors are written with capitals */
    const char *vendor = db->chips.data[i].vendor;
    char lower[64] = {0};
    for (size_t k = 0; k + 1 < sizeof lower && vendor[k] != '\0'; k++) {
      lower[k] = fold(vendor[k]);
    }
    const char *one[] = {lower};
    near = nearest_name(folded, one, 1) != NULL ? vendor : NULL;
  }
  vec_release(&names);
  return near;
}

const struct hw_field *hw_field_find(const struct hw_field *fields, size_t count, const char *key) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp(fields[middle].key, key);
    if (order == 0) {
      return &fields[middle];
    }
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NULL;
}

const struct hw_field *hw_chip_field(const struct hw_chip *chip, const char *key) {
  return hw_field_find(chip->fields, chip->field_count, key);
}

bool hw_chip_number(const struct hw_chip *chip, const char *key, double *value) {
  const struct hw_field *field = hw_chip_field(chip, key);
  if (field == NULL || field->fact.value.kind != HW_VALUE_NUMBER) {
    return false;
  }
  *value = field->fact.value.number;
  return true;
}
