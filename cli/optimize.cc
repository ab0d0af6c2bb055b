// lemma optimize: search, fold, compare, measure end to end, and write the better model.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "cli/acceptance.h"
#include "cli/backends.h"
#include "cli/certificate_file.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/model_file.h"
#include "cli/optimize_report.h"
#include "cli/progress_line.h"
#include "cli/rules_file.h"
#include "cli/text_table.h"
#include "graph/onnx/file.h"
#include "optimizer/analytic_cost.h"
#include "optimizer/backtracking.h"
#include "optimizer/certificate.h"
#include "optimizer/constant_folding.h"
#include "optimizer/measured_cost.h"
#include "optimizer/rewrite_filter.h"
#include "optimizer/search.h"
#include "rewrite/rewrite_source.h"

namespace lemma::cli {
namespace {

struct OptimizeFlags {
  CommonFlags common;
  std::string output, rules, cost = "measured", cost_db = CostDb::DefaultPath(), device;
  std::string numerics = "reassociate";
  std::vector<std::string> disable, only;
  int64_t budget = 5000, runs = 15;
  double alpha = 1.05, seconds = 0;
  bool allow_unproved = false;
  std::string certificate, replay;  // files; "none": no certificate
  std::string report;

  bool Times() const { return device.empty() && replay.empty(); }
  std::string CertificatePath() const {
    if (certificate == "none") return "";
    return certificate.empty() ? output + ".cert" : certificate;
  }
};

absl::StatusOr<FloatContract> LoosestContract(const std::string& numerics) {
  static const std::map<std::string, FloatContract> kByName = {
      {"exact", FloatContract::kBitExact},
      {"reassociate", FloatContract::kReassociates},
      {"real", FloatContract::kRealOnly}};
  return kByName.at(numerics);
}

RewriteFilter FilterOf(const OptimizeFlags& flags, FloatContract contract) {
  RewriteFilter filter;
  filter.numerics = contract;
  filter.disabled = {flags.disable.begin(), flags.disable.end()};
  filter.only = {flags.only.begin(), flags.only.end()};
  filter.allow_unproved = flags.allow_unproved;
  return filter;
}

std::string Names(const std::vector<UnprovedRule>& rules) {
  return absl::StrJoin(
      rules, ", ", [](std::string* text, const UnprovedRule& rule) { text->append(rule.name); });
}

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

struct Outcome {
  std::vector<UnprovedRule> unproved;  // allowed, used or not
  SearchResult search;
  double search_seconds = 0;
  double best_seconds = 0;  // until the best graph was found
  // Memory of the process when the search began, and the most while it ran.
  int64_t search_start_bytes = 0, search_peak_bytes = 0;
  Acceptance accepted;
};

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

// All of the outcome but what was accepted.
absl::Status RunSearch(const OptimizeFlags& flags, const Graph& graph, Outcome* outcome) {
  auto file = LoadRulesFile(flags.rules);
  if (!file.ok()) return file.status();
  for (const auto* names : {&flags.only, &flags.disable}) {
    if (absl::Status s = CheckRuleNames(*names, *file); !s.ok()) return s;
  }
  auto contract = LoosestContract(flags.numerics);
  if (!contract.ok()) return contract.status();
  const RewriteFilter filter = FilterOf(flags, *contract);
  outcome->unproved = UnprovedRules(file->rules, filter);
  if (absl::Status s = CheckProofs(flags, *file, outcome->unproved); !s.ok()) return s;
  if (!flags.replay.empty()) {
    auto replayed = ReplaySteps(flags, graph, file->rules, filter);
    if (!replayed.ok()) return replayed.status();
    outcome->search = *std::move(replayed);
    return absl::OkStatus();
  }
  auto rules = RuleSet::Create(std::move(file->rules));
  if (!rules.ok()) return Prefixed(file->name, rules.status());
  ProgressLine progress(flags.common.json);
  auto costs = MakeCosts(flags, &progress);
  if (!costs.ok()) return costs.status();
  const std::unique_ptr<RewriteSource> usable = Filtered(rules->get(), filter);
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
    progress.Show(absl::StrFormat("%d graphs, cost %.3f -> %.3f ms, %.0f s", p.steps,
                                  p.initial.ms(), p.best.ms(), seconds()));
    return !interrupt.flag().load();
  };
  auto found =
      MakeBacktrackingSearch(usable.get(), costs->model.get(), options)->Run(graph, on_progress);
  if (!found.ok()) return found.status();
  outcome->search = *std::move(found);
  outcome->search_seconds = seconds();
  if (best && outcome->search.best_cost < *best) outcome->best_seconds = outcome->search_seconds;
  outcome->search_peak_bytes = MemoryBytes("VmHWM:");
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

std::vector<std::pair<std::string, int>> RuleCounts(const std::vector<RewriteStep>& steps) {
  std::map<std::string, int> counts;
  for (const RewriteStep& step : steps) ++counts[step.name];
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

double GraphsPerSecond(const SearchResult& search) {
  return static_cast<double>(search.steps) / std::max(1e-6, search.search_seconds);
}

void PrintJson(const OptimizeFlags& flags, const Graph& input, const Outcome& outcome) {
  const SearchResult& p = outcome.search;
  const Acceptance& result = outcome.accepted;
  auto counts = [](const std::vector<RewriteStep>& steps) {
    Json rules = Json::Object();
    for (const auto& [name, count] : RuleCounts(steps)) rules.Set(name, count);
    return rules;
  };
  Json json = Json::Object();
  json.Set("graph", input.name())
      .Set("output", flags.output)
      .Set("certificate", flags.CertificatePath())
      .Set("kept_input", result.kept_input());
  json.Set("operators_before", input.num_ops());
  json.Set("operators_after", result.graph.num_ops());
  if (flags.replay.empty()) {
    json.Set("predicted_ms_before", p.initial_cost.ms());
    json.Set("predicted_ms_after", p.best_cost.ms());
  }
  if (!flags.device.empty()) json.Set("device", flags.device);
  if (result.measured && flags.Times()) {
    json.Set("ms_before", result.ms_before).Set("ms_after", result.ms_after);
    json.Set("ratio", result.ratio);
  }
  if (result.measured) {
    json.Set("peak_bytes_before", result.memory_before.planned_bytes);
    json.Set("peak_bytes_after", result.memory_after.planned_bytes);
    json.Set("difference", result.difference.largest).Set("allowed", result.difference.allowed);
  }
  if (result.found) {
    json.Set("found_ratio", result.found->median).Set("found_ratio_low", result.found->low);
    json.Set("found_ratio_high", result.found->high).Set("runs", result.runs);
  }
  json.Set("rules", counts(result.rewrites)).Set("search_rules", counts(p.rewrites));
  if (flags.allow_unproved) {
    Json unproved = Json::Object();
    for (const UnprovedRule& rule : outcome.unproved) unproved.Set(rule.name, rule.problem);
    json.Set("unproved_rules_allowed", std::move(unproved));
  }
  json.Set("graphs", p.steps).Set("search_seconds", outcome.search_seconds);
  json.Set("best_seconds", outcome.best_seconds);
  json.Set("search_start_bytes", outcome.search_start_bytes);
  json.Set("search_peak_bytes", outcome.search_peak_bytes);
  json.Set("graphs_per_second", GraphsPerSecond(p));
  json.Set("stopped", Name(p.stop));
  std::puts(json.ToString().c_str());
}

void PrintTable(const OptimizeFlags& flags, const Graph& input, const Outcome& outcome) {
  const SearchResult& p = outcome.search;
  const Acceptance& result = outcome.accepted;
  auto bytes = [](int64_t n) { return FormatBytes(static_cast<double>(n)); };
  TextTable table({flags.common.backend, "before", "after", "after/before"});
  if (result.measured && flags.Times()) {
    table.Row({"time, median", FormatMs(result.ms_before), FormatMs(result.ms_after),
               absl::StrFormat("%.3f", result.kept_input() ? 1.0 : result.ratio)});
  }
  if (flags.replay.empty()) {
    table.Row({"time, predicted", FormatMs(p.initial_cost.ms()), FormatMs(p.best_cost.ms()),
               absl::StrFormat("%.3f", p.best_cost.ms() / std::max(1e-9, p.initial_cost.ms()))});
  }
  table.Row({"operators", absl::StrCat(input.num_ops()), absl::StrCat(result.graph.num_ops()), ""});
  if (result.measured) {
    table.Row({"peak memory", bytes(result.memory_before.planned_bytes),
               bytes(result.memory_after.planned_bytes), ""});
  }
  std::fputs(table.ToString().c_str(), stdout);
  if (!result.measured) {
    std::puts("not executed: the model has operators that only its own runtime knows");
  } else {
    if (!flags.replay.empty()) std::puts("not timed: steps of a certificate");
    if (!flags.device.empty()) std::printf("not timed: optimized for %s\n", flags.device.c_str());
    std::printf("largest output difference %s, allowed %s\n",
                FormatError(result.difference.largest).c_str(),
                FormatError(result.difference.allowed).c_str());
  }
  std::printf("%d graphs in %.1f s, %.0f per second of processor time: %s\n",
              static_cast<int>(p.steps), outcome.search_seconds, GraphsPerSecond(p), Name(p.stop));
  if (p.rewrites.empty()) {
    std::puts("kept the input: no rule makes it faster");
  } else if (result.kept_input() && !result.found) {
    std::puts("kept the input: what the search found changes more than --numerics allows");
  } else if (result.kept_input()) {
    std::printf(
        "kept the input: what the search found took %.3f times as long (%.3f to %.3f, %d runs)\n",
        result.found->median, result.found->low, result.found->high, result.runs);
  } else {
    for (const auto& [name, count] : RuleCounts(result.rewrites)) {
      const bool unproved =
          std::any_of(outcome.unproved.begin(), outcome.unproved.end(),
                      [&](const UnprovedRule& rule) { return rule.name == name; });
      std::printf("%5d x %s%s\n", count, name.c_str(), unproved ? " (UNPROVED)" : "");
    }
  }
  if (!outcome.unproved.empty()) {
    std::printf("UNPROVED rules were allowed: %s\n", Names(outcome.unproved).c_str());
  }
  std::printf("written to %s\n", flags.output.c_str());
  if (const std::string path = flags.CertificatePath(); !path.empty()) {
    std::printf("certificate: %s\n", path.c_str());
  }
  if (!flags.report.empty()) std::printf("report: %s\n", flags.report.c_str());
}

// Writes how the input became what was accepted, if that is wanted. `input_file`: its hash.
absl::Status SaveCertificate(const OptimizeFlags& flags, const Model& model, const Graph& input,
                             const std::string& input_file, const Outcome& outcome) {
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
  auto file = LoadRulesFile(flags.rules);
  if (!file.ok()) return file.status();
  auto certificate = Certify(input, accepted.rewrites, accepted.graph, file->rules, result);
  if (!certificate.ok()) return certificate.status();
  certificate->input_file = input_file;
  certificate->dims = UsedDims(model, flags.common.dims);
  if (flags.common.reseed >= 0) certificate->reseed = flags.common.reseed;
  return WriteCertificate(*std::move(certificate), flags.output, path);
}

// Writes the page that shows what was done, if that is wanted.
absl::Status SaveReport(const OptimizeFlags& flags, const std::string& path, const Graph& input,
                        const Outcome& outcome, Backend* backend, absl::Span<const Tensor> inputs) {
  if (flags.report.empty()) return absl::OkStatus();
  auto file = LoadRulesFile(flags.rules);
  if (!file.ok()) return file.status();
  ReportOptions options;
  options.title = path;
  options.threads = static_cast<int>(flags.common.threads);
  const bool times = outcome.accepted.measured && flags.Times();
  options.runs = times ? static_cast<int>(flags.runs) : 0;
  options.facts = {{"back end", backend->version()},
                   {"numerics", flags.numerics},
                   {"rules", file->name},
                   {"written to", flags.output}};
  auto report =
      MakeReport(options, input, outcome.search, outcome.accepted, file->rules, backend, inputs);
  if (!report.ok()) return report.status();
  auto page = ReportPage(*report);
  if (!page.ok()) return page.status();
  return WriteFileAtomically(flags.report, {*page});
}

absl::StatusOr<int> Optimize(const OptimizeFlags& flags, const std::string& path) {
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
  if (absl::Status s = RunSearch(flags, model->graph, &outcome); !s.ok()) return s;
  const Graph input = model->graph;
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
  absl::Status saved = SaveCertificate(flags, *model, input, *input_file, outcome);
  if (!saved.ok()) return saved;
  saved = SaveReport(flags, path, input, outcome, backend->get(), *inputs);
  if (!saved.ok()) return saved;
  if (flags.common.json) {
    PrintJson(flags, input, outcome);
  } else {
    PrintTable(flags, input, outcome);
  }
  return kExitOk;
}

}  // namespace

absl::StatusOr<int> RunOptimize(Arguments arguments) {
  OptimizeFlags optimize;
  Flags flags("optimize", "MODEL -o OUT",
              "Rewrites a model so that it runs faster, and writes it. What does not pay when both "
              "are executed is not kept; a model with unknown operators is not executed.");
  flags.String("output|o", &optimize.output, "OUT", "where to: .onnx, .lemma or .txt, .pb");
  flags.String("rules", &optimize.rules, "FILE", "rules to use instead of the built-in ones");
  flags.Bool("allow-unproved", &optimize.allow_unproved,
             "use rules whose proof is missing or out of date too");
  flags.List("disable", &optimize.disable, "RULE,...", "rules not to use");
  flags.List("only", &optimize.only, "RULE,...", "the only rules to use");
  flags.Choice("numerics", &optimize.numerics, {"exact", "reassociate", "real"},
               "what rules may change: no bit, roundings, or overflow and NaN too");
  flags.Int("budget", &optimize.budget, "graphs to generate");
  flags.Real("seconds", &optimize.seconds, "time limit of the search; 0: none");
  flags.Real("alpha", &optimize.alpha, "explore graphs that cost less than this times the best");
  flags.Choice("cost", &optimize.cost, {"measured", "analytic"},
               "kernels measured on this machine, or an estimate");
  flags.String("cost-db", &optimize.cost_db, "FILE", "where measured costs are kept");
  flags.String(
      "device", &optimize.device, "NAME",
      "optimize for this device with what --cost-db knows of it; measure and time nothing");
  flags.String("certificate", &optimize.certificate, "FILE",
               "where the certificate goes; OUT.cert unless given; none: nowhere");
  flags.String("report", &optimize.report, "FILE",
               "a page (HTML) with both graphs, each step, times and memory");
  flags.String("replay", &optimize.replay, "CERT",
               "apply the steps of a certificate instead of searching; time nothing");
  flags.Int("runs", &optimize.runs,
            "alternating runs of both models at the end; up to four times as many if they "
            "leave it open which is faster");
  optimize.common.AddExecution(&flags);
  optimize.common.AddModel(&flags);
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  auto path = OneArgument("MODEL", *positional);
  if (!path.ok()) return path.status();
  if (optimize.output.empty()) return absl::InvalidArgumentError("where to? give -o OUT");
  if (!optimize.device.empty() && optimize.cost != "measured") {
    return absl::InvalidArgumentError("--device: there are no measured costs with --cost analytic");
  }
  if (optimize.runs < 3) return absl::InvalidArgumentError("--runs: must be at least 3");
  if (optimize.budget < 1) return absl::InvalidArgumentError("--budget: must be at least 1");
  if (!(optimize.seconds >= 0)) return absl::InvalidArgumentError("--seconds: must be at least 0");
  if (!(optimize.alpha >= 1)) return absl::InvalidArgumentError("--alpha: must be at least 1");
  return Optimize(optimize, *path);
}

}  // namespace lemma::cli
