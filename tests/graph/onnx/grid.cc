#include "tests/graph/onnx/grid.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/onnx/import.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

onnx::ModelProto ModelOf(const std::string& graph, int opset, const std::string& domain) {
  onnx::ModelProto model = OnnxModel(graph, opset);
  if (domain.empty()) return model;
  auto* entry = model.add_opset_import();
  entry->set_domain(domain);
  entry->set_version(1);
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type() != "Constant") node.set_domain(domain);
  }
  return model;
}

}  // namespace

Grid::Grid(Shape s, double value)
    : shape(std::move(s)), values(static_cast<size_t>(NumElements(shape)), value) {}

size_t Grid::Offset(std::initializer_list<int64_t> index) const {
  size_t offset = 0, d = 0;
  for (int64_t i : index)
    offset = offset * static_cast<size_t>(shape[d++]) + static_cast<size_t>(i);
  return offset;
}

Grid Random(Shape shape, uint64_t seed) {
  Grid grid(std::move(shape));
  uint64_t state = seed * 2 + 1;
  for (double& value : grid.values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<double>(state >> 54) / 512 - 1;
  }
  return grid;
}

Grid Vector(std::vector<double> values) {
  Grid grid({static_cast<int64_t>(values.size())});
  grid.values = std::move(values);
  return grid;
}

Grid Sum(Grid a, const Grid& b) {
  for (size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i % b.values.size()];
  return a;
}

Grid InHeads(const Grid& x, int64_t heads) {
  const int64_t size = x.shape[2] / heads;
  Grid y({x.shape[0], heads, x.shape[1], size});
  for (int64_t b = 0; b < x.shape[0]; ++b) {
    for (int64_t l = 0; l < x.shape[1]; ++l) {
      for (int64_t c = 0; c < x.shape[2]; ++c) y(b, c / size, l, c % size) = x(b, l, c);
    }
  }
  return y;
}

Grid JoinedHeads(const Grid& x) {
  const int64_t size = x.shape[3];
  Grid y({x.shape[0], x.shape[2], x.shape[1] * size});
  for (int64_t b = 0; b < y.shape[0]; ++b) {
    for (int64_t l = 0; l < y.shape[1]; ++l) {
      for (int64_t c = 0; c < y.shape[2]; ++c) y(b, l, c) = x(b, c / size, l, c % size);
    }
  }
  return y;
}

std::vector<Grid> RunGraph(const std::string& graph, int opset, const std::vector<Grid>& inputs,
                           const std::string& domain) {
  auto model = ImportOnnxBytes(ModelOf(graph, opset, domain).SerializeAsString());
  if (!model.ok()) {
    ADD_FAILURE() << model.status();
    return {};
  }
  std::vector<Tensor> tensors;
  size_t next = 0;
  for (const Value& input : model->graph.inputs()) {
    const Grid& grid = inputs.at(next++);
    EXPECT_EQ(input.shape(), grid.shape);
    tensors.push_back(*Tensor::FromDoubles(input.type(), grid.values));
  }
  auto executable = MakeReferenceBackend()->Compile(model->graph, {});
  auto outputs = executable.ok() ? (*executable)->Run(tensors) : executable.status();
  if (!outputs.ok()) {
    ADD_FAILURE() << outputs.status();
    return {};
  }
  std::vector<Grid> result;
  for (const Tensor& tensor : *outputs) {
    result.emplace_back(tensor.shape());
    result.back().values = tensor.ToDoubles();
  }
  return result;
}

std::string ErrorOfGraph(const std::string& graph, int opset, const std::string& domain) {
  auto model = ImportOnnxBytes(ModelOf(graph, opset, domain).SerializeAsString());
  if (!model.ok()) return std::string(model.status().message());
  return model->opaque.empty() ? "no error" : model->opaque[0];
}

testing::AssertionResult Near(const Grid& actual, const Grid& expected, double tolerance) {
  if (actual.shape != expected.shape) {
    return testing::AssertionFailure()
           << ToString(actual.shape) << ", expected " << ToString(expected.shape);
  }
  for (size_t i = 0; i < actual.values.size(); ++i) {
    const double a = actual.values[i], e = expected.values[i];
    if (a == e || std::abs(a - e) <= tolerance) continue;
    return testing::AssertionFailure() << "element " << i << " is " << a << ", expected " << e;
  }
  return testing::AssertionSuccess();
}

Grid AttentionByLoops(const Grid& q, const Grid& k, const Grid& v, double scale,
                      const Score& score) {
  const int64_t keys = k.shape[2], group = q.shape[1] / k.shape[1];
  Grid y({q.shape[0], q.shape[1], q.shape[2], v.shape[3]});
  for (int64_t b = 0; b < q.shape[0]; ++b) {
    for (int64_t h = 0; h < q.shape[1]; ++h) {
      for (int64_t i = 0; i < q.shape[2]; ++i) {
        std::vector<double> p(static_cast<size_t>(keys));
        double most = kMinusInfinity, sum = 0;
        for (int64_t j = 0; j < keys; ++j) {
          double s = 0;
          for (int64_t d = 0; d < q.shape[3]; ++d) s += q(b, h, i, d) * k(b, h / group, j, d);
          p[j] = score(b, h, i, j, s * scale);
          most = std::max(most, p[j]);
        }
        if (most == kMinusInfinity) continue;
        for (double& x : p) sum += x = std::exp(x - most);
        for (int64_t j = 0; j < keys; ++j) {
          for (int64_t d = 0; d < v.shape[3]; ++d) {
            y(b, h, i, d) += p[j] / sum * v(b, h / group, j, d);
          }
        }
      }
    }
  }
  return y;
}

}  // namespace lemma
