// If nodes whose condition is known only when the model runs.
#include <cmath>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "graph/builder.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_checker.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ImportedModel Import(const onnx::ModelProto& model) {
  auto imported = ImportOnnxBytes(model.SerializeAsString());
  EXPECT_TRUE(imported.ok()) << imported.status();
  return imported.ok() ? *std::move(imported) : ImportedModel();
}

testing::Matcher<std::vector<double>> ElementsAreNear(const std::vector<double>& values) {
  return testing::Pointwise(testing::FloatNear(1e-6f), values);
}

std::vector<double> RunOn(const Graph& graph, const std::vector<Tensor>& inputs) {
  auto executable = MakeReferenceBackend()->Compile(graph, {});
  EXPECT_TRUE(executable.ok()) << executable.status();
  auto outputs = (*executable)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? (*outputs)[0].ToDoubles() : std::vector<double>();
}

Tensor Floats(const std::vector<double>& values) {
  return *Tensor::FromDoubles({DType::kF32, {static_cast<int64_t>(values.size())}}, values);
}
Tensor Truth(bool value) { return *Tensor::FromDoubles({DType::kBool, {}}, {value ? 1. : 0.}); }

// The graph with each relu(x) replaced by max(x, x), and nothing else.
Graph WithMax(const Graph& graph) {
  GraphBuilder builder(graph.name());
  absl::flat_hash_map<Value, Value> made;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& input = graph.inputs()[i];
    made[input] = builder.Input(graph.input_names()[i], input.type());
  }
  const auto value = [&](const Value& v) {
    const auto known = made.find(v);
    return known == made.end() ? v : known->second;
  };
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    std::vector<Value> inputs;
    for (const Value& input : node->inputs()) inputs.push_back(value(input));
    const NodePtr copy = Node::Apply(&node->op(), inputs, node->attrs(), node->types());
    for (int k = 0; k < node->num_outputs(); ++k) {
      const Value v(node, k);
      made[v] = node->IsOp("relu") ? *Apply1("max", {inputs[0], inputs[0]}) : Value(copy, k);
      if (!graph.LabelOf(v).empty()) builder.Label(made[v], std::string(graph.LabelOf(v)));
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    builder.Output(graph.output_names()[i], value(graph.outputs()[i]));
  }
  return *std::move(builder).Build();
}

onnx::ModelProto Export(const ImportedModel& model, const Graph& graph) {
  ExportOptions options;
  options.info = model.info;
  auto bytes = ExportOnnx(graph, options);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  onnx::ModelProto proto;
  if (!bytes.ok() || !proto.ParseFromString(*bytes)) return proto;
  EXPECT_EQ(CheckWithOnnx(*bytes), "") << proto.DebugString();
  auto again = ImportOnnxBytes(*bytes);
  EXPECT_TRUE(again.ok()) << again.status();
  if (again.ok()) {
    EXPECT_EQ(again->graph.StructuralHash(), graph.StructuralHash());
  }
  return proto;
}

// "Exp If{Mul Identity | Neg Identity}": the nodes, and those of their branches.
std::string Nodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
  std::vector<std::string> words;
  for (const auto& node : nodes) {
    words.push_back(node.op_type());
    std::vector<std::string> branches;
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) branches.push_back(Nodes(attribute.g().node()));
    }
    if (!branches.empty()) words.back() += "{" + absl::StrJoin(branches, " | ") + "}";
  }
  return absl::StrJoin(words, " ");
}

onnx::ModelProto TwoSides() {
  return OnnxModel(R"(g (float[3] x, bool c) => (float[3] y, float[3] z) {
    e = Exp(x)
    y, z = If (c) <then_branch = t () => (float[3] a, float[3] p) {
                     r = Relu(e)
                     a = Mul(r, x)
                     p = Sqrt(r) },
                   else_branch = f () => (float[3] b, float[3] q) {
                     b = Neg(e)
                     q = Identity(b) }> })");
}

TEST(BranchesTest, AnIfIsAChoiceBetweenItsBranches) {
  const ImportedModel model = Import(TwoSides());
  EXPECT_THAT(PrintGraph(model.graph), HasSubstr("where(c, "));
  EXPECT_THAT(RunOn(model.graph, {Floats({0, 0, 0}), Truth(true)}), ElementsAre(0, 0, 0));
  EXPECT_THAT(RunOn(model.graph, {Floats({0, 0, 0}), Truth(false)}), ElementsAre(-1, -1, -1));
}

