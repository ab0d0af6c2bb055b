// lemma rules explain: why a rule is among those of a file, or how they give it.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "api/rules/rules_file.h"
#include "base/flags.h"
#include "base/json.h"
#include "cli/progress_line.h"
#include "cli/rule_report.h"
#include "cli/rules_commands.h"
#include "graph/text/text.h"
#include "rewrite/derivation/derive.h"
#include "rewrite/derivation/randomized_check.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::cli {
namespace {

struct ExplainFlags {
  std::string pruned;
  int64_t max_steps = 6, max_graphs = 20000, typings = 3;
  bool brief = false, json = false;
};

// The rules of a file; those that are proved, to derive with.
struct Database {
  api::RulesFile file;
  std::map<std::string, std::string> problems;  // of the others, by name
  std::map<std::string, int> numbers;           // of the rules in `deriver`, by name
  std::optional<Deriver> deriver;
  std::optional<api::RulesFile> pruned;
};

const Substitution* FindRule(const api::RulesFile& file, const std::string& name) {
  auto it = std::find_if(file.rules.begin(), file.rules.end(),
                         [&](const Substitution& rule) { return rule.name == name; });
  return it == file.rules.end() ? nullptr : &*it;
}

absl::StatusOr<Database> Load(const std::string& path, const ExplainFlags& flags) {
  Database database;
  auto file = api::LoadRulesFile(path);
  if (!file.ok()) return file.status();
  database.file = *std::move(file);
  std::error_code error;
  const std::string pruned = flags.pruned.empty() ? api::PrunedRulesPath(path) : flags.pruned;
  if (!flags.pruned.empty() || std::filesystem::exists(pruned, error)) {
    auto rules = api::LoadRulesFile(pruned);
    if (!rules.ok()) return rules.status();
    database.pruned = *std::move(rules);
  }
  std::vector<Substitution> usable;
  for (const Substitution& rule : database.file.rules) {
    std::string problem = ProofProblem(rule);
    if (!problem.empty()) {
      database.problems[rule.name] = std::move(problem);
      continue;
    }
    database.numbers[rule.name] = static_cast<int>(usable.size());
    usable.push_back(rule);
  }
  database.deriver.emplace(std::move(usable));
  return database;
}

struct Explained {
  const Substitution* rule = nullptr;
  bool is_member = false;
  std::string note;  // why it was left out, if that is known
  absl::StatusOr<RuleDerivation> derivation;
  std::string same_as;  // the rule of the file that it is, up to names

