// Fourier transforms, as products with a constant matrix.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/build.h"
#include "graph/onnx/composites/composites.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

// The matrix [length * parts, bins * 2] that maps `length` numbers, complex ones as pairs, to y[k]
// = sum(n < length) x[n] exp(sign 2 pi i k n / length), divided by length if sign is positive.
absl::StatusOr<Tensor> FourierMatrix(DType dtype, int64_t length, int64_t parts, int64_t bins,
                                     double sign) {
  if (length * parts * bins * 2 > (int64_t{1} << 24)) {
    return absl::UnimplementedError("the transform is too long for a matrix");
  }
  const double scale = sign > 0 ? 1.0 / static_cast<double>(length) : 1.0;
  std::vector<double> values;
  for (int64_t n = 0; n < length; ++n) {
    for (int64_t part = 0; part < parts; ++part) {
      for (int64_t k = 0; k < bins; ++k) {
        const double angle =
            sign * 2 * M_PI * static_cast<double>(k * n % length) / static_cast<double>(length);
        const double re = scale * std::cos(angle), im = scale * std::sin(angle);
        values.push_back(part == 0 ? re : -im);
        values.push_back(part == 0 ? im : re);
      }
    }
  }
  return Tensor::FromDoubles({dtype, {length * parts, bins * 2}}, values);
}

// The transform of x [..., length, parts] to [..., bins, 2].
absl::StatusOr<Value> Transform(OnnxImport& node, OnnxBuild& b, const Value& x, bool onesided,
                                double sign) {
  if (!x) return b.status();
  Shape shape = x.shape();
  const int64_t parts = shape.back(), length = shape[shape.size() - 2];
  if (length < 1 || (parts != 1 && parts != 2)) {
    return absl::InvalidArgumentError("the last dimension must be 1 (real) or 2 (complex)");
  }
  const int64_t bins = onesided ? length / 2 + 1 : length;
  auto matrix = FourierMatrix(x.dtype(), length, parts, bins, sign);
  if (!matrix.ok()) return node.Unsupported(matrix.status().message());
  shape.pop_back();
  shape.back() = length * parts;
  Value y = b.Op("matmul", {b.Reshape(x, shape), node.Constant(*std::move(matrix))});
  shape.back() = bins;
  shape.push_back(2);
  return b.Reshape(y, shape);
}

// The matrix [bins * parts, length] that maps the first half of the spectrum of `length` real
// numbers to these: y[n] = 1 / length * sum(k < bins) w[k] Re(x[k] exp(2 pi i k n / length)). w[k]
// is 2 where the other half has a bin of the same values, conjugate; 1 for the other bins, whose
// imaginary parts do not count.
absl::StatusOr<Tensor> RealInverseMatrix(DType dtype, int64_t length, int64_t parts) {
  const int64_t bins = length / 2 + 1;
  if (length > (int64_t{1} << 24) / (bins * parts)) {
    return absl::UnimplementedError("the transform is too long for a matrix");
  }
  std::vector<double> values;
  for (int64_t k = 0; k < bins; ++k) {
    const bool twice = k > 0 && 2 * k < length;
    for (int64_t part = 0; part < parts; ++part) {
      for (int64_t n = 0; n < length; ++n) {
        const double angle =
            2 * M_PI * static_cast<double>(k * n % length) / static_cast<double>(length);
        const double wave = part == 0 ? std::cos(angle) : twice ? -std::sin(angle) : 0;
        values.push_back((twice ? 2 : 1) * wave / static_cast<double>(length));
      }
    }
  }
  return Tensor::FromDoubles({dtype, {bins * parts, length}}, values);
}

// x with `size` elements along `axis`: cut off, or zeros behind.
Value Resized(OnnxBuild& b, const Value& x, int64_t axis, int64_t size) {
  if (!x || x.shape()[axis] == size) return x;
  std::vector<int64_t> pads(2 * x.shape().size(), 0);
  pads[x.shape().size() + static_cast<size_t>(axis)] = size - x.shape()[axis];
  return b.Op("pad", {x}, {{"pads", pads}});
}

// The real signal of `length` elements with the spectrum x, [..., bins, parts]: [..., length, 1].
absl::StatusOr<Value> RealInverse(OnnxImport& node, OnnxBuild& b, const Value& x, int64_t length) {
  if (!x) return b.status();
  Shape shape = x.shape();
  const int64_t parts = shape.back();
  auto matrix = RealInverseMatrix(x.dtype(), length, parts);
  if (!matrix.ok()) return node.Unsupported(matrix.status().message());
  shape.pop_back();
  shape.back() = (length / 2 + 1) * parts;
  Value y = b.Op("matmul", {b.Reshape(x, shape), node.Constant(*std::move(matrix))});
  shape.back() = length;
  shape.push_back(1);
  return b.Reshape(y, shape);
}

// The axis is an attribute before operator set 20 and an input since then.
absl::StatusOr<int64_t> DftAxis(OnnxImport& node) {
  if (node.opset() < 20) return node.Int("axis", 1);
  if (!node.HasInput(2)) return -2;
  LEMMA_ASSIGN_OR_RETURN(const Tensor given, node.ConstantInput(2));
  if (given.size() != 1) return absl::InvalidArgumentError("axis must be a scalar");
  return given.AtInt(0);
}

