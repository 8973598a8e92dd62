"""Policies in ONNX against onnxruntime: what is accepted gives the same numbers, and anything else is refused.

`PACELINE_ONNX_SEED` and `PACELINE_ONNX_GRAPHS` choose other graphs than the usual ones.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np
import paceline
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

SEED = int(os.environ.get("PACELINE_ONNX_SEED", "1"))
GRAPHS = int(os.environ.get("PACELINE_ONNX_GRAPHS", "1000"))
# Of a number near 1: rounding of sums in another order, and of tanh and its relatives, behind at most a dozen operators.
TOLERANCE = 3e-5
STEPS = 4


class Graph:
    """A chain that grows at its end; `shape` is that of the data there."""

    def __init__(self, rng: np.random.Generator, opset: int, dims: list[Any]) -> None:
        self.rng, self.opset, self.dims = rng, opset, dims
        self.shape = [size if isinstance(size, int) else 1 for size in dims]
        self.width = int(np.prod(self.shape))
        self.input_shape = list(self.shape)
        self.at = "x"
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []
        self.inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)]
        self.states: list[tuple[str, str, list[int]]] = []
        self.count = 0

    def name(self, of: str = "v") -> str:
        self.count += 1
        return f"{of}{self.count}"

    def constant(self, values: Any, kind: Any = np.float32) -> str:
        """An initialiser or the operator `Constant`."""
        name, array = self.name("c"), np.asarray(values, kind)
        tensor = numpy_helper.from_array(array, name)
        if array.dtype == np.float32 and self.rng.random() < 0.2:
            tensor = helper.make_tensor(name, TensorProto.FLOAT, array.shape, array.ravel().tolist())
        if self.rng.random() < 0.2:
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.tensors.append(tensor)
            if self.rng.random() < 0.1:
                info = helper.make_tensor_value_info(name, tensor.data_type, array.shape)
                self.inputs.append(info)
        return name

    def normal(self, *shape: int) -> Any:
        return self.rng.normal(size=shape).astype(np.float32)

    def add(self, operator: str, *others: str, place: int = 0, outputs: int = 1, take: int = 0, **attributes: Any) -> Any:
        names = [self.name() for _ in range(outputs)]
        inputs = list(others)
        inputs.insert(place, self.at)
        node = helper.make_node(operator, inputs, names, **attributes)
        self.nodes.append(node)
        self.at = names[take]
        return node

    def model(self, output: Optional[str] = None) -> Any:
        outputs = [output or self.at, *(name for _, name, _ in self.states)]
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        inputs = [*self.inputs]
        graph = helper.make_graph(self.nodes, "policy", inputs, infos, self.tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)


def pick(rng: np.random.Generator, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


# What the chain may have, each added in a random form that ONNX allows.


def activation(graph: Graph) -> None:
    rng = graph.rng
    operator = pick(rng, "Relu", "Tanh", "Sigmoid", "Elu", "LeakyRelu", "Clip")
    if operator == "Clip":
        low, high = sorted(rng.normal(size=2).tolist())
        if graph.opset < 11:
            graph.add("Clip", **pick(rng, {}, {"min": low}, {"max": high}, {"min": low, "max": high}))
        else:
            bounds = pick(rng, (), (low,), ("", high), (low, high))
            graph.add("Clip", *("" if bound == "" else graph.constant(bound) for bound in bounds))
    elif operator in ("Elu", "LeakyRelu") and rng.random() < 0.7:
        graph.add(operator, alpha=pick(rng, 0.0, 0.3, 2.0, -0.5))
    else:
        graph.add(operator)


def gemm(graph: Graph) -> None:
    rng = graph.rng
    if len(graph.shape) != 2 or graph.shape[0] != 1:
        flatten(graph, len(graph.shape) - 1 if graph.shape and np.prod(graph.shape[:-1]) == 1 else 0)
    reads, gives = graph.shape[1], int(rng.integers(1, 9))
    by_rows = rng.random() < 0.5
    weights = graph.normal(gives, reads) / np.sqrt(reads)
    attributes = {"transB": 1} if by_rows else pick(rng, {}, {"transB": 0})
    attributes |= pick(rng, {}, {"alpha": 1.0, "beta": 1.0, "transA": 0})
    biases: list[tuple[int, ...]] = [(gives,), (1, gives), (1,), (), (1, 1)]
    shape = pick(rng, None, *biases)
    others = [graph.constant(weights if by_rows else weights.T)]
    if shape is None:
        if graph.opset < 11:
            others.append(graph.constant(np.zeros(gives)))
        elif rng.random() < 0.3:
            others.append("")
    else:
        others.append(graph.constant(graph.normal(*shape)))
    graph.add("Gemm", *others, **attributes)
    graph.shape = [1, gives]


def matmul(graph: Graph) -> None:
    rng = graph.rng
    if not graph.shape or np.prod(graph.shape[:-1]) != 1:
        flatten(graph, 0)
    reads, gives = graph.shape[-1], int(rng.integers(1, 9))
    before = pick(rng, [], [], [1], [1, 1])
    graph.add("MatMul", graph.constant((graph.normal(reads, gives) / np.sqrt(reads)).reshape(*before, reads, gives)))
    rank = max(len(graph.shape), len(before) + 2) if len(graph.shape) > 1 else len(before) + 1
    graph.shape = [1] * (rank - 1) + [gives]


def arithmetic(graph: Graph) -> None:
    rng = graph.rng
    shape = [size if rng.random() < 0.7 else 1 for size in graph.shape]
    shape = pick(rng, shape, shape[int(rng.integers(len(shape) + 1)) :], [1, *shape])
    operator = pick(rng, "Add", "Sub", "Mul", "Div")
    constant = rng.normal(size=shape).astype(np.float32)
    if operator == "Div":
        constant = np.sign(constant) * (np.abs(constant) + 0.3)
    graph.add(operator, graph.constant(constant), place=0 if operator == "Div" else pick(rng, 0, 1))
    graph.shape = [1] * (len(shape) - len(graph.shape)) + graph.shape


def flatten(graph: Graph, at: Optional[int] = None) -> None:
    rank = len(graph.shape)
    at = int(graph.rng.integers(0, rank + 1)) if at is None else at
    said = at - rank if graph.opset >= 11 and at < rank and graph.rng.random() < 0.3 else at
    graph.add("Flatten", **({} if said == 1 and graph.rng.random() < 0.5 else {"axis": said}))
    graph.shape = [int(np.prod(graph.shape[:at])), int(np.prod(graph.shape[at:]))]


def with_axes(graph: Graph, operator: str, axes: Optional[list[int]]) -> None:
    if axes is None:
        graph.add(operator)
    elif graph.opset < 13:
        graph.add(operator, axes=axes)
    else:
        graph.add(operator, graph.constant(axes, np.int64))


def squeeze(graph: Graph) -> None:
    ones = [at for at, size in enumerate(graph.shape) if size == 1]
    axes = [at for at in ones if graph.rng.random() < 0.5] or None
    if axes is None and len(ones) == len(graph.shape):
        return
    goes = ones if axes is None else axes
    negative = graph.opset >= 11 and graph.rng.random() < 0.3
    with_axes(graph, "Squeeze", [at - len(graph.shape) for at in axes] if negative and axes else axes)
    graph.shape = [size for at, size in enumerate(graph.shape) if at not in goes]


def unsqueeze(graph: Graph) -> None:
    if len(graph.shape) > 4:
        return
    rank = len(graph.shape) + int(graph.rng.integers(1, 3))
    axes = sorted(graph.rng.choice(rank, rank - len(graph.shape), replace=False).tolist())
    sizes = iter(graph.shape)
    graph.shape = [1 if at in axes else next(sizes) for at in range(rank)]
    negative = graph.opset >= 11 and graph.rng.random() < 0.3
    with_axes(graph, "Unsqueeze", [at - rank for at in axes] if negative else axes)


def transpose(graph: Graph) -> None:
    """Dimensions of one move; the others stay in their order."""
    rank, rng = len(graph.shape), graph.rng
    perm = rng.permutation(rank).tolist()
    wide = iter(at for at in range(rank) if graph.shape[at] != 1)
    perm = [at if graph.shape[at] == 1 else next(wide) for at in perm]
    attributes: dict[str, Any] = {"perm": perm} if perm else {}
    graph.add("Transpose", **attributes)
    graph.shape = [graph.shape[at] for at in perm]


def reshape(graph: Graph) -> None:
    rng, total = graph.rng, int(np.prod(graph.shape))
    divisors = [size for size in range(1, total + 1) if total % size == 0]
    first = pick(rng, 1, *divisors)
    new: list[int] = [first, total // first]
    new.insert(int(rng.integers(3)), 1)
    said = list(new)
    for at, size in enumerate(new):
        if at < len(graph.shape) and graph.shape[at] == size and rng.random() < 0.4:
            said[at] = 0
    if rng.random() < 0.5:
        said[int(rng.integers(len(said)))] = -1
    graph.add("Reshape", graph.constant(said, np.int64))
    graph.shape = new


def gather(graph: Graph) -> None:
    ones = [at for at, size in enumerate(graph.shape) if size == 1]
    if not ones or len(graph.shape) < 2:
        return
    at = pick(graph.rng, *ones)
    index = pick(graph.rng, 0, -1) if graph.opset >= 11 else 0
    keeps = graph.rng.random() < 0.3
    axis = at - len(graph.shape) if graph.opset >= 11 and graph.rng.random() < 0.3 else at
    graph.add("Gather", graph.constant([index] if keeps else index, np.int64), axis=axis)
    if not keeps:
        graph.shape = [*graph.shape[:at], *graph.shape[at + 1 :]]


def same(graph: Graph) -> None:
    operator = pick(graph.rng, "Identity", "Cast", "Dropout")
    if operator == "Cast":
        graph.add("Cast", to=TensorProto.FLOAT)
    elif operator == "Dropout" and graph.opset < 12:
        graph.add("Dropout", ratio=0.3)
    elif operator == "Dropout":
        graph.add("Dropout", *pick(graph.rng, (), (graph.constant(0.3),)))
    else:
        graph.add("Identity")


def recurrent(graph: Graph, memory: str) -> Any:
    """Zeros or nothing for a memory: the first step is compared. An input: all steps are."""
    rng = graph.rng
    if not graph.shape or np.prod(graph.shape[:-1]) != 1 or len(graph.shape) != 3:
        graph.add("Reshape", graph.constant([1, 1, -1], np.int64))
        graph.shape = [1, 1, int(np.prod(graph.shape))]
    operator = pick(rng, "GRU", "LSTM")
    gates, states = (3, 1) if operator == "GRU" else (4, 2)
    reads, units = graph.shape[-1], int(rng.integers(1, 7))
    others = [
        graph.constant(graph.normal(1, gates * units, reads)),
        graph.constant(graph.normal(1, gates * units, units)),
    ]
    attributes: dict[str, Any] = {"hidden_size": units}
    if operator == "GRU":
        attributes["linear_before_reset"] = 1
    if rng.random() < 0.3:
        attributes["direction"] = "forward"
    if graph.opset >= 14 and rng.random() < 0.3:
        attributes["layout"] = 0
    if operator == "LSTM" and rng.random() < 0.3:
        attributes["input_forget"] = 0
    bias = rng.random() < 0.8
    if bias or memory != "none":
        others += [graph.constant(graph.normal(1, 2 * gates * units)) if bias else ""]
    if memory != "none":
        others += [""]
    for state in range(states):
        if memory == "zeros":
            others.append(zeros(graph, units))
        elif memory == "inputs":
            others.append(state_input(graph, units))
    take = int(rng.random() < 0.4)
    node = graph.add(operator, *others, outputs=states + 1, take=take, **attributes)
    graph.shape = [1, 1, units] if take else [1, 1, 1, units]
    if memory == "inputs":
        last = graph.states[-states:]
        graph.states[-states:] = [(name, node.output[1 + k], shape) for k, (name, _, shape) in enumerate(last)]
    return node


def zeros(graph: Graph, units: int) -> str:
    if graph.opset >= 9 and graph.rng.random() < 0.4:
        name = graph.name()
        shape = graph.constant([1, 1, units], np.int64)
        graph.nodes.append(helper.make_node("ConstantOfShape", [shape], [name]))
        return name
    return graph.constant(np.zeros((1, 1, units)))


def state_input(graph: Graph, units: int) -> str:
    name = graph.name("state")
    graph.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, units]))
    graph.states.append((name, "", [1, 1, units]))
    if graph.rng.random() < 0.5 and graph.opset >= 10:
        moved = graph.name()
        bounds = [graph.constant([bound], np.int64) for bound in (0, 1, 0)]
        graph.nodes.append(helper.make_node("Slice", [name, *bounds], [moved]))
        return moved
    return name


PARTS = (activation, activation, gemm, matmul, arithmetic, flatten, squeeze, unsqueeze, transpose, reshape, gather, same)


def start(rng: np.random.Generator) -> Graph:
    opset, width = pick(rng, 7, 9, 10, 11, 12, 13, 14, 17, 20, 22, 28), int(rng.integers(1, 9))
    dims = pick(rng, [1, width], ["batch", width], [width], [1, 1, width], ["sequence", "batch", width], [1, width, 2])
    return Graph(rng, opset, dims)


def chain(rng: np.random.Generator, parts: Any = PARTS, memory: str = "") -> Graph:
    graph = start(rng)
    for _ in range(int(rng.integers(1, 9))):
        if len(graph.shape) > 5:
            flatten(graph)
        pick(rng, *parts)(graph)
        if memory and rng.random() < 0.3:
            recurrent(graph, memory)
    if memory and not any(node.op_type in ("GRU", "LSTM") for node in graph.nodes):
        recurrent(graph, memory)
    return graph


# Both sides.


class Sides:
    def __init__(self, folder: Path) -> None:
        self.card, self.file = folder / "mine.json", folder / "mine.onnx"

    def paceline(self, data: bytes, rows: Any, alone: bool) -> Any:
        """The outputs for the rows, each alone or one after the other; or why the file is refused."""
        card = {
            "format": 1,
            "kind": "policy",
            "name": "mine",
            "observation": ["rtt"],
            "history": rows.shape[1],
            "action": "rate",
            "output": 0,
        }
        self.card.write_text(json.dumps(card))
        self.file.write_bytes(data)
        try:
            parts = [rows[k : k + 1] for k in range(len(rows))] if alone else [rows]
            return np.concatenate([paceline.decide(self.card, part)[1] for part in parts])
        except paceline.ArgumentError as error:
            return str(error)


def reference(data: bytes, graph: Graph, rows: Any) -> Any:
    """What onnxruntime gives; or why it refuses the file."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        states = {name: np.zeros(shape, np.float32) for name, _, shape in graph.states}
        outputs = []
        for row in rows:
            output, *after = session.run(None, {"x": row.reshape(graph.input_shape), **states})
            outputs.append(output.ravel())
            states = dict(zip(states, after))
        return np.stack(outputs)
    except Exception as error:  # its exceptions have no common type
        return str(error)


