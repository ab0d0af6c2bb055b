// The prover: are two tensor programs equal, for all sizes and attributes? (docs/proofs.md)
//
// A proof is about real numbers. An answer "proved" rests on the normal form (verifier/
// normal_form.h) and on Z3; an answer "refuted" comes with sizes at which the two sides, run in
// the field and in double on the same random inputs, differ.
#ifndef LEMMA_VERIFIER_PROVER_PROVER_H_
#define LEMMA_VERIFIER_PROVER_PROVER_H_

#include <atomic>
#include <cstdint>

#include "graph/graph.h"
#include "rewrite/rules/statement.h"
#include "verifier/verdict.h"

namespace lemma {

struct ProverOptions {
  uint64_t seed = 1;         // of the samples
  uint32_t rlimit = 300000;  // Z3's, per query: a count of steps, the same on every machine
  // Steps of one proof, with all its forms, cases and queries; then it is Unknown. A count as well:
  // these take about 30 s, and no rule of data/rules takes more than a quarter.
  int64_t work = 1'000'000'000;
  // Looked at all the time: soon after it becomes true the answer is Unknown, which then says
  // nothing of the claim.
  const std::atomic<bool>* interrupted = nullptr;
  int samples = 10;  // concrete comparisons before a proof is tried; 0: none
  FormLimits forms;  // of a rule
  // The first contract that is tried; one that is stricter is not asked about.
  FloatContract strictest = FloatContract::kBitExact;
  bool keep_obligations = false;
};

// Deterministic: depends on the arguments only.
Verdict Prove(const Statement& statement, const ProverOptions& options = {});

// A rule, for all values of its symbols. Lists of unknown length and attributes that an operator
// needs to know are tried one by one, up to the options' limits; Proved::coverage names them.
Verdict ProveRule(const Substitution& rule, const ProverOptions& options = {});

// Two graphs at their shapes. Inputs correspond by position, weights by name; constants are values.
Verdict ProveGraphs(const Graph& a, const Graph& b, const ProverOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_VERIFIER_PROVER_PROVER_H_
