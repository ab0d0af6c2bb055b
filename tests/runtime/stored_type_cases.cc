#include "tests/runtime/stored_type_cases.h"

#include <cstdint>
#include <limits>

namespace lemma {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Tensor TensorOf(const TensorType& type, const std::vector<double>& values) {
  Tensor t = *Tensor::Allocate(type);
  if (type.dtype == DType::kI64) {
    for (size_t i = 0; i < values.size(); ++i) {
      static_cast<int64_t*>(t.mutable_raw())[i] = static_cast<int64_t>(values[i]);
    }
    return t;
  }
  return *Tensor::FromDoubles(type, values);
}

}  // namespace

const std::vector<StoredTypeCase>& StoredTypeCases() {
  static const auto* cases = new std::vector<StoredTypeCase>{
      {"i64_to_i8_wraps",
       R"(graph g(x: i64[2]) {
       a = cast(x) {dtype = "i8"} y = cast(a) {dtype = "f32"} return y })",
       {{200, -129}},
       {-56, 127}},
      {"u8_below_zero_wraps",
       R"(graph g(a: u8[1], b: u8[1]) {
       d = sub(a, b) y = cast(d) {dtype = "f32"} return y })",
       {{0}, {1}},
       {255}},
      {"i32_overflow_wraps",
       R"(graph g(a: i32[1], b: i32[1]) {
       s = add(a, b) y = cast(s) {dtype = "f32"} return y })",
       {{2147483647}, {1}},
       {-2147483648.0}},
      {"i8_product_wraps",
       R"(graph g(a: i8[1], b: i8[1]) {
       p = mul(a, b) q = add(p, p) y = cast(q) {dtype = "i32"} return y })",
       {{100}, {3}},
       {88}},
      {"i64_through_f32_saturates",
       R"(graph g(x: i64[3]) {
       a = cast(x) {dtype = "f32"} y = cast(a) {dtype = "u16"} return y })",
       {{100000, -5, 7}},
       {65535, 0, 7}},
      {"i64_through_f32_is_compared_as_f32",
       R"(graph g(a: i64[2], b: i64[2]) {
       p = cast(a) {dtype = "f32"} q = cast(b) {dtype = "f32"} y = less(p, q) return y })",
       {{16777216, 5}, {16777217, 6}},
       {0, 1}},
      {"f32_to_i8_saturates",
       R"(graph g(x: f32[3]) {
       a = cast(x) {dtype = "i8"} y = cast(a) {dtype = "f32"} return y })",
       {{300, 1e30, -1000}},
       {127, 127, -128}},
      {"f32_to_u8_saturates",
       R"(graph g(x: f32[3]) {
       a = cast(x) {dtype = "u8"} y = cast(a) {dtype = "f32"} z = scalar_mul(y) {alpha = 2.0}
       return z })",
       {{300, -7, 2.75}},
       {510, 0, 4}},
      {"f16_rounds",
       R"(graph g(x: f32[3]) {
       a = cast(x) {dtype = "f16"} y = cast(a) {dtype = "f32"} return y })",
       {{2049, 1e6, 0.1}},
       {2048, kInf, 0.0999755859375}},
      {"bf16_rounds",
       R"(graph g(x: f32[2]) {
       a = cast(x) {dtype = "bf16"} y = cast(a) {dtype = "f32"} return y })",
       {{257, 0.1}},
       {256, 0.10009765625}},
      {"f16_sum_rounds_before_the_difference",
       R"(graph g(x: f16[1], z: f16[1]) {
       s = add(x, z) d = sub(s, x) return d })",
       {{2048}, {1}},
       {0}},
      {"f32_rounds_before_a_discrete_operator",
       R"(graph g(x: f32[1], z: f32[1]) {
       s = add(x, z) d = sub(s, x) i = cast(d) {dtype = "i64"} return i })",
       {{16777216}, {1}},
       {0}},
      {"f32_rounds_within_f64",
       R"(graph g(x: f32[1], z: f32[1]) {
       s = add(x, z) d = cast(s) {dtype = "f64"} return d })",
       {{16777216}, {1}},
       {16777216}},
      {"casts_flip_a_comparison",
       R"(graph g(x: i64[1], z: i64[1]) {
       a = cast(x) {dtype = "f32"} b = cast(z) {dtype = "f32"} c = less(a, b)
       y = cast(c) {dtype = "f32"} return y })",
       {{16777216}, {16777217}},
       {0}},
      {"integers_beyond_a_double_are_exact",
       R"(graph g(x: i64[1]) {
       k = constant i64[1] fill 1 s = add(x, k) c = less(x, s) y = cast(c) {dtype = "f32"}
       return y })",
       {{9007199254740992}},
       {1}},
      {"an_integer_is_rounded_to_f32_once",
       R"(graph g(x: i64[1]) {
       k = constant i64[1] fill 1 s = add(x, k) y = cast(s) {dtype = "f32"} return y })",
       {{9007199791611904}},  // 2^53 + 2^29: rounded to a double first, the sum is a tie
       {9007200328482816}},
      {"an_integer_zero_has_no_sign",
       R"(graph g(x: f32[3]) {
       a = cast(x) {dtype = "i8"} b = cast(a) {dtype = "f32"} y = reciprocal(b) return y })",
       {{-0.3, 0.3, -0.0}},
       {kInf, kInf, kInf}},
      {"truth_is_one",
       R"(graph g(x: f32[2]) {
       a = cast(x) {dtype = "bool"} y = cast(a) {dtype = "f32"} z = add(y, y) return z })",
       {{0.5, 0}},
       {2, 0}},
      {"argmax_of_a_line_with_nan_is_there",
       R"(graph g(x: f32[2,3]) { y = argmax(x) {axis = 1} return y })",
       {{1, kNaN, kNaN, 3, 1, 3}},
       {1, 0}},
      {"argmin_of_a_line_with_nan_is_there",
       R"(graph g(x: f32[2,3]) { y = argmin(x) {axis = 1, select_last = 1} return y })",
       {{1, kNaN, kNaN, 3, 1, 3}},
       {2, 1}},
      {"hardmax_of_a_line_with_nan_is_there",
       R"(graph g(x: f32[3]) { y = hardmax(x) return y })",
       {{1, kNaN, 3}},
       {0, 1, 0}},
      {"max_pool_takes_nan_from_where_it_is",
       R"(graph g(x: f32[1,1,2,2]) { y = max_pool2d_index(x) {kernel = [2,2]} return y })",
       {{1, 2, kNaN, 3}},
       {2}},
      {"max_pool_gradient_goes_to_nan",
       R"(graph g(x: f32[1,1,2,2], dy: f32[1,1,1,1]) {
       y = max_pool2d_gradient(x, dy) {kernel = [2,2]} return y })",
       {{1, 2, kNaN, 3}, {5}},
       {0, 0, 5, 0}},
      {"logsumexp_of_infinities",
       R"(graph g(x: f32[3,2]) { y = reduce_logsumexp(x) {axes = [1]} return y })",
       {{kInf, 1, -kInf, -kInf, -kInf, 2}},
       {kInf, -kInf, 2}},
  };
  return *cases;
}

