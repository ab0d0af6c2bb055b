// Claims that ignore how storing in an element type changes a value are not proved.
#include "verifier/normal_form/storage.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/verifier/prover_testutil.h"

namespace lemma {
namespace {

Verdict Claim(const std::string& params, const std::string& source, const std::string& target) {
  return ProveText("rule claim(" + params + ") real_only {\n" + source + "\n} => {\n" + target +
                   "\n}");
}

FloatContract ContractOf(const Verdict& verdict) {
  EXPECT_TRUE(IsProved(verdict)) << ToString(verdict);
  auto* proved = std::get_if<Proved>(&verdict);
  return proved == nullptr ? FloatContract::kRealOnly : proved->contract;
}

TEST(Storage, NarrowIntegersWrap) {
  // 300 becomes 44.
  EXPECT_FALSE(IsProved(Claim("x: i64[n]", R"(y = cast(x) {dtype = "u8"}
    z = cast(y) {dtype = "i64"}
    return z)",
                              "return x")));
  // 3 - 5 is 254.
  EXPECT_FALSE(IsProved(Claim("x: u8[n], y: u8[n]", R"(d = sub(x, y)
    z = cast(d) {dtype = "i64"}
    return z)",
                              R"(a = cast(x) {dtype = "i64"}
    b = cast(y) {dtype = "i64"}
    z = sub(a, b)
    return z)")));
  // Moving or widening a value does not change it.
  EXPECT_EQ(ContractOf(Claim("x: u8[m,n]", R"(t = transpose(x) {perm = [1, 0]}
    y = cast(t) {dtype = "i64"}
    z = cast(y) {dtype = "i32"}
    return z)",
                             R"(y = cast(x) {dtype = "i64"}
    c = cast(y) {dtype = "i32"}
    z = transpose(c) {perm = [1, 0]}
    return z)")),
            FloatContract::kBitExact);
}

// All of these are true: 256 is 0, -(-x) is x, and no u8 is negative.
TEST(Storage, NumbersThatBytesDoNotHoldRefuteNothing) {
  EXPECT_FALSE(IsRefuted(Claim("x: u8[n]", "y = relu(x) return y", "return x")));
  EXPECT_FALSE(
      IsRefuted(Claim("x: u8[n]", "y = neg(x) z = neg(y) w = relu(z) return w", "return x")));
  for (const char* type : {"u8", "i8"}) {
    const std::string c = absl::StrCat("c = constant ", type, "[1] fill 16\n");
    EXPECT_FALSE(
        IsRefuted(Claim(absl::StrCat("x: ", type, "[n]"),
                        c + "y = mul(x, c) z = mul(y, c) return z", "y = sub(x, x) return y")));
  }
  EXPECT_TRUE(IsRefuted(Claim("x: u8[m,n]", "y = transpose(x) {perm = [1, 0]} return y",
                              "y = reshape(x) {shape = [n, m]} return y")));
}

TEST(Storage, IntegersHoldNoFractions) {
  EXPECT_FALSE(IsProved(Claim("x: i64[n]", R"(y = scalar_mul(x) {alpha = 0.5}
    z = scalar_mul(y) {alpha = 2.0}
    return z)",
                              "return x")));
  EXPECT_TRUE(IsProved(Claim("x: i64[n]", R"(y = scalar_mul(x) {alpha = 3.0}
    z = scalar_mul(y) {alpha = 2.0}
    return z)",
                             R"(z = scalar_mul(x) {alpha = 6.0}
    return z)")));
}

TEST(Storage, WhatIsRoundedIsNotBitExact) {
  // 2^24 + 1 is no f32.
  EXPECT_GT(ContractOf(Claim("x: i64[n], y: i64[n]", R"(a = cast(x) {dtype = "f32"}
    b = cast(y) {dtype = "f32"}
    q = div(a, b)
    z = cast(q) {dtype = "i64"}
    return z)",
                             R"(z = div(x, y)
    return z)")),
            FloatContract::kBitExact);
  // A constant tensor holds the f32 nearest to 0.1, an attribute the double.
  const char* by_constant = R"(c = constant [] fill 0.1
    y = mul(x, c)
    return y)";
  EXPECT_EQ(ContractOf(Claim("x: [n]", by_constant, R"(y = scalar_mul(x) {alpha = 0.1}
    return y)")),
            FloatContract::kReassociates);
  const char* by_open_constant = R"(c = constant [] fill a
    y = mul(x, c)
    return y)";
  EXPECT_EQ(ContractOf(Claim("x: [n]", by_open_constant, R"(y = scalar_mul(x) {alpha = a}
    return y)")),
            FloatContract::kReassociates);
  const char* by_half = R"(c = constant [] fill 0.5
    y = mul(x, c)
    return y)";
  EXPECT_EQ(ContractOf(Claim("x: [n]", by_half, R"(y = scalar_mul(x) {alpha = 0.5}
    return y)")),
            FloatContract::kBitExact);
}

TEST(Storage, AnotherFloatTypeMayOverflow) {
  EXPECT_EQ(ContractOf(Claim("x: f32[n]", R"(y = cast(x) {dtype = "f16"}
    z = cast(y) {dtype = "f32"}
    return z)",
                             "return x")),
            FloatContract::kRealOnly);
}

TEST(Storage, TypesThatHoldOthers) {
  const DType types[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI64,
                         DType::kI32, DType::kI8,  DType::kU8,  DType::kBool};
  // A type holds all values of an integer type if it holds the least and the greatest one.
  const std::pair<DType, std::vector<double>> extremes[] = {{DType::kI32, {-0x1p31, 0x1p31 - 1}},
                                                            {DType::kI8, {-128, 127}},
                                                            {DType::kU8, {0, 255}},
                                                            {DType::kBool, {0, 1}}};
  for (const auto& [from, values] : extremes) {
    for (DType to : types) {
      bool all = true;
      for (double value : values) all = all && Holds(to, value);
      // A float holds all integers up to its precision.
      if (IsFloat(to) && from == DType::kI32) all = to == DType::kF64;
      EXPECT_EQ(Holds(to, from), all) << Name(to) << " " << Name(from);
    }
  }
}

}  // namespace
}  // namespace lemma
