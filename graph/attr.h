// Attributes of an operator application: named constants such as axes or strides.
#ifndef LEMMA_GRAPH_ATTR_H_
#define LEMMA_GRAPH_ATTR_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "graph/expr/scalar_expr.h"

namespace lemma {

enum class AttrKind { kInt, kFloat, kString, kInts, kFloats };

// The value of an attribute. The alternatives have the order of AttrKind.
// Booleans are the integers 0 and 1. An integer may be a symbolic size
// (graph/sizes/symbolic_size.h).
using AttrValue =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;
inline AttrKind KindOf(const AttrValue& value) { return static_cast<AttrKind>(value.index()); }

// Sorted by name, so that equal attributes print and hash alike.
using Attrs = std::map<std::string, AttrValue>;

// Whether both have the same names and values. Floats are compared by their bits: a NaN equals
// itself, and -0 does not equal 0.
bool SameAttrs(const Attrs& a, const Attrs& b);
// A hash that is the same in every process.
uint64_t HashAttrs(const Attrs& attrs);
// The value as in the text form of graphs: "3", "0.5", "\"same\"", "[1, 2]". A reader of the text
// gets exactly the same numbers. A symbolic size is printed as its expression.
std::string ToString(const AttrValue& value);

// An attribute in an operator's definition, where integers and real numbers may
// be symbols. The alternatives have the order of AttrKind.
using ExprAttr = std::variant<IndexExpr, ScalarExpr, std::string, Idx, std::vector<double>>;
using ExprAttrs = std::map<std::string, ExprAttr>;
// Numbers become constants; symbolic sizes become their expressions.
ExprAttrs ToExprAttrs(const Attrs& attrs);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ATTR_H_
