// Optimize: search, fold, compare, measure end to end, certify.
#include "api/optimize.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/models/option_error.h"
#include "api/models/random_values.h"
#include "api/optimization/loop_bodies.h"
#include "api/optimization/memory_limit.h"
#include "api/optimization/mutants.h"
#include "api/optimization/search_figures.h"
#include "api/optimization/search_run.h"
#include "api/version.h"
#include "base/json.h"
#include "graph/barrier.h"
#include "graph/onnx/export.h"
#include "graph/onnx/origin/kept_bodies.h"
#include "graph/onnx/run_time/loop_body.h"
#include "graph/sizes/specialize.h"
#include "optimizer/folding/constant_folding.h"
#include "optimizer/search/certificate.h"
#include "optimizer/strategies/strategies.h"

namespace lemma::api {
namespace {

// For each node, saturation keeps a set of nodes as bits.
constexpr int64_t kMaxNodes = 100000;

// Whether the best graph's price is clearly below the input's: for times, by 1 %.
bool PaysByPrice(const SearchRun& run) {
  constexpr double kLeastGain = 0.01;
  if (!run.options.replay.empty()) return true;  // its steps have no price
  const optimizer::SearchResult& search = run.result.search;
  optimizer::Objective objective = run.options.objective.Deciding();
  if (objective.IsTime()) {
    return search.best_cost.ms() <= (1 - kLeastGain) * search.initial_cost.ms();
  }
  objective.reference = search.initial_cost;
  return objective.RankOf(search.best_cost, 0) < objective.RankOf(search.initial_cost, 0);
}

bool HasLoops(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const NodePtr& node) { return IsOpaqueLoop(*node); });
}

// As Optimize; `steps` as in OptimizeFunction.
absl::StatusOr<OptimizeResult> OptimizeAs(const Graph& input, absl::Span<const Tensor> inputs,
                                          const OptimizeOptions& options, const Certificate* steps);

// The graph that the search found, and the graph that its first descent reached, unless they are in
// `*seen`; with the bodies of their loops optimized. The same for the input, if only its loops'
// bodies change or, with a memory limit, if values have to be recomputed or offloaded to keep to
// it. Graphs that cannot be written are left out; `*why_left_out` is then the reason.
absl::StatusOr<std::vector<Contender>> Contenders(const Graph& input, SearchRun* run,
                                                  std::set<uint64_t>* seen,
                                                  std::string* why_left_out) {
  std::vector<Contender> contenders, without_bodies;
  auto add = [&](const Graph& graph, const std::vector<optimizer::RewriteStep>& rewrites,
                 bool is_certain) -> absl::Status {
    run->Begin(SearchRun::Stage::kAcceptance);
    const FixedNodes unfolded = run->options.unfolded ? run->options.unfolded(graph) : FixedNodes();
    bool out_of_range = false;
    auto folded =
        optimizer::FoldConstants(graph, run->execution.threads, unfolded, input, &out_of_range);
    if (!folded.ok()) return folded.status();
    Contender found;
    found.graph = *std::move(folded);
    found.rewrites = rewrites;
    auto kept = KeptToLimit(std::move(found), run);
    if (!kept.ok()) return kept.status();
    kept->out_of_range = out_of_range;
    if (absl::Status s = OptimizeBodies(OptimizeAs, run, &*kept); !s.ok()) return s;
    const bool differs =
        !rewrites.empty() || kept->recomputed > 0 || kept->offloaded > 0 || !kept->bodies.empty();
    if (!differs) return absl::OkStatus();
    kept->is_certain = is_certain && kept->bodies.empty();
    if (is_certain && !kept->is_certain && !rewrites.empty()) {
      // Only the rewrites are certain.
      Contender certain = *kept;
      certain.graph = *std::exchange(certain.before_bodies, std::nullopt);
      certain.bodies.clear();
      certain.is_certain = true;
      if (!run->options.can_write || run->options.can_write(certain.graph).ok()) {
        without_bodies.push_back(std::move(certain));
      }
    }
    if (run->options.can_write) {
      if (absl::Status s = run->options.can_write(kept->graph); !s.ok()) {
        *why_left_out = absl::StrCat("it cannot be written: ", s.message());
        return absl::OkStatus();
      }
    }
    contenders.push_back(*std::move(kept));
    return absl::OkStatus();
  };
  auto is_new = [&](const Graph& graph) { return seen->insert(graph.StructuralHash()).second; };
  const optimizer::SearchResult& search = run->result.search;
  absl::Status status;
  // Without execution, only the best can be accepted.
  const bool by_price = run->options.by_price;
  const bool pays = !by_price || PaysByPrice(*run);
  if (pays && is_new(search.best)) {
    status = add(search.best, search.rewrites, search.best_is_certain);
  }
  if (status.ok() && !by_price && is_new(search.descended)) {
    status = add(search.descended, search.descended_rewrites, search.descended_is_certain);
  }
  if (status.ok() && !by_price && !search.certain_rewrites.empty() && is_new(search.certain)) {
    status = add(search.certain, search.certain_rewrites, true);
  }
  // A certificate's bodies belong to the graph after its steps.
  const bool is_only = by_price || run->replayed.has_value();
  const bool tries_bodies =
      !run->tried_bodies && HasLoops(input) && (!is_only || contenders.empty());
  if (status.ok() && (run->peak_limit > 0 || tries_bodies)) status = add(input, {}, false);
  run->tried_bodies = true;
  if (!status.ok()) return status;
  if (!is_only) {
    contenders.insert(contenders.end(), without_bodies.begin(), without_bodies.end());
  }
  return contenders;
}

