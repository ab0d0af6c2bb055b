"""Joins files that `lemma generate` wrote: every rule, and its reverse if that can be matched.

    both_directions.py -o OUT NAME=FILE...

Rules gen_1, gen_2, … of FILE become NAME_1, NAME_2, …; a reverse is called NAME_1_back. Reverses
have no proof record yet: `lemma verify OUT -o OUT` makes them.
"""

import argparse
import re

# As PrintRule in rewrite/rules/rule_text.h writes them.
RULE = re.compile(
    r"((?:# [^\n]*\n)*)rule (\w+)\((.*?)\) (bit_exact|reassociates|real_only)(.*?) ?\{\n(.*?)\n\} => "
    r"\{\n(.*?)\n\}\n(proved [^\n]*\n)",
    re.S,
)


def split_names(text):
    return [name.strip() for name in text.split(",") if name.strip()]


def has_anchor(variables, body):
    """Whether a rule can have `body` as its source: it returns no variable, uses all of them, and
    its results share values, so that one can be found from another."""
    statements, results = body.rsplit("return ", 1)
    below = {}  # of each value: the values that it rests on, and its siblings
    used = set()
    for line in statements.strip().splitlines():
        made, made_by = line.strip().split(" = ", 1)
        call = re.match(r"\w+\(([^)]*)\)", made_by)
        operands = split_names(call.group(1)) if call else []
        used.update(operands)
        everything = set(split_names(made)).union(operands, *(below.get(v, ()) for v in operands))
        for name in split_names(made):
            below[name] = everything
    if not variables <= used or any(v not in below for v in split_names(results)):
        return False
    parts = [below[v] for v in split_names(results)]
    found, rest = set(parts[0]), parts[1:]
    while rest:
        near = [part for part in rest if part & found]
        if not near:
            return False
        found.update(*near)
        rest = [part for part in rest if not part & found]
    return True


def symbols_in(body):
    """Sizes, attributes and numbers that are no literals: what has to be known to write `body`."""
    values = re.findall(r"constant (\[[^\]]*\])|fill (\S+)", body)
    values = ["".join(groups) for groups in values]
    for attributes in re.findall(r"\{([^}]*)\}", body):
        values += re.findall(r"\w+ = (\[[^\]]*\]|[^,]+)", attributes)
    return set(re.findall(r"[a-z_]\w*", " ".join(values)))


def contract_of(contract, *bodies):
    """Proofs call it bit_exact too that an operator rounds once where two round twice, as silu and
    x * sigmoid(x): here only what moves elements, or chooses among them, is."""
    operators = set(re.findall(r" = (\w+)\(", "\n".join(bodies)))
    exact = operators <= {"concat", "split", "reshape", "transpose", "relu", "max_pool2d"}
    return contract if exact or contract == "real_only" else "reassociates"


def anonymous(body):
    return re.sub(r"\bt\d+\b", "t", body)


def text_of(doc, name, head, source, target, record):
    return f"{doc}rule {name}{head} {{\n{source}\n}} => {{\n{target}\n}}\n{record}"


def both(prefix, text):
    for doc, name, variables, contract, where, source, target, record in RULE.findall(text):
        if anonymous(source) == anonymous(target):
            continue  # instances of one operator
        name = prefix + name[name.index("_") :]
        head = f"({variables}) {contract_of(contract, source, target)}{where}"
        lines = [line for line in doc.splitlines(True) if not line.startswith("# Made by")]
        yield text_of("".join(lines), name, head, source, target, record)
        sizes = " ".join(re.findall(r"\[.*?\]", variables))
        known = symbols_in(target) | set(re.findall(r"[a-z_]\w*", sizes))
        if symbols_in(source) <= known and has_anchor(
            set(re.findall(r"(\w+): \[", variables)), target
        ):
            yield text_of(f"# The reverse of {name}.\n", name + "_back", head, target, source, "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("files", nargs="+", metavar="NAME=FILE")
    flags = parser.parse_args()
    rules = []
    for one in flags.files:
        prefix, path = one.split("=", 1)
        with open(path, encoding="utf-8") as file:
            rules += both(prefix, file.read())
    with open(flags.output, "w", encoding="utf-8") as file:
        file.write("# Made by: tools/generate_rules generated_inference\n\n" + "\n".join(rules))


if __name__ == "__main__":
    main()
