// Requantization gives the bytes of the steps that it replaces, also where two roundings of the
// quotient have different nearest integers.
#include "runtime/cpu/kernels/integers/requantization/requantize.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/cpu/kernels/integers/chain.h"
#include "runtime/cpu/kernels/integers/tiles.h"

namespace lemma::kernels {
namespace {

using Kind = ChainStep::Kind;

ChainStep Step(Kind kind, float number = 0) {
  ChainStep s;
  s.kind = kind;
  s.number = number;
  return s;
}
ChainStep Clip(float low, float high) {
  ChainStep s = Step(Kind::kClip);
  s.low = low;
  s.high = high;
  return s;
}
ChainStep Quantize(float number, float offset, float low, float high) {
  ChainStep s = Step(Kind::kQuantize, number);
  s.offset = offset;
  s.low = low;
  s.high = high;
  return s;
}

ChainStep OnOther(ChainStep s) {
  s.on_other = true;
  return s;
}

struct Case {
  std::string name;
  bool has_scale = true, has_shift = true;
  std::vector<ChainStep> steps;
  bool scaled_by_vector = false, shifted_by_vector = false;  // before `steps`
};

class RequantizeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (BestIntegerIsa() != IntegerIsa::kVnni) GTEST_SKIP() << "there is no short computation here";
  }

  float Uniform(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random_);
  }
  int64_t Integer(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  // Numbers for `columns` columns, and all steps of the case.
  void Prepare(const Case& c, int64_t columns) {
    scale_.clear();
    shift_.clear();
    for (auto& v : vectors_) v.clear();
    for (int64_t j = 0; j < columns; ++j) {
      scale_.push_back(Uniform(1e-4f, 2e-3f));
      shift_.push_back(Uniform(-2, 2));
      vectors_[0].push_back(Uniform(0.5f, 1.5f) * (j % 3 == 0 ? -1.0f : 1.0f));
      vectors_[1].push_back(Uniform(-1, 1));
    }
    steps_.clear();
    for (int v = 0; v < 2; ++v) {
      if (!(v == 0 ? c.scaled_by_vector : c.shifted_by_vector)) continue;
      steps_.push_back(Step(Kind::kLoadVector));
      steps_.back().data = vectors_[v].data();
      steps_.push_back(Step(v == 0 ? Kind::kMultiplyOther : Kind::kAddOther));
    }
    steps_.insert(steps_.end(), c.steps.begin(), c.steps.end());
    for (ChainStep& s : steps_) {
      if (s.kind == Kind::kLoadVector && s.data == nullptr) s.data = vectors_[0].data();
    }
    has_scale_ = c.has_scale;
    has_shift_ = c.has_shift;
  }
  const float* scale() const { return has_scale_ ? scale_.data() : nullptr; }
  const float* shift() const { return has_shift_ ? shift_.data() : nullptr; }

  // The bytes of one element by the steps.
  uint8_t Exactly(int32_t sum, int64_t column, const uint8_t* other) const {
    ScaleTile(&sum, 1, 1, 1, has_scale_ ? scale() + column : nullptr,
              has_shift_ ? shift() + column : nullptr);
    std::vector<ChainStep> steps = steps_;
    for (ChainStep& s : steps) {
      if (s.kind == Kind::kLoadVector) s.data = static_cast<const float*>(s.data) + column;
      if (s.kind == Kind::kLoadU8 || s.kind == Kind::kLoadI8) s.data = other;
    }
    float x = 0;
    std::memcpy(&x, &sum, sizeof x);
    uint8_t y = 0;
    ApplyChain(&x, 1, 1, 1, steps.data(), static_cast<int>(steps.size()),
               steps.back().low < 0 ? ChainResult::kI8 : ChainResult::kU8, &y, 1,
               IntegerIsa::kNone);
    return y;
  }

  // A sum for which the number to be rounded is probably close to a half.
  int32_t NearHalf(int64_t column) {
    double factor = has_scale_ ? scale_[static_cast<size_t>(column)] : 1;
    double addend = has_shift_ ? shift_[static_cast<size_t>(column)] : 0;
    factor /= steps_.back().number;
    addend /= steps_.back().number;
    double half = static_cast<double>(Integer(-140, 270)) + 0.5;
    for (const ChainStep& s : steps_) {
      const bool by_vector = s.kind == Kind::kScaleNegativeOther;
      if (half >= 0 || (!by_vector && s.kind != Kind::kScaleNegative)) continue;
      half /= by_vector ? vectors_[0][static_cast<size_t>(column)] : s.number;
    }
    return static_cast<int32_t>(
        std::lround(std::clamp((half - addend) / factor, double{INT32_MIN}, double{INT32_MAX})));
  }

  std::mt19937_64 random_{20261129};
  std::vector<float> scale_, shift_, vectors_[2];
  std::vector<ChainStep> steps_;
  bool has_scale_ = true, has_shift_ = true;
};

