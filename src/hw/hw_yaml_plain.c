/* The YAML that chip files are mostly written in, read without libyaml, several times as fast: block maps and lists, flow
 * maps and lists, scalars on one line without escapes, comments, ASCII. Whatever else a text holds, or whatever is doubtful
 * in it, makes this reader give up, and hw_yaml.c reads the text as a whole; so messages are always libyaml's, and a tree
 * from here is the one that libyaml gives (tests/unit/test_hw_yaml_plain.c compares them). */
#include <string.h>

#include "hw/hw_yaml.h"

struct plain_reader {
  struct arena *arena;
  const char *text; /* NUL-terminated */
  size_t length, at;
  size_t node_count;
};

enum { KEY_MAX = 128, END_OF_TEXT = -1 };

static bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_flow_character(char c) {
  return c == ',' || c == '[' || c == ']' || c == '{' || c == '}';
}

static bool is_printable_ascii(const struct source *source) {
  for (size_t i = 0; i < source->length; i++) {
    char c = source->text[i];
    if ((c < ' ' || c > '~') && c != '\n') {
      return false;
    }
  }
  return true;
}

static struct hw_node *new_node(struct plain_reader *r, enum hw_node_kind kind, unsigned depth) {
  if (depth > HW_YAML_MAX_DEPTH || ++r->node_count > HW_YAML_MAX_NODES) {
    return NULL;
  }
  struct hw_node *node = arena_calloc(r->arena, 1, sizeof *node);
  if (node != NULL) {
    node->kind = kind;
    node->offset = r->at;
  }
  return node;
}

/* ---- scalars ---- */

static struct hw_node *scalar_node(struct plain_reader *r, size_t first, size_t end, bool is_plain, unsigned depth) {
  struct hw_node *node = new_node(r, HW_NODE_SCALAR, depth);
  if (node != NULL) {
    node->is_plain = is_plain;
    node->text = arena_strndup(r->arena, r->text + first, end - first);
  }
  return node != NULL && node->text != NULL ? node : NULL;
}

static struct hw_node *read_quoted(struct plain_reader *r, unsigned depth) {
  char quote = r->text[r->at];
  size_t end = r->at + 1;
  while (end < r->length && r->text[end] != quote) {
    if (r->text[end] == '\n' || (quote == '"' && r->text[end] == '\\')) {
      return NULL;
    }
    end++;
  }
  if (end >= r->length || r->text[end + 1] == quote) { /* '' is an escape */
    return NULL;
  }
  struct hw_node *node = scalar_node(r, r->at + 1, end, false, depth);
  r->at = end + 1;
  return node;
}

static struct hw_node *read_plain(struct plain_reader *r, bool in_flow, unsigned depth) {
  const char *t = r->text;
  char first = t[r->at];
  bool may_begin = is_word_character(first) || (first != '\0' && strchr("./+(<~$^=;", first) != NULL)
                   || (first == '-' && (is_word_character(t[r->at + 1]) || t[r->at + 1] == '.'));
  if (!may_begin) {
    return NULL;
  }
  size_t end = r->at;
  for (; end < r->length && t[end] != '\n'; end++) {
    char c = t[end];
    if (c == '#') {
      if (t[end - 1] != ' ' || in_flow) {
        return NULL;
      }
      break;
    }
    if (in_flow && is_flow_character(c)) {
      break;
    }
    bool ends_word = t[end + 1] == ' ' || t[end + 1] == '\n' || end + 1 >= r->length;
    if ((c == ':' && (in_flow || ends_word)) || (c == '?' && in_flow)) {
      return NULL;
    }
  }
  if (in_flow && (end >= r->length || t[end] == '\n')) {
    return NULL; /* may go on in the next line */
  }
  size_t stop = end;
  while (t[stop - 1] == ' ') {
    stop--;
  }
  struct hw_node *node = scalar_node(r, r->at, stop, true, depth);
  r->at = stop;
  return node;
}

/* ---- keys ---- */

