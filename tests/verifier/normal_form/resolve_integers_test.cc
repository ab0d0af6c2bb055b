// Resolved definitions against the original ones, on random expressions and integers.
#include "verifier/normal_form/resolve_integers.h"

#include <random>

#include "gtest/gtest.h"
#include "tests/kernels/evaluate/naive_evaluator.h"
#include "verifier/normal_form/path_condition.h"

namespace lemma::prover {
namespace {

constexpr int kSize = 3, kReals = 5;
enum Tensors : TensorId { kFirst, kSecond, kTruths, kValues, kPositions, kMask };

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  // Two integer inputs, truth values and reals; two locals, and an output that reads all.
  Definition Draw() {
    Definition d;
    d.inputs = {{DType::kI64, {kSize}},
                {DType::kI64, {kSize}},
                {DType::kBool, {kSize}},
                {DType::kF32, {kReals}}};
    d.num_vars = 3;
    locals_ = false;
    d.tensors.push_back({DType::kI64, {{Var(0), kSize}}, Integer(2)});
    d.tensors.push_back({DType::kBool, {{Var(1), kSize}}, Truth(2)});
    locals_ = true;
    d.tensors.push_back({DType::kF32, {{Var(2), kSize}}, Real(4)});
    d.outputs = {6};
    return d;
  }
  int Below(int n) { return static_cast<int>(random_() % n); }

 private:
  VarId Var(VarId var) { return var_ = var; }
  Idx Here() const { return {IndexExpr::Var(var_)}; }

  ScalarExpr Integer(int depth) {
    const int choice = depth == 0 ? Below(4) : Below(12);
    auto sub = [&] { return Integer(depth - 1); };
    switch (choice) {
      case 0:
        return ScalarExpr(Below(7) - 3);
      case 1:
        return ScalarExpr::Read(Below(2) == 0 ? kFirst : kSecond, Here());
      case 2:
        return ScalarExpr::Index(Here()[0] + Below(2));
      case 3:
        return ScalarExpr::Read(locals_ ? kPositions : kFirst, Here());
      case 4:
        return sub() + sub();
      case 5:
        return sub() - sub();
      case 6:
        return Apply(ScalarFn::kMod, sub(), ScalarExpr(1 + Below(3)));
      case 7:
        return Apply(ScalarFn::kTrunc, sub() / ScalarExpr(1 + Below(3)));
      case 8:
        return Apply(Below(2) == 0 ? ScalarFn::kMin : ScalarFn::kMax, sub(), sub());
      case 9:
        return Apply(ScalarFn::kNot, sub());
      case 10:
        return -sub() * ScalarExpr(Below(3));
      default:
        return Apply(ScalarFn::kWhere, Truth(depth - 1), sub(), sub());
    }
  }

  ScalarExpr Truth(int depth) {
    switch (depth == 0 ? Below(2) : Below(7)) {
      case 0:
        return ScalarExpr::Read(locals_ && Below(2) == 0 ? kMask : kTruths, Here());
      case 1:
      case 2:
        return Apply(Below(2) == 0 ? ScalarFn::kLess : ScalarFn::kEqual, Integer(depth / 2),
                     Integer(depth / 2));
      case 3:
        return Apply(ScalarFn::kNot, Truth(depth - 1));
      case 4:
        return Apply(ScalarFn::kAnd, Truth(depth - 1), Truth(depth - 1));
      case 5:
        return Apply(ScalarFn::kOr, Truth(depth - 1), Truth(depth - 1));
      default:
        return Apply(ScalarFn::kLess, Value(), ScalarExpr(0));
    }
  }

  ScalarExpr Value() { return ScalarExpr::Read(kValues, {IndexExpr::Var(var_)}); }

  ScalarExpr Real(int depth) {
    const int choice = depth == 0 ? Below(2) : Below(8);
    auto sub = [&] { return Real(depth - 1); };
    switch (choice) {
      case 0:
        return Value();
      case 1: {
        const ScalarExpr inside =
            Apply(ScalarFn::kMin, Apply(ScalarFn::kMax, Integer(2), 0), ScalarExpr(kReals - 1));
        return ScalarExpr::Read(kValues, {IndexExpr::Load(inside.node())});
      }
      case 2:
        return ScalarExpr::Read(kValues, {IndexExpr::Load(Integer(2).node()) + 1});
      case 3:
        return sub() + sub();
      case 4:
        return Integer(2);
      case 5:
        return ScalarExpr::Select(Le(Here()[0], Below(3)), sub(), sub());
      default:
        return Apply(ScalarFn::kWhere, Truth(2), sub(), sub());
    }
  }

