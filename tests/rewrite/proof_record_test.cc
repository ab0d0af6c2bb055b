// Proof records: reading, changing them in a text, and comparing them with the rule.
#include <chrono>
#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

constexpr char kRule[] = R"(# relu(relu(x)) = relu(x)
rule relu_of_relu(x: [n]) bit_exact {
  a = relu(x)
  b = relu(a)
  return b
} => {
  c = relu(x)
  return c
}
)";

Substitution Rule(const std::string& text) {
  auto rules = ParseRules(text);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules.ok() && rules->size() == 1 ? (*rules)[0] : Substitution();
}

ProofRecord Proved(const std::string& id, FloatContract contract = FloatContract::kBitExact) {
  return {ProofRecord::Verdict::kProved, contract, id, "all sizes >= 1"};
}

std::string With(const std::string& text, const ProofRecord& record) {
  auto result = WithRecords(text, "text", {{"relu_of_relu", record}});
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : "";
}

TEST(ProofRecord, ReadsBackWhatIsPrinted) {
  for (const ProofRecord& record :
       {ProofRecord(), Proved("12ab"), Proved("", FloatContract::kReassociates),
        ProofRecord{ProofRecord::Verdict::kRefuted, FloatContract::kRealOnly, "9", "n = 2 \"…\"\\"},
        ProofRecord{ProofRecord::Verdict::kUnknown, FloatContract::kRealOnly, "", "why\nnot"}}) {
    Substitution rule = Rule(kRule);
    rule.proof = record;
    const std::string text = PrintRule(rule);
    EXPECT_EQ(Rule(text).proof, record) << text;
    EXPECT_EQ(PrintRule(Rule(text)), text);
  }
}

TEST(ProofRecord, RefusesRecordsThatAreNone) {
  const std::string text = kRule;
  for (const char* record : {"proved", "proved \"1\" \"2\"", "proved exact \"1\" \"2\"",
                             "proved bit_exact \"1\"", "refuted 1 2", "proven bit_exact"}) {
    EXPECT_FALSE(ParseRules(text + record).ok()) << record;
  }
}

TEST(ProofRecord, IsSetInPlace) {
  const std::string before = std::string("#!  odd   layout\r\n\n") + kRule +
                             "# about the next\nrule other(y: [n]) bit_exact { a = neg(y) "
                             "return a } => { a = neg(y) return a } # trailing\n# the end";
  const std::string once = With(before, Proved("1"));
  EXPECT_THAT(once, HasSubstr("}\nproved bit_exact \"1\" \"all sizes >= 1\"\n# about the next\n"));
  const std::string twice = With(once, Proved("2", FloatContract::kRealOnly));
  EXPECT_THAT(twice, HasSubstr("}\nproved real_only \"2\" \"all sizes >= 1\"\n# about the next\n"));
  // Each record is replaced, and removing the records restores every byte.
  EXPECT_EQ(With(twice, Proved("1")), once);
  auto both = WithRecords(once, "text", {{"other", Proved("3")}});
  ASSERT_TRUE(both.ok());
  EXPECT_THAT(*both, HasSubstr("return a }\nproved bit_exact \"3\" \"all sizes >= 1\" # trailing"));
  auto rules = ParseRules(*both);
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_EQ((*rules)[1].doc, "about the next");
  auto none = WithRecords(*both, "text", {{"other", {}}, {"relu_of_relu", {}}});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->substr(0, none->find("} # trailing")),
            before.substr(0, before.find("} # trailing")));
}

TEST(ProofRecord, OfNoRuleIsRefused) {
  EXPECT_FALSE(WithRecords(kRule, "text", {{"another", Proved("1")}}).ok());
  EXPECT_FALSE(WithRecords("rule", "text", {}).ok());
}

