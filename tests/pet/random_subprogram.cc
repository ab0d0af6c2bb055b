#include "tests/pet/random_subprogram.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "graph/builder.h"

namespace lemma::pet {
namespace {

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  Graph Run() {
    while (true) {
      GraphBuilder builder("part");
      leaves_ = 0;
      auto value = Any(&builder);
      if (!value.ok() || value->type().num_elements() == 0) continue;
      builder.Output("y", *value);
      return *std::move(builder).Build();
    }
  }

 private:
  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  int64_t In(int64_t lo, int64_t hi) { return lo + Below(hi - lo + 1); }
  std::string Name() { return "x" + std::to_string(leaves_++); }
  Value Weight(GraphBuilder* b, Shape shape) {
    const TensorType type = {DType::kF32, std::move(shape)};
    std::vector<double> values;
    for (int64_t i = 0; i < type.num_elements(); ++i) {
      values.push_back(static_cast<double>(In(-64, 64)) / 64);
    }
    return b->Weight(Name(), *Tensor::FromDoubles(type, values));
  }

  absl::StatusOr<Value> Any(GraphBuilder* b) {
    const int64_t groups = In(1, 2), channels = groups * In(1, 2);
    const Value x = b->Input(Name(), {DType::kF32, {In(1, 4), channels, In(2, 7), In(3, 8)}});
    switch (Below(10)) {
      case 0:
        return Gradient(b, x);
      case 1:
        return b->Op("avg_pool2d", {x},
                     {{"kernel", std::vector<int64_t>{In(1, 3), In(2, 3)}},
                      {"strides", std::vector<int64_t>{In(1, 2), In(1, 2)}},
                      {"pads", std::vector<int64_t>{0, Below(2), 0, Below(2)}},
                      {"count_include_pad", Below(2)}});
      case 2: {
        const Value m = b->Input(Name(), {DType::kF32, {In(1, 4), In(2, 6), In(1, 5)}});
        return b->Op("matmul", {m, Weight(b, {m.shape()[2], In(1, 6)})});
      }
      case 3: {
        auto first = Conv(b, x, 1, true);
        if (!first.ok()) return first;
        return Conv(b, *first, 1, true);
      }
      case 4: {
        // The data gradient of a convolution.
        const int64_t stride = In(1, 2);
        return b->Op("conv_transpose2d", {x, Weight(b, {channels, In(1, 2), In(1, 3), In(2, 3)})},
                     {{"pads", std::vector<int64_t>{0, Below(2), 0, Below(2)}},
                      {"strides", std::vector<int64_t>{stride, 1}},
                      {"groups", groups}});
      }
      case 5:
        return Siblings(b, x);
      default:
        return Conv(b, x, groups, false);
    }
  }

  // Two convolutions of inputs of one type, side by side or added.
  absl::StatusOr<Value> Siblings(GraphBuilder* b, const Value& x) {
    const Value other = Below(3) == 0 ? x : b->Input(Name(), x.type());
    const int64_t top = Below(2), right = Below(3);
    const Shape w = {In(1, 2), x.shape()[1], In(1, 2), In(2, 3)};
    std::vector<Value> results;
    for (const Value& data : {x, other}) {
      auto y =
          b->Op("conv2d", {data, Weight(b, w)}, {{"pads", std::vector<int64_t>{top, 0, 0, right}}});
      if (!y.ok()) return y;
      results.push_back(*y);
    }
    if (Below(2) == 0) return b->Op("add", results);
    return b->Op("concat", results, {{"axis", int64_t{1}}});
  }

  absl::StatusOr<Value> Conv(GraphBuilder* b, const Value& x, int64_t groups, bool plain) {
    const int64_t r = In(1, 3), s = In(2, 3), k = groups * In(1, 2);
    std::vector<Value> operands = {x, Weight(b, {k, x.shape()[1] / groups, r, s})};
    if (!plain && Below(3) == 0) operands.push_back(Weight(b, {k}));
    const int64_t dh = plain ? 1 : In(1, 3), dw = plain ? 1 : In(1, 2);
    return b->Op(
        "conv2d", operands,
        {{"pads", std::vector<int64_t>{Below(3), Below(3), Below(3), Below(3)}},
         {"strides", plain ? std::vector<int64_t>{1, 1} : std::vector<int64_t>{In(1, 2), In(1, 3)}},
         {"dilations", std::vector<int64_t>{dh, dw}},
         {"groups", groups}});
  }

  // sum(n,p,q) x[n,c,p+r,q+s] dy[n,k,p,q]
  absl::StatusOr<Value> Gradient(GraphBuilder* b, const Value& x) {
    const Shape& s = x.shape();
    const int64_t p = In(1, s[2]), q = In(2, s[3]);
    const Value dy = b->Input(Name(), {DType::kF32, {s[0], In(1, 2), p, q}});
    const std::vector<int64_t> perm = {1, 0, 2, 3};
    auto xt = b->Op("transpose", {x}, {{"perm", perm}});
    auto dyt = b->Op("transpose", {dy}, {{"perm", perm}});
    if (!xt.ok() || !dyt.ok()) return xt.ok() ? dyt : xt;
    return b->Op("conv2d", {*xt, *dyt}, {{"pads", std::vector<int64_t>{0, Below(2), Below(2), 0}}});
  }

  std::mt19937_64 random_;
  int leaves_ = 0;
};

}  // namespace

Graph RandomSubprogram(uint64_t seed) { return Maker(seed).Run(); }

}  // namespace lemma::pet
