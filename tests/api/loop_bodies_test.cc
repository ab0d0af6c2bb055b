// Bodies of loops that stay loops: optimized inside, with a certificate inside the certificate.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/check.h"
#include "api/models/model_file.h"
#include "api/models/random_values.h"
#include "api/optimize.h"
#include "base/file.h"
#include "base/sha256.h"
#include "gmock/gmock.h"
#include "graph/onnx/run_time/loop_body.h"
#include "graph/sizes/specialize.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "tests/base/temp_files.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two products by weights that the body captures, and one Relu too many.
constexpr char kLoop[] = R"(g (int64 n, float[4,8] x) => (float[4,8] y) {
  y = Loop (n, , x) <body = b (int64 i, bool c, float[4,8] s) => (bool d, float[4,8] t) {
    d = Identity(c)
    p = MatMul(s, u)
    q = MatMul(p, v)
    r = Relu(q)
    t = Relu(r) }>
})";

onnx::ModelProto LoopModel() {
  onnx::ModelProto model = OnnxModel(kLoop);
  AddOnes(&model, "u", {8, 16});
  AddOnes(&model, "v", {16, 8});
  return model;
}

std::string Path(const std::string& name) { return absl::StrCat(testing::TempDir(), "/", name); }

// A file with the model.
std::string FileOf(const onnx::ModelProto& model, const std::string& name) {
  return WriteTemp(name, model.SerializeAsString());
}

api::Model Load(const std::string& path) {
  api::LoadOptions options;
  options.symbolic = true;
  auto model = api::LoadModel(path, options);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *model : api::Model();
}

// Options for a result that is accepted by analytic costs.
api::OptimizeOptions ByPrice(const api::Model& model) {
  api::OptimizeOptions options;
  options.costs.measured = false;
  options.by_price = true;
  api::SetForOnnx(model, /*keep_loops=*/true, &options);
  if (!IsSymbolic(model.graph)) return options;
  DimValues sizes;
  for (const auto& [name, range] : DimsOf(model.graph)) sizes[name] = 4;
  options.hints = {{sizes, 1}};
  return options;
}

// A model, its optimized form as a file, and the certificate.
struct Optimized {
  std::string input, output, certificate;
  api::OptimizeResult result;
};

Optimized Optimize(const onnx::ModelProto& proto, const std::string& name,
                   const std::string& ending = ".onnx", const std::string& replay = "") {
  const std::string out = Path(name + (replay.empty() ? "_out" : "_again"));
  Optimized files{FileOf(proto, name + ".onnx"), out + ending, out + ".cert", {}};
  const api::Model model = Load(files.input);
  api::OptimizeOptions options = ByPrice(model);
  options.replay = replay;
  auto result = api::Optimize(model.graph, {}, options);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return files;
  auto record = api::RecordInput(files.input, model);
  EXPECT_TRUE(record.ok()) << record.status();
  const absl::Status saved =
      api::SaveOptimized(model, *record, *result, files.output, files.certificate);
  EXPECT_TRUE(saved.ok()) << saved;
  files.result = *std::move(result);
  return files;
}

// Why `lemma check` refuses the files; "" if it accepts them.
std::string Problem(const Optimized& files) {
  auto checked = api::CheckCertificate(files.input, files.output, files.certificate, {});
  EXPECT_TRUE(checked.ok()) << checked.status();
  return checked.ok() ? checked->problem() : "";
}

std::vector<double> Executed(const Graph& graph, const std::vector<Tensor>& inputs) {
  auto executable = MakeReferenceBackend()->Compile(graph, {});
  EXPECT_TRUE(executable.ok()) << executable.status();
  auto outputs = (*executable)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::vector<double> all;
  for (const Tensor& output : outputs.ok() ? *outputs : std::vector<Tensor>()) {
    for (double value : output.ToDoubles()) all.push_back(value);
  }
  return all;
}

std::vector<int> Operators(const Optimized& files) {
  std::vector<int> operators;
  for (const api::OptimizedBody& body : files.result.accepted.bodies) {
    operators.push_back(body.operators_before);
    operators.push_back(body.operators_after);
  }
  return operators;
}

