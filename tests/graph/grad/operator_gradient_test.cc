// Every operator's gradient, for every example of the table: compared with finite differences in
// double and, if the operator is linear in an input, exactly in the field.
#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "graph/builder.h"
#include "graph/examples/op_examples.h"
#include "graph/grad/gradient.h"
#include "graph/op_table.h"
#include "gtest/gtest.h"
#include "tests/graph/grad/graph_values.h"

namespace lemma {
namespace {

// Operators that have a result of a float type, but no gradient.
const std::set<std::string>& WithoutGradient() {
  static const auto* names = new std::set<std::string>{
      "opaque",  // has no definition
      // Their own gradients would be second derivatives.
      "batch_norm_training_gradient",
      "max_pool2d_gradient",
  };
  return *names;
}

TEST(OperatorGradientTest, TheListOfThoseWithoutIsComplete) {
  for (const OpDef* op : AllOps()) {
    if (WithoutGradient().count(op->name) > 0) {
      EXPECT_FALSE(op->gradient) << op->name << " has a gradient";
      continue;
    }
    bool yields_float = false;
    for (const std::string& text : op->examples) {
      auto example = ParseExample(*op, text);
      ASSERT_TRUE(example.ok()) << example.status();
      auto types = InferTypes(*op, example->inputs, example->attrs);
      ASSERT_TRUE(types.ok()) << types.status();
      for (const TensorType& type : *types) yields_float = yields_float || IsFloat(type.dtype);
    }
    EXPECT_EQ(static_cast<bool>(op->gradient), yields_float) << op->name;
  }
}

TEST(OperatorGradientTest, RoundingsLetGradientsPass) {
  GraphBuilder builder("g");
  const Value x = builder.Input("x", {DType::kF32, {3}}), dy = builder.Input("dy", x.type());
  const Value y = *builder.Op("round_tf32", {x});
  const auto gradients = Gradient({y}, {dy}, {x});
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  EXPECT_EQ((*gradients)[0], dy);
}

// Ranges of values: most functions are defined on one of them at least.
struct Range {
  double low, high;
};
constexpr Range kRanges[] = {{0.1, 0.9}, {-2.3, 2.1}, {1.1, 2.9}};

class OperatorGradient : public testing::TestWithParam<OpExample> {
 protected:
  using Doubles = std::vector<TensorValues<double>>;
  using Fields = std::vector<TensorValues<Field>>;

  // Sets up the example in f64, so that nothing is rounded further; leaves it empty if the operator
  // has no gradient.
  void SetUp() override {
    const OpExample& example = GetParam();
    if (!example.op->gradient) return;
    // Rounds by itself; its gradient is that of a number that is not rounded, as for a cast.
    if (example.op->name == "round_tf32") return;
    GraphBuilder forward("forward"), backward("backward");
    std::vector<Value> inputs;
    for (size_t i = 0; i < example.inputs.size(); ++i) {
      TensorType type = example.inputs[i];
      if (IsFloat(type.dtype)) {
        type.dtype = DType::kF64;
        float_inputs_.push_back(static_cast<int>(i));
      }
      inputs.push_back(forward.Input(absl::StrCat("x", i), type));
      backward.Input(absl::StrCat("x", i), type);
    }
    Attrs attrs = example.attrs;
    if (attrs.count("dtype") > 0 && IsFloat(*ParseDType(std::get<std::string>(attrs["dtype"])))) {
      attrs["dtype"] = std::string("f64");  // of a cast, whose gradient no rounding changes
    }
    auto outputs = ApplyOp(example.op->name, inputs, attrs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    std::vector<Value> floats, seeds, parameters;
    for (const Value& y : *outputs) {
      if (!IsFloat(y.dtype())) continue;
      floats.push_back(y);
      forward.Output(absl::StrCat("y", floats.size()), y);
      seeds.push_back(backward.Input(absl::StrCat("dy", floats.size()), y.type()));
    }
    if (floats.empty() || float_inputs_.empty()) return;
    for (int i : float_inputs_) parameters.push_back(inputs[i]);
    auto gradients = Gradient(floats, seeds, parameters);
    ASSERT_TRUE(gradients.ok()) << gradients.status();
    forward_ = *std::move(forward).Build();
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Value& dx = (*gradients)[i];
      is_zero_.push_back(!dx);
      backward.Output(absl::StrCat("dx", i), dx ? dx : parameters[i]);
    }
    backward_ = *std::move(backward).Build();
    ready_ = true;
  }

