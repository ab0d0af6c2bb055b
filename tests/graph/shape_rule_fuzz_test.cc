// Mutated examples: sizes and attributes are either refused, or every read lies inside its tensor.
#include <cmath>
#include <random>

#include "graph/examples/op_examples.h"
#include "graph/op_table.h"
#include "gtest/gtest.h"
#include "tests/kernels/evaluate/naive_evaluator.h"

namespace lemma {
namespace {

constexpr int kMutationsPerExample = 150;
constexpr int64_t kMaxWork = 20'000;

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  void Mutate(OpExample* example) {
    for (TensorType& type : example->inputs) {
      if (Chance(8)) type.shape.assign(Below(4), 2);
      for (int64_t& size : type.shape) {
        if (Chance(4)) size = Below(5);
      }
    }
    for (auto& [name, value] : example->attrs) {
      if (auto* i = std::get_if<int64_t>(&value)) *i = Number(*i);
      if (auto* list = std::get_if<std::vector<int64_t>>(&value)) {
        if (Chance(16)) list->resize(static_cast<size_t>(Below(5)), 1);
        for (int64_t& i : *list) i = Number(i);
      }
    }
  }

 private:
  int64_t Below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random_); }
  bool Chance(int64_t n) { return Below(n) == 0; }
  int64_t Number(int64_t i) {
    static constexpr int64_t kExtremes[] = {INT64_MIN, INT64_MAX, INT64_MIN / 2, int64_t{1} << 32};
    if (Chance(40)) return kExtremes[Below(4)];
    return Chance(3) ? i + Below(5) - 2 : i;
  }

  std::mt19937_64 random_;
};

// Whether elements times terms of each are few, roughly.
bool Small(const std::vector<TensorType>& inputs, const std::vector<TensorType>& outputs) {
  double work = 1;
  for (const auto* types : {&inputs, &outputs}) {
    double largest = 1;
    for (const TensorType& type : *types) {
      double steps = 1;  // of the loops, which an empty inner dimension does not cut short
      for (int64_t size : type.shape) steps *= std::max(1.0, static_cast<double>(size));
      largest = std::max(largest, steps);
    }
    work *= largest;
  }
  return work < kMaxWork;
}

// Terms of the longest reduction in `e`.
double Terms(const ScalarExpr& e) {
  double inner = 1;
  for (const ScalarExpr& arg : e.args()) inner = std::max(inner, Terms(arg));
  if (e.kind() != ScalarExpr::Kind::kReduce) return inner;
  for (const Axis& axis : e.axes()) {
    inner *= static_cast<double>(axis.extent.AsConst().value_or(INT64_MAX));
  }
  return inner;
}

TEST(ShapeRules, WhatTheyAcceptReadsInBounds) {
  int accepted = 0, refused = 0, number = 0;
  for (const OpExample& original : AllExamples()) {
    ++number;
    for (int i = 0; i < kMutationsPerExample; ++i) {
      const uint64_t seed = static_cast<uint64_t>(number) * 1000 + static_cast<uint64_t>(i);
      OpExample example = original;
      Mutator(seed).Mutate(&example);
      auto types = InferTypes(*example.op, example.inputs, example.attrs);
      if (!types.ok()) {
        EXPECT_TRUE(absl::IsInvalidArgument(types.status())) << types.status();
        ++refused;
        continue;
      }
      ++accepted;
      if (!Small(example.inputs, *types)) continue;
      auto definition = Define(*example.op, example.inputs, example.attrs);
      ASSERT_TRUE(definition.ok()) << definition.status();
      double terms = 1;
      for (const TensorExpr& tensor : definition->tensors) {
        terms = std::max(terms, Terms(tensor.body));
      }
      if (terms > kMaxWork) continue;
      auto values = OutputsNaively(*definition, ExampleValues(example));
      std::string attrs;
      for (const auto& [name, value] : example.attrs) {
        absl::StrAppend(&attrs, " ", name, " = ", ToString(value));
      }
      for (const TensorType& type : example.inputs) absl::StrAppend(&attrs, " ", type.ToString());
      // Positions that tensors hold may lie outside an axis that became empty.
      const bool by_data = example.op->group == "data-dependent";
      EXPECT_TRUE(values.ok() || by_data)
          << example.op->name << attrs << " (seed " << seed << "): " << values.status();
    }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace lemma
