// Time per operation of evaluation. Run: bazel run //tests/kernels/evaluate:evaluate_bench
#include <benchmark/benchmark.h>

#include <memory>

#include "kernels/evaluate/evaluate.h"
#include "tests/kernels/loops/definition_testutil.h"

namespace lemma {
namespace {

// Runs `definition` over dense tensors. `operations`: the number of operations of one run. In
// place: output i has the memory of input i.
template <class T>
void Evaluate(benchmark::State& state, const Definition& definition, double operations,
              bool in_place = false) {
  LoopProgram program = *CompileLoops(definition);
  std::vector<Dense<T>> inputs = RandomInputs<T>(definition, 1);
  std::vector<TensorView> views;
  for (const Dense<T>& input : inputs) {
    views.push_back({input.data.data(), std::nullopt, DenseStrides(input.dims)});
  }
  std::vector<std::vector<T>> outputs;
  for (const auto& tensor : program.outputs()) outputs.emplace_back(ElementsIn(tensor.dims));
  std::vector<MutableTensorView> output_views;
  for (size_t i = 0; i < outputs.size(); ++i) {
    output_views.push_back({in_place ? inputs[i].data.data() : outputs[i].data(), std::nullopt,
                            DenseStrides(program.outputs()[i].dims)});
  }
  for (auto _ : state) {
    absl::Status status = Run<T>(program, views, output_views, {1});
    if (!status.ok()) state.SkipWithError(status.ToString().c_str());
  }
  state.counters["ns/op"] =
      benchmark::Counter(operations * 1e-9, benchmark::Counter::kIsIterationInvariantRate |
                                                benchmark::Counter::kInvert);
}

constexpr double kConvOps = 56.0 * 56 * 64 * 64 * 9;
constexpr int64_t kMillion = 1 << 20;

Definition Elementwise(const std::function<ScalarExpr(const ScalarExpr&, const ScalarExpr&)>& f) {
  DefinitionBuilder b;
  TensorId x = b.Input({1024, 1024}), y = b.Input({1024, 1024});
  b.Output({1024, 1024}, [&](const Idx& o) { return f(Read(x, o), Read(y, o)); });
  return b.definition();
}

void ConvDouble(benchmark::State& state) {
  Evaluate<double>(state, Conv({1, 64, 56, 56}, {64, 64, 3, 3}, 1, 1, 1), kConvOps);
}
BENCHMARK(ConvDouble)->Unit(benchmark::kMillisecond);

void ConvSmallPlaneDouble(benchmark::State& state) {
  Evaluate<double>(state, Conv({1, 512, 7, 7}, {512, 512, 3, 3}, 1, 1, 1), 49.0 * 512 * 512 * 9);
}
BENCHMARK(ConvSmallPlaneDouble)->Unit(benchmark::kMillisecond);

void ConvFloat(benchmark::State& state) {
  Evaluate<float>(state, Conv({1, 64, 56, 56}, {64, 64, 3, 3}, 1, 1, 1), kConvOps);
}
BENCHMARK(ConvFloat)->Unit(benchmark::kMillisecond);

void ConvField(benchmark::State& state) {
  Evaluate<Field>(state, Conv({1, 16, 14, 14}, {16, 16, 3, 3}, 1, 1, 1), 196.0 * 16 * 16 * 9);
}
BENCHMARK(ConvField)->Unit(benchmark::kMillisecond);

void DepthwiseConvFloat(benchmark::State& state) {
  Evaluate<float>(state, Conv({1, 96, 56, 56}, {96, 1, 3, 3}, 1, 1, 96), 56.0 * 56 * 96 * 9);
}
BENCHMARK(DepthwiseConvFloat)->Unit(benchmark::kMillisecond);

// The gradient of a 3x3 convolution with stride 2: a guard leaves out 3/4 of the terms.
void ConvGradientDouble(benchmark::State& state) {
  DefinitionBuilder b;
  TensorId dy = b.Input({1, 64, 28, 28}), w = b.Input({64, 64, 3, 3});
  b.Output({1, 64, 56, 56}, [&](const Idx& o) {
    return b.Sum({64, 3, 3}, [&](const Idx& r) {
      IndexExpr row = o[2] + 1 - r[1], column = o[3] + 1 - r[2];
      Guard hit = Eq(Mod(row, 2), 0) && Eq(Mod(column, 2), 0) && InRange(FloorDiv(row, 2), 28) &&
                  InRange(FloorDiv(column, 2), 28);
      return ReadWhere(hit, dy, {o[0], r[0], FloorDiv(row, 2), FloorDiv(column, 2)}) *
             Read(w, {r[0], o[1], r[1], r[2]});
    });
  });
  Evaluate<double>(state, b.definition(), kConvOps / 4);
}
BENCHMARK(ConvGradientDouble)->Unit(benchmark::kMillisecond);

void MatmulDouble(benchmark::State& state) {
  Evaluate<double>(state, Matmul(128, 768, 3072), 128.0 * 768 * 3072);
}
BENCHMARK(MatmulDouble)->Unit(benchmark::kMillisecond);

void MatrixVectorFloat(benchmark::State& state) {
  Evaluate<float>(state, Matmul(1, 2048, 1000), 2048.0 * 1000);
}
BENCHMARK(MatrixVectorFloat)->Unit(benchmark::kMicrosecond);

void AddReluFloat(benchmark::State& state) {
  auto f = [](const ScalarExpr& x, const ScalarExpr& y) { return Apply(ScalarFn::kMax, x + y, 0); };
  Evaluate<float>(state, Elementwise(f), kMillion);
}
BENCHMARK(AddReluFloat)->Unit(benchmark::kMicrosecond);

void ErfFloat(benchmark::State& state) {
  auto f = [](const ScalarExpr& x, const ScalarExpr&) { return Apply(ScalarFn::kErf, x); };
  Evaluate<float>(state, Elementwise(f), kMillion);
}
BENCHMARK(ErfFloat)->Unit(benchmark::kMicrosecond);

// Updates a weight's momentum in place.
void MomentumFloat(benchmark::State& state) {
  DefinitionBuilder b;
  TensorId m = b.Input({512, 4608}), g = b.Input({512, 4608});
  b.Output({512, 4608}, [&](const Idx& o) { return Read(m, o) * 0.5 + Read(g, o); });
  Evaluate<float>(state, b.definition(), 512 * 4608, /*in_place=*/true);
}
BENCHMARK(MomentumFloat)->Unit(benchmark::kMicrosecond);

void TransposeFloat(benchmark::State& state) {
  DefinitionBuilder b;
  TensorId x = b.Input({1024, 1024});
  b.Output({1024, 1024}, [&](const Idx& o) { return Read(x, {o[1], o[0]}); });
  Evaluate<float>(state, b.definition(), kMillion);
}
BENCHMARK(TransposeFloat)->Unit(benchmark::kMicrosecond);

// Scale and shift per channel: planes of 7 * 7.
void ChannelScaleFloat(benchmark::State& state) {
  DefinitionBuilder b;
  TensorId x = b.Input({8, 2048, 7, 7}), scale = b.Input({2048}), shift = b.Input({2048});
  b.Output({8, 2048, 7, 7},
           [&](const Idx& o) { return Read(x, o) * Read(scale, {o[1]}) + Read(shift, {o[1]}); });
  Evaluate<float>(state, b.definition(), 8 * 2048 * 49);
}
BENCHMARK(ChannelScaleFloat)->Unit(benchmark::kMicrosecond);

void ConcatFloat(benchmark::State& state) {
  DefinitionBuilder b;
  TensorId x = b.Input({64, 100, 14, 14}), y = b.Input({64, 60, 14, 14});
  b.Output({64, 160, 14, 14}, [&](const Idx& o) {
    return ScalarExpr::Select(Lt(o[1], 100), Read(x, o), Read(y, {o[0], o[1] - 100, o[2], o[3]}));
  });
  Evaluate<float>(state, b.definition(), 64 * 160 * 196);
}
BENCHMARK(ConcatFloat)->Unit(benchmark::kMicrosecond);

void PadFloat(benchmark::State& state) {
  DefinitionBuilder b;
  TensorId x = b.Input({64, 64, 14, 14});
  b.Output({64, 64, 16, 16}, [&](const Idx& o) {
    return ReadWhere(InRange(o[2] - 1, 14) && InRange(o[3] - 1, 14), x,
                     {o[0], o[1], o[2] - 1, o[3] - 1});
  });
  Evaluate<float>(state, b.definition(), 64 * 64 * 256);
}
BENCHMARK(PadFloat)->Unit(benchmark::kMicrosecond);

void SoftmaxFloat(benchmark::State& state) {
  DefinitionBuilder b;
  TensorId x = b.Input({1536, 128});
  b.Output({1536, 128}, [&](const Idx& o) {
    ScalarExpr max = b.Reduce(ReduceKind::kMax, {128}, [&](const Idx& r) {
      return Read(x, {o[0], r[0]});
    });
    ScalarExpr total = b.Sum({128}, [&](const Idx& r) {
      return Apply(ScalarFn::kExp, Read(x, {o[0], r[0]}) - max);
    });
    return Apply(ScalarFn::kExp, Read(x, o) - max) / total;
  });
  Evaluate<float>(state, b.definition(), 1536 * 128);
}
BENCHMARK(SoftmaxFloat)->Unit(benchmark::kMicrosecond);

void MaxPoolFloat(benchmark::State& state) {
  DefinitionBuilder b;
  TensorId x = b.Input({1, 64, 112, 112});
  b.Output({1, 64, 56, 56}, [&](const Idx& o) {
    VarId r = b.NewVar(), s = b.NewVar();
    IndexExpr row = o[2] * 2 + IndexExpr::Var(r) - 1, column = o[3] * 2 + IndexExpr::Var(s) - 1;
    return ScalarExpr::Reduce(ReduceKind::kMax, {{r, 3}, {s, 3}},
                              InRange(row, 112) && InRange(column, 112),
                              Read(x, {o[0], o[1], row, column}));
  });
  Evaluate<float>(state, b.definition(), 64 * 56 * 56 * 9);
}
BENCHMARK(MaxPoolFloat)->Unit(benchmark::kMicrosecond);

void GlobalAverageFloat(benchmark::State& state) {
  DefinitionBuilder b;
  TensorId x = b.Input({8, 2048, 7, 7});
  b.Output({8, 2048}, [&](const Idx& o) {
    return b.Sum({7, 7}, [&](const Idx& r) {
      return Read(x, {o[0], o[1], r[0], r[1]});
    }) * (1.0 / 49);
  });
  Evaluate<float>(state, b.definition(), 8 * 2048 * 49);
}
BENCHMARK(GlobalAverageFloat)->Unit(benchmark::kMicrosecond);

void EmbeddingFloat(benchmark::State& state) {
  DefinitionBuilder b;
  TensorId table = b.Input({1000, 768}), rows = b.Input({512}, DType::kI64);
  b.Output({512, 768}, [&](const Idx& o) { return Read(table, {Load(Read(rows, {o[0]})), o[1]}); });
  Evaluate<float>(state, b.definition(), 512 * 768);
}
BENCHMARK(EmbeddingFloat)->Unit(benchmark::kMicrosecond);

void TinyAddFloat(benchmark::State& state) {
  DefinitionBuilder b;
  TensorId x = b.Input({16});
  b.Output({16}, [&](const Idx& o) { return Read(x, o) + 1; });
  Evaluate<float>(state, b.definition(), 16);
}
BENCHMARK(TinyAddFloat)->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace lemma
