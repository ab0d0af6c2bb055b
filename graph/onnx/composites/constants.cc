// Operators whose results have as many elements as the values say, for values known at import:
// NonZero, Unique, NonMaxSuppression, ImageDecoder. And MelWeightMatrix, whose operands are
// parameters.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/composites.h"
#include "graph/onnx/composites/dtype.h"
#include "graph/onnx/images/decode_image.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

// Element by element, the positions of what differs from 0: [rank, count].
Values ImportNonZero(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(const Tensor x, node.ConstantInput(0));
  const size_t rank = x.shape().size();
  std::vector<std::vector<int64_t>> at(rank);
  int64_t count = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (x.AtDouble(i) == 0) continue;
    ++count;
    int64_t rest = i;
    for (size_t d = rank; d-- > 0;) {
      at[d].push_back(rest % x.shape()[d]);
      rest /= x.shape()[d];
    }
  }
  std::vector<int64_t> all;
  for (const auto& row : at) all.insert(all.end(), row.begin(), row.end());
  return std::vector<Value>{
      node.Constant(Tensor::Ints(all).Reshaped({static_cast<int64_t>(rank), count}))};
}

// -1, 0 or 1 as elements i and j of x compare. NaN is equal to itself and larger than any number.
int Compare(const Tensor& x, int64_t i, int64_t j) {
  if (!IsFloat(x.dtype())) {
    const int64_t a = x.AtInt(i), b = x.AtInt(j);
    return a < b ? -1 : a > b;
  }
  const double a = x.AtDouble(i), b = x.AtDouble(j);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) - std::isnan(b);
  return a < b ? -1 : a > b;
}

// The slices of a tensor along an axis, compared element by element in row-major order.
class Slices {
 public:
  Slices(const Tensor& x, int64_t axis) : x_(x) {
    const Shape& shape = x.shape();
    count_ = shape[axis];
    const auto middle = shape.begin() + axis;
    outer_ = NumElements(Shape(shape.begin(), middle));
    inner_ = NumElements(Shape(middle + 1, shape.end()));
  }
  int64_t count() const { return count_; }
  int Compare(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < outer_; ++o) {
      for (int64_t i = 0; i < inner_; ++i) {
        const int order =
            ops::Compare(x_, (o * count_ + a) * inner_ + i, (o * count_ + b) * inner_ + i);
        if (order != 0) return order;
      }
    }
    return 0;
  }

 private:
  const Tensor& x_;
  int64_t count_, outer_, inner_;
};

// Of elements, or of slices along an axis: those that differ, where each is first, which of them
// each is, and how often they are there.
Values ImportUnique(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Tensor values, node.ConstantInput(0));
  LEMMA_ASSIGN_OR_RETURN(const int64_t sorted, node.Int("sorted", 1));
  int64_t axis = 0;
  if (node.FindAttr("axis") != nullptr) {
    LEMMA_ASSIGN_OR_RETURN(axis, node.Int("axis"));
    LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, x.type().rank()));
  } else {
    LEMMA_ASSIGN_OR_RETURN(x, Reshape(node, x, {values.size()}));
    values = values.Reshaped({values.size()});
  }
  const Slices slices(values, axis);
  std::vector<int64_t> order(static_cast<size_t>(slices.count()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return slices.Compare(a, b) < 0; });
  // Groups of equal slices; a group's first member is its smallest, since the sort is stable.
  std::vector<int64_t> first, count, group(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || slices.Compare(order[i - 1], order[i]) != 0) {
      first.push_back(order[i]);
      count.push_back(0);
    }
    ++count.back();
    group[static_cast<size_t>(order[i])] = static_cast<int64_t>(first.size()) - 1;
  }
  // In the order of values, or of first appearance.
  std::vector<int64_t> places(first.size());
  std::iota(places.begin(), places.end(), 0);
  if (sorted == 0) {
    std::sort(places.begin(), places.end(),
              [&](int64_t a, int64_t b) { return first[a] < first[b]; });
  }
  std::vector<int64_t> rank(first.size()), firsts, counts;
  for (size_t p = 0; p < places.size(); ++p) {
    rank[places[p]] = static_cast<int64_t>(p);
    firsts.push_back(first[places[p]]);
    counts.push_back(count[places[p]]);
  }
  for (int64_t& g : group) g = rank[g];
  LEMMA_ASSIGN_OR_RETURN(
      const Value y, node.Op("gather", {x, node.Constant(Tensor::Ints(firsts))}, {{"axis", axis}}));
  return std::vector<Value>{y, node.Constant(Tensor::Ints(firsts)),
                            node.Constant(Tensor::Ints(group)),
                            node.Constant(Tensor::Ints(counts))};
}