// Accepts among contenders with symbolic sizes: executes all at the first of the hints, and the
// accepted one at the others.
absl::StatusOr<Acceptance> AcceptSymbolic(Backend* backend, const Graph& input,
                                          const std::vector<Contender>& contenders,
                                          absl::Span<const Tensor> inputs,
                                          const std::vector<optimizer::SizeHint>& hints,
                                          AcceptanceOptions options) {
  Specializer first(InputSizes(input, hints[0].sizes));
  auto sized = first.Of(input);
  if (!sized.ok()) return sized.status();
  std::vector<Contender> candidates = contenders;
  for (Contender& candidate : candidates) {
    auto graph = first.Of(candidate.graph);
    if (!graph.ok()) return graph.status();
    candidate.graph = *std::move(graph);
  }
  auto accepted = Accept(backend, *sized, candidates, inputs, options);
  if (!accepted.ok()) return accepted;
  if (accepted->kept_input()) {
    accepted->graph = input;
    return accepted;
  }
  const auto chosen = std::find_if(candidates.begin(), candidates.end(), [&](const Contender& c) {
    return c.graph.StructuralHash() == accepted->graph.StructuralHash();
  });
  const Contender& contender = contenders[static_cast<size_t>(chosen - candidates.begin())];
  for (size_t i = 1; i < hints.size(); ++i) {
    Specializer other(InputSizes(input, hints[i].sizes));
    auto before = other.Of(input), after = other.Of(contender.graph);
    for (const auto& status : {before.status(), after.status()}) {
      if (!status.ok()) return status;
    }
    auto values = RandomInputs(*before, /*seed=*/i, /*integer_range=*/2);
    if (!values.ok()) return values.status();
    Contender there = contender;
    there.graph = *after;
    auto again = Accept(backend, *before, {there}, *values, options);
    if (!again.ok()) return again;
    if (!again->rejected.empty() ||
        (again->found && again->kept_input() && again->found->low > 1)) {
      again->graph = input;
      again->rewrites.clear();
      again->bodies.clear();
      again->before_bodies.reset();
      return again;
    }
  }
  accepted->graph = contender.graph;
  return accepted;
}

// Says why contenders were left out, if nothing else says why the input is kept.
void SayLeftOut(const std::string& why, Acceptance* accepted) {
  if (accepted->kept_input() && accepted->rejected.empty()) accepted->rejected = why;
}

// Accepts the best graph by its price.
absl::Status JudgeByPrice(const Graph& input, SearchRun* run) {
  std::string why_left_out;
  std::set<uint64_t> seen = {input.StructuralHash()};
  auto contenders = Contenders(input, run, &seen, &why_left_out);
  if (!contenders.ok()) return contenders.status();
  const std::string costs = run->costs.model == nullptr
                                ? "steps of a certificate"
                                : absl::StrCat("costs are ", run->costs.model->Describe());
  run->result.accepted = AcceptUnseen(input, *std::move(contenders), run->options.numerics, costs);
  SayLeftOut(why_left_out, &run->result.accepted);
  return absl::OkStatus();
}

