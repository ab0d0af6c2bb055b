// Rules: any text that parses must print, and the print must parse to the same.
#include "rewrite/rules/rule_text.h"
#include "tests/fuzz/fuzz_target.h"

namespace lemma {

int FuzzRules(absl::string_view text) {
  const auto rules = ParseRules(text);
  if (!rules.ok()) return 0;
  for (const Substitution& rule : *rules) {
    const std::string printed = PrintRule(rule);
    const auto again = ParseRules(printed);
    fuzz::Require(again.ok() && again->size() == 1, "what was printed is not read:",
                  again.ok() ? printed : std::string(again.status().message()) + "\n" + printed);
    const std::string twice = PrintRule(again->front());
    fuzz::Require(twice == printed, "another rule was read:", printed + "\n" + twice);
    const auto records = WithRecords(text, "text", {{rule.name, rule.proof}});
    fuzz::Require(records.ok(), "the record cannot be set:", records.status().message());
  }
  return 0;
}

}  // namespace lemma

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return lemma::FuzzRules(lemma::fuzz::Text(data, size));
}
