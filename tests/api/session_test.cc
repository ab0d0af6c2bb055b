#include "api/session.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "api/models/random_values.h"
#include "api/run.h"
#include "graph/onnx/import.h"
#include "graph/sizes/specialize.h"
#include "gtest/gtest.h"
#include "tests/api/model_text.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

// Two layers over rows whose number is open.
api::Model Rows() {
  ImportOptions options;
  options.symbolic = true;
  onnx::ModelProto onnx = OnnxModel(
      "g (float[rows,8] x, float[8,16] w, float[16,4] u) => (float[rows,4] y) "
      "{ h = MatMul(x, w) r = Relu(h) y = MatMul(r, u) }");
  onnx.mutable_graph()->mutable_input()->DeleteSubrange(1, 2);
  AddOnes(&onnx, "w", {8, 16});
  AddOnes(&onnx, "u", {16, 4});
  auto imported = ImportOnnxBytes(onnx.SerializeAsString(), options);
  EXPECT_TRUE(imported.ok()) << imported.status();
  api::Model model;
  model.graph = imported->graph;
  return model;
}

std::vector<Tensor> InputsAt(const api::Model& model, int64_t rows) {
  return *api::RandomInputs(*Specialize(model.graph, {{"rows", rows}}), /*seed=*/rows, 2);
}

TEST(SessionTest, RunsAtEverySizeAsAModelOfThatSize) {
  const api::Model model = Rows();
  auto session = api::Session::Open(model);
  ASSERT_TRUE(session.ok()) << session.status();
  for (const int64_t rows : {1, 7, 3, 7, 1}) {
    const std::vector<Tensor> inputs = InputsAt(model, rows);
    auto outputs = (*session)->Run(inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    api::ExecutionOptions reference;
    reference.backend = "reference";
    const Graph sized = *Specialize(model.graph, {{"rows", rows}});
    auto expected = (*(*api::MakeBackend(reference))->Compile(sized, {}))->Run(inputs);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_EQ((*outputs)[0].type(), (*expected)[0].type());
    for (int64_t i = 0; i < (*expected)[0].size(); ++i) {
      EXPECT_NEAR((*outputs)[0].AtDouble(i), (*expected)[0].AtDouble(i), 1e-5);
    }
  }
  EXPECT_EQ((*session)->plans(), 3);
}

TEST(SessionTest, KeepsTheSizesUsedLast) {
  const api::Model model = Rows();
  api::SessionOptions options;
  options.max_plans = 2;
  auto session = api::Session::Open(model, options);
  ASSERT_TRUE(session.ok()) << session.status();
  auto plan_at = [&](int64_t rows) { return *(*session)->At({{"rows", rows}}); };
  const api::Session::Plan* const one = plan_at(1);
  plan_at(2);
  EXPECT_EQ(plan_at(1), one);
  plan_at(3);  // takes the place of 2
  EXPECT_EQ((*session)->plans(), 2);
  EXPECT_EQ(plan_at(1), one);
  EXPECT_EQ(plan_at(2)->graph.inputs()[0].shape()[0], 2);
}

// The packed weights of one size are those of another, which keeps them.
TEST(SessionTest, SizesShareNothingThatARunChanges) {
  const api::Model model = Rows();
  api::SessionOptions options;
  options.max_plans = 1;
  auto session = api::Session::Open(model, options);
  ASSERT_TRUE(session.ok()) << session.status();
  auto other = api::Session::Open(model, options);
  ASSERT_TRUE(other.ok()) << other.status();
  const std::vector<Tensor> inputs = InputsAt(model, 5);
  auto first = (*session)->Run(inputs);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE((*other)->Run(InputsAt(model, 6)).ok());
  ASSERT_TRUE((*session)->Run(InputsAt(model, 6)).ok());  // forgets the first size
  *session = nullptr;
  auto again = (*other)->Run(inputs);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE((*again)[0].SameBytes((*first)[0]));
}

TEST(SessionTest, SaysWhichInputDoesNotFit) {
  auto session = api::Session::Open(Rows());
  ASSERT_TRUE(session.ok()) << session.status();
  const absl::Status status = (*session)->Run({*Tensor::Filled({DType::kF32, {2, 9}}, 1)}).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "input 'x' is f32[rows,8], f32[2,9] is given"))
      << status;
  EXPECT_EQ((*session)->plans(), 0);

  api::SessionOptions none;
  none.max_plans = 0;
  EXPECT_EQ(api::Session::Open(Rows(), none).status().message(),
            "option max_plans: must be at least 1");
}

TEST(SessionTest, SaysThatASizeWasFixed) {
  api::Model model = Rows();
  model.graph = *Specialize(model.graph, {{"rows", 3}});
  model.notes = {"operator set 17", "dimension rows is fixed to 3; --dim rows=SIZE gives another"};
  auto session = api::Session::Open(model);
  ASSERT_TRUE(session.ok()) << session.status();
  const absl::Status status = (*session)->Run({*Tensor::Filled({DType::kF32, {2, 8}}, 1)}).status();
  EXPECT_TRUE(absl::StrContains(status.message(),
                                "f32[2,8] is given; dimension rows is fixed to 3; --dim rows"))
      << status;
}

TEST(SessionTest, TimesEachSize) {
  const api::Model model = Rows();
  auto session = api::Session::Open(model);
  ASSERT_TRUE(session.ok()) << session.status();
  const std::vector<DimValues> sizes = {{{"rows", 4}}, {{"rows", 9}}};
  auto timings = api::TimeAtSizes(session->get(), sizes, {}, 3);
  ASSERT_TRUE(timings.ok()) << timings.status();
  ASSERT_EQ(timings->size(), 2u);
  EXPECT_EQ((*timings)[1].sizes, sizes[1]);
  EXPECT_EQ((*timings)[1].ms.size(), 3u);
  EXPECT_GT((*timings)[1].again_ms, 0);
  EXPECT_GT((*timings)[1].memory.planned_bytes, (*timings)[0].memory.planned_bytes);

  const std::vector<DimValues> unknown = {{{"row", 4}}};
  EXPECT_TRUE(absl::StrContains(api::TimeAtSizes(session->get(), unknown, {}, 3).status().message(),
                                "option sizes: no dimension is called row"));
}

}  // namespace
}  // namespace lemma