TEST(LoopBodiesTest, AreOptimizedAndChecked) {
  for (const std::string ending : {".onnx", ".lemma", ".pb"}) {
    const Optimized files = Optimize(LoopModel(), "loop", ending);
    // Two products and two Relus become one of each.
    EXPECT_THAT(Operators(files), ElementsAre(4, 2)) << ending;
    EXPECT_EQ(files.result.certificate->steps.size(), 0);
    EXPECT_EQ(files.result.certificate->contract, FloatContract::kReassociates);
    EXPECT_EQ(Problem(files), "");
    const Graph before = Load(files.input).graph, after = Load(files.output).graph;
    for (int64_t n : {0, 1, 3}) {
      auto x = Tensor::Filled({DType::kF32, {4, 8}}, 0.5);
      const std::vector<Tensor> inputs = {*Tensor::FromInts({DType::kI64, {}}, {n}), *x};
      EXPECT_EQ(Executed(before, inputs), Executed(after, inputs)) << n;
    }
  }
}

TEST(LoopBodiesTest, TheStepsCanBeRepeated) {
  const Optimized files = Optimize(LoopModel(), "repeated");
  const Optimized again = Optimize(LoopModel(), "repeated", ".onnx", files.certificate);
  EXPECT_THAT(Operators(again), ElementsAre(4, 2));
  EXPECT_EQ(Problem(again), "");
}

TEST(LoopBodiesTest, AllWeightsOfAModelWhoseBodyIsTheSameStay) {
  // Nothing can be gained: the file is a copy.
  const onnx::ModelProto model = OnnxModel(
      "g (int64 n, float[4] x) => (float[4] y) { y = Loop (n, , x) <body = b (int64 i, bool c,"
      " float[4] s) => (bool d, float[4] t) { d = Identity(c) t = Sin(s) }> }");
  const Optimized files = Optimize(model, "same");
  EXPECT_TRUE(files.result.accepted.kept_input());
  EXPECT_EQ(*ReadFile(files.output, 1 << 20), model.SerializeAsString());
}

TEST(LoopBodiesTest, OfScans) {
  onnx::ModelProto model = OnnxModel(R"(g (float[2000,8] x) => (float[8] y, float[2000,8] all) {
    z = Constant <value = float[8] {0,0,0,0,0,0,0,0}> ()
    y, all = Scan <num_scan_inputs = 1, body = b (float[8] s, float[8] e) =>
        (float[8] t, float[8] o) {
      f = Relu(e)
      g = Relu(f)
      t = Add(s, g)
      o = Tanh(t) }> (z, x)
  })");
  const Optimized files = Optimize(model, "scan");
  EXPECT_THAT(Operators(files), ElementsAre(4, 3));
  EXPECT_EQ(Problem(files), "");
  const Graph before = Load(files.input).graph, after = Load(files.output).graph;
  auto inputs = api::RandomInputs(before, 1, 2);
  EXPECT_EQ(Executed(before, *inputs), Executed(after, *inputs));
}

// The inner loop's body is part of the outer loop's body.
TEST(LoopBodiesTest, InsideBodies) {
  const onnx::ModelProto model = OnnxModel(R"(g (int64 n, float[4,8] x) => (float[4,8] y) {
    y = Loop (n, , x) <body = b (int64 i, bool c, float[4,8] s) => (bool d, float[4,8] t) {
      d = Identity(c)
      t = Loop (i, , s) <body = b2 (int64 j, bool e, float[4,8] o) => (bool f, float[4,8] q) {
        f = Identity(e)
        r = Relu(o)
        p = Relu(r)
        q = Sin(p) }> }>
  })");
  const Optimized files = Optimize(model, "nested");
  EXPECT_EQ(Problem(files), "");
  ASSERT_THAT(files.result.accepted.bodies, SizeIs(1));
  EXPECT_THAT(files.result.accepted.bodies[0].record.certificate,
              HasSubstr("\n  step 1 relu_of_relu "));
  const Graph before = Load(files.input).graph, after = Load(files.output).graph;
  auto x = Tensor::Filled({DType::kF32, {4, 8}}, 0.5);
  const std::vector<Tensor> inputs = {*Tensor::FromInts({DType::kI64, {}}, {3}), *x};
  EXPECT_EQ(Executed(before, inputs), Executed(after, inputs));
}

