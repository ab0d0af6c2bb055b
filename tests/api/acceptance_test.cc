// Which contender is accepted, also if no back end can execute the graphs.
#include "api/optimization/acceptance.h"

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/deadline.h"
#include "base/stopwatch.h"
#include "graph/builder.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"

namespace lemma {
namespace {

// Stands for a back end that has none of the graph's operators.
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

api::Contender From(const std::string& constant) {
  optimizer::RewriteStep step;
  step.name = constant;
  return {Adding(constant), {step}};
}

// The name of the step that leads to the accepted graph.
std::string Accepted(const Graph& input, std::vector<api::Contender> contenders,
                     FloatContract numerics) {
  RunsNothing backend;
  api::AcceptanceOptions options;
  options.numerics = numerics;
  auto accepted = api::Accept(&backend, input, std::move(contenders), {}, options);
  EXPECT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_FALSE(accepted->measured);
  return accepted->kept_input() ? "the input" : accepted->rewrites[0].name;
}

TEST(Acceptance, ConstantsThatOverflowedNeedNoExecution) {
  EXPECT_EQ(Accepted(Adding("1.0"), {From("inf"), From("2.0")}, FloatContract::kReassociates),
            "2.0");
  EXPECT_EQ(Accepted(Adding("1.0"), {From("inf")}, FloatContract::kBitExact), "the input");
  EXPECT_EQ(Accepted(Adding("1.0"), {From("inf"), From("2.0")}, FloatContract::kRealOnly), "inf");
  EXPECT_EQ(Accepted(Adding("inf"), {From("inf"), From("2.0")}, FloatContract::kReassociates),
            "inf");
}

// The value 0, computed from a constant.
Graph Canceling(int constant) {
  auto graph = ParseGraph(absl::StrCat("graph g() { c = constant f32[2] fill ", constant,
                                       ".0 y = sub(c, c) return y }"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// Runs every graph to 0, and plans as many bytes as its constant says.
class Sized : public Backend {
 public:
  std::string name() const override { return "sized"; }
  std::string version() const override { return "0"; }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(const Graph& graph,
                                                      const CompileOptions&) override {
    for (const NodePtr& node : graph.nodes()) {
      if (node->kind() == Node::Kind::kConstant) {
        return std::make_unique<Runs>(static_cast<int64_t>(node->payload().AtDouble(0)));
      }
    }
    return absl::InternalError("no constant");
  }

 private:
  class Runs : public Executable {
   public:
    explicit Runs(int64_t bytes) { memory_.planned_bytes = bytes; }
    absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor>) override {
      return std::vector<Tensor>{*Tensor::Filled({DType::kF32, {2}}, 0)};
    }
    absl::StatusOr<std::vector<Tensor>> RunTimed(absl::Span<const Tensor> inputs,
                                                 std::vector<KernelTiming>*) override {
      return Run(inputs);
    }
    MemoryUse memory() const override { return memory_; }
    std::string Describe() const override { return ""; }

   private:
    MemoryUse memory_;
  };
};

// The bytes of the accepted graph, if the contenders need the given bytes. If none may be accepted,
// -1 and the least bytes.
std::string AcceptedSize(int input, const std::vector<int>& contenders,
                         const optimizer::Objective& objective, int runs = 0) {
  Sized backend;
  api::AcceptanceOptions options;
  options.runs = runs;
  options.objective = objective;
  std::vector<api::Contender> all;
  all.reserve(contenders.size());
  for (int bytes : contenders) all.push_back({Canceling(bytes), {optimizer::RewriteStep()}});
  auto accepted = api::Accept(&backend, Canceling(input), std::move(all), {}, options);
  EXPECT_TRUE(accepted.ok()) << accepted.status();
  if (accepted->least_bytes) return absl::StrCat("none below ", *accepted->least_bytes);
  return absl::StrCat(accepted->memory_after.planned_bytes);
}

using Goal = optimizer::Objective::Goal;

TEST(Acceptance, MemoryHasToBecomeLess) {
  EXPECT_EQ(AcceptedSize(100, {110, 90}, {Goal::kMemory}), "90");
  EXPECT_EQ(AcceptedSize(100, {110}, {Goal::kMemory}), "100");
  EXPECT_EQ(AcceptedSize(100, {90}, {Goal::kMemory}, 7), "90");  // however long it takes
}

TEST(Acceptance, NothingAboveTheLimitIsAccepted) {
  EXPECT_EQ(AcceptedSize(100, {130, 110}, {Goal::kTime, 120}), "110");
  EXPECT_EQ(AcceptedSize(100, {130, 121}, {Goal::kTime, 120}), "100");
  EXPECT_EQ(AcceptedSize(100, {130, 121}, {Goal::kPareto, 120}), "100");
}

TEST(Acceptance, AnInputAboveTheLimitYieldsToWhatKeepsToIt) {
  EXPECT_EQ(AcceptedSize(100, {90, 80}, {Goal::kTime, 80}, 7), "80");
  EXPECT_EQ(AcceptedSize(100, {90, 81}, {Goal::kTime, 80}), "none below 81");
  EXPECT_EQ(AcceptedSize(100, {130}, {Goal::kMemory, 80}), "none below 100");
  EXPECT_EQ(AcceptedSize(100, {}, {Goal::kMemory, 80}), "none below 100");
}

TEST(Acceptance, TheProductHasToBecomeLess) {
  EXPECT_EQ(AcceptedSize(100, {50}, {Goal::kProduct, 0, 1.0}, 7), "50");
  EXPECT_EQ(AcceptedSize(100, {150}, {Goal::kPareto, 0, 1.0}, 7), "100");
}

TEST(Acceptance, NobodyVouchesForTheMemoryOfUnknownOperators) {
  RunsNothing backend;
  api::AcceptanceOptions options;
  options.objective.memory_limit = 100;
  auto accepted = api::Accept(&backend, Adding("1.0"), {From("2.0")}, {}, options);
  EXPECT_EQ(accepted.status().code(), absl::StatusCode::kFailedPrecondition);
}

// Gives the reference back end's results, and names its kernels.
class NamesKernels : public Backend {
 public:
  std::string name() const override { return "names"; }
  std::string version() const override { return "0"; }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(const Graph& graph,
                                                      const CompileOptions& options) override {
    auto executable = MakeReferenceBackend()->Compile(graph, options);
    if (!executable.ok()) return executable.status();
    return std::make_unique<Named>(*std::move(executable));
  }

 private:
  class Named : public Executable {
   public:
    explicit Named(std::unique_ptr<Executable> executable) : executable_(std::move(executable)) {}
    absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) override {
      return executable_->Run(inputs);
    }
    absl::StatusOr<std::vector<Tensor>> RunTimed(absl::Span<const Tensor> inputs,
                                                 std::vector<KernelTiming>* timings) override {
      auto outputs = executable_->RunTimed(inputs, timings);
      for (KernelTiming& timing : *timings) timing.signature = timing.kernel;
      return outputs;
    }
    MemoryUse memory() const override { return executable_->memory(); }
    std::string Describe() const override { return ""; }

   private:
    std::unique_ptr<Executable> executable_;
  };
};

Graph Parsed(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// The contender does everything that the input does, a hundred times.
TEST(Acceptance, RunsThatDidNotPayTellTheirKernelsTimes) {
  const Graph input = Parsed("graph g(x: f32[64,64]) { y = relu(x) return y }");
  const Graph slow = Parsed(R"(graph g(x: f32[64,64]) {
    i = constant f32[64,64] fill 0.0
    p = matmul(i, x) q = matmul(p, x) r = matmul(q, x) y = relu(x) z = add(y, r) return z })");
  NamesKernels backend;
  api::AcceptanceOptions options;
  options.runs = 3;
  const std::vector<Tensor> inputs = {*Tensor::Filled({DType::kF32, {64, 64}}, 0.5)};
  auto accepted =
      api::Accept(&backend, input, {{slow, {optimizer::RewriteStep()}}}, inputs, options);
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_TRUE(accepted->kept_input());
  std::string kernels;
  for (const auto& [signature, ms] : accepted->in_graph) {
    kernels += signature + " ";
    EXPECT_GT(ms, 0);
  }
  EXPECT_EQ(kernels, "add matmul relu ");
  accepted = api::Accept(&backend, slow, {{input, {optimizer::RewriteStep()}}}, inputs, options);
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_TRUE(accepted->in_graph.empty());
}

// An operator that only its own runtime knows, then `ops` negations.
Graph Strange(int ops) {
  GraphBuilder builder("g");
  const TensorType type{DType::kF32, {2}};
  const Value x = builder.Input("x", type);
  auto y = ApplyOpaque({x}, {{"domain", "own"}, {"op_type", "Strange"}, {"payload", ""}}, {type});
  EXPECT_TRUE(y.ok()) << y.status();
  Value z = (*y)[0];
  for (int i = 0; i < ops; ++i) z = *Apply1("neg", {z});
  builder.Output("z", z);
  return *std::move(builder).Build();
}

// Another program: by number of operators, the value that it computes and how long that takes, for
// the graph's first executable and for later ones. It has no kernel for graphs of other numbers.
class Program : public Backend {
 public:
  struct Behavior {
    double value = 1;
    double ms = 0.2, later_ms = ms;
  };
  explicit Program(std::map<int, Behavior> by_operators) : by_operators_(by_operators) {}
  std::string name() const override { return "program"; }
  std::string version() const override { return "0"; }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(const Graph& graph,
                                                      const CompileOptions&) override {
    auto known = by_operators_.find(graph.num_ops());
    if (known == by_operators_.end()) return absl::UnimplementedError("no kernel");
    Behavior behavior = known->second;
    if (!compiled_.insert(graph.num_ops()).second) behavior.ms = behavior.later_ms;
    return std::make_unique<Runs>(behavior);
  }

 private:
  class Runs : public Executable {
   public:
    explicit Runs(Behavior behavior) : behavior_(behavior) {}
    absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor>) override {
      for (const Stopwatch stopwatch(1); stopwatch.Ms() < behavior_.ms;) {
      }
      return std::vector<Tensor>{*Tensor::Filled({DType::kF32, {2}}, behavior_.value)};
    }
    absl::StatusOr<std::vector<Tensor>> RunTimed(absl::Span<const Tensor> inputs,
                                                 std::vector<KernelTiming>*) override {
      return Run(inputs);
    }
    MemoryUse memory() const override { return {}; }
    std::string Describe() const override { return ""; }

   private:
    const Behavior behavior_;
  };
  const std::map<int, Behavior> by_operators_;
  std::set<int> compiled_;
};

// What becomes of a contender of three operators in place of an input of one, for a target.
absl::StatusOr<api::Acceptance> InProgram(const std::map<int, Program::Behavior>& behaviors,
                                          const Deadline& deadline = Deadline()) {
  Program program(behaviors);
  api::AcceptanceOptions options;
  options.deadline = deadline;
  options.only_executed = true;
  const std::vector<Tensor> inputs = {*Tensor::Filled({DType::kF32, {2}}, 0.5)};
  return api::Accept(&program, Strange(0), {{Strange(2), {optimizer::RewriteStep()}}}, inputs,
                     options);
}

TEST(Acceptance, ForAnotherProgramItsExecutionsAreComparedWhereDefinitionsAreMissing) {
  auto accepted = InProgram({{1, {1, 1.0}}, {3, {1, 0.5}}});
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_FALSE(accepted->kept_input());
  EXPECT_FALSE(accepted->has_definitions);
  EXPECT_LT(accepted->ratio, 0.9);
}

TEST(Acceptance, ForAnotherProgramASlowerFileIsRefused) {
  auto accepted = InProgram({{1, {1, 0.5}}, {3, {1, 0.6}}});
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_TRUE(accepted->kept_input());
  EXPECT_EQ(accepted->rejected, "");
  EXPECT_GT(accepted->found->median, 1);
}

TEST(Acceptance, ForAnotherProgramThreeBatchesDecideAlsoAfterTheDeadline) {
  const std::atomic<bool> interrupted{true};
  const Deadline passed = Deadline::After(0, &interrupted);
  auto accepted = InProgram({{1, {1, 1.0}}, {3, {1, 0.5}}}, passed);
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_FALSE(accepted->kept_input());
  EXPECT_EQ(accepted->runs, 15 + 3 + 3);
  // A gain that is there only until both are compiled anew.
  accepted = InProgram({{1, {1, 1.0}}, {3, {1, 0.5, 1.5}}}, passed);
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_TRUE(accepted->kept_input());
  EXPECT_EQ(accepted->runs, 15 + 3 + 3);
}

TEST(Acceptance, ForAnotherProgramAWrongResultIsRefused) {
  auto accepted = InProgram({{1, {1, 1.0}}, {3, {1.01, 0.5}}});
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_TRUE(accepted->kept_input());
  EXPECT_TRUE(absl::StrContains(accepted->rejected, "it computes something else than the input"));
}

TEST(Acceptance, ForAnotherProgramNothingIsAcceptedUnseen) {
  auto accepted = InProgram({{1, {}}});
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_TRUE(accepted->kept_input());
  EXPECT_EQ(accepted->rejected, "it cannot be executed: no kernel");
  EXPECT_TRUE(absl::IsUnimplemented(InProgram({{3, {}}}).status()));
}

// Whether `after` is accepted in place of `before` on the CPU, where x is [a, b, c].
bool TakenFor(const std::string& before, const std::string& after,
              const std::vector<double>& values) {
  auto graph = [](const std::string& lines) {
    return Parsed("graph g(x: f32[3]) {\n a, b, c = split(x) {axis = 0, sizes = [1,1,1]}\n" +
                  lines + "\n return y }");
  };
  const std::unique_ptr<Backend> backend = MakeCpuBackend();
  api::AcceptanceOptions options;
  options.runs = 0;
  const std::vector<Tensor> inputs = {*Tensor::FromDoubles({DType::kF32, {3}}, values)};
  auto accepted = api::Accept(backend.get(), graph(before),
                              {{graph(after), {optimizer::RewriteStep()}}}, inputs, options);
  EXPECT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_EQ(accepted->kept_input(), !accepted->rejected.empty());
  return !accepted->kept_input();
}

// 1 + 0.75 ulp - 1 is 0 or more, depending on the order of the sum; its sign is discontinuous
// there.
TEST(Acceptance, ARoundingThatCrossesAJumpIsNoError) {
  const std::string left = "d = add(a, b) e = add(d, c) y = sign(e)";
  const std::string right = "d = add(b, c) e = add(a, d) y = sign(e)";
  const double b = 0.75 / (1 << 24);
  EXPECT_TRUE(TakenFor(left, right, {1, b, -1}));
  EXPECT_TRUE(TakenFor(right, left, {1, b, -1}));
}

TEST(Acceptance, SomethingElseIsNotTakenThoughItJumps) {
  const std::string sum = "d = add(a, b) e = add(d, c) y = sign(e)";
  // Wrong at these numbers only; wrong everywhere; right, but rounding leaves no correct digit.
  EXPECT_FALSE(TakenFor(sum, "d = add(a, c) y = sign(d)", {1, 0.75 / (1 << 20), -1}));
  EXPECT_FALSE(TakenFor(sum, "d = add(a, b) e = sub(d, c) y = sign(e)", {1, 1, -3}));
  // The input overflows too; that excuses nothing.
  EXPECT_FALSE(TakenFor("d = mul(b, b) y = div(d, b)",
                        "k = constant f32[1] fill 3e38 d = add(b, k) y = sub(d, k)", {1, 1e30, 1}));
  EXPECT_FALSE(TakenFor("y = mul(b, b)",
                        "k = constant f32[1] fill 1e8 d = add(k, b) e = sub(d, k) y = mul(e, b)",
                        {1, 0.3, 1}));
}

// A library with a fault: one of its results is wrong, as if a product's kernel had computed it.
class Faulty : public Backend {
 public:
  explicit Faulty(double factor) : factor_(factor) {}
  std::string name() const override { return "faulty"; }
  std::string version() const override { return "0"; }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(const Graph& graph,
                                                      const CompileOptions& options) override {
    auto executable = MakeCpuBackend()->Compile(graph, options);
    if (!executable.ok()) return executable.status();
    return std::make_unique<Scaled>(*std::move(executable), factor_);
  }

