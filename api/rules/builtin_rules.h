// The built-in files of rules: the texts of some files in data/rules (BUILD.bazel lists them),
// which the build puts into the program.
#ifndef LEMMA_API_RULES_BUILTIN_RULES_H_
#define LEMMA_API_RULES_BUILTIN_RULES_H_

namespace lemma::api {

struct BuiltinRules {
  const char* name;  // name of the file, without folder and ending
  const char* text;
};
// First the rules written by hand (starter.txt), then files of generated rules. The last element
// has name and text nullptr.
extern const BuiltinRules kBuiltinRules[];

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_BUILTIN_RULES_H_
