// Says in plain words what rules did. Internal to the reports.
#ifndef LEMMA_API_REPORT_WORDS_H_
#define LEMMA_API_REPORT_WORDS_H_

#include <string>
#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma::api {

// What `times` applications of the rule did: "53 normalizations folded into convolutions",
// "2 ReLUs removed". It is derived from the operators of both patterns. Operators that act on
// weights only do not count, because they are computed before the model runs.
std::string WordsOf(const Substitution& rule, int times);

// The contract for people: "same bits", "may round differently", "may also differ in overflow and
// NaN".
std::string WordsOf(FloatContract contract);

// The words as a command line for a POSIX shell, quoted where they must be.
std::string ShellText(const std::vector<std::string>& words);

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_WORDS_H_
