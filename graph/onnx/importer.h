// The state that all parts of one ONNX import share. Internal to graph/onnx.
//
// The methods of ModelImporter are in importer.cc (initializers, inputs, outputs, declared types),
// import_nodes.cc (nodes, functions, subgraphs), import_values.cc (values that are computed at
// import), run_time/open_types.cc (types of results whose sizes are known only at run time) and
// run_time/kept_branch.cc (branches of If).
#ifndef LEMMA_GRAPH_ONNX_IMPORTER_H_
#define LEMMA_GRAPH_ONNX_IMPORTER_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "graph/builder.h"
#include "graph/onnx/convert.h"
#include "graph/onnx/import.h"
#include "graph/onnx/infer_types.h"
#include "graph/onnx/node_order.h"
#include "graph/onnx/origin/origin.h"
#include "graph/onnx/sizes/asked_size.h"
#include "graph/onnx/sizes/size_values.h"
#include "graph/onnx_conversion.h"

namespace lemma {

// Constant results of up to this many elements are computed at import.
constexpr int64_t kMaxFoldElements = int64_t{1} << 16;

// Whether an initializer becomes a weight: if it has floats and rank 1 or more, or if it has more
// than kMaxFoldElements elements of any type. All others are parameters of operators and become
// constants.
bool IsTrained(const Tensor& tensor);
// Marks in the doc_string of an initializer: with kConstantMark it becomes a constant, with
// kWeightMark a weight, even if IsTrained says otherwise. Only Lemma's export writes these marks.
constexpr char kConstantMark[] = "lemma: constant";
constexpr char kWeightMark[] = "lemma: weight";

// Names and what they stand for in a graph, a subgraph or a function's body.
struct Scope {
  const Scope* parent = nullptr;
  absl::flat_hash_map<std::string, Value> values;
  // Lists of tensors (ONNX's sequences), whose lengths are known.
  absl::flat_hash_map<std::string, std::vector<Value>> sequences;
  // Declared types of values, from the graph of this scope.
  absl::flat_hash_map<std::string, const onnx::TypeProto*> declared;
  std::map<std::string, int> opsets;  // by domain
  int depth = 0;                      // nesting of subgraphs and functions

  // The value, or the list, for which the name stands in the nearest scope, from this scope
  // outwards. nullptr if there is none.
  const Value* Find(const std::string& name) const;
  const std::vector<Value>* FindSequence(const std::string& name) const;
  bool Has(const std::string& name) const { return Find(name) || FindSequence(name); }
  int opset() const;  // of the default domain; 17 if `opsets` lacks it
};

// A result of a node: a value, or a list of values.
struct Result {
  Value value;
  std::optional<std::vector<Value>> sequence;

  Result() = default;
  Result(Value v) : value(std::move(v)) {}                          // NOLINT
  Result(std::vector<Value> items) : sequence(std::move(items)) {}  // NOLINT
};

// A branch of an If: the If's condition, and the value of the condition for which the branch is
// taken.
struct BranchSide {
  Value condition;
  bool holds = false;

  bool operator==(const BranchSide& other) const {
    return condition == other.condition && holds == other.holds;
  }
};

struct OpaqueNode;  // opaque.h

// Imports one model. `model` and `options` must outlive it; the import takes values out of `model`.
class ModelImporter {
 public:
  // `folder`: the path of the folder with the external data; if it is "", external data are
  // refused. `values`: by position, the values of initializers whose messages have none; may be
  // shorter than the list of initializers.
  ModelImporter(onnx::ModelProto* model, const ImportOptions& options, std::string folder,
                std::vector<RawBytes> values = {});
  absl::StatusOr<ImportedModel> Run();  // to be called once
  // After a run that failed at an operator: the symbolic dimensions that this operator reads, with
  // their sizes as in UsualSizes. Dimensions of usual size 1 are left out if there are others.
  // Empty if the operator reads no symbolic dimensions.
  const DimValues& needed_sizes() const { return needed_sizes_; }
  // After a run: the sizes that are too short for operators (AskFor).
  const std::vector<AskedSize>& asked_sizes() const { return asked_sizes_; }
  // After a run: sizes of all symbolic dimensions of inputs. Sizes from ImportOptions::dims and
  // from given or default values of inputs are kept. The others are usual sizes (UsualSize in
  // graph/sizes/symbolic_size.h); FitTotals (graph/sizes/totals.h) changes them where one dimension
  // is the sum of others.
  DimValues UsualSizes() const;
  // After a run: the sizes that given or default values of inputs have in dimensions that stay
  // symbolic.
  DimValues SizesOfValues() const;
  // After a run: the dimensions that have the size ImportOptions::default_dim, because nothing gave
  // a size.
  const std::vector<std::string>& default_dims() const { return result_.default_dims; }

