"""Sweeps on executors: workers make blocks of runs, the caller owns the folder.

A task has texts alone: the errand (scenario, changes, version), and the runs of its block. So any executor carries it,
and a task that runs twice, or dies, costs nothing but its time.
"""

from __future__ import annotations

import atexit
import base64
import hashlib
import json
import os
import queue
import re
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Optional

from . import _native
from .errors import ArgumentError, PacelineError, RunError

# Seconds of a block by the estimate: a task costs up to some milliseconds, and takes its turn when another ends.
_BLOCK_S = 10.0
# Shorter ones serve sweeps that would otherwise be fewer blocks than workers.
_LEAST_S = 0.25
# Blocks that are handed out before the first result, unless there are more workers.
_AHEAD = 256
# Seconds between calls of `progress`.
_TICK_S = 0.25
# Bytes of the scenario with its files that go with every task: with a shared folder, and without.
_SENT_SHARED = 1 << 20
_SENT = 64 << 20


def check(executor: Any) -> None:
    """Raise an error that says what to give, unless this is an executor."""
    kind = type(executor).__name__
    if isinstance(executor, type):
        raise ArgumentError(f"executor: expected an executor, found the class `{executor.__name__}`: write {executor.__name__}()")
    if kind == "Client" and callable(getattr(executor, "get_executor", None)):
        raise ArgumentError("executor: expected an executor, found a client of Dask: write client.get_executor()")
    if not callable(getattr(executor, "submit", None)):
        raise ArgumentError(
            f"executor: expected a concurrent.futures.Executor, such as ProcessPoolExecutor(), found a value of type `{kind}`"
        )


def sweep(
    scenario: Any,
    executor: Any,
    shared: bool,
    progress: Optional[Callable[[_native.Progress], Any]],
    **keywords: Any,
) -> _native.Sweep:
    """As `paceline.sweep`, with the runs made by an executor."""
    check(executor)
    mine = _native._Dispatched(scenario, **keywords)
    try:
        crew = _Crew(mine, executor, shared, progress, _errand(mine, shared))
        crew.work()
        return mine.finish()
    finally:
        mine.close()


def _errand(mine: _native._Dispatched, shared: bool) -> str:
    """The text that all tasks have in common: its native part, and what a worker elsewhere needs."""
    native = json.loads(mine.errand)
    definition = native["definition"]
    files, source = {}, None
    found = _scenario_file(definition)
    words = "\n".join([*definition["set"], *definition["over"]])
    if found is not None or definition["text"] is not None:
        name, text, folder = found or ("scenario.toml", definition["text"], None)
        files, source = {name: text.encode()}, name
        if folder is not None and (folder / "summary.json").is_file():
            # The folder of an earlier run: its summary has warnings about the input.
            files["summary.json"] = (folder / "summary.json").read_bytes()
        limit = _SENT_SHARED if shared else _SENT
        for path, content in _named(f"{text}\n{words}", folder):
            files.setdefault(path, content)
            if sum(map(len, files.values())) > limit:
                if not shared:
                    raise ArgumentError(
                        f"the scenario and the files that it names have more than {limit >> 20} MB, which is too much for"
                        " a task: put them where all workers see them, and use a shared folder (shared=True)"
                    )
                # Workers read them where they are.
                files, source = {}, None
                break
    sent = {
        "native": mine.errand,
        "version": native["version"],
        "folder": os.path.abspath(mine.folder) if shared else None,
        "here": os.getcwd(),
        "path": os.path.abspath(definition["input"]) if found is not None else None,
        "scenario": hashlib.sha256(files[source]).hexdigest() if source else None,
        "source": source,
        "files": {name: base64.b64encode(content).decode() for name, content in files.items()},
    }
    return json.dumps(sent)


def _scenario_file(definition: dict[str, Any]) -> Optional[tuple[str, str, Path]]:
    """Name, text and folder of a scenario in a file; `None` if it is built in or a text."""
    path = Path(definition["input"])
    if definition["text"] is not None:
        return None
    if path.is_dir():
        path = next((file for file in (path / "scenario.toml", path / "config.txt") if file.is_file()), path)
    if not path.is_file():
        return None
    return path.name, path.read_text(encoding="utf-8", errors="replace"), path.parent


# Separators of names in scenarios and configurations.
_WORDS = re.compile(r"[\s\"'=,\[\]{}]+")


