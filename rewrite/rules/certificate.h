// A certificate records how one graph became another, step by step, for others to repeat.
//
// A certificate is text (docs/certificates.md). It names the input and the output and holds the
// rules used. For each step it gives the rule, the values it was applied to, and the resulting
// graph. optimizer/search/certificate.h makes certificates, verifier/certificate/check.h repeats
// them.
#ifndef LEMMA_REWRITE_RULES_CERTIFICATE_H_
#define LEMMA_REWRITE_RULES_CERTIFICATE_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"
#include "graph/sizes/symbolic_size.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// A value of a graph: output `output` of the node at `position` in Graph::nodes().
struct ValueAt {
  int position = 0;
  int output = 0;
  friend bool operator==(const ValueAt& a, const ValueAt& b) {
    return a.position == b.position && a.output == b.output;
  }
};

struct CertificateStep {
  std::string rule;
  // The rule's common type in this step: the element type of the rule's variables that are written
  // without one (substitution.h). kF32 if nothing has the common type.
  DType dtype = DType::kF32;
  std::vector<ValueAt> vars;       // by variable of the rule
  std::vector<int> nodes;          // by node of the rule's source: its position in the graph
  std::vector<AttrValue> symbols;  // by symbol of the rule
  uint64_t after = 0;              // StructuralHash of the graph after the step
};

// A value that folding replaced by a constant. Its position is in the graph after the last step.
struct CertificateFold {
  ValueAt value;
  TensorType type;     // of the constant
  std::string sha256;  // of the constant's bytes
};

// Why a rule without symbols is true at its own sizes: its target is a corrected mutant
// (docs/pet.md). The mutant differs from the source at some positions, and the target corrects it
// there. A checker does not trust this record: it computes the positions again.
struct CertificateMutant {
  // Positions in one dimension: first position, number of positions, step.
  using Range = std::array<int64_t, 3>;
  using Box = std::vector<Range>;

  // A rule of Certificate::rules, but without its record and with the mutant as its target.
  Substitution rule;
  std::vector<Box> differs;  // exactly the positions where mutant and source differ; disjoint
};

// A loop (an opaque Loop or Scan) whose body was replaced.
struct CertificateBody {
  // Its position in the graph after the last step, with constants folded.
  int position = 0;
  // By operand of the loop with the new body: the number of the operand of the old loop that has
  // the same value.
  std::vector<int> reads;
  // The text of a certificate that leads from the old body to the new one
  // (graph/onnx/run_time/loop_body.h). It has hashes of payloads in place of files' hashes.
  std::string certificate;
};

struct Certificate {
  // Which graph of the search the output is. Only the search itself can check this.
  enum class Result {
    kBest,       // the cheapest graph
    kDescended,  // the result of the first descent; kBest was not accepted (docs/glossary.md)
    kCertain,    // the result of the certain rewrites (docs/glossary.md); kBest and kDescended were
                 // not accepted
    kReplayed,   // the result of repeating the steps of another certificate
    kInput,      // the input: no step, nothing folded, no body replaced
  };

  // SHA-256 of the files, in hexadecimal.
  std::string input_file, output_file;
  // StructuralHash of the input as read, and of the output with its barriers removed
  // (graph/barrier.h).
  uint64_t input_graph = 0, output_graph = 0;
  // How the input was read: the sizes given to symbolic dimensions, and the seed of the random
  // weights that replaced the input's own weights (nullopt: the input kept its weights).
  std::map<std::string, int64_t> dims;
  std::optional<int64_t> reseed;
  // The dimensions that stayed symbolic, with their ranges. The certificate holds for all their
  // values in these ranges.
  std::map<std::string, SizeRange> symbolic;
  // The inputs whose values are part of the graph. The certificate holds for these values only.
  std::map<std::string, Tensor> fixed_inputs;
  Result result = Result::kInput;
  // How input and output may differ in floating-point arithmetic.
  FloatContract contract = FloatContract::kBitExact;
  // The rules of the steps, each once, in order of first use. Documentation is dropped. The rules'
  // records keep only verdict (kProved or kNone), contract and id.
  std::vector<Substitution> rules;
  std::vector<CertificateMutant> mutants;  // for some of `rules`, in the same order
  std::vector<CertificateStep> steps;
  std::vector<CertificateFold> folds;   // in ascending order of position
  std::vector<CertificateBody> bodies;  // in ascending order of position
};
// Whether a certificate can store the value of an input of this type: up to kMaxFixedElements
// integers or bools, rank at most 8.
constexpr int64_t kMaxFixedElements = 64;
bool CanBeFixed(const TensorType& type);

// "best", "first descent", "certain rewrites", "replayed", "input".
const char* Name(Certificate::Result result);

// The rule in the form in which a certificate keeps it.
Substitution ForCertificate(Substitution rule);

// The float contract of an optimization whose steps use `rules` and which folds the values `folded`
// to constants: the loosest contract of these rules and foldings (certificate_contract.cc). Folding
// is bit_exact if it moves data of one type or computes integers. Otherwise it reassociates, since
// intermediate results are not rounded. It is real_only if an unrounded result is compared or
// converted to an integer, since the comparison or integer may then come out differently.
FloatContract ContractOf(const std::vector<Substitution>& rules, const std::vector<Value>& folded);

// The text ends in a checksum of all text before it. Equal certificates give equal text.
std::string PrintCertificate(const Certificate& certificate);

// Whether `text` claims to be a certificate, of any version.
bool IsCertificate(absl::string_view text);

// Accepts exactly the texts that PrintCertificate writes; rejects any other text of the same
// meaning. Errors are InvalidArgument; an error in a step names the step.
absl::StatusOr<Certificate> ParseCertificate(absl::string_view text);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_CERTIFICATE_H_
