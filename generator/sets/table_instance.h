// Operators of the table as instances of an operator set, written in the rule language.
#ifndef LEMMA_GENERATOR_SETS_TABLE_INSTANCE_H_
#define LEMMA_GENERATOR_SETS_TABLE_INSTANCE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "generator/sets/operator_set.h"
#include "graph/attr.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"
#include "rewrite/taso/rule_builder.h"

namespace lemma::generator {

struct InstanceText {
  std::string name;
  // At most two, with the sizes that they must have: "x: [b.., m, k], w: [k, n]". One list symbol,
  // always in front, stands for any number of dimensions, which every operator of the instance only
  // carries along: no attribute may name it. Tensors in parentheses are one operand, a bundle: in
  // "x: [n, c, h, w], (f: [k, c, r, s], b: [k])" there are two. A rule has a variable for each
  // part.
  std::string operands;
  // An application, "matmul(x, w)", or statements with a "return" at the end, in which parentheses
  // bundle results; results may be operands. A symbol occurs in
  // the operands, where sizes tell its value or it is a size that the rule leaves open ("n = h*d"),
  // or in attributes only: then it is the same throughout a rule.
  std::string body;
  // Of such symbols, in the enumeration.
  Attrs values;
  bool distinct = false;  // as in Instance
  bool proper = false;    // it takes no operand with a size of 1 where the text has a symbol
};

// What an operand or a result is: a tensor, or the tensors of a bundle.
using BundleShape = std::vector<Shape>;

// A tensor of `dims` dimensions; `row`: any number of further ones come before.
struct RankPattern {
  bool row = false;
  int dims = 0;
};

class TableInstance {
 public:
  // InvalidArgument, with the instance's name, if the text is wrong.
  static absl::StatusOr<TableInstance> Read(const InstanceText& text);

  const Instance& instance() const { return instance_; }
  // Tensors, those of bundles one after the other; and how many belong to each operand and result.
  const std::vector<RankPattern>& operands() const { return operands_; }
  const std::vector<RankPattern>& results() const { return results_; }
  const std::vector<int>& operand_parts() const { return operand_parts_; }
  const std::vector<int>& result_parts() const { return result_parts_; }
  // What the instance calls a dimension of an operand, counted from the last; "" for none.
  std::string NameOfDim(int operand, int from_end) const;

  const Attrs& values() const { return text_.values; }
  const std::vector<Symbol>& symbols() const { return rule_.symbols; }
  // Symbols that occur in attributes only, by number.
  const std::vector<int>& attributes() const { return attributes_; }

  // The dimensions that a constant has before those that its text names.
  struct ConstantRow {
    std::string batch;  // as in TypedValue
    int dims = 0;
  };
  // The results over `in`, whose ranks fit. `values` has the attributes' values, and gets all of
  // them; sizes that are left open in the end become what they are in `fallback`, which is empty or
  // has one for each symbol. InvalidArgument if the instance cannot be applied.
  absl::StatusOr<std::vector<taso::TypedValue>> Lower(taso::RuleBuilder& builder,
                                                      const std::vector<taso::TypedValue>& in,
                                                      const ConstantRow& constant,
                                                      const SymbolValues& fallback,
                                                      SymbolValues* values) const;

  struct Built {
    Graph graph;  // a bundle is a vector: its parts' elements one after the other
    std::vector<BundleShape> results;
  };
  // The application to operands of these dimensions, with the values of the text. NotFound if it
  // does not take them.
  absl::StatusOr<Built> Build(const std::vector<BundleShape>& operands) const;

 private:
  std::string RuleText();
  void DropKept();
  absl::Status ReadOperands();
  absl::Status CheckAttributes() const;
  absl::Status FindResults();
  bool MentionsRow(const lemma::Term& term) const;
  absl::StatusOr<std::vector<taso::TypedValue>> LowerNodes(taso::RuleBuilder& builder,
                                                           const std::vector<taso::TypedValue>& in,
                                                           const std::string& batch,
                                                           const SymbolValues& values) const;
  absl::Status BindSizes(taso::RuleBuilder& builder, const std::vector<taso::TypedValue>& in,
                         const SymbolValues& fallback, SymbolValues* values) const;
  absl::StatusOr<ExprAttr> ValueOf(const lemma::Term& term, const SymbolValues& values) const;

  InstanceText text_;
  Instance instance_;
  Substitution rule_;  // the source is the instance
  std::vector<int> operand_parts_, result_parts_;
  std::vector<RankPattern> operands_, results_;
  int row_ = -1;                 // the list symbol in front
  std::vector<int> sizes_;       // symbols of operands, other than row_
  std::vector<int> attributes_;  // all others
  bool proper_ = false;          // as the text says, or since a 1 is to repeat along something
};

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_TABLE_INSTANCE_H_
