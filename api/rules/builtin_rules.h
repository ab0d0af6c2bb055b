// The rules of data/rules/starter.txt, as they were when this program was built.
#ifndef LEMMA_API_RULES_BUILTIN_RULES_H_
#define LEMMA_API_RULES_BUILTIN_RULES_H_

namespace lemma::api {

extern const char kBuiltinRules[];

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_BUILTIN_RULES_H_
