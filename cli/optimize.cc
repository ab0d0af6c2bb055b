// lemma optimize: search, fold, compare, measure end to end, and write the better model.
#include "cli/optimize.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "cli/backends.h"
#include "cli/certificate_file.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/model_file.h"
#include "cli/optimize_print.h"
#include "cli/optimize_report.h"
#include "cli/progress_line.h"
#include "cli/rule_report.h"
#include "cli/rules_file.h"
#include "optimizer/analytic_cost.h"
#include "optimizer/backtracking.h"
#include "optimizer/certificate.h"
#include "optimizer/constant_folding.h"
#include "optimizer/measured_cost.h"
#include "rewrite/rewrite_source.h"

namespace lemma::cli {
namespace {

// What stands in the way of using rules that are not proved; says so if they are used nevertheless.
absl::Status CheckProofs(const OptimizeFlags& flags, const RulesFile& file,
                         const std::vector<UnprovedRule>& unproved) {
  if (unproved.empty()) return absl::OkStatus();
  if (flags.allow_unproved) {
    std::fprintf(stderr, "lemma: WARNING: --allow-unproved: rules without a proof are used: %s\n",
                 Names(unproved).c_str());
    return absl::OkStatus();
  }
  const std::string path = flags.rules.empty() ? "data/rules/starter.txt" : flags.rules;
  const size_t more = unproved.size() - 1;
  return absl::FailedPreconditionError(absl::StrCat(
      file.name, ": rule ", unproved[0].name, " may not be used: ", unproved[0].problem,
      more == 0 ? "" : absl::StrCat(" (and ", more, " more rules)"), "; lemma verify ", path,
      " -o ", path, " proves the rules and records it; --allow-unproved does without"));
}

// The cost model and what it refers to.
struct Costs {
  std::unique_ptr<KernelMeasurer> measurer;
  std::unique_ptr<CostDb> db;
  std::unique_ptr<CostModel> model;
};

absl::StatusOr<Costs> MakeCosts(const OptimizeFlags& flags, ProgressLine* progress) {
  Costs costs;
  if (flags.cost == "measured") {
    costs.measurer = MakeMeasurer(flags.common.backend, static_cast<int>(flags.common.threads));
  }
  if (costs.measurer == nullptr) {
    costs.model = MakeAnalyticCostModel();
    return costs;
  }
  auto db = CostDb::Open(flags.cost_db);
  if (!db.ok()) return db.status();
  costs.db = *std::move(db);
  if (!flags.device.empty()) {
    auto known = MakeKnownCostModel(costs.measurer.get(), costs.db.get(), flags.device);
    if (!known.ok()) return known.status();
    costs.model = *std::move(known);
    return costs;
  }
  MeasureOptions options;
  options.on_measure = [progress](absl::string_view signature) {
    progress->Show(absl::StrCat("measuring ", signature.substr(0, 60)));
  };
  costs.model = MakeMeasuredCostModel(costs.measurer.get(), costs.db.get(), std::move(options));
  return costs;
}

// A field of /proc/self/status in bytes: "VmRSS:", memory now, or "VmHWM:", the most since the last
// ForgetPeak(). 0 if there is none.
int64_t MemoryBytes(absl::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, field)) return 1024 * std::atoll(std::string(rest).c_str());
  }
  return 0;
}
void ForgetPeak() { std::ofstream("/proc/self/clear_refs") << 5; }

// What the steps of --replay lead to.
absl::StatusOr<SearchResult> ReplaySteps(const OptimizeFlags& flags, const Graph& graph,
                                         const std::vector<Substitution>& rules,
                                         const RewriteFilter& filter) {
  auto text = ReadCertificateText(flags.replay);
  if (!text.ok()) return text.status();
  auto certificate = ParseCertificate(*text);
  if (!certificate.ok()) return Prefixed(flags.replay, certificate.status());
  for (const Substitution& rule : certificate->rules) {
    if (filter.Asks(rule.name, rule.contract)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(flags.replay, ": uses the rule ", rule.name, ", which the flags leave out"));
  }
  auto replayed = Replay(*certificate, graph, rules);
  if (!replayed.ok()) return Prefixed(flags.replay, replayed.status());
  SearchResult result;
  result.best = result.descended = replayed->graph;
  result.rewrites = result.descended_rewrites = replayed->steps;
  result.steps = static_cast<int64_t>(replayed->steps.size());
  return result;
}

