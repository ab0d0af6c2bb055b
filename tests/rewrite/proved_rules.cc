#include "tests/rewrite/proved_rules.h"

#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {

std::vector<Substitution> ProvedRules(const std::string& file, const std::string& prefix) {
  const std::string path = absl::StrCat("data/rules/", file);
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  auto parsed = ParseRules(text.str(), path);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  std::vector<Substitution> proved;
  if (!parsed.ok()) return proved;
  for (Substitution& rule : *parsed) {
    if (rule.proof.verdict != ProofRecord::Verdict::kProved) continue;
    rule.name = absl::StrCat(prefix, rule.name);
    proved.push_back(std::move(rule));
  }
  return proved;
}

}  // namespace lemma
