/* The tables of a profile. A file whose tables differ from these is no profile of this version: what is read later can
 * rely on columns, types and constraints. docs/profiles.md explains the columns. */
#include "store/store_internal.h"

#define ROW_COLUMNS                                                                                                    \
  "  shape TEXT NOT NULL CHECK (json_valid(shape)),\n"                                                                 \
  "  variant TEXT NOT NULL,\n"                                                                                         \
  "  split TEXT NOT NULL CHECK (split IN ('train', 'test', 'folds')),\n"                                               \
  "  latency_s REAL NOT NULL CHECK (latency_s > 0 AND latency_s < 1e9),\n"                                             \
  "  spread_s REAL CHECK (spread_s >= 0)\n"

const struct store_table store_tables[] = {
    {"source", "CREATE TABLE source (\n"
               "  id INTEGER PRIMARY KEY,\n"
               "  name TEXT NOT NULL UNIQUE CHECK (name <> ''),\n"
               "  title TEXT NOT NULL,\n"
               "  url TEXT NOT NULL,\n"
               "  licence TEXT NOT NULL,\n"
               "  may_fit INTEGER NOT NULL CHECK (may_fit IN (0, 1))\n"
               ") STRICT"},
    {"operator", "CREATE TABLE operator (\n"
                 "  id INTEGER PRIMARY KEY,\n"
                 "  source INTEGER NOT NULL REFERENCES source (id),\n"
                 "  device TEXT NOT NULL CHECK (device <> ''),\n"
                 "  software TEXT NOT NULL,\n"
                 "  op TEXT NOT NULL CHECK (op <> ''),\n"
                 "  format TEXT NOT NULL CHECK (format <> ''),\n" ROW_COLUMNS ") STRICT"},
    {"program", "CREATE TABLE program (\n"
                "  id INTEGER PRIMARY KEY,\n"
                "  source INTEGER NOT NULL REFERENCES source (id),\n"
                "  device TEXT NOT NULL CHECK (device <> ''),\n"
                "  software TEXT NOT NULL,\n"
                "  program TEXT NOT NULL CHECK (program <> ''),\n"
                "  format TEXT NOT NULL,\n"
                "  devices INTEGER NOT NULL CHECK (devices BETWEEN 1 AND 4294967295),\n" ROW_COLUMNS ") STRICT"},
};
const unsigned store_table_count = sizeof store_tables / sizeof store_tables[0];
