// Makes the texts of the files that a run of the generator writes.
#ifndef LEMMA_API_GENERATION_RESULT_TEXT_H_
#define LEMMA_API_GENERATION_RESULT_TEXT_H_

#include <cstdint>
#include <string>

#include "generator/run/generate.h"
#include "generator/run/run_id.h"

namespace lemma::api {

// The number of needed rules: the rules that do not follow from other rules.
int64_t CountNeeded(const generator::Generated& generated);
// The text of the file of needed rules. Its first line names the command that makes the file.
std::string RulesText(const generator::RunId& run, const generator::Generated& generated);
// The text of the file of rules that follow from needed rules. The last comment line above each
// rule names the needed rules from which it follows. "" if there are no such rules.
std::string PrunedText(const generator::RunId& run, const generator::Generated& generated);
// One line for each candidate that did not become a rule, with the reason.
std::string RejectedText(const generator::Generated& generated);

}  // namespace lemma::api

#endif  // LEMMA_API_GENERATION_RESULT_TEXT_H_
