// lemma prove: are two graphs equal?
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/models/model_file.h"
#include "api/rules/symbolic_graph.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "cli/interrupt.h"
#include "cli/proof_outcome.h"
#include "cli/verdict_text.h"

namespace lemma::cli {
namespace {

struct ProveFlags {
  CommonFlags common;
  ProofFlags proof;
};

// The only graph of a text, if the file is one.
absl::StatusOr<std::optional<text::Block>> ReadTextGraph(const std::string& path) {
  auto is_text = api::IsTextFile(path);
  if (!is_text.ok()) return is_text.status();
  if (!*is_text) return std::nullopt;
  auto text = ReadFile(path, int64_t{1} << 32);
  if (!text.ok()) return api::Prefixed(path, text.status());
  auto blocks = text::ParseBlocks(*text, path);
  if (!blocks.ok()) return blocks.status();
  if (blocks->size() != 1 || blocks->front().is_rule) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": must hold one graph and nothing else; lemma verify proves rules"));
  }
  return std::move(blocks->front());
}

// The claim if a size of either graph is a symbol, else nullopt. *swapped: it reads from B to A.
absl::StatusOr<std::optional<Substitution>> SymbolicClaim(const std::string& a,
                                                          const std::string& b, bool* swapped) {
  auto block_a = ReadTextGraph(a), block_b = ReadTextGraph(b);
  if (!block_a.ok()) return block_a.status();
  if (!block_b.ok()) return block_b.status();
  const bool symbolic_a = *block_a && api::IsSymbolic(**block_a);
  const bool symbolic_b = *block_b && api::IsSymbolic(**block_b);
  if (!symbolic_a && !symbolic_b) return std::nullopt;
  if (!*block_a || !*block_b) {
    return absl::InvalidArgumentError(
        absl::StrCat(symbolic_a ? a : b, ": has sizes that are symbols, so ", symbolic_a ? b : a,
                     " must be in the text form too"));
  }
  auto claim = api::EqualityClaim(**block_a, a, **block_b, b);
  *swapped = false;
  if (claim.ok()) return *std::move(claim);
  // A rule's source has to use every input; either graph may be the source.
  auto other = api::EqualityClaim(**block_b, b, **block_a, a);
  if (!other.ok()) return claim.status();
  *swapped = true;
  return *std::move(other);
}

void Print(const std::string& a, const std::string& b, const ProofOutcome& outcome,
           const std::string& solver) {
  auto* proved = std::get_if<Proved>(&outcome.verdict);
  if (proved == nullptr) {
    std::printf("%s%s\n", IsRefuted(outcome.verdict) ? "" : "unknown: ",
                Explanation(outcome.verdict).c_str());
    return;
  }
  std::printf("proved: %s = %s\n", a.c_str(), b.c_str());
  std::printf("contract  %s\n", Name(proved->contract));
  std::printf("sizes     %s\n", proved->coverage.c_str());
  std::printf("proof id  %s\n", proved->id.c_str());
  std::printf("time      %s, %d queries\n", FormatMs(outcome.seconds * 1e3).c_str(),
              static_cast<int>(proved->queries));
  if (outcome.recheck) {
    std::printf("recheck   %s: %s\n", solver.c_str(), outcome.RecheckCell().c_str());
  }
  if (outcome.checked) std::printf("checker   %s\n", outcome.CheckCell().c_str());
}

absl::StatusOr<int> Prove(const ProveFlags& flags, const std::string& a, const std::string& b) {
  InterruptScope interrupt;
  auto worker = ProofWorker::Create(flags.proof, &interrupt.flag());
  if (!worker.ok()) return worker.status();
  bool swapped = false;
  auto claim = SymbolicClaim(a, b, &swapped);
  if (!claim.ok()) return claim.status();
  ProofOutcome outcome;
  if (*claim) {
    outcome = (*worker)->Prove(**claim);
  } else {
    if (flags.proof.check) {
      return absl::InvalidArgumentError(
          "--check: the small checker looks at graphs whose sizes are symbols only");
    }
    auto model_a = flags.common.Load(a), model_b = flags.common.Load(b);
    if (!model_a.ok()) return model_a.status();
    if (!model_b.ok()) return model_b.status();
    const auto start = std::chrono::steady_clock::now();
    outcome.verdict = ProveGraphs(model_a->graph, model_b->graph, (*worker)->options());
    outcome.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    (*worker)->Repeat(absl::StrCat(model_a->graph.name(), "_equals_", model_b->graph.name()),
                      nullptr, &outcome);
  }
  if (interrupt.flag()) return InterruptedError();
  if (!outcome.status.ok()) return outcome.status;
  if (auto* refuted = std::get_if<Refuted>(&outcome.verdict); refuted != nullptr && swapped) {
    std::swap(refuted->source, refuted->target);
    std::swap(refuted->source_shape, refuted->target_shape);
  }
  if (flags.common.json) {
    Json json = Json::Object();
    json.Set("a", a).Set("b", b).Set("symbolic", claim->has_value());
    outcome.AddTo(&json);
    std::puts(json.ToString().c_str());
  } else {
    Print(a, b, outcome, (*worker)->solver());
    if (IsProved(outcome.verdict)) {
      for (const std::string& problem : outcome.Problems()) std::puts(problem.c_str());
    }
  }
  return outcome.ok() ? kExitOk : kExitNo;
}

}  // namespace

absl::StatusOr<int> RunProve(Arguments arguments) {
  ProveFlags prove;
  Flags flags(
      "prove", "A B",
      "Proves that two graphs are equal, or finds where they differ. Exit status 0: proved; "
      "1: refuted, with a counterexample, or unknown, with the reason.");
  prove.proof.Add(&flags);
  prove.common.AddModel(&flags);
  flags.Note(
      "Inputs correspond by position, weights by name. In the text form a size may be a symbol\n"
      "(x: f32[m,k]); then the proof is for all sizes, and symbols correspond by name.");
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  if (positional->size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("two graphs, please, not ", positional->size(), "; see lemma prove --help"));
  }
  return Prove(prove, (*positional)[0], (*positional)[1]);
}

}  // namespace lemma::cli
