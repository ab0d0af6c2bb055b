// The prover decides whether two tensor programs are equal for all sizes and attributes
// (docs/proofs.md).
//
// A proof is about real numbers. The answer "proved" relies on the normal form
// (verifier/normal_form/normal_form.h) and on Z3. The answer "refuted" comes
// with sizes at which the sides differ. Either the shapes of an output differ;
// or the outputs differ on the same random inputs, in double and, unless the
// rule has a bound, in the field.
#ifndef LEMMA_VERIFIER_PROVER_PROVER_H_
#define LEMMA_VERIFIER_PROVER_PROVER_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "graph/graph.h"
#include "rewrite/rules/statement.h"
#include "verifier/verdict.h"

namespace lemma {

struct ProverOptions {
  uint64_t seed = 1;         // for the random samples
  uint32_t rlimit = 300000;  // Z3's limit per query, in steps: the same on every machine
  // Limit on the steps of one proof, with all its forms, cases and queries. Beyond it the answer is
  // Unknown. The count is the same on every machine; the default takes about 30 s, and no rule of
  // data/rules takes more than a quarter of it.
  int64_t work = 1'000'000'000;
  // Soon after this becomes true, the prover stops with the answer Unknown, which then says nothing
  // about the claim. Not owned; nullptr: never interrupted.
  const std::atomic<bool>* interrupted = nullptr;
  // The number of comparisons on concrete inputs before a proof is tried. 0 switches off all
  // comparisons, also those that follow a failed proof, at sizes that the claim's constants
  // suggest.
  int samples = 10;
  FormLimits forms;  // which forms of a rule ProveRule proves
  // Whether to compare case by case and by identities of real functions where nothing else
  // succeeds.
  bool cases = true;
  // The first contract to try. Stricter contracts are not tried.
  FloatContract strictest = FloatContract::kBitExact;
  bool keep_obligations = false;  // whether to fill in Proved::log
  // Whether to prove rules with the contract kBounded. Otherwise such a rule is Unknown, so that
  // nobody takes it for an equality.
  bool bounded = false;
};

// Proves one statement (prover.cc). Deterministic: the result depends on the arguments only.
Verdict Prove(const Statement& statement, const ProverOptions& options = {});

// Proves a rule for all values of its symbols, form by form (prove_rule.cc). Lengths of lists and
// attributes that an operator must know are tried value by value, up to the limits in
// options.forms. Proved::coverage names the values.
Verdict ProveRule(const Substitution& rule, const ProverOptions& options = {});

// Proves two graphs equal at their shapes in one proof (prove_graphs.cc), so they must be small:
// the referee (verifier/referee/referee.h) compares large ones. Inputs and outputs correspond by
// position, weights by name, and constants by value. A weight that has the same name and values in
// both graphs stands for any values.
Verdict ProveGraphs(const Graph& a, const Graph& b, const ProverOptions& options = {});
// For graphs that ProveGraphs refutes, perhaps with other values of weights
// than the stored ones. Compares the graphs again with the stored values of all
// weights, on the same random inputs and on as many others. If no difference is
// found, returns the answer Unknown, which names the weights. nullopt if the
// graphs differ, or if no stored values were replaced.
std::optional<Unknown> UnknownWithStoredWeights(const Graph& a, const Graph& b,
                                                const ProverOptions& options = {});
// The Proved::id that ProveGraphs gives: a hash of both graphs.
std::string ProofId(const Graph& a, const Graph& b);

}  // namespace lemma

#endif  // LEMMA_VERIFIER_PROVER_PROVER_H_
