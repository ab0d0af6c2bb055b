#include "tests/runtime/cuda/emulated_plans.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/cuda/fusion/store_factors.h"
#include "runtime/cuda/plan_check.h"
#include "runtime/reference/reference.h"
#include "runtime/reference/static_evaluator.h"
#include "runtime/tolerance.h"
#include "tests/kernels/codegen/host_gemm.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {

using cuda::Buffer;
using cuda::CudaPlan;
using cuda::Launch;

absl::Status EmulatedPlans::Add(const Graph& graph, const cuda::PlanOptions& options) {
  // As the back end does.
  const Graph stored = cuda::StoreFactors(graph, traits_, options.grid);
  auto plan = cuda::PlanGraph(stored, traits_, options);
  if (!plan.ok()) return plan.status();
  if (absl::Status s = cuda::CheckPlan(stored, *plan); !s.ok()) return s;
  if (auto products = cuda::CheckProducts(*plan, 1); !products.ok()) return products.status();
  graphs_.push_back(graph);
  precisions_.push_back(options.grid.precision);
  plans_.push_back(*std::move(plan));
  return absl::OkStatus();
}

absl::Status EmulatedPlans::Compile(bool run_long) {
  std::vector<const codegen::GridProgram*> programs;
  for (const CudaPlan& plan : plans_) {
    for (const cuda::CudaStep& step : plan.steps) {
      if (step.program != nullptr) programs.push_back(step.program.get());
    }
  }
  auto kernels = HostKernels::Compile(programs, run_long);
  if (!kernels.ok()) return kernels.status();
  kernels_ = *std::move(kernels);
  return absl::OkStatus();
}

int EmulatedPlans::ProductsOf(size_t i) const {
  const CudaPlan& plan = plans_[i];
  return static_cast<int>(
      std::count_if(plan.launches.begin(), plan.launches.end(), [&](const Launch& launch) {
        return !plan.IsCopy(launch) && plan.KernelOf(launch).gemm.has_value();
      }));
}

int EmulatedPlans::ByteProductsOf(size_t i) const {
  const CudaPlan& plan = plans_[i];
  return static_cast<int>(
      std::count_if(plan.launches.begin(), plan.launches.end(), [&](const Launch& launch) {
        if (plan.IsCopy(launch)) return false;
        const auto& tile = plan.KernelOf(launch).tile;
        return tile && tile->precision == codegen::ProductPrecision::kBytes;
      }));
}

absl::StatusOr<std::vector<Tensor>> EmulatedPlans::Run(size_t i, absl::Span<const Tensor> inputs,
                                                       uint64_t seed, bool products) const {
  const CudaPlan& plan = plans_[i];
  auto allocate = [](int64_t bytes) {
    void* data = nullptr;
    if (posix_memalign(&data, 256, static_cast<size_t>(std::max<int64_t>(bytes, 1))) != 0) {
      std::abort();
    }
    std::memset(data, 0x5a, static_cast<size_t>(bytes));
    return std::unique_ptr<char, void (*)(void*)>(static_cast<char*>(data), std::free);
  };
  auto arena = allocate(plan.memory.planned_bytes), statics = allocate(plan.memory.weight_bytes);
  auto host = allocate(plan.memory.host_bytes);
  auto address = [&](int b) {
    const Buffer& buffer = plan.buffers[b];
    return (buffer.kind == Buffer::Kind::kStatic ? statics
            : buffer.kind == Buffer::Kind::kHost ? host
                                                 : arena)
               .get() +
           buffer.offset;
  };
  StaticEvaluator evaluator(1);
  for (size_t s = 0; s < plan.statics.size(); ++s) {
    auto value = evaluator.Evaluate(plan.statics[s]);
    if (!value.ok()) return value.status();
    std::memcpy(address(plan.static_buffers[s]), value->raw(),
                static_cast<size_t>(value->type().num_bytes()));
  }
  for (size_t k = 0; k < inputs.size(); ++k) {
    std::memcpy(address(plan.inputs[k]), inputs[k].raw(),
                static_cast<size_t>(inputs[k].type().num_bytes()));
  }
  std::mt19937_64 random(seed);
  std::vector<bool> done(plan.launches.size(), false);
  for (size_t count = 0; count < done.size(); ++count) {
    std::vector<size_t> ready;
    for (size_t l = 0; l < done.size(); ++l) {
      const std::vector<int>& after = plan.launches[l].after;
      if (!done[l] && std::all_of(after.begin(), after.end(), [&](int b) { return done[b]; })) {
        ready.push_back(l);
      }
    }
    const size_t chosen = ready[random() % ready.size()];
    done[chosen] = true;
    std::vector<void*> pointers;
    std::vector<int64_t> elements;
    for (int b : plan.Arguments(plan.launches[chosen])) {
      pointers.push_back(address(b));
      elements.push_back(plan.buffers[b].type.num_elements());
    }
    if (plan.IsCopy(plan.launches[chosen])) {
      std::memcpy(pointers[1], pointers[0],
                  static_cast<size_t>(
                      plan.buffers[plan.Arguments(plan.launches[chosen])[0]].type.num_bytes()));
      continue;
    }
    const codegen::GridKernel& kernel = plan.KernelOf(plan.launches[chosen]);
    absl::Status s = products && kernel.gemm ? RunGemm(*kernel.gemm, pointers, elements)
                                             : kernels_->Launch(kernel, std::move(pointers));
    if (!s.ok()) return s;
  }
  std::vector<Tensor> outputs;
  for (size_t k = 0; k < plan.outputs.size(); ++k) {
    outputs.push_back(*Tensor::Allocate(graphs_[i].outputs()[k].type()));
    std::memcpy(outputs.back().mutable_raw(), address(plan.outputs[k]),
                static_cast<size_t>(outputs.back().type().num_bytes()));
  }
  return outputs;
}

void EmulatedPlans::ExpectMatchesReference(size_t i, uint64_t seed) const {
  ExpectMatchesReference(i, RandomInputs(graphs_[i], seed), seed);
}

void EmulatedPlans::ExpectMatchesReference(size_t i, absl::Span<const Tensor> inputs,
                                           uint64_t seed) const {
  const Graph& graph = graphs_[i];
  SCOPED_TRACE(graph.name());
  auto reference = MakeReferenceBackend()->Compile(graph, {});
  ASSERT_TRUE(reference.ok()) << reference.status();
  auto expected = (*reference)->Run(inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const std::vector<double> tolerances = RelativeTolerances(graph, {}, precisions_[i]);
  for (uint64_t order = 0; order < 2; ++order) {
    auto actual = Run(i, inputs, seed + order, /*products=*/order == 1);
    ASSERT_TRUE(actual.ok()) << actual.status() << "\n" << plans_[i].Describe(graph);
    for (size_t k = 0; k < expected->size(); ++k) {
      const Difference d = Compare((*actual)[k], (*expected)[k], tolerances[k]);
      EXPECT_TRUE(d.within) << "output " << k << " in order " << seed + order << ": "
                            << d.ToString() << ", tolerance " << tolerances[k] << "\n"
                            << plans_[i].Describe(graph);
    }
  }
}

}  // namespace lemma
