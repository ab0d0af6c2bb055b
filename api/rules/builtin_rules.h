// The texts of the files in data/rules, which the build puts into the program.
#ifndef LEMMA_API_RULES_BUILTIN_RULES_H_
#define LEMMA_API_RULES_BUILTIN_RULES_H_

namespace lemma::api {

struct BuiltinRules {
  const char* name;  // of the file, without folder and ending
  const char* text;
};
// The rules written by hand, then the generated ones; ends with nullptr.
extern const BuiltinRules kBuiltinRules[];

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_BUILTIN_RULES_H_
