// The prover's answer about a claim: proved, refuted, or unknown.
#ifndef LEMMA_VERIFIER_VERDICT_H_
#define LEMMA_VERIFIER_VERDICT_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma {

// The evidence of a proof, which other programs can repeat: the queries that were found
// unsatisfiable, by linear arithmetic or by Z3, and the steps that the prover inferred.
struct ProofLog {
  struct Query {
    std::string about;  // the fact that it proves, for people
    std::string smt2;   // SMT-LIB 2 without check-sat; unsatisfiable
  };
  std::vector<Query> queries;
  std::vector<std::string> steps;  // lines of a proof file (docs/proofs.md)
};

struct Proved {
  FloatContract contract = FloatContract::kRealOnly;
  // The sizes, attributes and ranks that the proof covers, for people.
  std::string coverage;
  // The proof id: a hash of the statement and of the definitions of its operators.
  std::string id;
  int64_t queries = 0, work = 0;  // queries to Z3 and steps that the proof took
  ProofLog log;                   // empty unless ProverOptions::keep_obligations
};

// Adds the evidence of `part` to `total`: keeps the looser contract of both, and adds up the
// queries, the work and the log. If `total` has no coverage, it gets the coverage of `part`.
void Join(const Proved& part, Proved* total);

// A counterexample: an element in which the sides differ.
struct Refuted {
  std::map<std::string, std::string> values;  // of the claim's symbols, by name
  uint64_t seed = 0;                          // from which the inputs' elements were drawn
  int output = 0;                             // number of the output
  std::vector<int64_t> index;                 // of the element in this output
  double source = 0, target = 0;              // the elements there, in double
  // The elements of each input, in row-major order, if they are at most
  // kMostShown in all; otherwise empty. Always empty if the shapes differ, or
  // if the counterexample is from ProveGraphs.
  std::vector<std::vector<double>> inputs;
  static constexpr size_t kMostShown = 12;
  // Shapes of the output, set if they differ. No element is named then.
  std::vector<int64_t> source_shape, target_shape;
  bool shapes_differ() const { return source_shape != target_shape; }
  std::string ToString() const;
};

struct Unknown {
  std::string reason;
};

using Verdict = std::variant<Proved, Refuted, Unknown>;
std::string ToString(const Verdict& verdict);
// "proved", "refuted", "unknown".
const char* Word(const Verdict& verdict);
// The coverage, the counterexample or the reason.
std::string Explanation(const Verdict& verdict);
// The proof record (docs/proofs.md) that is kept with the rule.
ProofRecord RecordOf(const Substitution& rule, const Verdict& verdict);
inline bool IsProved(const Verdict& v) { return std::holds_alternative<Proved>(v); }
inline bool IsRefuted(const Verdict& v) { return std::holds_alternative<Refuted>(v); }

}  // namespace lemma

#endif  // LEMMA_VERIFIER_VERDICT_H_