TEST(LoopBodiesTest, ForAllSizes) {
  onnx::ModelProto model = OnnxModel(absl::StrReplaceAll(kLoop, {{"[4,8]", "[k,8]"}}));
  AddOnes(&model, "u", {8, 16});
  AddOnes(&model, "v", {16, 8});
  const Optimized files = Optimize(model, "symbolic");
  EXPECT_THAT(Operators(files), ElementsAre(4, 2));
  EXPECT_THAT(files.result.accepted.bodies[0].record.certificate, HasSubstr("\nsymbolic k 1 "));
  EXPECT_EQ(Problem(files), "");
}

// A value that the new body does not read is no operand of the loop any more.
TEST(LoopBodiesTest, MayReadLess) {
  const onnx::ModelProto model =
      OnnxModel(R"(g (int64 n, float[4,8] x, float[4,8] k, float[4,8] l) => (float[4,8] y) {
    y = Loop (n, , x) <body = b (int64 i, bool c, float[4,8] s) => (bool d, float[4,8] t) {
      d = Identity(c)
      a = Concat <axis = 0> (s, k)
      p, q = Split <axis = 0> (a)
      t = Add(p, l) }>
  })");
  const Optimized files = Optimize(model, "reads_less");
  EXPECT_EQ(Problem(files), "");
  ASSERT_THAT(files.result.accepted.bodies, SizeIs(1));
  EXPECT_THAT(files.result.accepted.bodies[0].record.reads, ElementsAre(0, 1, 3));
  EXPECT_THAT(Load(files.output).graph.input_names(), ElementsAre("n", "x", "k", "l"));
}

// Two captured constants that are equal are one value.
TEST(LoopBodiesTest, MayCaptureEqualConstants) {
  const onnx::ModelProto model = OnnxModel(R"(g (int64 n, float[4] x) => (float[4] y) {
    one = Constant <value = float {1}> ()
    another = Constant <value = float {1}> ()
    two = Constant <value = float {2}> ()
    y = Loop (n, , x) <body = b (int64 i, bool c, float[4] s) => (bool d, float[4] t) {
      d = Identity(c)
      e = Relu(s)
      f = Relu(e)
      g = Sub(f, one)
      h = Mul(g, two)
      t = Div(h, another) }>
  })");
  const Optimized files = Optimize(model, "equal_constants");
  EXPECT_EQ(Problem(files), "");
  EXPECT_THAT(files.result.accepted.bodies, SizeIs(1));
}

