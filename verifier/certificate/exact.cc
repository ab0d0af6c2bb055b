#include "verifier/certificate/exact.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "graph/expr/field.h"
#include "kernels/evaluate/evaluate.h"
#include "verifier/certificate/refusal.h"
#include "verifier/certificate/run_graphs.h"

namespace lemma::certificate {
namespace {

constexpr char kTooLarge[] = "its numbers are too large or too fine to be told apart in the field";
// A quarter of what the field can tell apart, since the bounds below are sums in double.
constexpr double kLargest = 0x1p58;
// Limit on the elements that one element reads, counted with repetition. A product reads all that
// its factors read, so this bounds the degree too.
constexpr double kMostReads = 0x1p40;

// A common denominator; 0: larger than kLargest.
using Denominator = uint64_t;

Denominator Times(Denominator a, Denominator b) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  return product < kLargest ? a * b : 0;
}
Denominator Common(Denominator a, Denominator b) {
  return a == 0 || b == 0 ? 0 : Times(a, b / std::gcd(a, b));
}

// x = numerator / denominator: the denominator is a power of two, the numerator odd or 0. nullopt
// if x is not finite or one of them is too large.
struct Dyadic {
  uint64_t numerator = 0;
  Denominator denominator = 1;
};
std::optional<Dyadic> AsDyadic(double x) {
  if (!std::isfinite(x)) return std::nullopt;
  Dyadic result;
  x = std::abs(x);
  while (x != std::floor(x)) {
    x *= 2;
    result.denominator *= 2;
    if (static_cast<double>(result.denominator) >= kLargest) return std::nullopt;
  }
  if (x >= kLargest) return std::nullopt;
  result.numerator = static_cast<uint64_t>(x);
  return result;
}

bool HasReads(const ScalarExpr& e) {
  return e.kind() == ScalarExpr::Kind::kRead ||
         std::any_of(e.args().begin(), e.args().end(), HasReads);
}

// The definition with the bodies of its tensors rewritten.
template <class Rewrite>
Definition Rewritten(Definition definition, const Rewrite& rewrite) {
  for (TensorExpr& tensor : definition.tensors) tensor.body = rewrite(tensor.body);
  return definition;
}

// The sum of the absolute values of all coefficients.
ScalarExpr SizeOf(const ScalarExpr& e) {
  switch (e.kind()) {
    case ScalarExpr::Kind::kConst:
      return std::abs(e.value());
    case ScalarExpr::Kind::kIndex:
      return Apply(ScalarFn::kAbs, e);
    case ScalarExpr::Kind::kSelect:
      return ScalarExpr::Select(e.guard(), SizeOf(e.args()[0]), SizeOf(e.args()[1]));
    case ScalarExpr::Kind::kReduce:
      return ScalarExpr::Reduce(e.reduce(), e.axes(), e.guard(), SizeOf(e.args()[0]));
    case ScalarExpr::Kind::kApply:
      break;
    default:
      return e;
  }
  switch (e.fn()) {
    case ScalarFn::kNeg:
      return SizeOf(e.args()[0]);
    case ScalarFn::kMul:
      return SizeOf(e.args()[0]) * SizeOf(e.args()[1]);
    case ScalarFn::kDiv:  // by a number
      return SizeOf(e.args()[0]) /
             (HasReads(e.args()[1]) ? e.args()[1] : Apply(ScalarFn::kAbs, e.args()[1]));
    default:
      return SizeOf(e.args()[0]) + SizeOf(e.args()[1]);
  }
}

// Counts the reads of each element, as a linear function of the elements.
ScalarExpr CountOf(const ScalarExpr& e) {
  switch (e.kind()) {
    case ScalarExpr::Kind::kRead:
      return e;
    case ScalarExpr::Kind::kSelect:
      return ScalarExpr::Select(e.guard(), CountOf(e.args()[0]), CountOf(e.args()[1]));
    case ScalarExpr::Kind::kReduce:
      return ScalarExpr::Reduce(ReduceKind::kSum, e.axes(), e.guard(), CountOf(e.args()[0]));
    case ScalarExpr::Kind::kApply: {
      ScalarExpr sum = CountOf(e.args()[0]);
      for (size_t i = 1; i < e.args().size(); ++i) sum = sum + CountOf(e.args()[i]);
      return sum;
    }
    default:
      return 0;
  }
}

// Runs rewritten definitions over one number type.
template <class Number, class Rewrite, class Leaf>
class Runner {
 public:
  using Row = std::vector<Number>;

  Runner(Rewrite rewrite, Leaf leaf) : rewrite_(std::move(rewrite)), leaf_(std::move(leaf)) {}

  absl::StatusOr<Row> Run(const Value& value) {
    LEMMA_RETURN_IF_ERROR(Compute(value));
    return rows_.at(value);
  }

