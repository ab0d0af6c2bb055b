#!/usr/bin/env python3
"""Writes man pages, and completion for bash, zsh and fish, from the flags that lemma declares.

Usage: tools/lib/package/help_pages.py LEMMA FOLDER

Writes below FOLDER/share, where the shells and man look for them.
"""

import json
import pathlib
import re
import subprocess
import sys

HELP = {"name": "help", "short": "h", "doc": "print help", "value": "", "choices": [], "default": ""}
TOP_FLAGS = [
    {**HELP, "doc": "list the commands"},
    {**HELP, "name": "version", "short": "", "doc": "print the versions of Lemma and its back ends"},
    {**HELP, "name": "pipe", "short": "", "doc": "for programs: write progress and an error's code as lines"},
]


class Help:
    """What `lemma` says about itself."""

    def __init__(self, lemma):
        self._lemma = str(lemma)
        self.version = self._run("--version").split()[1]
        self.top = json.loads(self._run("--help=json"))
        self.pages = {}  # the words of a command -> its help
        for command in self.top["commands"]:
            self._add(command["name"])

    def _run(self, *words):
        done = subprocess.run([self._lemma, *words], check=True, capture_output=True, text=True)
        return done.stdout

    def _add(self, *words):
        page = json.loads(self._run(*words, "--help=json"))
        page["flags"].append(HELP)
        self.pages[words] = page
        for name in page["subcommands"]:
            self._add(*words, name)

    def words_after(self, words):
        """(word, what it does) for the commands that may follow `words`."""
        if not words:
            return [(c["name"], c["summary"]) for c in self.top["commands"]]
        return [(name, first_sentence(self.pages[(*words, name)]["doc"]))
                for name in self.pages[words]["subcommands"]]

    def flags_after(self, words):
        return self.pages[words]["flags"] if words else TOP_FLAGS

    def places(self):
        """The words behind which something can be completed, () for `lemma` itself."""
        return [(), *self.pages]


def first_sentence(text):
    return re.split(r"(?<=\w)[.:;] ", text + " ")[0].rstrip(". ")


def spellings(flag):
    return [f"--{flag['name']}"] + ([f"-{flag['short']}"] if flag["short"] else [])


