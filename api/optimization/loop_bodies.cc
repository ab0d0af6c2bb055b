#include "api/optimization/loop_bodies.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/models/model_file.h"
#include "api/models/random_values.h"
#include "api/models/sizes.h"
#include "api/optimization/search_figures.h"
#include "base/sha256.h"
#include "graph/onnx/run_time/loop_body.h"
#include "graph/rebuild.h"
#include "graph/sizes/specialize.h"

namespace lemma::api {
namespace {

Model ModelOf(const LoopBody& body) {
  Model model;
  model.graph = body.graph;
  model.format = ModelFormat::kOnnx;
  model.info = body.info;
  return model;
}

// The options of the run, for a body.
OptimizeOptions OptionsFor(const LoopBody& body, const SearchRun& run) {
  OptimizeOptions options = run.options;
  SetForOnnx(ModelOf(body), /*keep_loops=*/static_cast<bool>(run.options.fixed), &options);
  options.pet = false;
  options.explain = false;
  options.why_not.clear();
  options.price_steps = false;
  options.on_progress = nullptr;
  options.deadline = run.DeadlineAfterSearch();
  options.certify = true;
  options.hints.clear();
  if (!IsSymbolic(body.graph)) return options;
  for (const optimizer::SizeHint& hint : run.options.hints) {
    const DimValues given = InputSizes(body.graph, hint.sizes);
    options.hints.push_back({DefaultSizes(body.graph, /*length=*/0, given), hint.weight});
  }
  // Only sizes inside the body are symbolic.
  if (options.hints.empty()) options.hints.push_back({DefaultSizes(body.graph), 1});
  return options;
}

// What a failure means: the body stays as it is, but steps that are repeated have to succeed.
absl::StatusOr<std::optional<BodyResult>> KeptOr(const absl::Status& failed,
                                                 const Certificate* steps) {
  if (steps != nullptr) return failed;
  return std::optional<BodyResult>();
}

// The body as `optimize` makes it; nullopt if it stays as it is.
absl::StatusOr<std::optional<BodyResult>> Optimized(const OptimizeFunction& optimize,
                                                    const LoopBody& body, const SearchRun& run,
                                                    const Certificate* steps) {
  const OptimizeOptions options = OptionsFor(body, run);
  Graph sized = body.graph;
  if (!options.hints.empty()) {
    auto specialized = Specialize(body.graph, options.hints[0].sizes);
    if (!specialized.ok()) return KeptOr(specialized.status(), steps);
    sized = *std::move(specialized);
  }
  auto inputs = RandomInputs(sized, /*seed=*/1, /*integer_range=*/2);
  if (!inputs.ok()) return KeptOr(inputs.status(), steps);
  auto found = optimize(body.graph, *inputs, options, steps);
  if (steps != nullptr || absl::IsCancelled(found.status())) {
    if (!found.ok()) return found.status();
  }
  if (!found.ok() || !found->certificate ||
      found->certificate->result == Certificate::Result::kInput) {
    return std::optional<BodyResult>();
  }
  BodyResult result;
  result.graph = found->accepted.graph;
  result.certificate = *std::move(found->certificate);
  result.body.operators_before = body.graph.num_ops();
  result.body.operators_after = result.graph.num_ops();
  if (steps == nullptr) {
    result.body.ms_before = found->search.initial_cost.ms();
    result.body.ms_after = PredictedCost(found->search, found->accepted.rewrites).ms();
  }
  result.body.contract = result.certificate.contract;
  result.body.rewrites = std::move(found->accepted.rewrites);
  return std::optional<BodyResult>(std::move(result));
}

// The certificate's entry about the node at `position`; nullptr if there is none.
const CertificateBody* Recorded(const SearchRun& run, int position) {
  if (!run.replayed) return nullptr;
  for (const CertificateBody& body : run.replayed->bodies) {
    if (body.position == position) return &body;
  }
  return nullptr;
}

// The loop with its optimized body, and what to record; nullopt if it stays as it is.
absl::StatusOr<std::optional<std::pair<LoopNode, OptimizedBody>>> OptimizedLoop(
    const OptimizeFunction& optimize, const Node& node, int position, SearchRun* run) {
  using Result = std::optional<std::pair<LoopNode, OptimizedBody>>;
  const CertificateBody* recorded = Recorded(*run, position);
  if (run->replayed && recorded == nullptr) return Result();
  std::optional<Certificate> steps;
  if (recorded != nullptr) {
    auto parsed = ParseCertificate(recorded->certificate);
    if (!parsed.ok()) return parsed.status();
    steps = *std::move(parsed);
  }
  const LoopNode loop = LoopNodeOf(node);
  const auto body = ImportLoopBody(loop, node.inputs());
  if (!body.ok()) return recorded == nullptr ? absl::StatusOr<Result>(Result()) : body.status();
  const auto key = std::make_pair(loop.payload, body->graph.StructuralHash());
  auto known = run->bodies.find(key);
  if (known == run->bodies.end()) {
    auto optimized = Optimized(optimize, *body, *run, steps ? &*steps : nullptr);
    if (!optimized.ok()) return optimized.status();
    known = run->bodies.emplace(key, *std::move(optimized)).first;
  }
  if (!known->second) return Result();
  const BodyResult& result = *known->second;
  auto changed = WithBody(loop, node.inputs(), *body, result.graph);
  if (!changed.ok())
    return recorded == nullptr ? absl::StatusOr<Result>(Result()) : changed.status();
  OptimizedBody optimized = result.body;
  Certificate certificate = result.certificate;
  certificate.input_file = Sha256Of(loop.payload);
  certificate.output_file = Sha256Of(changed->payload);
  certificate.symbolic = InputDimsOf(body->graph);
  optimized.record = {position, changed->reads, PrintCertificate(certificate)};
  return Result(std::make_pair(*std::move(changed), std::move(optimized)));
}

}  // namespace

absl::Status OptimizeBodies(const OptimizeFunction& optimize, SearchRun* run,
                            Contender* contender) {
  const OptimizeOptions& options = run->options;
  if (!options.objective.IsTime() || options.objective.memory_limit > 0 || options.allow_unproved) {
    return absl::OkStatus();
  }
  // An interruption ends the search: no other one begins.
  if (run->was_interrupted && !run->replayed) return absl::OkStatus();
  const Graph& graph = contender->graph;
  ValueMap replaced;
  std::vector<OptimizedBody> bodies;
  std::vector<std::string> payloads;  // the new ones, by body
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const NodePtr& node = graph.nodes()[i];
    if (!IsOpaqueLoop(*node)) continue;
    auto loop = OptimizedLoop(optimize, *node, static_cast<int>(i), run);
    if (!loop.ok()) return loop.status();
    if (!*loop) continue;
    auto results = ApplyLoop(*node, (*loop)->first);
    if (!results.ok()) return results.status();
    OptimizedBody body = (*loop)->second;
    body.label = std::string(graph.LabelOf(Value(node, 0)));
    if (body.label.empty()) body.label = absl::StrCat("%", body.record.position);
    for (size_t k = 0; k < results->size(); ++k) {
      replaced[Value(node, static_cast<int>(k))] = (*results)[k];
    }
    bodies.push_back(std::move(body));
    payloads.push_back((*loop)->first.payload);
  }
  if (run->replayed && bodies.size() != run->replayed->bodies.size()) {
    return absl::InvalidArgumentError("a body of the certificate belongs to no loop");
  }
  if (bodies.empty()) return absl::OkStatus();
  auto changed = ReplaceValuesEverywhere(graph, replaced);
  if (!changed) return absl::InternalError("a loop depends on itself");
  // A new body may not need another loop.
  std::set<std::string> left;
  for (const NodePtr& node : changed->nodes()) {
    if (IsOpaqueLoop(*node)) left.insert(LoopNodeOf(*node).payload);
  }
  std::vector<OptimizedBody> kept;
  for (size_t i = 0; i < bodies.size(); ++i) {
    if (left.count(payloads[i]) > 0) kept.push_back(std::move(bodies[i]));
  }
  bodies = std::move(kept);
  contender->before_bodies = graph;
  contender->graph = *std::move(changed);
  contender->bodies = std::move(bodies);
  return absl::OkStatus();
}

}  // namespace lemma::api
