/* Reading a chip file, first step: the fast reader of hw_yaml_plain.c, or libyaml events to a tree with places. */
#include "hw/hw_yaml.h"

#include <string.h>
#include <yaml.h>

struct reader {
  yaml_parser_t parser;
  struct arena *arena;
  const struct source *source;
  struct diag_list *diags;
  size_t node_count;
  /* libyaml counts characters; marks come in order, so the byte offset is found by walking on from the last one */
  size_t characters;
  size_t bytes;
};

static size_t offset_of(struct reader *r, size_t character) {
  if (character < r->characters) {
    r->characters = 0;
    r->bytes = 0;
  }
  while (r->characters < character && r->bytes < r->source->length) {
    r->bytes++;
    while (r->bytes < r->source->length && ((unsigned char)r->source->text[r->bytes] & 0xC0) == 0x80) {
      r->bytes++;
    }
    r->characters++;
  }
  return r->bytes;
}

static enum status parser_failure(struct reader *r) {
  const yaml_parser_t *p = &r->parser;
  if (p->error == YAML_MEMORY_ERROR) {
    diag_at(r->diags, DIAG_E0007_MEMORY, NULL, 0, "out of memory while reading '%s'", r->source->name);
    return STATUS_MEMORY;
  }
  size_t offset = p->error == YAML_READER_ERROR ? p->problem_offset : offset_of(r, p->problem_mark.index);
  const char *problem = p->problem != NULL ? p->problem : "the text is not YAML";
  if (p->context != NULL) {
    diag_at(r->diags, DIAG_E0301_YAML, r->source, offset, "%s (%s)", problem, p->context);
  } else {
    diag_at(r->diags, DIAG_E0301_YAML, r->source, offset, "%s", problem);
  }
  return STATUS_INPUT;
}

static enum status next_event(struct reader *r, yaml_event_t *event) {
  return yaml_parser_parse(&r->parser, event) ? STATUS_OK : parser_failure(r);
}

static const char *anchor_or_tag(const yaml_event_t *event) {
  switch (event->type) {
  case YAML_ALIAS_EVENT:
    return "aliases are not read in chip files";
  case YAML_SCALAR_EVENT:
    return event->data.scalar.anchor != NULL ? "anchors are not read in chip files"
           : event->data.scalar.tag != NULL  ? "tags are not read in chip files"
                                             : NULL;
  case YAML_SEQUENCE_START_EVENT:
    return event->data.sequence_start.anchor != NULL ? "anchors are not read in chip files"
           : event->data.sequence_start.tag != NULL  ? "tags are not read in chip files"
                                                     : NULL;
  case YAML_MAPPING_START_EVENT:
    return event->data.mapping_start.anchor != NULL ? "anchors are not read in chip files"
           : event->data.mapping_start.tag != NULL  ? "tags are not read in chip files"
                                                    : NULL;
  default:
    return NULL;
  }
}

static enum status out_of_memory(struct reader *r) {
  diag_at(r->diags, DIAG_E0007_MEMORY, NULL, 0, "out of memory while reading '%s'", r->source->name);
  return STATUS_MEMORY;
}

static enum status read_node(struct reader *r, const yaml_event_t *event, unsigned depth, struct hw_node **out);

static enum status read_list(struct reader *r, unsigned depth, struct hw_node *list) {
  struct hw_node **tail = &list->first;
  for (;;) {
    yaml_event_t event;
    STATUS_TRY(next_event(r, &event));
    enum status status = STATUS_OK;
    bool is_end = event.type == YAML_SEQUENCE_END_EVENT;
    if (!is_end) {
      status = read_node(r, &event, depth + 1, tail);
      tail = status == STATUS_OK ? &(*tail)->next : tail;
    }
    yaml_event_delete(&event);
    if (is_end || status != STATUS_OK) {
      return status;
    }
  }
}

/* Reads the value of one key; `key_event` is the key's event. */
static enum status read_pair(struct reader *r, const yaml_event_t *key_event, unsigned depth, struct hw_node *map,
                             struct hw_node **out) {
  size_t offset = offset_of(r, key_event->start_mark.index);
  const char *refusal = anchor_or_tag(key_event);
  if (refusal != NULL || key_event->type != YAML_SCALAR_EVENT) {
    diag_at(r->diags, DIAG_E0301_YAML, r->source, offset, "%s", refusal != NULL ? refusal : "a key must be a word");
    return STATUS_INPUT;
  }
  const char *key = arena_strndup(r->arena, (const char *)key_event->data.scalar.value, key_event->data.scalar.length);
  if (key == NULL) {
    return out_of_memory(r);
  }
  if (hw_node_child(map, key) != NULL) {
    diag_at(r->diags, DIAG_E0302_FIELD, r->source, offset, "'%s' is given twice", key);
    return STATUS_INPUT;
  }
  yaml_event_t event;
  STATUS_TRY(next_event(r, &event));
  enum status status = read_node(r, &event, depth + 1, out);
  yaml_event_delete(&event);
  if (status == STATUS_OK) {
    (*out)->key = key;
    (*out)->key_offset = offset;
  }
  return status;
}

