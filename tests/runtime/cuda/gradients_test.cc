// Random layers with strides, their gradients, and updates of their parameters: planned, emulated
// and compared with the reference.
#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/grad/gradient.h"
#include "gtest/gtest.h"
#include "tests/base/repetitions.h"
#include "tests/runtime/cuda/emulated_plans.h"

namespace lemma {
namespace {

constexpr int64_t kMaxElements = 12000;
constexpr double kMaxProducts = 4e6;

class RandomLayers {
 public:
  explicit RandomLayers(uint64_t seed) : random_(seed), builder_(absl::StrCat("layers", seed)) {
    if (Below(8) == 0) dtype_ = DType::kF64;
  }

  absl::StatusOr<Graph> Make() {
    const Shape shape = {1 + Below(3), Channels(), Side(), Side()};
    const Value x = NewInput(shape);
    first_ = x;
    Value y = x;
    for (int layers = 1 + Below(2), tries = 0; layers > 0 && tries < 60; ++tries) {
      const auto parameters = parameters_;
      const auto outputs = outputs_;
      absl::StatusOr<Value> next = Layer(y);
      if (!next.ok() || next->type().num_elements() > kMaxElements ||
          next->type().num_elements() == 0) {
        parameters_ = parameters;
        outputs_ = outputs;
        continue;
      }
      y = *next;
      --layers;
    }
    if (Below(2) == 0) outputs_.push_back(y);
    const Value seed = NewInput(y.shape());
    parameters_.pop_back();  // not the seed
    auto gradients = Gradient({y}, {seed}, parameters_);
    if (!gradients.ok()) return gradients.status();
    const Value rate = builder_.Input("rate", {dtype_, {}});
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const Value gradient = (*gradients)[i];
      if (!gradient) continue;
      if (absl::Status s = Use(parameters_[i], gradient, rate); !s.ok()) return s;
    }
    if (outputs_.empty()) outputs_.push_back(y);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      builder_.Output(absl::StrCat("out", i), outputs_[i]);
    }
    return std::move(builder_).Build();
  }

 private:
  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  int64_t Channels() {
    static const int64_t kChannels[] = {2, 6, 8, 8, 12, 16, 16, 16, 24};
    return kChannels[Below(9)];
  }

  int64_t Side() {
    static const int64_t kSides[] = {1, 3, 5, 7, 8, 8, 12, 12, 12, 16, 16};
    return kSides[Below(11)];
  }
  std::vector<int64_t> Strides() {
    static const int64_t kStrides[] = {1, 2, 2, 3, 3, 4, 5};
    return {kStrides[Below(7)], kStrides[Below(7)]};
  }

  Value NewInput(Shape shape) {
    parameters_.push_back(
        builder_.Input(absl::StrCat("x", inputs_++), TensorType{dtype_, std::move(shape)}));
    return parameters_.back();
  }

  // Uses a gradient: as a result (as it is, reshaped or transposed), in an update, or both.
  absl::Status Use(const Value& parameter, const Value& gradient, const Value& rate) {
    if (Below(3) == 0) outputs_.push_back(gradient);
    if (Below(5) == 0) {
      auto flat = builder_.Op("reshape", {gradient},
                              {{"shape", std::vector<int64_t>{gradient.type().num_elements()}}});
      if (!flat.ok()) return flat.status();
      outputs_.push_back(*flat);
      if (Below(2) == 0) {
        auto twice = builder_.Op("mul", {*flat, *flat});
        if (!twice.ok()) return twice.status();
        outputs_.push_back(*twice);
      }
    }
    if (Below(6) == 0)
      outputs_.push_back(outputs_.empty() ? gradient : outputs_[Below(outputs_.size())]);
    auto step = builder_.Op("mul", {gradient, rate});
    if (!step.ok()) return step.status();
    if (Below(2) == 0) {
      const Value momentum = builder_.Input(absl::StrCat("m", inputs_++), parameter.type());
      step = builder_.Op("add", {momentum, *step});
      if (!step.ok()) return step.status();
      outputs_.push_back(*step);
    }
    auto next = builder_.Op("sub", {parameter, *step});
    if (!next.ok()) return next.status();
    outputs_.push_back(*next);
    if (Below(6) == 0) {
      // An operator that reads the update and is not element-wise.
      auto sum = builder_.Op("reduce_sum", {*next},
                             {{"axes", std::vector<int64_t>{0}}, {"keepdims", Below(2)}});
      if (!sum.ok()) return sum.status();
      outputs_.push_back(*sum);
    }
    return absl::OkStatus();
  }

