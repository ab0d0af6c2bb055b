// Rules in the text form. The grammar is in graph/text_syntax.h, the meaning in
// rewrite/substitution.h and rewrite/term.h.
#ifndef LEMMA_REWRITE_RULE_TEXT_H_
#define LEMMA_REWRITE_RULE_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/text_syntax.h"
#include "rewrite/substitution.h"

namespace lemma {

// The rules of a text, in order; graphs among them are skipped. Errors are InvalidArgument and read
// "file:line:column: message". Two rules of one name are an error.
absl::StatusOr<std::vector<Substitution>> ParseRules(absl::string_view text,
                                                     absl::string_view file = "text");
absl::StatusOr<Substitution> BuildRule(const text::Block& block, absl::string_view file);

// Reads back as the same rule.
std::string PrintRule(const Substitution& rule);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULE_TEXT_H_