def check_named(message: str, data: bytes) -> None:
    """The message names an operator or a value of the graph, or a place in the file."""
    graph = onnx.load_from_string(data).graph
    values = {name for node in graph.node for name in (*node.input, *node.output)}
    values |= {value.name for value in (*graph.input, *graph.output, *graph.initializer)}
    named = re.search(r"operator (\w+) \((\S*?)\)", message)
    if named:
        assert any(node.op_type == named[1] and (not node.output or node.output[0] == named[2]) for node in graph.node), message
    else:
        assert re.search(r"\(byte \d+\)|the graph reads \d+ numbers", message) or any(f"`{name}`" in message for name in values), message


def compare(sides: Sides, graph: Graph, model: Any, alone: bool) -> "tuple[str, Any, Any]":
    """`same`, `refused`, or `different`."""
    data = model if isinstance(model, bytes) else model.SerializeToString()
    rows = graph.rng.normal(size=(STEPS, graph.width)).astype(np.float32)
    found, expected = sides.paceline(data, rows, alone), reference(data, graph, rows)
    if isinstance(found, str):
        check_named(found, data)
        return "refused", found, expected
    if isinstance(expected, str) or found.shape != expected.shape:
        return "different", found, expected
    near = np.abs(found - expected) <= TOLERANCE * (1 + np.abs(expected))
    return ("same" if near.all() else "different"), found, expected