// Executes the graphs that the search found beside the input, and accepts one if it is better. If
// none is, the search is repeated once with costs that these runs have corrected.
absl::Status Judge(const Graph& input, absl::Span<const Tensor> inputs, SearchRun* run) {
  auto backend = BackendFor(run->options);
  if (!backend.ok()) return backend.status();
  auto planner = MakeBackend(run->execution.backend, run->execution.backend_options);
  if (!planner.ok()) return planner.status();
  AcceptanceOptions options;
  options.numerics = run->options.numerics;
  options.threads = run->execution.threads;
  options.unproved = !run->result.unproved.empty();
  options.runs = run->options.Times() ? static_cast<int>(run->options.runs) : 0;
  options.objective = run->options.objective;
  options.only_executed = IsTarget(run->execution.backend);
  options.renews_within_batch = run->execution.backend == "cpu";
  if (DeviceIsAbsent(run->options)) options.planner = planner->get();
  std::set<uint64_t> seen = {input.StructuralHash()};
  for (int search = 1;; ++search) {
    std::string why_left_out;
    auto contenders = Contenders(input, run, &seen, &why_left_out);
    if (!contenders.ok()) return contenders.status();
    if (search == 2 && contenders->empty()) return absl::OkStatus();
    run->Begin(SearchRun::Stage::kAcceptance);
    options.deadline = run->DeadlineAfterSearch();
    auto accepted = run->options.hints.empty()
                        ? Accept(backend->get(), input, *std::move(contenders), inputs, options)
                        : AcceptSymbolic(backend->get(), input, *contenders, inputs,
                                         run->options.hints, options);
    if (!accepted.ok()) return accepted.status();
    run->result.accepted = *std::move(accepted);
    SayLeftOut(why_left_out, &run->result.accepted);
    auto search_again = LearnKernelTimes(run);
    if (!search_again.ok()) return search_again.status();
    if (!*search_again || search == 2) return absl::OkStatus();
    if (absl::Status s = SearchAgain(input, run); !s.ok()) return s;
  }
}

// Which graph of the search was accepted.
Certificate::Result ResultOf(const SearchRun& run) {
  using Result = Certificate::Result;
  const Acceptance& accepted = run.result.accepted;
  if (accepted.kept_input()) return Result::kInput;
  if (!run.options.replay.empty()) return Result::kReplayed;
  const optimizer::SearchResult& search = run.result.search;
  auto is = [&](const Graph& graph) {
    return accepted.rewrites.back().after == graph.StructuralHash();
  };
  if (accepted.rewrites.empty() || is(search.best)) return Result::kBest;
  return is(search.descended) ? Result::kDescended : Result::kCertain;
}

absl::Status CertifyResult(const Graph& input, SearchRun* run) {
  const Acceptance& accepted = run->result.accepted;
  const Graph& last = accepted.before_bodies ? *accepted.before_bodies : accepted.graph;
  auto certificate = Certify(input, accepted.rewrites, last, run->file.rules, ResultOf(*run),
                             run->DeadlineAfterSearch(), &run->result.provenance);
  if (!certificate.ok()) return certificate.status();
  for (const OptimizedBody& body : accepted.bodies) {
    certificate->bodies.push_back(body.record);
    certificate->contract = std::max(certificate->contract, body.contract);
    // A loop that reads other operands changes the order of nodes.
    const Node& loop = *last.nodes()[static_cast<size_t>(body.record.position)];
    if (body.record.reads != LoopNodeOf(loop).reads) run->result.provenance.places.output_nodes = 0;
  }
  if (accepted.before_bodies) {
    certificate->output_graph = WithoutBarriers(accepted.graph).StructuralHash();
  }
  if (certificate->steps.empty() && certificate->folds.empty() && certificate->bodies.empty()) {
    certificate->result = Certificate::Result::kInput;
  }
  certificate->mutants = MutantsOf(certificate->rules, run->mutants);
  run->result.certificate = *std::move(certificate);
  return absl::OkStatus();
}