  bool found() const { return derivation.ok() && derivation->found(); }
};

Explained Explain(const Database& database, const Substitution& rule, bool is_member,
                  const ExplainFlags& flags) {
  Explained explained;
  explained.rule = &rule;
  explained.is_member = is_member;
  DeriveLimits limits;
  limits.max_steps = static_cast<int>(flags.max_steps);
  limits.max_graphs = flags.max_graphs;
  if (is_member) {
    auto it = database.numbers.find(rule.name);
    if (it != database.numbers.end()) limits.without.insert(it->second);
  }
  const Deriver& deriver = *database.deriver;
  explained.derivation = DeriveRule(deriver, rule, limits, static_cast<int>(flags.typings));
  if (explained.found()) {
    const Derivation& first = *explained.derivation->typings[0].result.derivation;
    if (first.steps.size() == 1 && AreTheSame(rule, deriver.rules()[first.steps[0].rule])) {
      explained.same_as = deriver.rules()[first.steps[0].rule].name;
    }
  }
  return explained;
}

// One line.
std::string Answer(const Database& database, const Explained& explained) {
  if (!explained.derivation.ok()) return std::string(explained.derivation.status().message());
  if (!explained.found()) return NotFound(explained.derivation->typings.back().result);
  if (!explained.same_as.empty()) return absl::StrCat("the same as ", explained.same_as);
  const Derivation& first = *explained.derivation->typings[0].result.derivation;
  if (first.steps.empty()) return Summary(*database.deriver, first);
  return absl::StrCat("follows in ", Summary(*database.deriver, first), " (",
                      Name(ContractOf(*database.deriver, first)), ")");
}

void PrintSteps(const Database& database, const Explained& explained) {
  const auto& typings = explained.derivation->typings;
  const Derivation& derivation = *typings[0].result.derivation;
  std::printf("\nat %s:\n", Describe(*explained.rule, typings[0].assignment).c_str());
  std::fputs(PrintGraph(derivation.source).c_str(), stdout);
  for (const DerivationStep& step : derivation.steps) {
    std::printf("# by %s%s\n", database.deriver->rules()[step.rule].name.c_str(),
                step.backward ? " backward" : "");
    std::fputs(PrintGraph(step.graph).c_str(), stdout);
  }
  for (size_t i = 1; i < typings.size(); ++i) {
    std::printf("at %s: %s\n", Describe(*explained.rule, typings[i].assignment).c_str(),
                Summary(*database.deriver, *typings[i].result.derivation).c_str());
  }
}

void PrintText(const Database& database, const Explained& explained, bool brief) {
  const Substitution& rule = *explained.rule;
  if (explained.is_member && !brief) {
    auto problem = database.problems.find(rule.name);
    const std::string guard = GuardText(rule);
    std::fputs(PrintRule(rule).c_str(), stdout);
    std::printf("\nin      %s\n", database.file.name.c_str());
    std::printf("doc     %s\n", absl::StrReplaceAll(rule.doc, {{"\n", " "}}).c_str());
    std::printf("keeps   %s\n", Name(rule.contract));
    std::printf("guard   %s\n", guard.empty() ? "none" : guard.c_str());
    std::printf("proof   %s\n",
                problem == database.problems.end() ? "current" : problem->second.c_str());
    std::printf("others  %s\n", Answer(database, explained).c_str());
  } else {
    std::printf("%s: %s\n", rule.name.c_str(), Answer(database, explained).c_str());
    if (!explained.note.empty()) std::printf("left out: %s\n", explained.note.c_str());
  }
  if (explained.found() && !brief) PrintSteps(database, explained);
}

Json ToJson(const Database& database, const Explained& explained) {
  const Substitution& rule = *explained.rule;
  auto problem = database.problems.find(rule.name);
  const bool is_problem = explained.is_member && problem != database.problems.end();
  Json json = Json::Object();
  json.Set("rule", rule.name).Set("in_file", explained.is_member);
  if (explained.is_member) {
    json.Set("about", RuleJson(rule, is_problem ? problem->second : ""));
  }
  if (!explained.note.empty()) json.Set("left_out", explained.note);
  json.Set("found", explained.found()).Set("answer", Answer(database, explained));
  if (!explained.same_as.empty()) json.Set("same_as", explained.same_as);
  if (!explained.derivation.ok()) return json;
  Json typings = Json::Array();
  for (const RuleDerivation::AtTyping& typing : explained.derivation->typings) {
    Json one = Json::Object();
    one.Set("at", Describe(rule, typing.assignment)).Set("graphs", typing.result.graphs);
    if (typing.result.derivation) {
      one.Set("source", PrintGraph(typing.result.derivation->source));
      Json steps = Json::Array();
      for (const DerivationStep& step : typing.result.derivation->steps) {
        Json json_step = Json::Object();
        json_step.Set("rule", database.deriver->rules()[step.rule].name);
        json_step.Set("backward", step.backward).Set("graph", PrintGraph(step.graph));
        steps.Add(std::move(json_step));
      }
      one.Set("steps", std::move(steps));
    }
    typings.Add(std::move(one));
  }
  json.Set("typings", std::move(typings));
  return json;
}

// The line of the documentation that tells which rules give it.
std::string NoteOf(const Substitution& rule) {
  for (absl::string_view line : absl::StrSplit(rule.doc, '\n')) {
    if (absl::StartsWith(line, "follows from: ")) return std::string(line);
  }
  return "";
}

absl::StatusOr<int> Run(const std::string& path, const std::string& what,
                        const ExplainFlags& flags) {
  auto database = Load(path, flags);
  if (!database.ok()) return database.status();
  api::RulesFile others;
  std::vector<Explained> all;
  if (const Substitution* rule = FindRule(database->file, what)) {
    all.push_back(Explain(*database, *rule, true, flags));
  } else if (database->pruned && FindRule(*database->pruned, what) != nullptr) {
    const Substitution& pruned = *FindRule(*database->pruned, what);
    all.push_back(Explain(*database, pruned, false, flags));
    all.back().note = NoteOf(pruned);
  } else {
    std::error_code error;
    if (!std::filesystem::exists(what, error)) {
      absl::Status unknown = api::CheckRuleNames({what}, database->file);
      return absl::InvalidArgumentError(
          absl::StrCat(unknown.message(), ", nor is there a file of that name"));
    }
    auto file = api::LoadRulesFile(what);
    if (!file.ok()) return file.status();
    others = *std::move(file);
    ProgressLine progress(flags.json);
    for (const Substitution& rule : others.rules) {
      progress.Show(absl::StrFormat("%d of %d rules", all.size(), others.rules.size()));
      // A rule of RULES that is read again is not taken to give itself.
      const Substitution* member = FindRule(database->file, rule.name);
      const bool is_member = member != nullptr && PrintRule(*member) == PrintRule(rule);
      all.push_back(Explain(*database, rule, is_member, flags));
    }
  }
  if (!database->problems.empty() && !flags.json) {
    const auto& [name, problem] = *database->problems.begin();
    std::fprintf(stderr, "note: %zu of %zu rules of %s are not used, among them %s: %s\n",
                 database->problems.size(), database->file.rules.size(), path.c_str(), name.c_str(),
                 problem.c_str());
  }
  Json list = Json::Array();
  bool yes = true;
  for (const Explained& explained : all) {
    yes = yes && (explained.is_member || explained.found());
    if (flags.json) {
      list.Add(ToJson(*database, explained));
      continue;
    }
    if (&explained != &all[0] && !flags.brief) std::puts("");
    PrintText(*database, explained, flags.brief);
  }
  if (flags.json) {
    Json json = Json::Object();
    json.Set("file", database->file.name)
        .Set("unused", static_cast<int>(database->problems.size()));
    json.Set("rules", std::move(list));
    std::puts(json.ToString().c_str());
  }
  return yes ? kExitOk : kExitNo;
}

}  // namespace