  // The value's elements, if they are known: a payload, or the result of a small computation from
  // payloads and from given or default values of inputs.
  std::optional<Tensor> Known(const Value& value);
  // As Known, but without values of inputs: for operators that can be imported without constants.
  std::optional<Tensor> KnownWithoutInputs(const Value& value);
  // As Known, for a value that decides how often a loop is executed: without given values of inputs
  // if ImportOptions::keeps_loops is true.
  std::optional<Tensor> KnownForLoop(const Value& value);
  // As Known, for integers that are used as sizes: an element may be a symbolic size
  // (graph/sizes/symbolic_size.h). For integers that are used otherwise, call Known.
  std::optional<Tensor> KnownSizes(const Value& value);
  // The results of `op`, applied to `inputs`. They are computed at once, and become constants, if
  // all inputs are constants, the results are small (kMaxFoldElements), and WidensIntegers (fold.h)
  // is false.
  absl::StatusOr<std::vector<Value>> Apply(absl::string_view op, std::vector<Value> inputs,
                                           Attrs attrs);
  // The declared type of a value; nullopt if there is none, or if a size is still unknown after
  // symbolic dimensions are replaced by their sizes.
  std::optional<TensorType> DeclaredType(const Scope& scope, const std::string& name);

  // The results of `graph`, one per output. `scope` must hold the inputs of `graph` and the names
  // that `graph` captures.
  absl::StatusOr<std::vector<Result>> ImportSubgraph(const onnx::GraphProto& graph, Scope* scope);

  // The same for a branch of an If that may be invalid at the given sizes. After an error,
  // ImportedModel::opaque lists no operator of the branch.
  absl::StatusOr<std::vector<Result>> TryBranch(const onnx::GraphProto& branch, const Scope& scope,
                                                const BranchSide& side);
  // Records the operators that compute the results of both branches of the If `node`, which
  // TryBranch imported. `chooses_size`: whether the branches give a result different sizes. Returns
  // whether one of these operators is shared with a branch of another If. Equal operators are one
  // node, so no single condition would say whether a shared node is executed. A shared operator
  // does not count if one of the two branches is inside the other, if both Ifs are in the same
  // branch and have the same condition, or if neither If gives a result different sizes.
  bool SharesOperators(const onnx::NodeProto& node, const Scope& scope, const Value& condition,
                       const std::vector<Result> (&results)[2], bool chooses_size);
  // To be called if only one branch of the If `node` could be imported, with the results `other`.
  // The branch to keep is then_branch if `holds`, otherwise else_branch; `failed` is the error of
  // its import. Puts this branch into an opaque If and returns the results of the opaque If, which
  // have the types of `other`. Unimplemented if the kept branch may run and its results may then
  // have other types, if the If may draw random numbers, or if a result in `other` is a list.
  absl::StatusOr<std::vector<Result>> KeepBranch(const onnx::NodeProto& node, bool holds,
                                                 const absl::Status& failed,
                                                 const std::vector<Result>& other,
                                                 const Scope& scope);
  // To be called if the branches of the If `node` give some results different sizes. `results`: the
  // results of else_branch, then those of then_branch; all must be tensors. `differing`: the
  // positions of the results whose sizes differ, ascending. Returns the values of these results.
  // For each of them, an opaque If on the scalar `condition` chooses between the values of the two
  // branches (graph/onnx/run_time/choosing_if.h). Unimplemented if the type of a result is not
  // known, or if the If `node` may draw random numbers.
  absl::StatusOr<std::vector<Value>> KeepChoice(const onnx::NodeProto& node, const Value& condition,
                                                const std::vector<Result> (&results)[2],
                                                const std::vector<size_t>& differing,
                                                const Scope& scope);

