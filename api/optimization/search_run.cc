#include "api/optimization/search_run.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/models/model_file.h"
#include "api/optimization/memory_limit.h"
#include "api/optimization/mutants.h"
#include "optimizer/cost/sized_cost.h"
#include "optimizer/search/backtracking.h"
#include "optimizer/search/certificate.h"
#include "optimizer/strategies/strategies.h"

namespace lemma::api {
namespace {

// The time for explaining why a rule was not applied, however little the search has left.
constexpr double kWhyNotSeconds = 2, kExplainSeconds = 3;

optimizer::RewriteFilter FilterOf(const OptimizeOptions& options) {
  optimizer::RewriteFilter filter;
  filter.numerics = options.numerics;
  filter.disabled = {options.disable.begin(), options.disable.end()};
  filter.only = {options.only.begin(), options.only.end()};
  filter.allow_unproved = options.allow_unproved;
  return filter;
}

// The rules of a file may have outdated records, and the user has to know before the search. Those
// of the program do not; if one does, the search does not use it. Steps that are repeated do not
// look for matches, so they need to know before, too.
RecordCheck RecordsOf(const SearchRun& run) {
  const bool searches = run.options.replay.empty() && !run.options.allow_unproved;
  return run.file.is_builtin && searches ? RecordCheck::kWhenUsed : RecordCheck::kBefore;
}

// Reads the rules; those that are not proved go into the result, and are an error unless they are
// allowed or nothing is executed.
absl::Status LoadRules(SearchRun* run) {
  const OptimizeOptions& options = run->options;
  auto file = LoadRulesFile(options.rules);
  if (!file.ok()) return file.status();
  std::vector<std::string> why_not;
  if (!options.why_not.empty()) why_not.push_back(options.why_not);
  for (const auto& names : {options.only, options.disable, why_not}) {
    if (absl::Status s = CheckRuleNames(names, *file); !s.ok()) return s;
  }
  run->file = *std::move(file);
  run->filter = FilterOf(options);
  std::vector<optimizer::UnprovedRule>& unproved = run->result.unproved;
  unproved = optimizer::UnprovedRules(run->file.rules, run->filter, RecordsOf(*run));
  run->Begin(SearchRun::Stage::kRules);
  if (options.allow_unproved || unproved.empty()) return absl::OkStatus();
  if (options.execute) {
    const size_t more = unproved.size() - 1;
    return absl::FailedPreconditionError(absl::StrCat(
        run->file.name, ": rule ", unproved[0].name, " may not be used: ", unproved[0].problem,
        more == 0 ? "" : absl::StrCat(" (and ", more, " more rules)")));
  }
  for (const optimizer::UnprovedRule& rule : unproved) run->filter.disabled.insert(rule.name);
  return absl::OkStatus();
}

// Applies the steps of the certificate; the graph that they lead to is the result of the search.
absl::StatusOr<optimizer::SearchResult> ReplaySteps(const Graph& graph, SearchRun* run) {
  const std::string& path = run->options.replay;
  if (!run->replayed) {
    auto text = ReadCertificateText(path);
    if (!text.ok()) return text.status();
    auto parsed = ParseCertificate(*text);
    if (!parsed.ok()) return Prefixed(path, parsed.status());
    run->replayed = *std::move(parsed);
  }
  const Certificate* certificate = &*run->replayed;
  for (const Substitution& rule : certificate->rules) {
    if (run->filter.AsksFor(rule.name, rule.contract)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": uses the rule ", rule.name, ", which the flags leave out"));
  }
  if (absl::Status s = TakeMutants(*certificate, run); !s.ok()) {
    return Prefixed(path, s);
  }
  auto replayed = optimizer::Replay(*certificate, graph, run->file.rules);
  if (!replayed.ok()) return Prefixed(path, replayed.status());
  optimizer::SearchResult result;
  result.best = result.descended = replayed->graph;
  result.rewrites = result.descended_rewrites = replayed->steps;
  result.steps = static_cast<int64_t>(replayed->steps.size());
  return result;
}

absl::Status MakeReady(const Graph& input, SearchRun* run) {
  RuleSetOptions options;
  if (run->options.fixed) {
    options.fixed = std::make_shared<FixedNodes>(run->options.fixed(input));
  }
  options.records = RecordsOf(*run);
  options.late = run->file.late;
  auto rules = RuleSet::Create(run->file.rules, options);
  if (!rules.ok()) return Prefixed(run->file.name, rules.status());
  run->rules = *std::move(rules);
  run->usable = optimizer::Filtered(run->rules.get(), run->filter);
  return absl::OkStatus();
}

absl::Status RunSearch(const Graph& graph, SearchRun* run) {
  const Deadline& deadline = run->options.deadline;
  OptimizeResult& result = run->result;
  run->Begin(SearchRun::Stage::kSearch);
  optimizer::BacktrackingOptions options;
  options.limits = {run->options.budget, deadline.seconds_left()};
  options.alpha = run->options.alpha;
  options.objective = run->options.objective;
  if (options.objective.memory_limit > 0) {
    if (absl::Status set = SetLimits(graph, run); !set.ok()) return set;
    options.objective.memory_limit = run->peak_limit;
  }
  options.price_steps = run->options.price_steps || run->options.explain;
  const auto start = std::chrono::steady_clock::now();
  auto seconds = [&start, before = result.search_seconds] {
    const std::chrono::duration<double> now = std::chrono::steady_clock::now() - start;
    return before + now.count();
  };
  std::optional<optimizer::Cost> best;
  auto on_progress = [&](const optimizer::SearchProgress& p) {
    if (!best || !(p.best == *best)) result.best_seconds = best ? seconds() : 0;
    best = p.best;
    run->Tell([&](OptimizeProgress* progress) {
      progress->search = p;
      progress->seconds = seconds();
    });
    return !deadline.interrupted();
  };
  const std::unique_ptr<optimizer::Search> search =
      optimizer::FindStrategy(run->options.search)
          ->make(run->usable.get(), run->costs.model.get(),
                 {options, static_cast<int>(run->options.nodes)});
  auto found = search->Run(graph, on_progress);
  run->was_interrupted = run->was_interrupted || deadline.interrupted();
  if (!found.ok()) return found.status();
  result.search = *std::move(found);
  result.search_seconds = seconds();
  if (best && result.search.best_cost.ns() < best->ns()) {
    result.best_seconds = result.search_seconds;
  }
  return absl::OkStatus();
}

// Why the search did not look at the rule.
void Exclude(const SearchRun& run, const Substitution& rule, WhyNotReport* report) {
  using Excluded = WhyNotReport::Excluded;
  const optimizer::RewriteFilter filter = FilterOf(run.options);
  report->contract = rule.contract;
  if (filter.disabled.count(rule.name) > 0) {
    report->excluded = Excluded::kDisabled;
  } else if (!filter.only.empty() && filter.only.count(rule.name) == 0) {
    report->excluded = Excluded::kNotAmongOnly;
  } else if (rule.contract > filter.numerics) {
    report->excluded = Excluded::kContract;
  } else if (!run.filter.Accepts(rule)) {
    for (const optimizer::UnprovedRule& unproved : run.result.unproved) {
      if (unproved.name != rule.name) continue;
      report->excluded = Excluded::kUnproved;
      report->problem = unproved.problem;
    }
  }
}

absl::StatusOr<Costs> CostsOf(SearchRun* run) {
  CostOptions options = run->options.costs;
  options.measure_new = options.measure_new && !run->options.by_price;
  optimizer::MeasureOptions measure;
  measure.deadline = run->options.deadline;
  measure.is_late = [run] {
    const Deadline& deadline = run->options.deadline;
    return run->stage() == SearchRun::Stage::kSearch && deadline.Passed() &&
           !deadline.interrupted();
  };
  measure.on_late = [run] { run->result.priced_late = true; };
  measure.on_measure = [run](absl::string_view kernel) {
    run->Tell([&](OptimizeProgress* p) { p->measured = std::string(kernel); });
  };
  auto costs = MakeCosts(options, run->execution, std::move(measure));
  if (!costs.ok() || run->options.hints.empty()) return costs;
  costs->model = optimizer::MakeSizedCostModel(std::move(costs->model), run->options.hints);
  return costs;
}

}  // namespace

