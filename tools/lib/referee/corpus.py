"""Writes and checks data/referee; see tools/make_referee_corpus --help."""

import argparse
import json
import pathlib
import sys

from onnx import numpy_helper

import graphs
import pairs_batch_norm  # noqa: F401 (each of these adds its pairs)
import pairs_fusion  # noqa: F401
import pairs_layout  # noqa: F401
import pairs_nop  # noqa: F401
import pairs_quantized  # noqa: F401
import pairs_window  # noqa: F401
from engines import OnnxRuntime, distance
from evaluate import evaluate

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDER = ROOT / "data" / "referee"
PAGE = ROOT / "docs" / "referee-corpus.md"
# Of the largest value of an output: what is above is a difference, what is below is rounding.
DIFFERENCE, ROUNDING = 1e-3, 1e-5


def record(pair):
    """The pair's entry in corpus.json."""
    verdict = pair["verdict"]
    entry = {"name": pair["name"], "thread": pair["thread"], "happened": pair["happened"],
             "verdict": verdict.verdict}
    if verdict.contract:
        entry["contract"] = verdict.contract
    entry["difference"] = verdict.difference
    if verdict.steps:
        entry["steps"] = verdict.steps
    entry["from"] = "counterpart" if pair["counterpart"] else "thread"
    if pair["quantized"]:
        entry["quantized"] = True
    return entry


def files_of(pair):
    """What belongs into the pair's folder: name -> bytes."""
    before, after, inputs = graphs.build(pair)
    files = {"before.onnx": before.SerializeToString(), "after.onnx": after.SerializeToString()}
    for i, value in enumerate(inputs):
        files[f"input_{i}.pb"] = numpy_helper.from_array(
            value, before.graph.input[i].name).SerializeToString()
    return files


def all_files():
    entries = [record(pair) for pair in graphs.PAIRS]
    files = {"corpus.json": (json.dumps({"pairs": entries}, indent=1, ensure_ascii=False) + "\n")
             .encode()}
    for pair in graphs.PAIRS:
        files.update({f"{pair['name']}/{name}": data for name, data in files_of(pair).items()})
    return files


def write(folder):
    for name, data in all_files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    print(f"{len(graphs.PAIRS)} pairs written to {folder}")


def stale_files():
    """Differences between data/referee and what would be written, as sentences."""
    expected = all_files()
    present = {str(p.relative_to(FOLDER)) for p in FOLDER.rglob("*") if p.is_file()}
    present -= {"BUILD.bazel"}
    page = [] if table() in PAGE.read_text() else [
        f"{PAGE.relative_to(ROOT)} has another table than tools/make_referee_corpus --table prints"]
    return (page + [f"{name} is missing" for name in sorted(expected.keys() - present)] +
            [f"{name} belongs to no pair" for name in sorted(present - expected.keys())] +
            [f"{name} is not what tools/make_referee_corpus writes"
             for name in sorted(expected.keys() & present)
             if (FOLDER / name).read_bytes() != expected[name]])


def one_step(before, after, verdict):
    """Whether integers differ by no more steps than the verdict says rounding explains."""
    return verdict.steps and all(
        a.dtype.kind in "iu" and abs(a.astype(int) - b.astype(int)).max() <= verdict.steps
        for a, b in zip(before, after))


def judge(pair, before, after, exact):
    """What an engine's outputs (or its refusal) say of the verdict: a word, and whether it fits.

    exact: the engine evaluates operator by operator in one order, so bit_exact means bit by bit.
    """
    verdict = pair["verdict"]
    if isinstance(before, str):
        return "before refused: " + before[:60], False
    if isinstance(after, str):
        return "after refused", verdict.verdict == "invalid"
    if verdict.verdict == "invalid":
        return "after runs", False
    if [(o.shape, o.dtype) for o in before] != [(o.shape, o.dtype) for o in after]:
        return "other outputs", verdict.verdict == "different_interface"
    apart = distance(before, after)
    word = f"{apart:.1e}" if apart else "equal"
    if verdict.verdict == "refuted":
        return word, apart > DIFFERENCE
    if verdict.verdict != "proved":
        return word, False
    limit = 0 if exact and verdict.contract == "bit_exact" else ROUNDING
    return word, apart <= limit or one_step(before, after, verdict)


def agree(pair, ours, theirs):
    """Whether two engines say the same of one model."""
    if isinstance(ours, str) or isinstance(theirs, str):
        return True  # an engine may run what ONNX does not allow; judge() looks at refusals
    return distance(ours, theirs) <= ROUNDING or one_step(ours, theirs, pair["verdict"])


def with_numpy(model, inputs):
    try:
        return evaluate(model, inputs)
    except Exception as error:  # whatever NumPy says of an invalid model
        return f"{type(error).__name__}: {error}"


