// lemma verify: proofs, records, the second solver and the small checker.
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

// Two true rules; only the second one's proof needs the solver.
constexpr char kRules[] = R"(# A file   of rules.

# relu(relu(x)) = relu(x)
rule relu_twice(x: [s..]) bit_exact {
  y = relu(x)
  z = relu(y)
  return z
} => {
  y = relu(x)
  return y
}

rule no_pad(x: [s..]) bit_exact {
  y = pad(x) {pads = repeat(0, 2*len(s)), value = v}
  return y
} => {
  return x
} # the end
)";
constexpr char kFalse[] =
    "rule neg_is_nothing(x: [m,n]) reassociates { y = neg(x) z = exp(y) return z } => "
    "{ z = exp(x) return z }\n";
constexpr char kPromise[] =
    "rule factor(x: [n], y: [n], z: [n]) bit_exact { p = mul(x, y) q = mul(x, z) "
    "s = add(p, q) return s } => { s = add(y, z) p = mul(x, s) return p }\n";

// A text without its records.
std::string WithoutRecords(const std::string& text) {
  std::string rest;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string line = text.substr(at, end - at);
    at = end;
    if (line.rfind("proved ", 0) != 0) {
      rest += line;
    } else if (const size_t comment = line.find(" #"); comment != std::string::npos) {
      rest.pop_back();
      rest += line.substr(comment);
    }
  }
  return rest;
}

TEST(VerifyTest, ProvesAndKeepsRecords) {
  const std::string rules = WriteTemp("r.txt", kRules), out = NewFolder() + "/out.txt";
  LemmaResult result = RunLemma({"verify", rules, "-o", out});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("2 rules: 2 proved, 0 refuted, 0 unknown"));
  const std::string text = ReadAll(out);
  EXPECT_THAT(text, HasSubstr("\nproved bit_exact \""));
  EXPECT_EQ(WithoutRecords(text), kRules);
  // In place and with more jobs, the file stays the same byte for byte.
  result = RunLemma({"verify", out, "-o", out, "--jobs=3"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(ReadAll(out), text);
  EXPECT_THAT(RunLemma({"verify", out}).out, Not(HasSubstr("out of date")));
  EXPECT_THAT(RunLemma({"verify", rules}).out, HasSubstr("2 records are missing or out of date"));
}

TEST(VerifyTest, ProvesTheRulesAskedFor) {
  const std::string rules = WriteTemp("r.txt", kRules);
  LemmaResult result = RunLemma({"verify", rules, "-o", rules, "--only=no_pad", "--json"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"rule\":\"no_pad\",\"promised\":\"bit_exact\","
                                    "\"verdict\":\"proved\""));
  EXPECT_THAT(result.out, Not(HasSubstr("relu_twice")));
  EXPECT_THAT(ReadAll(rules), HasSubstr("}\n\nrule no_pad"));
}

TEST(VerifyTest, RefutesAndRecordsIt) {
  const std::string rules = WriteTemp("r.txt", std::string(kFalse) + kRules);
  LemmaResult result = RunLemma({"verify", rules, "-o", rules});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, HasSubstr("neg_is_nothing: refuted at m = "));
  EXPECT_THAT(result.out, HasSubstr("3 rules: 2 proved, 1 refuted, 0 unknown"));
  EXPECT_THAT(ReadAll(rules), HasSubstr("}\nrefuted \""));
}

TEST(VerifyTest, HoldsARuleToItsContract) {
  const std::string rules = WriteTemp("r.txt", kPromise);
  LemmaResult result = RunLemma({"verify", rules, "-o", rules});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, HasSubstr("factor: promises bit_exact, but only reassociates is proved"));
  EXPECT_THAT(ReadAll(rules), HasSubstr("}\nproved reassociates \""));
}

TEST(VerifyTest, WritesProofsThatOthersRepeat) {
  const std::string rules = WriteTemp("r.txt", kRules), proofs = NewFolder() + "/a/b";
  LemmaResult result = RunLemma({"verify", rules, "--proofs", proofs, "--check"});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_THAT(FilesIn(proofs),
              ElementsAre("no_pad.proof", "no_pad.smt2", "relu_twice.proof", "relu_twice.smt2"));
  EXPECT_THAT(ReadAll(proofs + "/no_pad.smt2"), HasSubstr("(check-sat)"));
  result = RunLemma({"verify", rules, "--replay", proofs});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("2 proofs: 2 accepted"));
  std::filesystem::remove(proofs + "/relu_twice.proof");
  result = RunLemma({"verify", rules, "--replay", proofs});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, HasSubstr("relu_twice: there is no proof"));
}

