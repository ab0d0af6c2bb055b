// Reads and writes rules in the text form. graph/text/syntax.h defines the grammar;
// rewrite/rules/substitution.h and rewrite/rules/term.h define the meaning. rule_print.cc prints
// rules; rule_records.cc reads and writes records.
#ifndef LEMMA_REWRITE_RULES_RULE_TEXT_H_
#define LEMMA_REWRITE_RULES_RULE_TEXT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/text/syntax.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// Which rules a reader accepts.
enum class RuleKinds {
  kEqualities,  // rules with the contract kBounded are an error: they change values
  kAll,
};

// The rules of a text, in order; skips graphs. Errors are InvalidArgument of the form
// "file:line:column: message". Two rules of the same name are an error.
absl::StatusOr<std::vector<Substitution>> ParseRules(absl::string_view text,
                                                     absl::string_view file = "text",
                                                     RuleKinds kinds = RuleKinds::kEqualities);
// These functions convert parts of the syntax tree. ParseRules calls them; their errors have the
// same form.
absl::StatusOr<Substitution> BuildRule(const text::Block& block, absl::string_view file);
absl::StatusOr<ProofRecord> BuildRecord(const text::Record& record, absl::string_view file);
absl::StatusOr<FloatContract> ReadFloatContract(const text::Name& name, absl::string_view file);

// The rule in the text form. ParseRules reads the text back as the same rule.
std::string PrintRule(const Substitution& rule);
// The comparisons in the text form: "g = 2, p <= 1"; "" if there are none.
std::string GuardText(const std::vector<Comparison>& guard);
// The pattern's operators for people: "concat + matmul + split"; "nothing" if it has none.
std::string Operators(const Pattern& pattern);
// The number of operator applications, without constants.
int CountOperators(const Pattern& pattern);

// The record as it stands after a rule's last '}', without a newline:
//   proved reassociates "ID" "COVERAGE"
//   refuted "ID" "COUNTEREXAMPLE"
//   unknown "ID" "REASON"
// "" for kNone.
std::string PrintRecord(const ProofRecord& record);
// `text`, in which each rule named in `records` gets this record in place of its own (kNone: no
// record). Comments and layout stay as they are. InvalidArgument if the text does not parse or if
// `records` has a name that no rule has.
absl::StatusOr<std::string> WithRecords(absl::string_view text, absl::string_view file,
                                        const std::map<std::string, ProofRecord>& records);
// `text`, in which each rule named in `contracts` gets this float contract in place of its own.
// Errors as in WithRecords.
absl::StatusOr<std::string> WithContracts(absl::string_view text, absl::string_view file,
                                          const std::map<std::string, FloatContract>& contracts);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_RULE_TEXT_H_
