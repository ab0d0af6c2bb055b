// Plans with products by warpgroup and with values that are stored in 16 bits: what must stay as it
// is without them. Inputs are small integers, so that all sums are exact.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/codegen/product_precision.h"
#include "runtime/reference/reference.h"
#include "tests/runtime/cuda/emulated_plans.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

using codegen::ProductPrecision;

cuda::PlanOptions In(ProductPrecision precision) {
  cuda::PlanOptions options;
  options.grid.precision = precision;
  return options;
}

std::vector<Tensor> SmallIntegers(const Graph& graph, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int> number(-3, 3);
  std::vector<Tensor> inputs;
  for (const Value& v : graph.inputs()) {
    std::vector<double> values(v.type().num_elements());
    for (double& x : values) x = number(random);
    inputs.push_back(*Tensor::FromDoubles(v.type(), values));
  }
  return inputs;
}

// Runs plan `i`, which must give exactly what the reference gives.
void ExpectExact(const EmulatedPlans& plans, size_t i) {
  const Graph& graph = plans.graph(i);
  SCOPED_TRACE(graph.name());
  const std::vector<Tensor> inputs = SmallIntegers(graph, i + 1);
  auto reference = MakeReferenceBackend()->Compile(graph, {});
  ASSERT_TRUE(reference.ok()) << reference.status();
  auto expected = (*reference)->Run(inputs);
  auto actual = plans.Run(i, inputs, i);
  ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
  for (size_t k = 0; k < expected->size(); ++k) {
    EXPECT_EQ((*actual)[k].ToDoubles(), (*expected)[k].ToDoubles())
        << "output " << k << "\n"
        << plans.plan(i).Describe(graph);
  }
}

// A widened value is an alias of the narrow one, but not where its memory leaves the kernels.
TEST(WidenedValues, AreStoredWhereTheyLeaveTheKernels) {
  EmulatedPlans plans;
  for (const char* text : {
           R"(graph output(x: bf16[8,16]) {
             a = cast(x) {dtype = "f32"} r = reshape(a) {shape = [128]} return r
           })",
           R"(graph output_and_factor(x: bf16[64,64], w: bf16[64,64]) {
             a = cast(x) {dtype = "f32"} b = cast(w) {dtype = "f32"}
             r = reshape(a) {shape = [4096]} p = matmul(a, b) return p, r
           })",
           R"(graph behind_a_barrier(x: bf16[64,64], w: bf16[64,64]) {
             a = cast(x) {dtype = "f32"} b = cast(w) {dtype = "f32"}
             p = matmul(a, b) c = barrier(a, p) return p, c
           })",
           R"(graph offloaded(x: f16[64,64], w: f16[64,64]) {
             a = cast(x) {dtype = "f32"} h = offload(a) b = cast(w) {dtype = "f32"}
             p = matmul(a, b) f = barrier(h, p) q = add(f, p) return q
           })",
       }) {
    const absl::Status added = plans.Add(GraphWithWeights(text), In(ProductPrecision::kBf16));
    ASSERT_TRUE(added.ok()) << added << text;
  }
  ASSERT_TRUE(plans.Compile().ok());
  for (size_t i = 0; i < plans.size(); ++i) ExpectExact(plans, i);
}

