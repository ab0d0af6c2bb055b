// lemma generate: rules made by machine.
#include "generator/generate.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/jobs.h"
#include "cli/json.h"
#include "cli/model_file.h"
#include "cli/progress_line.h"
#include "cli/text_table.h"
#include "cli/verdict_text.h"
#include "generator/named_sets.h"
#include "graph/onnx/file.h"
#include "rewrite/rewrite_source.h"
#include "rewrite/rule_text.h"
#include "verifier/precondition.h"

namespace lemma::cli {
namespace {

using generator::Decision;
using generator::Enumerated;
using generator::Generated;

struct GenerateFlags {
  std::vector<std::string> ops = {"taso"};
  std::string output, rejected;
  int64_t max_ops = 2, threads = 1, seed = 1;
  bool count = false, json = false;
};

// What the program has used so far.
struct Usage {
  double seconds = 0, megabytes = 0;
  static Usage Now() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return {usage.ru_utime.tv_sec + usage.ru_utime.tv_usec * 1e-6, usage.ru_maxrss / 1024.0};
  }
};

Decision Decide(const Substitution& candidate, uint64_t seed) {
  ProverOptions options;
  options.seed = seed;
  Precondition found = SynthesizePrecondition(candidate, options);
  Decision decision;
  decision.rule = candidate;
  if (!found.proved()) {
    decision.answer =
        IsRefuted(found.without) ? Decision::Answer::kRefuted : Decision::Answer::kUnknown;
    decision.reason = Explanation(found.without);
    return decision;
  }
  const bool guarded = found.with.has_value();
  decision.rule = found.rule;
  decision.rule.contract = std::get<Proved>(found.verdict()).contract;
  decision.rule.proof = RecordOf(decision.rule, found.verdict());
  if (guarded) {
    absl::StrAppend(&decision.rule.doc, "\nFalse without its guard.");
  }
  if (auto usable = RuleSet::Create({decision.rule}); !usable.ok()) {
    decision.reason =
        absl::StrCat("proved, but nothing could look for it: ", usable.status().message());
    return decision;
  }
  decision.answer = guarded ? Decision::Answer::kGuarded : Decision::Answer::kProved;
  return decision;
}

std::string RulesText(const GenerateFlags& flags, const Generated& generated) {
  std::string text = absl::StrCat("# Made by: lemma generate --ops=", absl::StrJoin(flags.ops, ","),
                                  " --max-ops=", flags.max_ops, " --seed=", flags.seed, "\n");
  for (const generator::GeneratedRule& rule : generated.rules) {
    if (rule.follows_from.empty()) absl::StrAppend(&text, "\n", PrintRule(rule.rule));
  }
  return text;
}

std::string RejectedText(const Generated& generated) {
  std::string text;
  for (const generator::Rejected& one : generated.rejected) {
    absl::StrAppend(&text, one.word, ": ", one.text, ": ",
                    absl::StrReplaceAll(one.reason, {{"\n", " "}}), "\n");
  }
  for (const generator::GeneratedRule& rule : generated.rules) {
    if (rule.follows_from.empty()) continue;
    absl::StrAppend(&text, "pruned: ", rule.rule.name, ": ", rule.rule.doc, ": follows from ",
                    absl::StrJoin(rule.follows_from, ", "), "\n");
  }
  return text;
}

struct Figure {
  const char* name;
  int64_t value;
};
std::vector<Figure> FiguresOf(const generator::EnumeratorStats& s) {
  return {{"graphs", s.graphs},        {"terms", s.terms},     {"pruned_terms", s.pruned_terms},
          {"distinct", s.distinct},    {"hits", s.hot_graphs}, {"classes", s.classes},
          {"class_members", s.members}};
}
std::vector<Figure> FiguresOf(const generator::GenerateStats& s) {
  return {{"pairs", s.pairs},       {"candidates", s.candidates}, {"derived", s.derived},
          {"not_tried", s.waiting}, {"no_form", s.unliftable},    {"proved", s.proved},
          {"guarded", s.guarded},   {"refuted", s.refuted},       {"unknown", s.unknown},
          {"pruned", s.pruned}};
}

void Report(const GenerateFlags& flags, const std::vector<Figure>& figures,
            const Usage& enumeration) {
  const Usage all = Usage::Now();
  if (flags.json) {
    Json json = Json::Object();
    for (const Figure& figure : figures) json.Set(figure.name, figure.value);
    json.Set("enumeration_cpu_s", enumeration.seconds);
    json.Set("cpu_s", all.seconds).Set("peak_mb", all.megabytes);
    std::puts(json.ToString().c_str());
    return;
  }
  for (const Figure& figure : figures) {
    std::printf("%-14s %12d\n", absl::StrReplaceAll(figure.name, {{"_", " "}}).c_str(),
                static_cast<int>(figure.value));
  }
  std::printf("enumeration: %.1f s of processor time, %.0f MB at most\n", enumeration.seconds,
              enumeration.megabytes);
  std::printf("in all: %.1f s of processor time, %.0f MB at most\n", all.seconds, all.megabytes);
}

absl::StatusOr<int> Generate(const GenerateFlags& flags) {
  for (const std::string& path : {flags.output, flags.rejected}) {
    if (path.empty()) continue;
    if (absl::Status s = CheckWritable(path); !s.ok()) return s;
  }
  auto set = generator::NamedSet(flags.ops);
  if (!set.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--ops: ", set.status().message()));
  }
  InterruptScope interrupt;
  generator::EnumeratorOptions enumerator_options;
  enumerator_options.max_ops = static_cast<int>(flags.max_ops);
  enumerator_options.seed = static_cast<uint64_t>(flags.seed);
  enumerator_options.interrupted = &interrupt.flag();
  if (flags.count) {
    generator::Enumerator enumerator(set->get(), enumerator_options);
    absl::Status status = enumerator.Run();
    if (absl::IsCancelled(status)) return InterruptedError();
    if (!status.ok()) return status;
    Report(flags, FiguresOf(enumerator.stats()), Usage::Now());
    return kExitOk;
  }
  generator::GenerateOptions options;
  options.seed = enumerator_options.seed;
  options.threads = static_cast<int>(flags.threads);
  options.interrupted = &interrupt.flag();
  absl::StatusOr<Enumerated> enumerated;
  absl::StatusOr<Generated> generated;
  Usage enumeration;
  {
    ProgressLine progress(flags.json);
    options.progress = [&](const std::string& what, int64_t done, int64_t all) {
      progress.Show(all == 0 ? what : absl::StrFormat("%s: %d of %d", what, done, all));
    };
    enumerated = generator::Enumerate(set->get(), enumerator_options, options.progress);
    if (absl::IsCancelled(enumerated.status())) return InterruptedError();
    if (!enumerated.ok()) return enumerated.status();
    enumeration = Usage::Now();
    generated = generator::Generate(
        set->get(), *enumerated, options,
        [&](const std::vector<Substitution>& rules) -> absl::StatusOr<std::vector<Decision>> {
          std::vector<Decision> decisions(rules.size());
          const bool finished = RunJobs(
              static_cast<int>(rules.size()), options.threads, interrupt.flag(),
              [&](int i) { decisions[i] = Decide(rules[i], flags.seed); }, [](int) {});
          if (!finished || interrupt.flag()) return InterruptedError();
          return decisions;
        });
  }
  if (absl::IsCancelled(generated.status())) return InterruptedError();
  if (!generated.ok()) return generated.status();
  if (!flags.rejected.empty()) {
    if (absl::Status s = WriteFileAtomically(flags.rejected, {RejectedText(*generated)}); !s.ok()) {
      return s;
    }
  }
  if (absl::Status s = WriteFileAtomically(flags.output, {RulesText(flags, *generated)}); !s.ok()) {
    return s;
  }
  std::vector<Figure> figures = FiguresOf(enumerated->stats);
  for (const Figure& figure : FiguresOf(generated->stats)) figures.push_back(figure);
  const int64_t written =
      std::count_if(generated->rules.begin(), generated->rules.end(),
                    [](const generator::GeneratedRule& rule) { return rule.follows_from.empty(); });
  figures.push_back({"written", written});
  Report(flags, figures, enumeration);
  return kExitOk;
}

}  // namespace