TEST(BranchesTest, AnUnchangedIfStaysAsItWas) {
  const onnx::ModelProto model = TwoSides();
  const ImportedModel imported = Import(model);
  EXPECT_EQ(Export(imported, imported.graph).DebugString(), model.DebugString());
}

// What only one side needs is computed only if that side is taken.
TEST(BranchesTest, AChangedBranchIsWrittenAsABranch) {
  const ImportedModel model = Import(TwoSides());
  const onnx::ModelProto written = Export(model, WithMax(model.graph));
  EXPECT_EQ(Nodes(written.graph().node()),
            "Exp If{Max Mul Sqrt Identity Identity | Neg Identity Identity}");
}

TEST(BranchesTest, BranchesMayBeNestedAndDependOnEachOther) {
  const ImportedModel model = Import(OnnxModel(R"(g (float[3] x, bool c, bool d) => (float[3] y) {
    u = If (c) <then_branch = t () => (float[3] a) {
                  k = Relu(x)
                  a = If (d) <then_branch = tt () => (float[3] aa) { aa = Exp(k) },
                              else_branch = tf () => (float[3] ab) { ab = Neg(k) }> },
                else_branch = f () => (float[3] b) { b = Abs(x) }>
    v = Sin(u)
    y = If (c) <then_branch = t2 () => (float[3] a2) { a2 = Cos(v) },
                else_branch = f2 () => (float[3] b2) { b2 = Mul(v, v) }> })"));
  const onnx::ModelProto written = Export(model, WithMax(model.graph));
  EXPECT_EQ(Nodes(written.graph().node()),
            "If{Max If{Exp Identity | Neg Identity} Identity | Abs Identity} Sin "
            "If{Cos | Mul}");
}

TEST(BranchesTest, WhereStaysWhereInAModelWithoutIf) {
  const ImportedModel model = Import(OnnxModel(R"(g (float[3] x, bool c) => (float[3] y) {
    r = Relu(x)
    n = Neg(x)
    y = Where(c, r, n) })"));
  EXPECT_EQ(Nodes(Export(model, WithMax(model.graph)).graph().node()), "Neg Max Where");
}

// An index that is wrong on the side that is not taken is no error.
TEST(BranchesTest, ASideThatIsNotTakenMayFail) {
  const ImportedModel model =
      Import(OnnxModel(R"(g (float[3] x, int64[1] i, bool c) => (float[1] y) {
    y = If (c) <then_branch = t () => (float[1] a) { a = Gather(x, i) },
                else_branch = f () => (float[1] b) { b = ReduceSum(x) }> })"));
  const Tensor index = *Tensor::FromInts({DType::kI64, {1}}, {7});
  EXPECT_THAT(RunOn(model.graph, {Floats({1, 2, 3}), index, Truth(false)}), ElementsAre(6));
  auto executable = MakeReferenceBackend()->Compile(model.graph, {});
  EXPECT_FALSE((*executable)->Run({Floats({1, 2, 3}), index, Truth(true)}).ok());
}

// Branches of different element types cannot be one value: the node stays as it is.
TEST(BranchesTest, BranchesOfDifferentTypesAreKept) {
  const ImportedModel model = Import(OnnxModel(R"(g (float[3] x, bool c) => (float[3] y) {
    s = If (c) <then_branch = t () => (float[3] a) { a = Neg(x) },
                else_branch = f () => (int64[3] b) { b = Cast <to = 7> (x) }>
    y = Add(x, x) })"));
  EXPECT_THAT(model.opaque, testing::IsEmpty());  // no output depends on it
  auto used = OnnxModel(R"(g (float[3] x, bool c) => (float[3] y) {
    s = If (c) <then_branch = t () => (float[3] a) { a = Neg(x) },
                else_branch = f () => (int64[3] b) { b = Cast <to = 7> (x) }>
    y = Add(x, s) })");
  auto* info = used.mutable_graph()->add_value_info();
  *info = used.graph().output(0);
  info->set_name("s");
  EXPECT_THAT(Import(used).opaque, ElementsAre(HasSubstr("the branches give f32[3] and i64[3]")));
}

// Like a decoder with and without a cache: the first result has one size, the second one two.
onnx::ModelProto OneOfTwoSizes() {
  return OnnxModel(R"(g (float[3] x, bool c) => (float[3] y, float[n] z) {
    e = Exp(x)
    y, z = If (c) <then_branch = t () => (float[3] a, float[6] p) {
                     r = Relu(e)
                     a = Mul(r, x)
                     p = Concat <axis = 0> (r, a) },
                   else_branch = f () => (float[3] b, float[3] q) {
                     b = Neg(e)
                     w = Exp(e)
                     s = Relu(w)
                     q = Sub(s, x) }> })");
}

