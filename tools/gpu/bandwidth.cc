#include "tools/gpu/bandwidth.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "api/execution/timing.h"
#include "api/models/random_values.h"
#include "graph/builder.h"
#include "runtime/cuda/cuda_backend.h"

namespace lemma::gpu {
namespace {

constexpr int kRuns = 30;

absl::StatusOr<Value> Relu(GraphBuilder& builder, const TensorType& type) {
  return builder.Op("relu", {builder.Input("x", type)});
}

absl::StatusOr<Value> Add(GraphBuilder& builder, const TensorType& type) {
  return builder.Op("add", {builder.Input("x", type), builder.Input("y", type)});
}

absl::StatusOr<Value> Chain(GraphBuilder& builder, const TensorType& type) {
  const Value bias = builder.Input("bias", {type.dtype, {type.shape.back()}});
  auto product = builder.Op("mul", {builder.Input("x", type), builder.Input("y", type)});
  if (!product.ok()) return product;
  auto sum = builder.Op("add", {*product, bias});
  if (!sum.ok()) return sum;
  return builder.Op("relu", {*sum});
}

absl::StatusOr<Value> Transpose(GraphBuilder& builder, const TensorType& type) {
  return builder.Op("transpose", {builder.Input("x", type)},
                    {{"perm", std::vector<int64_t>{0, 2, 1}}});
}

struct Case {
  const char* name;
  DType dtype;
  absl::StatusOr<Value> (*make)(GraphBuilder&, const TensorType&);
};

constexpr Case kCases[] = {{"relu", DType::kF32, Relu},
                           {"add", DType::kF32, Add},
                           {"mul+add bias+relu", DType::kF32, Chain},
                           {"transpose of the last two axes", DType::kF32, Transpose},
                           {"add, f16", DType::kF16, Add}};

// Repeats 2^16 random values: drawing each one would take longer than the measurement.
absl::StatusOr<Tensor> Values(const TensorType& type) {
  auto tensor = Tensor::Allocate(type);
  if (!tensor.ok()) return tensor;
  auto some = api::RandomInput({type.dtype, {1 << 16}}, 1, 2);
  if (!some.ok()) return some;
  const int64_t step = some->type().num_bytes();
  for (int64_t at = 0; at < type.num_bytes(); at += step) {
    std::memcpy(static_cast<char*>(tensor->mutable_raw()) + at, some->raw(),
                static_cast<size_t>(std::min(step, type.num_bytes() - at)));
  }
  return tensor;
}

absl::StatusOr<BandwidthRow> Measure(const Case& test, Backend* backend, int64_t elements) {
  const TensorType type = {test.dtype, {elements >> 16, 256, 256}};
  GraphBuilder builder(test.name);
  auto result = test.make(builder, type);
  if (!result.ok()) return result.status();
  builder.Output("y", *result);
  auto graph = std::move(builder).Build();
  if (!graph.ok()) return graph.status();
  BandwidthRow row;
  row.name = test.name;
  row.bytes = static_cast<double>(type.num_bytes());
  std::vector<Tensor> inputs;
  for (const Value& input : graph->inputs()) {
    auto values = Values(input.type());
    if (!values.ok()) return values.status();
    inputs.push_back(*std::move(values));
    row.bytes += static_cast<double>(input.type().num_bytes());
  }
  auto executable = backend->Compile(*graph, {});
  if (!executable.ok()) return executable.status();
  auto ms = (*executable)->TimeRuns(inputs, kRuns);
  if (absl::IsUnimplemented(ms.status())) {
    auto outputs = (*executable)->Run(inputs);
    if (!outputs.ok()) return outputs.status();
    return row;
  }
  if (!ms.ok()) return ms.status();
  executable->reset();
  auto copies = TimeDeviceCopies(static_cast<int64_t>(row.bytes / 2), kRuns);
  if (!copies.ok()) return copies.status();
  row.ms = api::Median(*ms);
  row.copy_ms = api::Median(*copies);
  return row;
}

}  // namespace

absl::StatusOr<std::vector<BandwidthRow>> MeasureBandwidth(Backend* backend, int64_t elements) {
  std::vector<BandwidthRow> rows;
  for (const Case& test : kCases) {
    auto row = Measure(test, backend, elements);
    if (!row.ok()) return row.status();
    rows.push_back(*std::move(row));
  }
  return rows;
}

}  // namespace lemma::gpu
