#!/usr/bin/env python3
"""Makes hardware/<vendor>/<chip>.yaml and hardware/families/*.yaml from the collected facts and chips_additions.py.

    python3 tools/chips_from_json.py FACTS.json [hardware]

Run once to create the files, which the project owns from then on; kept to show where every number comes from. Same
input, same output. What it does: gives every key one meaning (RENAMES), merges the additions, chooses one value where
sources disagree and keeps the others as disputed, computes model constants that follow from the facts, and moves what
all members of a family state alike into the family's file.
"""
import json
import os
import re
import sys

import chips_additions as add

RANKS = ["vendor", "benchmark", "tool", "compilation", "secondary"]
DERIVED = ("arithmetic on other fields", "derived", None)


class Fact:
    def __init__(self, value, unit, kind, source, note):
        self.value, self.unit, self.kind, self.source, self.note = value, unit, kind, source, note

    def same(self, other):
        return (self.value, self.unit, self.kind, self.source, self.note) == (
            other.value, other.unit, other.kind, other.source, other.note)

    def order(self):
        """Stated before inferred, then the rank of the source."""
        rank = RANKS.index(self.source[2]) if self.source[2] in RANKS else len(RANKS)
        return (self.kind == "inferred", rank)


class Field:
    def __init__(self, fact, disputed=(), chosen=None):
        self.fact, self.disputed, self.chosen = fact, list(disputed), chosen

    def same(self, other):
        return (self.fact.same(other.fact) and self.chosen == other.chosen and len(self.disputed) == len(other.disputed)
                and all(a.same(b) for a, b in zip(self.disputed, other.disputed)))


def lineage(owner):
    """The owner itself, its family, the family above, ..."""
    chain = [owner]
    family = add.CHIPS[owner][1] if owner in add.CHIPS else add.FAMILIES[owner][1]
    while family is not None:
        chain.append(family)
        family = add.FAMILIES[family][1]
    return chain


def clean(text):
    """Titles and notes as they are printed: without the collection's own housekeeping."""
    if text is None:
        return None
    text = re.sub(r"; (copy in [^;)]*|not (re-verified|fetched) this \w+)", "", text)
    text = text.replace("; nominal 16 TB/s per 4 chips in the brief; paper text not read, artifact only", "")
    text = text.replace(" of this entry", "").strip()
    return text or None


def source_of(record):
    if record["source_kind"] == "derived":
        return DERIVED
    return (clean(record["source"]), record["url"], record["source_kind"])


def find_source(name, titles):
    if name == "derived":
        return DERIVED
    if name.startswith("@"):
        found = sorted(s for s in titles if s[0].startswith(name[1:]))
        if not found:
            raise SystemExit(f"no collected source begins with '{name[1:]}'")
        return found[0]
    return add.SOURCES[name]


def renamed(chip, key):
    key = add.RENAME_ALL.get(key, key)
    for owner, old, new in add.RENAMES:
        if old == key and owner in lineage(chip):
            return new
    return key


def facts_of_chip(chip, records):
    """(key, Fact) in the order of the collection; dropped and index-only records left out."""
    out = []
    for r in records:
        if r["source_kind"] == "index_only":
            continue
        if any(c == chip and k == r["key"] and v in (None, r["value"]) for c, k, v, _ in add.DROPS):
            continue
        source, note = source_of(r), clean(r.get("note"))
        r = dict(r, unit=add.UNITS.get(r["unit"], r["unit"]))
        kind = r["confidence"]
        if kind == "inferred" and note is None:
            note = "a modelling choice of the source"
        if source is DERIVED:
            kind = "inferred"
        if r["key"] in add.EXPLODE and isinstance(r["value"], dict):
            for name, value in r["value"].items():
                out.append((add.EXPLODE[r["key"]].format(name), Fact(value, r["unit"], kind, source, note)))
            continue
        value = str(r["value"]) if r["unit"] == "-" and not isinstance(r["value"], (dict, list)) else r["value"]
        out.append((renamed(chip, r["key"]), Fact(value, r["unit"], kind, source, note)))
    return out


