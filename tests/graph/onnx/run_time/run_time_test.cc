// What is known only when a model runs: the size of a result, the number of iterations, the branch
// that is taken.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "graph/builder.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/sizes/specialize.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"
#include "tests/graph/onnx/onnx_checker.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

ImportedModel Import(const onnx::ModelProto& model, const ImportOptions& options = {}) {
  auto imported = ImportOnnxBytes(model.SerializeAsString(), options);
  EXPECT_TRUE(imported.ok()) << imported.status();
  return imported.ok() ? *std::move(imported) : ImportedModel();
}

Tensor Floats(const std::vector<double>& values) {
  return *Tensor::FromDoubles({DType::kF32, {static_cast<int64_t>(values.size())}}, values);
}
Tensor Scalar(DType dtype, double value) { return *Tensor::Filled({dtype, {}}, value); }

absl::StatusOr<std::vector<Tensor>> RunOn(Backend& backend, const Graph& graph,
                                          const std::vector<Tensor>& inputs) {
  auto executable = backend.Compile(graph, {});
  if (!executable.ok()) return executable.status();
  auto outputs = (*executable)->Run(inputs);
  // Nothing is left from another run.
  auto again = (*executable)->Run(inputs);
  EXPECT_EQ(outputs.ok(), again.ok());
  for (size_t i = 0; outputs.ok() && again.ok() && i < outputs->size(); ++i) {
    EXPECT_TRUE((*outputs)[i].SameBytes((*again)[i]));
  }
  return outputs;
}

// The first output on both back ends, which must agree.
absl::StatusOr<Tensor> RunOn(const Graph& graph, const std::vector<Tensor>& inputs) {
  auto expected = RunOn(*MakeReferenceBackend(), graph, inputs);
  auto outputs = RunOn(*MakeCpuBackend(), graph, inputs);
  EXPECT_EQ(outputs.ok(), expected.ok()) << outputs.status() << expected.status();
  if (!outputs.ok() || !expected.ok()) return expected.status();
  for (size_t k = 0; k < outputs->size(); ++k) {
    EXPECT_EQ((*outputs)[k].type(), (*expected)[k].type());
    for (int64_t i = 0; i < (*outputs)[k].size(); ++i) {
      const double a = (*outputs)[k].AtDouble(i), e = (*expected)[k].AtDouble(i);
      EXPECT_TRUE(std::abs(a - e) <= 1e-5 * (1 + std::abs(e)) || (std::isnan(a) && std::isnan(e)))
          << a << " " << e;
    }
  }
  return (*outputs)[0];
}

std::vector<double> Values(const absl::StatusOr<Tensor>& tensor) {
  EXPECT_TRUE(tensor.ok()) << tensor.status();
  return tensor.ok() ? tensor->ToDoubles() : std::vector<double>{-1};
}

TEST(ResultSizeTest, ToleranceIsThatOfTheSizesOfTheRun) {
  ImportOptions options;
  options.dims = {{"n", 4096}};
  const ImportedModel model = Import(OnnxModel(R"(g (float[n] x) => (float y) {
    nz = NonZero(x)
    axes = Constant <value = int64[1] {0}> ()
    t = Squeeze(nz, axes)
    v = Gather(x, t)
    y = ReduceSum <keepdims = 0> (v)
  })"),
                                     options);
  const auto tolerance_for = [&](int64_t nonzero) {
    std::vector<double> x(4096);
    std::fill(x.begin(), x.begin() + nonzero, 1);
    auto executable = MakeReferenceBackend()->Compile(model.graph, {});
    EXPECT_TRUE(executable.ok()) << executable.status();
    EXPECT_TRUE((*executable)->Run({Floats(x)}).ok());
    const RunFindings& findings = (*executable)->findings();
    EXPECT_THAT(findings.sizes, testing::Contains(testing::Pair(testing::_, nonzero)));
    return RelativeTolerances(model.graph, findings)[0];
  };
  EXPECT_LT(tolerance_for(4), 2 * tolerance_for(1));
  EXPECT_GT(tolerance_for(4096), 10 * tolerance_for(4));
}

