#include "graph/ops/convolution/conv_gradient.h"

#include <algorithm>

namespace lemma::ops {

Value SpreadWindows(Formula& f, const Node& node, const Value& y, const Value& w, int64_t groups,
                    const Shape& sizes) {
  if (!y) return y;
  const std::vector<int64_t>&strides = node.Ints("strides"), &dilations = node.Ints("dilations");
  std::vector<int64_t> pads = node.Ints("pads"), missing(2);
  for (size_t i = 0; i < 2; ++i) {
    // The end of the last window. Beyond it, x is padding or not reached by any window.
    const int64_t end =
        (y.shape()[2 + i] - 1) * strides[i] + (w.shape()[2 + i] - 1) * dilations[i] + 1 - pads[i];
    pads[2 + i] = std::max<int64_t>(end - sizes[i], 0);
    missing[i] = std::max<int64_t>(sizes[i] - end, 0);
  }
  return f.Op("conv_transpose2d", {y, w},
              {{"strides", strides},
               {"pads", pads},
               {"dilations", dilations},
               {"groups", groups},
               {"output_padding", missing}});
}

// A convolution with kernel y that sums over the batch: batch and channels are exchanged, and so
// are strides and dilations. Each group has its own channels of x, as batches of one convolution:
// [c, g*N + n] is x[n, g*C + c].
Value WindowProducts(Formula& f, const Node& node, const Value& x, const Value& y, int64_t groups,
                     const Shape& shape) {
  if (!x || !y) return Value();
  const std::vector<int64_t>&strides = node.Ints("strides"), &dilations = node.Ints("dilations");
  const int64_t outputs = shape[0], per_group = shape[1];
  std::vector<int64_t> pads = node.Ints("pads");
  Shape used = x.shape();
  for (size_t i = 0; i < 2; ++i) {
    // Padding at the end that gives as many positions as w has elements. If it is negative, no
    // window reaches the end of x, which is cut off.
    const int64_t reach = (y.shape()[2 + i] - 1) * strides[i] + 1;
    const int64_t end = (shape[2 + i] - 1) * dilations[i] + reach - pads[i];
    used[2 + i] = std::clamp<int64_t>(end, 1, x.shape()[2 + i]);
    pads[2 + i] = std::max<int64_t>(end - used[2 + i], 0);
  }
  const int64_t batch = used[0], height = used[2], width = used[3];
  const Value kernel = f.Transpose(y, {1, 0, 2, 3});
  Value data = f.Slice(x, {0, 0, 0, 0}, used);
  if (groups == 1) {
    data = f.Transpose(data, {1, 0, 2, 3});
  } else {
    data = f.Reshape(data, {batch, groups, per_group, height, width});
    data = f.Transpose(data, {2, 1, 0, 3, 4});
    data = f.Reshape(data, {per_group, groups * batch, height, width});
  }
  const Value products =
      f.Op("conv2d", {data, kernel},
           {{"strides", dilations}, {"pads", pads}, {"dilations", strides}, {"groups", groups}});
  const Value cut = f.Slice(products, {0, 0, 0, 0}, {per_group, outputs, shape[2], shape[3]});
  return f.Transpose(cut, {1, 0, 2, 3});
}

}  // namespace lemma::ops
