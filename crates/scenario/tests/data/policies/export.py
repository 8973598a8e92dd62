"""Writes the policies of this folder with PyTorch, and what PyTorch computes with them: outputs.json.

    python export.py FOLDER      needs torch, onnx, onnxscript, safetensors
"""

import json
import sys
from pathlib import Path

import onnx
import torch
from safetensors.torch import save_file
from torch import nn

OBSERVATION = ["rtt", "marks", "rate-log2", "action"]


class Recurrent(nn.Module):
    """A linear layer, recurrent ones, and the action, or with `actions` a number for each."""

    def __init__(self, kind: type, layers: int, actions: int) -> None:
        super().__init__()
        self.first = nn.Linear(4, 6)
        self.memory = kind(6, 5, num_layers=layers)
        self.head = nn.Linear(5, actions)

    def forward(self, x, *state):
        x = torch.nn.functional.leaky_relu(self.first(x))
        x, state = self.memory(x, state if len(state) > 1 else state[0])
        return torch.tanh(self.head(x)), state


def main(out: Path) -> None:
    torch.manual_seed(7)
    mlp = nn.Sequential(nn.Linear(8, 9), nn.ELU(), nn.Linear(9, 7), nn.SiLU(), nn.Linear(7, 1), nn.Tanh())
    plain = nn.Sequential(nn.Linear(8, 9), nn.Tanh(), nn.Linear(9, 7), nn.Sigmoid(), nn.Linear(7, 1))
    gru, lstm = Recurrent(nn.GRU, 2, 1), Recurrent(nn.LSTM, 1, 3)
    first, head = {"linear": "first", "then": "leaky-relu"}, {"linear": "head", "then": "tanh"}
    hidden = torch.zeros(2, 1, 5), torch.zeros(1, 1, 5)
    models = {
        "mlp": (mlp, 2, (), [{"linear": "0", "then": "elu"}, {"linear": "2", "then": "silu"}, {"linear": "4", "then": "tanh"}]),
        "plain": (plain, 2, (), [{"linear": "0", "then": "tanh"}, {"linear": "2", "then": "sigmoid"}, {"linear": "4"}]),
        "gru": (gru, 1, hidden[:1], [first, {"gru": "memory"}, head]),
        "lstm": (lstm, 1, (hidden[1], hidden[1]), [first, {"lstm": "memory"}, head]),
    }
    extra = {"lstm": {"choices": [-1.0, 0.0, 0.5]}}
    inputs, outputs = torch.randn(6, 8), {}
    for name, (model, history, state, layers) in models.items():
        card = {
            "format": 1,
            "kind": "policy",
            "name": name,
            "observation": OBSERVATION,
            "history": history,
            "action": "rate-multiplier",
            **extra.get(name, {}),
        }
        said = {**card, "layers": layers}
        (out / f"{name}.json").write_text(json.dumps(said, indent=2) + "\n")
        save_file(model.state_dict(), out / f"{name}.safetensors")
        example = torch.zeros(1, 8) if history == 2 else torch.zeros(1, 1, 4)
        for exporter in ("dynamo", "script"):
            if name == "mlp":
                break  # SiLU is two operators that both read x
            file = out / f"{name}-{exporter}"
            kind = {"external_data": False} if exporter == "dynamo" else {}
            torch.onnx.export(
                model, (example, *state), f"{file}.onnx", dynamo=exporter == "dynamo", verbose=False, **kind
            )
            # What it says of the machine and of the lines of this script goes.
            exported = onnx.load(f"{file}.onnx")
            for part in (exported, exported.graph, *exported.graph.node, *exported.graph.value_info):
                part.ClearField("metadata_props")
                part.ClearField("doc_string")
            onnx.save(exported, f"{file}.onnx")
            file.with_suffix(".json").write_text(json.dumps(card, indent=2) + "\n")
        rows, memory = [], state
        with torch.no_grad():
            for row in inputs:
                if history == 2:
                    rows.append(model(row[None])[0].tolist())
                else:
                    y, memory = model(row[None, None, :4], *memory)
                    memory = memory if isinstance(memory, tuple) else (memory,)
                    rows.append(y[0, 0].tolist())
        outputs[name] = rows
    text = {"inputs": inputs.tolist(), "outputs": outputs}
    (out / "outputs.json").write_text(json.dumps(text) + "\n")


main(Path(sys.argv[1]))