std::vector<Case> Cases() {
  const float n = 0.0371f;
  return {
      {"plain", true, true, {Quantize(n, 0, 0, 255)}},
      {"zero point", true, true, {Quantize(n, 117, 0, 255)}},
      {"signed", true, true, {Quantize(n, -3, -128, 127)}},
      {"signed without a shift", true, false, {Quantize(n, 0, -128, 127)}},
      {"only integers", false, false, {Quantize(7, 3, 0, 255)}},  // exact halves too
      {"halves", false, false, {Quantize(2, 0, -128, 127)}},
      {"relu6", true, true, {Clip(0, 6), Quantize(6.0f / 255, 0, 0, 255)}},
      {"relu", true, true, {Step(Kind::kMax, 0), Quantize(n, 5, 0, 255)}},
      {"arithmetic",
       true,
       true,
       {Step(Kind::kAdd, 0.7f), Step(Kind::kMultiply, 1.3f), Step(Kind::kSubtract, 0.2f),
        Step(Kind::kMin, 4), Step(Kind::kDivide, 1.1f), Quantize(n, 9, 0, 255)}},
      {"vectors", true, true, {Clip(-3, 3), Quantize(n, 90, 0, 255)}, true, true},
      {"narrow range", true, true, {Quantize(n, 7, 0, 15)}},
      {"negated", true, true, {Step(Kind::kMultiply, -1), Clip(0, 3), Quantize(n, 7, 0, 255)}},
      {"quantized twice",
       true,
       true,
       {Quantize(n, 117, 0, 255), Step(Kind::kSubtract, 117), Step(Kind::kMultiply, n),
        Quantize(0.91f * n, 100, 0, 255)}},
      {"quantized twice, once signed",
       true,
       false,
       {Quantize(n, 5, -128, 127), Step(Kind::kSubtract, 5), Step(Kind::kMultiply, n),
        Step(Kind::kMax, 0), Quantize(1.3f * n, 0, 0, 255)}},
      {"added to unsigned",
       true,
       true,
       {Step(Kind::kLoadU8), OnOther(Step(Kind::kSubtract, 90)),
        OnOther(Step(Kind::kMultiply, 0.021f)), Step(Kind::kAddOther), Step(Kind::kMax, 0),
        Quantize(n, 0, 0, 255)}},
      {"added to signed",
       true,
       true,
       {Step(Kind::kLoadI8), OnOther(Step(Kind::kMultiply, 0.017f)), Step(Kind::kAddOther),
        Quantize(n, -7, -128, 127)}},
      {"quantized and added",
       true,
       true,
       {Quantize(n, 117, 0, 255), Step(Kind::kSubtract, 117), Step(Kind::kMultiply, n),
        Step(Kind::kLoadU8), OnOther(Step(Kind::kSubtract, 3)),
        OnOther(Step(Kind::kMultiply, 0.0301f)), Step(Kind::kAddOther), Step(Kind::kMax, 0),
        Quantize(0.05f, 0, 0, 255)}},
      {"bent", true, true, {Step(Kind::kScaleNegative, 0.1f), Quantize(n, 31, 0, 255)}},
      {"bent up", true, true, {Step(Kind::kScaleNegative, -0.7f), Quantize(n, 0, 0, 255)}},
      {"bent down", true, true, {Step(Kind::kScaleNegative, 3.3f), Quantize(n, -5, -128, 127)}},
      {"flat", true, true, {Step(Kind::kScaleNegative, 0), Quantize(n, 7, 0, 255)}},
      {"bent, without scale and shift",
       false,
       false,
       {Step(Kind::kScaleNegative, 0.25f), Quantize(2, 40, 0, 255)}},
      {"bent between arithmetic",
       true,
       true,
       {Step(Kind::kMultiply, -1.2f), Step(Kind::kAdd, 0.3f), Step(Kind::kScaleNegative, 0.3f),
        Step(Kind::kMultiply, 1.7f), Step(Kind::kAdd, -0.4f), Clip(-3, 5),
        Quantize(n, 100, 0, 255)}},
      {"bent vectors",
       true,
       true,
       {Step(Kind::kScaleNegative, 0.01f), Quantize(n, 90, 0, 255)},
       true,
       true},
      {"bent by a vector",
       true,
       true,
       {Step(Kind::kLoadVector), Step(Kind::kScaleNegativeOther), Quantize(n, 60, 0, 255)}},
      {"bent after a sum",
       true,
       true,
       {Step(Kind::kLoadU8), OnOther(Step(Kind::kSubtract, 90)),
        OnOther(Step(Kind::kMultiply, 0.021f)), Step(Kind::kAddOther),
        Step(Kind::kScaleNegative, 2.1f), Quantize(n, 70, 0, 255)}},
      {"bent before a sum",
       true,
       true,
       {Step(Kind::kScaleNegative, 0.2f), Step(Kind::kLoadI8),
        OnOther(Step(Kind::kMultiply, 0.017f)), Step(Kind::kAddOther), Quantize(n, 70, 0, 255)}},
      {"quantized, bent and quantized",
       true,
       true,
       {Quantize(n, 117, 0, 255), Step(Kind::kSubtract, 117), Step(Kind::kMultiply, n),
        Step(Kind::kLoadU8), OnOther(Step(Kind::kMultiply, 0.0301f)), Step(Kind::kAddOther),
        Step(Kind::kScaleNegative, 0.11f), Quantize(0.05f, 20, 0, 255)}},
      {"one scale is twice another",  // half of the numbers lie halfway
       true,
       true,
       {Quantize(n, 117, 0, 255), Step(Kind::kSubtract, 117), Step(Kind::kMultiply, n),
        Quantize(2 * n, 60, 0, 255)}},
      {"added and quantized twice",
       true,
       true,
       {Step(Kind::kLoadI8), OnOther(Step(Kind::kMultiply, 0.017f)), Step(Kind::kAddOther),
        Quantize(n, 9, 0, 255), Step(Kind::kSubtract, 9), Step(Kind::kMultiply, n),
        Quantize(0.05f, 1, 0, 255)}},
  };
}

