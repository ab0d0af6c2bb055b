// Values between operators are rounded to their types where generated kernels fuse them.
#include "gtest/gtest.h"
#include "tests/runtime/cuda/emulated_plans.h"
#include "tests/runtime/runtime_testutil.h"
#include "tests/runtime/stored_type_cases.h"

namespace lemma {
namespace {

TEST(CudaStoredTypes, AreWhatNumPyGives) {
  EmulatedPlans plans;
  for (const StoredTypeCase& c : StoredTypeCases()) {
    const absl::Status added = plans.Add(GraphWithWeights(c.graph));
    ASSERT_TRUE(added.ok()) << c.name << ": " << added;
  }
  const absl::Status compiled = plans.Compile();
  ASSERT_TRUE(compiled.ok()) << compiled;
  for (size_t i = 0; i < plans.size(); ++i) {
    const StoredTypeCase& c = StoredTypeCases()[i];
    auto outputs = plans.Run(i, InputsOf(c, plans.graph(i)), /*seed=*/1);
    ASSERT_TRUE(outputs.ok()) << c.name << ": " << outputs.status();
    for (size_t e = 0; e < c.expected.size(); ++e) {
      EXPECT_EQ((*outputs)[0].AtDouble(static_cast<int64_t>(e)), c.expected[e])
          << c.name << ", element " << e;
    }
  }
}

// Two definitions with equal texts whose operands have different sizes: each needs a program of its
// own.
TEST(CudaPrograms, AreToldApartByTheSizesOfWhatTheyRead) {
  EmulatedPlans plans;
  const absl::Status added = plans.Add(GraphWithWeights(R"(graph g(x: f32[4,8], z: f32[4,16]) {
    a = slice(x) {starts = [0,0], sizes = [4,4]} b = slice(z) {starts = [0,0], sizes = [4,4]}
    c = relu(a) d = relu(b) return c, d })"));
  ASSERT_TRUE(added.ok()) << added;
  ASSERT_TRUE(plans.Compile().ok());
  plans.ExpectMatchesReference(0);
}

}  // namespace
}  // namespace lemma
