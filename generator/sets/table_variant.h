// Variants of an operator set, defined by texts in the rule language over the operator table.
#ifndef LEMMA_GENERATOR_SETS_TABLE_VARIANT_H_
#define LEMMA_GENERATOR_SETS_TABLE_VARIANT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "generator/sets/operator_set.h"
#include "graph/attr.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"
#include "rewrite/taso/rule_builder.h"

namespace lemma::generator {

struct VariantText {
  std::string name;
  // At most two operands, with required sizes: "x: [b.., m, k], w: [k, n]". One list symbol, always
  // in front, stands for any number of batch dimensions: dimensions that every operator of the
  // variant keeps and that no attribute names. Tensors in parentheses form one operand, a bundle:
  // "x: [n, c, h, w], (f: [k, c, r, s], b: [k])" has two operands. A rule has a variable for each
  // tensor of a bundle.
  std::string operands;
  // An application, "matmul(x, w)", or statements and a final "return", in which parentheses bundle
  // results. Results may be operands. A symbol that occurs in the operands is a size of the rule:
  // the operands determine it, or it stays open there, with an equation ("n = h*d"). A symbol that
  // occurs in attributes only is the same in the whole rule.
  std::string body;
  // Values, in the enumeration, of symbols that sizes do not determine.
  Attrs values;
  bool distinct = false;  // as in Variant
  bool proper = false;    // no operand may have size 1 where the text has a symbol
};

// An operand or a result: a tensor, or the tensors of a bundle.
using BundleShape = std::vector<Shape>;

// The ranks that a tensor of a variant may have.
struct RankPattern {
  bool row = false;  // any number of batch dimensions come before the others
  int dims = 0;      // number of the other dimensions
};

// A variant whose texts have been read and checked.
class TableVariant {
 public:
  // InvalidArgument, with the variant's name, if the text is wrong.
  static absl::StatusOr<TableVariant> Read(const VariantText& text);

  const Variant& variant() const { return variant_; }
  // The tensors, with bundles flattened, and the number of tensors of each operand and result.
  const std::vector<RankPattern>& operands() const { return operands_; }
  const std::vector<RankPattern>& results() const { return results_; }
  const std::vector<int>& operand_parts() const { return operand_parts_; }
  const std::vector<int>& result_parts() const { return result_parts_; }
  // The variant's name of a dimension of an operand, counted from the last; "" if it has none.
  std::string NameOfDim(int operand, int from_end) const;

  const Attrs& values() const { return text_.values; }
  const std::vector<Symbol>& symbols() const { return rule_.symbols; }
  // Numbers of the symbols that occur in attributes only.
  const std::vector<int>& attributes() const { return attributes_; }

  // The dimensions that a constant in the text has before those that the text names.
  struct ConstantRow {
    std::string batch;  // as in TypedValue
    int dims = 0;
  };
  // Adds the variant's operators, applied to `in`, to the rule that `builder` builds; returns the
  // results. `in`: the tensors of all operands, whose ranks must fit operands(). *values has the
  // values of the attributes() and receives those of all symbols. Sizes that operands do not
  // determine are taken from `fallback`, which is empty or has one value per symbol.
  // InvalidArgument if the variant cannot be applied.
  absl::StatusOr<std::vector<taso::TypedValue>> Lower(taso::RuleBuilder& builder,
                                                      const std::vector<taso::TypedValue>& in,
                                                      const ConstantRow& constant,
                                                      const SymbolValues& fallback,
                                                      SymbolValues* values) const;

  struct Built {
    Graph graph;  // each bundle is one vector: its tensors' elements, one tensor after the other
    std::vector<BundleShape> results;
  };
  // The application to operands of these dimensions, with the text's values. NotFound if it does
  // not take them.
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

  VariantText text_;
  Variant variant_;
  Substitution rule_;  // the source is the variant
  std::vector<int> operand_parts_, result_parts_;
  std::vector<RankPattern> operands_, results_;
  int row_ = -1;                 // the list symbol of the batch dimensions
  std::vector<int> sizes_;       // symbols of operands, other than row_
  std::vector<int> attributes_;  // all others
  bool proper_ = false;          // from the text, or because a size 1 would be broadcast
};

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_TABLE_VARIANT_H_