TEST_F(RequantizeTest, GivesTheBytesOfTheSteps) {
  int64_t close = 0;
  for (const Case& c : Cases()) {
    for (const int64_t columns : {1, 15, 16, 17, 48, 64, 65, 100, 130, 256}) {
      Prepare(c, columns);
      const auto r =
          Requantization::Of(Requantization::Start::kSums, scale(), shift(), columns, steps_);
      ASSERT_TRUE(r.has_value()) << c.name;
      constexpr int64_t kRows = 70;
      const int64_t step = (columns + 15) / 16 * 16, y_step = columns + 3;
      std::vector<int32_t> sums(static_cast<size_t>(kRows * step));
      for (int64_t i = 0; i < kRows; ++i) {
        for (int64_t j = 0; j < step; ++j) {
          const int64_t kind = Integer(0, 9);
          int32_t& sum = sums[static_cast<size_t>(i * step + j)];
          if (j >= columns || kind == 0) {
            sum = static_cast<int32_t>(Integer(INT32_MIN, INT32_MAX));
          } else if (kind < 7) {
            sum = NearHalf(j);
          } else if (kind < 9) {
            sum = static_cast<int32_t>(Integer(-20000, 20000));
          } else {
            sum = Integer(0, 1) != 0 ? INT32_MAX : INT32_MIN;
          }
        }
      }
      std::vector<uint8_t> other(static_cast<size_t>(kRows * columns));
      for (uint8_t& byte : other) byte = static_cast<uint8_t>(Integer(0, 255));
      std::vector<uint8_t> y(static_cast<size_t>(kRows * y_step), 0xa5), by_steps = y;
      r->Run(
          {kRows, 0, columns, sums.data(), step, other.data(), columns, nullptr, y.data(), y_step});
      r->Run({kRows, 0, columns, sums.data(), step, other.data(), columns, nullptr, by_steps.data(),
              y_step},
             IntegerIsa::kAvx2);
      EXPECT_EQ(y, by_steps) << c.name;
      for (int64_t i = 0; i < kRows; ++i) {
        for (int64_t j = 0; j < y_step; ++j) {
          const uint8_t found = y[static_cast<size_t>(i * y_step + j)];
          if (j >= columns) {
            ASSERT_EQ(found, 0xa5) << c.name << ": written behind row " << i;
            continue;
          }
          const int32_t sum = sums[static_cast<size_t>(i * step + j)];
          const uint8_t expected = Exactly(sum, j, &other[static_cast<size_t>(i * columns + j)]);
          ASSERT_EQ(found, expected) << c.name << ": sum " << sum << " in column " << j;
          // What one multiplication and one addition alone give.
          if (c.steps.size() > 1 || c.scaled_by_vector || !has_scale_ || !has_shift_) continue;
          const ChainStep& q = steps_.back();
          const auto at = static_cast<size_t>(j);
          const float x =
              std::fmaf(static_cast<float>(sum), static_cast<float>(double{scale_[at]} / q.number),
                        static_cast<float>(double{shift_[at]} / q.number));
          const float byte = std::clamp(std::nearbyint(x) + q.offset, q.low, q.high);
          if (static_cast<uint8_t>(static_cast<int>(byte)) != expected) ++close;
        }
      }
    }
  }
  EXPECT_GT(close, 0) << "no number is so close to a half that the exact steps matter";
}