// What a search works with.
struct Setup {
  RulesFile file;
  RewriteFilter filter;
  std::unique_ptr<RuleSet> rules;
  std::unique_ptr<RewriteSource> usable;  // of them
  ProgressLine progress;
  Costs costs;

  explicit Setup(const OptimizeFlags& flags) : progress(flags.common.json) {}
};

// Reads the rules; what is wrong with them goes into the outcome, or is an error.
absl::Status LoadRules(const OptimizeFlags& flags, Setup* setup, Outcome* outcome) {
  auto file = LoadRulesFile(flags.rules);
  if (!file.ok()) return file.status();
  std::vector<std::string> why_not;
  if (!flags.why_not.empty()) why_not.push_back(flags.why_not);
  for (const auto& names : {flags.only, flags.disable, why_not}) {
    if (absl::Status s = CheckRuleNames(names, *file); !s.ok()) return s;
  }
  setup->file = *std::move(file);
  setup->filter = flags.Filter();
  outcome->unproved = UnprovedRules(setup->file.rules, setup->filter);
  if (!flags.output.empty()) return CheckProofs(flags, setup->file, outcome->unproved);
  // Nothing is written: they are left out, and --why-not says so.
  for (const UnprovedRule& rule : outcome->unproved) {
    if (!flags.allow_unproved) setup->filter.disabled.insert(rule.name);
  }
  return absl::OkStatus();
}

absl::Status MakeReady(const OptimizeFlags& flags, Setup* setup) {
  auto rules = RuleSet::Create(setup->file.rules);
  if (!rules.ok()) return Prefixed(setup->file.name, rules.status());
  setup->rules = *std::move(rules);
  setup->usable = Filtered(setup->rules.get(), setup->filter);
  auto costs = MakeCosts(flags, &setup->progress);
  if (!costs.ok()) return costs.status();
  setup->costs = *std::move(costs);
  return absl::OkStatus();
}

absl::Status RunSearch(const OptimizeFlags& flags, const Graph& graph, Setup* setup,
                       Outcome* outcome) {
  BacktrackingOptions options;
  options.limits = {flags.budget, flags.seconds};
  options.alpha = flags.alpha;
  options.price_steps = !flags.report.empty();
  ForgetPeak();
  outcome->search_start_bytes = MemoryBytes("VmRSS:");
  const auto start = std::chrono::steady_clock::now();
  auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  InterruptScope interrupt;
  std::optional<Cost> best;
  auto on_progress = [&](const SearchProgress& p) {
    if (!best || p.best < *best) outcome->best_seconds = best ? seconds() : 0;
    best = p.best;
    setup->progress.Show(absl::StrFormat("%d graphs, cost %.3f -> %.3f ms, %.0f s", p.steps,
                                         p.initial.ms(), p.best.ms(), seconds()));
    return !interrupt.flag().load();
  };
  auto found = MakeBacktrackingSearch(setup->usable.get(), setup->costs.model.get(), options)
                   ->Run(graph, on_progress);
  if (!found.ok()) return found.status();
  outcome->search = *std::move(found);
  outcome->search_seconds = seconds();
  if (best && outcome->search.best_cost < *best) outcome->best_seconds = outcome->search_seconds;
  outcome->search_peak_bytes = MemoryBytes("VmHWM:");
  setup->progress.Clear();
  return absl::OkStatus();
}

