// Describes rules and float contracts in plain words. Internal to the reports.
#ifndef LEMMA_API_REPORT_WORDS_H_
#define LEMMA_API_REPORT_WORDS_H_

#include <string>
#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma::api {

// Describes the effect of `times` applications of the rule, such as "53 normalizations folded into
// convolutions" or "2 ReLUs removed". The text follows from the operators of the rule's source and
// target. Operators that act on weights only do not count, because they are computed before the
// model runs.
std::string WordsOf(const Substitution& rule, int times);

// The contract in plain words: "same bits", "may round differently", "may also differ in overflow
// and NaN", or "may differ by a proved bound".
std::string WordsOf(FloatContract contract);

// A change of a time in milliseconds, with its sign: "-40.0 us", "+1.250 ms", "0 us".
std::string ChangeText(double ms);

// The command line that gives these words to a command in a POSIX shell. Words with special
// characters, and empty words, are quoted.
std::string ShellText(const std::vector<std::string>& words);

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_WORDS_H_