  std::mt19937_64 random_;
  VarId var_ = 0;
  bool locals_ = false;
};

TEST(ResolveIntegers, KeepsElements) {
  int compared = 0, changed = 0;
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    Generator generator(seed);
    const Definition original = generator.Draw();
    bool reads_at_data = false;
    const Definition resolved = ResolveIntegers(original, &reads_at_data);
    changed += resolved.ToString() != original.ToString();
    for (int sample = 0; sample < 4; ++sample) {
      std::vector<std::vector<double>> inputs(4);
      for (int i = 0; i < kSize; ++i) {
        inputs[kFirst].push_back(generator.Below(7) - 3);
        inputs[kSecond].push_back(generator.Below(3));
        inputs[kTruths].push_back(generator.Below(2));
      }
      for (int i = 0; i < kReals; ++i) inputs[kValues].push_back(generator.Below(64) / 8.0 - 4);
      auto before = OutputsNaively(original, inputs), after = OutputsNaively(resolved, inputs);
      if (!before.ok()) continue;  // a read outside its tensor
      ASSERT_TRUE(after.ok()) << "seed " << seed << ": " << after.status();
      ASSERT_EQ(*before, *after) << "seed " << seed << "\n"
                                 << original.ToString() << "\n"
                                 << resolved.ToString();
      ++compared;
    }
  }
  EXPECT_GT(compared, 3000);
  EXPECT_GT(changed, 1200);
}

TEST(ResolveIntegers, ReadsNothingOutside) {
  Definition d;
  d.inputs = {{DType::kF32, {4}}, {DType::kI64, {}}};
  const ScalarExpr at = ScalarExpr::Read(1, {});
  d.tensors.push_back({DType::kF32, {}, ScalarExpr::Read(0, {IndexExpr::Load(at.node())})});
  d.outputs = {2};
  bool reads_at_data = false;
  const Definition resolved = ResolveIntegers(d, &reads_at_data);
  EXPECT_TRUE(reads_at_data);
  for (double position : {-1.0, 0.0, 3.0, 4.0}) {
    auto y = OutputsNaively(resolved, {{5, 6, 7, 8}, {position}});
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_EQ((*y)[0][0], position == 0 ? 5 : position == 3 ? 8 : 0);
  }
}

// All comparisons of v + c with 0, after any two others.
TEST(PathCondition, AgreeWithArithmetic) {
  const IndexExpr v = IndexExpr::Var(0);
  std::vector<IndexExpr> sums;
  for (int64_t c = -2; c <= 2; ++c) sums.insert(sums.end(), {v + c, IndexExpr(c) - v});
  auto holds = [&](size_t i, bool equal, int64_t at) {
    const int64_t c = static_cast<int64_t>(i / 2) - 2, value = i % 2 == 0 ? at + c : c - at;
    return equal ? value == 0 : value >= 0;
  };
  for (int64_t at = -6; at <= 6; ++at) {
    for (size_t i = 0; i < sums.size(); ++i) {
      for (size_t j = 0; j < sums.size(); ++j) {
        for (int kinds = 0; kinds < 4; ++kinds) {
          const bool first = (kinds & 1) != 0, second = (kinds & 2) != 0;
          const PathCondition known = PathCondition()
                                          .With(sums[i], first, holds(i, first, at))
                                          .With(sums[j], second, holds(j, second, at));
          for (size_t k = 0; k < sums.size(); ++k) {
            for (bool equal : {false, true}) {
              const std::optional<bool> decided = known.Decide(sums[k], equal);
              EXPECT_TRUE(!decided || *decided == holds(k, equal, at)) << at << i << j << k;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(PathCondition().With(v, false, true).Decide(v + 1, false), true);
  EXPECT_EQ(PathCondition().With(v, false, true).Decide(v + 1, true), false);
  EXPECT_EQ(PathCondition().With(v, false, true).Decide(v - 1, false), std::nullopt);
}

}  // namespace
}  // namespace lemma::prover
