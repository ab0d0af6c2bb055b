// What a definition is computed in, and what is lost where its results are stored.
#ifndef LEMMA_GRAPH_EXPR_ARITHMETIC_H_
#define LEMMA_GRAPH_EXPR_ARITHMETIC_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "graph/expr/tensor_expr.h"

namespace lemma {

// The value, a number, is a value of `dtype`: nothing happens to it.
bool Holds(DType dtype, double value);
// Every value of `from` is one of `to`.
bool Holds(DType to, DType from);

// InvalidArgument if `definition` has a function or a constant that is not integral.
absl::Status CheckIntegral(const Definition& definition);

enum class Arithmetic { kFloat, kDouble, kInteger };  // float, double, int64_t

// Exactly in integers where no floating type takes part and every function has an integer value, or
// where integers are only moved. Otherwise in double (`Number` of the reference), or in float where
// that suffices: unless an f64 takes part, or an integer that a float may not hold comes out.
Arithmetic ArithmeticFor(const Definition& definition);

// Whether definitions may be computed together, as one kernel in one arithmetic.
enum class Domain {
  kAny,       // truth values and integers that are moved at most: either way the same
  kIntegers,  // wraps, exact beyond 2^53
  kReals,
};
Domain DomainOf(const Definition& definition);
// The domain of both together; nullopt: they have none.
std::optional<Domain> Common(Domain a, Domain b);

// By input: whether it decides where something is read or written. Linear in the definition.
std::vector<bool> InputsReadAsIndex(const Definition& definition);

// The definition with every output as it is after it has been stored as its element type and loaded
// again, for others to read in `arithmetic`. Only where that can differ: not for what has the type
// already, nor what it is computed in.
Definition WithStoredOutputs(Definition definition, Arithmetic arithmetic);

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_ARITHMETIC_H_
