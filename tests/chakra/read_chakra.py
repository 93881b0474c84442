#!/usr/bin/env python3
"""Reads Chakra execution traces with a decoder of its own and checks them against the schema and, for programs of explicit
collectives, against the StableHLO text. It shares nothing with the tool but the published schema (et_def.proto).

Usage: read_chakra.py DIR [PROGRAM.mlir [TIMES]]     exit 0 = every check holds; what does not is printed
TIMES: how often the program's exchanges are executed, of a program that is one loop
"""
import collections
import json
import pathlib
import re
import struct
import sys

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
COMP, SEND, RECV, COLL = 4, 5, 6, 7
NODE_TYPES = {COMP, SEND, RECV, COLL}
ALL_REDUCE, ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER = 0, 2, 6, 7
COLLECTIVES = {"all_reduce": ALL_REDUCE, "all_gather": ALL_GATHER, "all_to_all": ALL_TO_ALL,
               "reduce_scatter": REDUCE_SCATTER}
REDUCTIONS = {REDUCE_SCATTER: ALL_REDUCE}
# AttributeProto: number of the value's field -> (wire type, kind)
ATTRIBUTE = {3: (FIXED64, "double"), 5: (FIXED32, "float"), 7: (VARINT, "int32"), 9: (VARINT, "int64"),
             11: (VARINT, "uint32"), 13: (VARINT, "uint64"), 27: (VARINT, "bool"), 29: (BYTES, "string"),
             31: (BYTES, "bytes")}
# types that the feeder takes the attributes in
ATTRIBUTE_TYPES = {"is_cpu_op": "bool", "num_ops": "int64", "tensor_size": "uint64", "comm_type": "int64",
                   "comm_size": "int64", "comm_src": "int32", "comm_dst": "int32", "comm_tag": "int32",
                   "pg_name": "string"}


class Damaged(Exception):
    pass


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Damaged(f"varint at byte {at}")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = varint(data, at)
        elif wire == BYTES:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        elif wire == FIXED64:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif wire == FIXED32:
            value, at = struct.unpack_from("<I", data, at)[0], at + 4
        else:
            raise Damaged(f"wire type {wire} of field {number}")
        if at > len(data):
            raise Damaged(f"field {number} is longer than its message")
        yield number, wire, value


def messages(data):
    """The messages of a file, each behind its length."""
    at = 0
    while at < len(data):
        length, at = varint(data, at)
        if length == 0 or at + length > len(data):
            raise Damaged(f"message of {length} bytes at byte {at} of {len(data)}")
        yield data[at:at + length]
        at += length


def attribute(data):
    name = kind = value = None
    for number, wire, content in fields(data):
        if number == 1:
            name = content.decode()
        elif number in ATTRIBUTE and ATTRIBUTE[number][0] == wire:
            kind, value = ATTRIBUTE[number][1], content.decode() if ATTRIBUTE[number][1] == "string" else content
        else:
            raise Damaged(f"attribute {name}: field {number} of wire type {wire}")
    if name is None or kind is None:
        raise Damaged(f"attribute {name} without a value")
    return name, kind, value


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


class Node:
    def __init__(self, data):
        self.id = self.type = 0
        self.name, self.control, self.data, self.duration_us, self.attributes = "", [], [], 0, {}
        for number, wire, value in fields(data):
            if number == 1 and wire == VARINT:
                self.id = value
            elif number == 2 and wire == BYTES:
                self.name = value.decode()
            elif number == 3 and wire == VARINT:
                self.type = value
            elif number in (4, 5):
                ids = packed(value) if wire == BYTES else [value]
                (self.control if number == 4 else self.data).extend(ids)
            elif number in (6, 7) and wire == VARINT:
                self.duration_us = value if number == 7 else self.duration_us
            elif number == 10 and wire == BYTES:
                name, kind, content = attribute(value)
                if name in self.attributes:
                    raise Damaged(f"node {self.id}: attribute {name} twice")
                if ATTRIBUTE_TYPES.get(name, kind) != kind:
                    raise Damaged(f"node {self.id}: {name} is a {kind}")
                self.attributes[name] = content
            else:
                raise Damaged(f"node {self.id}: field {number} of wire type {wire}")

    def __getitem__(self, name):
        return self.attributes.get(name)


class Rank:
    def __init__(self, path):
        parts = list(messages(path.read_bytes()))
        if not parts:
            raise Damaged("empty")
        self.metadata = {1: None}
        for number, _, value in fields(parts[0]):
            if number == 1:
                self.metadata[1] = value.decode()
            elif number == 2:
                attribute(value)
            else:
                raise Damaged(f"metadata: field {number}")
        self.nodes = [Node(part) for part in parts[1:]]
        self.by_id = {node.id: node for node in self.nodes}


