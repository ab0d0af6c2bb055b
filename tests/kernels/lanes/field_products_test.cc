// Products, sums and quotients of Field elements by lanes are those of single elements, whatever
// the length, the alignment, the overlap and the values.
#include <algorithm>
#include <random>
#include <vector>

#include "graph/expr/field.h"
#include "gtest/gtest.h"
#include "kernels/lanes/lane_ops.h"

namespace lemma {
namespace {

constexpr uint64_t kPrime = Field::kPrime;
constexpr int64_t kLargeLengths[] = {63, 64, 65, 127, 128, 129, 1000};

std::vector<int64_t> Lengths() {
  std::vector<int64_t> lengths;
  for (int64_t n = 0; n <= 40; ++n) lengths.push_back(n);
  lengths.insert(lengths.end(), std::begin(kLargeLengths), std::end(kLargeLengths));
  return lengths;
}

class Elements {
 public:
  // `special`: how many of 16 elements are special.
  Field Draw(int special) {
    static const uint64_t kEdges[] = {0,
                                      1,
                                      2,
                                      kPrime - 1,
                                      kPrime - 2,
                                      kPrime / 2,
                                      kPrime / 2 + 1,
                                      (uint64_t{1} << 52) - 1,
                                      uint64_t{1} << 52,
                                      (uint64_t{1} << 52) + 1,
                                      uint64_t{1} << 60,
                                      uint64_t{0x1ff} << 52,
                                      (uint64_t{1} << 60) - 1};
    const uint64_t r = random_();
    if (static_cast<int>(r % 16) < special) {
      static const Field kSpecial[] = {Field::Infinity(), Field::NegativeInfinity(), Field::NaN()};
      return kSpecial[r / 16 % 3];
    }
    if (r / 64 % 2 == 0) return Field::FromRaw(kEdges[r / 128 % std::size(kEdges)]);
    return Field::FromRaw(random_() % kPrime);
  }
  std::vector<Field> DrawMany(int64_t n, int special) {
    std::vector<Field> result(n);
    for (Field& x : result) x = Draw(special);
    return result;
  }

