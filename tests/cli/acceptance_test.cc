// What is taken for the result of a search, of graphs that no back end runs.
#include "cli/acceptance.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/text.h"
#include "gtest/gtest.h"

namespace lemma::cli {
namespace {

// As if each graph had an operator that only its own runtime knows.
class RunsNothing : public Backend {
 public:
  std::string name() const override { return "nothing"; }
  std::string version() const override { return "0"; }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(const Graph&,
                                                      const CompileOptions&) override {
    return absl::UnimplementedError("unsupported");
  }
};

Graph Adding(const std::string& constant) {
  auto graph = ParseGraph("graph g(x: f32[2]) { c = constant f32[2] fill " + constant +
                          " y = add(x, c) return y }");
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

Contender From(const std::string& constant) {
  RewriteStep step;
  step.name = constant;
  return {Adding(constant), {step}};
}

// The name of the step that leads to what is accepted.
std::string Accepted(const Graph& input, std::vector<Contender> contenders,
                     const std::string& numerics) {
  RunsNothing backend;
  AcceptanceOptions options;
  options.numerics = numerics;
  auto accepted = Accept(&backend, input, std::move(contenders), {}, options);
  EXPECT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_FALSE(accepted->measured);
  return accepted->kept_input() ? "the input" : accepted->rewrites[0].name;
}

TEST(Acceptance, ConstantsThatOverflowedNeedNoExecution) {
  EXPECT_EQ(Accepted(Adding("1.0"), {From("inf"), From("2.0")}, "reassociate"), "2.0");
  EXPECT_EQ(Accepted(Adding("1.0"), {From("inf")}, "exact"), "the input");
  EXPECT_EQ(Accepted(Adding("1.0"), {From("inf"), From("2.0")}, "real"), "inf");
  EXPECT_EQ(Accepted(Adding("inf"), {From("inf"), From("2.0")}, "reassociate"), "inf");
}

}  // namespace
}  // namespace lemma::cli