def _named(text: str, folder: Optional[Path], depth: int = 2) -> Iterator[tuple[str, bytes]]:
    """The files that words of a text name, by a path below the scenario's folder or the working directory. A name may
    be the beginning of several: `llama` stands for llama.0.et and others."""
    roots = [folder or Path(), Path()]
    for word in dict.fromkeys(_WORDS.split(text)):
        path = Path(word)
        if len(word) < 2 or len(word) > 200 or path.is_absolute() or ".." in path.parts or not path.name:
            continue
        for root in dict.fromkeys(roots):
            if (root / path).is_file():
                found = [root / path]
            elif "/" in word or "." in word or folder is not None:
                found = [file for file in (root / path.parent).glob(path.name + ".*") if file.is_file()]
            else:
                found = []
            for file in found:
                content = file.read_bytes()
                yield str(path.parent / file.name), content
                # A card names the weights next to it.
                if depth > 0 and file.suffix == ".json":
                    inner = _named(content.decode(errors="replace"), file.parent, depth - 1)
                    yield from ((str(path.parent / name), more) for name, more in inner)
            if found:
                break


class _Crew:
    """One call: blocks that are out, and what has come back."""

    def __init__(
        self,
        mine: _native._Dispatched,
        executor: Any,
        shared: bool,
        progress: Optional[Callable[[_native.Progress], Any]],
        errand: str,
    ) -> None:
        self.mine, self.executor, self.shared, self.progress = mine, executor, shared, progress
        self.errand = errand
        self.out: dict[Any, str] = {}
        self.back: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.runs, _ = mine.counts()
        self.done, self.events, self.packet_hops = 0, 0, 0
        # The first exception of the executor, after which others may still go on.
        self.lost: Optional[BaseException] = None
        self.closed = self.stopped = False

    def work(self) -> None:
        """Hand out blocks and take in their results until no run is left, or nothing goes on."""
        workers = _workers(self.executor)
        try:
            self.hand_out(workers)
            while self.out:
                try:
                    future = self.back.get(timeout=_TICK_S)
                except queue.Empty:
                    self.report()
                    continue
                block = self.out.pop(future, None)
                if block is not None:
                    self.take_in(future, block)
                    self.hand_out(workers)
                    self.report()
        except BaseException:
            # What runs goes on to the end of its block, and its rows are found by the next call.
            for future in list(self.out):
                future.cancel()
            raise
        self.report()
        count, examples = self.mine.missing()
        if count == 0 or (self.stopped and self.lost is None):
            return
        if self.lost is None:
            raise RunError(f"{self.named(count, examples)}: a worker ended early; call again to make them")
        why = str(self.lost).strip().splitlines()
        kind = type(self.lost).__name__
        reason = f"{kind}: {why[0]}" if why else kind
        raise RunError(f"{self.named(count, examples)}: {reason}; call again to make them") from self.lost

    def named(self, count: int, examples: list[str]) -> str:
        more = f", and {count - len(examples)} more" if count > len(examples) else ""
        return f"{count} of {self.runs} runs are missing ({'; '.join(examples)}{more})"

    def hand_out(self, workers: int) -> None:
        """Submit blocks as long as there are runs and few blocks are out."""
        while not (self.closed or self.stopped) and len(self.out) < max(_AHEAD, 4 * workers):
            # Blocks get shorter at the end, so that workers end at about one time.
            left = self.mine.seconds_left()
            taken = self.mine.take(min(_BLOCK_S, max(_LEAST_S, left / (4 * workers))))
            if taken is None:
                return
            block, _ = taken
            try:
                future = self.executor.submit(make_block, self.errand, block)
            except PacelineError:
                raise
            except Exception as error:
                self.lost = self.lost or error
                self.closed = True
                return
            self.out[future] = block
            future.add_done_callback(self.back.put)

    def take_in(self, future: Any, block: str) -> None:
        """Take in the result of a block; its rows are written here if the worker could not."""
        if future.cancelled():
            return
        try:
            ran, rows = future.result()
        except PacelineError:
            # Every other block would fail alike: another version, a full disk, a scenario that has changed.
            raise
        except Exception as error:
            self.lost = self.lost or error
            return
        for row, files in rows:
            self.mine.accept(row, files)
        here = self.mine.ended(block, ran)
        result = json.loads(ran)
        self.done += len(result["ended"]) + here
        self.events += result["events"]
        self.packet_hops += result["packet_hops"]

    def report(self) -> None:
        """Tell the caller how far all workers are; if it answers `False`, nothing more starts."""
        if self.progress is None:
            return
        now = self.mine.progress(self.runs, min(self.done, self.runs), self.events, self.packet_hops)
        if self.progress(now) is False and not self.stopped:
            self.stopped = True
            for future in list(self.out):
                if future.cancel():
                    self.out.pop(future, None)