def told(graph: Any) -> str:
    return str(onnx.printer.to_text(graph.model().graph))


def test_what_is_supported_gives_the_same_numbers(tmp_path: Path) -> None:
    sides, operators = Sides(tmp_path), Counter[str]()
    for k in range(GRAPHS):
        rng = np.random.default_rng((SEED, k))
        memory = pick(rng, "", "", "none", "zeros", "inputs")
        graph = chain(rng, memory=memory)
        outcome, found, expected = compare(sides, graph, graph.model(), memory != "inputs")
        assert outcome == "same", f"{SEED}, {k}: {outcome}\n{found}\n{expected}\n{told(graph)}"
        operators.update(node.op_type for node in graph.nodes)
    for operator in ("Gemm", "MatMul", "Add", "Sub", "Mul", "Div", "GRU", "LSTM", "Gather", "Clip", "Dropout", "Reshape"):
        assert operators[operator] > GRAPHS / 50, operators


# Anything else: parameters at random, and one thing that policies may not have.


def wild_constant(graph: Graph) -> None:
    rank = int(graph.rng.integers(0, len(graph.shape) + 2))
    shape = [pick(graph.rng, 1, 1, 2, graph.width, *graph.shape) for _ in range(rank)]
    operator = pick(graph.rng, "Add", "Sub", "Mul", "Div")
    place = int(graph.rng.integers(2))
    graph.add(operator, graph.constant(graph.rng.choice([0.5, -1.5, 2.0], size=shape)), place=place)
    try:
        graph.shape = list(np.broadcast_shapes(tuple(shape), tuple(graph.shape)))
    except ValueError:
        pass