absl::StatusOr<OptimizeResult> OptimizeAs(const Graph& input, absl::Span<const Tensor> inputs,
                                          const OptimizeOptions& options,
                                          const Certificate* steps) {
  if (absl::Status s = options.Check(); !s.ok()) return s;
  if (IsSymbolic(input) != !options.hints.empty()) {
    return absl::InvalidArgumentError(
        options.hints.empty() ? "hints: a graph with symbolic sizes needs sizes to be priced at"
                              : "hints: the graph has no symbolic sizes");
  }
  SearchRun run(options, steps == nullptr ? std::nullopt : std::optional(*steps));
  if (absl::Status s = FindResult(input, &run); !s.ok()) return s;
  if (!options.execute) {
    run.Begin(SearchRun::Stage::kResult);
    absl::Status s = ExplainWhyNot(input, run.result.search.best, &run);
    if (!s.ok()) return s;
    return std::move(run.result);
  }
  absl::Status judged = options.by_price ? JudgeByPrice(input, &run) : Judge(input, inputs, &run);
  if (!judged.ok()) return judged;
  if (!run.result.fits()) return std::move(run.result);
  run.Begin(SearchRun::Stage::kResult);
  if (options.certify) {
    if (absl::Status s = CertifyResult(input, &run); !s.ok()) return s;
  }
  const Graph& accepted = run.result.accepted.graph;
  if (absl::Status s = FindAlternatives(accepted, &run); !s.ok()) return s;
  if (absl::Status s = ExplainWhyNot(input, accepted, &run); !s.ok()) return s;
  return std::move(run.result);
}

// What an ONNX file says about the steps: "lemma" in its metadata, and names.
OnnxChange ChangeOf(const OptimizeResult& result) {
  OnnxChange change;
  if (result.accepted.kept_input()) return change;
  change.made_by = result.provenance.made_by;
  change.folded = result.provenance.folded;
  Json rules = Json::Object();
  for (const auto& [name, count] : RuleCounts(AllRewrites(result.accepted))) {
    rules.Set(name, count);
  }
  Json entry = Json::Object();
  entry.Set("version", kVersion);
  if (result.certificate) entry.Set("certificate", HashOfSteps(*result.certificate));
  entry.Set("rules", std::move(rules));
  change.metadata["lemma"] = entry.ToString();
  return change;
}

}  // namespace

std::vector<std::string> SearchNames() {
  std::vector<std::string> names;
  for (const optimizer::Strategy& strategy : optimizer::Strategies()) {
    names.push_back(strategy.name);
  }
  return names;
}

std::vector<std::string> SearchDescriptions() {
  std::vector<std::string> descriptions;
  for (const optimizer::Strategy& strategy : optimizer::Strategies()) {
    descriptions.push_back(strategy.help);
  }
  return descriptions;
}

const std::vector<Effort>& Efforts() {
  const OptimizeOptions defaults;
  static const auto& efforts = *new std::vector<Effort>{
      {"quick", "descent", 500, defaults.nodes, "each rewrite that pays at once"},
      {"normal", "backtracking", defaults.budget, defaults.nodes,
       "also rewrites that pay together"},
      {"deep", "auto", 4 * defaults.budget, defaults.nodes,
       "four times as many graphs, then all rewrites at once, with a bound"}};
  return efforts;
}

const char* NumericsName(FloatContract numerics) {
  static constexpr const char* kNames[] = {"exact", "reassociate", "real"};
  return kNames[static_cast<int>(numerics)];
}

const char* GoalName(optimizer::Objective::Goal goal) {
  static constexpr const char* kNames[] = {"time", "memory", "product", "pareto"};
  return kNames[static_cast<int>(goal)];
}

