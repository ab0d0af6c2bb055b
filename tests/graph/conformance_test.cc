// Properties of every operator in the table.
#include <cmath>
#include <set>

#include "absl/strings/str_join.h"
#include "graph/builder.h"
#include "graph/examples/op_examples.h"
#include "graph/expr/compose.h"
#include "graph/op_table.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/kernels/evaluate/naive_evaluator.h"

namespace lemma {
namespace {

// Operators whose definition has another form at other values of a size. That size cannot be a
// symbol.
const std::set<std::string>& FormDependsOnSize() {
  static const auto* names = new std::set<std::string>{"gather_nd", "scatter_nd"};
  return *names;
}

TEST(OperatorTable, EntriesAreComplete) {
  std::set<std::string> names;
  for (const OpDef* op : AllOps()) {
    SCOPED_TRACE(op->name);
    EXPECT_TRUE(names.insert(op->name).second) << "listed twice";
    EXPECT_EQ(FindOp(op->name), op);
    EXPECT_FALSE(op->group.empty() || op->equation.empty());
    EXPECT_EQ(op->input_names.empty(), op->max_inputs == 0);
    EXPECT_TRUE(op->define != nullptr);
    EXPECT_TRUE(op->max_inputs == kVariadic || op->max_inputs >= op->min_inputs);
    for (const AttrSpec& attr : op->attrs) {
      EXPECT_FALSE(attr.doc.empty()) << attr.name;
      EXPECT_TRUE(!attr.default_value || KindOf(*attr.default_value) == attr.kind) << attr.name;
    }
  }
}

TEST(OperatorTable, EveryExampleParses) {
  for (const OpDef* op : AllOps()) {
    if (op->name == "opaque") continue;
    EXPECT_GE(op->examples.size(), 2u) << op->name;
    for (const std::string& text : op->examples) {
      auto example = ParseExample(*op, text);
      EXPECT_TRUE(example.ok()) << op->name << text << ": " << example.status();
    }
  }
}

TEST(OperatorTable, OnnxOperatorsHaveOneImporter) {
  std::set<std::string> types;
  for (const OpDef* op : AllOps()) {
    for (const OnnxImporter& importer : op->onnx_import) {
      EXPECT_TRUE(types.insert(importer.op_type).second) << importer.op_type;
    }
  }
}

class Conformance : public testing::TestWithParam<OpExample> {
 protected:
  const OpExample& example() const { return GetParam(); }
  const OpDef& op() const { return *example().op; }

  std::vector<TensorType> Types() const {
    auto types = InferTypes(op(), example().inputs, example().attrs);
    EXPECT_TRUE(types.ok()) << types.status();
    return types.ok() ? *types : std::vector<TensorType>();
  }
  Definition Defined() const {
    auto definition = Define(op(), example().inputs, example().attrs);
    EXPECT_TRUE(definition.ok()) << definition.status();
    return definition.ok() ? *definition : Definition();
  }
};

TEST_P(Conformance, DefinitionHasTheInferredTypes) {
  const std::vector<TensorType> types = Types();
  const Definition definition = Defined();
  ASSERT_FALSE(types.empty());
  ASSERT_EQ(definition.outputs.size(), types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    ExprType type = definition.TypeOf(definition.outputs[i]);
    EXPECT_EQ(type.dtype, types[i].dtype);
    ASSERT_EQ(type.rank(), types[i].rank());
    for (int d = 0; d < type.rank(); ++d) EXPECT_EQ(type.dims[d].AsConst(), types[i].shape[d]);
  }
}

TEST_P(Conformance, TextReadsBack) {
  GraphBuilder b("g");
  std::vector<Value> inputs;
  for (const TensorType& type : example().inputs) {
    inputs.push_back(b.Input(absl::StrCat("x", inputs.size()), type));
  }
  auto outputs = b.Ops(op().name, inputs, example().attrs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (size_t i = 0; i < outputs->size(); ++i) b.Output(absl::StrCat("y", i), (*outputs)[i]);
  auto graph = std::move(b).Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  auto read = ParseGraph(PrintGraph(*graph));
  ASSERT_TRUE(read.ok()) << read.status() << "\n" << PrintGraph(*graph);
  EXPECT_EQ(read->StructuralHash(), graph->StructuralHash());
}

TEST_P(Conformance, ValuesAreNumbers) {
  auto values = OutputsNaively(Defined(), ExampleValues(example()));
  ASSERT_TRUE(values.ok()) << values.status();
  if (op().name == "acosh") return;  // not defined below 1
  for (const auto& output : *values) {
    for (double v : output) EXPECT_TRUE(std::isfinite(v)) << v;
  }
}

// Replaces every size, and every attribute that may be a symbol, by a symbol. With the symbols
// bound to the concrete numbers again, requirements hold, and the definition computes the same.
class Symbolized {
 public:
  explicit Symbolized(const OpExample& example) {
    const bool keep_last = FormDependsOnSize().count(example.op->name) > 0;
    for (const TensorType& type : example.inputs) {
      ExprType expr_type{type.dtype, {}};
      for (size_t d = 0; d < type.shape.size(); ++d) {
        // A symbol never broadcasts and is never known to be empty, so such sizes stay numbers.
        const bool keep = type.shape[d] < 2 || (keep_last && d + 1 == type.shape.size());
        expr_type.dims.push_back(keep ? IndexExpr(type.shape[d]) : Symbol(type.shape[d]));
      }
      inputs.push_back(std::move(expr_type));
    }
    attrs = ToExprAttrs(example.attrs);
    for (auto& [name, value] : attrs) {
      if (!example.op->FindAttr(name)->symbolic) continue;
      if (auto* size = std::get_if<IndexExpr>(&value)) *size = Symbol(size->value());
      if (auto* sizes = std::get_if<Idx>(&value)) {
        for (IndexExpr& size : *sizes) {
          if (size.value() != 1 && size.value() != 0) size = Symbol(size.value());
        }
      }
    }
  }

  std::vector<ExprType> inputs;
  ExprAttrs attrs;
  absl::flat_hash_map<std::string, int64_t> bindings;

 private:
  IndexExpr Symbol(int64_t value) {
    std::string name = absl::StrCat("n", bindings.size());
    bindings[name] = value;
    return IndexExpr::Symbol(name);
  }
};

TEST_P(Conformance, SymbolsMeanTheSame) {
  Symbolized symbolic(example());
  auto meaning = Define(op(), symbolic.inputs, symbolic.attrs);
  ASSERT_TRUE(meaning.ok()) << meaning.status();
  IndexEnv env;
  env.symbol = [&](const std::string& name) { return std::optional(symbolic.bindings.at(name)); };
  for (const Guard& guard : meaning->requirements) {
    EXPECT_EQ(EvaluateGuard(guard, env), true) << guard.ToString();
  }
  const auto inputs = ExampleValues(example());
  auto concrete = OutputsNaively(Defined(), inputs);
  auto bound = OutputsNaively(Bind(meaning->definition, symbolic.bindings), inputs);
  ASSERT_TRUE(concrete.ok()) << concrete.status();
  ASSERT_TRUE(bound.ok()) << bound.status();
  if (op().name == "acosh") return;  // NaN differs from itself
  EXPECT_EQ(*bound, *concrete);
}

INSTANTIATE_TEST_SUITE_P(Examples, Conformance, testing::ValuesIn(AllExamples()),
                         [](const testing::TestParamInfo<OpExample>& info) {
                           return absl::StrCat(info.param.op->name, "_", info.index);
                         });

}  // namespace
}  // namespace lemma
