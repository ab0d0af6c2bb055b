#include "tests/rewrite/starter_mutants.h"

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {

std::vector<Mutation> StarterMutations() {
  std::vector<Mutation> all, above;
  std::ifstream file("data/rules/starter.txt");
  EXPECT_TRUE(file.good());
  for (std::string line; std::getline(file, line);) {
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "# mutant: ")) {
      const size_t arrow = rest.find(" -> ");
      EXPECT_NE(arrow, absl::string_view::npos) << line;
      if (arrow == absl::string_view::npos) continue;
      above.push_back(
          {"", std::string(rest.substr(0, arrow)), std::string(rest.substr(arrow + 4))});
    } else if (absl::ConsumePrefix(&rest, "rule ")) {
      for (Mutation& mutation : above) {
        mutation.rule = std::string(rest.substr(0, rest.find('(')));
        all.push_back(std::move(mutation));
      }
      above.clear();
    }
  }
  EXPECT_TRUE(above.empty()) << "a mutant without a rule";
  return all;
}

std::string Mutate(const Substitution& rule, const Mutation& mutation) {
  const std::string text = PrintRule(rule);
  const size_t arrow = text.find(" => ");
  std::string before = text.substr(0, arrow), after = text.substr(arrow);
  std::string& edited = absl::StrContains(after, mutation.from) ? after : before;
  EXPECT_TRUE(absl::StrContains(edited, mutation.from)) << mutation.from << "\n" << text;
  edited = absl::StrReplaceAll(edited, {{mutation.from, mutation.to}});
  return before + after;
}

}  // namespace lemma