  // Floats in a range, no two within 10^-3 of each other, so that no step or maximum changes if
  // they are moved a little. Integers as in the other conformance tests.
  Doubles InputValues(Range range) const {
    const auto given = ExampleValues(GetParam());
    size_t count = 0;
    for (int i : float_inputs_) count += given[i].size();
    std::vector<std::pair<uint64_t, size_t>> order;
    for (size_t i = 0; i < count; ++i) order.emplace_back(Mix64(i + 17), i);
    std::sort(order.begin(), order.end());
    Doubles values(given.size());
    size_t next = 0;
    for (size_t i = 0; i < given.size(); ++i) {
      for (double v : given[i]) {
        const bool is_float = IsFloat(GetParam().inputs[i].dtype);
        values[i].integers.push_back(static_cast<int64_t>(v));
        if (is_float) {
          const double place = (order[next++].second + 0.37) / static_cast<double>(count);
          v = range.low + (range.high - range.low) * place;
          if (range.low < 0) v += v < 0 ? -0.2 : 0.2;  // quotients by next to nothing jump
        }
        values[i].numbers.push_back(v);
      }
    }
    return values;
  }

  Doubles Seeds() const {
    Doubles seeds(forward_.outputs().size());
    uint64_t next = 0;
    for (size_t k = 0; k < seeds.size(); ++k) {
      for (int64_t i = 0; i < forward_.outputs()[k].type().num_elements(); ++i) {
        seeds[k].numbers.push_back(static_cast<double>(Mix64(++next) % 2001) / 1000 - 1);
      }
    }
    return seeds;
  }

