// cvc5 and the small checker repeat the proofs of all starter rules.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

TEST(RecheckTest, OthersAgreeWithEveryStarterRule) {
  LemmaResult result =
      RunLemma({"verify", "data/rules/starter.txt", "--recheck=cvc5", "--check", "--jobs=2"});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("disagrees with 0"));
  printf("%s", result.out.substr(result.out.rfind("\n", result.out.rfind(" rules: ")) + 1).c_str());
}

// Nonlinear questions about real numbers too.
TEST(RecheckTest, CvcAgreesWithKnownIdentities) {
  for (const char* family : {"activations", "extremes", "normalizations"}) {
    LemmaResult result =
        RunLemma({"verify", std::string("tests/verifier/identities/") + family + ".txt",
                  "--recheck=cvc5", "--check", "--jobs=2"});
    EXPECT_THAT(result.out, HasSubstr("0 refuted, 0 unknown")) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("disagrees with 0, no answer to 0")) << result.out;
  }
}

}  // namespace
}  // namespace lemma
