#include "graph/onnx/infer_types.h"

#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/onnx/convert.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {
namespace {

constexpr int kKnownOpset = 17;  // the newest one that Debian's library knows
constexpr rlim_t kMostSeconds = 2;

// Whether the output types of `op_type` follow other rules after kKnownOpset: by new inputs,
// attributes or defaults.
bool IsNewer(const std::string& op_type) {
  static const auto* changed = new std::set<std::string, std::less<>>{
      "AveragePool", "DFT",        "DequantizeLinear", "GridSample",    "LpPool",
      "MaxPool",     "Pad",        "QuantizeLinear",   "ReduceL1",      "ReduceL2",
      "ReduceMax",   "ReduceMean", "ReduceMin",        "ReduceProd",    "ReduceLogSum",
      "Resize",      "Split",      "ReduceLogSumExp",  "QLinearMatMul", "ReduceSumSquare",
      "TopK",        "Shape",      "SplitToSequence"};
  return changed->count(op_type) != 0;
}

bool AnyNewer(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const onnx::NodeProto& node) {
    if (IsNewer(node.op_type())) return true;
    return std::any_of(node.attribute().begin(), node.attribute().end(), [](const auto& attribute) {
      return (attribute.has_g() && AnyNewer(attribute.g().node())) ||
             std::any_of(attribute.graphs().begin(), attribute.graphs().end(),
                         [](const auto& graph) { return AnyNewer(graph.node()); });
    });
  });
}

// Sets of the default domain beyond the known ones become the newest known one.
template <class Owner>
bool LimitOpset(Owner* owner) {
  bool limited = false;
  for (auto& entry : *owner->mutable_opset_import()) {
    const bool standard = entry.domain().empty() || entry.domain() == "ai.onnx";
    if (!standard || entry.version() <= kKnownOpset) continue;
    entry.set_version(kKnownOpset);
    limited = true;
  }
  return limited;
}

// What stands for a symbolic size.
std::string ParamOf(int64_t size) { return absl::StrCat("size", size); }

std::optional<OpenType> TypeOf(const onnx::ValueInfoProto& info,
                               const std::map<std::string, int64_t>& params) {
  if (!info.type().has_tensor_type() || !info.type().tensor_type().has_shape()) return std::nullopt;
  auto dtype = FromOnnxType(info.type().tensor_type().elem_type());
  if (!dtype.ok()) return std::nullopt;
  OpenType type{*dtype, {}};
  for (const auto& dim : info.type().tensor_type().shape().dim()) {
    const auto param = params.find(dim.dim_param());
    const bool is_known = dim.has_dim_value() && dim.dim_value() >= 0;
    if (param != params.end()) {
      type.dims.emplace_back(param->second);
    } else {
      type.dims.push_back(is_known ? std::optional<int64_t>(dim.dim_value()) : std::nullopt);
    }
  }
  return type;
}

// Writes the value_info that inference adds to `model`, and ends the process.
[[noreturn]] void InferAndExit(onnx::ModelProto* model, int to) {
  // A node may be wrong in ways that the library does not survive. It ends quietly then.
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU})
    std::signal(signal, SIG_DFL);
  const rlimit no_core = {0, 0}, seconds = {kMostSeconds, kMostSeconds};
  setrlimit(RLIMIT_CORE, &no_core);
  setrlimit(RLIMIT_CPU, &seconds);
  std::string found;
  try {
    onnx::shape_inference::InferShapes(*model);
    onnx::GraphProto graph;
    *graph.mutable_value_info() = model->graph().value_info();
    found = graph.SerializeAsString();
  } catch (const std::exception&) {  // the node does not fit what the library knows
  }
  for (size_t at = 0; at < found.size();) {
    const ssize_t written = write(to, found.data() + at, found.size() - at);
    if (written <= 0) break;
    at += static_cast<size_t>(written);
  }
  _exit(0);
}

// The inferred value_info. The library reads and divides without looking, so it runs in a process
// of its own, whose end is no one else's; nothing is found then.
onnx::GraphProto InferApart(onnx::ModelProto& model) {
  // Loads the library's table once, instead of in each process.
  static const bool ready = onnx::OpSchemaRegistry::Schema("Relu", kKnownOpset, "") != nullptr;
  onnx::GraphProto found;
  int ends[2];
  if (!ready || pipe(ends) != 0) return found;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    InferAndExit(&model, ends[1]);
  }
  close(ends[1]);
  std::string bytes;
  char buffer[4096];
  for (ssize_t count; child > 0;) {
    count = read(ends[0], buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    bytes.append(buffer, static_cast<size_t>(count));
  }
  close(ends[0]);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const bool ended = child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!ended || !found.ParseFromString(bytes)) found.Clear();
  return found;
}

