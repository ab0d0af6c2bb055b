#include "cli/optimize_search.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "api/models/model_file.h"
#include "api/models/random_values.h"
#include "api/optimization/certificate_file.h"
#include "base/text_table.h"
#include "cli/interrupt.h"
#include "cli/optimize_print.h"
#include "optimizer/cost/analytic_cost.h"
#include "optimizer/cost/measured_cost.h"
#include "optimizer/extraction/saturation.h"
#include "optimizer/memory/rematerialization.h"
#include "optimizer/search/backtracking.h"
#include "optimizer/search/certificate.h"
#include "pet/finder.h"
#include "pet/rule.h"
#include "rewrite/rules/rule_text.h"
#include "verifier/certificate/mutant.h"

namespace lemma::cli {
namespace {

constexpr int kManyOps = 600;

// What stands in the way of using rules that are not proved; says so if they are used nevertheless.
absl::Status CheckProofs(const OptimizeFlags& flags, const api::RulesFile& file,
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

// Takes over what a certificate says of corrected mutants, if it is so.
absl::Status TakeMutants(const OptimizeFlags& flags, const Certificate& certificate, Setup* setup) {
  for (const CertificateMutant& mutant : certificate.mutants) {
    for (const Substitution& rule : certificate.rules) {
      if (rule.name != mutant.rule.name) continue;
      auto checked = certificate::CheckMutant(rule, mutant, api::DrawSeed(),
                                              static_cast<int>(flags.common.threads));
      if (!checked.ok()) return checked.status();
      setup->file.rules.push_back(rule);
      setup->mutants.push_back(mutant);
    }
  }
  return absl::OkStatus();
}

// What the steps of --replay lead to.
absl::StatusOr<SearchResult> ReplaySteps(const OptimizeFlags& flags, const Graph& graph,
                                         Setup* setup) {
  auto text = api::ReadCertificateText(flags.replay);
  if (!text.ok()) return text.status();
  auto certificate = ParseCertificate(*text);
  if (!certificate.ok()) return api::Prefixed(flags.replay, certificate.status());
  for (const Substitution& rule : certificate->rules) {
    if (setup->filter.Asks(rule.name, rule.contract)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(flags.replay, ": uses the rule ", rule.name, ", which the flags leave out"));
  }
  if (absl::Status s = TakeMutants(flags, *certificate, setup); !s.ok()) {
    return api::Prefixed(flags.replay, s);
  }
  auto replayed = Replay(*certificate, graph, setup->file.rules);
  if (!replayed.ok()) return api::Prefixed(flags.replay, replayed.status());
  SearchResult result;
  result.best = result.descended = replayed->graph;
  result.rewrites = result.descended_rewrites = replayed->steps;
  result.steps = static_cast<int64_t>(replayed->steps.size());
  return result;
}

// Reads the rules; what is wrong with them goes into the outcome, or is an error.
absl::Status LoadRules(const OptimizeFlags& flags, Setup* setup, Outcome* outcome) {
  auto file = api::LoadRulesFile(flags.rules);
  if (!file.ok()) return file.status();
  std::vector<std::string> why_not;
  if (!flags.why_not.empty()) why_not.push_back(flags.why_not);
  for (const auto& names : {flags.only, flags.disable, why_not}) {
    if (absl::Status s = api::CheckRuleNames(names, *file); !s.ok()) return s;
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

absl::StatusOr<CertificateMutant> ForCertificate(const PetRule& rule) {
  auto mutant = GroundRule(rule.rule.name, rule.original, rule.candidate.mutant.graph);
  if (!mutant.ok()) return mutant.status();
  CertificateMutant entry{*std::move(mutant), {}};
  for (const Box& box : rule.candidate.region.differs) {
    CertificateMutant::Box& ranges = entry.differs.emplace_back();
    for (const Range& r : box) ranges.push_back({r.start, r.count, r.step});
  }
  return entry;
}

PetOptions PetOptionsOf(CostModel* costs, const Deadline& deadline) {
  PetOptions options;
  options.candidates.cost = Nanoseconds(costs, false);
  options.candidates.estimate = Nanoseconds(costs, true);
  options.candidates.look_at = 12;  // each is measured
  options.candidates.deadline = deadline;
  return options;
}

// Adds the rules of the corrected mutants of the graph's parts that cost less than these. Returns
// how many are new.
absl::StatusOr<int> AddMutants(const Graph& graph, PetFinder* finder, Setup* setup) {
  setup->progress.Show("mutants");
  auto rules = finder->RulesFor(graph);
  if (!rules.ok()) return rules.status();
  int added = 0;
  for (const PetRule& rule : *rules) {
    const bool known = std::any_of(
        setup->mutants.begin(), setup->mutants.end(),
        [&](const CertificateMutant& mutant) { return mutant.rule.name == rule.rule.name; });
    if (known) continue;
    auto mutant = ForCertificate(rule);
    if (!mutant.ok()) return mutant.status();
    Substitution corrected = rule.rule;
    auto contract = certificate::ContractOfSums(corrected, api::DrawSeed());
    if (!contract.ok()) continue;  // lemma check would not follow
    corrected.contract = corrected.proof.contract = *contract;
    setup->mutants.push_back(*std::move(mutant));
    setup->file.rules.push_back(std::move(corrected));
    ++added;
  }
  return added;
}

absl::Status MakeReady(Setup* setup) {
  auto rules = RuleSet::Create(setup->file.rules);
  if (!rules.ok()) return api::Prefixed(setup->file.name, rules.status());
  setup->rules = *std::move(rules);
  setup->usable = Filtered(setup->rules.get(), setup->filter);
  return absl::OkStatus();
}

// A peak is found anew for the whole graph at each step.
void NoteOnMemory(const OptimizeFlags& flags, const Graph& graph, const Objective& objective) {
  if (objective.IsTime() || graph.num_ops() <= kManyOps || flags.common.json) return;
  std::fprintf(stderr,
               "lemma: note: the memory of all %d operators is planned for each rewrite that is "
               "tried, which takes long; --seconds bounds the search\n",
               graph.num_ops());
}

// What the input's executable plans; nothing where it has opaque operators, so that nobody knows.
absl::StatusOr<std::optional<int64_t>> PlannedBytes(const OptimizeFlags& flags,
                                                    const Graph& input) {
  auto backend = flags.common.MakeBackend();
  if (!backend.ok()) return backend.status();
  CompileOptions compile;
  compile.threads = static_cast<int>(flags.common.threads);
  if (flags.DeviceIsAbsent()) {
    auto plan = (*backend)->Plan(input, compile);
    if (!plan.ok()) return plan.status();
    return plan->memory.planned_bytes;
  }
  auto executable = (*backend)->Compile(input, compile);
  if (absl::IsUnimplemented(executable.status())) return std::optional<int64_t>();
  if (!executable.ok()) return executable.status();
  return (*executable)->memory().planned_bytes;
}

// The limits for what the cost model calls a peak, and for what the back end's plan does: what each
// is off by for the input, such as what kernels need for themselves, it is taken to be off by for
// all. A model with opaque operators is refused when it comes to executing it (Accept).
absl::Status SetLimits(const OptimizeFlags& flags, const Graph& input, Setup* setup) {
  auto planned = PlannedBytes(flags, input);
  if (!planned.ok()) return planned.status();
  const auto limit = [&](int64_t peak) {
    return *planned ? std::max<int64_t>(1, flags.memory_limit + peak - **planned)
                    : flags.memory_limit;
  };
  auto cost = setup->costs.model->CostOf(input);
  if (!cost.ok()) return cost.status();
  setup->peak_limit = setup->plan_limit = limit(cost->peak_bytes());
  // Analytic costs know of no plan, but the back end may.
  if (setup->costs.measurer != nullptr) return absl::OkStatus();
  setup->planner = flags.common.MakeMeasurer();
  if (setup->planner == nullptr) return absl::OkStatus();
  auto plan = setup->planner->Plan(input);
  if (absl::IsUnimplemented(plan.status())) return absl::OkStatus();
  if (!plan.ok()) return plan.status();
  setup->plan_limit = limit(plan->peak_bytes);
  return absl::OkStatus();
}

std::unique_ptr<Search> MakeSearch(const OptimizeFlags& flags, const Setup& setup,
                                   BacktrackingOptions options) {
  if (flags.search == "backtracking") {
    return MakeBacktrackingSearch(setup.usable.get(), setup.costs.model.get(), options);
  }
  options.descend_only = flags.search == "saturation";
  return MakeSaturationSearch(setup.usable.get(), setup.costs.model.get(),
                              {std::move(options), static_cast<int>(flags.nodes)});
}

absl::Status RunSearch(const OptimizeFlags& flags, const Graph& graph, Setup* setup,
                       Outcome* outcome) {
  InterruptScope interrupt;
  BacktrackingOptions options;
  options.limits = {flags.budget, setup->deadline.seconds_left()};
  options.alpha = flags.alpha;
  options.objective = flags.ObjectiveOf();
  if (flags.memory_limit > 0) {
    absl::Status set = SetLimits(flags, graph, setup);
    if (absl::IsCancelled(set)) return InterruptedError();
    if (!set.ok()) return set;
    options.objective.memory_limit = setup->peak_limit;
  }
  NoteOnMemory(flags, graph, options.objective);
  options.price_steps = !flags.report.empty();
  ForgetPeak();
  outcome->search_start_bytes = MemoryBytes("VmRSS:");
  const auto start = std::chrono::steady_clock::now();
  auto seconds = [&start, before = outcome->search_seconds] {
    const std::chrono::duration<double> now = std::chrono::steady_clock::now() - start;
    return before + now.count();
  };
  std::optional<Cost> best;
  auto on_progress = [&](const SearchProgress& p) {
    if (!best || !(p.best == *best)) outcome->best_seconds = best ? seconds() : 0;
    best = p.best;
    setup->progress.Show(absl::StrFormat("%d graphs, cost %.3f -> %.3f ms, %.0f s", p.steps,
                                         p.initial.ms(), p.best.ms(), seconds()));
    return !interrupt.flag().load();
  };
  auto found = MakeSearch(flags, *setup, options)->Run(graph, on_progress);
  if (absl::IsCancelled(found.status())) return InterruptedError();
  if (!found.ok()) return found.status();
  outcome->search = *std::move(found);
  outcome->search_seconds = seconds();
  if (best && outcome->search.best_cost.ns() < best->ns())
    outcome->best_seconds = outcome->search_seconds;
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

}  // namespace

absl::StatusOr<Costs> MakeCosts(const OptimizeFlags& flags, const Deadline& deadline,
                                ProgressLine* progress) {
  Costs costs;
  if (flags.cost == "measured") {
    costs.measurer = flags.common.MakeMeasurer();
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
  options.deadline = deadline;
  options.on_measure = [progress](absl::string_view signature) {
    progress->Show(absl::StrCat("measuring ", signature.substr(0, 60)));
  };
  costs.model = MakeMeasuredCostModel(costs.measurer.get(), costs.db.get(), std::move(options));
  return costs;
}

CostFn Nanoseconds(CostModel* model, bool estimate) {
  return [model, estimate](const Graph& graph) -> absl::StatusOr<int64_t> {
    auto cost = estimate ? model->EstimateOf(graph) : model->CostOf(graph);
    if (!cost.ok()) return cost.status();
    return cost->ns();
  };
}

absl::Status FindResult(const OptimizeFlags& flags, const Graph& input, Setup* setup,
                        Outcome* outcome) {
  if (absl::Status s = LoadRules(flags, setup, outcome); !s.ok()) return s;
  if (!flags.replay.empty()) {
    auto replayed = ReplaySteps(flags, input, setup);
    if (!replayed.ok()) return replayed.status();
    outcome->search = *std::move(replayed);
    return absl::OkStatus();
  }
  auto costs = MakeCosts(flags, setup->deadline, &setup->progress);
  if (!costs.ok()) return costs.status();
  setup->costs = *std::move(costs);
  // The other half is the search's.
  PetFinder finder(PetOptionsOf(setup->costs.model.get(), setup->deadline.Half()));
  // Mutants of the input's parts, then of those that the search made.
  Graph graph = input;
  for (int search = 1; search <= 2; ++search) {
    if (flags.pet == "on") {
      auto added = AddMutants(graph, &finder, setup);
      if (!added.ok()) return added.status();
      if (search == 2 && *added == 0) return absl::OkStatus();
    }
    if (absl::Status s = MakeReady(setup); !s.ok()) return s;
    const SearchResult before = std::move(outcome->search);
    if (absl::Status s = RunSearch(flags, input, setup, outcome); !s.ok()) return s;
    const StopReason stop = outcome->search.stop;
    const bool is_cut = stop == StopReason::kCancelled || stop == StopReason::kSeconds;
    // One that was cut short may know less than the one before it.
    const bool is_better =
        flags.ObjectiveOf().IsTime() && outcome->search.best_cost.ns() < before.best_cost.ns();
    if (search == 2 && is_cut && !is_better) outcome->search = before;
    if (flags.pet == "off" || is_cut) break;
    graph = outcome->search.best;
  }
  return absl::OkStatus();
}

bool LosesBarriers(const std::string& output) {
  const auto format = api::FormatOfPath(output);
  return format.ok() && *format == api::ModelFormat::kOnnx;
}

absl::StatusOr<api::Contender> KeptToLimit(const OptimizeFlags& flags, api::Contender contender,
                                           Setup* setup) {
  KernelMeasurer* planner =
      setup->costs.measurer != nullptr ? setup->costs.measurer.get() : setup->planner.get();
  if (setup->peak_limit == 0 || planner == nullptr) return contender;
  if (LosesBarriers(flags.output)) return contender;
  InterruptScope interrupt;
  auto on_progress = [&](int64_t peak_bytes) {
    setup->progress.Show(absl::StrCat("fewer values at once: peak ",
                                      FormatBytes(static_cast<double>(peak_bytes)), " of ",
                                      FormatBytes(static_cast<double>(flags.memory_limit))));
    return !interrupt.flag().load();
  };
  // As long again as the search, which may have taken all of its time.
  const Deadline deadline = Deadline::After(flags.seconds, &interrupt.flag());
  // Another graph's kernels may need more for themselves than the input's, by which the limit was
  // set: then it is tried for less.
  constexpr int kAttempts = 3;
  int64_t limit = setup->plan_limit;
  api::Contender kept = contender;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto found = Rematerialize(contender.graph, limit, planner, setup->costs.model.get(),
                               on_progress, deadline);
    setup->progress.Clear();
    if (absl::IsUnimplemented(found.status()) || absl::IsCancelled(found.status())) break;
    if (!found.ok()) return found.status();
    kept.graph = std::move(found->graph);
    kept.recomputed = found->recomputed;
    kept.offloaded = found->offloaded;
    auto planned = PlannedBytes(flags, kept.graph);
    if (!planned.ok()) return planned.status();
    if (!*planned || **planned <= flags.memory_limit) break;
    const int64_t over = **planned - flags.memory_limit;
    // What is far off is out of reach, not misjudged.
    if (over > flags.memory_limit / 8 || over >= limit) break;
    limit -= over;
  }
  return kept;
}

absl::StatusOr<bool> Learn(const OptimizeFlags& flags, Setup* setup, Outcome* outcome) {
  if (outcome->accepted.in_graph.empty() || setup->costs.db == nullptr) return false;
  auto learned =
      setup->costs.db->PutInGraph(setup->costs.measurer->device(), outcome->accepted.in_graph);
  if (!learned.ok()) return learned.status();
  outcome->learned += *learned;
  return *learned > 0 && outcome->accepted.kept_input() && flags.seconds == 0 &&
         outcome->search.stop != StopReason::kCancelled;
}

absl::Status SearchAgain(const OptimizeFlags& flags, const Graph& input, Setup* setup,
                         Outcome* outcome) {
  auto costs = MakeCosts(flags, setup->deadline, &setup->progress);
  if (!costs.ok()) return costs.status();
  setup->costs = *std::move(costs);
  return RunSearch(flags, input, setup, outcome);
}

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
    auto found = ExplainIn(rule, *graph, flags.ObjectiveOf(), setup->costs.model.get());
    if (!found.ok()) return found.status();
    *explained = *std::move(found);
  }
  outcome->why_not = std::move(report);
  setup->progress.Clear();
  return absl::OkStatus();
}

}  // namespace lemma::cli