TEST(BranchesTest, BranchesOfDifferentSizesArePartOfTheGraph) {
  const ImportedModel model = Import(OneOfTwoSizes());
  EXPECT_THAT(model.opaque, testing::IsEmpty());
  const std::string text = PrintGraph(model.graph);
  EXPECT_THAT(text, HasSubstr("where(c, "));
  EXPECT_THAT(text, HasSubstr("concat("));
  EXPECT_THAT(text, HasSubstr("f32[z.0]"));
}

TEST(BranchesTest, AChangeInABranchOfAnotherSizeIsWrittenAsABranch) {
  const onnx::ModelProto before = OneOfTwoSizes();
  const ImportedModel model = Import(before);
  EXPECT_EQ(Export(model, model.graph).DebugString(), before.DebugString());
  const onnx::ModelProto after = Export(model, WithMax(model.graph));
  EXPECT_EQ(Nodes(after.graph().node()),
            "Exp If{Max Mul Concat Identity Identity | Neg Exp Max Sub Identity Identity}");
  for (const auto& graph : {model.graph, Import(after).graph}) {
    for (const bool on_cpu : {false, true}) {
      auto executable = (on_cpu ? MakeCpuBackend() : MakeReferenceBackend())->Compile(graph, {});
      ASSERT_TRUE(executable.ok()) << executable.status();
      for (const bool holds : {true, false, true}) {
        auto outputs = (*executable)->Run({Floats({0, -1, 0}), Truth(holds)});
        ASSERT_TRUE(outputs.ok()) << outputs.status();
        const double e = std::exp(1.0), small = std::exp(-1.0);
        EXPECT_THAT((*outputs)[1].ToDoubles(), holds
                                                   ? ElementsAreNear({1, small, 1, 0, -small, 0})
                                                   : ElementsAreNear({e, std::exp(small) + 1, e}));
      }
    }
  }
}

// Each side is executed only if it is taken: also what both the choice of a size and a choice of
// equal sizes read, and a choice inside a side.
TEST(BranchesTest, ASideOfAnotherSizeThatIsNotTakenMayFail) {
  const ImportedModel model = Import(OnnxModel(R"(g (float[3] x, int64[2] i, bool c, bool d)
      => (float[n] y, float[2] z) {
    y, z = If (c) <then_branch = t () => (float[k] a, float[2] p) {
                     p = Gather(x, i)
                     a = If (d) <then_branch = u () => (float[4] aa) {
                                   aa = Concat <axis = 0> (p, p) },
                                 else_branch = v () => (float[2] ab) { ab = Gather(p, i) }> },
                   else_branch = f () => (float[3] b, float[2] q) {
                     b = Neg(x)
                     two = Constant <value = int64[1] {2}> ()
                     zero = Constant <value = int64[1] {0}> ()
                     q = Slice(b, zero, two) }> })"));
  EXPECT_THAT(model.opaque, testing::IsEmpty());
  for (const bool on_cpu : {false, true}) {
    auto executable =
        (on_cpu ? MakeCpuBackend() : MakeReferenceBackend())->Compile(model.graph, {});
    ASSERT_TRUE(executable.ok()) << executable.status();
    const auto run = [&](int64_t i, bool c, bool d) {
      return (*executable)
          ->Run({Floats({1, 2, 3}), *Tensor::FromInts({DType::kI64, {2}}, {0, i}), Truth(c),
                 Truth(d)});
    };
    const auto sizes = [](const absl::StatusOr<std::vector<Tensor>>& outputs) {
      return outputs.ok() ? (*outputs)[0].size() : -1;
    };
    EXPECT_EQ(sizes(run(1, true, true)), 4);
    EXPECT_EQ(sizes(run(1, true, false)), 2);
    EXPECT_EQ(sizes(run(2, true, true)), 4);    // Gather(p, i) would fail
    EXPECT_EQ(sizes(run(2, true, false)), -1);  // it does
    EXPECT_EQ(sizes(run(7, true, true)), -1);
    EXPECT_EQ(sizes(run(7, false, true)), 3);
    EXPECT_EQ(sizes(run(7, false, false)), 3);
  }
}

// Equal operators of different Ifs are one node, which would be executed though neither of its
// branches is taken. In both branches of one If, it is always executed.
TEST(BranchesTest, IfsThatShareOperatorsAreKept) {
  const std::string gathers = R"(<then_branch = t () => (float[2] a) { a = Gather(x, i) },
                                  else_branch = e () => (float[3] b) { b = Neg(x) }>)";
  const std::string both = R"(<then_branch = t () => (float[2] a) { g = Gather(x, i) a = Neg(g) },
                               else_branch = e () => (float[4] b) {
                                 g = Gather(x, i) b = Concat <axis = 0> (g, g) }>)";
  const auto model = [](const std::string& body) {
    return Import(OnnxModel(
        "g (float[3] x, int64[2] i, bool c, bool d) => (float[n] y, float[m] z) {" + body + "}"));
  };
  const ImportedModel two = model("y = If (c) " + gathers + " z = If (d) " + gathers);
  EXPECT_THAT(two.opaque, ElementsAre(HasSubstr("share operators with those of another If")));
  const ImportedModel one = model("y = If (c) " + gathers + " z = If (c) " + gathers);
  EXPECT_THAT(one.opaque, testing::IsEmpty());
  const ImportedModel sides = model("y = If (c) " + both + " z = Neg(x)");
  EXPECT_THAT(sides.opaque, testing::IsEmpty());
  for (const ImportedModel* imported : {&two, &one}) {
    for (const bool on_cpu : {false, true}) {
      auto executable =
          (on_cpu ? MakeCpuBackend() : MakeReferenceBackend())->Compile(imported->graph, {});
      ASSERT_TRUE(executable.ok()) << executable.status();
      const auto run = [&](int64_t i, bool c, bool d) {
        auto outputs = (*executable)
                           ->Run({Floats({1, 2, 3}), *Tensor::FromInts({DType::kI64, {2}}, {0, i}),
                                  Truth(c), Truth(d)});
        return outputs.ok() ? (*outputs)[0].size() * 10 + (*outputs)[1].size() : -1;
      };
      EXPECT_EQ(run(7, false, false), 33);
      EXPECT_EQ(run(7, true, false), -1);
      EXPECT_EQ(run(1, true, true), 22);
    }
  }
}

