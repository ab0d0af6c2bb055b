#include "graph/onnx/run_time/loop_signature.h"

#include <string>

#include "base/status_macros.h"
#include "graph/onnx/structural.h"

namespace lemma::structural {
namespace {

constexpr int kScanWithoutBatchSince = 9;

// The elements that attributes of Scan describe.
std::vector<LoopSignature::Elements> ElementsOf(const onnx::NodeProto& node,
                                                const std::string& kind, int count) {
  const auto* axes = FindAttribute(node, kind + "_axes");
  const auto* directions = FindAttribute(node, kind + "_directions");
  std::vector<LoopSignature::Elements> result(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    LoopSignature::Elements& elements = result[static_cast<size_t>(i)];
    if (axes != nullptr && i < axes->ints_size()) elements.axis = axes->ints(i);
    elements.backwards =
        directions != nullptr && i < directions->ints_size() && directions->ints(i) != 0;
  }
  return result;
}

}  // namespace

bool IsLoopOrScan(const onnx::NodeProto& node, int opset) {
  if (!NormalDomain(node.domain()).empty()) return false;
  return node.op_type() == "Loop" || (node.op_type() == "Scan" && opset >= kScanWithoutBatchSince);
}

absl::StatusOr<const onnx::GraphProto*> BodyOf(const onnx::NodeProto& node) {
  const onnx::GraphProto* body = FindGraph(node, "body");
  if (body != nullptr && body->input_size() == node.input_size()) return body;
  return absl::InvalidArgumentError("the body's inputs or outputs do not fit");
}

absl::StatusOr<LoopSignature> LoopSignatureOf(const onnx::NodeProto& node) {
  LEMMA_ASSIGN_OR_RETURN(const onnx::GraphProto* body, BodyOf(node));
  LoopSignature signature;
  signature.is_loop = node.op_type() == "Loop";
  const int64_t scanned = signature.is_loop ? 0 : IntAttribute(node, "num_scan_inputs", 0);
  const absl::Status misfit = absl::InvalidArgumentError("the body's inputs or outputs do not fit");
  if (scanned < (signature.is_loop ? 0 : 1) || scanned > node.input_size()) return misfit;
  const int64_t states = node.input_size() - signature.parameters() - scanned;
  const int64_t outputs = body->output_size() - (signature.is_loop ? 1 : 0) - states;
  if (states < 0 || outputs < 0) return misfit;
  signature.states = static_cast<int>(states);
  signature.scanned = ElementsOf(node, "scan_input", static_cast<int>(scanned));
  signature.outputs = signature.is_loop
                          ? std::vector<LoopSignature::Elements>(static_cast<size_t>(outputs))
                          : ElementsOf(node, "scan_output", static_cast<int>(outputs));
  return signature;
}

absl::StatusOr<int64_t> AxisIn(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) return absl::InvalidArgumentError("axis is out of range");
  return axis < 0 ? axis + rank : axis;
}

}  // namespace lemma::structural