// A body without declared shapes: what no iteration computes has the shape that it had before.
TEST(LoopBodiesTest, DeclareTheTypesThatTheyDeclared) {
  onnx::ModelProto model = LoopModel();
  const auto body_of = [](onnx::ModelProto* of) {
    for (auto& node : *of->mutable_graph()->mutable_node()) {
      if (node.op_type() == "Loop") return node.mutable_attribute(0)->mutable_g();
    }
    return static_cast<onnx::GraphProto*>(nullptr);
  };
  for (auto& input : *body_of(&model)->mutable_input()) {
    input.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  for (auto& output : *body_of(&model)->mutable_output()) {
    output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  const Optimized files = Optimize(model, "undeclared");
  EXPECT_EQ(Problem(files), "");
  EXPECT_THAT(Operators(files), ElementsAre(4, 2));
  onnx::ModelProto written;
  ASSERT_TRUE(written.ParseFromString(*ReadFile(files.output, 1 << 20)));
  for (const auto& port : body_of(&written)->output()) {
    EXPECT_FALSE(port.type().tensor_type().has_shape());
  }
}

// A loop that only a value reads which another loop's new body does not need.
TEST(LoopBodiesTest, MayNotNeedAnotherLoop) {
  const onnx::ModelProto model =
      OnnxModel(R"(g (int64 n, float[4,8] x, float[4,8] l) => (float[4,8] y) {
    k = Loop (n, , l) <body = a (int64 i, bool c, float[4,8] s) => (bool d, float[4,8] t) {
      d = Identity(c)
      e = Relu(s)
      f = Relu(e)
      t = Sin(f) }>
    y = Loop (n, , x) <body = b (int64 i, bool c, float[4,8] s) => (bool d, float[4,8] t) {
      d = Identity(c)
      a = Concat <axis = 0> (s, k)
      p, q = Split <axis = 0> (a)
      t = Add(p, l) }>
  })");
  const Optimized files = Optimize(model, "needs_no_other");
  EXPECT_EQ(Problem(files), "");
  EXPECT_THAT(files.result.accepted.bodies, SizeIs(1));
}

// A Loop whose count is a given value that is also a size: the size is fixed, the loop stays.
TEST(LoopBodiesTest, OfACountThatIsAlsoASize) {
  const onnx::ModelProto proto = OnnxModel(R"(g (int64[1] n, float[4] x) => (float[m,4] y) {
    zero = Constant <value = int64[1] {0}> ()
    m = Squeeze(n, zero)
    z = Loop (m, , x) <body = b (int64 i, bool c, float[4] s) => (bool d, float[4] t) {
      d = Identity(c)
      e = Relu(s)
      f = Relu(e)
      t = Sin(f) }>
    four = Constant <value = int64[1] {4}> ()
    shape = Concat <axis = 0> (n, four)
    y = Expand(z, shape) })");
  const std::string path = FileOf(proto, "count_and_size.onnx");
  api::LoadOptions options;
  options.symbolic = options.fixes_sizes = true;
  options.input_values["n"] = Tensor::Ints({3});
  auto model = api::LoadModel(path, options);
  ASSERT_TRUE(model.ok()) << model.status();
  int loops = 0;
  for (const NodePtr& node : model->graph.nodes()) loops += IsOpaqueLoop(*node) ? 1 : 0;
  EXPECT_EQ(loops, 1);
  api::OptimizeOptions optimize = ByPrice(*model);
  auto result = api::Optimize(model->graph, {}, optimize);
  ASSERT_TRUE(result.ok()) << result.status();
  auto record = api::RecordInput(path, *model);
  const Optimized files{path, Path("count_out.onnx"), Path("count_out.cert"), {}};
  ASSERT_TRUE(api::SaveOptimized(*model, *record, *result, files.output, files.certificate).ok());
  EXPECT_EQ(Problem(files), "");
  EXPECT_THAT(result->accepted.bodies, SizeIs(1));
}

// Executed and timed: the result may be the input, but it is right.
TEST(LoopBodiesTest, AreExecuted) {
  const std::string input = FileOf(LoopModel(), "executed.onnx");
  const api::Model model = Load(input);
  api::OptimizeOptions options;
  options.costs.measured = false;
  options.runs = 3;
  api::SetForOnnx(model, /*keep_loops=*/true, &options);
  auto x = Tensor::Filled({DType::kF32, {4, 8}}, 0.5);
  const std::vector<Tensor> inputs = {*Tensor::FromInts({DType::kI64, {}}, {5}), *x};
  auto result = api::Optimize(model.graph, inputs, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->accepted.measured);
  EXPECT_EQ(result->accepted.rejected, "");
  EXPECT_EQ(Executed(model.graph, inputs), Executed(result->accepted.graph, inputs));
}

