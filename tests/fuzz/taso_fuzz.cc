// Rules in TASO's format: each accepted rule must print, and the print must parse to the same.
#include "rewrite/rules/rule_text.h"
#include "rewrite/taso/import.h"
#include "rewrite/taso/rules.pb.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/mutate_message.h"

namespace lemma {

int FuzzTaso(absl::string_view bytes) {
  const auto rules = ImportTaso(bytes);
  if (!rules.ok()) return 0;
  for (const Substitution& rule : *rules) {
    const std::string printed = PrintRule(rule);
    const auto again = ParseRules(printed);
    fuzz::Require(again.ok() && again->size() == 1, "what was printed is not read:", printed);
    fuzz::Require(PrintRule(again->front()) == printed, "another rule was read:", printed);
  }
  return 0;
}

}  // namespace lemma

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return lemma::FuzzTaso(lemma::fuzz::Text(data, size));
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  lemma::taso::RuleCollection message;
  return lemma::fuzz::MutateSerialized(&message, data, size, max_size, seed);
}
