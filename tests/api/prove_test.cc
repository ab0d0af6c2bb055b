#include "api/prove.h"

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"
#include "tests/base/temp_files.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kTwice[] = "graph twice(x: f32[4]) { y = relu(x) z = relu(y) return z }";
constexpr char kOnce[] = "graph once(x: f32[4]) { y = relu(x) return y }";
constexpr char kOther[] = "graph other(x: f32[4]) { y = neg(x) return y }";
constexpr char kRule[] =
    "rule relu_twice(x: [n]) bit_exact { y = relu(x) z = relu(y) return z } => "
    "{ y = relu(x) return y }";

Graph GraphOf(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

Substitution Rule() {
  auto rules = ParseRules(kRule);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules->front();
}

std::string AllSizes(std::string text) { return text.replace(text.find("[4]"), 3, "[n]"); }

TEST(ApiProveTest, GraphsAtTheirShapes) {
  auto result = api::Prove(GraphOf(kTwice), GraphOf(kOnce));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->symbolic);
  EXPECT_TRUE(result->outcome.ok());
  result = api::Prove(GraphOf(kTwice), GraphOf(kOther));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(IsRefuted(result->outcome.verdict));
  EXPECT_FALSE(result->outcome.ok());
}

// A cast to 8 bits is no identity, although a proof about real numbers could take it for one.
TEST(ApiProveTest, NothingIsProvedAboutSmallFloats) {
  for (const char* type : {"f8e4m3fn", "f8e5m2", "f4e2m1", "f8e8m0"}) {
    const Graph through = GraphOf(absl::StrCat("graph a(x: f32[4]) { h = cast(x) {dtype = \"", type,
                                               "\"} y = cast(h) {dtype = \"f32\"} return y }"));
    for (const char* other : {"graph b(x: f32[4]) { y = neg(x) z = neg(y) return z }",
                              "graph b(x: f32[4]) { y = neg(x) return y }"}) {
      const auto result = api::Prove(through, GraphOf(other));
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_FALSE(IsProved(result->outcome.verdict))
          << type << ": " << ToString(result->outcome.verdict);
    }
  }
}

// Integers of 4 bits are not taken for those of 8.
TEST(ApiProveTest, NarrowIntegersSaturateAtTheirOwnRange) {
  const auto verdict = [](const char* type, const char* low, const char* high) {
    const std::string cast = absl::StrCat("cast(c) {dtype = \"", type, "\"}");
    const auto result =
        api::Prove(GraphOf("graph a(x: f32[4]) { c = relu(x) q = " + cast + " return q }"),
                   GraphOf(absl::StrCat("graph b(x: f32[4]) { r = relu(x) c = clip(r) {min = ", low,
                                        ", max = ", high, "} q = ", cast, " return q }")));
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->outcome.verdict : Verdict(Unknown{"no result"});
  };
  EXPECT_TRUE(IsProved(verdict("i4", "-8.0", "7.0"))) << ToString(verdict("i4", "-8.0", "7.0"));
  EXPECT_TRUE(IsProved(verdict("u2", "0.0", "3.0")));
  EXPECT_FALSE(IsProved(verdict("i8", "-8.0", "7.0")));
  EXPECT_FALSE(IsProved(verdict("i4", "-8.0", "6.0")));
}

// Gated layers. `layer(i)` is the text that computes a<i> and b<i> from h<i>, w<i> and v<i>.
std::string Deep(int depth, const std::function<std::string(int)>& layer) {
  std::string text = "(x: f32[4,6]";
  for (int i = 0; i < depth; ++i) {
    absl::StrAppend(&text, ", w", i, ": weight f32[6,6], v", i, ": weight f32[6,6]");
  }
  text += ") { h0 = relu(x)\n";
  for (int i = 0; i < depth; ++i) {
    text += absl::StrReplaceAll(layer(i), {{"#", absl::StrCat(i)}});
    text += absl::StrReplaceAll("c# = sigmoid(a#)\n d# = mul(c#, b#)\n ", {{"#", absl::StrCat(i)}});
    absl::StrAppend(&text, "h", i + 1, " = add(h", i, ", d", i, ")\n");
  }
  return absl::StrCat(text, "return h", depth, " }");
}
constexpr char kTwo[] = "a# = matmul(h#, w#)\n b# = matmul(h#, v#)\n";
constexpr char kMerged[] =
    "k# = concat(w#, v#) {axis = 1}\n p# = matmul(h#, k#)\n"
    "a#, b# = split(p#) {axis = 1, sizes = [6, 6]}\n";
