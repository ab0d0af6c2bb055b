#include "tests/runtime/blocks/cascade_spellings.h"

#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/grad/gradient.h"
#include "gtest/gtest.h"
#include "tests/runtime/blocks/attention_spellings.h"
#include "tests/runtime/blocks/speller.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

// x / sqrt(mean(x^2) + epsilon) * g, or with the mean of x subtracted before, then a product.
Spelling SpellNormalized(Speller& f, bool gradient) {
  const int64_t batch = f.OneOf<int64_t>({1, 2}), length = 32, width = 24, columns = 5;
  const bool flat = f.Flip();
  const Shape shape = flat ? Shape{batch * length, width} : Shape{batch, length, width};
  Shape row = shape;
  row.back() = 1;
  const int64_t axis = f.Flip() ? -1 : static_cast<int64_t>(shape.size()) - 1;
  auto mean = [&](const std::string& x) {
    switch (f.Pick(4)) {
      case 0:
        return f.Op("reduce_mean($0) {axes = [$1], keepdims = 1}", x, axis);
      case 1:
        return f.Reshape(f.Op("reduce_mean($0) {axes = [$1]}", x, axis), row);
      default:
        return f.Scaled(f.Op("reduce_sum($0) {axes = [$1], keepdims = 1}", x, axis), 1.0 / width);
    }
  };
  // The end of a residual layer, since blocks do not divide inputs.
  std::string x = f.Add(f.Input("x", "f32", shape), f.Input("x", "f32", shape));
  const std::string g = f.Input("gain", "f32", {width});
  const std::string w = f.Input("w", "f32", {width, columns});
  auto product = [&](const std::string& h) {
    if (f.Flip()) return f.Op("matmul($0, $1)", h, w);
    return f.Op(flat ? "einsum($0, $1) {equation = \"id,dm->im\"}"
                     : "einsum($0, $1) {equation = \"btd,dm->btm\"}",
                h, w);
  };
  Spelling spelling;
  spelling.divides_sums = true;
  std::string result;
  if (f.Pick(4) == 0) {
    const std::string normal =
        f.Op("layer_norm($0, $1, $2) {axis = $3}", x, g, f.Input("gain", "f32", {width}), axis);
    result = product(normal);
  } else {
    if (f.Flip()) x = f.Op("sub($0, $1)", x, mean(x));
    const std::string squares =
        f.Flip() ? f.Op("mul($0, $0)", x) : f.Op("pow($0, $1)", x, f.Number(2));
    const std::string variance = f.Add(mean(squares), f.Number(1e-5));
    std::string factor;
    bool divide = false;
    switch (f.Pick(3)) {
      case 0:
        factor = f.Op("rsqrt($0)", variance);
        break;
      case 1:
        factor = f.Op("reciprocal($0)", f.Op("sqrt($0)", variance));
        break;
      default:
        factor = f.Op("sqrt($0)", variance);
        divide = true;
    }
    auto by_factor = [&](const std::string& h) {
      return divide ? f.Op("div($0, $1)", h, factor) : f.Mul(h, factor);
    };
    switch (f.Pick(3)) {
      case 0:
        result = product(f.Mul(by_factor(x), g));
        break;
      case 1:
        result = product(by_factor(f.Mul(x, g)));
        break;
      default:  // the factor behind the product
        result = by_factor(product(f.Mul(x, g)));
    }
  }
  spelling.text = f.Finish(result);
  if (gradient) spelling.parameters = {"w", "gain"};  // the gradient of x is as large as x
  spelling.whole_bytes = batch * length * width * 4;
  return spelling;
}

// The mean over the tokens of log(sum(exp(logits))) - logit of the label.
Spelling SpellCrossEntropy(Speller& f) {
  const int64_t batch = f.OneOf<int64_t>({1, 2, 4}), length = 20, width = 6, classes = 50;
  const int64_t tokens = batch * length;
  bool flat = f.Flip();
  const std::string x = f.Input("x", "f32", {batch, length, width});
  std::string w, logits;
  if (f.Flip()) {
    w = f.Input("w", "f32", {width, classes});
  } else {
    w = f.Transpose(f.Input("w", "f32", {classes, width}), {1, 0});
  }
  switch (f.Pick(3)) {
    case 0:
      logits = f.Op("matmul($0, $1)", x, w);
      break;
    case 1:
      logits = f.Op("einsum($0, $1) {equation = \"btd,dv->btv\"}", x, w);
      break;
    default:
      logits = f.Reshape(f.Op("matmul($0, $1)", f.Reshape(x, {tokens, width}), w),
                         {batch, length, classes});
  }
  if (f.Pick(3) == 0) logits = f.Scaled(logits, 0.5);
  if (f.Pick(3) == 0) logits = f.Add(logits, f.Input("gain", "f32", {classes}));
  const Shape rows = flat ? Shape{tokens} : Shape{batch, length};
  Shape column = rows, all = rows, line(rows.size(), 1);
  column.push_back(1);
  all.push_back(classes);
  line.push_back(classes);
  if (flat) logits = f.Reshape(logits, all);
  const int64_t axis = f.Flip() ? -1 : static_cast<int64_t>(rows.size());
  const std::string labels = f.Input("label", "i64", f.Flip() ? rows : column);
  const std::string in_column = f.Reshape(labels, column);
  const std::string numbers = f.Reshape(f.Op("iota() {size = $0}", classes), line);
  auto chosen_of = [&](const std::string& v) {  // by row
    if (f.Pick(3) == 0) {
      return f.Reshape(f.Op("gather_elements($0, $1) {axis = $2}", v, in_column, axis), rows);
    }
    const std::string is_label = f.Flip() ? f.Op("equal($0, $1)", in_column, numbers)
                                          : f.Op("equal($0, $1)", numbers, in_column);
    const std::string kept = f.Flip() ? f.Op("where($0, $1, $2)", is_label, v, f.Number(0))
                                      : f.Mul(f.Op("cast($0) {dtype = \"f32\"}", is_label), v);
    return f.Op("reduce_sum($0) {axes = [$1]}", kept, axis);
  };
  std::string by_row;
  switch (f.Pick(4)) {
    case 0:
      by_row = chosen_of(f.Op("log_softmax($0) {axis = $1}", logits, axis));
      break;
    case 1:
      by_row = chosen_of(f.Op("log($0)", f.Op("softmax($0) {axis = $1}", logits, axis)));
      break;
    case 2: {
      const std::string total = f.Op("reduce_logsumexp($0) {axes = [$1]}", logits, axis);
      by_row = f.Op("sub($0, $1)", chosen_of(logits), total);
      break;
    }
    default: {
      const std::string most = f.Op("reduce_max($0) {axes = [$1], keepdims = 1}", logits, axis);
      const std::string d = f.Op("sub($0, $1)", logits, most);
      const std::string total =
          f.Op("log($0)", f.Op("reduce_sum($0) {axes = [$1]}", f.Op("exp($0)", d), axis));
      by_row = f.Op("sub($0, $1)", chosen_of(d), total);
    }
  }
  const std::string every = flat ? "[0]" : "[0,1]";
  const std::string loss = f.Flip() ? f.Op("reduce_mean($0) {axes = $1}", by_row, every)
                                    : f.Op("reduce_sum($0) {axes = $1}", by_row, every);
  Spelling spelling;
  spelling.text = f.Finish(loss);
  spelling.parameters = {"x", "w", "gain"};
  spelling.divides_sums = true;
  spelling.whole_bytes = tokens * classes * 4;
  return spelling;
}