// Why the search did not look at the rule; "" if it did.
std::string Exclusion(const OptimizeFlags& flags, const Setup& setup, const Outcome& outcome,
                      const Substitution& rule) {
  const RewriteFilter filter = flags.Filter();
  if (filter.disabled.count(rule.name) > 0) return "--disable names it";
  if (!filter.only.empty() && filter.only.count(rule.name) == 0) return "--only leaves it out";
  if (rule.contract > filter.numerics) {
    return absl::StrCat("it is ", Name(rule.contract), ", which --numerics=", flags.numerics,
                        " does not allow");
  }
  if (setup.filter.Accepts(rule)) return "";
  for (const UnprovedRule& unproved : outcome.unproved) {
    if (unproved.name == rule.name) return unproved.problem;
  }
  return "";
}

// Answers --why-not, if that is asked. `result`: what the search led to.
absl::Status ExplainWhyNot(const OptimizeFlags& flags, Setup* setup, const Graph& input,
                           const Graph& result, Outcome* outcome) {
  if (flags.why_not.empty()) return absl::OkStatus();
  const std::vector<const PreparedRule*> rules = setup->rules->Rules();
  const PreparedRule& rule = **std::find_if(
      rules.begin(), rules.end(),
      [&](const PreparedRule* candidate) { return candidate->rule().name == flags.why_not; });
  WhyNotReport report;
  report.rule = flags.why_not;
  report.source = Operators(rule.rule().source);
  report.anchor = rule.matcher.anchor_op().name;
  report.excluded = Exclusion(flags, *setup, *outcome, rule.rule());
  for (const RewriteStep& step : outcome->search.rewrites)
    report.applied += step.name == report.rule;
  for (auto [graph, explained] : {std::pair(&input, &report.input), {&result, &report.result}}) {
    auto found = ExplainIn(rule, *graph, setup->costs.model.get());
    if (!found.ok()) return found.status();
    *explained = *std::move(found);
  }
  outcome->why_not = std::move(report);
  setup->progress.Clear();
  return absl::OkStatus();
}

// What the search found, and what its first descent reached if that is something else.
absl::StatusOr<std::vector<Contender>> Contenders(const OptimizeFlags& flags, const Graph& input,
                                                  const SearchResult& search) {
  std::vector<Contender> contenders;
  std::set<uint64_t> seen = {input.StructuralHash()};
  auto add = [&](const Graph& graph, const std::vector<RewriteStep>& rewrites) -> absl::Status {
    if (!seen.insert(graph.StructuralHash()).second) return absl::OkStatus();
    auto folded = FoldConstants(graph, static_cast<int>(flags.common.threads));
    if (!folded.ok()) return folded.status();
    contenders.push_back({*std::move(folded), rewrites});
    return absl::OkStatus();
  };
  if (absl::Status s = add(search.best, search.rewrites); !s.ok()) return s;
  if (absl::Status s = add(search.descended, search.descended_rewrites); !s.ok()) return s;
  return contenders;
}

// Writes how the input became what was accepted, if that is wanted. `input_file`: its hash.
absl::Status SaveCertificate(const OptimizeFlags& flags, const Model& model, const Graph& input,
                             const std::string& input_file, const Outcome& outcome,
                             const std::vector<Substitution>& rules) {
  const std::string path = flags.CertificatePath();
  if (path.empty()) return absl::OkStatus();
  using Result = Certificate::Result;
  const Acceptance& accepted = outcome.accepted;
  Result result = Result::kInput;
  if (!accepted.kept_input()) {
    const bool best = accepted.rewrites.back().after == outcome.search.best.StructuralHash();
    result = best ? Result::kBest : Result::kDescended;
    if (!flags.replay.empty()) result = Result::kReplayed;
  }
  auto certificate = Certify(input, accepted.rewrites, accepted.graph, rules, result);
  if (!certificate.ok()) return certificate.status();
  certificate->input_file = input_file;
  certificate->dims = UsedDims(model, flags.common.dims);
  if (flags.common.reseed >= 0) certificate->reseed = flags.common.reseed;
  return WriteCertificate(*std::move(certificate), flags.output, path);
}

