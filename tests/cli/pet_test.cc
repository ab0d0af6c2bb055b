// lemma pet, and lemma optimize --pet=on.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/base/repetitions.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

TEST(PetTest, ShowsWhereMutantsDiffer) {
  const LemmaResult result = RunLemma({"pet", "--example=batch", "--keep=200", "--look-at=200"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("differs at 12 of 60 positions: [0:3:2, 0, 0:3, 4] "
                                    "[1:4:2, 0, 0:3, 0]\n"
                                    "at [0:3:2, *]:\n"
                                    "  ....#\n  ....#\n  ....#\n"
                                    "at [1:4:2, *]:\n"
                                    "  #....\n  #....\n  #....\n"));
  EXPECT_THAT(result.out, HasSubstr("corrector: overwrite 2 boxes"));
  EXPECT_THAT(result.out, HasSubstr("differs nowhere"));
}

TEST(PetTest, AllFormsOfOutput) {
  const std::string svg = NewFolder() + "/region.svg";
  const LemmaResult json =
      RunLemma({"pet", "--example=halves", "--keep=200", "--look-at=200", "--json", "--svg", svg});
  EXPECT_EQ(json.exit_status, 0) << json.err;
  EXPECT_THAT(json.out, HasSubstr("\"boxes\":[\"[0, 0, 3:5, 0:4]\"]"));
  EXPECT_THAT(ReadAll(svg), HasSubstr("<svg"));
  ExpectOneLine(RunLemma({"pet"}), {"MODEL"});
  ExpectOneLine(RunLemma({"pet", "--example=nothing"}), {"--example", "nothing"});
  const std::string relu = WriteTemp("g.lemma", "graph g(x: f32[4]) { y = relu(x) return y }");
  const LemmaResult none = RunLemma({"pet", relu});
  EXPECT_EQ(none.exit_status, 1);
  EXPECT_THAT(none.out, HasSubstr("no part is a sum of products"));
}

TEST(PetTest, OptimizesWithMutantsAndCertifiesIt) {
  const std::string in = WriteTemp(
      "g.lemma",
      "graph g(x: f32[1,4,8,8], w: weight f32[4,4,3,3] = fill 0.5) {\n"
      "a = conv2d(x, w) {pads = [2,2,2,2], dilations = [2,2]}\n y = relu(a)\n return y }");
  const std::string out = NewFolder() + "/out.lemma";
  const LemmaResult optimized =
      RunLemma({"optimize", in, "-o", out, "--pet=on", "--cost=analytic", "--runs=3"});
  ASSERT_EQ(optimized.exit_status, 0) << optimized.err;
  const LemmaResult checked = RunLemma({"check", in, out, out + ".cert"});
  EXPECT_EQ(checked.exit_status, 0) << checked.out;
  ExpectOneLine(RunLemma({"optimize", in, "-o", out, "--pet=on", "--replay", out + ".cert"}),
                {"--pet"});
}

// The part of a report about the search: the rules that it used and the graphs that it made,
// without times.
std::string SearchOf(const std::string& json) {
  std::string found;
  for (const char* field : {"\"search_rules\":", "\"graphs\":"}) {
    const size_t at = json.find(field);
    EXPECT_NE(at, std::string::npos) << json;
    found += json.substr(at, json.find(",\"", at) - at) + "\n";
  }
  return found;
}

TEST(PetTest, FindsAndSearchesTheSameInEveryRun) {
  const std::string in =
      WriteTemp("g.lemma",
                "graph g(x: f32[1,4,8,8], w: weight f32[8,4,1,1] = fill 0.5,\n"
                "        v: weight f32[8,1,3,3] = fill 0.25) {\n"
                "a = conv2d(x, w)\n b = relu(a)\n c = conv2d(b, v) {pads = [1,1,1,1], groups = 8}\n"
                "return c }");
  const std::string out = NewFolder() + "/out.lemma";
  std::string first;
  for (int run = 0; run < WholeOr(20, 4); ++run) {
    const LemmaResult result =
        RunLemma({"optimize", in, "-o", out, "--pet=on", "--cost=analytic", "--runs=3", "--json"});
    ASSERT_EQ(result.exit_status, 0) << result.err;
    if (run == 0) first = SearchOf(result.out);
    ASSERT_EQ(SearchOf(result.out), first) << "run " << run;
  }
  EXPECT_THAT(first, HasSubstr("\"pet_"));
}

// With the costs of a device on which a dilated convolution takes long, a mutant pays.
TEST(PetTest, AMutantThatPaysIsCertifiedAndReplayed) {
  const std::string in = WriteTemp(
      "g.lemma",
      "graph g(x: f32[2,16,8,8], w: weight f32[16,16,3,3] = fill 0.5) {\n"
      "a = conv2d(x, w) {pads = [2,2,2,2], dilations = [2,2]}\n y = relu(a)\n return y }");
  const std::string folder = NewFolder(), out = folder + "/out.lemma", cert = out + ".cert";
  const std::string measured = "--cost-db=" + folder + "/costs", slow = measured + ".slow";
  ASSERT_EQ(RunLemma({"optimize", in, "-o", out, "--pet=on", measured, "--runs=3"}).exit_status, 0);
  std::string costs = RunLemma({"costs", "export", measured}).out;
  const size_t name = costs.find("device ") + 7;
  const std::string device = costs.substr(name, costs.find('\n', name) - name);
  std::string changed;
  for (absl::string_view line : absl::StrSplit(costs, '\n')) {
    if (absl::StrContains(line, " conv(f32[2,16,8,8] ")) {
      changed += "1.5" + std::string(line.substr(line.find(' '))) + "\n";
    } else if (!line.empty()) {
      changed += std::string(line) + "\n";
    }
  }
  ASSERT_NE(changed, costs);
  ASSERT_EQ(RunLemma({"costs", "import", WriteTemp("costs.txt", changed), slow}).exit_status, 0);
  const LemmaResult optimized =
      RunLemma({"optimize", in, "-o", out, "--pet=on", slow, "--device", device});
  ASSERT_EQ(optimized.exit_status, 0) << optimized.err;
  EXPECT_THAT(optimized.out, HasSubstr(" x pet_"));
  EXPECT_THAT(ReadAll(cert), HasSubstr("\nmutants "));
  const LemmaResult checked = RunLemma({"check", in, out, cert});
  EXPECT_EQ(checked.exit_status, 0) << checked.out;
  // The same again, from the certificate alone.
  const std::string again = folder + "/again.lemma";
  const LemmaResult replayed = RunLemma({"optimize", in, "-o", again, "--replay", cert});
  ASSERT_EQ(replayed.exit_status, 0) << replayed.err;
  EXPECT_EQ(ReadAll(again), ReadAll(out));
  EXPECT_EQ(RunLemma({"check", in, again, again + ".cert"}).exit_status, 0);
}

}  // namespace
}  // namespace lemma
