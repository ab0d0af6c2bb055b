// The syntax tree of the text form, shared by graphs (graph/text/text.h) and rules
// (rewrite/rules/rule_text.h).
//
//   file       = { block }
//   block      = "graph" [ name ] "(" params ")" body
//              | "rule" name "(" params ")" contract [ "where" comparison { "," comparison } ]
//                body "=>" body [ record ]
//   contract   = "bit_exact" | "reassociates" | "real_only" | "bounded" "(" expr ")"
//   record     = ( "proved" name | "refuted" | "unknown" ) string string
//                                                          proof id, explanation
//   params     = [ param { "," param } ]
//   param      = label ":" [ "weight" | "constant" ] type [ "=" payload ]
//   body       = "{" { statement } "return" result { "," result } "}"
//   result     = name | name "=" name                      output's name = value
//   statement  = target { "," target } "=" ( application | "constant" type payload )
//   target     = ( label | "_" ) [ ":" type ]
//   application = operator "(" [ name { "," name } ] ")" [ "{" attribute { "," attribute } "}" ]
//   attribute  = name "=" expr
//   label      = name [ "as" name ]                        name in this text, label of the value
//   type       = [ dtype ] "[" [ item { "," item } ] "]"
//   payload    = "fill" expr | "[" [ expr { "," expr } ] "]" | "base64" string | "..."
//   item       = expr [ ".." ]                             ".." splices a list
//   expr       = sums and products ("+", "-", "*", "div", "mod", also "-x") of numbers (also "inf"
//                and "nan"), strings, names, calls "f(expr, …)", lists "[item, …]" and parentheses
//   comparison = expr ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) expr
//
// Names are identifiers, possibly joined by dots, or any text in double quotes. %0, %1, … name
// values without a label. A comment runs from # to the end of the line; directly above a rule it is
// the rule's documentation. Line breaks and spaces have no other meaning.
#ifndef LEMMA_GRAPH_TEXT_SYNTAX_H_
#define LEMMA_GRAPH_TEXT_SYNTAX_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/dtype.h"
#include "graph/text/lexer.h"

namespace lemma::text {

// An expression. -x is a call of "-" on 0 and x, unless x is a number without parentheses.
struct Expr {
  enum class Kind { kInt, kReal, kString, kName, kList, kSplice, kCall };
  Kind kind = Kind::kInt;
  int64_t integer = 0;
  double real = 0;
  std::string text;  // a name, a string, or the called function: "+", "-", "*", "div", "f", …
  std::vector<Expr> args;  // of a list or a call; a splice has one argument: the list
  Position position;
};

struct Name {
  std::string text;   // the name in this text, without quotes
  std::string label;  // the value's label: the name after "as", or `text`; empty for %n
  Position position;
};

struct Type {
  std::optional<DType> dtype;  // absent: not stated, which only rules allow
  std::vector<Expr> dims;
  Position position;
};

struct Payload {
  enum class Kind { kNone, kFill, kList, kBase64, kElided };
  Kind kind = Kind::kNone;
  std::vector<Expr> values;  // one for kFill, all for kList
  std::string base64;
  Position position;
};

// An input, weight or constant in a block's head.
struct Param {
  Name name;
  enum class Role { kInput, kWeight, kConstant };
  Role role = Role::kInput;
  Type type;
  Payload payload;
};

// The name that a statement gives to an output.
struct Target {
  Name name;  // text is empty for "_"
  std::optional<Type> type;
};

// A constant or an application of an operator.
struct Statement {
  std::vector<Target> targets;
  // Only a constant has `type` and `payload`, which gives its values. Only an application has `op`,
  // `args` and `attrs`.
  std::optional<Type> type;
  Payload payload;
  Name op;
  std::vector<Name> args;
  std::vector<std::pair<Name, Expr>> attrs;
};

struct Result {
  std::string name;  // of the output
  Name value;
};

struct Body {
  std::vector<Statement> statements;
  std::vector<Result> results;
};

// A condition of a rule ("where").
struct Comparison {
  Expr lhs;
  std::string relation;  // "=", "!=", "<", "<=", ">" or ">="
  Expr rhs;
};

// The recorded result of a rule's proof (ProofRecord in rewrite/rules/substitution.h).
struct Record {
  Name verdict;            // "proved", "refuted" or "unknown"
  Name contract;           // only for "proved"
  std::string id, detail;  // the proof id, an explanation
  Position end;            // just past the record
};

// A graph or a rule.
struct Block {
  bool is_rule = false;
  Name name;  // empty for a graph without a name
  std::vector<Param> params;
  Body body;        // of a rule: the source
  std::string doc;  // the comment above the block
  // Only for rules.
  Body target;
  Name contract;
  std::optional<Expr> bound;  // of the contract "bounded"
  std::vector<Comparison> where;
  Position end;  // just past the last '}', where a record may be written
  std::optional<Record> record;
};

// All blocks of a file, in order. Checks the grammar only, not whether names or operators exist.
// Errors are InvalidArgument and begin with "file:line:column: ", mostly "expected …, found …".
absl::StatusOr<std::vector<Block>> ParseBlocks(absl::string_view text, absl::string_view file);

// The limit on the nesting of expressions. Deeper nesting is an error; so is a sum or product of
// more than kMaxExprDepth + 2 operands.
constexpr int kMaxExprDepth = 64;

}  // namespace lemma::text

#endif  // LEMMA_GRAPH_TEXT_SYNTAX_H_