def _workers(executor: Any) -> int:
    """The number of workers, or of this machine's cores where an executor does not say."""
    for name in ("_max_workers", "num_workers"):
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    return os.cpu_count() or 1


# Workers may be threads of one process.
_LOCK = threading.Lock()
# Folders of scenarios on a worker, by the digest of their errands; they last as long as the process.
_FOLDERS: dict[str, tempfile.TemporaryDirectory[str]] = {}
_ERRANDS: dict[str, dict[str, Any]] = {}


def make_block(errand: str, block: str) -> tuple[str, list[tuple[str, list[tuple[str, bytes]]]]]:
    """Make a block of runs on a worker. Returns its result, and the rows with their files unless the folder is shared."""
    digest = hashlib.sha256(errand.encode()).hexdigest()
    with _LOCK:
        if digest not in _ERRANDS:
            # A worker serves few sweeps at a time.
            if len(_ERRANDS) > 8:
                _ERRANDS.clear()
            _ERRANDS[digest] = json.loads(errand)
        sent = _ERRANDS[digest]
    if sent["version"] != _native.__version__:
        raise RunError(
            f"a worker on {socket.gethostname()} has Paceline {_native.__version__}, this sweep is by {sent['version']}:"
            " install the same version on all machines"
        )
    where = _input(digest, sent)
    if sent["folder"] is not None:
        if not os.path.isdir(sent["folder"]):
            raise RunError(
                f"a worker on {socket.gethostname()} does not see the folder {sent['folder']}: choose one that all"
                " machines share, or use shared=False"
            )
        return _native._block(sent["native"], block, sent["folder"], where), []
    with tempfile.TemporaryDirectory(prefix="paceline-") as folder:
        ran = _native._block(sent["native"], block, folder, where)
        return ran, list(_rows(Path(folder)))


def _input(digest: str, sent: dict[str, Any]) -> Optional[str]:
    """The path of the scenario here, if it differs from that of the caller."""
    if sent["path"] is None and sent["source"] is None:
        return None
    here = os.getcwd() == sent["here"]
    if sent["source"] is None:
        return None if here else str(sent["path"])
    if sent["path"] is None:
        # A dict; the files that it names are in the working directory.
        if here or len(sent["files"]) == 1:
            return None
    elif here and _is_same(sent):
        return None
    with _LOCK:
        return _copied(digest, sent)


def _copied(digest: str, sent: dict[str, Any]) -> str:
    """The path of a copy of the scenario, next to the files that it names."""
    if digest not in _FOLDERS:
        folder = tempfile.TemporaryDirectory(prefix="paceline-scenario-")
        for name, content in sent["files"].items():
            file = Path(folder.name, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(base64.b64decode(content))
        _FOLDERS[digest] = folder
    return os.path.join(_FOLDERS[digest].name, sent["source"])


def _is_same(sent: dict[str, Any]) -> bool:
    """True if the scenario's file is here, too."""
    path = Path(sent["path"])
    if path.is_dir():
        path = path / sent["source"]
    try:
        text = path.read_text(encoding="utf-8", errors="replace").encode()
    except OSError:
        return False
    return bool(hashlib.sha256(text).hexdigest() == sent["scenario"])


def _forget() -> None:
    """Remove the copies of scenarios."""
    while _FOLDERS:
        _, folder = _FOLDERS.popitem()
        shutil.rmtree(folder.name, ignore_errors=True)
        folder.cleanup()


atexit.register(_forget)


def _rows(folder: Path) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """Each row with the files of its run."""
    for row in sorted((folder / "rows").glob("*.json")):
        run = folder / "runs" / row.stem
        files = [
            (file.relative_to(run).as_posix(), file.read_bytes()) for file in sorted(run.rglob("*")) if file.is_file()
        ]
        yield row.read_text(encoding="utf-8"), files
