// The syntax tree of operator definitions in a file (docs/operators-of-your-own.md).
//
//   file       = { definition }
//   definition = "operator" name "(" param { "," param } ")" [ "{" attr { "," attr } "}" ]
//                [ "onnx" string ] [ "where" condition { "," condition } ]
//                "{" { tensor } "return" name { "," name } "}"
//   param      = name ":" [ type ] "[" [ item { "," item } ] "]"
//   type       = an element type (f32, i64, …) | "float" | "number" | "any" | "integer"
//                if there is no type: "float"
//   attr       = name ":" ( "real" | "int" [ "[" length "]" ] ) [ "=" literal ]
//   tensor     = name [ ":" element type ] "[" [ bound { "," bound } ] "]" "=" expr
//   bound      = name "<" expr | name ".." "<" name ".."
//   item       = expr | name ".."                          "name.." inserts a list of items
//   expr       = sums, products and quotients ("+", "-", "*", "/", "div", "mod", also "-x") of
//                numbers ("inf" and "nan" too), names, parentheses, reads, calls and reductions
//   read       = name "[" [ item { "," item } ] "]" [ "else" [ "-" ] number ]
//   call       = function "(" expr { "," expr } ")" | "if" "(" condition "," expr "," expr ")"
//   reduction  = ( "sum" | "prod" | "max" | "min" ) "(" bound { "," bound } [ "where" condition ]
//                "," expr ")"
//   condition  = comparisons ("=", "!=", "<", "<=", ">", ">="), "and", "or", "not" and parentheses
//   length     = an integer from 1 to 64
//   literal    = a number (for "int" an integer); for "int[length]" a list "[" … "]" of integers
#ifndef LEMMA_GRAPH_DEFINE_OPERATOR_SYNTAX_H_
#define LEMMA_GRAPH_DEFINE_OPERATOR_SYNTAX_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/attr.h"
#include "graph/dtype.h"
#include "graph/text/lexer.h"

namespace lemma::define {

struct Bound;

// A node of the syntax tree of an expression.
struct Expr {
  // Each comment names the fields that the kind uses (`integer`, `real`, `text`, …).
  enum class Kind {
    kInt,     // integer
    kReal,    // real
    kName,    // text: a size, an index, an attribute
    kSplice,  // text: a list of sizes or indices ("text..")
    kRead,    // text[args]: an element of a tensor, or of an attribute that is a list
    kCall,    // text(args): "+", "exp", "<", "and", "if", …; "-" with one argument is a negation
    kReduce,  // text: sum, prod, max, min; bounds; args: the element, then the condition, if any
  };
  Kind kind = Kind::kInt;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<Expr> args;
  std::vector<Bound> bounds;
  std::optional<double> otherwise;  // kRead: the value outside the tensor, if the text gives one
  text::Position position;
};

// An index variable and its extent. If `list`: a list of index variables and the list of their
// extents.
struct Bound {
  std::string name;
  bool list = false;
  Expr extent;  // if `list`, a list of sizes (kSplice)
  text::Position position;
};

// Which element types an input takes: float types (kFloat), all types except
// bool and opaque types (kNumber), all types except opaque types (kAny), i64
// and i32 (kInteger), or a stated type (kFixed). The stated type is not opaque
// and no small float. All kFloat, kNumber and kAny inputs must have the same
// type.
enum class Accepts { kFloat, kNumber, kAny, kInteger, kFixed };

// An input of an operator.
struct Param {
  std::string name;
  Accepts accepts = Accepts::kFloat;
  DType dtype = DType::kF32;  // only for kFixed
  std::vector<Expr> dims;     // sizes and lists of sizes (kSplice)
  text::Position position;
};

// An attribute of an operator.
struct AttrDecl {
  std::string name;
  AttrKind kind = AttrKind::kFloat;  // kFloat, kInt or kInts
  int length = 0;                    // only for kInts: the number of integers
  std::optional<AttrValue> default_value;
  text::Position position;
};

// The definition of one tensor.
struct TensorDef {
  std::string name;
  std::optional<DType> dtype;  // nullopt if the text states none
  std::vector<Bound> bounds;
  Expr body;
  text::Position position;
};

// The definition of one operator.
struct OperatorText {
  std::string name;
  std::string doc;       // the comment above the definition
  std::string file;      // the file's name, for errors
  std::string text;      // the definition as it is written, without the comment above it
  std::string equation;  // the part of `text` that defines the tensors
  std::vector<Param> params;
  std::vector<AttrDecl> attrs;
  std::string onnx;         // the ONNX operator, such as "com.example.Name"; empty: none
  std::vector<Expr> where;  // conditions on sizes and attributes
  std::vector<TensorDef> tensors;
  std::vector<std::pair<std::string, text::Position>> results;  // names after "return"
  text::Position position;
};

// All definitions in `text`, in order. Checks the grammar only. Errors have the form of
// text::ErrorAt, with `file` as the name of the text.
absl::StatusOr<std::vector<OperatorText>> ParseOperators(absl::string_view text,
                                                         absl::string_view file);

}  // namespace lemma::define

#endif  // LEMMA_GRAPH_DEFINE_OPERATOR_SYNTAX_H_