// Floats, also those that are no numbers, and rows of any length.
TEST_F(RequantizeTest, OfFloats) {
  const float n = 0.0371f, infinity = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<ChainStep>> cases = {
      {Quantize(n, 17, 0, 255)},
      {Quantize(n, -3, -128, 127)},
      {Step(Kind::kMax, 0), Quantize(n, 0, 0, 255)},
      {Step(Kind::kScaleNegative, 0.1f), Quantize(n, 31, 0, 255)},
      {Step(Kind::kScaleNegative, 0), Quantize(n, 31, 0, 255)},  // of an infinity, NaN
      {Step(Kind::kMultiply, 0.3f), Quantize(n, 0, 0, 255), Step(Kind::kMultiply, n),
       Quantize(0.05f, 9, 0, 255)},
      {Step(Kind::kLoadU8), OnOther(Step(Kind::kMultiply, 0.021f)), Step(Kind::kAddOther),
       Quantize(n, 3, 0, 255)},
  };
  for (const std::vector<ChainStep>& steps : cases) {
    const auto r = Requantization::OfElements(steps);
    ASSERT_TRUE(r.has_value());
    for (const int64_t columns : {1, 58, 64, 300}) {
      const int64_t rows = columns == 300 ? 1 : 20, step = columns + 5;
      std::vector<float> x(static_cast<size_t>(rows * step));
      std::vector<uint8_t> other(x.size()), y(x.size(), 0xa5);
      for (float& v : x) {
        const int64_t kind = Integer(0, 11);
        v = kind == 0   ? std::numeric_limits<float>::quiet_NaN()
            : kind == 1 ? infinity
            : kind == 2 ? -infinity
            : kind == 3 ? Uniform(-1, 1) * 1e38f
            : kind == 4 ? Uniform(-1, 1) * 1e-40f
            : kind < 9  ? static_cast<float>((static_cast<double>(Integer(-140, 270)) + 0.5) * n)
                        : Uniform(-6, 12);
      }
      for (uint8_t& byte : other) byte = static_cast<uint8_t>(Integer(0, 255));
      r->Run({rows, 0, columns, x.data(), step, other.data(), step, nullptr, y.data(), step});
      for (size_t i = 0; i < y.size(); ++i) {
        uint8_t expected = 0xa5;
        if (static_cast<int64_t>(i) % step < columns) {
          std::vector<ChainStep> own = steps;
          for (ChainStep& s : own) s.data = &other[i];
          ApplyChain(&x[i], 1, 1, 1, own.data(), static_cast<int>(own.size()),
                     own.back().low < 0 ? ChainResult::kI8 : ChainResult::kU8, &expected, 1,
                     IntegerIsa::kNone);
        }
        ASSERT_EQ(y[i], expected) << "of " << x[i];
      }
    }
  }
}