# Man pages.


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^(?=['.])", "\\\\&", text)


def roff_flag(flag):
    names = ", ".join(f"\\fB{roff(name)}\\fR" for name in reversed(spellings(flag)))
    value = f" \\fI{roff(flag['value'])}\\fR" if flag["value"] else ""
    default = f" (default {flag['default']})" if flag["default"] else ""
    return f".TP\n{names}{value}\n{roff(flag['doc'] + default)}\n"


def roff_head(name, version, summary, synopsis):
    command, _, rest = synopsis.partition("\0")
    return (f".TH {roff(name).upper()} 1 \"\" \"lemma {version}\" \"Lemma\"\n"
            f".SH NAME\n{roff(name)} \\- {roff(summary)}\n"
            f".SH SYNOPSIS\n\\fB{roff(command)}\\fR {roff(rest)}\n")


def roff_see(names):
    return ".SH SEE ALSO\n" + ",\n".join(f"\\fB{roff(name)}\\fR(1)" for name in names) + "\n"


def man_pages(shown):
    """Yields (file name, text)."""
    names = ["lemma-" + "-".join(words) for words in shown.pages]
    text = roff_head("lemma", shown.version, "rewrite tensor programs by proved rules",
                     "lemma\0COMMAND [FLAGS] ...")
    text += f".SH DESCRIPTION\n{roff(shown.top['doc'])}\n.SH COMMANDS\n"
    for command in shown.top["commands"]:
        text += f".TP\n\\fB{roff(command['name'])}\\fR {roff(command['synopsis'])}\n{roff(command['summary'])}\n"
    text += ".SH OPTIONS\n" + "".join(map(roff_flag, TOP_FLAGS))
    text += ".SH NOTES\n" + roff(shown.top["notes"]).rstrip("\n").replace("\n", "\n.br\n") + "\n"
    text += roff_see(names)
    yield "lemma.1", text
    summaries = {words + (word,): doc for words in shown.places() for word, doc in shown.words_after(words)}
    for words, page in shown.pages.items():
        text = roff_head("lemma-" + "-".join(words), shown.version, summaries[words],
                         f"lemma {page['command']}\0{page['synopsis']} [FLAGS]")
        text += f".SH DESCRIPTION\n{roff(page['doc'])}\n.SH OPTIONS\n" + "".join(map(roff_flag, page["flags"]))
        if page["notes"]:
            text += ".SH NOTES\n" + "\n.PP\n".join(map(roff, page["notes"])) + "\n"
        others = ["lemma"] + ["lemma-" + "-".join((*words, word)) for word in page["subcommands"]]
        text += roff_see(others)
        yield f"lemma-{'-'.join(words)}.1", text


# Completion. Each shell first finds the command among the words, then offers its flags, the values
# of a flag with choices, and files.


def bash(shown):
    cases = values = ""
    for words in shown.places():
        names = [word for word, _ in shown.words_after(words)]
        flags = [name for flag in shown.flags_after(words) for name in spellings(flag)]
        cases += f"    '{' '.join(words)}') words='{' '.join(names)}' flags='{' '.join(flags)}' ;;\n"
        for flag in shown.flags_after(words):
            for name in spellings(flag):
                if flag["value"]:
                    choices = " ".join(flag["choices"]) if flag["choices"] else "FILES"
                    values += f"    '{' '.join((*words, name))}') values='{choices}' ;;\n"
    return f"""# Completion of lemma for bash. Written from its flags.
_lemma_table() {{
  case "$1" in
{cases}  esac
}}
_lemma_values() {{
  case "$1" in
{values}  esac
}}
_lemma() {{
  local words= flags= values= command= word previous= current="${{COMP_WORDS[COMP_CWORD]}}"
  local -i i
  # Bash makes words of its own of --name=value.
  [[ "$current" != '=' ]] || current=
  previous="${{COMP_WORDS[COMP_CWORD - 1]}}"
  [[ "$previous" != '=' ]] || previous="${{COMP_WORDS[COMP_CWORD - 2]}}"
  _lemma_table ''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${{COMP_WORDS[i]}}"
    if [[ " $words " == *" $word "* ]]; then
      command="${{command:+$command }}$word"
      _lemma_table "$command"
    elif [[ "$word" != --pipe ]]; then
      break
    fi
  done
  ((i == COMP_CWORD)) || words=
  _lemma_values "${{command:+$command }}$previous"
  COMPREPLY=()
  if [[ "$values" == FILES ]]; then
    compopt -o default 2> /dev/null
  elif [[ -n "$values" ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
  elif [[ "$current" == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    [[ -z "$command" ]] || compopt -o default 2> /dev/null
  fi
}}
complete -F _lemma lemma
"""


def zsh_quoted(text):
    return text.replace("'", "'\\''")


def zsh(shown):
    functions = ""
    for words in shown.places():
        specs = ""
        for flag in shown.flags_after(words):
            doc = re.sub(r"([\[\]:\\])", r"\\\1", flag["doc"])
            value = ""
            if flag["value"]:
                action = f"({' '.join(flag['choices'])})" if flag["choices"] else "_files"
                value = ":" + re.sub(r"([:\\])", r"\\\1", flag["value"]) + ":" + action
            for name in spellings(flag):
                equals = "=" if value and name.startswith("--") else ""
                specs += f"    '*{name}{equals}[{zsh_quoted(doc)}]{zsh_quoted(value)}'\n"
        following = shown.words_after(words)
        listed = "".join("    '{}:{}'\n".format(word, zsh_quoted(doc.replace(":", "\\:"))) for word, doc in following)
        functions += f"_lemma_{'_'.join(words).replace('-', '_')}() {{\n  local -a commands flags\n"
        functions += f"  commands=(\n{listed}  )\n  flags=(\n{specs}  )\n"
        if following:
            calls = "".join(
                f"      {word}) _lemma_{'_'.join((*words, word)).replace('-', '_')}; return ;;\n" for word, _ in following)
            functions += ("  local -i i=2\n  [[ $words[2] == --pipe ]] && i=3\n"
                          "  if ((CURRENT > i)); then\n"
                          "    case $words[i] in\n" + calls.replace(
                              ") _", ") words=(lemma \"${(@)words[i + 1, -1]}\"); ((CURRENT -= i - 1)); _") +
                          "    esac\n  elif [[ $words[CURRENT] != -* ]]; then\n"
                          "    _describe -t commands command commands\n  fi\n")
        functions += ("  _arguments -S $flags\n" if not words else "  _arguments -S $flags '*:file:_files'\n") + "}\n"
    return f"#compdef lemma\n# Completion of lemma for zsh. Written from its flags.\n{functions}_lemma_ \"$@\"\n"


def fish_quoted(text):
    return text.replace("\\", "\\\\").replace("'", "\\'")


def fish(shown):
    lines = ""
    pairs = " ".join(f"'{' '.join(words)}'" for words in shown.pages if len(words) > 1)
    for words in shown.places():
        following = shown.words_after(words)
        where = " ".join(("__lemma_at", *words))
        for word, doc in following:
            files = "" if words else " -f"
            lines += f"complete -c lemma -n '{where}'{files} -a {word} -d '{fish_quoted(doc)}'\n"
        for flag in shown.flags_after(words):
            line = f"complete -c lemma -n '{where}' -l {flag['name']}"
            line += f" -s {flag['short']}" if flag["short"] else ""
            if flag["choices"]:
                line += f" -x -a '{' '.join(flag['choices'])}'"
            elif flag["value"]:
                line += " -r"
            lines += line + f" -d '{fish_quoted(flag['doc'])}'\n"
    return f"""# Completion of lemma for fish. Written from its flags.
# Whether the command before the cursor is the one given, and no other.
function __lemma_at
    set -l words (commandline -opc)
    set -e words[1]
    test "$words[1]" = --pipe; and set -e words[1]
    set -l command "$words[1]"
    contains -- "$words[1] $words[2]" {pairs}; and set command "$words[1] $words[2]"
    test "$command" = "$argv"
end
{lines}"""


def write(lemma, folder):
    shown = Help(lemma)
    share = pathlib.Path(folder) / "share"
    files = {f"man/man1/{name}": text for name, text in man_pages(shown)}
    files["bash-completion/completions/lemma"] = bash(shown)
    files["zsh/site-functions/_lemma"] = zsh(shown)
    files["fish/vendor_completions.d/lemma.fish"] = fish(shown)
    for name, text in files.items():
        (share / name).parent.mkdir(parents=True, exist_ok=True)
        (share / name).write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    write(sys.argv[1], sys.argv[2])