// The result of a conversion, in any operator set: the first input's sizes, and the type that an
// attribute names, else that of an input: what CastLike likes, QuantizeLinear's zero point,
// DequantizeLinear's scale. The library knows neither the newer types nor these attributes.
std::optional<OpenType> ConvertedType(const onnx::NodeProto& node,
                                      const std::map<std::string, KnownValue>& values) {
  const std::string& op = node.op_type();
  const bool to_integers = op == "QuantizeLinear";
  const bool quantizes = to_integers || op == "DequantizeLinear";
  if (!quantizes && op != "Cast" && op != "CastLike") return std::nullopt;
  if (!node.domain().empty() && node.domain() != "ai.onnx") return std::nullopt;
  auto input = [&](int i) -> const KnownValue* {
    auto it = i < node.input_size() ? values.find(node.input(i)) : values.end();
    return it == values.end() ? nullptr : &it->second;
  };
  const KnownValue *x = input(0), *typed = input(to_integers ? 2 : 1);
  if (x == nullptr) return std::nullopt;
  std::optional<DType> to;
  if (typed != nullptr) to = typed->type.dtype;
  for (const auto& attribute : node.attribute()) {
    const bool names_type = attribute.name() == (quantizes ? "output_dtype" : "to");
    if (!names_type || attribute.i() == 0) continue;
    auto dtype = FromOnnxType(static_cast<int32_t>(attribute.i()));
    if (!dtype.ok()) return std::nullopt;
    if (!to_integers || typed == nullptr) to = *dtype;
  }
  if (!to && to_integers) to = DType::kU8;
  if (!to) return std::nullopt;
  return OpenType{*to, {x->type.shape.begin(), x->type.shape.end()}};
}

// Whether the node is a convolution whose filters have another rank than its input. For these the
// library reads strides behind the end of its list: what it infers is arbitrary.
bool IsOddConvolution(const onnx::NodeProto& node,
                      const std::map<std::string, KnownValue>& values) {
  const std::string& op = node.op_type();
  const bool is_quantized = op == "QLinearConv";
  if (!is_quantized && op != "Conv" && op != "ConvInteger" && op != "ConvTranspose") return false;
  const int filters = is_quantized ? 3 : 1;
  if (node.input_size() <= filters) return false;
  const auto x = values.find(node.input(0)), w = values.find(node.input(filters));
  return x != values.end() && w != values.end() && x->second.type.rank() != w->second.type.rank();
}

}  // namespace

std::optional<TensorType> OpenType::Complete() const {
  TensorType type{dtype, {}};
  for (const std::optional<int64_t>& dim : dims) {
    if (!dim) return std::nullopt;
    type.shape.push_back(*dim);
  }
  return type;
}

std::map<std::string, OpenType> InferredTypes(onnx::ModelProto model,
                                              const std::map<std::string, KnownValue>& values) {
  std::map<std::string, OpenType> types;
  std::map<std::string, int64_t> params;
  const onnx::NodeProto& node = model.graph().node(0);
  if (auto type = ConvertedType(node, values)) return {{node.output(0), *std::move(type)}};
  if (IsOddConvolution(node, values)) return types;
  if (LimitOpset(&model) && AnyNewer(model.graph().node())) return types;
  for (onnx::FunctionProto& function : *model.mutable_functions()) {
    if (LimitOpset(&function) && AnyNewer(function.node())) return types;
  }
  onnx::GraphProto* graph = model.mutable_graph();
  for (const auto& [name, value] : values) {
    onnx::ValueInfoProto* input = graph->add_input();
    input->set_name(name);
    auto* tensor = input->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(ToOnnxType(value.type.dtype));
    tensor->mutable_shape();
    for (int64_t d : value.type.shape) {
      auto* dim = tensor->mutable_shape()->add_dim();
      if (IsSymbolic(d)) {
        dim->set_dim_param(ParamOf(d));
        params[ParamOf(d)] = d;
      } else {
        dim->set_dim_value(d);
      }
    }
    if (value.elements) *graph->add_initializer() = ToProto(name, *value.elements);
  }
  const onnx::GraphProto inferred = InferApart(model);
  for (const auto& info : inferred.value_info()) {
    if (auto type = TypeOf(info, params)) types[info.name()] = *std::move(type);
  }
  return types;
}

}  // namespace lemma