TEST(OpaqueErrorTest, ToleranceIsThatOfTheIterationsOfTheRun) {
  const ImportedModel model = Import(OnnxModel(R"(g (int64 n, float[4] x) => (float[4] y) {
    y = Loop (n, , x) <body = b (int64 i, bool go, float[4] v) => (bool again, float[4] w) {
      again = Identity(go)
      s = Sin(v)
      w = Exp(s) }>
  })"));
  const auto tolerance_for = [&](int64_t iterations) {
    auto executable = MakeReferenceBackend()->Compile(model.graph, {});
    EXPECT_TRUE(executable.ok()) << executable.status();
    auto outputs = (*executable)->Run({Scalar(DType::kI64, iterations), Floats({1, 2, 3, 4})});
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return RelativeTolerances(model.graph, (*executable)->findings())[0];
  };
  EXPECT_EQ(tolerance_for(0), 0);
  EXPECT_EQ(tolerance_for(1), 2 * 16 * 0x1p-24);  // two scalar functions
  EXPECT_DOUBLE_EQ(tolerance_for(10), 10 * tolerance_for(1));
}

// --- A branch that cannot run at the given sizes. ---

onnx::ModelProto OneBranch() {
  onnx::ModelProto model = OnnxModel(R"(g (float[4] x, bool c) => (float[4] y) {
    y = If (c) <then_branch = t () => (float[4] a) {
                  r = Relu(x)
                  a = Add(r, x) },
                else_branch = f () => (float[4] b) {
                  s = Constant <value = int64[1] {3}> ()
                  b = Reshape(x, s) }> })");
  return model;
}

TEST(BranchTest, ABranchThatCannotRunIsAnErrorOnlyIfItIsTaken) {
  const ImportedModel model = Import(OneBranch());
  EXPECT_THAT(absl::StrJoin(model.notes, "\n"),
              HasSubstr("else_branch is an error if it is taken"));
  const Tensor x = Floats({-1, 2, 3, -4});
  EXPECT_THAT(Values(RunOn(model.graph, {x, Scalar(DType::kBool, 1)})), ElementsAre(-1, 4, 6, -4));
  const auto failed = RunOn(model.graph, {x, Scalar(DType::kBool, 0)});
  EXPECT_THAT(std::string(failed.status().message()), AllOf(HasSubstr("If"), HasSubstr("Reshape")));
}

// Decoders with and without a cache declare their caches' sizes as one of the branches gives them.
TEST(BranchTest, AnOutputMayBeDeclaredAsOnlyOneBranchGivesIt) {
  const ImportedModel model = Import(OnnxModel(R"(g (float[4] x, bool c) => (float[4] y) {
    y = If (c) <then_branch = t () => (float[4] a) { a = Neg(x) },
                else_branch = f () => (float[1] b) { b = ReduceSum(x) }> })"));
  const Tensor x = Floats({-1, 2, 3, -8});
  EXPECT_THAT(Values(RunOn(model.graph, {x, Scalar(DType::kBool, 1)})), ElementsAre(1, -2, -3, 8));
  EXPECT_THAT(Values(RunOn(model.graph, {x, Scalar(DType::kBool, 0)})), ElementsAre(-4));
}

// What reads the output as well keeps its sizes: the declaration holds where it is not wrong.
TEST(BranchTest, AnOutputThatIsReadTooIsAsDeclared) {
  const ImportedModel model =
      Import(OnnxModel(R"(g (float[4] x, bool c) => (float[4] y, float[4] z) {
    y = If (c) <then_branch = t () => (float[4] a) { a = Neg(x) },
                else_branch = f () => (float[m] b) { b = Unique(x) }>
    z = Neg(y) })"));
  EXPECT_THAT(model.opaque, SizeIs(1));
  EXPECT_EQ(model.graph.outputs()[0].type().ToString(), "f32[4]");
}

TEST(BranchTest, OfNoBranchThatRunsThereIsNoGraph) {
  auto imported = ImportOnnxBytes(OnnxModel(R"(g (float[4] x, bool c) => (float[4] y) {
    s = Constant <value = int64[1] {3}> ()
    y = If (c) <then_branch = t () => (a) { a = Reshape(x, s) },
                else_branch = f () => (b) { b = Reshape(x, s) }> })")
                                      .SerializeAsString());
  if (!imported.ok()) return;  // or it is kept as it is, and no side can be taken
  for (const int side : {0, 1}) {
    EXPECT_FALSE(RunOn(imported->graph, {Floats({1, 2, 3, 4}), Scalar(DType::kBool, side)}).ok());
  }
}