def unreadable(model):
    """Why a model is invalid although it may run: a name twice, or what ONNX's checker says."""
    names = [t.name for t in model.graph.initializer]
    if len(names) != len(set(names)):
        return "a name twice"
    pads = [p for n in model.graph.node if n.op_type == "Conv" for a in n.attribute
            if a.name == "pads" for p in a.ints]
    return "negative pads" if any(p < 0 for p in pads) else None


def check(names, with_ort):
    problems = stale_files()
    runtime = OnnxRuntime() if with_ort else None
    chosen = [p for p in graphs.PAIRS if not names or p["name"] in names]
    width = max(len(p["name"]) for p in chosen)
    print(f"{'pair':{width}}  {'deserves':20}  {'NumPy':14}  ONNX Runtime")
    for pair in chosen:
        before, after, inputs = graphs.build(pair)
        files = files_of(pair)
        refusal = unreadable(after)
        outputs = [with_numpy(before, inputs), refusal or with_numpy(after, inputs)]
        word, fits = judge(pair, *outputs, exact=True)
        words, fit = [word], [fits]
        if runtime:
            data = [files[f"input_{i}.pb"] for i in range(len(inputs))]
            theirs = [runtime.run(files[name], data) for name in ("before.onnx", "after.onnx")]
            word, fits = judge(pair, *theirs, exact=False)
            words.append(word)
            # An engine may run what ONNX does not allow.
            fit.append(fits or bool(refusal))
            if not all(agree(pair, a, b) for a, b in zip(outputs, theirs)):
                problems.append(f"{pair['name']}: NumPy and ONNX Runtime disagree about a model")
        verdict = pair["verdict"]
        deserved = f"{verdict.verdict} {verdict.contract or ''}".strip()
        note = "" if all(fit) else "  <- not as corpus.json says"
        print(f"{pair['name']:{width}}  {deserved:20}  {words[0]:14}  "
              f"{words[1] if runtime else '':14}{note}")
        if not all(fit):
            problems.append(f"{pair['name']}: {', '.join(words)}; it deserves {deserved}")
    for problem in problems:
        print(f"make_referee_corpus: {problem}", file=sys.stderr)
    print(f"{len(chosen)} pairs, {len(problems)} problems")
    return 1 if problems else 0


def table():
    """The pairs as the table of the page."""
    lines = ["| pair | thread | verdict | what differs, or why nothing does |", "|---|---|---|---|"]
    for pair in graphs.PAIRS:
        verdict = pair["verdict"]
        parts = pair["thread"].split("/")
        deserved = verdict.verdict.replace("_", " ")
        if verdict.contract:
            deserved += f", `{verdict.contract}`"
        lines.append(f"| `{pair['name']}` | [{parts[4]} {parts[-1]}]({pair['thread']}) | "
                     f"{deserved} | {verdict.difference} |")
    return "\n".join(lines) + "\n"


def levels():
    """The models that ONNX Runtime itself gives other results when it optimizes them."""
    runtimes = {level: OnnxRuntime(level) for level in ("disabled", "basic", "extended", "all")}
    for pair in graphs.PAIRS:
        files = files_of(pair)
        data = [files[name] for name in sorted(files) if name.startswith("input_")]
        for model in ("before.onnx", "after.onnx"):
            plain = runtimes["disabled"].run(files[model], data)
            if isinstance(plain, str):
                continue
            for level in ("basic", "extended", "all"):
                got = runtimes[level].run(files[model], data)
                if isinstance(got, str):
                    said = f"refused: {got[:70]}"
                elif [o.shape for o in got] != [o.shape for o in plain]:
                    said = f"shapes {[o.shape for o in got]} in place of {[o.shape for o in plain]}"
                elif distance(plain, got) <= ROUNDING:
                    continue
                else:
                    said = f"differs by {distance(plain, got):.1e} of the largest value"
                print(f"{pair['name']}/{model} at level {level}: {said}")
                break


def main():
    parser = argparse.ArgumentParser(usage="see tools/make_referee_corpus --help")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=pathlib.Path, default=FOLDER)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--no-ort", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--levels", action="store_true")
    flags = parser.parse_args()
    names = {p["name"] for p in graphs.PAIRS}
    if len(names) != len(graphs.PAIRS):
        sys.exit("make_referee_corpus: two pairs have one name")
    for name in flags.names:
        if name not in names:
            sys.exit(f"make_referee_corpus: no pair '{name}'; corpus.json lists them")
    if flags.table:
        print(table(), end="")
    elif flags.levels:
        levels()
    elif flags.check:
        sys.exit(check(set(flags.names), not flags.no_ort))
    else:
        write(flags.out)


if __name__ == "__main__":
    main()