ExecutionOptions ExecutionOf(const OptimizeOptions& options) {
  ExecutionOptions execution = options.execution;
  if (!options.objective.IsTime()) execution.backend_options.reuse_late = false;
  if (DeviceIsAbsent(options)) execution.backend_options.tiles = kModelTiles;
  return execution;
}

bool DeviceIsAbsent(const OptimizeOptions& options) {
  return !options.costs.device.empty() && absl::StartsWith(options.execution.backend, "cuda");
}

SearchRun::SearchRun(const OptimizeOptions& o, std::optional<Certificate> steps)
    : options(o), execution(ExecutionOf(o)), replayed(std::move(steps)) {}

Deadline SearchRun::DeadlineAfterSearch() const {
  return was_interrupted ? options.deadline.WithoutInterruption() : options.deadline;
}

void SearchRun::Begin(Stage next) {
  stage_ = next;
  Tell([](OptimizeProgress* progress) { progress->begins = true; });
}

void SearchRun::Tell(const std::function<void(OptimizeProgress*)>& fill) const {
  if (!options.on_progress) return;
  OptimizeProgress progress;
  progress.stage = stage_;
  progress.so_far = &result;
  fill(&progress);
  options.on_progress(progress);
}

absl::Status FindResult(const Graph& input, SearchRun* run) {
  if (absl::Status s = LoadRules(run); !s.ok()) return s;
  const OptimizeOptions& options = run->options;
  optimizer::SearchResult& search = run->result.search;
  if (!options.replay.empty()) {
    auto replayed = ReplaySteps(input, run);
    if (!replayed.ok()) return replayed.status();
    search = *std::move(replayed);
    return absl::OkStatus();
  }
  auto costs = CostsOf(run);
  if (!costs.ok()) return costs.status();
  run->costs = *std::move(costs);
  // The search gets the other half of the time.
  pet::PetFinder finder(PetOptionsOf(run->costs.model.get(), options.deadline.Half()));
  // First mutants of the input's parts, then mutants of the parts of the graph that the search
  // found.
  Graph graph = input;
  for (int round = 1; round <= 2; ++round) {
    if (options.pet) {
      auto added = AddMutants(graph, &finder, run);
      if (!added.ok()) return added.status();
      if (round == 2 && *added == 0) return absl::OkStatus();
    }
    if (absl::Status s = MakeReady(input, run); !s.ok()) return s;
    const optimizer::SearchResult before = std::exchange(search, {});
    if (absl::Status s = RunSearch(input, run); !s.ok()) return s;
    const bool is_cut = search.stop == optimizer::StopReason::kCancelled ||
                        search.stop == optimizer::StopReason::kSeconds;
    // A search that was cut short may have found less than the one before it.
    const bool is_better =
        options.objective.IsTime() && search.best_cost.ns() < before.best_cost.ns();
    if (round == 2 && is_cut && !is_better) search = before;
    if (!options.pet || is_cut) break;
    graph = search.best;
  }
  return absl::OkStatus();
}

