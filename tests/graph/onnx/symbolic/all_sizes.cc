#include "tests/graph/onnx/symbolic/all_sizes.h"

#include <random>
#include <utility>

#include "graph/onnx/export.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_checker.h"

namespace lemma {
namespace {

std::vector<Tensor> RandomInputs(const Graph& graph) {
  std::mt19937 random(7);
  std::vector<Tensor> inputs;
  for (const Value& input : graph.inputs()) {
    std::vector<double> values;
    for (int64_t i = 0; i < input.type().num_elements(); ++i) {
      values.push_back(IsFloat(input.dtype()) ? static_cast<double>(random() % 2001) / 1000 - 1
                                              : static_cast<double>(random() % 3));
    }
    inputs.push_back(*Tensor::FromDoubles(input.type(), values));
  }
  return inputs;
}

}  // namespace

ImportOptions Symbolic(std::map<std::string, SizeRange> ranges) {
  ImportOptions options;
  options.symbolic = true;
  options.ranges = std::move(ranges);
  return options;
}

std::vector<Tensor> RunOnReference(const Graph& graph) {
  auto executable = MakeReferenceBackend()->Compile(graph, {});
  EXPECT_TRUE(executable.ok()) << executable.status();
  if (!executable.ok()) return {};
  auto outputs = (*executable)->Run(RandomInputs(graph));
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? *outputs : std::vector<Tensor>();
}

void ExpectSame(const Graph& a, const Graph& b, const std::string& what) {
  const std::vector<Tensor> x = RunOnReference(a), y = RunOnReference(b);
  ASSERT_EQ(x.size(), y.size()) << what;
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_TRUE(x[i].SameBytes(y[i]))
        << what << ": output " << i << " is " << x[i].type().ToString() << " and "
        << y[i].type().ToString();
  }
}

void ExpectOneModelForAllSizes(const onnx::ModelProto& model, const std::vector<DimValues>& sizes,
                               const std::map<std::string, SizeRange>& ranges) {
  const std::string bytes = model.SerializeAsString();
  auto symbolic = ImportOnnxBytes(bytes, Symbolic(ranges));
  ASSERT_TRUE(symbolic.ok()) << symbolic.status();
  EXPECT_TRUE(symbolic->opaque.empty());
  ExportOptions spelled;  // without the origin, every node is written anew
  for (const bool keeps_nodes : {false, true}) {
    ExportOptions options = spelled;
    constexpr int kNewestChecked = 17;
    if (keeps_nodes && symbolic->info.opset > kNewestChecked) continue;
    if (keeps_nodes) options.info = symbolic->info;
    auto written = ExportOnnx(symbolic->graph, options);
    ASSERT_TRUE(written.ok()) << written.status();
    EXPECT_EQ(CheckWithOnnx(*written), "");
    auto again = ImportOnnxBytes(*written, Symbolic(ranges));
    ASSERT_TRUE(again.ok()) << again.status();
    for (const DimValues& values : sizes) {
      ImportOptions concrete;
      concrete.dims = InputSizes(symbolic->graph, values);
      auto imported = ImportOnnxBytes(bytes, concrete);
      ASSERT_TRUE(imported.ok()) << imported.status();
      auto made = Specialize(symbolic->graph, values), third = Specialize(again->graph, values);
      ASSERT_TRUE(made.ok()) << made.status();
      ASSERT_TRUE(third.ok()) << third.status();
      ExpectSame(imported->graph, *made, "specialized");
      ExpectSame(imported->graph, *third, "exported, imported and specialized");
      auto direct = ImportOnnxBytes(*written, concrete);
      ASSERT_TRUE(direct.ok()) << direct.status();
      ExpectSame(imported->graph, direct->graph, "exported, and imported for numbers");
    }
  }
}

}  // namespace lemma