// 8-bit integers, with a factor for each column or the same for all.
TEST_F(RequantizeTest, OfBytes) {
  for (const bool has_vector : {false, true}) {
    for (const Kind load : {Kind::kLoadU8, Kind::kLoadI8}) {
      constexpr int64_t kColumns = 150, kRows = 33;
      Prepare({}, kColumns);
      std::vector<ChainStep> steps = {Step(load), Step(Kind::kTakeOther), Step(Kind::kSubtract, 7),
                                      Step(Kind::kMultiply, 0.04f)};
      if (has_vector) {
        steps.push_back(Step(Kind::kLoadVector));
        steps.back().data = vectors_[0].data();
        steps.push_back(Step(Kind::kMultiplyOther));
      }
      steps.insert(steps.end(), {Step(Kind::kLoadU8), OnOther(Step(Kind::kMultiply, 0.011f)),
                                 Step(Kind::kAddOther), Quantize(0.05f, 12, 0, 255)});
      const auto r = has_vector ? Requantization::Of(Requantization::Start::kFloats, nullptr,
                                                     nullptr, kColumns, steps)
                                : Requantization::OfElements(steps);
      ASSERT_TRUE(r.has_value());
      std::vector<uint8_t> x(kRows * kColumns), other(x.size()), y(x.size());
      for (uint8_t& byte : x) byte = static_cast<uint8_t>(Integer(0, 255));
      for (uint8_t& byte : other) byte = static_cast<uint8_t>(Integer(0, 255));
      r->Run({kRows, 0, kColumns, x.data(), kColumns, other.data(), kColumns, nullptr, y.data(),
              kColumns});
      for (size_t i = 0; i < y.size(); ++i) {
        std::vector<ChainStep> own = steps;
        own[0].data = &x[i];
        for (size_t s = 1; s < own.size(); ++s) {
          if (own[s].kind == Kind::kLoadU8) own[s].data = &other[i];
          if (own[s].kind == Kind::kLoadVector) own[s].data = &vectors_[0][i % kColumns];
        }
        uint8_t expected = 0;
        ApplyChain(nullptr, 1, 1, 1, own.data(), static_cast<int>(own.size()), ChainResult::kU8,
                   &expected, 1, IntegerIsa::kNone);
        ASSERT_EQ(y[i], expected);
      }
      // The result may take the place of the source.
      r->Run({kRows, 0, kColumns, x.data(), kColumns, other.data(), kColumns, nullptr, x.data(),
              kColumns});
      EXPECT_EQ(x, y);
    }
  }
}

// The result may take the place of what is added.
TEST_F(RequantizeTest, InPlace) {
  for (const Case& c : Cases()) {
    if (c.name == "quantized and added") Prepare(c, 100);
  }
  const auto r = Requantization::Of(Requantization::Start::kSums, scale(), shift(), 100, steps_);
  ASSERT_TRUE(r.has_value());
  std::vector<int32_t> sums(9 * 112);
  std::vector<uint8_t> other(9 * 100), y(9 * 100);
  for (int64_t i = 0; i < 9 * 112; ++i) {
    sums[static_cast<size_t>(i)] = static_cast<int32_t>(Integer(-20000, 20000));
  }
  for (uint8_t& byte : other) byte = static_cast<uint8_t>(Integer(0, 255));
  r->Run({9, 0, 100, sums.data(), 112, other.data(), 100, nullptr, y.data(), 100});
  r->Run({9, 0, 100, sums.data(), 112, other.data(), 100, nullptr, other.data(), 100});
  EXPECT_EQ(y, other);
}