struct Box {
  float low[2], high[2];  // y and x
  float Area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

// Whether the boxes' intersection is more than `threshold` of their union.
bool Overlap(const Box& a, const Box& b, float threshold) {
  float common = 1;
  for (int d : {0, 1}) {
    const float low = std::max(a.low[d], b.low[d]), high = std::min(a.high[d], b.high[d]);
    if (high <= low) return false;
    common *= high - low;
  }
  const float all = a.Area() + b.Area() - common;
  if (common <= 0 || a.Area() <= 0 || b.Area() <= 0 || all <= 0) return false;
  return common / all > threshold;
}

Box ReadBox(const Tensor& boxes, int64_t at, bool by_center) {
  float v[4];
  for (int i = 0; i < 4; ++i) v[i] = static_cast<float>(boxes.AtDouble(at * 4 + i));
  if (by_center) {  // x, y, width, height
    return {{v[1] - v[3] / 2, v[0] - v[2] / 2}, {v[1] + v[3] / 2, v[0] + v[2] / 2}};
  }
  return {{std::min(v[0], v[2]), std::min(v[1], v[3])},
          {std::max(v[0], v[2]), std::max(v[1], v[3])}};
}

// For each class of each batch, the boxes of highest score that do not overlap a better one.
Values ImportNonMaxSuppression(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(const Tensor boxes, node.ConstantInput(0));
  LEMMA_ASSIGN_OR_RETURN(const Tensor scores, node.ConstantInput(1));
  LEMMA_ASSIGN_OR_RETURN(const int64_t by_center, node.Int("center_point_box", 0));
  std::optional<double> parameters[3];  // the most boxes of a class, overlap, score
  for (int i = 0; i < 3; ++i) {
    if (!node.HasInput(2 + i)) continue;
    LEMMA_ASSIGN_OR_RETURN(const Tensor given, node.ConstantInput(2 + i));
    if (given.size() > 0) parameters[i] = given.AtDouble(0);
  }
  const Shape &b = boxes.shape(), &s = scores.shape();
  if (b.size() != 3 || s.size() != 3 || b[2] != 4 || b[0] != s[0] || b[1] != s[2]) {
    return absl::InvalidArgumentError(absl::StrCat("boxes ", ToString(b), " and scores ",
                                                   ToString(s), " must be [B,N,4] and [B,C,N]"));
  }
  const double most = parameters[0].value_or(0);
  std::vector<int64_t> selected;
  for (int64_t line = 0; line < s[0] * s[1]; ++line) {
    auto score = [&](int64_t i) { return static_cast<float>(scores.AtDouble(line * s[2] + i)); };
    std::vector<int64_t> candidates;
    for (int64_t i = 0; i < s[2]; ++i) {
      const bool enough = !parameters[2] || score(i) > static_cast<float>(*parameters[2]);
      if (enough) candidates.push_back(i);
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](int64_t i, int64_t j) { return score(i) > score(j); });
    std::vector<Box> taken;
    for (int64_t i : candidates) {
      if (static_cast<double>(taken.size()) >= most) break;
      const Box box = ReadBox(boxes, line / s[1] * s[2] + i, by_center != 0);
      const float threshold = static_cast<float>(parameters[1].value_or(0));
      const bool free = std::none_of(taken.begin(), taken.end(), [&](const Box& other) {
        return Overlap(box, other, threshold);
      });
      if (!free) continue;
      taken.push_back(box);
      selected.insert(selected.end(), {line / s[1], line % s[1], i});
    }
  }
  const int64_t count = static_cast<int64_t>(selected.size()) / 3;
  return std::vector<Value>{node.Constant(Tensor::Ints(selected).Reshaped({count, 3}))};
}