def check_nodes(rank):
    problems = []
    if rank.metadata[1] != "0.0.4":
        problems.append(f"schema version {rank.metadata[1]}")
    if len(rank.by_id) != len(rank.nodes):
        problems.append("ids are not unique")
    needed = {COMP: ("num_ops", "tensor_size"), COLL: ("comm_type", "comm_size"),
              SEND: ("comm_size", "comm_src", "comm_dst", "comm_tag"),
              RECV: ("comm_size", "comm_src", "comm_dst", "comm_tag")}
    for node in rank.nodes:
        if node.type not in NODE_TYPES:
            problems.append(f"node {node.id} has type {node.type}")
            continue
        if node["is_cpu_op"] != 0:
            problems.append(f"node {node.id}: is_cpu_op is {node['is_cpu_op']}")
        problems += [f"node {node.id} ({node.name}) lacks {name}" for name in needed[node.type] if node[name] is None]
        problems += [f"node {node.id} depends on {other}, which is not there" for other in node.data + node.control
                     if other not in rank.by_id]
    return problems


def find_cycle(rank):
    """Kahn's algorithm: what cannot be ordered."""
    waits = {node.id: len(set(node.data + node.control)) for node in rank.nodes}
    users = collections.defaultdict(list)
    for node in rank.nodes:
        for other in set(node.data + node.control):
            users[other].append(node.id)
    ready = [i for i, count in waits.items() if count == 0]
    done = 0
    while ready:
        done += 1
        for user in users[ready.pop()]:
            waits[user] -= 1
            if waits[user] == 0:
                ready.append(user)
    return [] if done == len(rank.nodes) else [f"{len(rank.nodes) - done} nodes are in or behind a cycle"]


def check_messages(ranks):
    """Every message that is sent is received once, and nothing else is."""
    sent, received = collections.Counter(), collections.Counter()
    problems = []
    for number, rank in ranks.items():
        for node in rank.nodes:
            if node.type in (SEND, RECV):
                key = (node["comm_src"], node["comm_dst"], node["comm_tag"], node["comm_size"])
                (sent if node.type == SEND else received)[key] += 1
                own = node["comm_src"] if node.type == SEND else node["comm_dst"]
                if own != number:
                    problems.append(f"rank {number} has a message of rank {own}")
    both = {key for key in sent | received if key[0] in ranks and key[1] in ranks}
    problems += [f"message {key} is sent {sent[key]} and received {received[key]} times" for key in sorted(both)
                 if sent[key] != received[key]]
    return problems


def runs_to_the_end(ranks, groups):
    """Plays the traces: a node runs when those it depends on have; a collective when all its group is at it in the same
    order; a receive when it was sent. One communication at a time per rank, as ASTRA-sim does. What is left is a deadlock."""
    everyone = sorted(ranks)
    done = {r: set() for r in ranks}
    left = {r: collections.deque(sorted(rank.nodes, key=lambda n: n.id)) for r, rank in ranks.items()}
    sent = collections.Counter()
    progress = True
    while progress:
        progress = False
        at = {}
        for r in everyone:
            waiting, blocked = collections.deque(), False
            while left[r]:
                node = left[r].popleft()
                ready = all(d in done[r] for d in node.data)  # without control dependencies: the weaker reader
                key = (node["comm_src"], node["comm_dst"], node["comm_tag"])
                if not ready or (blocked and node.type != COMP) or node.type == COLL \
                        or (node.type == RECV and sent[key] == 0):
                    if ready and node.type == COLL and not blocked:
                        at[r] = node
                    blocked |= ready and node.type != COMP
                    waiting.append(node)
                    continue
                sent[key] += (node.type == SEND) - (node.type == RECV)
                done[r].add(node.id)
                progress = True
            left[r] = waiting
        for r, node in list(at.items()):
            members = groups.get(node["pg_name"], everyone)
            if r in at and all(m in at and at[m]["comm_type"] == node["comm_type"]
                               and at[m]["comm_size"] == node["comm_size"] for m in members):
                for m in members:
                    done[m].add(at[m].id)
                    left[m].remove(at.pop(m))
                progress = True
    stuck = {r: nodes for r, nodes in left.items() if nodes}
    return [f"rank {r} is stuck at node {nodes[0].id} ({nodes[0].name})" for r, nodes in stuck.items()]


# ---- what the program itself says ----

WIDTHS = {"i1": 1, "i8": 1, "ui8": 1, "i16": 2, "bf16": 2, "f16": 2, "i32": 4, "ui32": 4, "f32": 4, "i64": 8, "f64": 8}


def size_of(type_text):
    """Bytes of all tensors in a list of types."""
    total = 0
    for dims, element in re.findall(r"tensor<((?:\d+x)*)(\w+)>", type_text):
        count = 1
        for dim in filter(None, dims.split("x")):
            count *= int(dim)
        total += count * WIDTHS[element]
    return total


# after the name: the groups, perhaps a region, the types
REST = re.compile(r"replica_groups = dense<(?P<groups>.*?)> : tensor<(?P<rows>\d+)x(?P<columns>\d+)xi64>.*?\}>"
                  r" ?(?:\(\{.*?\}\) )?: \((?P<operands>[^()]*)\) -> (?P<results>\([^()]*\)|tensor<[^>]*>)", re.S)