def choose(chip, key, facts):
    """One of several facts by the rule, or by an override with its reason."""
    unique = []
    for fact in facts:
        if not any(fact.same(u) for u in unique):
            unique.append(fact)
    override = next((o for o in add.OVERRIDES if o[0] == chip and o[1] == key), None)
    if override is not None:
        best = next(f for f in unique if f.value == override[2])
        reason = override[3]
    else:
        best = min(unique, key=lambda f: (f.order(), unique.index(f)))
        reason = None
    others = [f for f in unique if f is not best]
    if others and reason is None:
        second = min(others, key=lambda f: f.order())
        if best.kind != "inferred" and second.kind == "inferred":
            reason = "stated by a source rather than inferred"
        elif best.order() != second.order():
            reason = f"{best.source[2] or 'derived'} before {second.source[2] or 'derived'}"
        else:
            reason = "first of sources of equal rank"
    return Field(best, others, reason if others else None)


def collect(chip, records, titles):
    by_key = {}
    for key, fact in facts_of_chip(chip, records):
        by_key.setdefault(key, []).append(fact)
    stated = {}
    for owner, key, value, unit, kind, source, note in add.ROWS:
        if owner == chip:
            stated.setdefault(key, []).append(Fact(value, unit, kind, find_source(source, titles), note))
    fields = {key: choose(chip, key, facts) for key, facts in by_key.items() if key not in stated}
    for key, facts in stated.items():
        if any(o[0] == chip and o[1] == key for o in add.OVERRIDES):
            fields[key] = choose(chip, key, facts + by_key.get(key, []))
        elif key in by_key:
            others = [f for f in by_key[key] if not f.same(facts[0])]
            fields[key] = Field(facts[0], facts[1:] + others, facts[0].note or "replaces the collected value")
        else:
            fields[key] = Field(facts[0], facts[1:], facts[0].note if len(facts) > 1 else None)
    return fields


# ---- constants that follow from the facts ----

def number(view, key):
    field = view.get(key)
    value = field.fact.value if field is not None else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def rounded(value, digits=4):
    return float(f"{value:.{digits - 1}e}")


def inferred(value, unit, note, source=DERIVED):
    return Field(Fact(value, unit, "inferred", source, note))


def derive_efficiency(view, out):
    for achieved in ("achieved.gemm_bf16",):
        best, peak = number(view, achieved), number(view, "peak.bf16")
        if best and peak:
            f = view[achieved].fact
            out["model.matrix_efficiency"] = Field(Fact(rounded(best / peak, 3), "fraction", "measured", f.source,
                                                        f"{achieved} / peak.bf16 = {best:.4g} / {peak:.4g}"))
    read = "achieved.dram_read" if number(view, "achieved.dram_read") else "achieved.dram_init"
    if number(view, read) and number(view, "mem.bw"):
        f = view[read].fact
        share = min(1.0, number(view, read) / number(view, "mem.bw"))
        out["model.memory_efficiency"] = Field(Fact(rounded(share, 3), "fraction", f.kind, f.source,
                                                    f"{read} / mem.bw = {number(view, read):.4g} / {number(view, 'mem.bw'):.4g}"))
    if number(view, "mem.bw"):
        out["model.memory_ramp"] = inferred(rounded(number(view, "mem.bw") * 1e-6, 3), "B", add._RAMP)


def derive_gpu(chip, view, out, sources):
    clock = number(view, "clock.vector") or number(view, "clock")
    if number(view, "mem.bw") and (number(view, "l2.size") or number(view, "l3.size")) and not (
            number(view, "l2.bw_measured") or number(view, "l3.bw") or number(view, "model.cache_bw")):
        if number(view, "l2.bw_per_clk") and clock:
            out["model.cache_bw"] = inferred(rounded(number(view, "l2.bw_per_clk") * clock), "B/s", "l2.bw_per_clk x clock")
        else:
            out["model.cache_bw"] = inferred(rounded(2.5 * number(view, "mem.bw")), "B/s",
                                             "2.5 times mem.bw, as that model assumes", add.SOURCES["xla_model"])
    if number(view, "cores") and clock and not number(view, "l1.bw_total_measured") and chip.startswith("nvidia"):
        out["model.scratch_bw"] = inferred(rounded(126 * number(view, "cores") * clock), "B/s",
                                               "126 B per clock and SM, as measured on V100, A100 and H100", sources["gpu-benches"])