absl::Status SearchAgain(const Graph& input, SearchRun* run) {
  auto costs = CostsOf(run);
  if (!costs.ok()) return costs.status();
  run->costs = *std::move(costs);
  return RunSearch(input, run);
}

absl::StatusOr<bool> LearnKernelTimes(SearchRun* run) {
  OptimizeResult& result = run->result;
  if (result.accepted.in_graph.empty() || run->costs.db == nullptr) return false;
  auto learned = run->costs.db->PutInGraph(run->costs.measurer->device(), result.accepted.in_graph);
  if (!learned.ok()) return learned.status();
  result.calibrated += *learned;
  return *learned > 0 && result.accepted.kept_input() &&
         run->options.deadline.seconds_left() == 0 &&
         result.search.stop != optimizer::StopReason::kCancelled;
}

absl::Status FindAlternatives(const Graph& graph, SearchRun* run) {
  if (!run->options.explain) return absl::OkStatus();
  const Deadline deadline =
      Deadline::After(kExplainSeconds, run->DeadlineAfterSearch().interruption());
  auto found = AlternativesOf(graph, *run->usable, run->costs.model.get(), deadline);
  if (!found.ok()) return found.status();
  run->result.alternatives = *std::move(found);
  return absl::OkStatus();
}

absl::Status ExplainWhyNot(const Graph& input, const Graph& graph, SearchRun* run) {
  const OptimizeOptions& options = run->options;
  if (options.why_not.empty()) return absl::OkStatus();
  const std::vector<const PreparedRule*> rules = run->rules->Rules();
  const PreparedRule& rule = **std::find_if(
      rules.begin(), rules.end(),
      [&](const PreparedRule* candidate) { return candidate->rule().name == options.why_not; });
  WhyNotReport report;
  report.rule = options.why_not;
  for (const PatternNode& node : rule.rule().source.nodes) {
    if (node.op != nullptr) report.source.push_back(node.op->name);
  }
  report.anchor = rule.matcher.anchor_op().name;
  Exclude(*run, rule.rule(), &report);
  for (const optimizer::RewriteStep& step : run->result.search.rewrites) {
    report.applied += step.name == report.rule ? 1 : 0;
  }
  const Deadline deadline = run->DeadlineAfterSearch().WithAtLeast(kWhyNotSeconds);
  for (auto [explained, found] : {std::pair(&input, &report.input), {&graph, &report.result}}) {
    auto answer = ExplainIn(rule, *explained, options.objective, run->costs.model.get(), deadline);
    if (!answer.ok()) return answer.status();
    *found = *std::move(answer);
  }
  run->result.why_not = std::move(report);
  return absl::OkStatus();
}

}  // namespace lemma::api
