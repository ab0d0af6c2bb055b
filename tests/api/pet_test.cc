#include "api/pet.h"

#include <atomic>
#include <string>

#include "api/pet/examples.h"
#include "gtest/gtest.h"
#include "tests/api/model_text.h"

namespace lemma {
namespace {

api::PetSearchOptions Estimated() {
  api::PetSearchOptions options;
  options.costs.measured = false;
  options.keep = 2;
  return options;
}

TEST(PetTest, FindsMutantsOfAConvolution) {
  for (const api::PetExample& example : api::PetExamples()) {
    if (std::string(example.name) != "dilated7") continue;
    api::PetSearchOptions options = Estimated();
    int parts_seen = 0;
    options.on_part = [&](int part, int parts) {
      EXPECT_EQ(part, ++parts_seen);
      EXPECT_EQ(parts, 1);
    };
    auto parts = api::FindMutants(ModelOf(example.text).graph, options);
    ASSERT_TRUE(parts.ok()) << parts.status();
    ASSERT_EQ(parts->size(), 1u);
    EXPECT_EQ(parts_seen, 1);
    const auto& found = (*parts)[0].candidates->found;
    ASSERT_EQ(found.size(), 2u);
    EXPECT_GE(api::PredictedGain((*parts)[0], found[0]), api::PredictedGain((*parts)[0], found[1]));
    const Candidate* differs = api::FirstThatDiffers(*parts);
    if (differs != nullptr) EXPECT_FALSE(differs->region.empty());
  }
}

TEST(PetTest, LooksAtNothingOnceItIsInterrupted) {
  const std::atomic<bool> interrupted = true;
  api::PetSearchOptions options = Estimated();
  options.deadline = Deadline::After(0, &interrupted);
  auto parts = api::FindMutants(ModelOf(api::PetExamples()[0].text).graph, options);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ((*parts)[0].candidates->looked_at, 0);
}

TEST(PetTest, APartThatIsNoSumOfProductsHasNone) {
  auto parts =
      api::FindMutants(ModelOf("graph g(x: f32[8]) { y = exp(x) return y }").graph, Estimated());
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_TRUE(parts->empty());
  EXPECT_EQ(api::FirstThatDiffers(*parts), nullptr);
}

TEST(PetTest, ErrorsNameOptions) {
  api::PetSearchOptions options = Estimated();
  options.keep = 0;
  EXPECT_EQ(api::FindMutants(ModelOf("graph g(x: f32[8]) { y = exp(x) return y }").graph, options)
                .status()
                .message(),
            "option keep, option look_at and option max_ops must be at least 1");
}

}  // namespace
}  // namespace lemma