constexpr char kSwapped[] =
    "k# = concat(v#, w#) {axis = 1}\n p# = matmul(h#, k#)\n"
    "a#, b# = split(p#) {axis = 1, sizes = [6, 6]}\n";
constexpr char kDoubled[] =
    "u# = add(v#, v#)\n a# = matmul(h#, w#)\n t# = matmul(h#, u#)\n b# = scalar_mul(t#) {alpha = "
    "0.5}\n";

Verdict ProveDeep(const std::string& a, const std::string& b) {
  auto result = api::Prove(GraphOf("graph a" + a), GraphOf("graph b" + b));
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->outcome.verdict : Unknown{"not tried"};
}

TEST(ApiProveTest, DeepGraphsLayerByLayer) {
  using Layers = std::function<std::string(int)>;
  auto all = [](const char* layer) -> Layers {
    return [layer](int) { return std::string(layer); };
  };
  auto one = [](const char* layer) -> Layers {
    return [layer](int i) { return std::string(i == 7 ? layer : kTwo); };
  };
  const std::string plain = Deep(16, all(kTwo));
  const Verdict merged = ProveDeep(plain, Deep(16, all(kMerged)));
  ASSERT_TRUE(IsProved(merged)) << ToString(merged);
  EXPECT_EQ(std::get<Proved>(merged).contract, FloatContract::kBitExact);
  // The strictest contract that all steps allow.
  const Verdict twice = ProveDeep(plain, Deep(16, one(kDoubled)));
  ASSERT_TRUE(IsProved(twice)) << ToString(twice);
  EXPECT_EQ(std::get<Proved>(twice).contract, FloatContract::kReassociates);
  for (const auto& wrong : {all(kSwapped), one(kSwapped)}) {
    const Verdict verdict = ProveDeep(plain, Deep(16, wrong));
    EXPECT_FALSE(IsProved(verdict)) << ToString(verdict);
  }
  EXPECT_TRUE(IsRefuted(ProveDeep(Deep(3, all(kTwo)), Deep(3, all(kSwapped)))));
}

// The values of `g` are folded into `f`, and `g` stays for its other user: models that are
// equal as they are stored, but not for other values of `g`.
TEST(ApiProveTest, EqualAsStoredIsNotRefuted) {
  const char* plain =
      "(x: f32[2,2], g: weight f32[2] = [2.0, 3.0], w: weight f32[2,2] = [1.0, 2.0, 3.0, 4.0]) {\n"
      "a = matmul(x, w)\n b = mul(a, g)\n c = relu(b)\n y = mul(c, g)\n return y }";
  const std::string folded =
      "(x: f32[2,2], g: weight f32[2] = [2.0, 3.0], f: weight f32[2,2] = [2.0, 6.0, 6.0, 12.0]) {\n"
      "a = matmul(x, f)\n c = relu(a)\n y = mul(c, g)\n return y }";
  const Verdict equal = ProveDeep(plain, folded);
  const auto* unknown = std::get_if<Unknown>(&equal);
  ASSERT_NE(unknown, nullptr) << ToString(equal);
  EXPECT_EQ(unknown->reason,
            "the models differ for other values of weight 'g'; with the stored values no "
            "difference was found; lemma referee compares models with their stored weights");
  const Verdict other = ProveDeep(plain, absl::StrReplaceAll(folded, {{"12.0", "12.1"}}));
  EXPECT_TRUE(IsRefuted(other)) << ToString(other);
  // Without stored values, the claim is about all values.
  const auto without_values = [](std::string text) {
    return absl::StrReplaceAll(text, {{" = [2.0, 3.0]", ""}});
  };
  EXPECT_TRUE(IsRefuted(ProveDeep(without_values(plain), without_values(folded))));
}

