// The rules of data/rules/starter.txt, as they were when this program was built.
#ifndef LEMMA_CLI_BUILTIN_RULES_H_
#define LEMMA_CLI_BUILTIN_RULES_H_

namespace lemma::cli {

extern const char kBuiltinRules[];

}  // namespace lemma::cli

#endif  // LEMMA_CLI_BUILTIN_RULES_H_