def wild_move(graph: Graph) -> None:
    rng, rank = graph.rng, len(graph.shape)
    axes = rng.integers(-rank - 1, rank + 2, size=int(rng.integers(1, 3))).tolist()
    operator = pick(rng, "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Reshape", "Gather")
    if operator == "Flatten":
        graph.add("Flatten", axis=axes[0])
        at = axes[0] % rank if rank and axes[0] != rank else rank
        graph.shape = [int(np.prod(graph.shape[:at])), int(np.prod(graph.shape[at:]))]
    elif operator == "Transpose":
        perm = rng.permutation(rank).tolist()
        perm = perm if rng.random() < 0.8 else []
        attributes: dict[str, Any] = {"perm": perm} if perm else {}
        graph.add("Transpose", **attributes)
        perm = perm or list(range(rank))[::-1]
        graph.shape = [graph.shape[at] for at in perm]
    elif operator == "Reshape":
        sizes = rng.permutation(pick(rng, [1, -1], [0, -1], [2, -1], [0, 0, -1], graph.shape or [1], [-1])).tolist()
        allows = {"allowzero": 1} if graph.opset >= 14 and rng.random() < 0.2 else {}
        graph.add("Reshape", graph.constant(sizes, np.int64), **allows)
        try:
            graph.shape = list(np.empty(graph.shape).reshape(sizes).shape)
        except ValueError:
            pass
    elif operator == "Gather":
        kind = pick(rng, np.int64, np.int64, np.int32)
        graph.add("Gather", graph.constant(pick(rng, 0, 1, -1, [0], [0, 0]), kind), axis=axes[0])
    else:
        with_axes(graph, operator, axes)


