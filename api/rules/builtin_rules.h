// The text of data/rules/starter.txt, which the build puts into the program.
#ifndef LEMMA_API_RULES_BUILTIN_RULES_H_
#define LEMMA_API_RULES_BUILTIN_RULES_H_

namespace lemma::api {

extern const char kBuiltinRules[];

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_BUILTIN_RULES_H_
