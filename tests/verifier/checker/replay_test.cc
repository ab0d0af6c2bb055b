// Proof files are accepted as the prover writes them, and rejected if a step is changed.
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"
#include "verifier/checker/checker.h"
#include "verifier/prover/proof_file.h"
#include "verifier/prover/prover.h"

namespace lemma::checker {
namespace {

// Proofs that the prover wrote, with their variables renumbered, and their contents:
const char kHalves[] = "halves";    // two pairs, the first of which leaves a rest
const char kSwapped[] = "swapped";  // several forms, in the first of which a size is solved for
const char kFlat[] = "flat";        // an index that becomes two digits
const char kSlices[] = "slices";    // several cases, some with empty outputs
const char kProduct[] = "product";  // a contraction
const char kTop[] = "top";          // maxima

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string StoredProof(const std::string& name) {
  return TextOf(absl::StrCat("tests/verifier/checker/proofs/", name, ".proof"));
}

// The rule that a proof quotes.
Substitution RuleOf(const std::string& proof) {
  std::string text;
  for (absl::string_view line : absl::StrSplit(proof, '\n')) {
    if (absl::StartsWith(line, "id ")) break;
    if (absl::ConsumePrefix(&line, "| ")) absl::StrAppend(&text, line, "\n");
  }
  auto rules = ParseRules(text);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules->front();
}

std::string ProofOf(const Substitution& rule) {
  ProverOptions options;
  options.keep_obligations = true;
  const Verdict verdict = ProveRule(rule, options);
  EXPECT_TRUE(IsProved(verdict)) << rule.name << ": " << ToString(verdict);
  return IsProved(verdict) ? WriteProofFile(rule, std::get<Proved>(verdict)) : "";
}

TEST(Replay, AcceptsWhatTheProverWrites) {
  for (const char* name : {kHalves, kSwapped, kFlat, kSlices, kProduct, kTop}) {
    const std::string stored = StoredProof(name);
    const Substitution rule = RuleOf(stored);
    for (const std::string& proof : {stored, ProofOf(rule)}) {
      const Replayed replayed = ReplayProof(proof, rule);
      EXPECT_TRUE(replayed.accepted) << name << ": " << replayed.problem;
      EXPECT_GT(replayed.checks, 20) << name;
      EXPECT_EQ(replayed.undecided, 0) << name;
      EXPECT_EQ(replayed.unreached, 0) << name;
      EXPECT_EQ(replayed.uncovered, 0) << name;
    }
  }
}

// Replaces the first occurrence of `from`, and corrects the number of steps at the end.
std::string Tampered(std::string proof, const std::string& from, const std::string& to) {
  const size_t at = proof.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in\n" << proof;
  if (at == std::string::npos) return proof;
  proof.replace(at, from.size(), to);
  int steps = 0, queries = 0;
  for (absl::string_view line : absl::StrSplit(proof, '\n')) {
    const std::string head(line.substr(0, line.find(' ')));
    const std::set<std::string> no_step = {"lemma-proof", "rule", "|",     "id", "contract",
                                           "forms",       "end",  "query", ""};
    steps += no_step.count(head) == 0;
    queries += head == "query";
  }
  const size_t end = proof.rfind("end ");
  if (end == std::string::npos) return proof;
  return absl::StrCat(proof.substr(0, end), "end ", steps, " ", queries, "\n");
}

struct Tampering {
  const char* proof;
  const char* what;
  std::string from, to;
  const char* problem;  // part of the message
};

std::vector<Tampering> Tamperings() {
  return {
      {kHalves, "a coefficient", "source (sum (term 1 1", "source (sum (term 2 1",
       "the normal form of the source"},
      {kHalves, "a denominator", "target (sum (term 1 1", "target (sum (term 1 3",
       "the normal form of the target"},
      {kHalves, "a guard moved by one", "(>= (+ -1 n m (* -1 %k1)))", "(>= (+ -2 n m (* -1 %k1)))",
       "the normal form of the source"},
      {kHalves, "a guard left out", "(>= (+ -1 n (* -1 %k2))) ", "",
       "the normal form of the target"},
      {kHalves, "the element read", "(read 0 (+ n %k3))", "(read 0 %k3)",
       "the normal form of the target"},
      {kHalves, "a term of the difference", "term 2 (term -1", "term 2 (term -2",
       "the terms of the difference"},
      {kHalves, "an axis mapped to a constant", "(map (%k4 %k1))", "(map (%k4 0))", "paired terms"},
      {kHalves, "a map that is not onto", "(map (%k4 %k1))", "(map (%k4 (* 2 %k1)))",
       "paired terms"},
      {kHalves, "a map that goes backwards", "(map (%k5 (+ n %k3)))",
       "(map (%k5 (+ -1 n m (* -1 %k3))))", "paired terms"},
      {kHalves, "a map away from the points", "(map (%k5 (+ n %k3)))",
       "(map (%k5 (+ n m n m %k3)))", "no bijection"},
      {kHalves, "a map to one point only", "(map (%k5 (+ n %k3)))", "(map (%k5 (* 99 n)))",
       "no bijection"},
      {kHalves, "no map", "(map (%k5 (+ n %k3)))", "(map)", "does not give each axis"},
      {kHalves, "the axes of a paired term", "as (term -1 1 (axes %k4) (where (>= (+ -1 n",
       "as (term -1 1 (axes %k4) (where (>= (+ -2 n", "renamed axes"},
      {kHalves, "a coefficient that overflows", "source (sum (term 1 1",
       "source (sum (term (* 9000000000 9000000000) 1", "too large"},
      {kHalves, "a residual left out", "leaves 4\npair 3 4", "leaves\npair 3 4", "no term 4"},
      {kHalves, "a residual with another guard", "term 4 (term 1 1 (axes %k1) (where (>= (+ -1",
       "term 4 (term 1 1 (axes %k1) (where (>= (+ -2", "leaves"},
      {kHalves, "terms dropped as 0", "pair 3 4", "zero 3\nzero 4\npair 3 4", "no term 3"},
      {kHalves, "terms dropped as 0, at the end",
       "pair 3 4 as (term 1 1 (axes %k5) (where (>= (+ -1 n m (* -1 %k5))) (>= (+ (* -1 n) "
       "%k5))) (read 0 %k5)) (map (%k5 (+ n %k3))) leaves",
       "zero 3\nzero 4", "should be 0"},
      {kHalves, "terms added up to nothing",
       "pair 3 4 as (term 1 1 (axes %k5) (where (>= (+ -1 n m (* -1 %k5))) (>= (+ (* -1 n) "
       "%k5))) (read 0 %k5)) (map (%k5 (+ n %k3))) leaves",
       "collect 3 into\ncollect 4 into", "added up"},
      {kHalves, "a pairing of a term with itself", "pair 3 4", "pair 3 3", "no term 3"},
      {kHalves, "a term twice", "difference 1 2 3", "difference 1 2 3 3", "was there before"},
      {kHalves, "stricter laws", "case ring", "case none", "contract"},
      {kHalves, "stricter laws and contract",
       "contract reassociates\nforms 1\nform\nsymbol n "
       "n\nsymbol m m\ncase ring",
       "contract bit_exact\nforms 1\nform\nsymbol n n\nsymbol m "
       "m\ncase none",
       "the normal form"},
      {kHalves, "another rule's name", "| rule halves", "| rule doubles", "another rule"},
      {kHalves, "another claim", "sizes = [n, m]", "sizes = [m, n]", "another rule"},
      {kHalves, "the number of forms", "forms 1", "forms 2", "2 forms, but 1 found"},
      {kHalves, "a symbol", "symbol m m\n", "", "lacks symbol m"},
      {kHalves, "a symbol that is fixed", "symbol m m", "symbol m 1", "has no value"},
      {kHalves, "an output", "output 0", "output 1", "each output once"},
      {kHalves, "a list for a number", "symbol m m", "symbol m (list m)", "line 1"},
      {kHalves, "a huge number", "symbol m m", "symbol m 4611686018427387904", "unknown value"},
      {kHalves, "an output that there is not", "output 0", "output -1", "each output once"},
      {kHalves, "axes without end", "(axes %k1) (where (>= (+ -1 n m (* -1 %k1))) (>= %k1))",
       "(axes %k1 %k7 %k8 %k9 %a1 %a2 %a3 %a4) (where (!= 0))", "too many points"},
      {kHalves, "text after the end", "end ", "end 14 2\nend ", "after the end"},
      {kSwapped, "what a size was solved as", "set m n", "set m (+ 1 n)", "solved for"},
      {kSwapped, "a read of another input", "(read 1 ", "(read 0 ", "the normal form"},
      {kSwapped, "a function", "(fn neg", "(fn exp", "the normal form"},
      {kSwapped, "an unknown function", "(fn neg", "(fn opposite", "is no atom"},
      {kFlat, "the base of digits", "digits %o1 b ", "digits %o1 a ", "the normal form"},
      {kFlat, "digits exchanged", "b %q2 %r3\n", "b %r3 %q2\n", "the normal form"},
      {kFlat, "digits to no base", "digits %o1 b ", "digits %o1 0 ", "no base"},
      {kSlices, "an output said to be empty", "output 0 %o1\nsource", "output 0 empty\nsource",
       "not expected"},
      {kSlices, "a case's fact", "fact (!= m)", "fact (= n)", "none of the cases"},
      {kSlices, "a case without outputs", "output 0 empty\n", "", "each output once"},
      {kSlices, "a case that is not impossible",
       "case none\nfact (= n)\nset n 0\nset m 0\noutput"
       " 0 empty",
       "case impossible\nfact (= n)\nset n 0\nset m 0", "impossible"},
      {kProduct, "a sum over fewer points", "(>= %k3))", "(>= (+ -1 %k3)))",
       "the normal form of the source"},
      {kProduct, "operands of another element", "(read 2 %k4 %o2)", "(read 2 %o2 %k4)", "line"},
      {kTop, "an alternative of a maximum", "(alt (axes %k1)",
       "(alt (axes) (where) (sum (term 7 1 (axes) (where)))) (alt (axes %k1)",
       "the normal form of the source"},
      {kTop, "a minimum for a maximum", "(max ", "(min ", "the normal form of the source"},
  };
}

TEST(Replay, RejectsWhatWasTamperedWith) {
  for (const Tampering& t : Tamperings()) {
    const std::string proof = StoredProof(t.proof);
    const Substitution rule = RuleOf(proof);
    const std::string tampered = Tampered(proof, t.from, t.to);
    const Replayed replayed = ReplayProof(tampered, rule);
    EXPECT_FALSE(replayed.accepted) << rule.name << ": " << t.what;
    EXPECT_NE(replayed.problem.find(t.problem), std::string::npos)
        << rule.name << ", " << t.what << ": " << replayed.problem;
  }
}

// Leaves out each step in turn.
TEST(Replay, RejectsEveryStepLeftOut) {
  for (const char* name : {kHalves, kSwapped, kFlat, kSlices, kProduct, kTop}) {
    const std::string proof = StoredProof(name);
    const Substitution rule = RuleOf(proof);
    const size_t begin = proof.find("\nform\n") + 1;
    for (size_t at = begin;
         proof.compare(at, 6, "query ") != 0 && proof.compare(at, 4, "end ") != 0;
         at = proof.find('\n', at) + 1) {
      const std::string line = proof.substr(at, proof.find('\n', at) + 1 - at);
      // Without these a case claims more, or says less about something that no step uses.
      if (absl::StartsWith(line, "fact ") || absl::StartsWith(line, "set ")) continue;
      std::string without = proof.substr(0, at) + proof.substr(at + line.size());
      without = Tampered(without, "end ", "end ");
      EXPECT_FALSE(ReplayProof(without, rule).accepted) << rule.name << " without " << line;
    }
  }
}

// Changes each number of a step by one. (One in a fact, or in a form's symbol, only changes the
// sizes that the steps are about; a size that a case does not use is free.)
TEST(Replay, RejectsEveryOtherNumber) {
  int changed = 0;
  for (const char* name : {kHalves, kSwapped, kSlices, kProduct, kTop}) {
    const std::string proof = StoredProof(name);
    const Substitution rule = RuleOf(proof);
    for (size_t at = proof.find("\nform\n"); at < proof.find("\nend ");) {
      const size_t next = proof.find_first_of(" (\n", at + 1);
      const size_t line = proof.rfind('\n', at) + 1;
      const std::string head = proof.substr(line, proof.find(' ', line) - line);
      const std::set<std::string> steps = {"source", "target", "term", "pair", "output"};
      const std::string word = proof.substr(at + 1, proof.find_first_of(" ()\n", at + 1) - at - 1);
      int number = 0;
      for (int change : {-1, 1}) {
        if (steps.count(head) == 0 || !absl::SimpleAtoi(word, &number)) break;
        std::string bad = proof;
        bad.replace(at + 1, word.size(), std::to_string(number + change));
        EXPECT_FALSE(ReplayProof(bad, rule).accepted)
            << name << ", " << number << " changed by " << change << " in "
            << proof.substr(line, next - line);
        ++changed;
      }
      at = next;
    }
  }
  EXPECT_GT(changed, 200);
}

// With one form fewer, the claim covers fewer instances.
TEST(Replay, CountsInstancesThatNoFormIsAbout) {
  const std::string proof = StoredProof(kSwapped);
  const Substitution rule = RuleOf(proof);
  EXPECT_EQ(ReplayProof(proof, rule).uncovered, 0);
  const size_t form = proof.find("\nform\n", proof.find("symbol n 1") - 10);
  std::string without = proof;
  without.erase(form, proof.find("\nform\n", form + 1) - form);
  without = Tampered(without, "forms 3", "forms 2");
  const Replayed replayed = ReplayProof(without, rule);
  EXPECT_TRUE(replayed.accepted) << replayed.problem;
  EXPECT_GT(replayed.uncovered, 0);
}

TEST(Replay, RejectsTheProofOfAnotherRecordAndBrokenFiles) {
  const std::string proof = StoredProof(kHalves);
  Substitution rule = RuleOf(proof);
  EXPECT_FALSE(ReplayProof(proof, RuleOf(StoredProof(kProduct))).accepted);
  rule.proof.id = "0123";
  EXPECT_NE(ReplayProof(proof, rule).problem.find("not 0123"), std::string::npos);
  rule.proof.id.clear();
  for (size_t size = 0; size + 1 < proof.size(); size += 97) {
    EXPECT_FALSE(ReplayProof(proof.substr(0, size), rule).accepted) << size;
  }
  EXPECT_FALSE(ReplayProof(std::string(100000, '('), rule).accepted);
  const std::string deep = "source " + std::string(100000, '(');
  EXPECT_FALSE(ReplayProof(Tampered(proof, "source ", deep), rule).accepted);
}

// A rule that needs identities which the checker does not have.
const char kTanh[] = R"(rule r(x: [n]) real_only {
  z = tanh(x)
  return z
} => {
  one = constant [] fill 1
  d = scalar_mul(x) {alpha = 2.0}
  y = sigmoid(d)
  t = scalar_mul(y) {alpha = 2.0}
  z = sub(t, one)
  return z
})";

