// The type of operator table entries, and the context in which an operator's definition is written.
//
// An operator is one OpDef: its attributes, and one function `define` that states requirements,
// output shapes and output elements as functions of the input shapes. With constant sizes, `define`
// checks and infers shapes and gives an executable definition. With symbolic sizes, it gives the
// definition that the prover works on. See docs/adding-an-operator.md.
#ifndef LEMMA_GRAPH_OP_DEF_H_
#define LEMMA_GRAPH_OP_DEF_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/attr.h"
#include "graph/expr/tensor_expr.h"
#include "graph/tensor.h"

namespace lemma {

class GradientBuilder;  // graph/gradient_builder.h
class OnnxImport;       // graph/onnx_conversion.h
class OnnxExport;
class Value;

// An attribute that an operator declares.
struct AttrSpec {
  std::string name;
  AttrKind kind = AttrKind::kInt;
  std::optional<AttrValue> default_value;  // absent: the attribute must be given
  // Whether a rule may leave the attribute symbolic. An attribute that decides the structure of the
  // definition (an axis, a permutation, a flag) must be known.
  bool symbolic = false;
  std::string doc;  // for the operator reference
};

class OpContext;

// Imports one ONNX operator; returns its outputs in ONNX's order.
struct OnnxImporter {
  // "Gelu", or "com.microsoft.Gelu" for an operator of a domain other than ONNX's own. In imports
  // for training, the importer "training.Dropout" takes the place of the importer "Dropout".
  std::string op_type;
  std::function<absl::StatusOr<std::vector<Value>>(OnnxImport&)> import;
};

constexpr int kVariadic = -1;  // OpDef::max_inputs: no limit

// An entry of the operator table.
struct OpDef {
  std::string name;
  std::string group;     // heading in the operator reference: "element-wise", "convolution", …
  std::string equation;  // the definition, in the notation of docs/operators.md
  std::string doc;       // what the equation does not say; may be empty
  std::vector<std::string> input_names;  // the last one repeats if variadic
  int min_inputs = 1;                    // inputs from this position on may be left out
  int max_inputs = 1;                    // or kVariadic
  std::vector<AttrSpec> attrs;
  std::function<absl::Status(OpContext&)> define;  // errors by LEMMA_REQUIRE or OpContext::Fail
  // Whether f(a, b) = f(b, a) for the first two inputs. Proofs do not use this field; matching,
  // derivations, canonical texts of rules, the generator and the certificate checker do. Tested
  // against the definition.
  bool commutative = false;
  // Applications for the conformance suite, with edge cases: "(f32[2,3], f32[3]) {axis = 1}".
  std::vector<std::string> examples;
  std::vector<OnnxImporter> onnx_import;
  // Emits the ONNX nodes for one application. Absent: the operator cannot be exported.
  std::function<absl::Status(OnnxExport&)> onnx_export;
  // Builds the gradients with respect to the inputs from ordinary operators. Returns one value per
  // input; an empty value if the gradient is zero everywhere. Absent: not differentiable.
  std::function<absl::StatusOr<std::vector<Value>>(GradientBuilder&)> gradient;
  // Whether the operator converts small floats. Other operators may only move them.
  bool converts_small_floats = false;

  // A hash of the definition, for an operator that a file defines (graph/define). Empty for
  // operators of the table.
  std::string version = {};

  const AttrSpec* FindAttr(absl::string_view attr) const;  // nullptr if there is none
  // The name, with the version if there is one. Results that outlive the process are stored under
  // this key.
  std::string key() const { return version.empty() ? name : absl::StrCat(name, "@", version); }
};

// The context of a definition: gives inputs and attributes, records requirements and outputs.
class OpContext {
 public:
  enum class Mode {
    kTypesOnly,  // output shapes and requirements, without bodies (expressions of elements)
    kFull,       // also bodies
  };
  // `attrs` must be complete (see CompleteExprAttrs). `op` and `attrs` must outlive the context.
  OpContext(const OpDef& op, std::vector<ExprType> inputs, const ExprAttrs& attrs, Mode mode);

  const ExprAttrs& attrs() const { return attrs_; }
  int num_inputs() const { return definition_.num_inputs(); }
  const ExprType& input(int i) const { return definition_.inputs[i]; }
  DType dtype(int i) const { return input(i).dtype; }
  int rank(int i) const { return input(i).rank(); }
  const Idx& dims(int i) const { return input(i).dims; }
  const IndexExpr& Dim(int i, int axis) const { return input(i).dims[axis]; }

  // The value of attribute `name`. Int and Ints give an integer attribute as numbers; Size and
  // Sizes give it as expressions, which may be symbolic. The process aborts if the operator does
  // not declare the attribute with this kind, or if Int or Ints is called for a symbolic value.
  int64_t Int(absl::string_view name) const;
  std::vector<int64_t> Ints(absl::string_view name) const;
  const IndexExpr& Size(absl::string_view name) const;
  const Idx& Sizes(absl::string_view name) const;
  const ScalarExpr& Real(absl::string_view name) const;
  const std::string& String(absl::string_view name) const;
  const std::vector<double>& Reals(absl::string_view name) const;