Values ImportDft(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(int64_t axis, DftAxis(node));
  LEMMA_ASSIGN_OR_RETURN(int64_t inverse, node.Int("inverse", 0));
  LEMMA_ASSIGN_OR_RETURN(int64_t onesided, node.Int("onesided", 0));
  int rank = x.type().rank();
  if (rank < 2 || !IsFloat(x.dtype())) {
    return absl::InvalidArgumentError("the input must be floats of rank 2 or more");
  }
  LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, rank));
  if (axis == rank - 1) return absl::InvalidArgumentError("axis is that of the complex parts");
  if (x.shape()[rank - 1] != 1 && x.shape()[rank - 1] != 2) {
    return absl::InvalidArgumentError("the last dimension must be 1 (real) or 2 (complex)");
  }
  // Of the signal. To real numbers, the input has the first half of its spectrum.
  const bool to_real = inverse != 0 && onesided != 0;
  int64_t length = to_real ? 2 * (x.shape()[axis] - 1) : x.shape()[axis];
  if (node.HasInput(1)) {
    LEMMA_ASSIGN_OR_RETURN(const Tensor given, node.ConstantInput(1));
    if (given.size() != 1) return absl::InvalidArgumentError("dft_length must be a scalar");
    length = given.AtInt(0);
  }
  if (length < 1 || length > (int64_t{1} << 24)) {
    return absl::InvalidArgumentError(absl::StrCat("the transform's length is ", length));
  }
  OnnxBuild b(node);
  const bool is_single = rank == 2;  // one signal, without an axis of several
  if (is_single) {
    x = b.Reshape(x, {1, x.shape()[0], x.shape()[1]});
    ++axis;
    ++rank;
  }
  // Swapping the axis with the last but one; its own inverse.
  std::vector<int64_t> swap(rank);
  for (int i = 0; i < rank; ++i) swap[i] = i;
  std::swap(swap[axis], swap[rank - 2]);
  auto moved = [&](const Value& v) { return axis == rank - 2 ? v : b.Transpose(v, swap); };
  x = moved(Resized(b, x, axis, to_real ? length / 2 + 1 : length));
  Value y;
  if (to_real) {
    LEMMA_ASSIGN_OR_RETURN(y, RealInverse(node, b, x, length));
  } else {
    LEMMA_ASSIGN_OR_RETURN(y, Transform(node, b, x, onesided != 0, inverse != 0 ? 1.0 : -1.0));
  }
  y = moved(y);
  if (is_single && y) y = b.Reshape(y, {y.shape()[1], y.shape()[2]});
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

// Transforms each of the windows of `length` elements, `step` apart.
Values ImportStft(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value signal, node.Input(0));
  if (signal.type().rank() == 2) {  // real numbers
    LEMMA_ASSIGN_OR_RETURN(signal,
                           Reshape(node, signal, {signal.shape()[0], signal.shape()[1], 1}));
  }
  LEMMA_ASSIGN_OR_RETURN(Tensor step_tensor, node.ConstantInput(1));
  LEMMA_ASSIGN_OR_RETURN(int64_t onesided, node.Int("onesided", 1));
  Value window;
  int64_t length = 0;
  if (node.HasInput(2)) {
    LEMMA_ASSIGN_OR_RETURN(window, node.Input(2));
    length = window.type().num_elements();
  }
  if (node.HasInput(3)) {
    LEMMA_ASSIGN_OR_RETURN(Tensor tensor, node.ConstantInput(3));
    length = tensor.size() == 1 ? tensor.AtInt(0) : 0;
  }
  const int64_t step = step_tensor.size() == 1 ? step_tensor.AtInt(0) : 0;
  const bool fits = signal.type().rank() == 3 && IsFloat(signal.dtype()) && length >= 1 &&
                    step >= 1 && length <= signal.shape()[1] &&
                    (!window || window.type().num_elements() == length);
  if (!fits) return absl::InvalidArgumentError("signal, step, window and length do not fit");
  const int64_t frames = (signal.shape()[1] - length) / step + 1;
  std::vector<int64_t> positions;
  for (int64_t f = 0; f < frames; ++f) {
    for (int64_t i = 0; i < length; ++i) positions.push_back(f * step + i);
  }
  Value indices = node.Constant(Tensor::Ints(positions).Reshaped({frames, length}));
  OnnxBuild b(node);
  Value framed = b.Op("gather", {signal, indices}, {{"axis", int64_t{1}}});
  if (window) framed = b.Mul(framed, b.Reshape(window, {length, 1}));
  LEMMA_ASSIGN_OR_RETURN(Value y, Transform(node, b, framed, onesided != 0, -1.0));
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

}  // namespace

std::vector<OnnxImporter> FourierComposites() { return {{"DFT", ImportDft}, {"STFT", ImportStft}}; }

}  // namespace lemma::ops
