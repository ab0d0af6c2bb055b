// Proves two graphs equal at their shapes, in one proof.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "base/text_table.h"
#include "base/work.h"
#include "verifier/normal_form/elements.h"
#include "verifier/prover/graph_claim.h"

namespace lemma {
namespace {

using prover::GraphClaim;

// Numbers of operators, both graphs together, for one proof.
constexpr int kSmall = 24, kLargest = 64;
constexpr size_t kShownWeights = 3;   // names in a reason
constexpr uint64_t kOtherInputs = 1;  // makes a seed of further inputs

// Why the graphs cannot be compared; "" if they can.
std::string Mismatch(const Graph& a, const Graph& b) {
  if (a.inputs().size() != b.inputs().size()) {
    return absl::StrCat("the graphs have ", a.inputs().size(), " and ", b.inputs().size(),
                        " inputs");
  }
  for (size_t i = 0; i < a.inputs().size(); ++i) {
    const TensorType &x = a.inputs()[i].type(), &y = b.inputs()[i].type();
    if (x == y && x.num_elements() > 0) continue;
    if (x == y) {
      return absl::StrCat("input ", a.input_names()[i], ": ", x.ToString(),
                          " has no elements, which no proof covers");
    }
    return absl::StrCat("input ", i, " is ", a.input_names()[i], ": ", x.ToString(),
                        " in one graph and ", b.input_names()[i], ": ", y.ToString(),
                        " in the other");
  }
  if (a.outputs().size() != b.outputs().size()) {
    return absl::StrCat("the graphs have ", a.outputs().size(), " and ", b.outputs().size(),
                        " outputs");
  }
  for (size_t o = 0; o < a.outputs().size(); ++o) {
    const TensorType &x = a.outputs()[o].type(), &y = b.outputs()[o].type();
    if (x == y) continue;
    return absl::StrCat("output ", o, " is ", a.output_names()[o], ": ", x.ToString(),
                        " in one graph and ", b.output_names()[o], ": ", y.ToString(),
                        " in the other");
  }
  return "";
}

std::string Coverage(const Graph& a) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < a.inputs().size(); ++i) {
    parts.push_back(absl::StrCat(a.input_names()[i], ": ", a.inputs()[i].type().ToString()));
  }
  return absl::StrCat("the shapes ", absl::StrJoin(parts, ", "));
}

Verdict AtOnce(const GraphClaim& claim, const ProverOptions& options) {
  if (claim.operators <= kLargest) return prover::ProveClaim(claim, options);
  return Unknown{absl::StrCat("the graphs differ in too much: ", claim.operators,
                              " operators have to be looked at together")};
}

Verdict ProveDifferent(const Graph& a, const Graph& b, const GraphClaim& whole,
                       const ProverOptions& options) {
  // First with the values that both graphs compute as inputs: a weaker claim, but a simpler one.
  auto cut = prover::MakeClaim(a, b, true);
  if (!cut.ok()) return Unknown{std::string(cut.status().message())};
  Verdict verdict = Unknown{""};
  if (cut->operators <= kSmall) verdict = prover::ProveClaim(*cut, options);
  auto* proved = std::get_if<Proved>(&verdict);
  if (proved != nullptr && proved->contract == FloatContract::kBitExact) return verdict;
  Verdict other = AtOnce(whole, options);
  if (!IsProved(other)) return IsProved(verdict) ? verdict : other;
  if (proved != nullptr && proved->contract <= std::get<Proved>(other).contract) return verdict;
  return other;
}

// "weight 'w'", "weights 'u', 'v' and 3 others"
std::string NamesOf(const std::vector<std::string>& weights) {
  const size_t shown = std::min(weights.size(), kShownWeights), others = weights.size() - shown;
  std::string text =
      absl::StrCat(weights.size() == 1 ? "weight '" : "weights '",
                   absl::StrJoin(weights.begin(), weights.begin() + shown, "', '"), "'");
  if (others > 0) absl::StrAppend(&text, " and ", FormatCount(others, "other"));
  return text;
}

std::optional<Unknown> CompareStoredWeights(const Graph& a, const Graph& b, ProverOptions options) {
  auto general = prover::MakeClaim(a, b, false);
  if (!general.ok() || general->generalized.empty()) return std::nullopt;
  auto stored = prover::MakeClaim(a, b, false, prover::EqualWeights::kStoredValues);
  if (!stored.ok()) return std::nullopt;
  for (int round = 0; round < 2; ++round) {
    if (prover::RefuteGraphs(*stored, options)) return std::nullopt;
    options.seed = HashCombine(options.seed, kOtherInputs);
  }
  return Unknown{absl::StrCat("the models differ for other values of ",
                              NamesOf(general->generalized),
                              "; with the stored values no difference was found; lemma referee "
                              "compares models with their stored weights")};
}

Verdict CompareGraphs(const Graph& a, const Graph& b, const ProverOptions& options) {
  if (std::string problem = Mismatch(a, b); !problem.empty()) return Unknown{problem};
  Verdict verdict;
  if (a.outputs() == b.outputs()) {
    Proved same;
    same.contract = FloatContract::kBitExact;
    same.coverage = ", being one graph";
    verdict = same;
  } else {
    auto whole = prover::MakeClaim(a, b, false);
    if (!whole.ok()) return Unknown{std::string(whole.status().message())};
    if (auto refuted = prover::RefuteGraphs(*whole, options)) return *std::move(refuted);
    verdict = ProveDifferent(a, b, *whole, options);
  }
  if (auto* proved = std::get_if<Proved>(&verdict)) {
    proved->coverage = absl::StrCat(Coverage(a), proved->coverage);
    proved->id = ProofId(a, b);
  }
  return verdict;
}

}  // namespace

std::string ProofId(const Graph& a, const Graph& b) {
  return absl::StrFormat("%016x%016x", a.StructuralHash(), HashCombine(b.StructuralHash(), 1));
}

Verdict ProveGraphs(const Graph& a, const Graph& b, const ProverOptions& options) {
  // Each proof has its own limit, and the number of proofs is limited.
  WorkScope work(kUnlimitedWork, options.interrupted);
  try {
    return CompareGraphs(a, b, options);
  } catch (const WorkEnded& end) {
    return Unknown{end.Reason("the comparison of graphs")};
  }
}

std::optional<Unknown> UnknownWithStoredWeights(const Graph& a, const Graph& b,
                                                const ProverOptions& options) {
  WorkScope work(kUnlimitedWork, options.interrupted);
  try {
    return CompareStoredWeights(a, b, options);
  } catch (const WorkEnded& end) {
    return Unknown{end.Reason("the comparison of graphs")};
  }
}

}  // namespace lemma