// Factors that are stored in 16 bits need no other copy, whichever type the products round to; and
// no more kernels than one for a factor that is stored in f32.
TEST(StoredFactors, AreReadAsTheyAre) {
  EmulatedPlans plans;
  for (ProductPrecision precision : {ProductPrecision::kBf16, ProductPrecision::kF16}) {
    ASSERT_TRUE(plans
                    .Add(GraphWithWeights(R"(graph both(x: bf16[128,512], w: bf16[264,512]) {
                           t = transpose(w) {perm = [1,0]} a = cast(x) {dtype = "f32"}
                           b = cast(t) {dtype = "f32"} p = matmul(a, b) return p
                         })"),
                         In(precision))
                    .ok());
    ASSERT_TRUE(
        plans
            .Add(GraphWithWeights(R"(graph below_layout(x: bf16[128,512], w: bf16[264,512]) {
                           a = cast(x) {dtype = "f32"} b = cast(w) {dtype = "f32"}
                           t = transpose(b) {perm = [1,0]} p = matmul(a, t) return p
                         })"),
                 In(precision))
            .ok());
  }
  ASSERT_TRUE(plans
                  .Add(GraphWithWeights(R"(graph one(x: f32[256,512], w: bf16[512,264]) {
                         b = cast(w) {dtype = "f32"} p = matmul(x, b) return p
                       })"),
                       In(ProductPrecision::kBf16))
                  .ok());
  ASSERT_TRUE(plans.Compile().ok());
  for (size_t i = 0; i < plans.size(); ++i) {
    const cuda::CudaPlan& plan = plans.plan(i);
    const bool one = plans.graph(i).name() == "one";
    ASSERT_EQ(plan.launches.size(), one ? 2u : 1u) << plan.Describe(plans.graph(i));
    EXPECT_EQ(plan.KernelOf(plan.launches.back()).bulk.size(), 2u);
    ExpectExact(plans, i);
  }
}

// In the precision `stored`, a product is on tensor cores if the graph says that both factors are
// numbers of one 16-bit type: stored so, rounded so, or padded with zeros.
TEST(StoredFactors, DecideThePrecisionOfEachProduct) {
  struct Case {
    const char* text;
    const char* in;  // the precision in the schedule; "": f32
  };
  const Case cases[] = {
      {R"(graph bf16(x: bf16[128,512], w: bf16[512,264]) {
         a = cast(x) {dtype = "f32"} b = cast(w) {dtype = "f32"} p = matmul(a, b) return p
       })",
       " in bf16"},
      {R"(graph f16_rounded_here(x: f32[64,72], w: f16[72,64]) {
         h = cast(x) {dtype = "f16"} a = cast(h) {dtype = "f32"} b = cast(w) {dtype = "f32"}
         p = matmul(a, b) return p
       })",
       " in f16"},
      {R"(graph padded(x: bf16[1,16,9,9], w: bf16[24,16,3,3]) {
         a = cast(x) {dtype = "f32"} b = cast(w) {dtype = "f32"}
         p = conv2d(a, b) {pads = [1,1,1,1]} return p
       })",
       " in bf16"},
      {"graph plain(x: f32[128,512], w: f32[512,264]) { p = matmul(x, w) return p }", ""},
      {R"(graph one_of_two(x: f32[128,512], w: bf16[512,264]) {
         b = cast(w) {dtype = "f32"} p = matmul(x, b) return p
       })",
       ""},
      {R"(graph two_types(x: f16[128,512], w: bf16[512,264]) {
         a = cast(x) {dtype = "f32"} b = cast(w) {dtype = "f32"} p = matmul(a, b) return p
       })",
       ""},
      {R"(graph computed(x: bf16[128,512], w: bf16[512,264]) {
         a = cast(x) {dtype = "f32"} d = add(a, a) b = cast(w) {dtype = "f32"}
         p = matmul(d, b) return p
       })",
       ""},
  };
  EmulatedPlans plans;
  for (const Case& c : cases) {
    ASSERT_TRUE(plans.Add(GraphWithWeights(c.text), In(ProductPrecision::kStored)).ok()) << c.text;
  }
  ASSERT_TRUE(plans.Compile().ok());
  for (size_t i = 0; i < plans.size(); ++i) {
    std::string tiles;
    for (const cuda::Launch& launch : plans.plan(i).launches) {
      const codegen::GridKernel& kernel = plans.plan(i).KernelOf(launch);
      if (kernel.tile) tiles += kernel.schedule + "; ";
    }
    const std::string in = cases[i].in;
    EXPECT_FALSE(tiles.empty()) << cases[i].text;
    EXPECT_EQ(tiles.find(" in ") != tiles.npos, !in.empty()) << tiles << cases[i].text;
    EXPECT_NE(tiles.find(in), tiles.npos) << tiles << cases[i].text;
    ExpectExact(plans, i);
  }
}

