// Decides in which arithmetic (float, double or int64_t) a definition is computed, and where
// storing its results loses precision.
#ifndef LEMMA_GRAPH_EXPR_ARITHMETIC_H_
#define LEMMA_GRAPH_EXPR_ARITHMETIC_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "graph/expr/tensor_expr.h"

namespace lemma {

// Whether `value` is known to be exactly representable in `dtype`. For f16 and bf16 only infinities
// and whole numbers up to 256 are.
bool Holds(DType dtype, double value);
// Whether every value of `from` is exactly representable in `to`.
bool Holds(DType to, DType from);

// InvalidArgument if `definition` has a function or a constant without integer values.
absl::Status CheckIntegral(const Definition& definition);

enum class Arithmetic { kFloat, kDouble, kInteger };  // float, double, int64_t

// kInteger, which is exact, if no floating type takes part and every function has an integer value,
// or if the definition only moves integers. Otherwise kFloat where it suffices, else kDouble. Float
// does not suffice if an f64 takes part, or if an output has an integer type whose values a float
// may not hold.
Arithmetic ArithmeticFor(const Definition& definition);

// Definitions may be computed together, as one kernel in one arithmetic, if their domains agree.
enum class Domain {
  kAny,       // only truth values: any arithmetic gives the same
  kIntegers,  // wraps, exact beyond 2^53
  kReals,
};
Domain DomainOf(const Definition& definition);
// The domain of both together; nullopt if there is none.
std::optional<Domain> Common(Domain a, Domain b);

// For each input: whether its values decide where something is read or written. Linear in the size
// of the definition.
std::vector<bool> InputsReadAsIndex(const Definition& definition);

// Whether every output has exact values of its element type, as that of a transposition has.
bool HasExactOutputs(const Definition& definition);

// The definition with each output rounded to its element type, as if it had been stored and loaded
// again for use in `arithmetic`. Outputs that already have exact values of their type, or the type
// of the computation, are unchanged.
Definition WithStoredOutputs(Definition definition, Arithmetic arithmetic);

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_ARITHMETIC_H_
