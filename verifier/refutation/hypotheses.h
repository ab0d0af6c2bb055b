// Derives facts about sizes and attributes from a statement's requirements. Internal to the prover.
#ifndef LEMMA_VERIFIER_REFUTATION_HYPOTHESES_H_
#define LEMMA_VERIFIER_REFUTATION_HYPOTHESES_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/expr/tensor_expr.h"
#include "verifier/arithmetic/arith.h"
#include "verifier/normal_form/normal_form.h"

namespace lemma::prover {

using SymbolMap = std::map<std::string, int64_t>;

// The requirements, with their equations solved for symbols: if C = G * D is required, the product
// G * D replaces C. If K must be divisible by g, then g times a new symbol replaces K. A symbol
// that is not replaced is *free*. The leaves of `forms`, and `arith`, must outlive the object.
class Hypotheses {
 public:
  // `positive`: expressions that are at least 1. `more`: further facts about symbols.
  Hypotheses(NormalForms* forms, Arith* arith, const std::vector<Guard>& requirements,
             const std::vector<IndexExpr>& positive, const Facts& more = {});

  const LeafMap& solved() const { return solved_; }  // solved symbols, as polynomials in free ones
  const Facts& facts() const { return facts_; }      // about the free symbols
  // Disjunctions among the requirements, which facts() leaves out. Each is a list of mutually
  // exclusive cases over the original symbols.
  const std::vector<std::vector<Facts>>& undecided() const { return undecided_; }
  // The free symbols, in order of occurrence.
  std::vector<Leaf> FreeSymbols() const;
  // The value of `p` at these values of the free symbols; nullopt if it has none.
  std::optional<int64_t> Value(const Poly& p, const std::map<Leaf, int64_t>& values) const;

 private:
  bool SolveOne();
  void BoundFactors();
  void SubstituteAll(Leaf symbol, const Poly& value);
  void Clean();

  Leaves* leaves_;
  Arith* arith_;
  LeafMap solved_;
  Facts facts_;
  std::vector<Leaf> symbols_;
  std::vector<std::vector<Facts>> undecided_;
};

// These functions append the names of symbols and of real parameters in order of occurrence. They
// leave out names that the list has already.
void CollectSymbols(const IndexExpr& e, std::vector<std::string>* names);
void CollectSymbols(const Guard& g, std::vector<std::string>* names);
void CollectSymbols(const ScalarExpr& e, std::vector<std::string>* symbols,
                    std::vector<std::string>* params);
void CollectSymbols(const Definition& d, std::vector<std::string>* symbols,
                    std::vector<std::string>* params);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_REFUTATION_HYPOTHESES_H_