// The pixels of an image file.
Values ImportImageDecoder(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(const Tensor file, node.ConstantInput(0));
  LEMMA_ASSIGN_OR_RETURN(const std::string name, node.String("pixel_format", "RGB"));
  auto format = images::PixelFormat::kRgb;
  if (name == "BGR") {
    format = images::PixelFormat::kBgr;
  } else if (name == "Grayscale") {
    format = images::PixelFormat::kGrayscale;
  } else if (name != "RGB") {
    return absl::InvalidArgumentError(
        absl::StrCat("pixel_format ", name, " must be RGB, BGR or Grayscale"));
  }
  if (file.dtype() != DType::kU8 || file.shape().size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the image file ", ToString(file.shape()), " must be u8 [bytes]"));
  }
  const auto bytes = file.data<uint8_t>();
  LEMMA_ASSIGN_OR_RETURN(
      Tensor image,
      images::DecodeImage({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, format));
  return std::vector<Value>{node.Constant(std::move(image))};
}

// Triangles over the bins of a spectrum, whose corners are equally spaced on the mel scale,
// 2595 log10(1 + hertz / 700).
Values ImportMelWeightMatrix(OnnxImport& node) {
  double in[5];  // bins, length, rate, lower and upper edge
  for (int i = 0; i < 5; ++i) {
    LEMMA_ASSIGN_OR_RETURN(const Tensor given, node.ConstantInput(i));
    if (given.size() != 1) return absl::InvalidArgumentError("inputs must be scalars");
    in[i] = given.AtDouble(0);
  }
  LEMMA_ASSIGN_OR_RETURN(const int64_t number, node.Int("output_datatype", 1));
  LEMMA_ASSIGN_OR_RETURN(const DType dtype, FromOnnxNumber(node, number));
  const bool fits = in[0] >= 1 && in[0] < 1e6 && in[1] >= 0 && in[1] < 1e6 && in[2] > 0 &&
                    in[3] >= 0 && in[4] >= in[3];
  if (!fits) return absl::InvalidArgumentError("a parameter is out of range");
  const int64_t bins = static_cast<int64_t>(in[0]);
  const int64_t rows = static_cast<int64_t>(in[1]) / 2 + 1;
  if (bins * rows > (int64_t{1} << 24))
    return absl::InvalidArgumentError("the matrix is too large");
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(in[3]), step = (mel(in[4]) - low) / static_cast<double>(bins + 2);
  std::vector<int64_t> corners;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + low) / 2595) - 1);
    corners.push_back(static_cast<int64_t>(std::floor((in[1] + 1) * hertz / in[2])));
    if (corners.back() < 0 || corners.back() > rows) {
      return absl::InvalidArgumentError("the upper edge lies above half the sample rate");
    }
  }
  std::vector<double> matrix(static_cast<size_t>(bins * rows), 0);
  auto set = [&](int64_t row, int64_t bin, double v) {
    if (row < rows) matrix[static_cast<size_t>(row * bins + bin)] = v;
  };
  for (int64_t i = 0; i < bins; ++i) {
    const int64_t left = corners[i], center = corners[i + 1], right = corners[i + 2];
    if (left == center) set(center, i, 1);
    for (int64_t j = left; left < center && j <= center; ++j) {
      set(j, i, static_cast<double>(j - left) / static_cast<double>(center - left));
    }
    for (int64_t j = center; j < right; ++j) {
      set(j, i, static_cast<double>(right - j) / static_cast<double>(right - center));
    }
  }
  LEMMA_ASSIGN_OR_RETURN(Tensor result, Tensor::FromDoubles({dtype, {rows, bins}}, matrix));
  return std::vector<Value>{node.Constant(std::move(result))};
}

}  // namespace

std::vector<OnnxImporter> ConstantComposites() {
  return {{"NonZero", ImportNonZero},
          {"Unique", ImportUnique},
          {"NonMaxSuppression", ImportNonMaxSuppression},
          {"ImageDecoder", ImportImageDecoder},
          {"MelWeightMatrix", ImportMelWeightMatrix}};
}

}  // namespace lemma::ops