TEST(BranchesTest, DeeplyNestedIfsAreKept) {
  std::string body = "y = Gather(x, i)";
  for (int k = 9; k >= 0; --k) {
    body = absl::StrCat(k == 0 ? "y" : absl::StrCat("y", k), " = If (c", k, ") <then_branch = t", k,
                        " () => (float[p", k, "] a", k, ") { ", body, " a", k, " = Identity(",
                        k == 9 ? "y" : absl::StrCat("y", k + 1), ") }, else_branch = e", k,
                        " () => (float[q", k, "] b", k, ") { b", k, " = Neg(x) }>");
  }
  std::string inputs;
  for (int k = 0; k < 10; ++k) absl::StrAppend(&inputs, ", bool c", k);
  const ImportedModel model =
      Import(OnnxModel("g (float[3] x, int64[2] i" + inputs + ") => (float[n] y) {" + body + "}"));
  auto executable = MakeCpuBackend()->Compile(model.graph, {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  std::vector<Tensor> values = {Floats({1, 2, 3}), *Tensor::FromInts({DType::kI64, {2}}, {0, 7})};
  for (int k = 0; k < 10; ++k) values.push_back(Truth(k < 9));
  auto outputs = (*executable)->Run(values);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].ToDoubles(), ElementsAre(-1, -2, -3));
}

// Of a result that a rewrite changed, and one that stays: both are in one If again.
TEST(BranchesTest, AnIfIsNotWrittenTwice) {
  const ImportedModel model =
      Import(OnnxModel(R"(g (float[3] x, bool c) => (float[n] y, float[m] z) {
    p, q = If (c) <then_branch = t () => (float[3] a, float[6] b) {
                     e = Exp(x)
                     a = Relu(e)
                     b = Concat <axis = 0> (e, x) },
                   else_branch = f () => (float[6] d, float[3] g) {
                     d = Concat <axis = 0> (x, x)
                     g = Sqrt(x) }>
    y = Neg(p)
    z = Neg(q) })"));
  const onnx::ModelProto after = Export(model, WithMax(model.graph));
  EXPECT_EQ(Nodes(after.graph().node()),
            "If{Exp Max Concat Identity Identity | Concat Sqrt Identity Identity} Neg Neg");
}

}  // namespace
}  // namespace lemma
