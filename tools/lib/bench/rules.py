"""Compares rule files by the costs that the search reaches with them; see tools/bench --help."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXPORTED = pathlib.Path.home() / ".cache/lemma/models"
LIGHT = ROOT / "data/models/light"
GENERATED = ROOT / "data/rules/generated_inference.txt"


def models(names):
    """Returns the paths of the models: those exported, and the light ones without weights."""
    found = {p.stem: p for p in sorted(EXPORTED.glob("*.onnx")) + sorted(LIGHT.glob("*.onnx"))}
    unknown = [name for name in names if name not in found]
    if unknown:
        raise SystemExit(f"bench: no model {', '.join(unknown)}; there are {', '.join(found)}")
    return {name: found[name] for name in names or found}


def optimize(flags, path, rules, costs, out):
    """Returns the report of one optimization; of a model, the rules alone differ between calls."""
    command = [flags.lemma, "optimize", path, "-o", out, "--json", "--numerics", flags.numerics]
    command += ["--runs", "3", "--budget", str(flags.budget), "--cost-db", costs]
    command += ["--rules", rules]
    if path.parent == LIGHT:
        command += ["--reseed-weights", "1"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit status {done.returncode}")
    return json.loads(done.stdout)


def measure(flags):
    rule_files = {"starter": "starter"}
    for one in flags.rules:
        name, _, path = one.partition("=")
        rule_files[name if path else pathlib.Path(one).stem] = path or one
    labels = ["input", *rule_files]
    print("|", " | ".join(["model", *labels]), "|")
    print("|" + "---|" * (1 + len(labels)), flush=True)
    rows = []
    with tempfile.TemporaryDirectory() as work:
        folder = flags.costs or pathlib.Path(work)
        folder.mkdir(parents=True, exist_ok=True)
        for name, path in models(flags.models).items():
            row = {"model": name, "ms": {}, "rules": {}, "graphs": {}, "search_seconds": {}}
            out = pathlib.Path(work) / "out.onnx"
            # A search whose result does not pay corrects costs. The first round makes these
            # corrections; only the second round counts.
            for rules in rule_files.values():
                optimize(flags, path, rules, folder / f"{name}.sqlite", out)
            for label, rules in rule_files.items():
                report = optimize(flags, path, rules, folder / f"{name}.sqlite", out)
                row["ms"]["input"] = report["predicted_ms_before"]
                row["ms"][label] = report["predicted_ms_after"]
                row["rules"][label] = report["search_rules"]
                row["graphs"][label] = report["graphs"]
                row["search_seconds"][label] = report["search_seconds"]
            rows.append(row)
            cells = [name, *(f"{row['ms'][label]:.3f}" for label in labels)]
            print("|", " | ".join(cells), "|", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--models", type=lambda s: s.split(","), default=[])
    parser.add_argument("--rules", action="append", metavar="NAME=FILE")
    parser.add_argument("--numerics", default="reassociate")
    parser.add_argument("--budget", type=int, default=2000)
    parser.add_argument("--costs", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "data/measurements/rules.json")
    flags = parser.parse_args()
    flags.rules = flags.rules or [f"generated={GENERATED}"]
    rows = measure(flags)
    flags.out.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit(f"bench: {error}")