TEST(VerifyTest, AnOldRecordDoesNotMatter) {
  const std::string old = "proved bit_exact \"0\" \"all\"\n";
  std::string text = kRules;
  text.insert(text.find("\nrule no_pad"), old);
  LemmaResult result = RunLemma({"verify", WriteTemp("r.txt", text), "--check"});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
}

TEST(VerifyTest, RefusesTheProofOfAnotherRule) {
  const std::string proofs = NewFolder();
  const std::string rules = WriteTemp("r.txt", kRules);
  ASSERT_EQ(RunLemma({"verify", rules, "--only=relu_twice", "--proofs", proofs}).exit_status, 0);
  std::string other = kRules;
  other.replace(other.find("z = relu(y)"), 11, "z = sqrt(y)");
  LemmaResult result =
      RunLemma({"verify", WriteTemp("r.txt", other), "--only=relu_twice", "--replay", proofs});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, HasSubstr("REJECTED"));
}

TEST(VerifyTest, IsRepeatedByCvc5) {
  LemmaResult result = RunLemma({"verify", WriteTemp("r.txt", kRules), "--recheck=cvc5"});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("cvc5 1"));
  EXPECT_THAT(result.out, HasSubstr("disagrees with 0, no answer to 0"));
  EXPECT_THAT(result.out, Not(HasSubstr(": agrees with 0 ")));
}

// A stand-in for the second solver: a script that calls itself cvc5.
std::string FakeSolver(const std::string& body) {
  const std::string path = WriteTemp(
      "cvc5",
      "#!/bin/sh\nif [ \"$1\" = --version ]; then echo This is cvc5 version 0; exit; fi\n" + body);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

LemmaResult Recheck(const std::string& solver) {
  return RunLemma({"verify", WriteTemp("r.txt", kRules), "--only=no_pad", "--recheck", solver});
}

TEST(VerifyTest, DisagreementIsAFailure) {
  LemmaResult result = Recheck(
      FakeSolver("grep -o '\"query [0-9]*\"' | while read q; do echo $q; echo sat; done\n"));
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, HasSubstr("DISAGREE"));
  EXPECT_THAT(result.out, HasSubstr("no_pad: the second solver DISAGREES, it answers sat, to: "));
  EXPECT_THAT(result.out, HasSubstr("(assert "));
}

TEST(VerifyTest, AnObligationThatCannotBeReadIsAFailure) {
  LemmaResult result =
      Recheck(FakeSolver("echo '\"query 0\"'; echo '(error \"what is this?\")'; exit 1\n"));
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, HasSubstr("(error \"what is this?\")"));
}

TEST(VerifyTest, NoAnswerIsCounted) {
  LemmaResult result = Recheck(FakeSolver("echo '\"query 0\"'; kill -9 $$\n"));
  EXPECT_EQ(result.exit_status, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("agrees with 0 obligations, disagrees with 0, no answer to "));
  EXPECT_THAT(result.out, Not(HasSubstr("no answer to 0")));
}

TEST(VerifyTest, MissingSolver) {
  ExpectOneLine(Recheck("/nowhere/cvc5"), {"--recheck", "/nowhere/cvc5", "cannot be started"});
  ExpectOneLine(Recheck("/bin/true"), {"/bin/true", "is not cvc5"});
}

TEST(VerifyTest, CtrlCLeavesNothing) {
  const std::string folder = NewFolder(), proofs = NewFolder();
  LemmaResult result = InterruptLemma(
      {"verify", "data/rules/starter.txt", "-o", folder + "/out.txt", "--proofs", proofs},
      [&] { return !FilesIn(proofs).empty(); });
  EXPECT_EQ(result.exit_status, 130) << result.out;
  EXPECT_EQ(result.err, "lemma: interrupted: no result was written\n");
  EXPECT_TRUE(FilesIn(folder).empty());
  for (const std::string& file : FilesIn(proofs))
    EXPECT_THAT(file, MatchesRegex("\\w+.(proof|smt2)"));
}

