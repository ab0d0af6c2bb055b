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

Graph Example(const std::string& name) {
  for (const api::PetExample& example : api::PetExamples()) {
    if (example.name == name) return ModelOf(example.text).graph;
  }
  ADD_FAILURE() << name;
  return Graph();
}

TEST(PetTest, FindsMutantsThatDifferAndCorrectsThem) {
  api::PetSearchOptions options = Estimated();
  options.keep = options.look_at = 200;
  int parts_seen = 0;
  options.on_part = [&](int part, int parts) {
    EXPECT_EQ(part, ++parts_seen);
    EXPECT_EQ(parts, 1);
  };
  auto parts = api::FindMutants(Example("halves"), options);
  ASSERT_TRUE(parts.ok()) << parts.status();
  ASSERT_EQ(parts->size(), 1u);
  EXPECT_EQ(parts_seen, 1);
  const auto& found = (*parts)[0].candidates->found;
  ASSERT_GT(found.size(), 2u);
  EXPECT_GE(api::PredictedGain((*parts)[0], found[0]), api::PredictedGain((*parts)[0], found[1]));
  const pet::Candidate* differs = api::FirstThatDiffers(*parts);
  ASSERT_NE(differs, nullptr);
  EXPECT_FALSE(differs->region.empty());
}

TEST(PetTest, ProvesForAllSizesWhereAMutantHasARecipe) {
  api::PetSearchOptions options = Estimated();
  options.keep = 3;
  auto parts = api::FindMutants(Example("pointwise"), options);
  ASSERT_TRUE(parts.ok()) << parts.status();
  const api::MutatedPart& part = (*parts)[0];
  int recipes = 0;
  for (const pet::Candidate& candidate : part.candidates->found) {
    auto region = api::ProveForAllSizes(part, candidate);
    if (candidate.mutant.recipe) {
      ++recipes;
      ASSERT_TRUE(region.ok()) << region.status();
      EXPECT_TRUE(region->proved());
    } else {
      EXPECT_EQ(region.status().code(), absl::StatusCode::kFailedPrecondition);
    }
  }
  EXPECT_GT(recipes, 0);
  EXPECT_LT(recipes, 3);
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