// Columns from the middle of those given to Of.
TEST_F(RequantizeTest, OfABlockOfColumns) {
  Prepare({"", true, true, {Clip(-3, 3), Quantize(0.03f, 90, 0, 255)}, true, true}, 160);
  const auto r = Requantization::Of(Requantization::Start::kSums, scale(), shift(), 160, steps_);
  ASSERT_TRUE(r.has_value());
  std::vector<int32_t> sums(5 * 48);
  for (int64_t i = 0; i < 5 * 48; ++i) sums[static_cast<size_t>(i)] = NearHalf(112 + i % 48);
  std::vector<uint8_t> y(5 * 40);
  r->Run({5, 112, 40, sums.data(), 48, nullptr, 0, nullptr, y.data(), 40});
  for (int64_t i = 0; i < 5 * 40; ++i) {
    const int64_t row = i / 40, column = i % 40;
    EXPECT_EQ(y[static_cast<size_t>(i)],
              Exactly(sums[static_cast<size_t>(row * 48 + column)], 112 + column, nullptr));
  }
}

// Gates that vary from run to run, also such that are 0.
TEST_F(RequantizeTest, OfGates) {
  for (const bool of_sums : {false, true}) {
    for (const Kind load : {Kind::kLoadVectorU8, Kind::kLoadVectorI8}) {
      constexpr int64_t kColumns = 150, kStep = 160, kRows = 40;
      Prepare({"", true, false, {}}, kColumns);
      const std::vector<ChainStep> steps = {Step(load),
                                            OnOther(Step(Kind::kSubtract, 5)),
                                            OnOther(Step(Kind::kMultiply, 0.0039f)),
                                            OnOther(Step(Kind::kMultiply, 1.7f)),
                                            Step(Kind::kMultiplyOther),
                                            Step(Kind::kAdd, 0.3f),
                                            Quantize(0.0371f, 40, 0, 255)};
      const auto r = Requantization::Of(
          of_sums ? Requantization::Start::kSums : Requantization::Start::kFloats,
          of_sums ? scale() : nullptr, nullptr, kColumns, steps);
      ASSERT_TRUE(r.has_value());
      std::vector<uint8_t> gates(kColumns), y(kRows * kColumns);
      for (uint8_t& byte : gates)
        byte = static_cast<uint8_t>(Integer(0, 9) < 3 ? 5 : Integer(0, 255));
      std::vector<float> x(kRows * kStep);
      std::vector<int32_t> sums(x.size());
      for (size_t i = 0; i < x.size(); ++i) {
        const int64_t kind = Integer(0, 9);
        x[i] = kind == 0   ? std::numeric_limits<float>::infinity()
               : kind == 1 ? std::numeric_limits<float>::quiet_NaN()
               : kind == 2 ? 3e38f
                           : Uniform(-10, 20);
        sums[i] = static_cast<int32_t>(Integer(-40000, 40000));
      }
      r->Run({kRows, 0, kColumns, of_sums ? static_cast<const void*>(sums.data()) : x.data(), kStep,
              nullptr, 0, gates.data(), y.data(), kColumns});
      for (int64_t i = 0; i < kRows * kColumns; ++i) {
        const auto column = static_cast<size_t>(i % kColumns);
        const auto at = static_cast<size_t>(i / kColumns * kStep) + column;
        float from = x[at];
        if (of_sums) {
          int32_t sum = sums[at];
          ScaleTile(&sum, 1, 1, 1, &scale_[column], nullptr);
          std::memcpy(&from, &sum, sizeof from);
        }
        std::vector<ChainStep> own = steps;
        own[0].data = &gates[column];
        uint8_t expected = 0;
        ApplyChain(&from, 1, 1, 1, own.data(), static_cast<int>(own.size()), ChainResult::kU8,
                   &expected, 1, IntegerIsa::kNone);
        ASSERT_EQ(y[static_cast<size_t>(i)], expected) << from << " * " << int{gates[column]};
      }
    }
  }
}