def wild_weights(graph: Graph) -> None:
    rng = graph.rng
    width = graph.shape[-1] if graph.shape else 1
    sizes = [pick(rng, width, width, 1, 2), int(rng.integers(1, 4))]
    if rng.random() < 0.3:
        sizes.reverse()
    weights = graph.constant(graph.normal(*pick(rng, sizes, [1, *sizes], [2, *sizes], sizes[:1])))
    if rng.random() < 0.5:
        graph.add("MatMul", weights, place=int(rng.random() < 0.2))
    else:
        attributes = {key: pick(rng, 0, 1) for key in ("transA", "transB") if rng.random() < 0.5}
        attributes |= {key: pick(rng, 1.0, 0.5, -2.0, 0.0) for key in ("alpha", "beta") if rng.random() < 0.3}
        biases: tuple[list[int], ...] = [sizes[1]], [1], [], [sizes[1], 1], [1, sizes[0]], [2, sizes[1]]
        others = (graph.constant(graph.normal(*pick(rng, *biases))),) if rng.random() < 0.6 else ()
        graph.add("Gemm", weights, *others, place=int(rng.random() < 0.1), **attributes)
    graph.shape = graph.shape[:-1] + [sizes[1]]


WILD = (*PARTS, wild_constant, wild_constant, wild_move, wild_move, wild_weights, wild_weights)


def single(operator: str, *inputs: Any, outputs: int = 1, take: int = 0, **attributes: Any) -> Callable[[Graph], None]:
    """An operator with these constants behind the data."""

    def add(graph: Graph) -> None:
        names = (each if isinstance(each, str) else graph.constant(each[0], each[1]) for each in inputs)
        graph.add(operator, *names, outputs=outputs, take=take, **attributes)

    add.__name__ = f"{operator} {attributes}"
    return add


def whole(*values: int) -> "tuple[Any, Any]":
    return (list(values), np.int64)


def number(value: Any) -> "tuple[Any, Any]":
    return (value, np.float32)


def through(kind: int) -> Callable[[Graph], None]:
    def cast(graph: Graph) -> None:
        graph.add("Cast", to=kind)
        graph.add("Cast", to=TensorProto.FLOAT)

    cast.__name__ = f"Cast to {kind}"
    return cast


def twice(operator: str) -> Callable[[Graph], None]:
    def add(graph: Graph) -> None:
        graph.add(operator, graph.at, **({"axis": -1} if operator == "Concat" else {}))

    add.__name__ = f"{operator} twice"
    return add


def residual(graph: Graph) -> None:
    before = graph.at
    graph.add("Tanh")
    graph.add("Add", before)


def trains(graph: Graph) -> None:
    graph.add("Dropout", graph.constant(0.5), graph.constant(graph.rng.random() < 0.5, np.bool_))