TEST(Replay, DoesNotBelieveLawsThatPointsContradict) {
  auto rules = ParseRules(kTanh);
  ASSERT_TRUE(rules.ok()) << rules.status();
  const std::string proof = ProofOf(rules->front());
  const Replayed honest = ReplayProof(proof, rules->front());
  EXPECT_TRUE(honest.accepted) << honest.problem;
  EXPECT_GT(honest.undecided, 0);
  // The same with 3 sigmoid(2x) - 1, in the rule and in each step.
  const std::string forged = absl::StrReplaceAll(
      proof, {{"scalar_mul(y) {alpha = 2.0}", "scalar_mul(y) {alpha = 3.0}"},
              {"(term 2 1 (axes) (where) (inverse", "(term 3 1 (axes) (where) (inverse"},
              {"(term -2 1 (axes) (where) (inverse", "(term -3 1 (axes) (where) (inverse"}});
  EXPECT_NE(forged, proof);
  const Replayed replayed = ReplayProof(forged, RuleOf(forged));
  EXPECT_FALSE(replayed.accepted);
  EXPECT_NE(replayed.problem.find("the sides differ"), std::string::npos) << replayed.problem;
  // Laws that are said of a part of the difference are not checked, so not accepted.
  const std::string parts = absl::StrReplaceAll(proof, {{"laws 1 2 3", "laws 1 2\nlaws 3"}});
  EXPECT_NE(parts, proof);
  EXPECT_FALSE(ReplayProof(parts, rules->front()).accepted);
}

