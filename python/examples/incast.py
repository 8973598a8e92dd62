# %% [markdown]
# Sixteen hosts send to one: run, look, compare, sweep, plot. Each `# %%` is a cell: editors and Jupyter (with
# jupytext) open this file as a notebook, and `python incast.py` runs it from top to bottom.

# %%
from pathlib import Path

import matplotlib.pyplot as plot
import paceline
import polars

FIGURES = Path("figures")
FIGURES.mkdir(exist_ok=True)

# %% A run, and what came of it.
run = paceline.run("incast-16", scheme="dcqcn", out="incast-dcqcn", force=True)
print(run)
print("99th percentile of slowdowns:", run.summary["fct_slowdown"]["p99"])

# %% Its flows are a table: here for polars; pandas, pyarrow and DuckDB take it as well.
flows = polars.DataFrame(run.flows)
print(flows.select("flow_id", "src", "size_bytes", "fct_ps", "slowdown").sort("slowdown").tail(3))

# %% Its series are tables, one for each quantity: the queue that grows.
queues = polars.DataFrame(run.series["queue_bytes"])
longest = queues.group_by("entity").agg(polars.col("max").max()).sort("max").row(-1)
print("longest queue:", *longest)
port = queues.filter(polars.col("entity").cast(str) == longest[0])

figure, axes = plot.subplots(figsize=(6, 3))
axes.step(port["time_ps"] / 1e6, port["value"] / 1e3, where="post")
axes.set(xlabel="time, µs", ylabel="queue, KB", title=longest[0])
figure.savefig(FIGURES / "queue.svg", bbox_inches="tight")

# %% Why the slowest flow was slow.
slowest = paceline.why(run, top=1)[0]["flow"]["flow_id"]
print(paceline.why(run, slowest))

# %% The same flows under other schemes.
print(paceline.compare("incast-16", ["hpcc", "dcqcn", "timely"]))

# %% A scenario may be a dict, and a sweep is a grid of changes to it. It goes on where it was interrupted: the
# second time this file is run, its runs are there.
scenario = {
    "name": "incast-by-size",
    "duration": "20ms",
    "topology": {"star": {"hosts": 17, "rate": "100Gbps", "delay": "1us"}},
    "workload": [
        {"label": "incast", "incast": {"fan-in": 16, "receiver": 17, "size": "100KB"}}
    ],
    "cc": {"scheme": "hpcc"},
}
sweep = paceline.sweep(
    scenario,
    over={
        "cc.scheme": ["hpcc", "dcqcn", "timely"],
        "workload.incast.incast.size": ["20KB", "100KB", "500KB"],
    },
    out="incast-by-size",
)
results = polars.DataFrame(sweep.results)

figure, axes = plot.subplots(figsize=(6, 3))
for (scheme,), rows in results.group_by("cc.scheme", maintain_order=True):
    axes.plot(rows["workload.incast.incast.size"].cast(str), rows["fct_slowdown.p99"], "o-", label=scheme)
axes.set(xlabel="size of each flow", ylabel="slowdown, 99th percentile")
axes.legend()
figure.savefig(FIGURES / "sweep.svg", bbox_inches="tight")
print(results.select("cc.scheme", "workload.incast.incast.size", "fct_slowdown.p99", "pfc.pauses"))
