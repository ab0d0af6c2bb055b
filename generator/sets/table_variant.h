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
  // At most two operands, with the sizes that they must have: "x: [b.., m, k], w: [k, n]". One list
  // symbol, always in front, stands for any number of batch dimensions, which every operator of the
  // variant keeps. No attribute may name this symbol. Tensors in parentheses form one operand, a
  // bundle: "x: [n, c, h, w], (f: [k, c, r, s], b: [k])" has two operands. A rule has a variable
  // for each tensor of a bundle.
  std::string operands;
  // An application, "matmul(x, w)", or statements and a final "return", in which parentheses bundle
  // results. An operand may be returned as a result. A symbol that occurs in the operands is a
  // size. In a rule that uses the variant, a symbol that stands alone in a dimension is the size of
  // the operand's dimension. Any other size symbol becomes a new symbol of the rule, with an
  // equation for the dimension: [h*d] gives n = h*d for a dimension of size n. A symbol that occurs
  // only in attributes has one value in the whole rule.
  std::string body;
  // The values that symbols have in the enumeration, for all symbols that the operands' sizes do
  // not determine.
  Attrs values;
  bool distinct = false;  // as in Variant
  bool proper = false;    // sizes that are symbols in `operands` must not be 1
};

// An operand or a result: a tensor, or the tensors of a bundle.
using BundleShape = std::vector<Shape>;

// The ranks that a tensor of a variant may have.
struct RankPattern {
  bool has_batch = false;  // any number of batch dimensions come before the other dimensions
  int dims = 0;            // number of the other dimensions
};

// A variant whose texts have been read and checked.
class TableVariant {
 public:
  // Reads and checks the texts. InvalidArgument, with the variant's name, if a text is wrong.
  static absl::StatusOr<TableVariant> Read(const VariantText& text);

  const Variant& variant() const { return variant_; }
  // operands() has one element for each tensor, through all operands in order; operand_parts()[i]
  // is the number of tensors of operand i. The same holds for results() and result_parts().
  const std::vector<RankPattern>& operands() const { return operands_; }
  const std::vector<RankPattern>& results() const { return results_; }
  const std::vector<int>& operand_parts() const { return operand_parts_; }
  const std::vector<int>& result_parts() const { return result_parts_; }
  // The symbol that is the size of a dimension of the tensor operands()[operand]; "" if the size is
  // not one symbol. `from_end` counts dimensions from the last, which is 0.
  std::string NameOfDim(int operand, int from_end) const;

  const Attrs& values() const { return text_.values; }
  const std::vector<Symbol>& symbols() const { return rule_.symbols; }
  // The numbers of the symbols that occur only in attributes.
  const std::vector<int>& attributes() const { return attributes_; }

  // For a variant without operands: the batch dimensions of the constant in its text.
  struct ConstantBatch {
    std::string batch;  // a list symbol for any number of leading dimensions; "": none
    int dims = 0;       // further batch dimensions, each with an open size of its own
  };
  // Adds the variant's operators, applied to `in`, to the rule that `builder` builds; returns the
  // results. `in`: the tensors of all operands, whose ranks must fit operands(). *values has an
  // element for each symbol. Before the call it has the values of the attributes(); after the call
  // it has the values of all symbols. Sizes that operands do not determine are taken from
  // `fallback`, which is empty or has an element for each symbol. InvalidArgument if the variant
  // cannot be applied.
  absl::StatusOr<std::vector<taso::TypedValue>> Lower(taso::RuleBuilder& builder,
                                                      const std::vector<taso::TypedValue>& in,
                                                      const ConstantBatch& constant,
                                                      const SymbolValues& fallback,
                                                      SymbolValues* values) const;

  struct Built {
    // In the graph's inputs and outputs, a bundle is one vector: the elements of its tensors, one
    // tensor after the other.
    Graph graph;
    std::vector<BundleShape> results;
  };
  // The application of the variant to operands of these dimensions, with VariantText::values.
  // NotFound if the variant does not take them.
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