CYCLES_OF = {"log": ["log"], "rsqrt": ["rsqrt"], "tanh": ["tanh"], "sin": ["sin", "cos"], "divide": ["divide"],
             "power": ["power"], "erf": ["erf"], "other": ["expm1", "log1p", "cbrt", "atan2"]}
# f32 cycles for a function an architecture's table lacks: the H100 or, for erf and power, the B200 row
CYCLES_DEFAULT = {"exp": 79, "log": 166, "rsqrt": 75, "tanh": 467, "sin": 958, "cos": 978, "divide": 19, "power": 510,
                  "erf": 161, "expm1": 190, "log1p": 229, "cbrt": 178, "atan2": 431}


def derive_gpu_functions(chip, view, out):
    clock = number(view, "clock.vector") or number(view, "clock")
    cores, sfu = number(view, "cores"), number(view, "sfu_per_core_per_clk")
    if not (clock and cores and sfu):
        return
    rate = cores * sfu * clock
    table = view["cycles.hlo_op_f32"].fact.value if "cycles.hlo_op_f32" in view else {}
    exp = table.get("exp", CYCLES_DEFAULT["exp"])
    out["function.exp"] = inferred(rounded(rate), "op/s", "cores x special functions per clock x clock")
    for name, ops in CYCLES_OF.items():
        cycles = [table.get(op, CYCLES_DEFAULT[op]) for op in ops]
        mean = sum(cycles) / len(cycles)
        out["function." + name] = inferred(
            rounded(rate * min(1.0, exp / mean)), "op/s",
            f"function.exp x {exp} / {mean:.0f}, the measured cycles of exp and of this, at most function.exp",
            add.SOURCES["xla_cycles"])


def derive_tpu(view, out):
    cores, clock, lanes = number(view, "cores"), number(view, "clock"), 8 * 128
    alus = number(view, "vector.alus_per_lane")
    if not (cores and clock and alus):
        return
    vector = rounded(cores * lanes * alus * clock)
    out["peak.f32_vector"] = inferred(vector, "FLOP/s", f"cores x 8 x 128 lanes x {alus} ALUs x clock, one operation each")
    out["peak.int32_vector"] = inferred(vector, "OP/s", "as f32: the ALUs of a lane take 32-bit integers too")
    out["peak.int64_vector"] = inferred(rounded(vector / 4), "OP/s", "emulated by pairs of 32-bit integers")
    out["peak.f64_vector"] = inferred(rounded(vector / 20), "FLOP/s", "emulated by pairs of f32, about 20 operations each")
    eup = rounded(cores * lanes * clock)
    for name in ("exp", "log", "rsqrt", "tanh", "divide"):
        out["function." + name] = inferred(eup, "op/s", "the transcendental unit takes one 8 x 128 register per clock and core; "
                                           "division is a reciprocal there and a product")
    for name in ("sin", "power", "erf", "other"):
        out["function." + name] = inferred(rounded(vector / 24), "op/s", "a polynomial of about 24 vector operations")
    vmem = number(view, "smem_per_core")
    if vmem:
        out["model.cache_size"] = inferred(int(cores * vmem), "B", "VMEM of all cores; on v4 the CMEM between VMEM and HBM is left out")
        if not number(view, "model.cache_bw"):
            out["model.cache_bw"] = inferred(rounded(22 * number(view, "mem.bw")), "B/s",
                                             "VMEM is \"about 22x HBM\", the only published figure")


def derive_neuron(view, out):
    cores = number(view, "cores")
    per_core = view["peak.per_core"].fact
    vector = rounded(per_core.value["vector_f32"] * cores)
    out["peak.f32_vector"] = Field(Fact(vector, "FLOP/s", "datasheet", per_core.source, "vector_f32 of peak.per_core x cores"))
    rate = rounded(128 * number(view, "clock.scalar") * cores)
    for name in ["exp"] + list(CYCLES_OF):
        out["function." + name] = inferred(rate, "op/s", "128 lanes of the scalar engine, one function each per clock")
    if "sfu.note" in view:
        out["function.exp"] = inferred(rounded(4 * rate), "op/s", "sfu.note: the vector engine's fast exp at four times the scalar engine")
    out["model.cache_size"] = inferred(int(number(view, "smem_per_core") * cores), "B", "SBUF of all cores")
    out["model.cache_bw"] = inferred(rounded(max(128 * 4 * 4 * number(view, "clock.matrix") / 2 * cores, 4 * number(view, "mem.bw"))), "B/s",
                                     "128 partitions x 4 B x 4 engines x half the matrix clock x cores, at least 4 times mem.bw; not published")