static enum status read_map(struct reader *r, unsigned depth, struct hw_node *map) {
  struct hw_node **tail = &map->first;
  for (;;) {
    yaml_event_t event;
    STATUS_TRY(next_event(r, &event));
    enum status status = STATUS_OK;
    bool is_end = event.type == YAML_MAPPING_END_EVENT;
    if (!is_end) {
      struct hw_node *child = NULL;
      status = read_pair(r, &event, depth, map, &child);
      if (status == STATUS_OK) {
        *tail = child;
        tail = &child->next;
      }
    }
    yaml_event_delete(&event);
    if (is_end || status != STATUS_OK) {
      return status;
    }
  }
}

static enum status read_node(struct reader *r, const yaml_event_t *event, unsigned depth, struct hw_node **out) {
  size_t offset = offset_of(r, event->start_mark.index);
  const char *refusal = anchor_or_tag(event);
  if (refusal != NULL) {
    diag_at(r->diags, DIAG_E0301_YAML, r->source, offset, "%s", refusal);
    return STATUS_INPUT;
  }
  if (depth > HW_YAML_MAX_DEPTH || ++r->node_count > HW_YAML_MAX_NODES) {
    diag_at(r->diags, DIAG_E0005_LIMIT, r->source, offset,
            "a chip file may not be nested deeper than %d or have more than %d values", HW_YAML_MAX_DEPTH,
            HW_YAML_MAX_NODES);
    return STATUS_LIMIT;
  }
  struct hw_node *node = arena_calloc(r->arena, 1, sizeof *node);
  if (node == NULL) {
    return out_of_memory(r);
  }
  *out = node;
  node->offset = offset;
  switch (event->type) {
  case YAML_SCALAR_EVENT:
    node->kind = HW_NODE_SCALAR;
    node->is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->text = arena_strndup(r->arena, (const char *)event->data.scalar.value, event->data.scalar.length);
    return node->text != NULL ? STATUS_OK : out_of_memory(r);
  case YAML_SEQUENCE_START_EVENT:
    node->kind = HW_NODE_LIST;
    return read_list(r, depth, node);
  case YAML_MAPPING_START_EVENT:
    node->kind = HW_NODE_MAP;
    return read_map(r, depth, node);
  default:
    diag_at(r->diags, DIAG_E0301_YAML, r->source, offset, "a value is expected here");
    return STATUS_INPUT;
  }
}

/* stream-start, document-start, the document, document-end, stream-end */
static enum status read_stream(struct reader *r, struct hw_node **root) {
  for (;;) {
    yaml_event_t event;
    STATUS_TRY(next_event(r, &event));
    yaml_event_type_t type = event.type;
    enum status status = STATUS_OK;
    if (type == YAML_DOCUMENT_START_EVENT && *root != NULL) {
      diag_at(r->diags, DIAG_E0301_YAML, r->source, offset_of(r, event.start_mark.index),
              "a chip file holds one document");
      status = STATUS_INPUT;
    } else if (type != YAML_STREAM_START_EVENT && type != YAML_STREAM_END_EVENT && type != YAML_DOCUMENT_START_EVENT
               && type != YAML_DOCUMENT_END_EVENT) {
      status = read_node(r, &event, 0, root);
    }
    yaml_event_delete(&event);
    if (status != STATUS_OK || type == YAML_STREAM_END_EVENT) {
      return status;
    }
  }
}

enum status hw_yaml_read_general(struct arena *arena, const struct source *source, struct diag_list *diags,
                                 const struct hw_node **root) {
  *root = NULL;
  if (source->length > HW_YAML_MAX_BYTES) {
    diag_at(diags, DIAG_E0005_LIMIT, source, 0, "'%s' has more than %d bytes", source->name, HW_YAML_MAX_BYTES);
    return STATUS_LIMIT;
  }
  if (source->length > 0 && source->text[0] == '<') {
    diag_at(diags, DIAG_E0003_FORMAT, source, 0, "'%s' begins like an HTML or XML page, not like a chip file",
            source->name);
    return STATUS_INPUT;
  }
  struct reader r = {.arena = arena, .source = source, .diags = diags};
  if (!yaml_parser_initialize(&r.parser)) {
    return out_of_memory(&r);
  }
  yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&r.parser, (const unsigned char *)source->text, source->length);
  struct hw_node *node = NULL;
  enum status status = read_stream(&r, &node);
  yaml_parser_delete(&r.parser);
  if (status == STATUS_OK && node == NULL) {
    diag_at(diags, DIAG_E0002_EMPTY, source, 0, "'%s' is empty", source->name);
    status = STATUS_INPUT;
  }
  *root = status == STATUS_OK ? node : NULL;
  return status;
}

enum status hw_yaml_read(struct arena *arena, const struct source *source, struct diag_list *diags,
                         const struct hw_node **root) {
  if (source->length <= HW_YAML_MAX_BYTES && hw_yaml_read_plain(arena, source, root)) {
    return STATUS_OK;
  }
  return hw_yaml_read_general(arena, source, diags, root);
}

const struct hw_node *hw_node_child(const struct hw_node *map, const char *key) {
  for (const struct hw_node *child = map->first; child != NULL; child = child->next) {
    if (child->key != NULL && child->key[0] == key[0] && strcmp(child->key, key) == 0) {
      return child;
    }
  }
  return NULL;
}