// A sum of squares is a sum of products of one row and one column: almost all of a tile would be
// empty.
TEST(BulkTiles, DoNotComputeSumsOfSquares) {
  EmulatedPlans plans;
  ASSERT_TRUE(plans
                  .Add(GraphWithWeights(R"(graph squares(x: bf16[16,8192]) {
                         a = cast(x) {dtype = "f32"} p = mul(a, a)
                         s = reduce_sum(p) {axes = [1]} return s
                       })"),
                       In(ProductPrecision::kBf16))
                  .ok());
  const cuda::CudaPlan& plan = plans.plan(0);
  ASSERT_EQ(plan.launches.size(), 1u);
  EXPECT_EQ(plan.KernelOf(plan.launches[0]).schedule.substr(0, 6), "by row");
  ASSERT_TRUE(plans.Compile().ok());
  ExpectExact(plans, 0);
}

// Windows of a row, and one row or one column.
TEST(BulkTiles, CopyLinesThatDoNotOverlap) {
  EmulatedPlans plans;
  for (const char* text : {
           R"(graph windows(x: bf16[1,1,1,600], w: bf16[64,1,1,64]) {
             a = cast(x) {dtype = "f32"} b = cast(w) {dtype = "f32"}
             p = conv2d(a, b) {strides = [1,8]} return p
           })",
           R"(graph row(x: bf16[1,512], w: bf16[512,264], b: f32[264]) {
             a = cast(x) {dtype = "f32"} c = cast(w) {dtype = "f32"}
             p = matmul(a, c) q = add(p, b) return q
           })",
           R"(graph column(x: bf16[512,264], w: bf16[264,1], b: f32[512,1]) {
             a = cast(x) {dtype = "f32"} c = cast(w) {dtype = "f32"}
             p = matmul(a, c) q = add(p, b) return q
           })",
       }) {
    ASSERT_TRUE(plans.Add(GraphWithWeights(text), In(ProductPrecision::kBf16)).ok());
  }
  ASSERT_TRUE(plans.Compile().ok());
  for (size_t i = 0; i < plans.size(); ++i) {
    const cuda::CudaPlan& plan = plans.plan(i);
    ASSERT_EQ(plan.launches.size(), 1u) << plan.Describe(plans.graph(i));
    const std::vector<codegen::BulkSource>& bulk = plan.KernelOf(plan.launches[0]).bulk;
    EXPECT_EQ(bulk.size(), i == 0 ? 0u : 2u) << plans.graph(i).name();
    for (const codegen::BulkSource& source : bulk) {
      for (size_t d = 1; d < source.dims.size(); ++d) {
        EXPECT_GE(source.strides[d], source.dims[0]) << plans.graph(i).name();
      }
    }
    ExpectExact(plans, i);
  }
}

// Equal code that copies from different tensors: the kernels have one name.
TEST(BulkTiles, MapsBelongToALaunch) {
  EmulatedPlans plans;
  const Graph graph =
      GraphWithWeights(R"(graph maps(x: bf16[128,64], y: bf16[128,80], w: bf16[64,136]) {
    t = slice(y) {starts = [0,8], sizes = [128,64], steps = [1,1]}
    a = cast(x) {dtype = "f32"} b = cast(t) {dtype = "f32"} c = cast(w) {dtype = "f32"}
    p = matmul(a, c) q = matmul(b, c) return p, q
  })");
  ASSERT_TRUE(plans.Add(graph, In(ProductPrecision::kF32x3)).ok());
  const cuda::CudaPlan& plan = plans.plan(0);
  ASSERT_EQ(plan.launches.size(), 2u) << plan.Describe(graph);
  const codegen::GridKernel &first = plan.KernelOf(plan.launches[0]),
                            &second = plan.KernelOf(plan.launches[1]);
  EXPECT_EQ(first.name, second.name);
  EXPECT_NE(first.bulk[0].strides, second.bulk[0].strides);
  ASSERT_TRUE(plans.Compile().ok());
  ExpectExact(plans, 0);
}

}  // namespace
}  // namespace lemma