// Results beyond 32 bits, which gates alone make so large.
TEST_F(RequantizeTest, GatesMaySaturate) {
  const std::vector<ChainStep> steps = {Step(Kind::kLoadU8),
                                        Step(Kind::kTakeOther),
                                        Step(Kind::kMultiply, 0.25f),
                                        Step(Kind::kLoadVectorU8),
                                        OnOther(Step(Kind::kMultiply, 0x1p20f)),
                                        Step(Kind::kMultiplyOther),
                                        Quantize(0.001f, 3, 0, 255)};
  const auto r = Requantization::Of(Requantization::Start::kFloats, nullptr, nullptr, 64, steps);
  if (!r) return;
  std::vector<uint8_t> x(64, 255), gates(64), y(64);
  for (size_t j = 0; j < 64; ++j) gates[j] = static_cast<uint8_t>(4 * j);
  r->Run({1, 0, 64, x.data(), 64, nullptr, 0, gates.data(), y.data(), 64});
  for (size_t j = 0; j < 64; ++j) EXPECT_EQ(y[j], j == 0 ? 3 : 255);
}

TEST_F(RequantizeTest, LeavesOtherStepsAlone) {
  const ChainStep last = Quantize(0.03f, 3, 0, 255);
  const auto is_taken = [&](const std::vector<ChainStep>& steps) {
    Prepare({"", true, true, steps}, 20);
    return Requantization::Of(Requantization::Start::kSums, scale(), shift(), 20, steps_)
        .has_value();
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(is_taken({last}));
  EXPECT_FALSE(is_taken({}));
  EXPECT_FALSE(is_taken({Step(Kind::kAdd, 1)}));
  EXPECT_FALSE(is_taken({Step(Kind::kRound), last}));
  EXPECT_TRUE(is_taken({last, last}));
  EXPECT_FALSE(is_taken({last, last, last}));
  EXPECT_TRUE(is_taken({Step(Kind::kMultiply, -1), last}));
  EXPECT_FALSE(is_taken({Clip(-1, 1), Step(Kind::kMultiply, -1), last}));
  const std::vector<ChainStep> load = {Step(Kind::kLoadU8), OnOther(Step(Kind::kMultiply, 0.01f))};
  const auto behind_load = [&](std::vector<ChainStep> before, std::vector<ChainStep> then) {
    before.insert(before.end(), load.begin(), load.end());
    before.insert(before.end(), then.begin(), then.end());
    return is_taken(before);
  };
  EXPECT_TRUE(behind_load({}, {Step(Kind::kAddOther), last}));
  EXPECT_FALSE(behind_load({}, {Step(Kind::kMultiplyOther), last}));
  EXPECT_FALSE(behind_load({}, {Step(Kind::kSubtractOther), last}));
  EXPECT_FALSE(behind_load({}, {Step(Kind::kTakeOther), last}));
  EXPECT_FALSE(behind_load({Clip(0, 1)}, {Step(Kind::kAddOther), last}));
  EXPECT_FALSE(behind_load({}, {Step(Kind::kAddOther), Step(Kind::kAddOther), last}));
  EXPECT_FALSE(
      behind_load({Step(Kind::kLoadI8), Step(Kind::kAddOther)}, {Step(Kind::kAddOther), last}));
  EXPECT_FALSE(behind_load({}, {OnOther(Step(Kind::kMultiply, nan)), Step(Kind::kAddOther), last}));
  EXPECT_FALSE(is_taken({Step(Kind::kLoadF32), Step(Kind::kAddOther), last}));
  EXPECT_FALSE(is_taken({OnOther(last)}));
  EXPECT_FALSE(is_taken({Step(Kind::kAddOther), last}));  // nothing is loaded
  EXPECT_FALSE(is_taken({OnOther(Step(Kind::kMultiply, 2)), last}));
  EXPECT_FALSE(behind_load({}, {OnOther(Step(Kind::kAdd, 1e5f)), OnOther(Step(Kind::kAdd, -1e5f)),
                                Step(Kind::kAddOther), last}));
  // A product on the way may overflow although the result is small.
  EXPECT_FALSE(is_taken({Step(Kind::kMultiply, 1e30f), Step(Kind::kMultiply, 1e-30f), last}));
  const ChainStep gate = Step(Kind::kLoadVectorU8), times = Step(Kind::kMultiplyOther);
  EXPECT_TRUE(is_taken({Step(Kind::kLoadVectorU8), OnOther(Step(Kind::kMultiply, 0.1f)), last}));
  Prepare({"", true, true, {}}, 20);
  const auto without_shift = [&](const std::vector<ChainStep>& steps) {
    return Requantization::Of(Requantization::Start::kSums, scale(), nullptr, 20, steps)
        .has_value();
  };
  EXPECT_TRUE(without_shift({gate, times, last}));
  EXPECT_FALSE(without_shift({Step(Kind::kAdd, 1), gate, times, last}));
  EXPECT_FALSE(without_shift({gate, times, gate, times, last}));
  EXPECT_FALSE(without_shift({gate, OnOther(Step(Kind::kAdd, 0.5f)), times, last}));
  EXPECT_FALSE(without_shift({gate, Step(Kind::kAddOther), last}));
  EXPECT_FALSE(without_shift({Step(Kind::kMultiply, 1e6f), gate, times, last}));
  // An infinite product times a gate of 0 is no number.
  EXPECT_FALSE(Requantization::Of(
                   Requantization::Start::kFloats, nullptr, nullptr, 20,
                   {Step(Kind::kMultiply, 1024), Step(Kind::kDivide, 1024), gate, times, last})
                   .has_value());
  EXPECT_FALSE(
      Requantization::Of(Requantization::Start::kSums, scale(), shift(), 20, {gate, times, last})
          .has_value());
  ChainStep vector = Step(Kind::kLoadVector);
  EXPECT_FALSE(Requantization::OfElements({vector, Step(Kind::kAddOther), last}).has_value());
  EXPECT_FALSE(is_taken({Step(Kind::kMultiply, 0), last}));
  for (const float x : {nan, infinity}) {
    for (const Kind kind : {Kind::kAdd, Kind::kSubtract, Kind::kMultiply, Kind::kDivide}) {
      EXPECT_FALSE(is_taken({Step(kind, x), last}));
    }
    EXPECT_FALSE(is_taken({Quantize(x, 3, 0, 255)}));
    EXPECT_FALSE(is_taken({Quantize(0.03f, x, 0, 255)}));
  }
  EXPECT_FALSE(is_taken({Step(Kind::kMin, nan), last}));
  EXPECT_FALSE(is_taken({Clip(nan, 3), last}));
  EXPECT_FALSE(is_taken({Clip(3, -3), last}));
  EXPECT_FALSE(is_taken({Quantize(0.03f, 0.5f, 0, 255)}));
  EXPECT_FALSE(is_taken({Quantize(0.03f, 300, 0, 255)}));
  EXPECT_FALSE(is_taken({Quantize(-0.03f, 3, 0, 255)}));
  // The roundings of what is taken away again are as large as the result.
  EXPECT_FALSE(is_taken({Step(Kind::kAdd, 1e5f), Step(Kind::kSubtract, 1e5f), last}));
  // Every number at the bound would be doubtful.
  EXPECT_FALSE(is_taken({Clip(0, 3), Quantize(2, 0, 0, 255)}));
  Prepare({"", true, true, {last}}, 20);
  scale_[7] = infinity;
  EXPECT_FALSE(
      Requantization::Of(Requantization::Start::kSums, scale(), shift(), 20, steps_).has_value());
  scale_[7] = 0;
  EXPECT_FALSE(
      Requantization::Of(Requantization::Start::kSums, scale(), shift(), 20, steps_).has_value());
  scale_[7] = 1e-3f;
  shift_[19] = nan;
  EXPECT_FALSE(
      Requantization::Of(Requantization::Start::kSums, scale(), shift(), 20, steps_).has_value());
}

}  // namespace
}  // namespace lemma::kernels
