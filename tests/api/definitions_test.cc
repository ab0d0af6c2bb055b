// Which differences from the operators' definitions are excused.
#include "api/execution/definitions.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "tests/api/model_text.h"

namespace lemma {
namespace {

// Computes what the definitions say, but adds `fault` to the first `count` elements of the result.
class Faulty : public Executable {
 public:
  Faulty(const Graph& graph, double fault, int count)
      : right_(*MakeReferenceBackend()->Compile(graph, {})), fault_(fault), count_(count) {}

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) override {
    auto outputs = right_->Run(inputs);
    std::vector<double> values = (*outputs)[0].ToDoubles();
    for (int i = 0; i < count_; ++i) values[i] += fault_;
    return std::vector<Tensor>{*Tensor::FromDoubles((*outputs)[0].type(), values)};
  }
  absl::StatusOr<std::vector<Tensor>> RunTimed(absl::Span<const Tensor> inputs,
                                               std::vector<KernelTiming>* timings) override {
    timings->clear();
    return Run(inputs);
  }
  MemoryUse memory() const override { return {}; }
  std::string Describe() const override { return "faulty"; }

 private:
  const std::unique_ptr<Executable> right_;
  const double fault_;
  const int count_;
};

bool Agrees(const std::string& graph_text, double fault, int count = 1) {
  const Graph graph = ModelOf(graph_text).graph;
  std::vector<double> numbers;
  for (int i = 0; i < 64; ++i) numbers.push_back(0.5 + i / 128.0);
  const std::vector<Tensor> inputs = {*Tensor::FromDoubles({DType::kF32, {64}}, numbers)};
  auto definitions = api::Definitions::Run(graph, inputs, 1);
  EXPECT_TRUE(definitions.ok()) << definitions.status();
  Faulty run(graph, fault, count);
  auto verdict = definitions->Judge(&run, *run.Run(inputs), /*is_graph=*/true);
  EXPECT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->agrees, verdict->difference.ok || !verdict->difference.excuse.empty());
  return verdict->agrees;
}

// As after an 8-bit quantization, a step of the result is far beyond a rounding of the input, and
// some element is always near the border of two steps.
TEST(DefinitionsTest, AFewStepsOfAQuantizationAreExcused) {
  const std::string steps =
      "graph g(x: f32[64]) { k = constant f32[] fill 65536 a = mul(x, k) y = floor(a) return y }";
  EXPECT_TRUE(Agrees(steps, 1));
  EXPECT_FALSE(Agrees(steps, 5));
}

// Only 0.5 and 0.75 lie at a border.
TEST(DefinitionsTest, ElementsFarFromABorderExcuseNothing) {
  const std::string steps =
      "graph g(x: f32[64]) { k = constant f32[] fill 100 a = mul(x, k) y = floor(a) return y }";
  EXPECT_TRUE(Agrees(steps, 1, 2));
  EXPECT_FALSE(Agrees(steps, 1, 64));
}

TEST(DefinitionsTest, WithoutStepsTheyAreNot) {
  const std::string smooth =
      "graph g(x: f32[64]) { k = constant f32[] fill 65536 y = mul(x, k) return y }";
  EXPECT_TRUE(Agrees(smooth, 0));
  EXPECT_FALSE(Agrees(smooth, 5));
}

}  // namespace
}  // namespace lemma