 private:
  std::mt19937_64 random_{7};
};

const LaneOps<Field>* const kTables[] = {&Lanes<Field>(), &lane_internal::FieldLanesBaseline()};

TEST(FieldLanes, FunctionsOfTwo) {
  Elements elements;
  int64_t checked = 0;
  for (const LaneOps<Field>* ops : kTables) {
    for (int f = 0; f < kNumScalarFns; ++f) {
      if (ops->vv[f] == nullptr) continue;
      const auto fn = static_cast<ScalarFn>(f);
      for (const int64_t n : Lengths()) {
        for (const int special : {0, 1, 8}) {
          for (int shift = 0; shift < 2; ++shift) {
            // dst: apart, a, b.
            for (int overlap = 0; overlap < 3; ++overlap) {
              const std::vector<Field> a = elements.DrawMany(n + 2, special),
                                       b = elements.DrawMany(n + 2, special);
              std::vector<Field> x = a, y = b, z(n + 2);
              Field* dst = overlap == 0 ? &z[shift] : overlap == 1 ? &x[shift] : &y[shift];
              ops->vv[f](dst, &x[shift], &y[shift], n);
              for (int64_t i = 0; i < n; ++i) {
                ASSERT_EQ(dst[i].raw(), ApplyField(fn, a[i + shift], b[i + shift]).raw())
                    << Info(fn).name << " vv " << n << " " << i << " " << overlap;
                ++checked;
              }
              // With one element on a side; it may lie in the destination.
              for (const int64_t at : {int64_t{0}, n / 2, n > 0 ? n - 1 : 0}) {
                x = a, y = b;
                dst = overlap == 0 ? &z[shift] : &x[shift];
                const Field* one = overlap == 2 ? &x[at + shift] : &y[at];
                const Field s = *one;
                ops->vs[f](dst, &x[shift], one, n);
                for (int64_t i = 0; i < n; ++i) {
                  ASSERT_EQ(dst[i].raw(), ApplyField(fn, a[i + shift], s).raw())
                      << Info(fn).name << " vs " << n << " " << i << " " << overlap;
                }
                x = a, y = b;
                ops->sv[f](dst, one, &x[shift], n);
                for (int64_t i = 0; i < n; ++i) {
                  ASSERT_EQ(dst[i].raw(), ApplyField(fn, s, a[i + shift]).raw())
                      << Info(fn).name << " sv " << n << " " << i << " " << overlap;
                }
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(checked, 0);
}

TEST(FieldLanes, ProductsAndSums) {
  Elements elements;
  for (const LaneOps<Field>* ops : kTables) {
    for (const int64_t n : Lengths()) {
      for (const int special : {0, 1, 8}) {
        for (int shift = 0; shift < 3; ++shift) {
          // The result: apart, a, b, c.
          for (int overlap = 0; overlap < 4; ++overlap) {
            for (int vector = 0; vector < 2; ++vector) {
              const std::vector<Field> a = elements.DrawMany(n + 4, special),
                                       b = elements.DrawMany(n + 4, special),
                                       c = elements.DrawMany(n + 4, special);
              std::vector<Field> x = a, y = b, z = c, w(n + 4);
              const auto result = [&] {
                x = a, y = b, z = c;
                return overlap == 0   ? &w[shift]
                       : overlap == 1 ? &x[shift]
                       : overlap == 2 ? &y[shift]
                                      : &z[shift];
              };
              const auto at = [&](const std::vector<Field>& v, int64_t i) { return v[i + shift]; };
              const auto factor = [&](int64_t i) { return at(b, vector != 0 ? i : 0); };
              Field* dst = result();
              ops->mul_plus[vector](dst, &x[shift], &y[shift], &z[shift], n);
              for (int64_t i = 0; i < n; ++i) {
                ASSERT_EQ(dst[i].raw(), (at(a, i) * factor(i) + at(c, i)).raw());
              }
              dst = result();
              ops->mul_minus[vector](dst, &x[shift], &y[shift], &z[shift], n);
              for (int64_t i = 0; i < n; ++i) {
                ASSERT_EQ(dst[i].raw(), (at(a, i) * factor(i) - at(c, i)).raw());
              }
              dst = result();
              ops->minus_mul[vector](dst, &x[shift], &y[shift], &z[shift], n);
              for (int64_t i = 0; i < n; ++i) {
                ASSERT_EQ(dst[i].raw(), (at(c, i) - at(a, i) * factor(i)).raw());
              }
              dst = result();
              std::vector<Field> before(dst, dst + n);
              (vector != 0 ? ops->mul_add_vv : ops->mul_add_vs)(dst, &x[shift], &y[shift], n);
              for (int64_t i = 0; i < n; ++i) {
                ASSERT_EQ(dst[i].raw(), (before[i] + at(a, i) * factor(i)).raw())
                    << n << " " << i << " " << overlap << " " << vector;
              }
            }
          }
          const std::vector<Field> a = elements.DrawMany(n + 4, special),
                                   b = elements.DrawMany(n + 4, special);
          const std::vector<Field> start = elements.DrawMany(kPartials, special);
          std::vector<Field> partials = start, expected = start;
          ops->partial_dot(partials.data(), &a[shift], &b[shift], n);
          for (int64_t i = 0; i < n; ++i) {
            expected[i % kPartials] = expected[i % kPartials] + a[i + shift] * b[i + shift];
          }
          for (int i = 0; i < kPartials; ++i) ASSERT_EQ(partials[i].raw(), expected[i].raw());
          constexpr std::pair<ReduceKind, ScalarFn> kKinds[] = {{ReduceKind::kSum, ScalarFn::kAdd},
                                                                {ReduceKind::kProd, ScalarFn::kMul},
                                                                {ReduceKind::kMax, ScalarFn::kMax},
                                                                {ReduceKind::kMin, ScalarFn::kMin}};
          for (const auto& [kind, fn] : kKinds) {
            partials = expected = start;
            ops->partial[static_cast<int>(kind)](partials.data(), &a[shift], n);
            for (int64_t i = 0; i < n; ++i) {
              expected[i % kPartials] = ApplyField(fn, expected[i % kPartials], a[i + shift]);
            }
            for (int i = 0; i < kPartials; ++i) ASSERT_EQ(partials[i].raw(), expected[i].raw());
          }
        }
      }
    }
  }
}

// c[i * ldc + j] by single elements.
void CheckTile(const LaneOps<Field>& ops, int64_t depth, bool accumulate, int64_t ldc,
               const std::vector<Field>& a, const std::vector<Field>& b,
               const std::vector<Field>& c) {
  std::vector<Field> result = c;
  ops.tile(&result[1], ldc, &a[1], &b[1], depth, accumulate);
  for (int64_t i = 0; i < static_cast<int64_t>(c.size()); ++i) {
    const int64_t row = (i - 1) / ldc, column = (i - 1) % ldc;
    Field expected = c[i];
    if (i > 0 && row < ops.mr && column < ops.nr) {
      if (!accumulate) expected = Field();
      for (int64_t k = 0; k < depth; ++k) {
        expected = expected + a[1 + k * ops.mr + row] * b[1 + k * ops.nr + column];
      }
    }
    ASSERT_EQ(result[i].raw(), expected.raw()) << depth << " " << accumulate << " " << i;
  }
}

TEST(FieldLanes, Tiles) {
  Elements elements;
  for (const LaneOps<Field>* ops : kTables) {
    std::vector<int64_t> depths = Lengths();
    depths.insert(depths.end(), {1023, 1024, 1025, 2047, 2048, 2049, 5000});
    for (const int64_t depth : depths) {
      for (const bool accumulate : {false, true}) {
        for (const int64_t more : {0, 1, 5}) {
          const int64_t ldc = ops->nr + more;
          CheckTile(*ops, depth, accumulate, ldc, elements.DrawMany(1 + depth * ops->mr, 0),
                    elements.DrawMany(1 + depth * ops->nr, 0),
                    elements.DrawMany(1 + ldc * ops->mr, 0));
        }
      }
    }
  }
}

// The limbs of these numbers make the largest partial sums.
TEST(FieldLanes, LongSumsOfLargeNumbers) {
  for (const LaneOps<Field>* ops : kTables) {
    for (const int64_t depth : {1024, 1025, 1 << 18}) {
      for (const uint64_t x : {kPrime - 1, kPrime - 2, (uint64_t{1} << 60) - 1,
                               kPrime - (uint64_t{1} << 52), (uint64_t{1} << 52) - 1}) {
        for (const uint64_t y : {kPrime - 1, (uint64_t{1} << 52) - 1}) {
          const std::vector<Field> a(depth * ops->mr, Field::FromRaw(x)),
              b(depth * ops->nr, Field::FromRaw(y));
          std::vector<Field> c(ops->mr * ops->nr, Field(-1));
          ops->tile(c.data(), ops->nr, a.data(), b.data(), depth, /*accumulate=*/true);
          const Field sum = Field(-1) + Field(depth) * (a[0] * b[0]);
          for (const Field& value : c) ASSERT_EQ(value.raw(), sum.raw()) << depth;
          std::vector<Field> partials(kPartials), acc(8);
          ops->partial_dot(partials.data(), a.data(), b.data(), depth);
          Field total;
          for (const Field& p : partials) total = total + p;
          ASSERT_EQ(total.raw(), (Field(depth) * (a[0] * b[0])).raw());
          for (int64_t i = 0; i < 5000; ++i) ops->mul_add_vs(acc.data(), a.data(), b.data(), 8);
          for (const Field& value : acc)
            ASSERT_EQ(value.raw(), (Field(5000) * (a[0] * b[0])).raw());
        }
      }
    }
  }
}

TEST(Field, InverseTimesElementIsOne) {
  Elements elements;
  const auto power = [](Field x, uint64_t n) {
    Field result(1);
    for (; n != 0; n >>= 1, x = x * x) {
      if (n & 1) result = result * x;
    }
    return result;
  };
  const auto check = [&](Field x) {
    ASSERT_EQ((x * x.Inverse()).raw(), 1u) << x.ToString();
    ASSERT_EQ(x.Inverse().raw(), power(x, kPrime - 2).raw()) << x.ToString();
  };
  for (int64_t i = 1; i < 20000; ++i) check(Field(i)), check(Field(-i));
  for (int i = 0; i < 61; ++i) check(Field::FromRaw(uint64_t{1} << i));
  for (int i = 0; i < 20000; ++i) {
    const Field x = elements.Draw(0);
    if (x != Field()) check(x);
  }
  EXPECT_EQ(Field().Inverse().raw(), 0u);
}

// 128-bit arithmetic is the measure of products of single elements.
TEST(Field, ProductsAreThoseOfIntegers) {
  Elements elements;
  for (int i = 0; i < 100000; ++i) {
    const Field a = elements.Draw(0), b = elements.Draw(0), c = elements.Draw(0);
    const auto product = static_cast<unsigned __int128>(a.raw()) * b.raw();
    ASSERT_EQ((a * b).raw(), static_cast<uint64_t>(product % kPrime));
    ASSERT_EQ((a * b + c).raw(), static_cast<uint64_t>((product + c.raw()) % kPrime));
    ASSERT_EQ((a - c).raw(), (a.raw() + (kPrime - c.raw())) % kPrime);
  }
}

int64_t Floored(int64_t a, int64_t b) {
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// Vectors divide integers in double where that is exact.
TEST(IntegerLanes, QuotientsAndRemainders) {
  std::mt19937_64 random(3);
  const auto power = [](int bits) { return int64_t{1} << bits; };
  std::vector<int64_t> divisors = {1,       2,  3,  5,  7,  10,        63,        64,           65,
                                   1000003, -1, -2, -3, -7, INT64_MAX, INT64_MIN, INT64_MIN + 1};
  std::vector<int64_t> edges = {0, 1, 2, 3, -1, -2, -3, INT64_MAX, INT64_MIN, INT64_MIN + 1};
  for (const int bits : {31, 32, 33, 49, 50, 51, 52, 53, 62}) {
    for (const int64_t near : {-2, -1, 0, 1, 2}) {
      divisors.push_back(power(bits) + near);
      edges.push_back(power(bits) + near);
      edges.push_back(-power(bits) + near);
    }
  }
  for (int i = 0; i < 60; ++i) {
    divisors.push_back(static_cast<int64_t>(random() >> (14 + random() % 48)) + 1);
  }
  const LaneOps<int64_t>& ops = Lanes<int64_t>();
  const int div = static_cast<int>(ScalarFn::kDiv), mod = static_cast<int>(ScalarFn::kMod);
  const auto quotient = [](int64_t a, int64_t b) {
    return b == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : a / b;
  };
  const auto remainder = [](int64_t a, int64_t b) { return b == -1 ? 0 : Floored(a, b); };
  for (const int64_t s : divisors) {
    for (const bool large : {false, true}) {
      std::vector<int64_t> values;
      const auto add = [&](int64_t x) {
        const bool fits = x >= -power(51) && x < power(51);
        if (fits || large) values.push_back(x);
      };
      for (const int64_t x : edges) add(x);
      for (int i = 0; i < 300; ++i) {
        const int64_t k =
            static_cast<int64_t>(random() >> 13) / std::max<int64_t>(1, std::abs(s / 2 + 1));
        for (const int64_t near : {-1, 0, 1}) {
          const auto multiple =
              static_cast<int64_t>(static_cast<uint64_t>(k) * static_cast<uint64_t>(s));
          add(multiple + near);
          add(-(multiple + near));
        }
        add(static_cast<int64_t>(random()) >> (12 + random() % 40));
      }
      std::shuffle(values.begin(), values.end(), random);
      for (size_t n = 0; n <= values.size(); n = n < 20               ? n + 1
                                                 : n == values.size() ? n + 1
                                                                      : values.size()) {
        std::vector<int64_t> q(n + 1, 42), r(n + 1, 42), b(n + 1, s),
            in_place(values.begin(), values.begin() + n);
        ops.vs[div](q.data(), values.data(), &s, n);
        ops.vs[mod](r.data(), values.data(), &s, n);
        in_place.push_back(s);
        for (size_t i = 0; i < n; ++i) {
          ASSERT_EQ(q[i], quotient(values[i], s)) << values[i] << " / " << s;
          ASSERT_EQ(r[i], remainder(values[i], s)) << values[i] << " mod " << s;
        }
        ASSERT_EQ(q[n], 42);
        ASSERT_EQ(r[n], 42);
        ops.vs[mod](in_place.data(), in_place.data(), &in_place[n], n);
        for (size_t i = 0; i < n; ++i) ASSERT_EQ(in_place[i], r[i]);
        ops.vv[div](q.data(), values.data(), b.data(), n);
        ops.vv[mod](r.data(), values.data(), b.data(), n);
        for (size_t i = 0; i < n; ++i) {
          ASSERT_EQ(q[i], quotient(values[i], s)) << values[i] << " / " << s;
          ASSERT_EQ(r[i], remainder(values[i], s)) << values[i] << " mod " << s;
        }
        ops.sv[div](q.data(), &s, b.data(), n);
        for (size_t i = 0; i < n; ++i) ASSERT_EQ(q[i], 1);
      }
    }
  }
}

TEST(IntegerLanes, Within) {
  const LaneOps<int64_t>& ops = Lanes<int64_t>();
  std::mt19937_64 random(3);
  for (int64_t n = 0; n < 70; ++n) {
    for (int round = 0; round < 20; ++round) {
      std::vector<int64_t> values(n + 1, 5);
      const int64_t where = n > 0 && random() % 2 != 0 ? static_cast<int64_t>(random() % n) : n;
      const int64_t kOutside[] = {-1, 11, INT64_MIN, INT64_MAX, -(int64_t{1} << 32)};
      values[where] = kOutside[random() % 5];
      ASSERT_EQ(ops.within(values.data(), 0, 10, n), where == n) << n;
    }
  }
  const int64_t ends[] = {INT64_MIN, INT64_MAX};
  EXPECT_TRUE(ops.within(ends, INT64_MIN, INT64_MAX, 2));
}

}  // namespace
}  // namespace lemma
