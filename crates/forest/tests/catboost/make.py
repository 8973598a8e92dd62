"""Makes the files beside it: `pip install catboost==1.2.10 numpy`, then `python make.py`."""

import json
import pathlib

import numpy
from catboost import CatBoostRegressor, Pool

HERE = pathlib.Path(__file__).parent
NAMES = ["latency", "loss", "log2(rate)", "log2(in flight)", "a[t-1]"]


def rows(count, seed):
    draw = numpy.random.default_rng(seed)
    columns = [
        draw.uniform(0, 2.5, count),
        draw.uniform(0, 1, count) ** 4,
        draw.uniform(-1, 0, count),
        draw.uniform(-2, 2, count),
        draw.uniform(-0.5, 0.5, count),
    ]
    return numpy.stack(columns, axis=1).astype(numpy.float32)


def wanted(x):
    """A policy: slower with latency and loss, and the more so the faster it is."""
    return 0.4 * numpy.tanh((1.2 + x[:, 2]) * (0.8 - x[:, 0])) - 0.2 * x[:, 1] + 0.05 * x[:, 4] * (x[:, 3] > 0.3)


def save(model, name):
    """Without what says when it was made, in one line."""
    model.save_model(str(HERE / name), format="json")
    content = json.loads((HERE / name).read_text())
    del content["model_info"]
    (HERE / name).write_text(json.dumps(content, separators=(",", ":")) + "\n")


same = {"learning_rate": 0.2, "random_seed": 1, "thread_count": 1, "verbose": False, "allow_writing_files": False}
x = rows(4000, 1)
pool = Pool(x, wanted(x), feature_names=NAMES)
model = CatBoostRegressor(
    iterations=40, depth=4, border_count=32, monotone_constraints={"latency": -1}, **same
)
model.fit(pool)
save(model, "model.json")

probes = rows(60, 2)
# Also on borders themselves.
trees = json.loads((HERE / "model.json").read_text())["oblivious_trees"]
for row, split in zip(probes, [tree["splits"][0] for tree in trees[:20]]):
    row[split["float_feature_index"]] = numpy.float32(split["border"])
answers = model.predict(probes)
(HERE / "predictions.json").write_text(
    json.dumps({"rows": [[float(v) for v in row] for row in probes], "predictions": list(answers)}) + "\n"
)

# What cannot be taken: trees that are not oblivious.
other = CatBoostRegressor(iterations=2, depth=2, grow_policy="Depthwise", border_count=8, **same)
other.fit(pool)
save(other, "depthwise.json")
