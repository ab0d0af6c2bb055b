// Elements that move, or add up where they meet: CenterCropPad, Col2Im, TensorScatter.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/build.h"
#include "graph/onnx/composites/composites.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

constexpr int64_t kMaxSize = int64_t{1} << 31;

// Cuts off or adds zeros on both sides; the odd element is the one at the end.
Values ImportCenterCropPad(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Tensor given, node.ConstantInput(1));
  const int rank = x.type().rank();
  std::vector<int64_t> all(rank);
  for (int d = 0; d < rank; ++d) all[d] = d;
  LEMMA_ASSIGN_OR_RETURN(std::vector<int64_t> axes, node.Ints("axes", all));
  const std::vector<int64_t> sizes = given.ToInts();
  if (sizes.size() != axes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape has ", sizes.size(), " sizes for ", axes.size(), " axes"));
  }
  std::vector<int64_t> pads(2 * static_cast<size_t>(rank), 0);
  std::vector<bool> named(rank, false);
  bool changes = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(const int64_t axis, NormalizeOnnxAxis(axes[i], rank));
    if (sizes[i] < 0 || sizes[i] > kMaxSize || named[axis]) {
      return absl::InvalidArgumentError(
          absl::StrCat("size ", sizes[i], " of axis ", axis, ", or the axis is named twice"));
    }
    named[axis] = true;
    const int64_t more = sizes[i] - x.shape()[axis];
    // A quotient towards 0: the smaller half is at the beginning.
    pads[axis] = more / 2;
    pads[rank + axis] = more - more / 2;
    changes = changes || more != 0;
  }
  if (!changes) return std::vector<Value>{x};
  return node.Ops("pad", {x}, {{"pads", pads}});
}

// Blocks along one axis of an image: block l covers positions l * stride - before + r * dilation
// for r < kernel.
struct BlockAxis {
  int64_t size, kernel, stride, dilation, before, after;
  int64_t Blocks() const {
    const int64_t left = size + before + after - ((kernel - 1) * dilation + 1);
    return left < 0 ? 0 : left / stride + 1;
  }
};

absl::StatusOr<std::vector<BlockAxis>> ReadBlocks(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(const Tensor image, node.ConstantInput(1));
  LEMMA_ASSIGN_OR_RETURN(const Tensor block, node.ConstantInput(2));
  const size_t rank = static_cast<size_t>(image.size());
  const std::vector<int64_t> ones(rank, 1), zeros(2 * rank, 0);
  LEMMA_ASSIGN_OR_RETURN(const std::vector<int64_t> dilations, node.Ints("dilations", ones));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, node.Ints("strides", ones));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<int64_t> pads, node.Ints("pads", zeros));
  if (rank < 1 || block.size() != image.size() || dilations.size() != rank ||
      strides.size() != rank || pads.size() != 2 * rank) {
    return absl::InvalidArgumentError("image_shape, block_shape and attributes differ in length");
  }
  std::vector<BlockAxis> axes;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t i = static_cast<int64_t>(d);
    axes.push_back(
        {image.AtInt(i), block.AtInt(i), strides[d], dilations[d], pads[d], pads[rank + d]});
    const BlockAxis& a = axes.back();
    for (int64_t v : {a.size, a.kernel, a.stride, a.dilation}) {
      if (v < 1 || v > (int64_t{1} << 24)) {
        return absl::InvalidArgumentError("sizes, strides and dilations must be positive");
      }
    }
    if (a.size > (int64_t{1} << 24) / a.kernel) return node.Unsupported("images this large");
    if (a.before < 0 || a.after < 0 || a.before > kMaxSize || a.after > kMaxSize) {
      return absl::InvalidArgumentError("pads must not be negative");
    }
  }
  return axes;
}

// The inverse of cutting an image into blocks: elements of several blocks add up. Axis by axis,
// y[…,h,…] = sum(r < kernel, l whole and a block) x[…,r,l,…], l = (h + before - r * dilation) /
// stride: a gather at constant positions, where an element that does not exist is a 0 added behind.
Values ImportCol2Im(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<BlockAxis> axes, ReadBlocks(node));
  const size_t rank = axes.size();
  Shape apart;
  int64_t kernel = 1, blocks = 1;
  for (const BlockAxis& a : axes) {
    kernel *= a.kernel;
    blocks *= a.Blocks();
    if (kernel > kMaxSize || blocks > kMaxSize) return absl::InvalidArgumentError("too large");
  }
  const Shape& shape = x.shape();
  if (shape.size() != 3 || shape[1] % kernel != 0 || shape[2] != blocks) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", ToString(shape), " must be [N, C * ", kernel, ", ", blocks, "]"));
  }
  // [N*C, kernel…, blocks…], then each axis' kernel beside its blocks.
  apart.push_back(shape[0] * (shape[1] / kernel));
  std::vector<int64_t> perm = {0};
  for (const BlockAxis& a : axes) apart.push_back(a.kernel);
  for (const BlockAxis& a : axes) apart.push_back(a.Blocks());
  for (size_t d = 0; d < rank; ++d) {
    perm.push_back(static_cast<int64_t>(1 + d));
    perm.push_back(static_cast<int64_t>(1 + rank + d));
  }
  OnnxBuild b(node);
  Value y = b.Transpose(b.Reshape(x, apart), perm);
  Shape now = {apart[0]};
  for (const BlockAxis& a : axes) now.push_back(a.kernel * a.Blocks());
  for (size_t d = 0; d < rank; ++d) {
    const BlockAxis& a = axes[d];
    const int64_t count = a.Blocks(), nothing = a.kernel * count,
                  axis = static_cast<int64_t>(1 + d);
    std::vector<int64_t> from;
    for (int64_t h = 0; h < a.size; ++h) {
      for (int64_t r = 0; r < a.kernel; ++r) {
        const int64_t at = h + a.before - r * a.dilation;
        const bool exists = at >= 0 && at % a.stride == 0 && at / a.stride < count;
        from.push_back(exists ? r * count + at / a.stride : nothing);
      }
    }
    std::vector<int64_t> pads(2 * now.size(), 0);
    pads[now.size() + static_cast<size_t>(axis)] = 1;
    y = b.Op("pad", {b.Reshape(y, now)}, {{"pads", pads}});
    const Value places = node.Constant(Tensor::Ints(from).Reshaped({a.size, a.kernel}));
    y = b.Op("gather", {y, places}, {{"axis", axis}});
    y = b.Op("reduce_sum", {y}, {{"axes", std::vector<int64_t>{axis + 1}}});
    now[static_cast<size_t>(axis)] = a.size;
  }
  Shape result = {shape[0], shape[1] / kernel};
  for (const BlockAxis& a : axes) result.push_back(a.size);
  y = b.Reshape(y, result);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

}  // namespace

std::vector<OnnxImporter> LayoutComposites() {
  return {{"CenterCropPad", ImportCenterCropPad}, {"Col2Im", ImportCol2Im}};
}

}  // namespace lemma::ops