absl::StatusOr<int> RunRulesExplain(Arguments arguments) {
  ExplainFlags explain;
  Flags flags("rules explain", "RULES WHAT",
              "Says of a rule what is known of it, and how the other proved rules of RULES give "
              "it, if they do. WHAT is a rule's name, or a file of rules.");
  flags.Int("max-steps", &explain.max_steps, "applications of rules in a row");
  flags.Int("max-graphs", &explain.max_graphs, "graphs looked at, for each of the sizes");
  flags.Int("typings", &explain.typings, "how many assignments of sizes to try, 1…20");
  flags.String("pruned", &explain.pruned, "FILE",
               "rules that were left out of RULES, by name; else X.pruned.txt beside X.txt");
  flags.Bool("brief", &explain.brief, "one line for each rule, without graphs");
  flags.Bool("json", &explain.json, "print one JSON object instead of text");
  flags.Note("Exit status 1 if a rule that is not in RULES is not found to follow from them.");
  flags.Note(
      "A derivation is shown at some sizes, distinct where possible. That a rule is true for all "
      "sizes is what lemma verify proves.");
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  if (positional->size() != 2) {
    return absl::InvalidArgumentError(
        "RULES and WHAT, please: a file and a rule's name or another file; see lemma rules "
        "explain --help");
  }
  for (auto [name, value, most] : {std::tuple("max-steps", explain.max_steps, int64_t{64}),
                                   std::tuple("max-graphs", explain.max_graphs, int64_t{1} << 30),
                                   std::tuple("typings", explain.typings, int64_t{20})}) {
    if (value < 1 || value > most) {
      return absl::InvalidArgumentError(absl::StrCat("--", name, ": must be in 1…", most));
    }
  }
  return Run((*positional)[0], (*positional)[1], explain);
}

}  // namespace lemma::cli