  std::vector<int64_t> Ints(int n, int64_t from, int64_t below) {
    std::vector<int64_t> result(static_cast<size_t>(n));
    for (int64_t& x : result) x = from + Below(below);
    return result;
  }

  absl::StatusOr<Value> Layer(const Value& x) {
    switch (Below(10)) {
      case 0:
      case 1:
      case 2:
        return Convolution(x);
      case 3:
      case 4:
      case 5:
        return Transposed(x);
      case 6: {
        // Behind another layer or a bias, gradients would be differences of large numbers.
        if (x != first_) return absl::CancelledError();
        const Value s = NewInput({x.shape()[1]}), b = NewInput({x.shape()[1]});
        auto results = builder_.Ops("batch_norm_training", {x, s, b});
        if (!results.ok()) return results.status();
        if (x.type().num_elements() / x.shape()[1] < 6) return absl::CancelledError();
        for (int i = 1; i < 3; ++i) {
          if (Below(2) == 0) continue;
          outputs_.push_back((*results)[i]);
          const Value old = builder_.Input(absl::StrCat("s", inputs_++), s.type());
          auto mixed = builder_.Op("sub", {old, (*results)[i]});
          if (mixed.ok()) outputs_.push_back(*mixed);
        }
        return (*results)[0];
      }
      case 7: {
        return builder_.Op("avg_pool2d", {x},
                           {{"kernel", Ints(2, 1, 3)}, {"strides", Ints(2, 1, 4)}});
      }
      case 8: {
        const int64_t axis = Below(4), size = x.shape()[axis];
        if (size < 2) return absl::CancelledError();
        const int64_t part = 1 + Below(size - 1);
        auto parts = builder_.Ops(
            "split", {x}, {{"axis", axis}, {"sizes", std::vector<int64_t>{part, size - part}}});
        if (!parts.ok()) return parts.status();
        if (Below(2) == 0) outputs_.push_back((*parts)[Below(2)]);
        return builder_.Op("concat", {(*parts)[1], (*parts)[0]}, {{"axis", axis}});
      }
      default:
        return builder_.Op("transpose", {x}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    }
  }

  absl::StatusOr<Value> Behind(absl::StatusOr<Value> y) {
    if (!y.ok() || y->type().num_elements() == 0 || y->type().num_elements() > kMaxElements)
      return y;
    if (Below(3) == 0) y = builder_.Op("add", {*y, NewInput({y->shape()[1], 1, 1})});
    if (y.ok() && Below(4) == 0) y = builder_.Op("add", {*y, NewInput(y->shape())});
    if (y.ok() && Below(3) == 0) y = builder_.Op("tanh", {*y});
    return y;
  }

  int64_t Groups(int64_t channels) {
    const int64_t groups[] = {1, 1, 1, 2, 4, channels};
    const int64_t chosen = groups[Below(6)];
    return channels % chosen == 0 ? chosen : 1;
  }

  absl::StatusOr<Value> Convolution(const Value& x) {
    const int64_t c = x.shape()[1], groups = Groups(c), k = groups * (1 + Below(20 / groups + 1));
    const Value w = NewInput({k, c / groups, 1 + Below(5), 1 + Below(5)});
    if (TooMuch(x, w)) return absl::CancelledError();
    return Behind(builder_.Op("conv2d", {x, w},
                              {{"pads", Ints(4, 0, 4)},
                               {"strides", Strides()},
                               {"dilations", Ints(2, 1, 3)},
                               {"groups", groups}}));
  }

  absl::StatusOr<Value> Transposed(const Value& x) {
    const int64_t c = x.shape()[1], groups = Groups(c), k = 1 + Below(20 / groups + 1);
    const Value w = NewInput({c, k, 1 + Below(5), 1 + Below(5)});
    if (TooMuch(x, w)) return absl::CancelledError();
    const std::vector<int64_t> strides = Strides();
    std::vector<int64_t> more = {Below(strides[0]), Below(strides[1])};
    std::vector<int64_t> pads = Ints(4, 0, 4);
    std::vector<int64_t> dilations = Ints(2, 1, 3);
    if (Below(2) == 0) {
      // Makes the size of the result a multiple of the stride.
      for (int i = 0; i < 2; ++i) {
        const int64_t size = (x.shape()[2 + i] - 1) * strides[i] +
                             (w.shape()[2 + i] - 1) * dilations[i] + 1 - pads[i] - pads[2 + i];
        more[i] = (strides[i] - size % strides[i]) % strides[i];
      }
    }
    return Behind(builder_.Op("conv_transpose2d", {x, w},
                              {{"pads", pads},
                               {"strides", strides},
                               {"dilations", dilations},
                               {"output_padding", more},
                               {"groups", groups}}));
  }

  static bool TooMuch(const Value& x, const Value& w) {
    return static_cast<double>(x.type().num_elements()) *
               static_cast<double>(w.type().num_elements()) / static_cast<double>(x.shape()[1]) >
           kMaxProducts;
  }

  std::mt19937_64 random_;
  GraphBuilder builder_;
  DType dtype_ = DType::kF32;
  std::vector<Value> parameters_, outputs_;
  Value first_;
  int inputs_ = 0;
};

TEST(CudaRandomGradients, MatchReference) {
  const int graphs = WholeOr(40, 15);
  EmulatedPlans plans;
  int in_phases = 0, horizontal_fusion = 0;
  for (int seed = 1; seed <= graphs; ++seed) {
    const absl::StatusOr<Graph> graph = RandomLayers(static_cast<uint64_t>(seed)).Make();
    ASSERT_TRUE(graph.ok()) << "seed " << seed << ": " << graph.status();
    cuda::PlanOptions options;
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    // A coarser precision would come out on the other side of a relu.
    if (seed % 3 == 0) options.grid.precision = codegen::ProductPrecision::kF32x3;
    if (random() % 3 == 0) {
      options.grid.tile = codegen::TileChoice{
          static_cast<int>(random() % codegen::TileShapes(options.grid.precision).size()),
          static_cast<int64_t>(1 + random() % 4)};
    }
    const absl::Status added = plans.Add(*graph, options);
    ASSERT_TRUE(added.ok()) << "seed " << seed << ": " << added;
    const cuda::CudaPlan& plan = plans.plan(plans.size() - 1);
    for (const cuda::CudaStep& step : plan.steps) {
      horizontal_fusion += step.signature.empty() ? 1 : 0;
      std::vector<int> writers(step.buffers.size(), 0);
      for (const codegen::GridKernel& kernel : step.program->kernels) {
        for (int slot : kernel.writes) ++writers[slot];
      }
      in_phases += *std::max_element(writers.begin(), writers.end()) > 1 ? 1 : 0;
    }
  }
  // The cases to be tested do occur.
  EXPECT_GE(in_phases, graphs / 13);
  EXPECT_GE(horizontal_fusion, graphs / 2);
  const absl::Status compiled = plans.Compile();
  ASSERT_TRUE(compiled.ok()) << compiled;
  for (size_t i = 0; i < plans.size(); ++i) {
    plans.ExpectMatchesReference(i, /*seed=*/i + 1);
  }
}

}  // namespace
}  // namespace lemma
