// The claim that a proof makes for one form: values of symbols, requirements, and the instances to
// which the claim applies.
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
  // By symbol of the rule: its value; a name stands for an open size or attribute.
  SymbolValues symbols;
  std::vector<Fixed> fixed;   // by symbol of the rule: the fixed parts of its value
  std::vector<Guard> guards;  // requirements of the operators of both sides
};

// InvalidArgument if the form does not give every symbol a value, or if the rule is not well-formed
// for these values.
absl::StatusOr<Claim> ClaimOf(const Substitution& rule, const Form& form);

// Whether the claim applies to the instance. Adds the work done to *work.
bool IsAbout(const Claim& claim, const Instance& instance, int64_t* work);

// For an instance to which the claim applies: the values of the open sizes and of the open integer
// attributes, by name.
std::map<std::string, int64_t> OpenSymbols(const Claim& claim, const Instance& instance);

}  // namespace lemma::checker

#endif  // LEMMA_VERIFIER_CHECKER_CLAIM_H_
