"""What an MLIR program computes, as a value that can be compared: every result is the tree of operations, attributes
and types that it comes from. Names, order, functions, tuples and unused operations do not matter, so two converters that
agree on a program give equal structures. Needs the MLIR of jaxlib."""
import hashlib
import re

import numpy

from jaxlib.mlir import ir

# Said beside the computation or derived from it: layouts, storage, names of places.
BESIDE = """xla_shape source_layout result_layout operand_layouts result_layouts output_operand_aliasing
output_operand_aliases mhlo.sharding mhlo.frontend_attributes mhlo.known_trip_count mhlo.backend_config fusion_kind
is_sorted sym_name function_type sym_visibility arg_attrs callee decomposition infeed_config outfeed_config layout
execution_thread called_computation called_computations custom_call_schedule custom_call_order
allow_imprecise_accumulation xla.frontend_attributes inlineable schedule mhlo.original_value""".split()

# Values that an absent attribute has. Source: StablehloOps.td.
DEFAULTS = {
    "indices_are_sorted": "false", "unique_indices": "false", "has_side_effect": "false", "is_stable": "false",
    "api_version": "1 : i32", "use_global_device_ids": "false", "is_host_transfer": "false", "largest": "true",
    "backend_config": '""', "version": "0 : i32", "feature_group_count": "1 : i64", "batch_group_count": "1 : i64",
}
# Operations of a single way to be done that two converters spell differently.
SPELT = {"mhlo.return": "stablehlo.return", "func.return": "stablehlo.return", "mhlo.copy": "copy",
         "stablehlo.create_token": "stablehlo.after_all", "mhlo.ragged_dot": "chlo.ragged_dot"}


class Structure:
    def __init__(self, text, without=()):
        self.without = without  # attributes that do not count
        self.context = None
        self.module = ir.Module.parse(text)
        self.functions = {}
        self.meshes = {}
        for op in self.module.body.operations:
            if op.operation.name == "func.func":
                self.functions[ir.StringAttr(op.attributes["sym_name"]).value] = op
            elif op.operation.name == "sdy.mesh":
                name, text = ir.StringAttr(op.attributes["sym_name"]).value, str(op.attributes["mesh"])
                self.meshes[name] = ([(n, int(size)) for n, size in re.findall(r'"([^"]*)"=(\d+)', text)],
                                     [int(x) for x in re.findall(r"\d+", (text.split("device_ids=") + [""])[1])])
        self.counts = {}
        self.trees = {}  # hash → (head, parts), to show where two programs part

    def main(self):
        function = self.functions["main"]
        block = function.regions[0].blocks[0]
        arguments = [[f"argument {i}"] for i in range(len(block.arguments))]
        return self.block(block, arguments, {})

    def block(self, block, arguments, values):
        """Hashes of what the block returns; `values` holds those from outside and is not changed."""
        values = dict(values)
        for argument, leaves in zip(block.arguments, arguments):
            values[argument] = leaves
        for op in block.operations:
            op = op.operation
            operands = [leaf for operand in op.operands for leaf in values[operand]]
            if op.name in ("func.return", "stablehlo.return", "mhlo.return"):
                return operands
            results = self.operation(op, operands, values)
            for i, result in enumerate(op.results):
                values[result] = results[i]
        return []

    def region(self, region, values, name, tag=""):
        block = region.blocks[0]
        arguments = [[f"{name}{tag} {i} of {len(block.arguments)}"] for i in range(len(block.arguments))]
        return self.node(f"region {tag}", self.block(block, arguments, values))

    def operation(self, op, operands, values):
        """A list of leaves per result."""
        name = SPELT.get(op.name, op.name)
        if name == "stablehlo.tuple":
            return [operands]
        if name == "stablehlo.get_tuple_element":
            index = ir.IntegerAttr(op.attributes["index"]).value
            kinds = type_leaves(op.operands[0].type, deep=False)
            start = sum(kinds[:index])
            return [operands[start:start + kinds[index]]]
        if name == "mhlo.domain":
            return [operands]
        if name == "func.call":
            callee = self.functions[ir.FlatSymbolRefAttr(op.attributes["callee"]).value]
            block = callee.regions[0].blocks[0]
            leaves = []
            at = 0
            for argument in block.arguments:
                n = type_leaves(argument.type)
                leaves.append(operands[at:at + n])
                at += n
            returned = self.block(block, leaves, {})
            return self.split(op, returned)
        self.counts[name] = self.counts.get(name, 0) + 1
        regions = [self.region(region, values, name, str(i)) for i, region in enumerate(op.regions)]
        if name == "stablehlo.composite":
            decomposition = self.functions[ir.FlatSymbolRefAttr(op.attributes["decomposition"]).value]
            regions.append(self.region(decomposition.regions[0], {}, name))
        types = " ".join(type_text(result.type) for result in op.results)
        name, attributes = spell(op, name, self.meshes, self.without)
        whole = self.node(f"{name} {attributes} : {types}", operands + regions)
        return self.split(op, [f"{whole}.{i}" for i in range(sum(type_leaves(r.type) for r in op.results))])

    @staticmethod
    def split(op, leaves):
        parts, at = [], 0
        for result in op.results:
            n = type_leaves(result.type)
            parts.append(leaves[at:at + n])
            at += n
        return parts

    def node(self, head, parts):
        digest = hashlib.sha1("\0".join([head, *parts]).encode()).hexdigest()[:16]
        self.trees[digest] = (head, parts)
        return digest

    def parts(self, leaf):
        """Leaves that an operation takes; none for an argument."""
        return self.trees.get(leaf.partition(".")[0], ("", []))[1]

    def show(self, leaf):
        digest, _, index = leaf.partition(".")
        return self.trees[digest][0] + (f" #{index}" if index else "") if digest in self.trees else leaf