/* Length of the key at the place, which ':' and a blank follow; 0 when there is none. */
static size_t key_length(const struct plain_reader *r) {
  const char *key = r->text + r->at;
  size_t length = 0;
  if (!is_word_character(key[0])) {
    return 0;
  }
  while (is_word_character(key[length]) || key[length] == '.' || key[length] == '-' || key[length] == '/') {
    length++;
  }
  bool is_key = length <= KEY_MAX && key[length] == ':'
                && (key[length + 1] == ' ' || key[length + 1] == '\n' || key[length + 1] == '\0');
  return is_key ? length : 0;
}

/* The key of the next entry of `map`, which it may not have yet; moves behind the ':'. */
static const char *read_key(struct plain_reader *r, const struct hw_node *map) {
  size_t length = key_length(r);
  const char *key = length > 0 ? arena_strndup(r->arena, r->text + r->at, length) : NULL;
  if (key == NULL || hw_node_child(map, key) != NULL) {
    return NULL;
  }
  r->at += length + 1;
  return key;
}

/* ---- flow collections ---- */

static struct hw_node *read_value(struct plain_reader *r, bool in_flow, unsigned depth);

/* Blanks and line ends between the parts of a flow collection. */
static bool skip_in_flow(struct plain_reader *r) {
  while (r->text[r->at] == ' ' || r->text[r->at] == '\n') {
    bool is_line_end = r->text[r->at++] == '\n';
    if (is_line_end && r->text[r->at] != ' ') {
      return false; /* column 0: might be the mark of a document */
    }
  }
  return r->text[r->at] != '#';
}

/* Behind an entry: ',' goes on, `closing` ends. */
static bool next_in_flow(struct plain_reader *r, char closing, bool *is_end) {
  if (!skip_in_flow(r)) {
    return false;
  }
  char c = r->text[r->at];
  *is_end = c == closing;
  if (c != closing && c != ',') {
    return false;
  }
  r->at++;
  return *is_end || (skip_in_flow(r) && r->text[r->at] != closing);
}

static struct hw_node *read_flow(struct plain_reader *r, unsigned depth) {
  bool is_map = r->text[r->at] == '{';
  char closing = is_map ? '}' : ']';
  struct hw_node *node = new_node(r, is_map ? HW_NODE_MAP : HW_NODE_LIST, depth);
  if (node == NULL) {
    return NULL;
  }
  r->at++;
  if (!skip_in_flow(r)) {
    return NULL;
  }
  bool is_end = r->text[r->at] == closing;
  r->at += is_end;
  struct hw_node **tail = &node->first;
  while (!is_end) {
    size_t key_offset = r->at;
    const char *key = is_map ? read_key(r, node) : NULL;
    if (is_map && (key == NULL || r->text[r->at] != ' ' || !skip_in_flow(r))) {
      return NULL;
    }
    struct hw_node *child = read_value(r, true, depth + 1);
    if (child == NULL || !next_in_flow(r, closing, &is_end)) {
      return NULL;
    }
    child->key = key;
    child->key_offset = is_map ? key_offset : 0;
    *tail = child;
    tail = &child->next;
  }
  return node;
}

static struct hw_node *read_value(struct plain_reader *r, bool in_flow, unsigned depth) {
  switch (r->text[r->at]) {
  case '{':
  case '[':
    return depth <= HW_YAML_MAX_DEPTH ? read_flow(r, depth) : NULL;
  case '"':
  case '\'':
    return read_quoted(r, depth);
  default:
    return read_plain(r, in_flow, depth);
  }
}

/* ---- block collections ---- */

/* From the start of a line to the next content: its column, or END_OF_TEXT. Comments and empty lines are skipped. */
static int next_content(struct plain_reader *r) {
  for (;;) {
    size_t line = r->at;
    while (r->text[r->at] == ' ') {
      r->at++;
    }
    if (r->at >= r->length) {
      return END_OF_TEXT;
    }
    if (r->text[r->at] != '\n' && r->text[r->at] != '#') {
      return (int)(r->at - line);
    }
    while (r->at < r->length && r->text[r->at] != '\n') {
      r->at++;
    }
    r->at += r->at < r->length;
  }
}