const std::vector<StoredTypeCase>& SmallTypeCases() {
  static const auto* cases = new std::vector<StoredTypeCase>{
      {"f32_to_i4_saturates_between_operators",
       R"(graph g(x: f32[4]) {
       a = add(x, x) b = cast(a) {dtype = "i4"} c = cast(b) {dtype = "f32"} y = mul(c, c)
       return y })",
       {{1.2, 5, -6, 0.4}},
       {4, 49, 64, 0}},
      {"i32_to_u2_wraps_between_operators",
       R"(graph g(x: i32[4]) {
       a = add(x, x) b = cast(a) {dtype = "u2"} c = cast(b) {dtype = "i32"} y = neg(c)
       return y })",
       {{1, 2, 3, -1}},
       {-2, 0, -2, -2}},
      {"i2_sums_wrap",
       R"(graph g(a: i2[3], b: i2[3]) {
       s = add(a, b) y = cast(s) {dtype = "f32"} return y })",
       {{1, -2, 1}, {1, -1, -2}},
       {-2, 1, -1}},
      {"u4_minus_a_zero_point",
       R"(graph g(q: u4[3], z: u4[1], s: f32[1]) {
       a = cast(q) {dtype = "f32"} b = cast(z) {dtype = "f32"} c = sub(a, b) y = mul(c, s)
       return y })",
       {{0, 8, 15}, {8}, {0.5}},
       {-4, 0, 3.5}},
      {"f8e4m3_rounds_between_operators",
       R"(graph g(x: f32[4]) {
       a = mul(x, x) b = cast(a) {dtype = "f8e4m3fn"} c = cast(b) {dtype = "f32"} y = add(c, c)
       return y })",
       {{1.1, 3, 0.01, 21}},
       {2.5, 18, 0, 896}},
      {"f8e5m2_rounds_between_operators",
       R"(graph g(x: f32[4]) {
       a = cast(x) {dtype = "f8e5m2"} b = cast(a) {dtype = "f32"} y = neg(b) return y })",
       {{1.1, -1.13, 1e5, 61439}},
       {-1, 1.25, -kInf, -57344}},
      {"f8e4m3_to_f8e5m2_takes_the_even_one",
       R"(graph g(x: f8e4m3fn[2]) {
       a = cast(x) {dtype = "f8e5m2"} y = cast(a) {dtype = "f32"} return y })",
       {{3.25, 3.75}},
       {3, 4}},
      {"f4e2m1_saturates_between_operators",
       R"(graph g(x: f32[4]) {
       a = cast(x) {dtype = "f4e2m1"} b = cast(a) {dtype = "f32"} y = add(b, b) return y })",
       {{0.3, 5, -7, 2.5}},
       {1, 8, -12, 4}},
      {"f8e8m0_is_a_power_of_two",
       R"(graph g(x: f32[4], s: f8e8m0[4]) {
       a = cast(s) {dtype = "f32"} y = mul(x, a) return y })",
       {{3, 3, 3, 3}, {1, 0.25, 3, 5}},
       {3, 0.75, 12, 12}},
      {"small_floats_are_chosen_and_moved",
       R"(graph g(c: bool[2], a: f8e4m3fn[2], b: f8e4m3fn[2]) {
       w = where(c, a, b) t = concat(w, a) {axis = 0} y = cast(t) {dtype = "f32"} return y })",
       {{1, 0}, {448, -0.5}, {2, 3}},
       {448, 3, 448, -0.5}},
      {"f16_to_f8_rounds_once",
       R"(graph g(x: f16[2]) {
       a = cast(x) {dtype = "f8e4m3fnuz"} y = cast(a) {dtype = "f16"} return y })",
       {{1.0625, 1.1875}},
       {1, 1.25}},
  };
  return *cases;
}

std::vector<Tensor> InputsOf(const StoredTypeCase& c, const Graph& graph) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    inputs.push_back(TensorOf(graph.inputs()[i].type(), c.inputs[i]));
  }
  return inputs;
}

}  // namespace lemma
