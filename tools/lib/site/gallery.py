"""Draws, proves and times the rules of docs/gallery.md; see tools/make_gallery --help."""

import argparse
import datetime
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import package

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/gallery.md"
PICTURES = ROOT / "docs/gallery"
OUT = ROOT / "data/measurements/gallery.json"
# File of data/rules -> rule -> the sizes at which both sides are timed, if they are.
RULES = {
    "transformer": {
        "gen_46": {"b": [], "l": 8, "m": 128, "k": 512, "n": 512},
        "gen_221": {"b": [8], "m": 512, "n": 512},
    },
    "training": {"gen_65": {"m": 512, "n": 512, "n2": 512}},
    "training_2d": {"gen_61": {"m": 8192, "n": 64, "n2": 64}},
    "taso_2d": {
        "gen_119": {"m": 1024, "n": 64},
        "gen_131": {"b": [1024, 1024]},
    },
    "taso_4": {
        "gen_296": {"n": 1, "c": 64, "c2": 64, "c3": 64, "g": 1, "h": 56, "w": 56},
        "gen_183": {"k": 256, "c": 256, "r": 1, "s": 3},
        "gen_168": {"n": 1, "c": 64, "c2": 64, "c3": 32, "g": 4, "k": 64, "k2": 64, "p": 1, "q": 1, "h": 56, "w": 56},
        # oneDNN has only its reference kernel for a convolution of the source, and the time says
        # nothing about the rule.
        "gen_292": None,
    },
}


def rule_text(file, name):
    """A rule of a file in data/rules, without comments and record."""
    text = (ROOT / f"data/rules/{file}.txt").read_text()
    return re.search(rf"^rule {name}\(.*?^\}} => \{{.*?^\}}$", text, re.MULTILINE | re.DOTALL)[0]


def value(expression, sizes):
    """A term or a list of terms as a graph has it: a number, or numbers in brackets."""
    if expression.startswith("["):
        result = []
        for item in filter(None, map(str.strip, expression[1:-1].split(","))):
            result += sizes[item[:-2]] if item.endswith("..") else [value(item, sizes)]
        return "[" + ", ".join(map(str, result)) + "]"
    if not re.fullmatch(r"[\w\s()+*-]+", expression):
        raise ValueError(f"{expression} is no term that this script reads")
    return eval(expression.replace("div", "//"), {"__builtins__": {}}, sizes)  # of our own files


def sides(rule, sizes):
    """Both sides of a rule at these sizes, each a graph."""
    head, bodies = rule.split(" {\n", 1)
    params = re.findall(r"(\w+): (\[[^\]]*\])", head.split("(", 1)[1])
    for body in bodies.split("} => {\n"):
        body = re.sub(r"= constant (\[[^\]]*\])", lambda m: f"= constant f32{value(m[1], sizes)}", body)
        body = re.sub(r"(?<=\) )\{.*\}$", lambda attributes: re.sub(
            r"(\w+) = (\[[^\]]*\]|[^,}]+)", lambda m: f"{m[1]} = {value(m[2], sizes)}", attributes[0],
        ), body, flags=re.MULTILINE)
        used = ", ".join(f"{name}: f32{value(dims, sizes)}" for name, dims in params)
        yield f"graph side({used}) {{\n{body.rstrip().rstrip('}').rstrip()}\n}}\n"


def run(lemma, *arguments):
    done = subprocess.run([lemma, *arguments, "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def time_sides(lemma, rule, sizes, rounds):
    """What both sides take: of the shortest runs of processes, the medians and the median ratio."""
    with tempfile.TemporaryDirectory() as work:
        paths = []
        for i, text in enumerate(sides(rule, sizes)):
            paths.append(pathlib.Path(work, f"{i}.txt"))
            paths[-1].write_text(text)
        same = subprocess.run([lemma, "prove", *map(str, paths)], capture_output=True, text=True)
        if same.returncode not in (0, 4):  # 4 is unknown
            raise SystemExit(f"make_gallery: {same.stdout}{same.stderr}")
        times = [[], []]
        for turn in range(rounds):
            for i in (0, 1) if turn % 2 else (1, 0):
                times[i].append(min(run(lemma, "run", str(paths[i]), "--runs", "30")["ms"]))
    return {"ms": [statistics.median(side) for side in times],
            "ratio": statistics.median(target / source for source, target in zip(*times))}


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/make_gallery")
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--no-times", action="store_true")
    flags = parser.parse_args(arguments)
    report = json.loads(OUT.read_text()) if OUT.exists() else {"rows": []}
    before = {(row["file"], row["rule"]): row for row in report["rows"]}
    rows = []
    with tempfile.TemporaryDirectory() as work:
        sys.path.insert(0, str(package.unpack(flags.lemma, work)))
        import lemma

        PICTURES.mkdir(exist_ok=True)
        for file, rules in RULES.items():
            path = ROOT / f"data/rules/{file}.txt"
            texts = lemma.rules(str(path))
            for name, sizes in rules.items():
                (answer,) = run(flags.lemma, "verify", str(path), "--only", name)["rules"]
                (PICTURES / f"{file}_{name}.svg").write_text(texts[name].svg() + "\n")
                row = {"file": file, "rule": name, **{key: answer[key] for key in ("verdict", "contract", "coverage", "queries")}}
                if flags.no_times:
                    row.update({key: known for key, known in before.get((file, name), {}).items() if key in ("sizes", "ms", "ratio")})
                elif sizes:
                    row["sizes"] = sizes
                    row.update(time_sides(flags.lemma, rule_text(file, name), sizes, flags.rounds))
                rows.append(row)
                print(json.dumps(row), flush=True)
    if not flags.no_times:
        names = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                 if line.startswith("model name")]
        report = {"date": datetime.date.today().isoformat(), "processor": names[0], "cores": len(names)}
    OUT.write_text(json.dumps({**report, "rows": rows}, indent=1) + "\n")
    return 0 if all(row["verdict"] == "proved" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