/* Blanks, a comment and the line end behind a value or ':'. */
static bool finish_line(struct plain_reader *r) {
  size_t first = r->at;
  while (r->text[r->at] == ' ') {
    r->at++;
  }
  if (r->text[r->at] == '#' && r->at > first) {
    while (r->at < r->length && r->text[r->at] != '\n') {
      r->at++;
    }
  }
  if (r->at < r->length && r->text[r->at] != '\n') {
    return false;
  }
  r->at += r->at < r->length;
  return true;
}

static struct hw_node *read_block(struct plain_reader *r, int column, unsigned depth, int *next_column);

static bool is_item(const struct plain_reader *r) {
  return r->text[r->at] == '-' && r->text[r->at + 1] == ' ';
}

/* A value on the line it begins on, and the end of that line. */
static struct hw_node *read_inline(struct plain_reader *r, unsigned depth, int *next_column) {
  struct hw_node *node = read_value(r, false, depth);
  if (node == NULL || !finish_line(r)) {
    return NULL;
  }
  *next_column = next_content(r);
  return node;
}

static struct hw_node *read_entry_value(struct plain_reader *r, int column, unsigned depth, int *next_column) {
  size_t behind_colon = r->at;
  if (finish_line(r)) {
    int inner = next_content(r);
    return inner > column ? read_block(r, inner, depth, next_column) : NULL;
  }
  r->at = behind_colon;
  while (r->text[r->at] == ' ') {
    r->at++;
  }
  return read_inline(r, depth, next_column);
}

static struct hw_node *read_block_map(struct plain_reader *r, int column, unsigned depth, int *next_column) {
  struct hw_node *node = new_node(r, HW_NODE_MAP, depth);
  struct hw_node **tail = node != NULL ? &node->first : NULL;
  *next_column = column;
  while (node != NULL && *next_column == column) {
    size_t key_offset = r->at;
    const char *key = read_key(r, node);
    struct hw_node *child = key != NULL ? read_entry_value(r, column, depth + 1, next_column) : NULL;
    if (child == NULL) {
      return NULL;
    }
    child->key = key;
    child->key_offset = key_offset;
    *tail = child;
    tail = &child->next;
  }
  return *next_column < column ? node : NULL;
}

static struct hw_node *read_block_list(struct plain_reader *r, int column, unsigned depth, int *next_column) {
  struct hw_node *node = new_node(r, HW_NODE_LIST, depth);
  struct hw_node **tail = node != NULL ? &node->first : NULL;
  *next_column = column;
  while (node != NULL && *next_column == column) {
    if (!is_item(r)) {
      return NULL;
    }
    int inner = column;
    do {
      r->at++;
      inner++;
    } while (r->text[r->at] == ' ');
    struct hw_node *child =
        key_length(r) > 0 ? read_block(r, inner, depth + 1, next_column) : read_inline(r, depth + 1, next_column);
    if (child == NULL) {
      return NULL;
    }
    *tail = child;
    tail = &child->next;
  }
  return *next_column < column ? node : NULL;
}

/* The collection that begins at the place, in `column`; *next_column is that of what follows it. */
static struct hw_node *read_block(struct plain_reader *r, int column, unsigned depth, int *next_column) {
  if (depth > HW_YAML_MAX_DEPTH) {
    return NULL;
  }
  return is_item(r) ? read_block_list(r, column, depth, next_column) : read_block_map(r, column, depth, next_column);
}

bool hw_yaml_read_plain(struct arena *arena, const struct source *source, const struct hw_node **root) {
  struct plain_reader r = {.arena = arena, .text = source->text, .length = source->length};
  *root = NULL;
  if (!is_printable_ascii(source)) {
    return false;
  }
  int next_column = END_OF_TEXT;
  if (next_content(&r) != 0) {
    return false;
  }
  const struct hw_node *node = read_block(&r, 0, 0, &next_column);
  if (node == NULL || next_column != END_OF_TEXT) {
    return false;
  }
  *root = node;
  return true;
}