absl::Status OptimizeOptions::Check() const {
  const bool replays = !replay.empty();
  if (replays && !why_not.empty())
    return OptionError("option why_not: nothing is searched with a replay");
  if (replays && pet) return OptionError("option pet: nothing is searched with a replay");
  if (replays && explain) return OptionError("option explain: nothing is searched with a replay");
  if (replays && objective.goal != optimizer::Objective::Goal::kTime) {
    return OptionError("option objective: nothing is searched with a replay");
  }
  if (!costs.device.empty() && !costs.measured) {
    return OptionError("option device: there are no measured costs with analytic ones");
  }
  if (by_price && (allow_unproved || objective.memory_limit > 0)) {
    return OptionError(absl::StrCat("option ", allow_unproved ? "allow_unproved" : "memory_limit",
                                    ": has to be confirmed by execution, which is off"));
  }
  const optimizer::Strategy* strategy = optimizer::FindStrategy(search);
  if (strategy == nullptr) {
    return OptionError(absl::StrCat("option search: '", search, "' is none of ",
                                    absl::StrJoin(SearchNames(), ", ")));
  }
  if (!strategy->knows_memory && !objective.IsTime()) {
    return OptionError(absl::StrCat("option search=", search, ": knows time only; use ",
                                    SearchNames().front(), " for memory"));
  }
  const double weight = objective.memory_weight;
  if (!(weight >= 0 && weight <= 1))
    return OptionError("option memory_weight: must be from 0 to 1");
  if (objective.memory_limit < 0) return OptionError("option memory_limit: must be at least 0");
  if (IsTarget(execution.backend) && !objective.IsTime()) {
    return OptionError(absl::StrCat("option objective: ", execution.backend,
                                    " does not tell how much memory it takes"));
  }
  if (!hints.empty() && (pet || objective.memory_limit > 0)) {
    return OptionError(absl::StrCat("option ", pet ? "pet" : "memory_limit",
                                    ": not with symbolic sizes; give option dims"));
  }
  if (absl::Status s = CheckRuns(runs, 3); !s.ok()) return s;
  if (budget < 1) return OptionError("option budget: must be at least 1");
  if (nodes < 1 || nodes > kMaxNodes) {
    return OptionError(absl::StrCat("option nodes: must be 1 to ", kMaxNodes));
  }
  if (!(alpha >= 1)) return OptionError("option alpha: must be at least 1");
  return absl::OkStatus();
}

absl::StatusOr<OptimizeResult> Optimize(const Graph& input, absl::Span<const Tensor> inputs,
                                        const OptimizeOptions& options) {
  return OptimizeAs(input, inputs, options, nullptr);
}

std::function<FixedNodes(const Graph&)> LoopsOf(const Model& model) {
  return [info = model.info](const Graph& graph) { return LoopBodies(graph, info); };
}

std::function<FixedNodes(const Graph&)> NodesOf(const Model& model) {
  return [info = model.info](const Graph& graph) { return KeptBodies(graph, info); };
}

std::function<absl::Status(const Graph&)> WriterOf(const Model& model) {
  return [info = model.info](const Graph& graph) {
    ExportOptions options;
    options.info = info;
    return CheckExport(graph, options);
  };
}

void SetForOnnx(const Model& model, bool keep_loops, OptimizeOptions* options) {
  if (keep_loops) options->fixed = LoopsOf(model);
  options->unfolded = NodesOf(model);
  options->can_write = WriterOf(model);
  options->keeps_barriers = false;
}

absl::StatusOr<std::unique_ptr<Backend>> BackendFor(const OptimizeOptions& options) {
  if (DeviceIsAbsent(options)) return MakeBackend("cpu");
  const ExecutionOptions execution = ExecutionOf(options);
  return MakeBackend(execution.backend, execution.backend_options);
}

absl::StatusOr<std::vector<StagedFile>> StageOptimized(Model input, const InputRecord& record,
                                                       const OptimizeResult& result,
                                                       const std::string& path,
                                                       const std::string& certificate,
                                                       std::vector<std::string>* notes) {
  if (!result.fits())
    return absl::InvalidArgumentError("nothing that was found keeps to the limit of memory");
  auto format = FormatOfPath(path);
  if (!format.ok()) return format.status();
  const bool is_input =
      result.accepted.graph.StructuralHash() == input.graph.StructuralHash() && !record.reseed;
  input.graph = result.accepted.graph;
  input.info.change = ChangeOf(result);
  absl::StatusOr<std::vector<StagedFile>> files = absl::NotFoundError("");
  if (is_input && input.format == ModelFormat::kOnnx && *format == ModelFormat::kOnnx) {
    files = StageCopy(input, record.sha256, path);
  }
  if (absl::IsNotFound(files.status())) files = StageModel(input, path, *format, notes);
  if (!files.ok() || certificate.empty()) return files;
  if (!result.certificate)
    return absl::InvalidArgumentError("certify: there is no certificate to write");
  auto staged = StageCertificate(Recorded(*result.certificate, record), files->back(), certificate);
  if (!staged.ok()) return staged.status();
  files->push_back(*std::move(staged));
  return files;
}

absl::Status SaveOptimized(Model input, const InputRecord& record, const OptimizeResult& result,
                           const std::string& path, const std::string& certificate) {
  auto files = StageOptimized(std::move(input), record, result, path, certificate);
  return files.ok() ? CommitAll(*std::move(files)) : files.status();
}

}  // namespace lemma::api
