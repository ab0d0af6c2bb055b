#include "graph/onnx/left_open/left_open.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lemma {
namespace {

template <typename Predicate>
bool Any(const Tensor& tensor, Predicate holds) {
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (holds(tensor.AtDouble(i))) return true;
  }
  return false;
}

// Whether a power of two of these may exceed 31 bits.
bool HasUnboundedPower(const Tensor& base, const Tensor& exponent) {
  double largest = 0, most = 0;
  Any(base, [&](double x) { return largest = std::max(largest, std::fabs(x)), false; });
  const bool is_negative = Any(exponent, [&](double x) { return most = std::max(most, x), x < 0; });
  return is_negative || most * std::log2(std::max(largest, 1.0)) >= 31;
}

// Whether `x`, cut off towards 0, is outside of the integer type.
bool IsBeyond(DType dtype, double x) {
  const int bits = static_cast<int>(BitsOf(dtype)) - (IsUnsigned(dtype) ? 0 : 1);
  const double end = std::ldexp(1.0, bits), least = IsUnsigned(dtype) ? 0 : -end;
  return std::isnan(x) || std::trunc(x) < least || std::trunc(x) >= end;
}

// The place that each update of a scatter changes, as one number.
std::vector<int64_t> Places(const Node& node, const Tensor& x, const Tensor& indices) {
  const bool is_nd = node.IsOp("scatter_nd");
  std::vector<int64_t> places;
  auto wrapped = [](int64_t i, int64_t size) { return i < 0 ? i + size : i; };
  if (is_nd) {
    const int64_t width = indices.shape().back();
    for (int64_t row = 0; row * width < indices.size(); ++row) {
      int64_t place = 0;
      for (int64_t k = 0; k < width; ++k) {
        place = place * x.shape()[k] + wrapped(indices.AtInt(row * width + k), x.shape()[k]);
      }
      places.push_back(place);
    }
    return places;
  }
  const int rank = x.type().rank();
  const int axis = static_cast<int>((node.Int("axis") + rank) % rank);
  for (int64_t i = 0; i < indices.size(); ++i) {
    int64_t rest = i, place = 0, stride = 1;
    for (int d = rank - 1; d >= 0; --d) {
      const int64_t at = rest % indices.shape()[d];
      rest /= indices.shape()[d];
      place += stride * (d == axis ? wrapped(indices.AtInt(i), x.shape()[d]) : at);
      stride *= x.shape()[d];
    }
    places.push_back(place);
  }
  return places;
}

// Whether an update of a scatter goes to no place of `x`.
bool LeavesTensor(const Node& node, const Tensor& x, const Tensor& indices) {
  const int rank = x.type().rank();
  const bool is_nd = node.IsOp("scatter_nd");
  const int axis = is_nd ? 0 : static_cast<int>((node.Int("axis") + rank) % rank);
  const int64_t width = is_nd ? indices.shape().back() : 1;
  for (int64_t i = 0; i < indices.size(); ++i) {
    const int64_t size = x.shape()[is_nd ? i % width : axis];
    if (indices.AtInt(i) < -size || indices.AtInt(i) >= size) return true;
  }
  return false;
}

bool HasDuplicates(std::vector<int64_t> places) {
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) != places.end();
}

// Whether a product of some of these may exceed 31 bits.
bool HasUnboundedProduct(const Tensor& tensor) {
  double bits = 0;
  Any(tensor, [&](double x) { return bits += std::log2(std::max(std::fabs(x), 1.0)), false; });
  return bits >= 31;
}

}  // namespace

std::string LeftOpen(const Node& node, absl::Span<const Tensor> operands) {
  const std::string& op = node.op().name;
  const DType to = node.type(0).dtype;
  if (op == "cast" && IsInteger(to) && IsReal(operands[0].dtype()) &&
      Any(operands[0], [to](double x) { return IsBeyond(to, x); })) {
    return "a float becomes an integer that its type does not hold";
  }
  const bool scatters = op == "scatter_nd" || op == "scatter_elements";
  if (scatters && LeavesTensor(node, operands[0], operands[1])) return "an update of no element";
  if (scatters && node.String("reduction") == "none" &&
      HasDuplicates(Places(node, operands[0], operands[1]))) {
    return "two updates of one element";
  }
  if (op == "pow" && IsInteger(to) && HasUnboundedPower(operands[0], operands[1])) {
    return "a power that its integer type does not hold";
  }
  // cumprod is exported as ReduceProd.
  if ((op == "reduce_prod" || op == "cumprod") && IsInteger(to) &&
      HasUnboundedProduct(operands[0])) {
    return "a product that its integer type does not hold";
  }
  if (op == "top_k" && Any(operands[0], [](double x) { return std::isnan(x); })) {
    return "the place of NaN in an order";
  }
  if ((op == "conv2d" || op == "conv_transpose2d") && !operands[1].IsFinite()) {
    return "padding times weights that are not finite";
  }
  return "";
}

}  // namespace lemma