  // sum over outputs y of seed * y.
  template <class Number>
  Number Weighted(const std::vector<TensorValues<Number>>& inputs,
                  const std::vector<TensorValues<Number>>& seeds) const {
    auto outputs = GraphValues<Number>(forward_, inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    Number sum{};
    for (size_t k = 0; k < outputs->size(); ++k) {
      for (size_t i = 0; i < (*outputs)[k].numbers.size(); ++i) {
        sum = sum + (*outputs)[k].numbers[i] * seeds[k].numbers[i];
      }
    }
    return sum;
  }

  template <class Number>
  std::vector<TensorValues<Number>> Gradients(std::vector<TensorValues<Number>> inputs,
                                              const std::vector<TensorValues<Number>>& seeds) {
    inputs.insert(inputs.end(), seeds.begin(), seeds.end());
    auto gradients = GraphValues<Number>(backward_, inputs);
    EXPECT_TRUE(gradients.ok()) << gradients.status();
    for (size_t i = 0; i < gradients->size(); ++i) {
      if (is_zero_[i]) {
        std::fill((*gradients)[i].numbers.begin(), (*gradients)[i].numbers.end(), Number{});
      }
    }
    return *std::move(gradients);
  }

  bool ready_ = false;
  Graph forward_, backward_;
  std::vector<int> float_inputs_;
  std::vector<bool> is_zero_;
};

TEST_P(OperatorGradient, IsThatOfFiniteDifferences) {
  if (!ready_) return;
  const Doubles seeds = Seeds();
  int tried = 0;
  for (const Range& range : kRanges) {
    Doubles inputs = InputValues(range);
    if (std::isnan(Weighted(inputs, seeds))) continue;
    ++tried;
    const Doubles gradients = Gradients(inputs, seeds);
    for (size_t g = 0; g < gradients.size(); ++g) {
      std::vector<double>& x = inputs[float_inputs_[g]].numbers;
      for (size_t i = 0; i < x.size(); ++i) {
        const double at = x[i], h = 1e-5;
        auto moved = [&](double by) {
          x[i] = at + by;
          return Weighted(inputs, seeds);
        };
        // A difference quotient of fourth order: its error is h^4 times the fifth derivative.
        const double want =
            (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h);
        x[i] = at;
        EXPECT_NEAR(gradients[g].numbers[i], want, 2e-7 * (1 + std::fabs(want)))
            << "input " << float_inputs_[g] << " element " << i << " at " << at;
      }
    }
  }
  EXPECT_GT(tried, 0) << "NaN wherever it was tried";
}

// Operators that are linear in each input of a float type, up to a constant.
const std::set<std::string>& Multilinear() {
  static const auto* names = new std::set<std::string>{
      "matmul",
      "einsum",
      "conv2d",
      "conv_transpose2d",
      "neg",
      "add",
      "sub",
      "mul",
      "where",
      "scalar_mul",
      "concat",
      "split",
      "slice",
      "pad",
      "reshape",
      "transpose",
      "expand",
      "tile",
      "resize_nearest",
      "depth_to_space",
      "space_to_depth",
      "trilu",
      "gather",
      "gather_elements",
      "gather_nd",
      "reverse_sequence",
      "scatter_nd",
      "reduce_sum",
      "reduce_mean",
      "cumsum",
      "avg_pool2d",
  };
  return *names;
}

// If f is linear in this input, f(x + v) - f(x) is the same at every x, and the gradient gives it
// exactly.
TEST_P(OperatorGradient, IsExactInTheFieldWhereLinear) {
  if (!ready_) return;
  uint64_t next = 1;
  auto random = [&] { return Field::FromRaw(Mix64(++next) % Field::kPrime); };
  Fields inputs(GetParam().inputs.size()), seeds(forward_.outputs().size());
  const Doubles examples = InputValues(kRanges[0]);
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].integers = examples[i].integers;
    for (size_t k = 0; k < inputs[i].integers.size(); ++k) inputs[i].numbers.push_back(random());
  }
  for (size_t k = 0; k < seeds.size(); ++k) {
    for (int64_t i = 0; i < forward_.outputs()[k].type().num_elements(); ++i) {
      seeds[k].numbers.push_back(random());
    }
  }
  const Fields gradients = Gradients(inputs, seeds);
  for (size_t g = 0; g < gradients.size(); ++g) {
    std::vector<Field>& x = inputs[float_inputs_[g]].numbers;
    const std::vector<Field> here = x;
    std::vector<Field> zeros(x.size()), direction;
    for (size_t i = 0; i < x.size(); ++i) direction.push_back(random());
    auto change_from = [&](const std::vector<Field>& start) {
      x = start;
      const Field before = Weighted(inputs, seeds);
      for (size_t i = 0; i < x.size(); ++i) x[i] = start[i] + direction[i];
      return Weighted(inputs, seeds) - before;
    };
    const Field change = change_from(here);
    bool linear = change == change_from(zeros);
    for (int k = 0; linear && k < 10; ++k) {
      for (Field& element : x) element = random();
      linear = change == change_from(std::vector<Field>(x));
    }
    x = here;
    const auto reduction = GetParam().attrs.find("reduction");
    const bool extreme =
        reduction != GetParam().attrs.end() && (std::get<std::string>(reduction->second) == "max" ||
                                                std::get<std::string>(reduction->second) == "min");
    if (!extreme && Multilinear().count(GetParam().op->name) > 0) {
      EXPECT_TRUE(linear);
    }
    if (!linear) continue;
    Field along{};
    for (size_t i = 0; i < x.size(); ++i) along = along + gradients[g].numbers[i] * direction[i];
    EXPECT_EQ(along.ToString(), change.ToString()) << "input " << float_inputs_[g];
  }
}

// Applies operators whose gradients depend most on sizes and attributes, with random ones. Skips
// applications that are not well-formed.
class RandomApplications {
 public:
  std::vector<OpExample> Take(int count) {
    std::vector<OpExample> found;
    while (static_cast<int>(found.size()) < count) {
      const std::string op = Pick({"conv2d", "conv_transpose2d", "max_pool2d", "avg_pool2d",
                                   "slice", "pad", "resize_nearest"});
      auto example = ParseExample(*FindOp(op), TextOf(op));
      EXPECT_TRUE(example.ok()) << example.status();
      if (!example.ok()) break;
      if (InferTypes(*example->op, example->inputs, example->attrs).ok()) found.push_back(*example);
    }
    return found;
  }