  // `axis` as a number in [0, rank); a negative axis counts from the end. The error of Fail() if
  // `axis` is outside [-rank, rank).
  absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank) const;

  // Requires `guard`. Returns false only if `guard` is known to be false. If `guard` is undecided,
  // it becomes a requirement of the application. Definitions use LEMMA_REQUIRE instead.
  bool Holds(const Guard& guard);
  // An InvalidArgument status with the operator's name, the message and the input types.
  absl::Status Fail(absl::string_view message) const;

  using Body = std::function<ScalarExpr(const Idx&)>;
  // Adds the next output, or a local tensor that later bodies may read. `body` takes the element's
  // index. It is called at most once, and never in kTypesOnly mode.
  TensorId Output(DType dtype, Idx dims, const Body& body);
  TensorId Local(DType dtype, Idx dims, const Body& body);

  // Element `index` of a tensor. The caller must ensure that it lies inside the tensor.
  ScalarExpr Read(TensorId tensor, Idx index) const;
  // Element `index`, or `outside` if the index lies outside the tensor.
  ScalarExpr ReadOr(TensorId tensor, Idx index, const ScalarExpr& outside) const;
  // Reduces body(r) over all r with 0 <= r_i < extents[i] and, if `where` is given, where(r).
  ScalarExpr Reduce(ReduceKind kind, const Idx& extents, const Body& body,
                    const std::function<Guard(const Idx&)>& where = nullptr);
  ScalarExpr Sum(const Idx& extents, const Body& body) {
    return Reduce(ReduceKind::kSum, extents, body);
  }

  // For an OpDef::define whose requirements depend on bodies: such a function must do all its work
  // in `build`. DefineInFull calls `build` once, with a context that builds bodies: this context
  // or, in kTypesOnly mode, a new context for the same inputs and attributes. The outputs and
  // requirements of a new context then replace the outputs and requirements of this context.
  absl::Status DefineInFull(absl::FunctionRef<absl::Status(OpContext&)> build);
  // Sets the whole definition at once, instead of adding outputs one by one. `definition` must be
  // for this context's inputs.
  void Adopt(Definition definition);

  const std::vector<Guard>& requirements() const { return requirements_; }
  const Definition& definition() const { return definition_; }
  std::vector<ExprType> output_types() const;

 private:
  const ExprAttr& Find(absl::string_view name, AttrKind kind) const;
  TensorId Add(DType dtype, Idx dims, const Body& body);
  IndexExpr NewVar() { return IndexExpr::Var(definition_.num_vars++); }

  const OpDef& op_;
  const ExprAttrs& attrs_;
  Mode mode_;
  Definition definition_;
  std::vector<Guard> requirements_;
};

// For `define` functions and their helpers: requires `guard` (OpContext::Holds). If `guard` is
// known to be false, the function returns the error of OpContext::Fail; its message is the StrCat
// of the further arguments.
#define LEMMA_REQUIRE(context, guard, ...)              \
  do {                                                  \
    if (!(context).Holds(guard)) {                      \
      return (context).Fail(absl::StrCat(__VA_ARGS__)); \
    }                                                   \
  } while (false)

// Fill in defaults, and convert integers that are given for float attributes; CompleteAttrs also
// converts lists of integers. InvalidArgument if an attribute is unknown, missing or of another
// kind; for CompleteExprAttrs, also if it is a symbol although AttrSpec::symbolic is false.
absl::StatusOr<Attrs> CompleteAttrs(const OpDef& op, Attrs attrs);
absl::StatusOr<ExprAttrs> CompleteExprAttrs(const OpDef& op, ExprAttrs attrs);

// Output types of an application; `attrs` must be complete. Sizes may be symbolic: requirements
// that their ranges do not decide are assumed where docs/symbolic-sizes.md says so. If the operator
// does not take these inputs and attributes: InvalidArgument, with the operator's name and the
// reason. Unimplemented for opaque element types, and for small floats unless the operator only
// moves or converts them (OpDef::converts_small_floats).
absl::StatusOr<std::vector<TensorType>> InferTypes(const OpDef& op,
                                                   absl::Span<const TensorType> inputs,
                                                   const Attrs& attrs);

// The definition of an application with constant or symbolic sizes.
struct OpMeaning {
  Definition definition;
  // Conditions on sizes and attributes under which the application is well-formed.
  std::vector<Guard> requirements;
};
// `attrs` must be complete. Errors are as in InferTypes, but an undecided requirement is not an
// error: it is in OpMeaning::requirements.
absl::StatusOr<OpMeaning> Define(const OpDef& op, std::vector<ExprType> inputs,
                                 const ExprAttrs& attrs);
// The definition alone. The caller must have checked the requirements, with InferTypes.
absl::StatusOr<Definition> Define(const OpDef& op, absl::Span<const TensorType> inputs,
                                  const Attrs& attrs);

ExprType ToExprType(const TensorType& type);

}  // namespace lemma

#endif  // LEMMA_GRAPH_OP_DEF_H_