 private:
  class Scaled : public Executable {
   public:
    Scaled(std::unique_ptr<Executable> executable, double factor)
        : executable_(std::move(executable)), factor_(factor) {}
    absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) override {
      auto outputs = executable_->Run(inputs);
      if (!outputs.ok()) return outputs;
      std::vector<double> values = outputs->back().ToDoubles();
      values.back() *= factor_;
      outputs->back() = *Tensor::FromDoubles(outputs->back().type(), values);
      return outputs;
    }
    absl::StatusOr<std::vector<Tensor>> RunTimed(absl::Span<const Tensor> inputs,
                                                 std::vector<KernelTiming>*) override {
      return Run(inputs);
    }
    MemoryUse memory() const override { return executable_->memory(); }
    std::string Describe() const override { return ""; }

   private:
    std::unique_ptr<Executable> executable_;
    double factor_;
  };
  double factor_;
};

TEST(Acceptance, ALibraryThatIsWrongIsNotBelieved) {
  const Graph input = Parsed("graph g(x: f32[3]) { y = exp(x) z = neg(y) w = neg(z) return w }");
  const Graph same = Parsed("graph g(x: f32[3]) { y = exp(x) return y }");
  const std::vector<Tensor> inputs = {*Tensor::FromDoubles({DType::kF32, {3}}, {0.5, 1, 2})};
  api::AcceptanceOptions options;
  options.runs = 0;
  Faulty right(1), wrong(1.001);
  auto accepted = api::Accept(&right, input, {{same, {optimizer::RewriteStep()}}}, inputs, options);
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_FALSE(accepted->kept_input());
  EXPECT_EQ(accepted->difference.finite, 3);
  accepted = api::Accept(&wrong, input, {{same, {optimizer::RewriteStep()}}}, inputs, options);
  EXPECT_TRUE(absl::IsInternal(accepted.status()));
  EXPECT_TRUE(
      absl::StrContains(accepted.status().message(), "the back end faulty computes something else"))
      << accepted.status();
}

TEST(Acceptance, WhereNothingIsFiniteNothingUnprovedIsTaken) {
  const Graph input = Parsed("graph g(x: f32[2]) { y = log(x) z = neg(y) return z }");
  const Graph other = Parsed("graph g(x: f32[2]) { y = log(x) return y }");
  const std::vector<Tensor> inputs = {*Tensor::FromDoubles({DType::kF32, {2}}, {-1, -2})};
  api::AcceptanceOptions options;
  options.runs = 0;
  const std::unique_ptr<Backend> backend = MakeCpuBackend();
  auto accepted =
      api::Accept(backend.get(), input, {{other, {optimizer::RewriteStep()}}}, inputs, options);
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_FALSE(accepted->kept_input());
  EXPECT_FALSE(accepted->difference.compared());
  EXPECT_EQ(accepted->difference.ToString(),
            "nothing was compared: all 2 values are infinite or NaN");
  options.unproved = true;
  accepted =
      api::Accept(backend.get(), input, {{other, {optimizer::RewriteStep()}}}, inputs, options);
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_TRUE(accepted->kept_input());
  EXPECT_TRUE(absl::StrContains(accepted->rejected, "nothing was compared"));
}

// Partial sums of weights near the largest float overflow or not, depending on their order.
TEST(Acceptance, AnInputNearOverflowIsKept) {
  const Graph input =
      Parsed(R"(graph g(x: f32[1,4], w: weight f32[4,1] = [3e38, 3e38, -3e38, -3e38])
    { y = matmul(x, w) z = neg(y) u = neg(z) return u })");
  const std::vector<Tensor> inputs = {*Tensor::FromDoubles({DType::kF32, {1, 4}}, {1, 1, 1, 0.5})};
  api::AcceptanceOptions options;
  options.runs = 0;
  auto accepted = api::Accept(MakeCpuBackend().get(), input, {}, inputs, options);
  EXPECT_TRUE(accepted.ok()) << accepted.status();
}

// As numbers both graphs are equal; in f16 the products end at 65504.
TEST(Acceptance, AResultThatOverflowsEarlierIsRefused) {
  const auto graph = [](const std::string& type, const std::string& body) {
    return Parsed("graph g(q: " + type + "[4,64], k: " + type + "[64,4]) { c = constant " + type +
                  "[] fill 0.125 " + body + " return y }");
  };
  const char* const before = "s = mul(q, c) y = matmul(s, k)";
  const char* const after = "s = matmul(q, k) y = mul(s, c)";
  const auto kept = [&](const std::string& type, FloatContract numerics) {
    const Graph input = graph(type, before);
    std::vector<Tensor> inputs;
    for (const Value& value : input.inputs()) {
      std::vector<double> values;
      values.reserve(256);
      for (int i = 0; i < 256; ++i) values.push_back(0.5 + (i % 7) / 16.0);
      inputs.push_back(*Tensor::FromDoubles(value.type(), values));
    }
    api::AcceptanceOptions options;
    options.runs = 0;
    options.numerics = numerics;
    auto accepted =
        api::Accept(MakeCpuBackend().get(), input,
                    {{graph(type, after), {optimizer::RewriteStep()}}}, inputs, options);
    EXPECT_TRUE(accepted.ok()) << accepted.status();
    if (accepted->kept_input()) {
      EXPECT_TRUE(absl::StrContains(accepted->rejected, "overflows")) << accepted->rejected;
    }
    return accepted->kept_input();
  };
  EXPECT_TRUE(kept("f16", FloatContract::kReassociates));
  EXPECT_FALSE(kept("f16", FloatContract::kRealOnly));
  EXPECT_FALSE(kept("f32", FloatContract::kReassociates));
}

// A graph that differs from the input only by recomputed and offloaded values is no kept input.
TEST(Acceptance, WithoutExecutionKeepsWhatIsRecomputed) {
  const Graph input = Adding("1.0");
  const api::Contender contender{input, {}, /*recomputed=*/2, /*offloaded=*/1};
  const api::Acceptance accepted =
      api::AcceptUnseen(input, {contender}, FloatContract::kReassociates, "not executed");
  EXPECT_EQ(accepted.recomputed, 2);
  EXPECT_EQ(accepted.offloaded, 1);
  EXPECT_FALSE(accepted.kept_input());
}

}  // namespace
}  // namespace lemma