def derive_other(chip, view, out):
    if chip.startswith("apple") and number(view, "cores"):
        clock = number(view, "clock")
        peak = number(view, "peak.f32_vector")
        if not clock and peak:
            clock = rounded(peak / (number(view, "cores") * 256))
            out["clock"] = inferred(clock, "Hz", "peak.f32_vector / (cores x 256 FLOP per clock)")
        if peak:
            out["peak.f16_vector"] = inferred(peak, "FLOP/s", "the f32 rate: the lanes of this GPU take both")
        if clock:
            rate = rounded(number(view, "cores") * 32 * clock)
            out["function.exp"] = inferred(rate, "op/s", "cores x 32 exp2 per clock x clock")
            out["function.rsqrt"] = inferred(rounded(rate / 2), "op/s", "cores x 16 rsqrt per clock x clock")
    if number(view, "mem.bw") and number(view, "smem_total") and not number(view, "l2.size") and chip.startswith("intel_gaudi"):
        out["model.cache_size"] = inferred(int(number(view, "smem_total")), "B", "the SRAM shared by all engines")
        out["model.cache_bw"] = inferred(rounded(5 * number(view, "mem.bw")), "B/s", "not published; between the 2.5 of a GPU's L2 and the 22 of a TPU's VMEM")
    if "server_cpu" in lineage(chip) and number(view, "mem.bw") and number(view, "l3.size"):
        out["model.cache_bw"] = inferred(rounded(2.5 * number(view, "mem.bw")), "B/s", "not measured; the ratio XLA assumes for a GPU's L2")


def derive(chip, view, sources):
    out = {}
    derive_efficiency(view, out)
    chain = lineage(chip)
    if any(f in chain for f in ("nvidia_gpu", "amd_instinct", "intel_xe2")):
        derive_gpu(chip, view, out, sources)
        derive_gpu_functions(chip, view, out)
        if "nvidia_hopper" in chain and number(view, "peak.f32_vector"):
            for t in ("f16", "bf16"):
                out[f"peak.{t}_vector"] = inferred(2 * number(view, "peak.f32_vector"), "FLOP/s",
                                                   "128 lanes take two per clock", sources["XLA GpuTargetConfig h100"])
            out["peak.int32_vector"] = inferred(rounded(number(view, "peak.f32_vector") / 2), "OP/s",
                                                "64 lanes per SM against 128 for f32", sources["XLA GpuTargetConfig h100"])
    elif "google_tpu" in chain:
        derive_tpu(view, out)
    elif "aws_neuron" in chain:
        derive_neuron(view, out)
    derive_other(chip, view, out)
    return out


# ---- YAML ----

def scalar(value, unit=None):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return number_text(value, unit)
    return text(value)


def number_text(value, unit=None):
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e18:
        value = int(value)
    if isinstance(value, int):
        plain = str(value)
        if unit in ("B", "32-bit reg") or abs(value) < 100000:
            return plain
        mantissa = plain.rstrip("0")
        exponent = len(plain) - 1
        sci = mantissa[0] + ("." + mantissa[1:] if len(mantissa) > 1 else "") + f"e{exponent}"
        return sci if len(sci) < len(plain) else plain
    return repr(value).replace("e-0", "e-").replace("e+", "e")


WORD = re.compile(r"^[A-Za-z][A-Za-z0-9_.+/ -]*$")


def text(value):
    value = str(value)
    if WORD.match(value) and not value.endswith(" ") and value.lower() not in ("true", "false", "null", "yes", "no", "nan", "inf"):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def flow(value, unit=None):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{text(k)}: {flow(v, unit)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(v, unit) for v in value) + "]"
    return scalar(value, unit)