def difference(ours, a, theirs, b, seen=None):
    """The innermost place where two lists of leaves part, as "ours | theirs"; None when they are equal."""
    seen = set() if seen is None else seen
    if len(a) != len(b):
        return f"{len(a)} values | {len(b)} values"
    for x, y in zip(a, b):
        if x == y or (x, y) in seen:
            continue
        seen.add((x, y))
        inside, inside_theirs = ours.parts(x), theirs.parts(y)
        inner = difference(ours, inside, theirs, inside_theirs, seen) if len(inside) == len(inside_theirs) else None
        return inner or f"{ours.show(x)} | {theirs.show(y)}"
    return None


def type_leaves(kind, deep=True):
    """Number of leaves of a type, or the list of those of its parts."""
    if not str(kind).startswith("tuple<"):
        return 1 if deep else [1]
    whole = ir.TupleType(kind)
    parts = [type_leaves(whole.get_type(i)) for i in range(whole.num_types)]
    return sum(parts) if deep else parts


def type_text(kind):
    if not str(kind).startswith("tuple<"):
        return str(kind)
    whole = ir.TupleType(kind)
    return " ".join(type_text(whole.get_type(i)) for i in range(whole.num_types))


def attribute_text(op, key):
    try:
        return str(op.attributes[key])
    except Exception:  # pylint: disable=broad-except  # no Python class for elements of complex numbers
        return op.get_asm(print_generic_op_form=True).split(key, 1)[1]


def listed_groups(text, meshes):
    """#stablehlo.replica_group_mesh_axes<...> as the list that it stands for."""
    axes, devices = meshes[re.search(r"mesh = @([\w.]+)", text).group(1)]
    total = numpy.prod([size for _, size in axes])
    parts = [(n, int(before or 1), int(size or 0))
             for n, before, size in re.findall(r'name = "([^"]*)"(?:, sub_axis_info = \((\d+)\)(\d+))?', text)]
    factors, place = [], {}
    for name, size in axes:
        cuts = {1, size} | {x for n, before, s in parts if n == name for x in (before, before * (s or size))}
        ends = sorted(cuts) if size > 1 else [1, 1]
        for low, high in zip(ends, ends[1:]):
            place[name, low, high // low] = len(factors)
            factors.append(high // low)
    last = [place[n, before, s or dict(axes)[n]] for n, before, s in parts]
    order = [i for i in range(len(factors)) if i not in last] + last
    ids = numpy.array(devices or range(total)).reshape(factors).transpose(order)
    groups = ids.reshape(-1, int(numpy.prod([factors[i] for i in last], dtype=int))).tolist()
    return f"dense<{groups}> : tensor<{len(groups)}x{len(groups[0])}xi64>"


def spell(op, name, meshes, without):
    """Name and text of the attributes, without what is beside the computation and without defaults."""
    attributes = {}
    for key in op.attributes:
        value = attribute_text(op, key)
        if key in BESIDE or key in without or DEFAULTS.get(key) == value:
            continue
        attributes[key] = listed_groups(value, meshes) if "mesh_axes" in value else re.sub(r"\s+", " ", value)
    if name == "stablehlo.dot":
        name = "stablehlo.dot_general"
        rank = ir.RankedTensorType(op.operands[0].type).rank
        attributes["dot_dimension_numbers"] = "#stablehlo.dot<lhs_contracting_dimensions = [%d], rhs_contracting_dimensions = [0]>" % (
            rank - 1)
    if attributes.get("call_target_name") == '"all_to_all"' or name == "mhlo.all_to_all":
        name = "mhlo.all_to_all"  # one operand per device; a custom call here
        attributes.clear()
    if "ragged_dot_dimension_numbers" in attributes:
        attributes["ragged_dot_dimension_numbers"] = re.sub(
            r"#(m|c)hlo.ragged_dot<(dot_dimension_numbers = #mhlo.dot<([^>]*)>)?", r"#chlo.ragged_dot<\3",
            attributes["ragged_dot_dimension_numbers"])
    if name == "stablehlo.reshape" or name == "mhlo.bitcast":
        attributes.clear()
    if "channel_handle" in attributes:  # HLO text does not say the type
        attributes["channel_handle"] = re.sub(r", type = \d", "", attributes["channel_handle"]).replace("#mhlo", "#stablehlo")
    if "false" in attributes.get("window_reversal", "") and "true" not in attributes["window_reversal"]:
        del attributes["window_reversal"]
    precision = attributes.get("precision_config", "")
    if precision and "HIGH" not in precision:
        del attributes["precision_config"]
    return name, ", ".join(f"{k} = {v}" for k, v in sorted(attributes.items()))