TEST(LoopBodiesTest, StayWhereTheirTypesChangeOrTheyDraw) {
  const char* const kKept[] = {// The state grows.
                               R"(g (int64 n, float[2] x) => (float[m] y) {
        y = Loop (n, , x) <body = b (int64 i, bool c, float[p] s) => (bool d, float[q] t) {
          d = Identity(c)
          r = Relu(s)
          o = Relu(r)
          t = Concat <axis = 0> (o, o) }>
      })",
                               R"(g (int64 n, float[2] x) => (float[2] y) {
        y = Loop (n, , x) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t) {
          d = Identity(c)
          r = Relu(s)
          o = Relu(r)
          u = RandomUniformLike(o)
          t = Add(u, o) }>
      })"};
  for (const char* text : kKept) {
    const Optimized files = Optimize(OnnxModel(text), "kept");
    EXPECT_THAT(files.result.accepted.bodies, IsEmpty()) << text;
  }
}

// --- What the check refuses. ---

class ForgedBodyTest : public testing::Test {
 protected:
  ForgedBodyTest() : files_(Optimize(LoopModel(), "forged")) {
    certificate_ = *files_.result.certificate;
    certificate_.input_file = Sha256Of(*ReadFile(files_.input, 1 << 20));
    certificate_.output_file = Sha256Of(*ReadFile(files_.output, 1 << 20));
    inner_ = *ParseCertificate(certificate_.bodies[0].certificate);
  }

  // Why the certificate with the changed certificate of the body is refused.
  std::string Forged() {
    certificate_.bodies[0].certificate = PrintCertificate(inner_);
    return Outer();
  }
  std::string Outer() {
    files_.certificate = WriteTemp("forged_out.cert", PrintCertificate(certificate_));
    return Problem(files_);
  }

  Optimized files_;
  Certificate certificate_, inner_;
};

TEST_F(ForgedBodyTest, NothingForged) { EXPECT_EQ(Forged(), ""); }

TEST_F(ForgedBodyTest, AStepIsLeftOut) {
  inner_.steps.pop_back();
  EXPECT_THAT(Forged(), HasSubstr("body of %"));
}

TEST_F(ForgedBodyTest, AnotherFold) {
  ASSERT_THAT(inner_.folds, SizeIs(1));
  inner_.folds[0].sha256 = std::string(64, '0');
  EXPECT_THAT(Forged(), HasSubstr("the reference evaluation gives other values"));
}

TEST_F(ForgedBodyTest, OtherPayloads) {
  std::swap(inner_.input_file, inner_.output_file);
  EXPECT_THAT(Forged(), HasSubstr("the certificate is of another body"));
  inner_.input_file = inner_.output_file;
  inner_.output_file = std::string(64, '0');
  EXPECT_THAT(Forged(), HasSubstr("the output has no loop with the new body"));
}

TEST_F(ForgedBodyTest, AStricterContract) {
  certificate_.contract = FloatContract::kBitExact;
  EXPECT_THAT(Outer(), HasSubstr("the float contract is not bit_exact"));
  certificate_.contract = FloatContract::kReassociates;
  inner_.contract = FloatContract::kBitExact;
  EXPECT_THAT(Forged(), HasSubstr("the float contract is not bit_exact"));
}

TEST_F(ForgedBodyTest, OtherOperands) {
  for (const std::vector<int>& reads :
       {std::vector<int>{}, {0}, {1, 0}, {0, 1, 2}, {0, 1, 7}, {0, -1}}) {
    certificate_.bodies[0].reads = reads;
    EXPECT_NE(Outer(), "") << testing::PrintToString(reads);
  }
}

TEST_F(ForgedBodyTest, AnotherPlace) {
  certificate_.bodies[0].position = 0;
  EXPECT_THAT(Outer(), HasSubstr("body of %0: the node is no loop"));
  certificate_.bodies[0].position = 99;
  EXPECT_THAT(Outer(), HasSubstr("there is no such node"));
  certificate_.bodies.clear();
  EXPECT_NE(Outer(), "");
}

TEST_F(ForgedBodyTest, SizesOfItsOwn) {
  inner_.dims["k"] = 3;
  EXPECT_THAT(Forged(), HasSubstr("of other sizes, weights or inputs"));
  inner_.dims.clear();
  inner_.reseed = 1;
  EXPECT_THAT(Forged(), HasSubstr("of other sizes, weights or inputs"));
}

}  // namespace
}  // namespace lemma
