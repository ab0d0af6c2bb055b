#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/work.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/loops/cost.h"
#include "verifier/prover/graph_claim.h"
#include "verifier/refutation/comparison.h"

namespace lemma::prover {
namespace {

constexpr double kMaxWork = 2e9;  // operations of one comparison
constexpr double kTolerance = 1e-6, kRoundedTolerance = 1e-4;
constexpr int64_t kWorkPerSample = 100000;

template <class Number>
using Columns = std::vector<std::vector<Number>>;

template <class Number>
std::optional<Columns<Number>> RunSide(const LoopProgram& program, const Columns<Number>& inputs) {
  std::vector<TensorView> views;
  for (size_t i = 0; i < inputs.size(); ++i) {
    views.push_back({inputs[i].data(), std::nullopt, DenseStrides(program.inputs()[i].dims)});
  }
  Columns<Number> outputs;
  for (const LoopProgram::Tensor& output : program.outputs()) {
    outputs.emplace_back(NumElements(output.dims));
  }
  std::vector<MutableTensorView> targets;
  for (size_t i = 0; i < outputs.size(); ++i) {
    targets.push_back({outputs[i].data(), std::nullopt, DenseStrides(program.outputs()[i].dims)});
  }
  if (!Run<Number>(program, views, targets).ok()) return std::nullopt;
  return outputs;
}

class GraphRefuter {
 public:
  GraphRefuter(const GraphClaim& claim, LoopProgram source, LoopProgram target)
      : claim_(claim), sides_{std::move(source), std::move(target)} {}

  std::optional<Refuted> Compare(uint64_t seed, int sample) {
    std::mt19937_64 random(seed);
    const Columns<double> inputs = RandomInputs(&random, sample);
    std::optional<Columns<double>> real[2];
    for (int side = 0; side < 2; ++side) {
      real[side] = RunSide(sides_[side], inputs);
      if (!real[side]) return std::nullopt;
    }
    std::vector<std::vector<int64_t>> dims;
    for (const LoopProgram::Tensor& output : sides_[0].outputs()) dims.push_back(output.dims);
    auto found = LargestDifference(*real[0], *real[1], dims,
                                   claim_.rounded ? kRoundedTolerance : kTolerance);
    if (!found) return std::nullopt;
    found->refuted.seed = seed;
    if (!Stable(inputs, *found, &random) || !DifferInField(inputs, &random)) return std::nullopt;
    return found->refuted;
  }

 private:
  // Integers may be positions, so they are small.
  Columns<double> RandomInputs(std::mt19937_64* random, int sample) const {
    const uint64_t integers[] = {3, 2, 1};
    Columns<double> inputs;
    for (size_t i = 0; i < claim_.known.size(); ++i) {
      const DType dtype = claim_.statement.source.inputs[i].dtype;
      std::vector<double> data(NumElements(sides_[0].inputs()[i].dims));
      for (double& x : data) {
        const double unit = static_cast<double>((*random)() >> 11) * 0x1p-53;
        x = sample % 2 == 0 ? 0.25 + unit * 1.5 : unit * 4 - 2;
        if (dtype == DType::kBool) x = static_cast<double>((*random)() % 2);
        if (IsInteger(dtype)) x = static_cast<double>((*random)() % integers[sample % 3]);
      }
      if (claim_.known[i]) data = claim_.known[i]->ToDoubles();
      inputs.push_back(std::move(data));
    }
    return inputs;
  }

  // Rounding alone makes a large difference only next to a discontinuity of a function. Such a
  // difference disappears at nearby inputs or in f32.
  bool Stable(Columns<double> inputs, const DifferentElement& found, std::mt19937_64* random) {
    Columns<float> singles;
    for (const std::vector<double>& input : inputs)
      singles.emplace_back(input.begin(), input.end());
    if (!Persists(singles, found)) return false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (claim_.known[i] || !IsFloat(claim_.statement.source.inputs[i].dtype)) continue;
      for (double& x : inputs[i]) {
        x += 1e-9 * (static_cast<double>((*random)() >> 11) * 0x1p-53 - 0.5);
      }
    }
    return Persists(inputs, found);
  }

  template <class Number>
  bool Persists(const Columns<Number>& inputs, const DifferentElement& found) {
    double again[2];
    for (int side = 0; side < 2; ++side) {
      auto outputs = RunSide(sides_[side], inputs);
      if (!outputs) return false;
      again[side] = static_cast<double>((*outputs)[found.refuted.output][found.position]);
    }
    const double difference = found.refuted.source - found.refuted.target;
    return std::abs(again[0] - again[1] - difference) <= 0.5 * std::abs(difference);
  }

  bool DifferInField(const Columns<double>& inputs, std::mt19937_64* random) {
    Columns<Field> field;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool drawn = !claim_.known[i] && IsFloat(claim_.statement.source.inputs[i].dtype);
      field.emplace_back();
      for (double x : inputs[i]) {
        field.back().push_back(drawn ? Field::FromRaw((*random)() % Field::kPrime)
                                     : Field::FromDouble(x));
      }
    }
    auto a = RunSide(sides_[0], field), b = RunSide(sides_[1], field);
    return a && b && *a != *b;
  }

  const GraphClaim& claim_;
  const LoopProgram sides_[2];
};

}  // namespace

std::optional<Refuted> RefuteGraphs(const GraphClaim& claim, const ProverOptions& options) {
  double work = 0;
  std::optional<LoopProgram> sides[2];
  for (int side = 0; side < 2; ++side) {
    const Definition& d = side == 0 ? claim.statement.source : claim.statement.target;
    auto count = CountWork(d);
    auto program = CompileLoops(d);
    if (!count.ok() || !program.ok()) return std::nullopt;
    work += count->flops;
    sides[side] = *std::move(program);
  }
  GraphRefuter refuter(claim, *sides[0], *sides[1]);
  const double affordable = kMaxWork / (1 + work);
  for (int i = 0; i < options.samples && i < affordable; ++i) {
    SpendWork(kWorkPerSample);
    if (auto found = refuter.Compare(HashCombine(options.seed, i), i)) return found;
  }
  return std::nullopt;
}

}  // namespace lemma::prover