// The graph with max(x, x) in place of each relu(x).
Graph WithMax(const Graph& graph) {
  GraphBuilder builder(graph.name());
  absl::flat_hash_map<Value, Value> made;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& input = graph.inputs()[i];
    made[input] = builder.Input(graph.input_names()[i], input.type());
  }
  auto now = [&](const Value& v) { return made.contains(v) ? made[v] : v; };
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    std::vector<Value> inputs;
    for (const Value& v : node->inputs()) inputs.push_back(now(v));
    absl::StatusOr<std::vector<Value>> values =
        node->IsOp("relu")     ? ApplyOp("max", {inputs[0], inputs[0]})
        : node->IsOp("opaque") ? ApplyOpaque(inputs, node->attrs(), node->types())
                               : ApplyOp(node->op().name, inputs, node->attrs());
    EXPECT_TRUE(values.ok()) << values.status();
    for (int k = 0; values.ok() && k < node->num_outputs(); ++k) {
      made[Value(node, k)] = (*values)[k];
      const auto label = graph.LabelOf(Value(node, k));
      if (!label.empty()) builder.Label((*values)[k], std::string(label));
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    builder.Output(graph.output_names()[i], now(graph.outputs()[i]));
  }
  auto built = std::move(builder).Build();
  EXPECT_TRUE(built.ok()) << built.status();
  return built.ok() ? *std::move(built) : graph;
}

// Exports a graph made from the model, and imports that.
Graph Written(const ImportedModel& model, const Graph& graph, onnx::ModelProto* proto,
              bool is_valid = true) {
  ExportOptions options;
  options.info = model.info;
  auto bytes = ExportOnnx(graph, options);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  if (!bytes.ok() || !proto->ParseFromString(*bytes)) return graph;
  if (is_valid) {
    EXPECT_EQ(CheckWithOnnx(*bytes), "") << proto->DebugString();
  }
  return Import(*proto).graph;
}

TEST(BranchTest, BesideAChangedBranchItStays) {
  const ImportedModel model = Import(OneBranch());
  onnx::ModelProto unchanged, changed;
  // One of its branches is wrong, which ONNX's checker sees, too.
  Written(model, model.graph, &unchanged, /*is_valid=*/false);
  EXPECT_EQ(unchanged.DebugString(), OneBranch().DebugString());
  const Graph graph = Written(model, WithMax(model.graph), &changed, /*is_valid=*/false);
  EXPECT_THAT(changed.DebugString(), AllOf(HasSubstr("Max"), testing::Not(HasSubstr("Relu"))));
  const Tensor x = Floats({1, 2, 3, 4});
  EXPECT_THAT(Values(RunOn(graph, {x, Scalar(DType::kBool, 1)})), ElementsAre(2, 4, 6, 8));
  EXPECT_FALSE(RunOn(graph, {x, Scalar(DType::kBool, 0)}).ok());
}

// --- Loop and Scan. ---

onnx::ModelProto Powers() {
  return OnnxModel(R"(g (float[2] x, int64 n, float limit) => (float[2] y, float[k,2] all) {
    f = Relu(x)
    go = Constant <value = bool {1}> ()
    y, all = Loop (n, go, f) <body = b (int64 i, bool c, float[2] s) =>
                                        (bool more, float[2] t, float[2] each) {
      d = Add(s, f)
      t = Mul(d, d)
      each = Sqrt(t)
      top = ReduceMax <keepdims = 0> (t)
      more = Less(top, limit) }> })");
}

TEST(LoopTest, ItRunsAsOftenAsCountAndConditionSay) {
  const ImportedModel model = Import(Powers());
  for (const int n : {0, 1, 2, 5}) {
    for (const double limit : {0.0, 3.0, 1e4}) {
      std::vector<double> s = {0.5, 0.25};
      const std::vector<double> f = s;
      bool more = true;
      int done = 0;
      for (; done < n && more; ++done) {
        for (int i = 0; i < 2; ++i) s[i] = (s[i] + f[i]) * (s[i] + f[i]);
        more = std::max(s[0], s[1]) < limit;
      }
      const std::vector<Tensor> inputs = {Floats(f), Scalar(DType::kI64, n),
                                          Scalar(DType::kF32, limit)};
      const std::vector<double> y = Values(RunOn(model.graph, inputs));
      ASSERT_THAT(y, SizeIs(2));
      for (int i = 0; i < 2; ++i) EXPECT_NEAR(y[i], s[i], 1e-5 * std::abs(s[i]));
      auto all = RunOn(*MakeCpuBackend(), model.graph, inputs);
      ASSERT_TRUE(all.ok()) << all.status();
      EXPECT_THAT((*all)[1].shape(), ElementsAre(done, 2));
    }
  }
}

