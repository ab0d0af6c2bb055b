// Random definitions as CUDA kernels, emulated, against the naive evaluator.
#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/codegen/grid_program.h"
#include "tests/base/repetitions.h"
#include "tests/kernels/codegen/host_kernels.h"
#include "tests/kernels/loops/definition_testutil.h"

namespace lemma {
namespace {

// Sums of products with the guards of strided gradients, and with stranger ones.
class Phased {
 public:
  explicit Phased(uint32_t seed) : random_(seed) {}

  Definition Draw() {
    const int64_t kind = Below(8);
    const DType type = kind == 0 ? DType::kF64 : kind == 1 ? DType::kI64 : DType::kF32;
    const int64_t n = 1 + Below(3), c = 1 + Below(9),
                  k = Below(4) == 0 ? 1 + Below(4) : 8 + Below(5);
    const int spatial = 1 + (Below(3) > 0) + (Below(6) == 0);
    std::vector<int64_t> in, window, out, m;
    for (int i = 0; i < spatial; ++i) {
      in.push_back(1 + Below(6));
      window.push_back(1 + Below(spatial == 3 ? 3 : 6));
      m.push_back(1 + Below(6));
      out.push_back(Below(4) == 0 ? 1 + Below(12)
                                  : m[i] * (spatial == 3 ? 1 + Below(4) : 3 + Below(3)));
      if (spatial == 3) out[i] = std::min<int64_t>(out[i], 8);
    }
    std::vector<int64_t> xd = {n, c}, wd = {c, k}, od = {n, k};
    xd.insert(xd.end(), in.begin(), in.end());
    wd.insert(wd.end(), window.begin(), window.end());
    od.insert(od.end(), out.begin(), out.end());
    const TensorId x = b_.Input(xd, type), w = b_.Input(wd, type), bias = b_.Input({k}, type),
                   res = b_.Input(od, type);
    Idx extents = {c};
    for (int64_t e : window) extents.push_back(e);
    const bool max = Below(12) == 0 && type != DType::kI64, two = Below(6) == 0;
    const int64_t epilogue = Below(5);
    b_.Output(
        Idx(od.begin(), od.end()),
        [&](const Idx& o) {
          ScalarExpr e = Sum(o, extents, x, w, in, window, m, max);
          if (two) e = e + Sum(o, extents, x, w, in, window, m, false);
          if (epilogue == 1) e = e + Read(bias, {o[1]});
          if (epilogue == 2 && !max) e = e * Read(res, o) + e;
          if (epilogue == 3) e = ScalarExpr::Select(Eq(Mod(o[2], 2), 0), e, Read(bias, {o[1]}));
          if (epilogue == 4)
            e = ScalarExpr::Apply(ScalarFn::kMax, {e, ScalarExpr::Index(o[2] - 1)});
          return e;
        },
        type);
    return b_.definition();
  }

 private:
  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % n); }

  ScalarExpr Sum(const Idx& o, const Idx& extents, TensorId x, TensorId w,
                 const std::vector<int64_t>& in, const std::vector<int64_t>& window,
                 const std::vector<int64_t>& m, bool max) {
    std::vector<Axis> axes;
    Idx r;
    for (const IndexExpr& e : extents) {
      axes.push_back({b_.NewVar(), e});
      r.push_back(IndexExpr::Var(axes.back().var));
    }
    Guard where = true;
    Idx xi = {o[0], r[0]}, wi = {r[0], o[1]};
    for (size_t i = 0; i < in.size(); ++i) {
      const int64_t steps[] = {1, 1, 1, 2, 3, -1, m[i]};
      const int64_t a = Below(6) == 0 ? -1 : 1, b = steps[Below(7)];
      const IndexExpr at = o[2 + i] * a + Below(13) - 6 - r[1 + i] * b;
      IndexExpr position = FloorDiv(at, m[i]);
      switch (Below(9)) {
        case 0:
          break;
        case 1:
          where = where && Eq(Mod(FloorDiv(r[1 + i], 2) + o[2 + i], 2 + Below(3)), Below(3));
          break;
        case 2:
          where = where && Eq(Mod(r[1 + i] * r[1 + i] + o[2 + i], m[i]), Below(2));
          break;
        case 3:
          where = where && (Eq(Mod(at, m[i]), 0) || Eq(r[1 + i], 1));
          break;
        case 4:
          where = where && Eq(Mod(at, m[i]), Below(m[i] + 1)) &&
                  Eq(Mod(r[1 + i] + o[2 + i], 2 + Below(4)), Below(2));
          break;
        default:
          where = where && Eq(Mod(at, m[i]), 0);
      }
      if (Below(9) == 0) where = where && Eq(o[1], r[1 + i]);
      if (Below(9) == 0) where = where && Le(r[1 + i], o[1]);
      if (Below(3) == 0) {
        xi.push_back(Mod(position, in[i]));
      } else {
        where = where && InRange(position, in[i]);
        xi.push_back(position);
      }
      wi.push_back(Below(8) == 0 ? window[i] - 1 - r[1 + i] : r[1 + i]);
    }
    return ScalarExpr::Reduce(max ? ReduceKind::kMax : ReduceKind::kSum, axes, where,
                              Read(x, xi) * Read(w, wi));
  }