NAN, INFINITE = float("nan"), float("inf")
UNARY = (
    "Abs Neg Exp Log Sqrt Reciprocal Floor Ceil Round Sign Softplus Softsign Selu HardSigmoid HardSwish Erf Sin Cos Softmax "
    "LogSoftmax Mish Gelu ThresholdedRelu Celu Hardmax LpNormalization MeanVarianceNormalization Size Not IsNaN ReduceSum "
    "ReduceMean ReduceMax ArgMax GlobalAveragePool NonZero Shape Det Sum Mean Max Min"
).split()
OUTSIDE: "tuple[Callable[[Graph], None], ...]" = (
    *(single(operator) for operator in UNARY),
    *(through(kind) for kind in (TensorProto.INT32, TensorProto.INT64, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BOOL)),
    *(single(operator, alpha=value) for operator in ("Elu", "LeakyRelu") for value in (NAN, INFINITE, 1, "a", 1e30)),
    *(single("Relu", **said) for said in ({"axis": 1}, {"alpha": 0.5}, {"consumed_inputs": [0]})),
    *(single(operator, number(2.0)) for operator in ("Pow", "Max", "Min", "PRelu", "Mod", "Sum", "Mean", "Greater", "Tanh")),
    *(single("Clip", *bounds) for bounds in ((number(1.0), number(-1.0)), (number(NAN),), ("", number(INFINITE)))),
    *(single("Clip", *bounds) for bounds in ((number([0.0]),), (number([0.0, 1.0]),), (whole(0),))),
    *(single("Clip", **said) for said in ({"min": NAN}, {"max": -INFINITE}, {"min": 1.0, "max": 0.0}, {"min": 0})),
    *(single("Mul", number(value)) for value in (NAN, INFINITE, 0.0)),
    *(single("Div", number(value)) for value in (0.0, 1e-40)),
    single("Add", whole(1)),
    single("Add", number(1.0), number(1.0)),
    single("Dropout", outputs=2, take=1),
    trains,
    *(twice(operator) for operator in ("Add", "Mul", "Sub", "Concat", "MatMul")),
    residual,
    single("Slice", whole(0), whole(1), whole(0)),
    single("Pad", whole(*[1] * 4)),
    single("Tile", whole(2)),
    single("Expand", whole(2, 1, 1)),
    single("Split", outputs=2),
    single("TopK", whole(1), outputs=2),
    single("CumSum", (0, np.int64)),
    single("LayerNormalization", number([1.0])),
    single("BatchNormalization", number([1.0]), number([0.0]), number([0.0]), number([1.0])),
    single("Gelu", domain="com.microsoft"),
    single("Relu", domain="com.microsoft"),
    single("Identity", domain="mine"),
    single("If"),
    single("RNN", number(np.ones((1, 2, 1))), number(np.ones((1, 2, 2))), outputs=2, hidden_size=2),
)


def with_attributes(**said: Any) -> Callable[[Graph, Any], None]:
    def change(graph: Graph, node: Any) -> None:
        kept = [attribute for attribute in node.attribute if attribute.name not in said]
        del node.attribute[:]
        node.attribute.extend([*kept, *(helper.make_attribute(key, value) for key, value in said.items())])

    change.__name__ = str(said)
    return change


def with_input(place: int, make: Callable[[Graph, int], str]) -> Callable[[Graph, Any], None]:
    def change(graph: Graph, node: Any) -> None:
        node.input.extend([""] * (place + 1 - len(node.input)))
        units = next(attribute.i for attribute in node.attribute if attribute.name == "hidden_size")
        node.input[place] = make(graph, units)

    change.__name__ = f"input {place}"
    return change


def of_the_cell(graph: Graph, node: Any) -> None:
    """What goes on behind the layer reads the cell's state."""
    for other in graph.nodes:
        for place, name in enumerate(other.input):
            if name in node.output[:2]:
                other.input[place] = node.output[-1]
    if graph.at in node.output[:2]:
        graph.at = node.output[-1]


def ones(*shape: int) -> Callable[[Graph, int], str]:
    return lambda graph, units: graph.constant(np.ones([units if size == 0 else size for size in shape]))


CHANGES: "tuple[Callable[[Graph, Any], None], ...]" = (
    with_attributes(linear_before_reset=0),
    *(with_attributes(direction=way) for way in ("reverse", "bidirectional", "Forward", 1)),
    *(with_attributes(clip=limit) for limit in (0.1, 0.0, NAN)),
    *(with_attributes(activations=names) for names in (["Sigmoid", "Tanh"], ["Relu", "Tanh", "Tanh"], ["Sigmoid", "Tanh", "Tanh"])),
    with_attributes(activation_alpha=[0.5, 0.5]),
    with_attributes(input_forget=1),
    with_attributes(layout=1),
    with_attributes(hidden_size=7),
    with_attributes(output_sequence=1),
    *(with_input(5, make) for make in (ones(1, 1, 0), lambda graph, units: "x", lambda graph, units: graph.at)),
    with_input(6, ones(1, 1, 0)),
    with_input(7, lambda graph, units: graph.constant(np.ones((1, 3 * units)))),
    with_input(4, lambda graph, units: graph.constant([0], np.int32)),
    with_input(4, lambda graph, units: graph.constant([1], np.int32)),
    with_input(1, ones(1, 0, 1)),
    with_input(3, ones(1, 0)),
    of_the_cell,
)