// Three poolings and a relu in another order: takes seconds, unless the work is bounded.
constexpr char kLong[] = R"(rule poolings(x: [n,c,h,w]) bit_exact {
  p = max_pool2d(x) {kernel = [3, 3], pads = [1, 1, 1, 1]}
  q = max_pool2d(p) {kernel = [3, 3], pads = [1, 1, 1, 1]}
  r = relu(q)
  y = max_pool2d(r) {kernel = [3, 3], pads = [1, 1, 1, 1]}
  return y
} => {
  p = max_pool2d(x) {kernel = [3, 3], pads = [1, 1, 1, 1]}
  r = relu(p)
  q = max_pool2d(r) {kernel = [3, 3], pads = [1, 1, 1, 1]}
  y = max_pool2d(q) {kernel = [3, 3], pads = [1, 1, 1, 1]}
  return y
}
)";

TEST(VerifyTest, BoundsTheWork) {
  const std::string rules = WriteTemp("r.txt", kLong);
  LemmaResult result = RunLemma({"verify", rules, "--work=1000000", "-o", rules});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out,
              HasSubstr("poolings: unknown: work limit of 1000000 steps reached in the "));
  EXPECT_THAT(ReadAll(rules), HasSubstr("}\nunknown \""));
  EXPECT_THAT(ReadAll(rules), HasSubstr("\"work limit of 1000000 steps"));
  ExpectOneLine(RunLemma({"verify", rules, "--work=0"}), {"--work: must be at least 1"});
}

TEST(VerifyTest, BadInput) {
  ExpectOneLine(RunLemma({"verify"}), {"which RULES?"});
  ExpectOneLine(RunLemma({"verify", "a", "b"}), {"'b' is one too many"});
  ExpectOneLine(RunLemma({"verify", "/nowhere.txt"}), {"/nowhere.txt"});
  ExpectOneLine(RunLemma({"verify", NewFolder()}), {"is a folder"});
  ExpectOneLine(RunLemma({"verify", WriteTemp("r.txt", "")}), {"r.txt", "empty"});
  ExpectOneLine(RunLemma({"verify", WriteTemp("r.txt", "Dear rule")}), {"r.txt:1:1: expected"});
  ExpectOneLine(RunLemma({"verify", WriteTemp("r.txt", std::string("\x08\x01\0", 3))}),
                {"r.txt: is not text"});
  ExpectOneLine(RunLemma({"verify", WriteTemp("r.txt", "graph g(x: f32[2]) { return x }")}),
                {"r.txt", "has no rules"});
  const std::string rules = WriteTemp("r.txt", kRules);
  ExpectOneLine(RunLemma({"verify", rules, "--only=relu_twic"}), {"did you mean relu_twice?"});
  ExpectOneLine(RunLemma({"verify", rules, "--jobs=0"}), {"--jobs"});
  ExpectOneLine(RunLemma({"verify", rules, "--replay=/nowhere"}), {"/nowhere", "no such folder"});
  ExpectOneLine(RunLemma({"verify", rules, "--proofs", rules + "/p"}), {"no folder can be made"});
  const std::string folder = NewFolder();
  ExpectOneLine(RunLemma({"verify", rules, "-o", folder + "/no/out.txt"}), {"cannot be written"});
  ExpectOneLine(RunLemma({"verify", rules, "-o", folder}), {"it is a folder"});
  EXPECT_TRUE(FilesIn(folder).empty());
  EXPECT_EQ(ReadAll(rules), kRules);
}

// A rule that promises a stricter contract than is proved is written with the proved one.
TEST(VerifyTest, RelaxWritesTheContractThatIsProved) {
  const std::string rules =
      WriteTemp("rules.txt",
                "# kept\nrule r(x: i64[n], y: i64[n]) reassociates {\n"
                "  a = cast(x) {dtype = \"f32\"} b = cast(y) {dtype = \"f32\"} z = less(a, b)\n"
                "  return z } => { z = less(x, y) return z }\n");
  const LemmaResult strict = RunLemma({"verify", rules});
  EXPECT_EQ(strict.exit_status, 1);
  EXPECT_THAT(strict.out, HasSubstr("promises reassociates, but only real_only is proved"));
  EXPECT_EQ(RunLemma({"verify", rules, "-o", rules, "--relax"}).exit_status, 1);
  EXPECT_THAT(ReadAll(rules), HasSubstr("# kept\nrule r(x: i64[n], y: i64[n]) real_only {\n"));
  EXPECT_THAT(ReadAll(rules), HasSubstr("\nproved real_only \""));
  EXPECT_EQ(RunLemma({"verify", rules}).exit_status, 0);
  ExpectOneLine(RunLemma({"verify", rules, "--relax"}), {"--relax", "-o"});
}

}  // namespace
}  // namespace lemma