  // Whether the argument contains a number that could be mistaken for a symbolic size
  // (MayBeTakenForSymbolic); always false in an import without symbolic sizes.
  bool MistakesForSize(const OnnxAttr& attr) const;
  bool MistakesForSize(const Tensor& tensor) const;

  // The channels in a block of the layout NCHWc.
  int64_t channel_block() const { return channel_block_; }

  // Adds to the notes of the import.
  void Note(std::string note);
  // Records a size that an operator needs to be longer.
  void AskFor(AskedSize asked) { asked_sizes_.push_back(std::move(asked)); }
  // Forgets the recorded sizes after the first `count`. For sizes that a branch asked for, if the
  // branch runs only at some sizes of the model.
  void ForgetAsked(size_t count) { asked_sizes_.resize(count); }

 private:
  absl::Status ReadHeader();
  // Sets channel_block_, and notes the value if the model uses the layout.
  void FindChannelBlock();
  absl::Status ReadInitializers(const onnx::GraphProto& graph, Scope* scope);
  // The values of an initializer of the main graph, for its tensor to share; they may be moved out
  // of the ONNX message. Empty if the initializer is small: its tensor then copies the values.
  RawBytes TakeValues(int initializer);
  // Finds the inputs that have given values.
  void TakeGivenValues();
  absl::Status ReadInputs(Scope* scope);
  absl::Status ReadOutputs(const Scope& scope);
  // The size of the dimension `name`, which may be an expression over dimensions ("past + 1").
  // Symbolic unless the options give numbers.
  int64_t SymbolicSize(const std::string& name);
  // An error if the node reads symbolic sizes but its import needs numbers.
  absl::Status CheckSizes(const onnx::NodeProto& node, const Scope& scope);
  void NoteNeededSizes(const onnx::NodeProto& node, const Scope& scope);
  absl::StatusOr<std::vector<int64_t>> BindDims(const onnx::ValueInfoProto& input);
  absl::StatusOr<TensorType> InputType(const onnx::ValueInfoProto& input);
  absl::Status CheckDimsUsed() const;
  // Adds notes on the parameters that training leaves unchanged.
  void NoteUntrained();

  absl::Status ImportNodes(const NodeList& nodes, const std::vector<std::string>& outputs,
                           Scope* scope);
  absl::Status ImportNode(const onnx::NodeProto& node, Scope* scope);
  // Puts the model itself into the result (OnnxInfo::origin), without the values of its
  // initializers.
  void KeepOrigin();
  // Records the values that the import made of a node of the main graph (OnnxOrigin::nodes).
  // `position`: the node's position in the model. `draws`: whether it may draw random numbers.
  void RecordOrigin(int position, bool draws);
  absl::StatusOr<std::vector<Result>> Translate(const onnx::NodeProto& node, const Scope& scope);
  absl::StatusOr<std::vector<Value>> CallImporter(const onnx::NodeProto& node, const Scope& scope);
  absl::StatusOr<std::vector<Result>> InlineFunction(const onnx::FunctionProto& function,
                                                     const onnx::NodeProto& call,
                                                     const Scope& scope);
  // `types`: the types of the present outputs, in order; if empty, declared or inferred types.
  absl::StatusOr<std::vector<Value>> MakeOpaque(const onnx::NodeProto& node, const Scope& scope,
                                                std::vector<TensorType> types = {});
  // The types that ONNX infers for the outputs of an opaque node, by the names that its payload
  // gives to the outputs ("o0", …; opaque.h).
  std::map<std::string, OpenType> InferredTypesOf(const OpaqueNode& opaque,
                                                  const std::vector<Value>& inputs);
  // Whether sizes may be symbolic.
  bool HasSymbols() const { return options_.symbolic || !result_sizes_.empty(); }
  // The symbolic dimensions in the sizes of operands and in their elements.
  std::map<std::string, SizeRange> DimsReadBy(const onnx::NodeProto& node, const Scope& scope);
  // Whether a size or an element of an operand depends on a result size.
  bool ReadsResultSizes(const onnx::NodeProto& node, const Scope& scope);