 private:
  int64_t Number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Mix64(++state_) % static_cast<uint64_t>(high - low + 1));
  }
  std::string Pick(std::vector<std::string> choices) {
    return choices[Number(0, static_cast<int64_t>(choices.size()) - 1)];
  }
  std::string Pair(int64_t low, int64_t high) {
    const int64_t first = Number(low, high);
    return absl::StrCat("[", first, ",", Number(low, high), "]");
  }
  std::string Window() {
    std::string pads = absl::StrCat(Number(0, 2), ",", Number(0, 2));
    absl::StrAppend(&pads, ",", Number(0, 2), ",", Number(0, 2));
    const std::string strides = Pair(1, 3);
    return absl::StrCat("strides = ", strides, ", dilations = ", Pair(1, 2), ", pads = [", pads,
                        "]");
  }

  std::string TextOf(const std::string& op) {
    const int64_t height = Number(1, 7), width = Number(1, 7), groups = Number(1, 2);
    const std::string image = absl::StrCat(",", height, ",", width, "]");
    if (op == "conv2d" || op == "conv_transpose2d") {
      const bool transposed = op != "conv2d";
      const int64_t in = Number(1, 2), out = Number(1, 2), r = Number(1, 3), s = Number(1, 3);
      const int64_t first = groups * (transposed ? in : out), second = transposed ? out : in;
      const std::string window = Window();
      return absl::StrCat("(f32[2,", groups * in, image, ", f32[", first, ",", second, ",", r, ",",
                          s, "]) {", window, ", groups = ", groups,
                          transposed ? ", output_padding = " + Pair(0, 2) : "", "}");
    }
    if (op == "slice" || op == "pad") {
      const std::string pairs = Pair(0, 4), more = Pair(-2, 3);
      if (op == "slice") {
        return absl::StrCat("(f32[", height, ",", width, "]) {starts = ", pairs,
                            ", sizes = ", Pair(0, 4), ", steps = ", more, "}");
      }
      const std::string before = more.substr(0, more.size() - 1), after = Pair(-2, 3).substr(1);
      return absl::StrCat("(f32[", height, ",", width, "]) {pads = ", before, ",", after,
                          ", mode = \"", Pick({"constant", "reflect", "edge"}), "\"}");
    }
    if (op == "resize_nearest") {
      const std::string sizes = Pair(1, 8), mul = Pair(0, 3), add = Pair(-2, 2);
      return absl::StrCat("(f32[", height, ",", width, "]) {sizes = ", sizes, ", mul = ", mul,
                          ", add = ", add, ", by = ", Pair(1, 3), "}");
    }
    const std::string kernel = Pair(1, 3), window = Window();
    const int64_t ceil = Number(0, 1);
    return absl::StrCat(
        "(f32[1,2", image, ") {kernel = ", kernel, ", ", window, ", ceil_mode = ", ceil,
        op == "avg_pool2d" ? absl::StrCat(", count_include_pad = ", Number(0, 1)) : "", "}");
  }

  uint64_t state_ = 2026;
};

INSTANTIATE_TEST_SUITE_P(Random, OperatorGradient,
                         testing::ValuesIn(RandomApplications().Take(250)),
                         [](const testing::TestParamInfo<OpExample>& info) {
                           return absl::StrCat(info.param.op->name, "_", info.index);
                         });

INSTANTIATE_TEST_SUITE_P(Examples, OperatorGradient, testing::ValuesIn(AllExamples()),
                         [](const testing::TestParamInfo<OpExample>& info) {
                           return absl::StrCat(info.param.op->name, "_", info.index);
                         });

}  // namespace
}  // namespace lemma