TEST(LoopTest, AStateMayGrow) {
  const ImportedModel model = Import(OnnxModel(R"(g (float[2] x, int64 n) => (float[m] y) {
    go = Constant <value = bool {1}> ()
    z = Loop (n, go, x) <body = b (int64 i, bool c, float[k] s) => (bool more, float[k2] t) {
      t = Concat <axis = 0> (s, x)
      more = Identity(c) }>
    y = Neg(z) })"));
  EXPECT_THAT(Values(RunOn(model.graph, {Floats({1, 2}), Scalar(DType::kI64, 2)})),
              ElementsAre(-1, -2, -1, -2, -1, -2));
  EXPECT_THAT(Values(RunOn(model.graph, {Floats({1, 2}), Scalar(DType::kI64, 0)})),
              ElementsAre(-1, -2));
}

TEST(ScanTest, ALongScanIsNotUnrolled) {
  const ImportedModel model = Import(OnnxModel(R"(g (float[2000] x) => (float[2000] y) {
    z = Constant <value = float {0}> ()
    s, y = Scan <num_scan_inputs = 1, scan_input_directions = [1],
                 body = b (float a, float e) => (float t, float o) {
                   t = Add(a, e)
                   o = Identity(t) }> (z, x) })"));
  EXPECT_THAT(model.opaque, SizeIs(1));
  const std::vector<double> y = Values(RunOn(model.graph, {Floats(std::vector<double>(2000, 1))}));
  ASSERT_THAT(y, SizeIs(2000));
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1999], 2000);
}

// --- Sizes of results. ---

TEST(ResultSizeTest, AResultSizeIsADimensionThatMayBeZero) {
  const ImportedModel model = Import(OnnxModel(R"(g (float[2,3] x) => (int64[2,n] i, float[n] y) {
    i = NonZero(x)
    t = Transpose <perm = [1,0]> (i)
    v = GatherND(x, t)
    y = Exp(v) })"));
  const auto dims = DimsOf(model.graph);
  ASSERT_THAT(dims, SizeIs(1));
  EXPECT_EQ(dims.begin()->first, "i.1");
  EXPECT_EQ(dims.begin()->second, (SizeRange{0, 6}));
  EXPECT_THAT(InputDimsOf(model.graph), IsEmpty());
  const Tensor some = *Tensor::FromDoubles({DType::kF32, {2, 3}}, {0, 5, 0, 0, 0, 7});
  EXPECT_THAT(Values(RunOn(model.graph, {some})), ElementsAre(0, 1, 1, 2));
  const Tensor none = *Tensor::Filled({DType::kF32, {2, 3}}, 0);
  EXPECT_THAT(Values(RunOn(model.graph, {none})), IsEmpty());
}

TEST(ResultSizeTest, AnOutputMayBeComputedBeforeIt) {
  for (const char* kept : {"c", "z"}) {
    const ImportedModel model = Import(OnnxModel(absl::StrCat(
        R"(g (float[6] x, float h) => (float[6] y, int64[1,n] i) {
    y = Relu(x)
    z = Neg(y)
    c = Greater(y, h)
    i = NonZero()",
        kept, ") })")));
    const std::vector<Tensor> inputs = {
        *Tensor::FromDoubles({DType::kF32, {6}}, {1, -1, 2, 3, -4, 5}),
        *Tensor::FromDoubles({DType::kF32, {}}, {0.5})};
    EXPECT_THAT(Values(RunOn(model.graph, inputs)), ElementsAre(1, 0, 2, 3, 0, 5));
  }
}

TEST(ResultSizeTest, AroundItNodesAreWrittenAnew) {
  const ImportedModel model = Import(OnnxModel(R"(g (float[6] x, bool[6] m) => (float[n] y) {
    e = Relu(x)
    f = Compress(e, m)
    s = Shape(f)
    one = Constant <value = float[1] {1}> ()
    g = Expand(one, s)
    y = Sub(g, f) })"));
  onnx::ModelProto changed;
  const Graph graph = Written(model, WithMax(model.graph), &changed);
  EXPECT_THAT(changed.DebugString(), AllOf(HasSubstr("Max"), testing::Not(HasSubstr("Relu"))));
  const Tensor x = Floats({1, 2, 3, 4, 5, 6});
  const auto mask = [](const std::vector<double>& truth) {
    return *Tensor::FromDoubles({DType::kBool, {6}}, truth);
  };
  EXPECT_THAT(Values(RunOn(graph, {x, mask({1, 1, 0, 0, 1, 0})})), ElementsAre(0, -1, -4));
  EXPECT_THAT(Values(RunOn(graph, {x, mask({0, 0, 0, 0, 0, 0})})), IsEmpty());
}