// The part of an input's name before the number.
std::string Role(const std::string& name) { return name.substr(0, name.find('_')); }

}  // namespace

const char* Name(Cascade form) {
  constexpr const char* kNames[] = {"attention",       "attention with its gradient",
                                    "causal",          "windowed",
                                    "biased",          "soft-capped",
                                    "grouped queries", "cross-attention",
                                    "dropout",         "normalization and product",
                                    "cross entropy"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kNumCascades);
  return kNames[static_cast<int>(form)];
}

Spelling Spell(Cascade form, uint64_t seed, bool gradient) {
  Speller f(seed * kNumCascades + static_cast<uint64_t>(form));
  if (form == Cascade::kCrossEntropy) return SpellCrossEntropy(f);
  if (form == Cascade::kNormalized) return SpellNormalized(f, gradient);
  return SpellAttention(form, &f, gradient || form == Cascade::kAttentionGradient);
}

Graph GraphOf(const Spelling& spelling) {
  const Graph graph = GraphWithWeights(spelling.text);
  if (spelling.parameters.empty()) return graph;
  GraphBuilder builder("step");
  std::vector<Value> parameters;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& x = graph.inputs()[i];
    builder.Input(graph.input_names()[i], x.type());
    const std::string role = Role(graph.input_names()[i]);
    for (const std::string& name : spelling.parameters) {
      if (role == name) parameters.push_back(x);
    }
  }
  const Value& y = graph.outputs()[0];
  Value seed = y;  // of sum(y^2) / 2
  if (y.type().rank() == 0) seed = builder.Constant(*Tensor::FromDoubles(y.type(), {1}));
  absl::StatusOr<std::vector<Value>> gradients = Gradient({y}, {seed}, parameters);
  EXPECT_TRUE(gradients.ok()) << gradients.status() << spelling.text;
  builder.Output("y", y);
  for (size_t i = 0; gradients.ok() && i < gradients->size(); ++i) {
    if ((*gradients)[i]) builder.Output(absl::StrCat("d", i), (*gradients)[i]);
  }
  absl::StatusOr<Graph> step = std::move(builder).Build();
  EXPECT_TRUE(step.ok()) << step.status();
  return *std::move(step);
}

std::vector<Tensor> InputsOf(const Graph& graph, Numbers numbers, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> real(-1, 1);
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<Tensor> inputs;
  for (size_t k = 0; k < graph.inputs().size(); ++k) {
    const TensorType& type = graph.inputs()[k].type();
    const std::string role = Role(graph.input_names()[k]);
    std::vector<double> values(static_cast<size_t>(type.num_elements()));
    for (size_t i = 0; i < values.size(); ++i) {
      double& x = values[i];
      if (role == "places" || role == "keyplaces") {
        x = static_cast<double>(i);
      } else if (role == "label") {
        x = static_cast<double>(random() % 50);
      } else if (role == "seed") {
        x = static_cast<double>(random() % 1000000);
      } else if (type.dtype == DType::kBool) {
        x = static_cast<double>(random() % 2);
      } else {
        x = real(random);
      }
      if (numbers == Numbers::kLarge && (role == "q" || role == "x")) x *= 1e4;
      if (numbers == Numbers::kNotFinite && IsFloat(type.dtype) && random() % 97 == 0) {
        x = random() % 3 == 0 ? std::nan("") : random() % 2 == 0 ? inf : -inf;
      }
    }
    if (numbers == Numbers::kMasked) {
      // Some queries see no key. Which dimension has the queries does not matter.
      if (role == "places") values[3] = -1;
      if (role == "mask" || role == "added") {
        const int64_t row = type.shape.back();
        for (size_t i = 0; i < values.size(); ++i) {
          const int64_t at = static_cast<int64_t>(i);
          if (at / row % 5 == 1 || at % row == 2) values[i] = role == "mask" ? 0 : -inf;
        }
      }
    }
    inputs.push_back(*Tensor::FromDoubles(type, values));
  }
  return inputs;
}

}  // namespace lemma
