// What one form of a proof is about.
#ifndef LEMMA_VERIFIER_CHECKER_CLAIM_H_
#define LEMMA_VERIFIER_CHECKER_CLAIM_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rewrite/rules/substitution.h"
#include "verifier/checker/instances.h"
#include "verifier/checker/proof_text.h"

namespace lemma::checker {

struct Claim {
  SymbolValues symbols;       // of the rule, as the form has them
  std::vector<Fixed> fixed;   // what of them is
  std::vector<Guard> guards;  // what the operators of both sides require
};

// InvalidArgument if the form does not give every symbol a value, or the rule is not well-formed
// with these.
absl::StatusOr<Claim> ClaimOf(const Substitution& rule, const Form& form);

// Whether the instance is one of those that the claim speaks of.
bool IsAbout(const Claim& claim, const Instance& instance, int64_t* work);

// Values that the names in a form's symbols have on an instance that it is about.
std::map<std::string, int64_t> OpenSymbols(const Claim& claim, const Instance& instance);

}  // namespace lemma::checker

#endif  // LEMMA_VERIFIER_CHECKER_CLAIM_H_