TEST(ResultSizeTest, WhatOnlyOneSideNeedsIsNotExecuted) {
  // TopK with more elements than there are is an error.
  const ImportedModel model = Import(OnnxModel(R"(g (float[3] x, int64[1] k, bool c) => (float y) {
    y = If (c) <then_branch = t () => (float a) {
                  v, i = TopK(x, k)
                  a = ReduceSum <keepdims = 0> (v) },
                else_branch = f () => (float b) { b = ReduceMax <keepdims = 0> (x) }> })"));
  const Tensor x = Floats({1, 2, 4});
  const auto run = [&](double k, bool c) {
    const Tensor count = *Tensor::Filled({DType::kI64, {1}}, k);
    return RunOn(model.graph, {x, count, Scalar(DType::kBool, c ? 1 : 0)});
  };
  EXPECT_THAT(Values(run(2, true)), ElementsAre(6));
  EXPECT_FALSE(run(9, true).ok());
  EXPECT_THAT(Values(run(9, false)), ElementsAre(4));
}

TEST(ResultSizeTest, WhatTakesNoEmptyTensorIsNotExecutedEither) {
  const ImportedModel model = Import(OnnxModel(R"(g (float[3] x, bool[3] m, bool c) => (float y) {
    y = If (c) <then_branch = t () => (float a) {
                  v = Compress(x, m)
                  e = Exp(v)
                  i = ArgMax <keepdims = 0, axis = 0> (e)
                  a = Cast <to = 1> (i) },
                else_branch = f () => (float b) { b = ReduceMax <keepdims = 0> (x) }> })"));
  const Tensor x = Floats({1, 2, 4}), m = *Tensor::FromDoubles({DType::kBool, {3}}, {0, 1, 1});
  EXPECT_THAT(Values(RunOn(model.graph, {x, m, Scalar(DType::kBool, 1)})), ElementsAre(1));
  EXPECT_THAT(Values(RunOn(model.graph, {x, m, Scalar(DType::kBool, 0)})), ElementsAre(4));
}

TEST(ResultSizeTest, AnErrorNamesTheModelsValues) {
  const ImportedModel model = Import(OnnxModel(
      R"(g (float[3] x, int64[1] k) => (float[n] best) { r = Relu(x) best, which = TopK(r, k) })"));
  const auto failed = RunOn(*MakeCpuBackend(), model.graph,
                            {Floats({1, 2, 4}), *Tensor::Filled({DType::kI64, {1}}, 9)});
  EXPECT_THAT(std::string(failed.status().message()),
              AllOf(HasSubstr("'best' (TopK"), testing::Not(HasSubstr("o0"))));
}

