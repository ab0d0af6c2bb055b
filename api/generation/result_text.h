// The files that a run of the generator writes, as text.
#ifndef LEMMA_API_GENERATION_RESULT_TEXT_H_
#define LEMMA_API_GENERATION_RESULT_TEXT_H_

#include <cstdint>
#include <string>

#include "generator/run/generate.h"
#include "generator/run/run_id.h"

namespace lemma::api {

// How many rules are needed: they follow from no others.
int64_t CountNeeded(const generator::Generated& generated);
// A file of the rules that are needed. Its first line names the command that makes it.
std::string RulesText(const generator::RunId& run, const generator::Generated& generated);
// A file of those that follow from them; the last line above each says from which. "" if there are
// none.
std::string PrunedText(const generator::RunId& run, const generator::Generated& generated);
// A line for each pair that is refuted or undecided, with the reason.
std::string RejectedText(const generator::Generated& generated);

}  // namespace lemma::api

#endif  // LEMMA_API_GENERATION_RESULT_TEXT_H_
