// Texts and functions that the printer and the reader of certificates share. Internal to
// rewrite/rules.
#ifndef LEMMA_REWRITE_RULES_CERTIFICATE_TEXT_H_
#define LEMMA_REWRITE_RULES_CERTIFICATE_TEXT_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "rewrite/rules/substitution.h"

namespace lemma::certificate_text {

// The first line of a certificate is kFormat and kVersion. The last line is kChecksum and the
// SHA-256 of the text before kChecksum.
constexpr absl::string_view kFormat = "lemma certificate ";
constexpr int kVersion = 1;
constexpr absl::string_view kNoProof = "none";  // in place of a proof's id if there is none
constexpr absl::string_view kChecksum = "\nsha256 ";
constexpr absl::string_view kIndent = "  ";  // before each line of a certificate inside another one

// The id of the rule's proof, as a view into `rule`; kNoProof if the rule is not proved.
inline absl::string_view ProofOf(const Substitution& rule) {
  return rule.proof.verdict == ProofRecord::Verdict::kProved ? rule.proof.id : kNoProof;
}

// The rule of `rules` with this name; nullptr if there is none.
inline const Substitution* Find(const std::vector<Substitution>& rules, absl::string_view name) {
  for (const Substitution& rule : rules) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

}  // namespace lemma::certificate_text

#endif  // LEMMA_REWRITE_RULES_CERTIFICATE_TEXT_H_