 private:
  absl::Status Compute(const Value& value) {
    if (rows_.contains(value)) return absl::OkStatus();
    const Node& node = value.node();
    if (!node.is_op()) {
      rows_[value] = leaf_(value);
      return absl::OkStatus();
    }
    std::vector<TensorView> in;
    for (const Value& v : node.inputs()) LEMMA_RETURN_IF_ERROR(Compute(v));
    for (const Value& v : node.inputs()) {
      in.push_back({rows_.at(v).data(), std::nullopt, DenseStrides(v.shape())});
    }
    LEMMA_ASSIGN_OR_RETURN(Definition definition, FieldDefinitionOf(node));
    LEMMA_ASSIGN_OR_RETURN(const LoopProgram program,
                           CompileLoops(Rewritten(std::move(definition), rewrite_)));
    std::vector<Row> results;
    for (const TensorType& type : node.types()) {
      results.emplace_back(static_cast<size_t>(type.num_elements()));
    }
    std::vector<MutableTensorView> out;
    for (int i = 0; i < node.num_outputs(); ++i) {
      out.push_back({results[i].data(), std::nullopt, DenseStrides(node.type(i).shape)});
    }
    LEMMA_RETURN_IF_ERROR(lemma::Run<Number>(program, in, out));
    for (int i = 0; i < node.num_outputs(); ++i) {
      rows_[Value(value.node_ptr(), i)] = std::move(results[i]);
    }
    return absl::OkStatus();
  }

  const Rewrite rewrite_;
  const Leaf leaf_;
  absl::flat_hash_map<Value, Row> rows_;
};

template <class Number, class Rewrite, class Leaf>
absl::StatusOr<std::vector<Number>> RunRewritten(const Value& value, Rewrite rewrite, Leaf leaf) {
  return Runner<Number, Rewrite, Leaf>(std::move(rewrite), std::move(leaf)).Run(value);
}

// Common denominators of all coefficients in a value's elements.
class Denominators {
 public:
  absl::StatusOr<Denominator> Of(const Value& value) {
    if (auto it = known_.find(value); it != known_.end()) return it->second;
    const Node& node = value.node();
    Denominator result = 1;
    if (node.is_op()) {
      LEMMA_ASSIGN_OR_RETURN(const Definition definition, FieldDefinitionOf(node));
      LEMMA_ASSIGN_OR_RETURN(
          result,
          OfTensor(node, definition, definition.outputs[static_cast<size_t>(value.output())]));
    } else if (node.kind() == Node::Kind::kConstant) {
      for (double x : node.payload().ToDoubles()) {
        const auto dyadic = AsDyadic(x);
        if (!dyadic) return Refused(kTooLarge);
        result = Common(result, dyadic->denominator);
      }
    }
    if (result == 0) return Refused(kTooLarge);
    known_[value] = result;
    return result;
  }

 private:
  absl::StatusOr<Denominator> OfTensor(const Node& node, const Definition& d, TensorId id) {
    if (id < d.num_inputs()) return Of(node.inputs()[static_cast<size_t>(id)]);
    return OfExpr(node, d, d.tensors[static_cast<size_t>(id - d.num_inputs())],
                  d.tensors[static_cast<size_t>(id - d.num_inputs())].body);
  }

  absl::StatusOr<Denominator> OfExpr(const Node& node, const Definition& d,
                                     const TensorExpr& tensor, const ScalarExpr& e) {
    switch (e.kind()) {
      case ScalarExpr::Kind::kConst: {
        const auto dyadic = AsDyadic(e.value());
        if (!dyadic) return Refused(kTooLarge);
        return dyadic->denominator;
      }
      case ScalarExpr::Kind::kIndex:
        return Denominator{1};
      case ScalarExpr::Kind::kParam:
        return Refused("it has an open attribute");
      case ScalarExpr::Kind::kRead:
        return OfTensor(node, d, e.tensor());
      default:
        break;
    }
    const bool divides = e.kind() == ScalarExpr::Kind::kApply && e.fn() == ScalarFn::kDiv;
    const bool multiplies = e.kind() == ScalarExpr::Kind::kApply && e.fn() == ScalarFn::kMul;
    Denominator result = 1;
    for (size_t i = 0; i < e.args().size(); ++i) {
      LEMMA_ASSIGN_OR_RETURN(const Denominator arg, divides&& i == 1
                                                        ? OfDivisor(node, d, tensor, e.args()[1])
                                                        : OfExpr(node, d, tensor, e.args()[i]));
      result = divides || multiplies ? (arg == 0 ? 0 : Times(result, arg)) : Common(result, arg);
      if (result == 0) return Refused(kTooLarge);
    }
    return result;
  }

