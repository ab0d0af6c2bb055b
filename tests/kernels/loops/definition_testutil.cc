#include "tests/kernels/loops/definition_testutil.h"

#include <algorithm>
#include <cmath>

#include "gtest/gtest.h"

namespace lemma {

TensorId DefinitionBuilder::Input(std::vector<int64_t> dims, DType dtype) {
  definition_.inputs.push_back({dtype, Idx(dims.begin(), dims.end())});
  return definition_.num_inputs() - 1;
}

TensorId DefinitionBuilder::Local(Idx dims, const Body& body, DType dtype) {
  TensorExpr tensor{dtype, {}, 0};
  Idx index;
  for (const IndexExpr& dim : dims) {
    tensor.axes.push_back({NewVar(), dim});
    index.push_back(IndexExpr::Var(tensor.axes.back().var));
  }
  tensor.body = body(index);
  definition_.tensors.push_back(std::move(tensor));
  return definition_.num_inputs() + static_cast<TensorId>(definition_.tensors.size()) - 1;
}

TensorId DefinitionBuilder::Output(Idx dims, const Body& body, DType dtype) {
  TensorId id = Local(std::move(dims), body, dtype);
  definition_.outputs.push_back(id);
  return id;
}

ScalarExpr DefinitionBuilder::Reduce(ReduceKind kind, Idx extents, const Body& body) {
  std::vector<Axis> axes;
  Idx index;
  for (const IndexExpr& extent : extents) {
    axes.push_back({NewVar(), extent});
    index.push_back(IndexExpr::Var(axes.back().var));
  }
  return ScalarExpr::Reduce(kind, std::move(axes), Guard(true), body(index));
}

int64_t ElementsIn(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (int64_t dim : dims) n *= dim;
  return n;
}

Definition Conv(std::vector<int64_t> x, std::vector<int64_t> w, int64_t stride, int64_t pad,
                int64_t groups) {
  DefinitionBuilder b;
  TensorId tx = b.Input(x), tw = b.Input(w);
  int64_t height = (x[2] + 2 * pad - w[2]) / stride + 1;
  int64_t width = (x[3] + 2 * pad - w[3]) / stride + 1;
  b.Output({x[0], w[0], height, width}, [&](const Idx& o) {
    return b.Sum({w[1], w[2], w[3]}, [&](const Idx& r) {
      IndexExpr row = o[2] * stride + r[1] - pad, column = o[3] * stride + r[2] - pad;
      IndexExpr channel = FloorDiv(o[1], w[0] / groups) * w[1] + r[0];
      Guard inside = InRange(row, x[2]) && InRange(column, x[3]);
      return ReadWhere(inside, tx, {o[0], channel, row, column}) *
             Read(tw, {o[1], r[0], r[1], r[2]});
    });
  });
  return b.definition();
}

Definition Matmul(int64_t m, int64_t k, int64_t n) {
  DefinitionBuilder b;
  TensorId x = b.Input({m, k}), y = b.Input({k, n});
  b.Output({m, n}, [&](const Idx& o) {
    return b.Sum({k}, [&](const Idx& r) { return Read(x, {o[0], r[0]}) * Read(y, {r[0], o[1]}); });
  });
  return b.definition();
}

template <class T>
std::vector<Dense<T>> RandomInputs(const Definition& definition, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Dense<T>> inputs;
  for (const ExprType& type : definition.inputs) {
    Dense<T> input;
    for (const IndexExpr& dim : type.dims) input.dims.push_back(dim.value());
    for (int64_t i = ElementsIn(input.dims); i > 0; --i) {
      int64_t small = static_cast<int64_t>(random() % 7) - 3;
      if (IsInteger(type.dtype)) {
        input.data.push_back(static_cast<T>(std::abs(small)));
      } else if constexpr (std::is_same_v<T, Field>) {
        input.data.push_back(Field::FromRaw(random() % Field::kPrime));
      } else {
        input.data.push_back(static_cast<T>(small));
      }
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

template <class T>
absl::StatusOr<std::vector<Dense<T>>> RunDense(const Definition& definition,
                                               const std::vector<Dense<T>>& inputs, int threads) {
  absl::StatusOr<LoopProgram> program = CompileLoops(definition);
  if (!program.ok()) return program.status();
  std::vector<TensorView> views;
  for (const Dense<T>& input : inputs) {
    views.push_back({input.data.data(), std::nullopt, DenseStrides(input.dims)});
  }
  std::vector<Dense<T>> outputs;
  for (const LoopProgram::Tensor& tensor : program->outputs()) {
    outputs.push_back({tensor.dims, std::vector<T>(ElementsIn(tensor.dims), T{})});
  }
  std::vector<MutableTensorView> output_views;
  for (Dense<T>& output : outputs) {
    output_views.push_back({output.data.data(), std::nullopt, DenseStrides(output.dims)});
  }
  absl::Status status = Run<T>(*program, views, output_views, {threads});
  if (!status.ok()) return status;
  return outputs;
}

namespace {

bool Near(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::fabs(a - b) <= 1e-9 * std::max({1.0, std::fabs(a), std::fabs(b)});
}
bool Near(int64_t a, int64_t b) { return a == b; }
bool Near(Field a, Field b) { return a == b; }
std::string Show(double a) { return std::to_string(a); }
std::string Show(int64_t a) { return std::to_string(a); }
std::string Show(Field a) { return a.ToString(); }

template <class T>
void ExpectNaive(const Definition& d, uint32_t seed, const char* number) {
  std::vector<Dense<T>> inputs = RandomInputs<T>(d, seed);
  auto result = RunDense<T>(d, inputs);
  if (std::is_same_v<T, int64_t> && absl::IsInvalidArgument(result.status())) return;
  ASSERT_TRUE(result.ok()) << result.status() << "\n" << d.ToString();
  std::vector<Dense<T>> expected = AllTensorsNaively<T>(d, inputs);
  for (size_t i = 0; i < d.outputs.size(); ++i) {
    const std::vector<T>&want = expected[d.outputs[i]].data, &got = (*result)[i].data;
    ASSERT_EQ(want.size(), got.size());
    for (size_t j = 0; j < want.size(); ++j) {
      ASSERT_TRUE(Near(want[j], got[j]))
          << number << ", seed " << seed << ", output " << i << ", element " << j << ": want "
          << Show(want[j]) << ", got " << Show(got[j]) << "\n"
          << d.ToString();
    }
  }
}

}  // namespace

void ExpectEvaluatesAsNaively(const Definition& definition, uint32_t seed) {
  ExpectNaive<double>(definition, seed, "double");
  ExpectNaive<Field>(definition, seed, "Field");
  ExpectNaive<int64_t>(definition, seed, "int64_t");
}

template std::vector<Dense<double>> RandomInputs(const Definition&, uint32_t);
template std::vector<Dense<float>> RandomInputs(const Definition&, uint32_t);
template std::vector<Dense<int64_t>> RandomInputs(const Definition&, uint32_t);
template std::vector<Dense<Field>> RandomInputs(const Definition&, uint32_t);
template absl::StatusOr<std::vector<Dense<double>>> RunDense(const Definition&,
                                                             const std::vector<Dense<double>>&,
                                                             int);
template absl::StatusOr<std::vector<Dense<float>>> RunDense(const Definition&,
                                                            const std::vector<Dense<float>>&, int);
template absl::StatusOr<std::vector<Dense<int64_t>>> RunDense(const Definition&,
                                                              const std::vector<Dense<int64_t>>&,
                                                              int);
template absl::StatusOr<std::vector<Dense<Field>>> RunDense(const Definition&,
                                                            const std::vector<Dense<Field>>&, int);

}  // namespace lemma
