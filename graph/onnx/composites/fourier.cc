// Fourier transforms, as products with a constant matrix.
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/build.h"
#include "graph/onnx/composites/composites.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

struct FourierForm {
  double sign = -1;       // of the exponent; the inverse transform has 1 and divides by `length`
  bool onesided = false;  // of a real signal: only bins up to length / 2
  std::optional<int64_t> length;  // to which the signal is cut or padded with zeros
};

// The matrix [given * parts, bins * results] that maps `given` numbers, complex ones as pairs, to
// y[k] = sum(n < min(given, length)) w[n] x[n] exp(sign 2 pi i k n / length), divided by length if
// sign is positive. With two results, complex numbers as pairs and w[n] = 1. With one, the real
// part: x[n] stands for x[length - n] also, so w[n] = 2 unless both are the same.
absl::StatusOr<Tensor> FourierMatrix(DType dtype, int64_t given, int64_t length, int64_t parts,
                                     int64_t bins, int64_t results, double sign) {
  if (given * parts * bins * results > (int64_t{1} << 24)) {
    return absl::UnimplementedError("the transform is too long for a matrix");
  }
  const double scale = sign > 0 ? 1.0 / static_cast<double>(length) : 1.0;
  const int64_t used = results == 2 ? length : length / 2 + 1;
  std::vector<double> values;
  for (int64_t n = 0; n < given; ++n) {
    const double twice = results == 1 && n % length != 0 && 2 * n != length ? 2 : 1;
    const double weight = n < used ? twice * scale : 0;
    for (int64_t part = 0; part < parts; ++part) {
      for (int64_t k = 0; k < bins; ++k) {
        const double angle =
            sign * 2 * M_PI * static_cast<double>(k * n % length) / static_cast<double>(length);
        // The imaginary part of a number that stands for itself only is 0.
        const bool vanishes = results == 1 && twice == 1;
        const double re = weight * std::cos(angle);
        const double im = vanishes ? 0 : weight * std::sin(angle);
        values.push_back(part == 0 ? re : -im);
        if (results == 2) values.push_back(part == 0 ? im : re);
      }
    }
  }
  return Tensor::FromDoubles({dtype, {given * parts, bins * results}}, values);
}

// The transform of x [..., given, parts] to [..., bins, 2], or of one half of a spectrum to
// [..., length, 1].
absl::StatusOr<Value> Transform(OnnxImport& node, OnnxBuild& b, const Value& x,
                                const FourierForm& form) {
  if (!x) return b.status();
  Shape shape = x.shape();
  const int64_t parts = shape.back(), given = shape[shape.size() - 2];
  if (given < 1 || (parts != 1 && parts != 2)) {
    return absl::InvalidArgumentError("the last dimension must be 1 (real) or 2 (complex)");
  }
  const bool to_real = form.onesided && form.sign > 0;
  const int64_t length = form.length.value_or(to_real ? 2 * (given - 1) : given);
  if (length < 1) return absl::InvalidArgumentError(absl::StrCat("length ", length));
  const int64_t bins = form.onesided && !to_real ? length / 2 + 1 : length;
  const int64_t results = to_real ? 1 : 2;
  auto matrix = FourierMatrix(x.dtype(), given, length, parts, bins, results, form.sign);
  if (!matrix.ok()) return node.Unsupported(matrix.status().message());
  shape.pop_back();
  shape.back() = given * parts;
  if (shape.size() == 1) {  // a product wants rows
    Value row = b.Op("matmul", {b.Reshape(x, {1, shape[0]}), node.Constant(*std::move(matrix))});
    return b.Reshape(row, {bins, results});
  }
  Value y = b.Op("matmul", {b.Reshape(x, shape), node.Constant(*std::move(matrix))});
  shape.back() = bins;
  shape.push_back(results);
  return b.Reshape(y, shape);
}

Values ImportDft(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  int64_t axis = -2;
  if (node.opset() < 20) {
    LEMMA_ASSIGN_OR_RETURN(axis, node.Int("axis", 1));
  } else if (node.HasInput(2)) {
    LEMMA_ASSIGN_OR_RETURN(Tensor given, node.ConstantInput(2));
    if (given.size() != 1) return absl::InvalidArgumentError("axis must be one number");
    axis = given.AtInt(0);
  }
  LEMMA_ASSIGN_OR_RETURN(int64_t inverse, node.Int("inverse", 0));
  LEMMA_ASSIGN_OR_RETURN(int64_t onesided, node.Int("onesided", 0));
  const int rank = x.type().rank();
  if (rank < 2 || !IsFloat(x.dtype())) {
    return absl::InvalidArgumentError("the input must be floats of rank 2 or more");
  }
  LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, rank));
  if (axis == rank - 1) return absl::InvalidArgumentError("axis is that of the complex parts");
  FourierForm form{inverse != 0 ? 1.0 : -1.0, onesided != 0, std::nullopt};
  if (node.HasInput(1)) {
    LEMMA_ASSIGN_OR_RETURN(Tensor length, node.ConstantInput(1));
    if (length.size() != 1) return absl::InvalidArgumentError("dft_length must be one number");
    form.length = length.AtInt(0);
  }
  // Swapping the axis with the last but one; its own inverse.
  std::vector<int64_t> swap(rank);
  for (int i = 0; i < rank; ++i) swap[i] = i;
  std::swap(swap[axis], swap[rank - 2]);
  OnnxBuild b(node);
  auto moved = [&](const Value& v) { return axis == rank - 2 ? v : b.Transpose(v, swap); };
  LEMMA_ASSIGN_OR_RETURN(Value y, Transform(node, b, moved(x), form));
  y = moved(y);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

// Transforms each of the windows of `length` elements, `step` apart.
Values ImportStft(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value signal, node.Input(0));
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
  LEMMA_ASSIGN_OR_RETURN(Value y, Transform(node, b, framed, {-1.0, onesided != 0, std::nullopt}));
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

}  // namespace

std::vector<OnnxImporter> FourierComposites() { return {{"DFT", ImportDft}, {"STFT", ImportStft}}; }

}  // namespace lemma::ops