// Searches; nothing of it is executed or written.
absl::StatusOr<int> OnlyExplain(const OptimizeFlags& flags, const std::string& path) {
  auto model = flags.common.Load(path);
  if (!model.ok()) return model.status();
  Outcome outcome;
  Setup setup(flags);
  if (absl::Status s = LoadRules(flags, &setup, &outcome); !s.ok()) return s;
  if (absl::Status s = MakeReady(flags, &setup); !s.ok()) return s;
  if (absl::Status s = RunSearch(flags, model->graph, &setup, &outcome); !s.ok()) return s;
  absl::Status s = ExplainWhyNot(flags, &setup, model->graph, outcome.search.best, &outcome);
  if (!s.ok()) return s;
  Print(flags, model->graph, outcome);
  return kExitOk;
}

// What the search, or the certificate to be replayed, leads to.
absl::Status FindResult(const OptimizeFlags& flags, const Graph& input, Setup* setup,
                        Outcome* outcome) {
  if (absl::Status s = LoadRules(flags, setup, outcome); !s.ok()) return s;
  if (!flags.replay.empty()) {
    auto replayed = ReplaySteps(flags, input, setup->file.rules, setup->filter);
    if (!replayed.ok()) return replayed.status();
    outcome->search = *std::move(replayed);
    return absl::OkStatus();
  }
  if (absl::Status s = MakeReady(flags, setup); !s.ok()) return s;
  return RunSearch(flags, input, setup, outcome);
}

absl::StatusOr<int> Optimize(const OptimizeFlags& flags, const std::string& path) {
  if (flags.output.empty()) return OnlyExplain(flags, path);
  auto format = FormatOfPath(flags.output);
  if (!format.ok()) return format.status();
  for (const std::string& file : {flags.output, flags.CertificatePath(), flags.report}) {
    if (absl::Status s = file.empty() ? absl::OkStatus() : CheckWritable(file); !s.ok()) return s;
  }
  auto model = flags.common.Load(path);
  if (!model.ok()) return model.status();
  auto input_file = FileSha256(path);  // now: it may be overwritten
  if (!input_file.ok()) return input_file.status();

  // What cannot be run should be said before the search.
  auto inputs = flags.common.Inputs(model->graph);
  if (!inputs.ok()) return Prefixed(path, inputs.status());

  Outcome outcome;
  Setup setup(flags);
  const Graph input = model->graph;
  if (absl::Status s = FindResult(flags, input, &setup, &outcome); !s.ok()) return s;
  auto contenders = Contenders(flags, input, outcome.search);
  if (!contenders.ok()) return contenders.status();
  auto backend = flags.common.MakeBackend();
  if (!backend.ok()) return backend.status();
  AcceptanceOptions acceptance;
  acceptance.numerics = flags.numerics;
  acceptance.threads = static_cast<int>(flags.common.threads);
  acceptance.runs = flags.Times() ? static_cast<int>(flags.runs) : 0;
  auto accepted = Accept(backend->get(), input, *contenders, *inputs, acceptance);
  if (!accepted.ok()) return accepted.status();
  outcome.accepted = *std::move(accepted);
  model->graph = outcome.accepted.graph;
  if (absl::Status s = SaveModel(*model, flags.output, *format); !s.ok()) return s;
  absl::Status saved =
      SaveCertificate(flags, *model, input, *input_file, outcome, setup.file.rules);
  if (!saved.ok()) return saved;
  saved = SaveReport(flags, path, input, outcome, backend->get(), *inputs);
  if (!saved.ok()) return saved;
  saved = ExplainWhyNot(flags, &setup, input, outcome.accepted.graph, &outcome);
  if (!saved.ok()) return saved;
  Print(flags, input, outcome);
  return kExitOk;
}

}  // namespace

absl::StatusOr<int> RunOptimize(Arguments arguments) {
  OptimizeFlags optimize;
  Flags flags("optimize", "MODEL -o OUT",
              "Rewrites a model so that it runs faster, and writes it. What does not pay when both "
              "are executed is not kept; a model with unknown operators is not executed.");
  optimize.AddTo(&flags);
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  auto path = OneArgument("MODEL", *positional);
  if (!path.ok()) return path.status();
  if (absl::Status s = optimize.Check(); !s.ok()) return s;
  return Optimize(optimize, *path);
}

}  // namespace lemma::cli