TEST(ApiProveTest, ARuleWithItsProofRepeated) {
  api::ProofOptions options;
  options.check = true;
  options.proofs = NewFolder() + "/proofs";
  auto result = api::Prove(Rule(), options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->symbolic);
  EXPECT_TRUE(result->outcome.ok());
  ASSERT_TRUE(result->outcome.checked && result->outcome.replayed);
  EXPECT_GT(result->outcome.checked->equal, 0);
  EXPECT_TRUE(result->outcome.replayed->accepted);
  EXPECT_THAT(FilesIn(options.proofs), ElementsAre("relu_twice.proof", "relu_twice.smt2"));
}

TEST(ApiProveTest, APromiseThatIsNotKeptIsNotOk) {
  api::ProofOutcome outcome;
  Proved proved;
  proved.contract = FloatContract::kReassociates;
  outcome.verdict = proved;
  outcome.promised = FloatContract::kBitExact;
  EXPECT_FALSE(outcome.ok());
  outcome.promised = FloatContract::kReassociates;
  EXPECT_TRUE(outcome.ok());
}

// The element of the counterexample that belongs to A comes first, whichever way the rule reads.
TEST(ApiProveTest, FilesForAllSizes) {
  const std::string once = WriteTemp("once.txt", AllSizes(kOnce));
  auto result = api::Prove(WriteTemp("twice.txt", AllSizes(kTwice)), once);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->symbolic);
  EXPECT_TRUE(result->outcome.ok());
  const std::string input = WriteTemp("x.txt", "graph input(x: f32[n]) { return x }");
  const std::string twice = WriteTemp("d.txt", "graph d(x: f32[n]) { y = add(x, x) return y }");
  for (const bool first : {true, false}) {
    result = first ? api::Prove(input, twice) : api::Prove(twice, input);
    ASSERT_TRUE(result.ok()) << result.status();
    auto* refuted = std::get_if<Refuted>(&result->outcome.verdict);
    ASSERT_NE(refuted, nullptr);
    const double one = first ? refuted->source : refuted->target;
    EXPECT_EQ(2 * one, first ? refuted->target : refuted->source);
  }
}

TEST(ApiProveTest, SaysWhichOptionIsWrong) {
  api::ProofOptions options;
  options.work = 0;
  EXPECT_THAT(api::Prove(Rule(), options).status().message(), HasSubstr("option work"));
  options = {};
  options.check = true;
  EXPECT_THAT(api::Prove(GraphOf(kTwice), GraphOf(kOnce), options).status().message(),
              HasSubstr("option check"));
  options = {};
  options.recheck = "/nowhere/cvc5";
  const absl::Status missing = api::Prove(Rule(), options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(missing)) << missing;
  EXPECT_THAT(missing.message(), HasSubstr("option recheck: /nowhere/cvc5"));
  EXPECT_THAT(api::Prove("/nowhere.txt", "/nowhere.txt").status().message(),
              HasSubstr("/nowhere.txt"));
}

TEST(ApiProveTest, AnInterruptedProofIsNoAnswer) {
  const std::atomic<bool> interrupted{true};
  api::ProofOptions options;
  options.interrupted = &interrupted;
  EXPECT_TRUE(absl::IsCancelled(api::Prove(Rule(), options).status()));
  EXPECT_TRUE(absl::IsCancelled(api::Prove(GraphOf(kTwice), GraphOf(kOnce), options).status()));
}

}  // namespace
}  // namespace lemma