class Writer:
    def __init__(self):
        self.sources = {}

    def key_of(self, source):
        if source is DERIVED:
            return "derived"
        if source not in self.sources:
            words = re.findall(r"[a-z0-9]+", re.sub(r"\(.*?\)", "", source[0]).lower().replace("txtpb", ""))
            base = "_".join(words[:3])[:32].strip("_")
            name, n = base, 2
            while name in self.sources.values():
                name, n = f"{base}_{n}", n + 1
            self.sources[source] = name
        return self.sources[source]

    def fact(self, f, unit, chosen=None):
        parts = [f"value: {flow(f.value, f.unit)}"]
        if unit:
            parts.append(f"unit: {text(f.unit)}")
        parts += [f"kind: {f.kind}", f"source: {self.key_of(f.source)}"]
        if f.note:
            parts.append(f"note: {text(f.note)}")
        return ", ".join(parts)

    def fields(self, fields):
        lines = []
        for key in sorted(fields):
            field = fields[key]
            line = f"  {key}: {{" + self.fact(field.fact, True)
            if field.chosen:
                line += f",\n    chosen: {text(field.chosen)}"
            if field.disputed:
                rows = [f"      {{{self.fact(d, False)}}}" for d in field.disputed]
                line += ",\n    disputed: [\n" + ",\n".join(rows) + "]"
            lines.append(line + "}")
        return lines

    def document(self, head, fields):
        body = self.fields(fields)
        lines = [f"{k}: {flow(v) if isinstance(v, list) else text(v)}" for k, v in head if v]
        if self.sources:
            lines.append("sources:")
            for (title, url, rank), name in sorted(self.sources.items(), key=lambda s: s[1]):
                rank = f", rank: {rank}" if rank in RANKS else ""
                lines.append(f"  {name}: {{title: {text(title)}, url: {text(url)}{rank}}}")
        lines.append("fields:" if body else "fields: {}")
        return "\n".join(lines + body) + "\n"


def hoist(members, own):
    """Moves fields that every member states alike out of the members; returns them."""
    shared = {}
    for key in set.intersection(*(set(own[m]) for m in members)):
        first = own[members[0]][key]
        if all(first.same(own[m][key]) for m in members[1:]):
            shared[key] = first
    for m in members:
        for key in shared:
            del own[m][key]
    return shared


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as out:
        out.write(content)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        chips = {c["id"]: c for c in json.load(f)["chips"]}
    directory = sys.argv[2] if len(sys.argv) > 2 else "hardware"
    titles = {source_of(r) for c in chips.values() for r in c["fields"] if r["source_kind"] not in ("derived", "index_only")}
    sources = {name: find_source("@" + name, titles) for name in ("gpu-benches", "XLA GpuTargetConfig h100")}
    for chip, (name, vendor, kind) in add.NEW_CHIPS.items():
        chips[chip] = {"id": chip, "name": name, "vendor": vendor, "kind": kind, "fields": []}
    missing = set(chips) ^ set(add.CHIPS)
    if missing:
        raise SystemExit(f"chips without a row, or rows without a chip: {sorted(missing)}")

    family_fields = {f: collect_family(f, titles) for f in add.FAMILIES}
    own = {}
    for chip, record in chips.items():
        fields = collect(chip, record["fields"], titles)
        view = dict(fields)
        for family in lineage(chip)[1:]:
            for key, field in family_fields[family].items():
                view.setdefault(key, field)
        for key, field in derive(chip, view, sources).items():
            fields.setdefault(key, field)
        own[chip] = fields
    for family in add.FAMILIES:
        members = [c for c in add.CHIPS if add.CHIPS[c][1] == family]
        if len(members) > 1:
            for key, field in hoist(members, own).items():
                family_fields[family][key] = field

    for family, (name, parent) in add.FAMILIES.items():
        head = [("id", family), ("name", name), ("inherit", parent)]
        write(f"{directory}/families/{family}.yaml", Writer().document(head, family_fields[family]))
    for chip, record in chips.items():
        folder, family, aliases = add.CHIPS[chip]
        kind = add.KINDS.get(record["kind"], record["kind"])
        head = [("id", chip), ("name", record["name"]), ("vendor", record["vendor"]), ("kind", kind), ("inherit", family),
                ("aliases", aliases)]
        write(f"{directory}/{folder}/{chip}.yaml", Writer().document(head, own[chip]))
    print(f"{len(chips)} chips, {len(add.FAMILIES)} families")


def collect_family(family, titles):
    fields = {}
    for owner, key, value, unit, kind, source, note in add.ROWS:
        if owner == family:
            fields[key] = Field(Fact(value, unit, kind, find_source(source, titles), note))
    return fields


if __name__ == "__main__":
    main()