// A chain of operators, some of which change the size by values.
std::string RandomChain(std::mt19937* random, std::vector<Tensor>* inputs) {
  std::string text =
      "g (float[6] x, bool[6] m, float t, int64 n) => (float[k] y, float[1] z) {\n"
      "  go = Constant <value = bool {1}> ()\n  v0 = Neg(x)\n  w0 = Abs(x)\n";
  auto pick = [&](int n) { return static_cast<int>((*random)() % n); };
  int at = 0;
  bool has_mask = true;
  for (int step = 0; step < 6; ++step) {
    const std::string v = absl::StrCat("v", at), w = absl::StrCat("w", at++);
    const std::string v2 = absl::StrCat("v", at), w2 = absl::StrCat("w", at);
    switch (pick(7)) {
      case 0:  // keeps the elements above a threshold
        absl::StrAppend(&text, "  g", at, " = Greater(", v, ", t)\n  ", v2, " = Compress(", v,
                        ", g", at, ")\n  ", w2, " = Compress(", w, ", g", at, ")\n");
        has_mask = false;
        break;
      case 1:
        absl::StrAppend(&text, "  g", at, " = NonZero(", w, ")\n  h", at,
                        " = Transpose <perm = [1,0]> (g", at, ")\n  ", v2, " = GatherND(", v, ", h",
                        at, ")\n  ", w2, " = GatherND(", w, ", h", at, ")\n");
        has_mask = false;
        break;
      case 2:
        absl::StrAppend(&text, "  ", v2, " = Unique <sorted = 1> (", v, ")\n  ", w2, " = Exp(", v2,
                        ")\n");
        has_mask = false;
        break;
      case 3:
        absl::StrAppend(&text, "  ", v2, ", e", at, " = Loop (n, go, ", v, ") <body = b", at,
                        " (int64 i, bool c, float[a] s) => (bool more, float[a] u, float[a] o) {\n"
                        "    p = Mul(s, t)\n    u = Tanh(p)\n    o = Sin(",
                        w, ")\n    q = ReduceSum <keepdims = 0> (u)\n    more = Less(q, t) }>\n  ",
                        w2, " = Cos(", v2, ")\n");
        break;
      case 4:
        absl::StrAppend(&text, "  ", v2, " = Concat <axis = 0> (", v, ", ", w, ")\n  ", w2,
                        " = Sqrt(", v2, ")\n");
        has_mask = false;
        break;
      case 5:
        absl::StrAppend(&text, "  ", v2, " = Mul(", v, ", ", w, ")\n  ", w2, " = Tanh(", v, ")\n");
        break;
      default:
        absl::StrAppend(&text, "  ", v2, " = ", has_mask ? "Compress" : "Mul", "(", v, ", ",
                        has_mask ? "m" : v, ")\n  ", w2, " = Identity(", v2, ")\n");
        has_mask = false;
        break;
    }
  }
  absl::StrAppend(&text, "  y = Abs(v", at, ")\n  z = ReduceSum <keepdims = 1> (w", at, ") }");
  std::vector<double> x, m;
  for (int i = 0; i < 6; ++i) {
    x.push_back((pick(9) - 4) / 2.0);
    m.push_back(pick(2));
  }
  *inputs = {Floats(x), *Tensor::FromDoubles({DType::kBool, {6}}, m),
             Scalar(DType::kF32, pick(5) - 1), Scalar(DType::kI64, pick(4))};
  return text;
}

// Executed in stages, a graph computes what it computes when every value is known at its import,
// where loops are unrolled and sizes are numbers.
TEST(ResultSizeTest, StagesComputeWhatTheImportOfTheValuesDoes) {
  int open = 0, empty = 0, compared = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    std::vector<Tensor> inputs;
    const std::string text = RandomChain(&random, &inputs);
    const std::string bytes = OnnxModel(text).SerializeAsString();
    auto model = ImportOnnxBytes(bytes);
    ASSERT_TRUE(model.ok()) << "seed " << seed << ": " << model.status() << "\n" << text;
    if (!DimsOf(model->graph).empty()) ++open;
    ImportOptions options;
    options.inputs = inputs;
    options.computes_result_sizes = true;
    auto known = ImportOnnxBytes(bytes, options);
    if (!known.ok()) continue;  // an operator that takes no empty tensors
    auto expected = RunOn(*MakeReferenceBackend(), known->graph, inputs);
    auto outputs = RunOn(*MakeReferenceBackend(), model->graph, inputs);
    auto cpu = RunOn(*MakeCpuBackend(), model->graph, inputs);
    ASSERT_EQ(outputs.ok(), expected.ok())
        << "seed " << seed << outputs.status() << expected.status() << "\n"
        << text;
    ASSERT_EQ(cpu.ok(), expected.ok()) << "seed " << seed << cpu.status() << "\n" << text;
    if (!expected.ok()) continue;
    ++compared;
    if ((*expected)[0].size() == 0) ++empty;
    for (const auto* found : {&*outputs, &*cpu}) {
      for (size_t k = 0; k < expected->size(); ++k) {
        ASSERT_EQ((*found)[k].type(), (*expected)[k].type()) << "seed " << seed << "\n" << text;
        for (int64_t i = 0; i < (*found)[k].size(); ++i) {
          const double a = (*found)[k].AtDouble(i), e = (*expected)[k].AtDouble(i);
          ASSERT_TRUE(a == e || std::abs(a - e) <= 1e-4 * (1 + std::abs(e)) ||
                      (std::isnan(a) && std::isnan(e)))
              << "seed " << seed << ": " << a << " for " << e << "\n"
              << text;
        }
      }
    }
  }
  EXPECT_GT(open, 150);
  EXPECT_GT(compared, 150);
  EXPECT_GT(empty, 10);
  std::printf("%d of 300 with result sizes, %d compared, %d of them empty\n", open, compared,
              empty);
}

}  // namespace
}  // namespace lemma