absl::StatusOr<int> RunGenerate(Arguments arguments) {
  GenerateFlags generate;
  Flags flags("generate", "-o RULES",
              "Enumerates all graphs over a set of operators, proves those that are equal on "
              "random values equal for all sizes, and writes the rules that are proved.");
  std::vector<std::string> ops;
  flags.List("ops", &ops, "SET|[SET,]INSTANCE,...",
             absl::StrCat("an operator set, or some of its instances: ",
                          absl::StrJoin(generator::SetNames(), ", "), "; by default taso"));
  flags.Int("max-ops", &generate.max_ops, "operators in a graph, 1…4");
  flags.String("output|o", &generate.output, "RULES", "where to write the rules");
  flags.String("rejected", &generate.rejected, "FILE",
               "list what is refuted, undecided or follows from other rules, with the reasons");
  flags.Bool("count", &generate.count, "enumerate and compare only; nothing is proved or written");
  flags.Int("threads", &generate.threads, "to prove with; the rules do not depend on it");
  flags.Int("seed", &generate.seed, "of the random values");
  flags.Bool("json", &generate.json, "print one JSON object instead of text");
  flags.Note("Ctrl-C ends it; nothing is written then.");
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  if (!positional->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("nothing is read: what is '", (*positional)[0], "'? Rules go to -o RULES"));
  }
  if (!ops.empty()) generate.ops = ops;
  if (generate.output.empty() && !generate.count) {
    return absl::InvalidArgumentError("where to? -o RULES; or --count to enumerate only");
  }
  if (generate.max_ops < 1 || generate.max_ops > generator::kMostOps) {
    return absl::InvalidArgumentError(
        absl::StrCat("--max-ops: must be in 1…", generator::kMostOps));
  }
  if (generate.threads < 1 || generate.threads > 256) {
    return absl::InvalidArgumentError("--threads: must be in 1…256");
  }
  return Generate(generate);
}

}  // namespace lemma::cli