// Some starter rules: with many forms, convolutions, maxima, softmax and layer norm.
TEST(Replay, AcceptsProofsOfStarterRules) {
  auto rules = ParseRules(TextOf("data/rules/starter.txt"), "starter.txt");
  ASSERT_TRUE(rules.ok()) << rules.status();
  const std::set<std::string> names = {
      "merge_linear",         "slice_of_slice",      "relu_before_concat",
      "recognize_layer_norm", "add_constant_last",   "transpose_of_transpose",
      "conv_sum_to_concat",   "gelu_before_split",   "attention_scale_into_query",
      "relu_after_max_pool",  "concat_of_max_pools", "mean_before_pointwise_conv",
      "scalar_mul_over_bias"};
  size_t found = 0;
  for (Substitution& rule : *rules) {
    if (names.count(rule.name) == 0) continue;
    ++found;
    rule.proof = {};  // whether it is of these definitions is asked elsewhere
    const Replayed replayed = ReplayProof(ProofOf(rule), rule);
    EXPECT_TRUE(replayed.accepted) << rule.name << ": " << replayed.problem;
    EXPECT_GT(replayed.checks, 90) << rule.name;
    EXPECT_LT(replayed.undecided, 20) << rule.name;  // maxima of nothing
  }
  EXPECT_EQ(found, names.size());
}

}  // namespace
}  // namespace lemma::checker