  // The types of the present outputs of an opaque node. Sizes that are known only at run time
  // become result sizes.
  absl::StatusOr<std::vector<TensorType>> TypesOfOutputs(const onnx::NodeProto& node,
                                                         const Scope& scope,
                                                         const OpaqueNode& opaque,
                                                         const std::vector<Value>& inputs);
  // The same for a Loop or Scan: a state's result has the type of its initial value, but a size
  // that the body changes becomes a result size.
  absl::StatusOr<std::vector<TensorType>> TypesOfRepeat(const onnx::NodeProto& node,
                                                        const Scope& scope);
  // The types of the present outputs of an If, in order. A size is unknown where the branches give
  // different sizes; a type is nullopt if they give different element types or ranks, or a list.
  // The vector is empty if a branch cannot be imported or has too few results. Results are kept in
  // branch_types_; otherwise each level of nesting would double the imports of an inner If.
  std::vector<std::optional<OpenType>> TypesOfBranches(const onnx::NodeProto& node,
                                                       const Scope& scope);
  // Computes the result of TypesOfBranches, without branch_types_.
  std::vector<std::optional<OpenType>> ImportTypesOfBranches(const onnx::NodeProto& node,
                                                             const Scope& scope);
  // Makes one result of the public KeepChoice: the output `output` of the If, of type `type`.
  absl::StatusOr<Value> KeepChoice(const std::string& output, const Value& condition,
                                   const Value& then, const Value& otherwise, TensorType type,
                                   const Scope& scope);
  // Whether a branch of the If `node` declares that its results have the types of `other`. The
  // branch is then_branch if `holds`, otherwise else_branch.
  bool DeclaresTypes(const onnx::NodeProto& node, bool holds, const std::vector<Result>& other,
                     const Scope& scope);
  // The type that the model declares for a value; its sizes may be unknown. nullopt: there is none.
  std::optional<OpenType> DeclaredOpenType(const Scope& scope, const std::string& name) const;
  // The type with new result sizes in place of the unknown sizes. A new size has the name that the
  // model declares if this name ends with .AXIS, otherwise the name OUTPUT.AXIS. `bounds`: by axis,
  // an upper limit of the size, if one is known.
  absl::StatusOr<TensorType> WithResultSizes(const OpenType& type, const std::string& output,
                                             const Scope& scope,
                                             const std::vector<std::optional<int64_t>>& bounds);
  // A value of an element type that Lemma cannot store: the result of an opaque Constant.
  absl::StatusOr<Value> OpaqueConstant(const onnx::TensorProto& proto, const Scope& scope);
  // In training, a new weight for an Identity of a weight whose elements are all equal; empty for
  // any other node. Exporters write equal values once, so weights that only start equal (all zeros
  // or all ones) would be tied. A weight whose elements differ is shared on purpose and stays tied.
  Value Untied(const onnx::NodeProto& node, const Scope& scope);
  // Adds to makers_ the results of an opaque operator that have a result size.
  void NoteMakers(const std::vector<Value>& results);
  // If the shape of a result, or an attribute of the operator, contains a result size that no
  // operand's shape contains, puts barriers on all results. The barriers make the results depend on
  // a value that has this size. Otherwise nothing would compute this value if only its size is
  // used.
  void KeepMakers(std::vector<Value>* results) const;
  // `value` is a result of `node`. Returns a weight with the name node.output(0) if `value` is a
  // constant that holds trained values, otherwise `value`.
  Value PromoteToWeight(const onnx::NodeProto& node, const Value& value);

