#include "api/prove.h"

#include <chrono>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/models/model_file.h"
#include "api/models/option_error.h"
#include "api/models/random_values.h"
#include "api/proofs/by_regions.h"
#include "api/proofs/worker.h"
#include "api/rules/equality_claim.h"
#include "base/file.h"
#include "base/interrupt.h"

namespace lemma::api {
namespace {

// The only graph of a text file; nullopt if the file is no text.
absl::StatusOr<std::optional<text::Block>> ReadTextGraph(const std::string& path) {
  auto is_text = IsTextFile(path);
  if (!is_text.ok()) return is_text.status();
  if (!*is_text) return std::nullopt;
  auto text = ReadFile(path, int64_t{1} << 32);
  if (!text.ok()) return Prefixed(path, text.status());
  auto blocks = text::ParseBlocks(*text, path);
  if (!blocks.ok()) return blocks.status();
  if (blocks->size() != 1 || blocks->front().is_rule) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": must hold one graph and nothing else; lemma verify proves rules"));
  }
  return std::move(blocks->front());
}

// The claim, if a size of either graph is a symbol; otherwise nullopt. *swapped: the claim reads
// from B to A.
absl::StatusOr<std::optional<Substitution>> SymbolicClaim(const std::string& a,
                                                          const std::string& b, bool* swapped) {
  auto block_a = ReadTextGraph(a), block_b = ReadTextGraph(b);
  if (!block_a.ok()) return block_a.status();
  if (!block_b.ok()) return block_b.status();
  const bool symbolic_a = *block_a && IsSymbolic(**block_a);
  const bool symbolic_b = *block_b && IsSymbolic(**block_b);
  if (!symbolic_a && !symbolic_b) return std::nullopt;
  if (!*block_a || !*block_b) {
    return absl::InvalidArgumentError(
        absl::StrCat(symbolic_a ? a : b, ": has sizes that are symbols, so ", symbolic_a ? b : a,
                     " must be in the text form too"));
  }
  auto claim = EqualityClaim(**block_a, a, **block_b, b);
  *swapped = false;
  if (claim.ok()) return *std::move(claim);
  // The source of a rule must use every input, so the graph that does is the source.
  auto other = EqualityClaim(**block_b, b, **block_a, a);
  if (!other.ok()) return claim.status();
  *swapped = true;
  return *std::move(other);
}

absl::StatusOr<Graph> LoadGraph(const std::string& path, const ProveOptions& options) {
  auto model = LoadModel(path, options.dims);
  if (!model.ok()) return model.status();
  for (const std::string& note : model->notes) {
    if (options.note) options.note(path, note);
  }
  if (options.weights_seed) return ReseedWeights(model->graph, *options.weights_seed);
  return std::move(model->graph);
}

absl::StatusOr<ProveResult> Result(const ProofWorker& worker, ProofOutcome outcome, bool symbolic) {
  if (worker.interrupted()) return InterruptedError();
  if (!outcome.status.ok()) return outcome.status;
  return ProveResult{std::move(outcome), symbolic, worker.solver()};
}

absl::StatusOr<ProveResult> ProveAtShapes(const Graph& a, const Graph& b, ProofWorker* worker) {
  ProofOutcome outcome;
  const auto start = std::chrono::steady_clock::now();
  outcome.verdict = ProveGraphs(a, b, worker->options());
  if (IsRefuted(outcome.verdict)) {
    if (auto unknown = UnknownWithStoredWeights(a, b, worker->options())) {
      outcome.verdict = *std::move(unknown);
    }
  } else if (!IsProved(outcome.verdict) && HaveOneInterface(a, b)) {
    // Graphs that cannot be compared so, such as those with weights of two types, stay unknown.
    auto verdict = ProveByRegions(a, b, worker->options());
    if (verdict.ok()) outcome.verdict = *std::move(verdict);
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  worker->Repeat(absl::StrCat(a.name(), "_equals_", b.name()), nullptr, &outcome);
  return Result(*worker, std::move(outcome), false);
}

absl::Status NothingToCheck() {
  return OptionError(
      "option check: the small checker looks at graphs whose sizes are symbols only");
}

}  // namespace

absl::StatusOr<ProveResult> Prove(const std::string& a, const std::string& b,
                                  const ProveOptions& options) {
  auto worker = ProofWorker::Create(options.proof);
  if (!worker.ok()) return worker.status();
  bool swapped = false;
  auto claim = SymbolicClaim(a, b, &swapped);
  if (!claim.ok()) return claim.status();
  if (!*claim) {
    if (options.proof.check) return NothingToCheck();
    auto graph_a = LoadGraph(a, options), graph_b = LoadGraph(b, options);
    if (!graph_a.ok()) return graph_a.status();
    if (!graph_b.ok()) return graph_b.status();
    return ProveAtShapes(*graph_a, *graph_b, worker->get());
  }
  ProofOutcome outcome = (*worker)->Prove(**claim);
  if (auto* refuted = std::get_if<Refuted>(&outcome.verdict); refuted != nullptr && swapped) {
    std::swap(refuted->source, refuted->target);
    std::swap(refuted->source_shape, refuted->target_shape);
  }
  return Result(**worker, std::move(outcome), true);
}

absl::StatusOr<ProveResult> Prove(const Graph& a, const Graph& b, const ProofOptions& options) {
  auto worker = ProofWorker::Create(options);
  if (!worker.ok()) return worker.status();
  if (options.check) return NothingToCheck();
  return ProveAtShapes(a, b, worker->get());
}

absl::StatusOr<ProveResult> Prove(const Substitution& rule, const ProofOptions& options) {
  auto worker = ProofWorker::Create(options);
  if (!worker.ok()) return worker.status();
  return Result(**worker, (*worker)->Prove(rule), true);
}

}  // namespace lemma::api
