// Decides in which arithmetic (float, double or int64_t) a definition is computed, and where
// storing its results loses precision.
#ifndef LEMMA_GRAPH_EXPR_ARITHMETIC_H_
#define LEMMA_GRAPH_EXPR_ARITHMETIC_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "graph/expr/tensor_expr.h"

namespace lemma {

// Whether `value` is known to be exactly representable in `dtype`. For f16 and bf16, only
// infinities and whole numbers from -256 to 256 are recognized; for small floats, no number is.
bool Holds(DType dtype, double value);
// Whether every value of `from` is known to be exactly representable in `to`.
bool Holds(DType to, DType from);

// InvalidArgument if `definition` applies a function that has no value for integers, such as exp,
// or has a constant that is neither an integer nor an infinity. Its message names the function or
// constant.
absl::Status CheckIntegral(const Definition& definition);

// The C++ type in which all numbers of a definition are computed.
enum class Arithmetic { kFloat, kDouble, kInteger };  // float, double, int64_t

// The arithmetic in which the definition is computed; "tensor" means an input or a tensor that the
// definition makes, and "float type" includes the small floats.
//   * kInteger, which is exact, in two cases: no tensor has a float type and CheckIntegral is OK;
//     or the definition only moves elements, no input has a float type, and no tensor has type u64.
//   * Otherwise kDouble, if no tensor has a float type, if a tensor has type f64, or if a tensor
//     that the definition makes has an integer type of more than 16 bits.
//   * Otherwise kFloat.
Arithmetic ArithmeticFor(const Definition& definition);

// Definitions whose domains agree may be computed together, as one kernel in
// one arithmetic. Two domains agree if they are equal, or if one of them is
// kAny.
enum class Domain {
  kAny,       // only bools: all kinds of arithmetic give the same results
  kIntegers,  // computed in int64_t, which wraps and is exact beyond 2^53
  kReals,     // computed in float or double
};
Domain DomainOf(const Definition& definition);
// The domain of two definitions that are computed together; nullopt if `a` and `b` do not agree.
std::optional<Domain> Common(Domain a, Domain b);

// For each input: whether an index, an extent or a guard reads it, not counting reads through a
// local. Linear in the size of the definition.
std::vector<bool> InputsReadAsIndex(const Definition& definition);

// Whether the values of every output are known to be exactly representable in the output's element
// type. This holds for a transposition, for example.
bool HasExactOutputs(const Definition& definition);

// The definition with each output rounded to its element type, as if it had been stored and loaded
// again for use in `arithmetic`. An output is unchanged if its values are known to be exact in its
// type, or if its type is the one of `arithmetic`: f32 for kFloat, f64 for kDouble, i64 for
// kInteger.
Definition WithStoredOutputs(Definition definition, Arithmetic arithmetic);

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_ARITHMETIC_H_