  std::mt19937 random_;
  DefinitionBuilder b_;
};

// Outputs that are locals, parts or copies of them, in order or not.
class Copies {
 public:
  explicit Copies(uint32_t seed) : random_(seed) {}

  Definition Draw() {
    const DType kTypes[] = {DType::kF32, DType::kF32, DType::kF32, DType::kF64,
                            DType::kF16, DType::kI64, DType::kI32};
    const DType type = kTypes[Below(7)];
    const bool mixed = Below(3) == 0;
    auto any = [&] { return mixed ? kTypes[Below(7)] : type; };
    for (int i = 0; i < 2; ++i) {
      Made(b_.Input(Dims(), any()));
    }
    std::vector<TensorId> locals;
    const int count = 3 + static_cast<int>(Below(5));
    std::vector<TensorId> outputs;
    for (int i = 0; i < count; ++i) {
      const TensorId from = tensors_[Below(4) == 0 ? Below(tensors_.size()) : tensors_.size() - 1];
      const std::vector<int64_t> sizes = sizes_[from];
      std::vector<int64_t> dims = sizes;
      TensorId made = -1;
      const int64_t how = Below(9);
      auto body = [&](const Idx& o) -> ScalarExpr {
        Idx at = o;
        switch (how) {
          case 3:
            std::swap(at[0], at[1]);
            break;
          case 4:
            at[0] = sizes[0] - 1 - at[0];
            break;
          case 5:
            at[1] = Mod(at[1] + 1, sizes[1]);
            break;
          case 6:
            at = {Mod(o[0] * sizes[1] + o[1], sizes[0]),
                  FloorDiv(o[0] * sizes[1] + o[1], sizes[0])};
            break;
          case 7:
            return Read(from, o) + Read(tensors_[Below(2)], {0, 0});
          case 8: {
            const VarId v = b_.NewVar();
            return ScalarExpr::Reduce(ReduceKind::kSum, {{v, sizes[1]}}, true,
                                      Read(from, {o[0], IndexExpr::Var(v)}));
          }
          default:
            break;
        }
        return Read(from, at);
      };
      if (how == 2 || how == 4) dims[0] = 1 + Below(sizes[0]);
      if (how == 1) dims[1] = 1 + Below(sizes[1]);
      if (how == 3) std::swap(dims[0], dims[1]);
      made = b_.Local(Idx(dims.begin(), dims.end()), body, any());
      Made(made);
      if (Below(2) == 0) outputs.push_back(made);
    }
    if (Below(4) == 0) outputs.push_back(tensors_[Below(tensors_.size())]);
    if (Below(4) == 0 && !outputs.empty()) outputs.push_back(outputs[Below(outputs.size())]);
    if (outputs.empty()) outputs.push_back(tensors_.back());
    std::shuffle(outputs.begin(), outputs.end(), random_);
    Definition d = b_.definition();
    d.outputs = outputs;
    return d;
  }

 private:
  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % n); }
  std::vector<int64_t> Dims() { return {1 + Below(7), 1 + Below(7)}; }
  void Made(TensorId id) {
    tensors_.push_back(id);
    std::vector<int64_t> dims;
    const ExprType type = b_.definition().TypeOf(id);
    for (const IndexExpr& dim : type.dims) dims.push_back(dim.value());
    sizes_.push_back(dims);
  }

  std::mt19937 random_;
  DefinitionBuilder b_;
  std::vector<TensorId> tensors_;
  std::vector<std::vector<int64_t>> sizes_;
};

