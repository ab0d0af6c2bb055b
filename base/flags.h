// Parses the arguments of a command. Each flag is bound to a variable, which parsing sets.
#ifndef LEMMA_BASE_FLAGS_H_
#define LEMMA_BASE_FLAGS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace lemma {

// The flags of one command. The default of a flag is the value that its variable has when the flag
// is declared. The variables must outlive the object.
class Flags {
 public:
  // `synopsis` is the usage text after the command's name: "MODEL -o OUT". `doc` says what the
  // command does.
  Flags(std::string command, std::string synopsis, std::string doc);

  // Each of these functions declares a flag. `name` has no dashes; "output|o" has the short form
  // -o. `value`, such as FILE, stands for the argument in the help text. `doc` is the flag's line
  // in the help text.
  void Bool(absl::string_view name, bool* target, std::string doc);
  void Int(absl::string_view name, int64_t* target, std::string doc);
  void Real(absl::string_view name, double* target, std::string doc);
  // A number that may be left out: `--name` sets *target to `implied`, `--name=X` to X.
  void OptionalReal(absl::string_view name, std::optional<double>* target, double implied,
                    std::string doc);
  // A positive number of bytes: 500000, 500M, 1.5G; K, M, G and T are powers of 1024.
  void Bytes(absl::string_view name, int64_t* target, std::string doc);
  void String(absl::string_view name, std::string* target, std::string value, std::string doc);
  // One of the words in `choices`.
  void Choice(absl::string_view name, std::string* target, std::vector<std::string> choices,
              std::string doc);
  // A comma-separated list; the flag may be given several times. The items are
  // appended to *target.
  void List(absl::string_view name, std::vector<std::string>* target, std::string value,
            std::string doc);
  // NAME=N,... with N >= 0; the flag may be given several times. The last N of
  // a name counts.
  void Sizes(absl::string_view name, std::map<std::string, int64_t>* target, std::string doc);
  // As Sizes, but each use of the flag appends one set of sizes to *target.
  void SizeSets(absl::string_view name, std::vector<std::map<std::string, int64_t>>* target,
                std::string doc);
  // NAME=LEAST:MOST,... with 1 <= LEAST <= MOST < 2^31; the flag may be given
  // several times. The last range of a name counts.
  void Ranges(absl::string_view name, std::map<std::string, std::pair<int64_t, int64_t>>* target,
              std::string doc);
  // Declares words that may follow the command's name: subcommands with a --help of their own.
  void Subcommands(std::vector<std::string> names) { subcommands_ = std::move(names); }
  // Adds a paragraph below the flags in the help text, such as an example.
  void Note(std::string text) { notes_.push_back(std::move(text)); }

  // Reads --name=value, --name value, -o value, --switch; "--" ends the flags. Returns the
  // arguments that are no flags, in order. InvalidArgument for an unknown flag (the message names a
  // similar flag, if any) and for a missing or bad value.
  absl::StatusOr<std::vector<std::string>> Parse(absl::Span<const std::string> arguments);
  // Whether Parse() met the flag `name` (long name, without dashes).
  bool Given(const std::string& name) const { return given_.count(name) > 0; }
  // Whether --help or -h was among the arguments before "--". Parse() then sets no variable and
  // returns an empty list.
  bool help() const { return help_; }
  // The output of --help: text or, for --help=json, one JSON object.
  std::string Help() const;

 private:
  struct Flag {
    std::string name, short_name, value, doc, default_text;
    std::vector<std::string> choices;
    bool is_switch = false;
    std::function<absl::Status(const std::string&)> set;
  };
  void Add(absl::string_view name, Flag flag);
  const Flag* Find(absl::string_view name) const;
  absl::Status Unknown(absl::string_view given) const;
  std::string HelpText() const;
  std::string HelpJson() const;

  std::string command_, synopsis_, doc_;
  std::vector<Flag> flags_;
  std::vector<std::string> subcommands_, notes_;
  std::set<std::string> given_;
  bool help_ = false, help_is_json_ = false;
};

// For "did you mean". If `given` has three characters or more and some candidates begin with it,
// returns the shortest of them. Otherwise returns the candidate with the least edit distance to
// `given`, or "" if every distance is more than given.size() / 3 + 1 (rounded down).
std::string Nearest(absl::string_view given, absl::Span<const std::string> candidates);

}  // namespace lemma

#endif  // LEMMA_BASE_FLAGS_H_