def groups_of(body, rows, columns):
    """A dense attribute: a list, one value for all, or bytes in hexadecimal."""
    if body.startswith('"0x'):
        raw = bytes.fromhex(body.strip('"')[2:])
        flat = list(struct.unpack(f"<{len(raw) // 8}q", raw))
    else:
        flat = [int(n) for n in re.findall(r"-?\d+", body)]
    flat = flat * (rows * columns) if len(flat) == 1 else flat
    return [flat[i * columns:(i + 1) * columns] for i in range(rows)]


def collectives_of(text):
    """(type, operand bytes, result bytes, groups, operands) of each collective in the text: one function, no loops."""
    found = []
    for match in re.finditer(r'"stablehlo\.(\w+)"\(([^()]*)\)', text):
        if match.group(1) in COLLECTIVES:
            rest = REST.search(text, match.end())
            groups = groups_of(rest["groups"], int(rest["rows"]), int(rest["columns"]))
            found.append((COLLECTIVES[match.group(1)], size_of(rest["operands"]), size_of(rest["results"]), groups,
                          match.group(2)))
    return found


def without_repetitions(collectives):
    """The same exchange of the same values among the same ranks, once: a compiler does it once."""
    return list({(kind, operands, str(groups)): (kind, operand, result, groups, operands)
                 for kind, operand, result, groups, operands in collectives}.values())


def expected_size(kind, operand, result, members):
    """By ASTRA-sim: an all-gather is sized by what a rank contributes, a reduce-scatter by the whole operand."""
    assert kind != ALL_GATHER or result == operand * members
    assert kind != REDUCE_SCATTER or operand == result * members
    return operand


def pairs_of(text):
    """(bytes, [(source, target), ...]) of each permute."""
    pattern = re.compile(r'"stablehlo.collective_permute"\(.*?source_target_pairs = dense<(.*?)> : tensor<(\d+)x2xi64>.*?\}>'
                         r" : \(([^()]*)\) ->", re.S)
    return [(size_of(match.group(3)), groups_of(match.group(1), int(match.group(2)), 2)) for match in pattern.finditer(text)]


def bytes_of_text(number, collectives, pairs, times):
    """Bytes of a rank by kind and group; an all-reduce of which every rank keeps a slice becomes a reduce-scatter of the same
    operand, so that those two are added up."""
    expected = collections.Counter()
    for kind, operand, result, lists, _ in collectives:
        members = next((tuple(sorted(g)) for g in lists if number in g), ())
        if len(members) > 1:
            size = expected_size(kind, operand, result, len(members))
            expected[REDUCTIONS.get(kind, kind), members] += times * size
    for size, targets in pairs:
        for source, target in targets:
            expected[SEND, source, target] += times * size * (source == number != target)
    return +expected


def bytes_of_trace(rank, everyone, groups):
    found = collections.Counter()
    for node in rank.nodes:
        if node.type == COLL:
            members = tuple(sorted(groups[node["pg_name"]] if node["pg_name"] else everyone))
            found[REDUCTIONS.get(node["comm_type"], node["comm_type"]), members] += node["comm_size"]
        elif node.type == SEND:
            found[SEND, node["comm_src"], node["comm_dst"]] += node["comm_size"]
    return +found


def check_program(ranks, groups, text, times):
    """Bytes of each kind and group per rank, computed from the text alone. What a compiler combines keeps its bytes."""
    problems = []
    collectives, pairs = collectives_of(text), pairs_of(text)
    for number, rank in ranks.items():
        found = bytes_of_trace(rank, sorted(ranks), groups)
        expected = [bytes_of_text(number, c, pairs, times) for c in (collectives, without_repetitions(collectives))]
        if any(number not in members for kind, *members in found if kind != SEND for members in members):
            problems.append(f"rank {number} takes part in a group that it is not in")
        if found not in expected:
            problems.append(f"rank {number}: bytes are {dict(found)}, the program has {dict(expected[0])}")
    return problems


def main():
    folder = pathlib.Path(sys.argv[1])
    paths = {int(path.name.split(".")[-2]): path for path in folder.glob("*.et")}
    groups = json.loads((folder / "comm_group.json").read_text())
    problems, ranks = [], {}
    if not paths or sorted(paths) != list(range(len(paths))):
        problems.append(f"ranks {sorted(paths)}")
    for number, path in sorted(paths.items()):
        try:
            ranks[number] = Rank(path)
        except Damaged as reason:
            problems.append(f"{path.name}: {reason}")
            continue
        problems += [f"{path.name}: {p}" for p in check_nodes(ranks[number]) + find_cycle(ranks[number])]
    problems += check_messages(ranks)
    for name, members in groups.items():
        if not name.isdigit() or int(name) < 1 or len(set(members)) != len(members):
            problems.append(f"group {name}: {members}")
    if not problems:
        problems += runs_to_the_end(ranks, groups)
    if len(sys.argv) > 2 and not problems:
        problems += check_program(ranks, groups, pathlib.Path(sys.argv[2]).read_text(),
                                  int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    for problem in problems[:20]:
        print(problem)
    counts = collections.Counter(node.type for rank in ranks.values() for node in rank.nodes)
    print(f"{len(ranks)} ranks, {counts[COMP]} computations, {counts[COLL]} collectives, {counts[SEND]} messages: "
          f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