TensorType TypeOf(const ExprType& t) {
  TensorType type{t.dtype, {}};
  for (const IndexExpr& dim : t.dims) type.shape.push_back(dim.value());
  return type;
}

// Inputs are small integers, so sums are exact, except for rounding to f16.
void ExpectNaiveResult(const Definition& d, const codegen::GridProgram& program,
                       const HostKernels& kernels, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<double>> values;
  std::vector<Tensor> inputs, outputs;
  for (const ExprType& input : d.inputs) {
    const TensorType type = TypeOf(input);
    std::vector<double> numbers(static_cast<size_t>(type.num_elements()));
    for (double& number : numbers) number = static_cast<int>(random() % 7) - 3;
    inputs.push_back(*Tensor::FromDoubles(type, numbers));
    values.push_back(std::move(numbers));
  }
  const auto expected = OutputsNaively(d, values);
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (TensorId id : d.outputs) outputs.push_back(*Tensor::Allocate(TypeOf(d.TypeOf(id))));
  const absl::Status ran = kernels.Run(program, inputs, &outputs);
  ASSERT_TRUE(ran.ok()) << ran;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const std::vector<double> actual = outputs[k].ToDoubles();
    const std::vector<double>& wanted = (*expected)[k];
    const double tolerance = outputs[k].dtype() == DType::kF16 ? 1e-3 : 0;
    ASSERT_EQ(actual.size(), wanted.size());
    ASSERT_EQ(program.slots[program.outputs[k]].elements, outputs[k].type().num_elements());
    for (size_t e = 0; e < actual.size(); ++e) {
      if (std::isinf(wanted[e])) {
        // A maximum over nothing has no value as an integer.
        EXPECT_TRUE(!IsFloat(outputs[k].dtype()) || actual[e] == wanted[e]);
        continue;
      }
      ASSERT_NEAR(actual[e], wanted[e], tolerance * std::abs(wanted[e]))
          << "output " << k << ", element " << e;
    }
  }
}

// Draws definitions and compares their kernels' results; *in_phases: how many of them write a
// result by several kernels.
template <class Draw>
void ExpectNaiveResults(const Draw& draw, int* in_phases) {
  const uint32_t seeds = static_cast<uint32_t>(WholeOr(60, 24));
  std::vector<Definition> definitions;
  std::vector<codegen::GridProgram> programs;
  for (uint32_t seed = 1; seed <= seeds; ++seed) {
    definitions.push_back(draw(seed));
    // Every second definition may use any suitable tile, in any precision that holds the numbers.
    codegen::GridOptions options;
    if (seed % 2 == 0) {
      options.precision = codegen::kRoundingPrecisions[seed / 2 % 4];
      const size_t tiles = codegen::TileShapes(options.precision).size();
      options.tile = codegen::TileChoice{static_cast<int>(seed / 2 % tiles), 1 + seed / 2 % 2};
    }
    auto program = codegen::MakeGridProgram(definitions.back(), options);
    ASSERT_TRUE(program.ok()) << "seed " << seed << ": " << program.status();
    std::vector<int> writers(program->slots.size(), 0);
    for (const auto& kernel : program->kernels) {
      for (int slot : kernel.writes) ++writers[slot];
    }
    *in_phases += *std::max_element(writers.begin(), writers.end()) > 1 ? 1 : 0;
    programs.push_back(*std::move(program));
  }
  std::vector<const codegen::GridProgram*> pointers;
  for (const auto& program : programs) pointers.push_back(&program);
  auto kernels = HostKernels::Compile(pointers);
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  for (size_t i = 0; i < programs.size(); ++i) {
    SCOPED_TRACE(absl::StrCat("seed ", i + 1, "\n", definitions[i].ToString()));
    ExpectNaiveResult(definitions[i], programs[i], **kernels, static_cast<uint32_t>(i + 1));
  }
}

TEST(GridRandom, GuardsThatAdmitEveryMth) {
  int in_phases = 0;
  ExpectNaiveResults([](uint32_t seed) { return Phased(seed).Draw(); }, &in_phases);
  EXPECT_GE(in_phases, WholeOr(3, 1));
}

TEST(GridRandom, ResultsThatAreLocals) {
  int in_phases = 0;
  ExpectNaiveResults([](uint32_t seed) { return Copies(seed).Draw(); }, &in_phases);
  EXPECT_EQ(in_phases, 0);
}

}  // namespace
}  // namespace lemma
