// The models that a hunt tries.
#include "api/hunting/cases.h"

#include <set>
#include <string>
#include <utility>

#include "api/hunting/idioms.h"
#include "api/hunting/message_kind.h"
#include "api/hunting/own_faults.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::hunt {
namespace {

constexpr char kRules[] = R"(
rule relu_of_relu(x: [n]) bit_exact {
  a = relu(x)
  b = relu(a)
  return b
} => {
  c = relu(x)
  return c
})";

std::unique_ptr<Cases> CasesOf(uint64_t seed) {
  CaseOptions options;
  options.seed = seed;
  options.rules = *ParseRules(kRules, "rules");
  for (Substitution& rule : options.rules) rule.proof.verdict = ProofRecord::Verdict::kProved;
  return *Cases::Create(std::move(options));
}

TEST(CasesTest, AreEqualForEqualSeeds) {
  const auto a = CasesOf(1), b = CasesOf(1), other = CasesOf(2);
  int different = 0;
  for (int64_t i = 0; i < 40; ++i) {
    const auto x = a->Make(i), y = b->Make(i), z = other->Make(i);
    ASSERT_EQ(x.ok(), y.ok());
    if (!x.ok()) continue;
    ASSERT_EQ(x->subjects.size(), y->subjects.size());
    for (size_t k = 0; k < x->subjects.size(); ++k) {
      EXPECT_EQ(PrintGraph(x->subjects[k].graph), PrintGraph(y->subjects[k].graph)) << i;
    }
    different += !z.ok() || PrintGraph(z->subjects[0].graph) != PrintGraph(x->subjects[0].graph);
  }
  EXPECT_GT(different, 20);
}

TEST(CasesTest, HaveBothSidesOfARule) {
  const auto made = CasesOf(1)->Make(2);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->source, "rule relu_of_relu");
  ASSERT_EQ(made->subjects.size(), 2);
  EXPECT_EQ(made->subjects[0].graph.num_ops(), 2);
  EXPECT_EQ(made->subjects[1].graph.num_ops(), 1);
  EXPECT_EQ(DifferByDefinition(made->subjects[0], made->subjects[1]), "");
}

TEST(IdiomsTest, AreMostlyWellFormed) {
  std::set<uint64_t> hashes;
  int made = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const auto idiom = RandomIdiom(seed);
    if (!idiom) continue;
    ++made;
    hashes.insert(idiom->StructuralHash());
    EXPECT_EQ(PrintGraph(*idiom), PrintGraph(*RandomIdiom(seed)));
  }
  EXPECT_GT(made, 300);
  EXPECT_GT(hashes.size(), 250);
}

Subject SubjectOf(const std::string& text, double value) {
  Subject subject;
  subject.graph = *ParseGraph(text);
  subject.inputs = {*Tensor::Filled(subject.graph.inputs()[0].type(), value)};
  return subject;
}

TEST(OwnFaultsTest, NoticeSidesThatDiffer) {
  const Subject a = SubjectOf("graph g(x: f32[2]) { y = relu(x) return y }", -1);
  const Subject b = SubjectOf("graph g(x: f32[2]) { y = abs(x) return y }", -1);
  EXPECT_EQ(DifferByDefinition(a, a), "");
  EXPECT_NE(DifferByDefinition(a, b), "");
  EXPECT_EQ(WhyExportDiffers(a), "");
}

TEST(MessageKindTest, LeavesOutNamesAndNumbers) {
  EXPECT_EQ(MessageKind("node 'a' of [3]: /x/y.cc:7 no kernel"),
            MessageKind("node 'b' of [12]: /z.cc:9 no kernel"));
}

}  // namespace
}  // namespace lemma::hunt