  // The denominator that 1/e introduces, for all values of e.
  absl::StatusOr<Denominator> OfDivisor(const Node& node, const Definition& d,
                                        const TensorExpr& tensor, const ScalarExpr& e) {
    std::vector<double> values;
    if (e.kind() == ScalarExpr::Kind::kConst) {
      values = {e.value()};
    } else if (e.kind() == ScalarExpr::Kind::kRead && e.tensor() < d.num_inputs() &&
               node.inputs()[static_cast<size_t>(e.tensor())].node().kind() ==
                   Node::Kind::kConstant) {
      values = node.inputs()[static_cast<size_t>(e.tensor())].node().payload().ToDoubles();
    } else if (!HasReads(e)) {
      LEMMA_ASSIGN_OR_RETURN(values, ValuesOf(d, tensor, e));
    } else {
      return Refused("it divides by what is no constant");
    }
    Denominator result = 1;
    for (double x : values) {
      const auto dyadic = AsDyadic(x);
      if (!dyadic || dyadic->numerator == 0)
        return Refused("it divides by 0, or by what is no number or too large a one");
      result = Common(result, dyadic->numerator);
      if (result == 0) return Refused(kTooLarge);
    }
    return result;
  }

  // Values of `e` at all positions of the tensor.
  static absl::StatusOr<std::vector<double>> ValuesOf(const Definition& d, const TensorExpr& tensor,
                                                      const ScalarExpr& e) {
    Definition alone;
    alone.num_vars = d.num_vars;
    alone.tensors = {{DType::kF64, tensor.axes, e}};
    alone.outputs = {0};
    LEMMA_ASSIGN_OR_RETURN(const LoopProgram program, CompileLoops(alone));
    const std::vector<int64_t>& dims = program.outputs()[0].dims;
    std::vector<double> values(static_cast<size_t>(NumElements(dims)));
    const MutableTensorView out = {values.data(), std::nullopt, DenseStrides(dims)};
    LEMMA_RETURN_IF_ERROR(lemma::Run<double>(program, {}, {out}));
    return values;
  }

  absl::flat_hash_map<Value, Denominator> known_;
};

std::vector<double> ReadsOfLeaf(const Value& v) {
  const double reads = v.node().kind() == Node::Kind::kConstant ? 0 : 1;
  return std::vector<double>(static_cast<size_t>(v.type().num_elements()), reads);
}

// A polynomial of degree 2^61 - 1 may be 0 at all points of the field, and 2^61 - 1 reads count as
// none.
absl::Status ReadsFew(const Value& value) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<double> reads,
                         RunRewritten<double>(value, CountOf, ReadsOfLeaf));
  for (double x : reads) {
    if (!(x < kMostReads)) {
      return Refused(
          "an element is computed from more than 2^40 others: its degree may be too large");
    }
  }
  return absl::OkStatus();
}

std::vector<double> SizesOfLeaf(const Value& v) {
  if (v.node().kind() != Node::Kind::kConstant) {
    return std::vector<double>(static_cast<size_t>(v.type().num_elements()), 1);
  }
  std::vector<double> sizes = v.node().payload().ToDoubles();
  for (double& x : sizes) x = std::abs(x);
  return sizes;
}

}  // namespace

absl::Status DecidedByField(const Value& a, const Value& b) {
  LEMMA_RETURN_IF_ERROR(ReadsFew(a));
  LEMMA_RETURN_IF_ERROR(ReadsFew(b));
  Denominators denominators;
  LEMMA_ASSIGN_OR_RETURN(const Denominator of_a, denominators.Of(a));
  LEMMA_ASSIGN_OR_RETURN(const Denominator of_b, denominators.Of(b));
  const Denominator common = Common(of_a, of_b);
  LEMMA_ASSIGN_OR_RETURN(const std::vector<double> x, RunRewritten<double>(a, SizeOf, SizesOfLeaf));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<double> y, RunRewritten<double>(b, SizeOf, SizesOfLeaf));
  if (common == 0) return Refused(kTooLarge);
  for (size_t i = 0; i < x.size(); ++i) {
    // Written so that NaN is rejected too.
    if (!((x[i] + y[i]) * static_cast<double>(common) < kLargest)) return Refused(kTooLarge);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint64_t>> ReadsOf(const Value& value,
                                              const absl::flat_hash_set<Value>& finite,
                                              uint64_t seed) {
  LEMMA_RETURN_IF_ERROR(ReadsFew(value));
  auto leaf = [&](const Value& v) {
    std::vector<Field> row(static_cast<size_t>(v.type().num_elements()));
    const bool read = v.node().kind() != Node::Kind::kConstant && !finite.contains(v);
    const uint64_t hash = SeedOf(seed, v);
    for (size_t i = 0; i < row.size() && read; ++i) {
      row[i] = Field::FromRaw(HashCombine(hash, i) % Field::kPrime);
    }
    return row;
  };
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Field> row, RunRewritten<Field>(value, CountOf, leaf));
  std::vector<uint64_t> reads;
  for (const Field& x : row) reads.push_back(x.raw());
  return reads;
}

}  // namespace lemma::certificate
