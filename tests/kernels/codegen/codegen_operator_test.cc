// Every example of the operator table: its generated CUDA kernels, emulated, against the reference.
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/examples/op_examples.h"
#include "gtest/gtest.h"
#include "kernels/codegen/grid_program.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"
#include "tests/kernels/codegen/host_kernels.h"

namespace lemma {
namespace {

using codegen::GridProgram;

struct Case {
  OpExample example;
  std::optional<Graph> graph;  // its outputs are the outputs of one node
  std::vector<Tensor> inputs;
  absl::StatusOr<GridProgram> program = absl::UnknownError("");
};

Graph GraphOfExample(const OpExample& example) {
  GraphBuilder builder("example");
  std::vector<Value> operands;
  for (size_t i = 0; i < example.inputs.size(); ++i) {
    operands.push_back(builder.Input(absl::StrCat("x", i), example.inputs[i]));
  }
  auto outputs = builder.Ops(example.op->name, operands, example.attrs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  for (size_t k = 0; k < outputs->size(); ++k) builder.Output(absl::StrCat("y", k), (*outputs)[k]);
  return *std::move(builder).Build();
}

// Compiles all examples at once.
class CodegenOperator : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::vector<const GridProgram*> programs;
    cases_ = new std::vector<Case>;
    for (OpExample& example : AllExamples()) {
      Case c{example, GraphOfExample(example), {}};
      const auto values = ExampleValues(example);
      for (size_t i = 0; i < values.size(); ++i) {
        c.inputs.push_back(*Tensor::FromDoubles(example.inputs[i], values[i]));
      }
      c.program = codegen::MakeGridProgram(*Define(*example.op, example.inputs, example.attrs));
      cases_->push_back(std::move(c));
    }
    for (const Case& c : *cases_) {
      if (c.program.ok()) programs.push_back(&*c.program);
    }
    auto kernels = HostKernels::Compile(programs);
    ASSERT_TRUE(kernels.ok()) << kernels.status();
    kernels_ = kernels->release();
  }

  static std::vector<Case>* cases_;
  static HostKernels* kernels_;
};
std::vector<Case>* CodegenOperator::cases_ = nullptr;
HostKernels* CodegenOperator::kernels_ = nullptr;

std::string CodeOf(const GridProgram& program) {
  std::string text;
  for (const auto& kernel : program.kernels)
    absl::StrAppend(&text, kernel.schedule, "\n", kernel.code);
  return text;
}

TEST_F(CodegenOperator, MatchesReference) {
  ASSERT_NE(kernels_, nullptr);
  ASSERT_GT(cases_->size(), 200u);
  for (const Case& c : *cases_) {
    SCOPED_TRACE(absl::StrCat(c.example.op->name, " ", c.example.text));
    ASSERT_TRUE(c.program.ok()) << c.program.status();
    auto expected = (*MakeReferenceBackend()->Compile(*c.graph, {}))->Run(c.inputs);
    ASSERT_TRUE(expected.ok()) << expected.status();
    std::vector<Tensor> actual;
    for (const Tensor& t : *expected) actual.push_back(*Tensor::Allocate(t.type()));
    const absl::Status status = kernels_->Run(*c.program, c.inputs, &actual);
    EXPECT_TRUE(status.ok()) << status << "\n" << CodeOf(*c.program);
    const std::vector<double> tolerances = RelativeTolerances(*c.graph);
    for (size_t i = 0; i < actual.size(); ++i) {
      const Difference d = Compare(actual[i], (*expected)[i], tolerances[i]);
      EXPECT_TRUE(d.within) << "output " << i << ": " << d.ToString() << ", tolerance "
                            << tolerances[i] << "\n"
                            << CodeOf(*c.program);
    }
  }
}

// The examples are large enough for two schedules, and both occur in the test above.
TEST_F(CodegenOperator, UsesTwoSchedules) {
  int by_element = 0, by_row = 0;
  for (const Case& c : *cases_) {
    for (const auto& kernel : c.program->kernels) {
      by_element += kernel.schedule.rfind("by element", 0) == 0 ? 1 : 0;
      by_row += kernel.schedule.rfind("by row", 0) == 0 ? 1 : 0;
    }
  }
  EXPECT_GT(by_element, 100);
  EXPECT_GT(by_row, 10);
}

}  // namespace
}  // namespace lemma