def changed_recurrent(rng: np.random.Generator, change: Callable[[Graph, Any], None]) -> "tuple[Graph, str]":
    graph = start(rng)
    activation(graph)
    node = recurrent(graph, pick(rng, "none", "zeros"))
    if rng.random() < 0.7:
        gemm(graph)
    change(graph, node)
    return graph, f"{node.op_type}: {change.__name__}"


def at_random(rng: np.random.Generator, add: Callable[[Graph], None]) -> "tuple[Graph, str]":
    graph = chain(rng, (activation, matmul, arithmetic))
    add(graph)
    if rng.random() < 0.7:
        pick(rng, activation, arithmetic)(graph)
    return graph, add.__name__


# What is wrong with a file as a whole: the bytes of a model, or the model, changed.


def _typed(kind: int) -> Callable[[Graph, Any], None]:
    def change(graph: Graph, model: Any) -> None:
        model.graph.input[0].type.tensor_type.elem_type = kind

    return change


def _sized(*sizes: int) -> Callable[[Graph, Any], None]:
    def change(graph: Graph, model: Any) -> None:
        shape = model.graph.input[0].type.tensor_type.shape
        for size, dim in zip(sizes, shape.dim):
            dim.dim_value = size
        graph.input_shape = [dim.dim_value or 1 for dim in shape.dim]

    return change


def _shapeless(graph: Graph, model: Any) -> None:
    model.graph.input[0].type.tensor_type.ClearField("shape")


def _version(version: int) -> Callable[[Graph, Any], None]:
    def change(graph: Graph, model: Any) -> None:
        model.opset_import[0].version = version

    return change


def _raw(change_bytes: Callable[[bytes], bytes]) -> Callable[[Graph, Any], None]:
    def change(graph: Graph, model: Any) -> None:
        for tensor in model.graph.initializer:
            if tensor.raw_data:
                tensor.raw_data = change_bytes(tensor.raw_data)

    return change


def _weights(kind: Any) -> Callable[[Graph, Any], None]:
    def change(graph: Graph, model: Any) -> None:
        for tensor in model.graph.initializer:
            array = numpy_helper.to_array(tensor)
            if array.dtype == np.float32:
                tensor.CopyFrom(numpy_helper.from_array(array.astype(kind), tensor.name))

    return change


def _value(value: float) -> Callable[[Graph, Any], None]:
    def change(graph: Graph, model: Any) -> None:
        for tensor in model.graph.initializer:
            array = numpy_helper.to_array(tensor).copy()
            if array.dtype == np.float32 and array.size:
                array.flat[0] = value
                tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))

    return change


def _both(graph: Graph, model: Any) -> None:
    for tensor in model.graph.initializer:
        if tensor.raw_data and tensor.data_type == TensorProto.FLOAT:
            tensor.float_data.extend(numpy_helper.to_array(tensor).ravel().tolist())


def _again(graph: Graph, model: Any) -> None:
    model.graph.node.append(model.graph.node[-1])


def _twice_said(graph: Graph, model: Any) -> None:
    for node in model.graph.node:
        if node.attribute:
            node.attribute.append(node.attribute[0])


def _shadowed(graph: Graph, model: Any) -> None:
    model.graph.initializer.append(numpy_helper.from_array(np.ones(1, np.float32), model.graph.node[-1].output[0]))


def _other_type(graph: Graph, model: Any) -> None:
    for node in model.graph.node:
        for attribute in node.attribute:
            attribute.type = 1 if attribute.type == 2 else 2


def _quiet_zeros(graph: Graph, model: Any) -> None:
    """As writers do that leave out what is 0."""
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.type == 2 and attribute.i == 0:
                attribute.ClearField("i")