TEST(ProofRecord, MustBeOfThisStatement) {
  Substitution rule = Rule(kRule);
  EXPECT_EQ(ProofProblem(rule), "it has no proof");
  const std::string id = CurrentProofId(rule);
  EXPECT_EQ(id.size(), 32u);
  rule.proof = Proved(id);
  EXPECT_EQ(ProofProblem(rule), "");
  rule.proof.id[0] = rule.proof.id[0] == '0' ? '1' : '0';
  EXPECT_THAT(ProofProblem(rule), HasSubstr("stale"));
  rule.proof = {ProofRecord::Verdict::kRefuted, FloatContract::kRealOnly, id, "n = 1"};
  EXPECT_EQ(ProofProblem(rule), "it is false: n = 1");
  rule.proof.verdict = ProofRecord::Verdict::kUnknown;
  EXPECT_EQ(ProofProblem(rule), "it is not proved: n = 1");
}

TEST(ProofRecord, MustProveTheContractThatIsPromised) {
  Substitution rule = Rule(kRule);
  rule.proof = Proved(CurrentProofId(rule), FloatContract::kReassociates);
  EXPECT_EQ(ProofProblem(rule), "it promises bit_exact, but only reassociates is proved");
  rule.contract = FloatContract::kRealOnly;
  EXPECT_EQ(ProofProblem(rule), "");
}

// An edit of anything the rule states makes its record stale.
TEST(ProofRecord, IsStaleAfterAnEdit) {
  Substitution rule = Rule(R"(rule r(x: [m,n], y: [m,n]) bit_exact where n >= 2 {
  a = slice(x) {sizes = [m, n - 1], starts = [0, 1]}
  b = slice(y) {sizes = [m, n - 1], starts = [0, 0]}
  c = sub(a, b)
  d = cast(c) {dtype = "i32"}
  e = scalar_mul(a) {alpha = 1.5}
  return d, e
} => {
  a = slice(x) {sizes = [m, n - 1], starts = [0, 1]}
  b = slice(y) {sizes = [m, n - 1], starts = [0, 0]}
  c = sub(a, b)
  d = cast(c) {dtype = "i32"}
  e = scalar_mul(a) {alpha = 1.5}
  return d, e
})");
  rule.proof = Proved(CurrentProofId(rule));
  ASSERT_EQ(ProofProblem(rule), "");
  const std::string text = PrintRule(rule);
  // Edits the first occurrence: in the source, or in a variable's type, which both sides read.
  const std::pair<const char*, const char*> edits[] = {{"n >= 2", "n >= 1"},
                                                       {"starts = [0, 1]", "starts = [0, 0]"},
                                                       {"sub(a, b)", "sub(b, a)"},
                                                       {"sub(a, b)", "add(a, b)"},
                                                       {"y: [m,n]", "y: f64[m,n]"},
                                                       {"y: [m,n]", "y: [n,n]"},
                                                       {"\"i32\"", "\"i64\""},
                                                       {"return d, e", "return e, d"},
                                                       {"alpha = 1.5", "alpha = 1.50000000001"},
                                                       {"e = scalar_mul(a)", "e = scalar_mul(b)"}};
  for (const auto& [from, to] : edits) {
    std::string edited = text;
    ASSERT_NE(edited.find(from), std::string::npos) << from;
    edited.replace(edited.find(from), std::string(from).size(), to);
    EXPECT_THAT(ProofProblem(Rule(edited)), HasSubstr("stale")) << from << " -> " << to;
  }
}

// The built-in rules are used without another proof. If this fails, a rule or an operator's
// definition has changed: `lemma verify data/rules/starter.txt -o data/rules/starter.txt` proves
// the rules again and writes their records.
TEST(ProofRecord, OfEveryStarterRuleIsCurrent) {
  std::ifstream file("data/rules/starter.txt");
  ASSERT_TRUE(file.good());
  std::stringstream text;
  text << file.rdbuf();
  auto rules = ParseRules(text.str(), "starter.txt");
  ASSERT_TRUE(rules.ok()) << rules.status();
  const auto start = std::chrono::steady_clock::now();
  for (const Substitution& rule : *rules) {
    EXPECT_EQ(ProofProblem(rule), "")
        << rule.name << ": run lemma verify data/rules/starter.txt -o data/rules/starter.txt";
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  printf("%zu records checked in %.3f s\n", rules->size(), took.count());
}

}  // namespace
}  // namespace lemma
