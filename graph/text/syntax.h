// The syntax tree of the text form, shared by graphs (graph/text/text.h) and rules
// (rewrite/rules/rule_text.h).
//
//   file       = { block }
//   block      = "graph" [ name ] "(" params ")" body
//              | "rule" name "(" params ")" contract [ "where" comparison { "," comparison } ]
//                body "=>" body [ record ]
//   contract   = "bit_exact" | "reassociates" | "real_only"
//   record     = ( "proved" contract | "refuted" | "unknown" ) string string
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
//   expr       = sums and products ("+", "-", "*", "div", "mod") of numbers, strings, names,
//                calls "f(expr, …)", lists "[item, …]" and parentheses
//   comparison = expr ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) expr
//
// Names are identifiers, possibly joined by dots, or any text in double quotes. %0, %1, … name
// values without a label. A comment runs from # to the end of the line; directly above a rule it is
// the rule's documentation. Layout is free.
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

struct Expr {
  enum class Kind { kInt, kReal, kString, kName, kList, kSplice, kCall };
  Kind kind = Kind::kInt;
  int64_t integer = 0;
  double real = 0;
  std::string text;  // a name, a string, or the called function: "+", "-", "*", "div", "f", …
  std::vector<Expr> args;  // of a list or a call; a splice has one
  Position position;
};

struct Name {
  std::string text;
  std::string label;  // the label of the value; empty for %n
  Position position;
};

struct Type {
  std::optional<DType> dtype;
  std::vector<Expr> dims;
  Position position;
};

struct Payload {
  enum class Kind { kNone, kFill, kList, kBase64, kElided };
  Kind kind = Kind::kNone;
  std::vector<Expr> values;
  std::string base64;
  Position position;
};

struct Param {
  Name name;
  enum class Role { kInput, kWeight, kConstant };
  Role role = Role::kInput;
  Type type;
  Payload payload;
};

struct Target {
  Name name;  // text is empty for "_"
  std::optional<Type> type;
};

struct Statement {
  std::vector<Target> targets;
  // A constant if `type` is given, else an application.
  std::optional<Type> type;
  Payload payload;
  Name op;
  std::vector<Name> args;
  std::vector<std::pair<Name, Expr>> attrs;
};

struct Result {
  std::string name;
  Name value;
};

struct Body {
  std::vector<Statement> statements;
  std::vector<Result> results;
};

struct Comparison {
  Expr lhs;
  std::string relation;
  Expr rhs;
};

// The recorded result of a rule's proof (ProofRecord in rewrite/rules/substitution.h).
struct Record {
  Name verdict;
  Name contract;  // of "proved"
  std::string id, detail;
  Position end;  // just past the record
};

struct Block {
  bool is_rule = false;
  Name name;
  std::vector<Param> params;
  Body body;
  // Only for rules.
  Body target;
  Name contract;
  std::vector<Comparison> where;
  std::string doc;
  Position end;  // just past the last '}', where a record may be written
  std::optional<Record> record;
};

// All blocks of a file. Errors read "file:line:column: expected this or that, found …".
absl::StatusOr<std::vector<Block>> ParseBlocks(absl::string_view text, absl::string_view file);

// Deeper nesting of expressions is an error.
constexpr int kMaxExprDepth = 64;

}  // namespace lemma::text

#endif  // LEMMA_GRAPH_TEXT_SYNTAX_H_