FILES: "tuple[Callable[[Graph, Any], None], ...]" = (
    *(_typed(kind) for kind in (TensorProto.DOUBLE, TensorProto.INT64, TensorProto.FLOAT16)),
    *(_sized(*sizes) for sizes in ((2,), (3, 1), (0,))),
    _shapeless,
    *(_version(version) for version in (1, 5, 6, 8, 12, 13, 18, 22, 28, 99)),
    *(_raw(change) for change in (lambda raw: raw[:-1], lambda raw: raw + b"\0", lambda raw: raw[:-4], lambda raw: raw + raw)),
    *(_weights(kind) for kind in (np.float16, np.float64, np.int64)),
    *(_value(value) for value in (NAN, INFINITE)),
    _both,
    _again,
    _twice_said,
    _shadowed,
    _other_type,
    _quiet_zeros,
)


def test_anything_else_is_refused_or_the_same(tmp_path: Path) -> None:
    sides, outcomes = Sides(tmp_path), Counter[str]()
    faults = []

    def check(k: int, what: str, graph: Graph, model: Any) -> None:
        outcome, found, expected = compare(sides, graph, model, True)
        outcomes[f"{what.split(':')[0]}: {outcome}"] += 1
        if outcome == "different":
            faults.append(f"{SEED}, {k}, {what}\n{found}\n{expected}\n{told(graph)}")

    for k in range(GRAPHS):
        rng = np.random.default_rng((SEED, 1, k))
        kind = k % 4
        if kind == 0:
            graph = chain(rng, WILD)
            check(k, "wild", graph, graph.model())
        elif kind == 1:
            graph, what = at_random(rng, OUTSIDE[k // 4 % len(OUTSIDE)])
            check(k, f"operator: {what}", graph, graph.model())
        elif kind == 2:
            graph, what = changed_recurrent(rng, CHANGES[k // 4 % len(CHANGES)])
            check(k, f"recurrent: {what}", graph, graph.model())
        else:
            graph = chain(rng, memory=pick(rng, "", "none", "zeros"))
            model, place = graph.model(), k // 4 % len(FILES)
            FILES[place](graph, model)
            check(k, f"file: {place}", graph, model)
    assert not faults, f"{len(faults)} faults\n" + "\n\n".join(faults[:5])
    for what in ("wild", "file"):
        assert outcomes[f"{what}: same"] > GRAPHS / 100, outcomes
    for what in ("wild", "operator", "recurrent", "file"):
        assert outcomes[f"{what}: refused"] > GRAPHS / 50, outcomes


def test_the_first_layer_tells_a_shape_that_is_missing(tmp_path: Path) -> None:
    weights = np.linspace(-1, 1, 3, dtype=np.float32).reshape(3, 1)
    recurrent = [np.full((1, 4, 3), 0.5, np.float32), np.full((1, 4, 1), 0.25, np.float32)]
    cases: dict[str, tuple[list[Any], list[Any]]] = {
        "matmul": ([helper.make_node("MatMul", ["x", "w"], ["y"])], [weights]),
        "gemm": ([helper.make_node("Gemm", ["x", "w"], ["y"], transB=1)], [weights.T.copy()]),
        "lstm": ([helper.make_node("LSTM", ["x", "w", "r"], ["", "y"], hidden_size=1)], recurrent),
    }
    card = {"format": 1, "kind": "policy", "observation": ["rtt", "rate-log2", "action"], "action": "rate-multiplier"}
    card |= {"step": 0.3, "clock": "aligned", "interval": "10us"}
    for name, (nodes, tensors) in cases.items():
        constants = [numpy_helper.from_array(tensor, of) for tensor, of in zip(tensors, "wr")]
        value = [helper.make_tensor_value_info(of, TensorProto.FLOAT, None) for of in "xy"]
        graph = helper.make_graph(nodes, "g", value[:1], value[1:], initializer=constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        (tmp_path / f"{name}.onnx").write_bytes(model.SerializeToString())
        (tmp_path / f"{name}.json").write_text(json.dumps(card | {"name": name}))
        _, outputs = paceline.decide(tmp_path / f"{name}.json", [[0.5, -0.25, 1.0]])
        if name != "lstm":
            assert outputs[0] == pytest.approx([0.5 * -1 + 1.0 * 1], rel=1e-6)
    # Nothing else tells it.
    nodes = [helper.make_node("Tanh", ["x"], ["z"]), helper.make_node("MatMul", ["z", "w"], ["y"])]
    value = [helper.make_tensor_value_info(of, TensorProto.FLOAT, None) for of in "xy"]
    graph = helper.make_graph(nodes, "g", value[:1], value[1:], initializer=[numpy_helper.from_array(weights, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    (tmp_path / "tanh.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "tanh.json").write_text(json.dumps(card | {"name": "tanh"}))
    with pytest.raises(ValueError, match="has no shape"):
        paceline.decide(tmp_path / "tanh.json", [[0.5, -0.25, 1.0]])