  // The input's given value, else its default; nullptr if there is neither.
  const Tensor* ValueOf(const std::string& input) const;
  std::optional<Tensor> Compute(const Value& value, int depth);
  int UsedOutputs(const onnx::NodeProto& node) const;

  onnx::ModelProto* model_;
  const ImportOptions& options_;
  TensorFiles files_;
  std::vector<RawBytes> values_;
  GraphBuilder builder_;
  ImportedModel result_;
  Scope main_;
  std::vector<std::string> input_names_;
  std::vector<BranchSide> sides_;  // the branches around the node imported now, outermost first
  struct Place {
    std::vector<BranchSide> sides;
    bool chooses_size = false;
  };
  absl::flat_hash_map<const Node*, Place> places_;  // of operators in branches
  std::vector<Value> placed_;                       // keeps the nodes in places_ alive
  std::map<std::string, Tensor> given_;             // by input
  std::map<std::string, int64_t> bound_dims_;
  DimValues usual_sizes_;              // of dimensions that stay symbolic
  std::set<std::string> valued_dims_;  // dimensions of inputs with values
  DimValues needed_sizes_;
  std::vector<AskedSize> asked_sizes_;
  std::set<std::string> dim_names_;  // names of dimensions, without expressions over dimensions
  int64_t nodes_imported_ = 0;
  int64_t channel_block_ = 16;
  // For each tensor in the layout NCHWc: the same tensor in the usual layout, and the name. The
  // name becomes the label of the tensor in the usual layout, unless that has a label.
  std::vector<std::pair<Value, std::string>> names_of_blocked_;
  absl::flat_hash_set<std::string> used_;  // names that some node reads
  absl::flat_hash_set<std::string> initializers_;
  std::vector<std::pair<std::string, Value>> parameters_;                   // float initializers
  absl::flat_hash_map<std::string, const onnx::FunctionProto*> functions_;  // "domain:name"
  std::set<std::string> result_sizes_;              // names of dimensions of results
  absl::flat_hash_map<std::string, Value> makers_;  // by result size: a value that has it
  mutable bool has_odd_numbers_ = false;            // whether MistakesForSize saw such a number
  absl::flat_hash_set<std::string> draws_;  // marks of nodes that may draw (kDrawMark in opaque.h)
  // Which values of inputs Known may use. kNoInputs: none. kNone: default values. kIntegers: also
  // given values of up to 64 elements that are not floats. kAll: all. Values that are large or
  // floats are the data of one run; a graph that depends on them holds only for this data.
  enum class Use { kNoInputs, kNone, kIntegers, kAll };
  Use use_ = Use::kAll;
  absl::flat_hash_map<Value, std::optional<Tensor>> known_[4];  // by use
  std::vector<SizeValues> sizes_;                               // by use
  std::shared_ptr<OnnxOrigin> origin_ = std::make_shared<OnnxOrigin>();
  // By name of a list: the position in origin_->nodes of the node that makes it.
  absl::flat_hash_map<std::string, size_t> list_makers_;
  // Results of TypesOfBranches. The key has two parts: a hash of the If, `use_` and the operator
  // sets; and the values that the If reads.
  absl::flat_hash_map<std::pair<std::string, std::vector<Value>>,
                      std::vector<std::optional<OpenType>>>
      branch_types_;
  // The arguments of Known and KnownSizes during the import of the current node of the main graph.
  std::vector<Value> asked_;
};

// Whether the operator is NonZero, NonMaxSuppression, Unique, Compress or ImageDecoder, whose
// results have sizes that depend on values of the operands.
bool HasOpenResults(const onnx::NodeProto& node);

// Whether there is an importer for the operator, in this operator set of the default domain. False
// if both Lemma and a file of definitions give the operator a meaning.
bool HasImporter(const onnx::NodeProto& node, int opset);

// `domain`, but "" for the default domain, whose other name is "ai.onnx".
std::string NormalDomain(const std::string& domain);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_IMPORTER_H_
